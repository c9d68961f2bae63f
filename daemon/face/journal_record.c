/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records to journald by its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL), without ever
 * waiting for it; what is lost all the same is counted and that is said later. Knows no peers.
 */
#include "journal_record.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "journal_waiting.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define VALUE_LARGEST 16384 /* with all fields well below what one datagram takes */

const struct sockaddr_un journal_address = {
	.sun_family = AF_UNIX,
	.sun_path = JOURNAL_SOCKET,
};

/* sd-daemon(3): JOURNAL_STREAM is "device:inode" of what was connected to the journal. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat status;
	char *end;

	if (!stream)
		return false;
	device = strtoumax(stream, &end, 10);
	if (*end != ':')
		return false;
	inode = strtoumax(end + 1, &end, 10);
	if (*end != '\0')
		return false;
	return fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

void journal_choose(struct journal *journal, bool want_stderr)
{
	journal->to_stderr = want_stderr || access(JOURNAL_SOCKET, F_OK) < 0;
	if (journal->to_stderr || journal->fd >= 0)
		return;
	journal->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	journal->to_stderr = journal->fd < 0;
}

void journal_init(struct journal *journal)
{
	*journal = (struct journal){
		.level = LOG_INFO,
		.fd = -1,
		.prefixed = stderr_is_journal(),
	};
	journal_choose(journal, false);
}

void journal_done(struct journal *journal)
{
	waiting_done(journal);
	if (journal->fd >= 0)
		close(journal->fd);
	journal->fd = -1;
}

void record_done(struct record *record)
{
	for (unsigned i = 0; i < record->count; i++)
		free(record->fields[i]);
	record->count = 0;
}

void record_add(struct record *record, const char *name, const char *value)
{
	char *field;

	if (!value || !value[0] || record->count == RECORD_FIELDS)
		return;
	if (asprintf(&field, "%s=%.*s", name, VALUE_LARGEST, value) < 0)
		return; /* rather a record with a field less than none */
	record->fields[record->count++] = field;
}

void record_add_number(struct record *record, const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	record_add(record, name, value ? text : NULL);
}

/* A value with line breaks goes as its name, its length in little endian, and its bytes. */
static void field_write(FILE *out, const char *field)
{
	const char *value = strchr(field, '=') + 1;
	uint64_t length = htole64(strlen(value));

	if (!strchr(value, '\n')) {
		fprintf(out, "%s\n", field);
		return;
	}
	fprintf(out, "%.*s\n", (int)(value - 1 - field), field);
	fwrite(&length, sizeof(length), 1, out);
	fprintf(out, "%s\n", value);
}

static int record_write(const struct record *record, struct journal *journal, const char *message)
{
	struct waiting_record out = {.message = (char *)message, .priority = record->priority};
	FILE *stream = open_memstream(&out.bytes, &out.length);
	int r;

	if (!stream)
		return -ENOMEM;
	for (unsigned i = 0; i < record->count; i++)
		field_write(stream, record->fields[i]);
	r = fclose(stream) == 0 ? waiting_send(journal, &out) : -ENOMEM;
	free(out.bytes);
	return r;
}

void record_say(const struct journal *journal, int priority, const char *message)
{
	const char *line = message;
	size_t length;

	for (; *line; line += length + (line[length] == '\n')) {
		length = strcspn(line, "\n");
		if (journal->prefixed)
			fprintf(stderr, "<%d>", priority);
		fprintf(stderr, "%.*s\n", (int)length, line);
	}
}

/* Said as soon as journald takes records again. */
void journal_tell_lost(struct journal *journal)
{
	_done_record_ struct record record = RECORD_INIT(LOG_WARNING);
	uint64_t lost = journal->lost;
	char message[96];

	if (lost == 0)
		return;
	journal->lost = 0;
	snprintf(message, sizeof(message),
		 "%" PRIu64 " messages were lost while journald took none", lost);
	record_send(&record, journal, message);
	if (journal->lost)
		journal->lost += lost - 1; /* this one is none of them */
}

void record_send(struct record *record, struct journal *journal, const char *message)
{
	char priority[2] = {(char)('0' + record->priority), '\0'};
	int r = -ENOENT;

	if (record->priority > journal->level)
		return;
	if (!journal->to_stderr) {
		record_add(record, "MESSAGE", message);
		record_add(record, "PRIORITY", priority);
		record_add(record, "SYSLOG_IDENTIFIER", "mtuwatchd");
		r = record_write(record, journal, message);
	}
	if (r == -EAGAIN)
		journal->lost++;
	else if (r < 0)
		record_say(journal, record->priority, message);
	else if (journal->lost && !journal->waiting.first)
		journal_tell_lost(journal);
}
