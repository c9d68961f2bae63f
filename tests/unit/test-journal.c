/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records as a real journald stores them, in a mount namespace of our own; and what happens when
 * journald hangs or is not there.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/face/journal.h"
#include "../../daemon/face/journal_clamp.h"
#include "../../daemon/face/messages.h"
#include "example.h"

#define JOURNALD "/lib/systemd/systemd-journald"
#define WAIT_SEC 20

static struct example sample;
static struct journal journal;
static pid_t journald;

static time_t now_sec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Lets 20 ms pass; false when the time is up. */
static bool wait_more(time_t end)
{
	struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

	nanosleep(&pause, NULL);
	return now_sec() < end;
}

/* Its own limit for each service is not what is tested. */
static void write_config(void)
{
	FILE *out;

	ck_assert_int_eq(mkdir("/run/systemd/journald.conf.d", 0755), 0);
	out = fopen("/run/systemd/journald.conf.d/test.conf", "we");
	ck_assert_ptr_nonnull(out);
	fputs("[Journal]\nRateLimitBurst=0\n", out);
	ck_assert_int_eq(fclose(out), 0);
}

static void open_journald(void)
{
	time_t end = now_sec() + WAIT_SEC;

	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("tmpfs", "/run", "tmpfs", 0, "mode=755"), 0);
	ck_assert_int_eq(mkdir("/run/systemd", 0755), 0);
	write_config();
	journald = fork();
	ck_assert_int_ge(journald, 0);
	if (journald == 0) {
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		execl(JOURNALD, JOURNALD, NULL);
		_exit(127);
	}
	while (access("/run/systemd/journal/socket", F_OK) < 0)
		ck_assert_msg(wait_more(end), "journald did not start");
	example_init(&sample);
	journal_init(&journal);
	ck_assert(!journal.to_stderr);
}

static void close_journald(void)
{
	journal_done(&journal);
	kill(journald, SIGKILL);
	waitpid(journald, NULL, 0);
}

/* The last record that journalctl finds so. */
static struct json_object *record_match(const char *match)
{
	struct json_object *record = NULL;
	char command[256], line[16384];
	FILE *in;

	snprintf(command, sizeof(command),
		 "journalctl -q -D /run/log/journal -o json -n 1 -t mtuwatchd %s 2>/dev/null", match);
	in = popen(command, "re");
	ck_assert_ptr_nonnull(in);
	if (fgets(line, sizeof(line), in))
		record = json_tokener_parse(line);
	pclose(in);
	return record;
}

/* The last record with this MESSAGE_ID, or with any when it is NULL. */
static struct json_object *record_read(const char *id)
{
	char match[64] = "";

	if (id)
		snprintf(match, sizeof(match), "MESSAGE_ID=%s", id);
	return record_match(match);
}

static struct json_object *record_wait(const char *id)
{
	time_t end = now_sec() + WAIT_SEC;
	struct json_object *record;

	while (!(record = record_read(id)))
		ck_assert_msg(wait_more(end), "no record with MESSAGE_ID=%s", id);
	return record;
}

/* NULL when the record has no such field. */
static const char *field(struct json_object *record, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(record, name, &value) ? json_object_get_string(value)
							       : NULL;
}

/* One that it has. */
static const char *told(struct json_object *record, const char *name)
{
	const char *text = field(record, name);

	ck_assert_msg(text, "no %s", name);
	return text;
}

#define ck_assert_field(record, name, value) ck_assert_pstr_eq(field(record, name), value)

