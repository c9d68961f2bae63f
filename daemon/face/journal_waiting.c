/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Knows bytes and times only. Asks again by the clock: of a socket that is not connected nobody
 * tells that there is room, and a connected one would be lost with each restart of journald. */
#include "journal_waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "journal_record.h"

#define BYTES_MOST (16U << 20)
#define GAP_LEAST_USEC (2 * USEC_PER_MSEC)
#define ACCURACY_USEC USEC_PER_MSEC
#define GAP_MOST_USEC USEC_PER_SEC

static int journald_send(const struct journal *journal, const struct waiting_record *record)
{
	ssize_t n = sendto(journal->fd, record->bytes, record->length, MSG_DONTWAIT | MSG_NOSIGNAL,
			   (const struct sockaddr *)&journal_address, sizeof(journal_address));

	if (n >= 0)
		return 0;
	return errno == ENOBUFS ? -EAGAIN : -errno;
}

static size_t record_weight(const struct waiting_record *record)
{
	return sizeof(*record) + record->length + strlen(record->message);
}

static void record_free(struct waiting_record *record)
{
	free(record->bytes);
	free(record->message);
	free(record);
}

static void waiting_pop(struct journal_waiting *waiting)
{
	struct waiting_record *first = waiting->first;

	waiting->bytes -= record_weight(first);
	waiting->first = first->next;
	if (!waiting->first)
		waiting->last = NULL;
	record_free(first);
}

static void waiting_again(struct journal_waiting *waiting)
{
	if (!waiting->retry)
		return;
	sd_event_source_set_time_relative(waiting->retry, waiting->gap_usec);
	sd_event_source_set_enabled(waiting->retry, SD_EVENT_ONESHOT);
	waiting->gap_usec = 2 * waiting->gap_usec < GAP_MOST_USEC ? 2 * waiting->gap_usec :
								    GAP_MOST_USEC;
}

/* Where the sending ends with another error there is nobody left to send to: they are said on
 * stderr rather than never. */
int waiting_drain(struct journal *journal)
{
	struct journal_waiting *waiting = &journal->waiting;
	bool some = waiting->first != NULL;

	while (waiting->first) {
		int r = journald_send(journal, waiting->first);

		if (r == -EAGAIN)
			return r;
		if (r < 0)
			record_say(journal, waiting->first->priority, waiting->first->message);
		waiting->gap_usec = GAP_LEAST_USEC;
		waiting_pop(waiting);
	}
	if (some && waiting->retry)
		sd_event_source_set_enabled(waiting->retry, SD_EVENT_OFF);
	return 0;
}

static int waiting_put(struct journal *journal, const struct waiting_record *record)
{
	struct journal_waiting *waiting = &journal->waiting;
	struct waiting_record *copy;

	if (waiting->bytes + record_weight(record) > BYTES_MOST)
		return -EAGAIN;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -EAGAIN;
	copy->bytes = malloc(record->length);
	copy->message = strdup(record->message);
	copy->length = record->length;
	copy->priority = record->priority;
	if (!copy->bytes || !copy->message) {
		record_free(copy);
		return -EAGAIN;
	}
	memcpy(copy->bytes, record->bytes, record->length);
	if (waiting->last)
		waiting->last->next = copy;
	else
		waiting->first = copy;
	waiting->last = copy;
	waiting->bytes += record_weight(copy);
	return 0;
}

int waiting_send(struct journal *journal, const struct waiting_record *record)
{
	bool first;
	int r = waiting_drain(journal);

	if (r == 0)
		r = journald_send(journal, record);
	if (r != -EAGAIN)
		return r;
	first = journal->waiting.first == NULL;
	r = waiting_put(journal, record);
	if (r == 0 && first) {
		journal->waiting.gap_usec = GAP_LEAST_USEC;
		waiting_again(&journal->waiting);
	}
	return r;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct journal *journal = userdata;

	if (waiting_drain(journal) < 0)
		waiting_again(&journal->waiting);
	else
		journal_tell_lost(journal);
	return 0;
}

int journal_attach(struct journal *journal, sd_event *event)
{
	sd_event_source **retry = &journal->waiting.retry;
	int r = sd_event_add_time(event, retry, CLOCK_MONOTONIC, UINT64_MAX, ACCURACY_USEC,
				  on_retry, journal);

	return r < 0 ? r : sd_event_source_set_enabled(*retry, SD_EVENT_OFF);
}

void waiting_done(struct journal *journal)
{
	if (journal->fd >= 0)
		waiting_drain(journal);
	while (journal->waiting.first)
		waiting_pop(&journal->waiting);
	journal->waiting.retry = sd_event_source_disable_unref(journal->waiting.retry);
}