START_TEST(worsened)
{
	struct judgement before = {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000};
	struct path *path = &sample.paths[3];
	struct json_object *record;

	path->dossier->findings.list[0] = example_finding();
	path->dossier->findings.list[0].id = FINDING_PTB_WRONG;
	path->dossier->findings.count = 1;
	journal_verdict(&journal, &sample.peer[2], path, &before, &path->announced);
	record = record_wait(MESSAGE_VERDICT_WORSENED);
	ck_assert_field(record, "PRIORITY", "3");
	ck_assert_field(record, "SYSLOG_IDENTIFIER", "mtuwatchd");
	ck_assert_field(record, "MTUWATCH_PEER", "san-a");
	ck_assert_field(record, "MTUWATCH_ADDRESS", "192.0.2.10");
	ck_assert_field(record, "MTUWATCH_LINK", "eth1");
	ck_assert_field(record, "MTUWATCH_VERDICT", "black-hole");
	ck_assert_field(record, "MTUWATCH_VERDICT_BEFORE", "consistent");
	ck_assert_field(record, "MTUWATCH_SEVERITY", "critical");
	ck_assert_field(record, "MTUWATCH_PATH_MTU", "1500");
	ck_assert_field(record, "MTUWATCH_EXPECTED_MTU", "9000");
	ck_assert_field(record, "MTUWATCH_LINK_MTU", "9000");
	ck_assert_field(record, "MTUWATCH_DIRECTION", "unknown");
	ck_assert_field(record, "MTUWATCH_CONFIRMED", "no");
	ck_assert_field(record, "MTUWATCH_METHOD", "icmp");
	ck_assert_field(record, "MTUWATCH_FINDING", "ptb-wrong");
	/* what has no value is left out */
	ck_assert_field(record, "MTUWATCH_ROUTER", NULL);
	ck_assert_field(record, "MTUWATCH_RETURN_MTU", NULL);
	ck_assert_field(record, "MTUWATCH_LOCUS", NULL);
	ck_assert_field(record, "MTUWATCH_CLAMP_MTU", NULL);
	ck_assert_ptr_nonnull(strstr(told(record, "MESSAGE"), "packets above 1500 bytes"));
	json_object_put(record);
}
END_TEST

/* Which way, where, and by what. */
START_TEST(way_and_method)
{
	struct judgement before = {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000};
	struct judgement now = {.verdict = VERDICT_BLACK_HOLE,
				.severity = SEVERITY_CRITICAL,
				.direction = DIRECTION_RETURN,
				.path_mtu = 9000,
				.return_mtu = 1500,
				.confirmed = true};
	struct path *path = &sample.paths[3];
	struct json_object *record;

	path->kind = PROBE_RESPONDER;
	path->evidence.kind = PROBE_RESPONDER;
	journal_verdict(&journal, &sample.peer[2], path, &before, &now);
	record = record_wait(MESSAGE_VERDICT_WORSENED);
	ck_assert_field(record, "MTUWATCH_PATH_MTU", "9000");
	ck_assert_field(record, "MTUWATCH_RETURN_MTU", "1500");
	ck_assert_field(record, "MTUWATCH_DIRECTION", "return");
	ck_assert_field(record, "MTUWATCH_CONFIRMED", "yes");
	ck_assert_field(record, "MTUWATCH_METHOD", "responder");
	ck_assert_field(record, "MTUWATCH_LOCUS", NULL);
	ck_assert_ptr_nonnull(strstr(told(record, "MESSAGE"),
				     "packets above 1500 bytes get lost without a word on the way "
				     "back"));
	json_object_put(record);
	now.direction = DIRECTION_FORWARD;
	now.locus = LOCUS_AFTER;
	now.locus_address = example_address("192.0.2.254");
	journal_verdict(&journal, &sample.peer[2], path, &now, &sample.paths[2].announced);
	record = record_wait(MESSAGE_VERDICT_RECOVERED);
	ck_assert_field(record, "MTUWATCH_DIRECTION", NULL);
	ck_assert_field(record, "MTUWATCH_RETURN_MTU", "9000");
	json_object_put(record);
	path->announced = now;
	journal_reminder(&journal, &sample.peer[2], path);
	record = record_wait(MESSAGE_REMINDER);
	ck_assert_field(record, "MTUWATCH_LOCUS", "after 192.0.2.254");
	ck_assert_field(record, "MTUWATCH_DIRECTION", "forward");
	json_object_put(record);
}
END_TEST

/* The link has gone, and its routes with it. */
START_TEST(released_without_a_link)
{
	struct path *path = &sample.paths[3];
	struct clamp_word word = {.peer = &sample.peer[2], .path = path, .to = path->address, .mtu = 1500};
	struct json_object *record;

	path->link_name[0] = '\0';
	path->wanted_link[0] = '\0';
	journal_released(&journal, &word);
	record = record_wait(MESSAGE_RELEASED);
	ck_assert_msg(strncmp(told(record, "MESSAGE"), "peer san-a (192.0.2.10): clamp of 1500 bytes",
			      44) == 0,
		      "%s", told(record, "MESSAGE"));
	ck_assert_field(record, "MTUWATCH_LINK", NULL);
	json_object_put(record);
}
END_TEST

START_TEST(recovered_on_the_way_back)
{
	struct judgement before = {.verdict = VERDICT_BLACK_HOLE,
				   .direction = DIRECTION_RETURN,
				   .path_mtu = 9000,
				   .return_mtu = 1500};
	struct json_object *record;

	journal_verdict(&journal, &sample.peer[2], &sample.paths[2], &before,
			&sample.paths[2].announced);
	record = record_wait(MESSAGE_VERDICT_RECOVERED);
	ck_assert_ptr_nonnull(strstr(told(record, "MESSAGE"),
				     "; was black-hole at 1500 bytes on the way back"));
	json_object_put(record);
}
END_TEST

START_TEST(recovered)
{
	struct judgement before = sample.paths[3].announced;
	struct json_object *record;

	journal_verdict(&journal, &sample.peer[2], &sample.paths[2], &before,
			&sample.paths[2].announced);
	record = record_wait(MESSAGE_VERDICT_RECOVERED);
	ck_assert_field(record, "PRIORITY", "6");
	ck_assert_field(record, "MTUWATCH_VERDICT", "consistent");
	ck_assert_field(record, "MESSAGE",
			"peer san-a (192.0.2.10) by eth0: consistent: packets of 9000 bytes pass "
			"(ping payload 8972, TCP MSS 8960); was black-hole at 1500 bytes");
	json_object_put(record);
}
END_TEST

START_TEST(the_other_kinds)
{
	struct finding finding = example_finding();
	struct link before = sample.link[1].link, now = before;
	const struct cause cause = {.kind = CAUSE_PORT_JOINED, .link = "t0"};
	struct link_news news = {.before = &before, .now = &now, .cause = &cause};
	struct finding_news found = {.finding = &finding, .appeared = true,
				     .severity = SEVERITY_NOTICE,
				     .links = {.list = {"eth1"}, .count = 1}};
	struct json_object *record;

	now.mtu = 1500;
	journal_reminder(&journal, &sample.peer[2], &sample.paths[3]);
	journal_link_mtu(&journal, &news);
	journal_link_finding(&journal, &found);
	journal_finding(&journal, &sample.peer[2], &sample.paths[3], &finding, false, SEVERITY_OK);
	journal_config_rejected(&journal, "a.conf:1: one\nb.conf:2: two\n");
	journal_started(&journal, &sample.roster);

	record = record_wait(MESSAGE_REMINDER);
	ck_assert_field(record, "PRIORITY", "3");
	ck_assert_int_eq(strncmp(told(record, "MESSAGE"), "still: peer san-a", 17), 0);
	json_object_put(record);
	record = record_wait(MESSAGE_LINK_MTU_CHANGED);
	ck_assert_field(record, "MESSAGE", "link eth1: MTU 1500, was 9000: t0 became a port of it");
	ck_assert_field(record, "MTUWATCH_LINK", "eth1");
	json_object_put(record);
	record = record_wait(MESSAGE_FINDING_APPEARED);
	ck_assert_field(record, "PRIORITY", "5");
	ck_assert_field(record, "MTUWATCH_FINDING", "link-below-expected");
	ck_assert_field(record, "MTUWATCH_LINK", "eth1");
	ck_assert_field(record, "MTUWATCH_PEER", NULL);
	json_object_put(record);
	record = record_wait(MESSAGE_FINDING_GONE);
	ck_assert_field(record, "PRIORITY", "6");
	ck_assert_field(record, "MTUWATCH_PEER", "san-a");
	json_object_put(record);
	record = record_wait(MESSAGE_CONFIG_REJECTED);
	ck_assert_field(record, "PRIORITY", "3");
	ck_assert_field(record, "MESSAGE", "configuration rejected: a.conf:1: one\nb.conf:2: two");
	json_object_put(record);
	record = record_wait(MESSAGE_STARTED);
	ck_assert_field(record, "PRIORITY", "6");
	json_object_put(record);
}
END_TEST

static unsigned records_count(const char *text)
{
	char command[160], line[64];
	unsigned count = 0;
	FILE *in;

	snprintf(command, sizeof(command),
		 "journalctl -q -D /run/log/journal -o cat -t mtuwatchd 2>/dev/null | grep -c '%s'",
		 text);
	in = popen(command, "re");
	ck_assert_ptr_nonnull(in);
	if (fgets(line, sizeof(line), in))
		count = (unsigned)strtoul(line, NULL, 10);
	pclose(in);
	return count;
}

/* A thousand alarms at once, more than its socket holds: none is lost, and they keep their order. */
START_TEST(what_finds_no_room_is_kept)
{
	time_t end = now_sec() + WAIT_SEC;
	struct json_object *record;
	sd_event *event;

	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_ge(journal_attach(&journal, event), 0);
	ck_assert_int_eq(kill(journald, SIGSTOP), 0);
	for (unsigned i = 0; i < 3000; i++)
		journal_plain(&journal, LOG_ALERT, "filler %u", i);
	ck_assert_ptr_nonnull(journal.waiting.first);
	ck_assert_uint_eq(journal.lost, 0);
	/* asked again, but not without pause */
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_ge(sd_event_run(event, 2000000), 0);
	ck_assert_ptr_nonnull(journal.waiting.first);
	ck_assert_int_eq(kill(journald, SIGCONT), 0);
	while (journal.waiting.first) {
		ck_assert_msg(now_sec() < end, "they wait on");
		ck_assert_int_ge(sd_event_run(event, 100000), 0);
	}
	ck_assert_uint_eq(journal.waiting.bytes, 0);
	while (records_count("filler") < 3000)
		ck_assert_msg(wait_more(end), "%u came", records_count("filler"));
	record = record_read(NULL);
	ck_assert_field(record, "MESSAGE", "filler 2999");
	json_object_put(record);
	journal_done(&journal);
	sd_event_unref(event);
}
END_TEST

/* A journald that is stopped takes nothing: we go on at once, and say later what was lost. */
START_TEST(hanging_journald_does_not_hang_us)
{
	struct json_object *record = NULL;
	const char *text = NULL;
	time_t end;

	ck_assert_int_eq(kill(journald, SIGSTOP), 0);
	for (unsigned i = 0; i < 5000; i++)
		journal_plain(&journal, LOG_INFO, "filler %u %08000u", i, i);
	ck_assert_uint_gt(journal.lost, 0);
	ck_assert_uint_le(journal.waiting.bytes, 16U << 20);
	ck_assert_int_eq(kill(journald, SIGCONT), 0);
	end = now_sec() + WAIT_SEC;
	while (!text || !strstr(text, "messages were lost while journald took none")) {
		ck_assert_msg(wait_more(end), "the loss was not told");
		if (journal.lost || journal.waiting.first)
			journal_plain(&journal, LOG_INFO, "once more");
		json_object_put(record);
		/* one more may have been said after it */
		record = record_match("PRIORITY=4");
		text = record ? told(record, "MESSAGE") : NULL;
	}
	ck_assert_field(record, "PRIORITY", "4");
	ck_assert_uint_eq(journal.lost, 0);
	json_object_put(record);
}
END_TEST

static int stderr_catch(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC);

	ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
	return fd;
}

static void assert_caught(int fd, const char *expected)
{
	char caught[4096];
	ssize_t n = pread(fd, caught, sizeof(caught) - 1, 0);

	ck_assert_int_ge(n, 0);
	caught[n] = '\0';
	ck_assert_str_eq(caught, expected);
}

START_TEST(stderr_where_no_journald_is)
{
	int fd = stderr_catch();
	struct journal plain;

	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("tmpfs", "/run", "tmpfs", 0, "mode=755"), 0);
	unsetenv("JOURNAL_STREAM");
	journal_init(&plain);
	ck_assert(plain.to_stderr);
	journal_plain(&plain, LOG_WARNING, "one\ntwo");
	journal_plain(&plain, LOG_DEBUG, "not said");
	assert_caught(fd, "one\ntwo\n");
	journal_done(&plain);
}
END_TEST

START_TEST(stderr_that_leads_to_the_journal)
{
	int fd = stderr_catch();
	struct stat status;
	struct journal plain;
	char stream[64];

	ck_assert_int_eq(fstat(fd, &status), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
		 (uintmax_t)status.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	journal_init(&plain);
	journal_choose(&plain, true);
	journal_plain(&plain, LOG_ERR, "one\ntwo");
	assert_caught(fd, "<3>one\n<3>two\n");
	journal_done(&plain);
}
END_TEST

/* journalctl -x finds an explanation of everything that can be said. */
START_TEST(catalog_explains_each)
{
	static const char *const ids[] = {
		MESSAGE_VERDICT_WORSENED, MESSAGE_VERDICT_RECOVERED, MESSAGE_REMINDER,
		MESSAGE_LINK_MTU_CHANGED, MESSAGE_FINDING_APPEARED,  MESSAGE_FINDING_GONE,
		MESSAGE_CONFIG_REJECTED,  MESSAGE_STARTED,	     MESSAGE_CLAMPED,
		MESSAGE_RELEASED,	  MESSAGE_CLAMP_REFUSED,     MESSAGE_CLAMP_YIELDED,
	};
	char text[32768], heading[48];
	FILE *in = fopen(SOURCE_FOLDER "/systemd/mtuwatchd.catalog", "re");
	size_t n, entries = 0;

	ck_assert_ptr_nonnull(in);
	n = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	text[n] = '\0';
	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(heading, sizeof(heading), "\n-- %s\nSubject: ", ids[i]);
		ck_assert_msg(strstr(text, heading), "no entry for %s", ids[i]);
	}
	for (const char *at = text; (at = strstr(at, "\n-- ")); at++)
		entries++;
	ck_assert_uint_eq(entries, sizeof(ids) / sizeof(ids[0]));
	for (int id = 0; id < FINDING_COUNT; id++)
		ck_assert_ptr_nonnull(strstr(text, words_finding(id)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal");
	TCase *real = tcase_create("journald"), *none = tcase_create("none");
	SRunner *runner;
	int failed;

	if (getuid() != 0 || access(JOURNALD, X_OK) < 0) {
		puts("1..0 # SKIP needs root and " JOURNALD);
		return EXIT_SUCCESS;
	}
	tcase_add_checked_fixture(real, open_journald, close_journald);
	tcase_set_timeout(real, 60);
	tcase_add_test(real, worsened);
	tcase_add_test(real, way_and_method);
	tcase_add_test(real, released_without_a_link);
	tcase_add_test(real, recovered);
	tcase_add_test(real, recovered_on_the_way_back);
	tcase_add_test(real, the_other_kinds);
	tcase_add_test(real, what_finds_no_room_is_kept);
	tcase_add_test(real, hanging_journald_does_not_hang_us);
	tcase_add_test(none, stderr_where_no_journald_is);
	tcase_add_test(none, stderr_that_leads_to_the_journal);
	tcase_add_test(none, catalog_explains_each);
	suite_add_tcase(suite, real);
	suite_add_tcase(suite, none);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
