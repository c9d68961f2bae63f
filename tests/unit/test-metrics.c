/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The metrics: what promtool and node_exporter's own parser take, written whole, seldom enough.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/face/metrics.h"
#include "../../daemon/face/metrics_text.h"
#include "example.h"
#include "tap.h"

#define MANY 10000

static char *metrics_text(const struct roster *roster, unsigned most)
{
	struct metrics_place place = {0};
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	while (!metrics_write(roster, &place, most, out))
		;
	fclose(out);
	return text;
}

static unsigned occurrences(const char *text, const char *part)
{
	unsigned count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void assert_line(const char *text, const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	ck_assert_msg(strstr(text, whole) != NULL, "no line \"%s\" in:\n%s", line, text);
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No two samples have the same name and labels: a collector would refuse the whole file. */
static void assert_unique(const char *text)
{
	unsigned count = 0, room = occurrences(text, "\n");
	char **keys = calloc(room, sizeof(*keys));

	ck_assert_ptr_nonnull(keys);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		size_t length = strcspn(line, "\n");

		if (line[0] == '#')
			continue;
		while (line[length] != '}')
			length--;
		keys[count++] = strndup(line, length);
	}
	qsort(keys, count, sizeof(*keys), text_order);
	for (unsigned i = 1; i < count; i++)
		ck_assert_str_ne(keys[i - 1], keys[i]);
	for (unsigned i = 0; i < count; i++)
		free(keys[i]);
	free(keys);
}

/* -1: it is not there. */
static int promtool_check(const char *text)
{
	int ends[2], status;
	pid_t pid;

	if (access("/usr/bin/promtool", X_OK) < 0)
		return -1;
	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[0], STDIN_FILENO);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/usr/bin/promtool", "promtool", "check", "metrics", (char *)NULL);
		_exit(126);
	}
	close(ends[0]);
	ck_assert_int_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
	close(ends[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

START_TEST(all_is_told)
{
	struct example sample;
	char *text;

	example_init(&sample);
	sample.paths[3].announced.direction = DIRECTION_BOTH;
	sample.paths[3].announced.return_mtu = 1400;
	sample.paths[3].last_round_usec = 1700000123000045ULL;
	sample.paths[3].dossier->findings.list[0] = example_finding();
	sample.paths[3].dossier->findings.count = 1;
	sample.link[1].findings = sample.paths[3].dossier->findings;
	text = metrics_text(&sample.roster, 100);
#define SAN "{peer=\"san-a\",address=\"192.0.2.10\",interface=\"eth1\""
	assert_line(text, "mtuwatchd_path_mtu_bytes" SAN ",direction=\"forward\"} 1500");
	assert_line(text, "mtuwatchd_path_mtu_bytes" SAN ",direction=\"return\"} 1400");
	assert_line(text, "mtuwatchd_expected_mtu_bytes" SAN "} 9000");
	assert_line(text, "mtuwatchd_verdict" SAN ",verdict=\"black-hole\"} 1");
	assert_line(text, "mtuwatchd_verdict" SAN ",verdict=\"consistent\"} 0");
	assert_line(text, "mtuwatchd_severity" SAN ",severity=\"critical\"} 1");
	assert_line(text, "mtuwatchd_severity" SAN ",severity=\"ok\"} 0");
	assert_line(text, "mtuwatchd_probe_rtt_seconds" SAN "} 0.000120");
	assert_line(text, "mtuwatchd_probes_sent_total" SAN ",size=\"control\"} 7");
	assert_line(text, "mtuwatchd_probes_sent_total" SAN ",size=\"full\"} 9");
	assert_line(text, "mtuwatchd_probes_lost_total" SAN ",size=\"full\"} 2");
	assert_line(text, "mtuwatchd_last_round_timestamp_seconds" SAN "} 1700000123.000045");
	assert_line(text, "mtuwatchd_clamped_mtu_bytes" SAN "} 0");
	assert_line(text, "mtuwatchd_finding{subject=\"san-a\",id=\"link-below-expected\","
			  "severity=\"warning\"} 1");
	assert_line(text, "mtuwatchd_finding{subject=\"eth1\",id=\"link-below-expected\","
			  "severity=\"warning\"} 1");
	assert_line(text, "mtuwatchd_link_mtu_bytes{interface=\"eth1\"} 9000");
	assert_line(text, "mtuwatchd_build_info{version=\"" VERSION "\"} 1");
	ck_assert_uint_eq(occurrences(text, "mtuwatchd_verdict{"), 4 * VERDICT_COUNT);
	ck_assert_uint_eq(occurrences(text, "# TYPE "), 12);
	ck_assert_uint_eq(occurrences(text, "# HELP "), 12);
	assert_unique(text);
	ck_assert_int_le(promtool_check(text), 0);
	free(text);
}
END_TEST

/* Not known is no sample; 0 would be a size. */
START_TEST(nothing_is_made_up)
{
	struct example sample;
	char *text;

	example_init(&sample);
	sample.peer[0].path_count = 1;
	sample.paths[0] = (struct path){.announced.verdict = VERDICT_UNKNOWN};
	text = metrics_text(&sample.roster, 100);
	ck_assert_ptr_null(strstr(text, "mtuwatchd_path_mtu_bytes{peer=\"db\""));
	ck_assert_ptr_null(strstr(text, "mtuwatchd_expected_mtu_bytes{peer=\"db\""));
	ck_assert_ptr_null(strstr(text, "mtuwatchd_probe_rtt_seconds{peer=\"db\""));
	ck_assert_ptr_null(strstr(text, "mtuwatchd_last_round_timestamp_seconds{peer=\"db\""));
	assert_line(text, "mtuwatchd_verdict{peer=\"db\",address=\"\",interface=\"\","
			  "verdict=\"unknown\"} 1");
	ck_assert_int_le(promtool_check(text), 0);
	free(text);
}
END_TEST

START_TEST(strange_names)
{
	struct example sample;
	char *text;

	example_init(&sample);
	strcpy(sample.link[1].link.name, "a\"b\\c");
	strcpy(sample.link[0].link.name, "\xff\xc3(");
	strcpy(sample.paths[3].link_name, "\xc3\xa4th0");
	text = metrics_text(&sample.roster, 100);
	assert_line(text, "mtuwatchd_link_mtu_bytes{interface=\"a\\\"b\\\\c\"} 9000");
	assert_line(text, "mtuwatchd_link_mtu_bytes{interface=\"?\?(\"} 9000");
	ck_assert_ptr_nonnull(strstr(text, "interface=\"\xc3\xa4th0\""));
	ck_assert_int_le(promtool_check(text), 0);
	free(text);
}
END_TEST

START_TEST(never_twice)
{
	struct example sample;
	struct finding more = example_finding();
	char *text;

	example_init(&sample);
	/* two paths that differ in nothing, a peer with a link's name, two numbers of one finding
	 */
	sample.paths[3].address = sample.paths[2].address;
	strcpy(sample.paths[3].link_name, sample.paths[2].link_name);
	more.should = 8000;
	sample.paths[2].dossier->findings =
		(struct findings){.count = 2, .list = {example_finding(), more}};
	sample.paths[3].dossier->findings = sample.paths[2].dossier->findings;
	strcpy(sample.peer[2].name, "eth1");
	sample.link[1].findings = sample.paths[2].dossier->findings;
	/* in the moment of a rename */
	strcpy(sample.link[0].link.name, "eth1");
	text = metrics_text(&sample.roster, 100);
	assert_unique(text);
	ck_assert_uint_eq(occurrences(text, "mtuwatchd_finding{"), 1);
	ck_assert_uint_eq(occurrences(text, "mtuwatchd_link_mtu_bytes{"), 1);
	ck_assert_int_le(promtool_check(text), 0);
	free(text);
}
END_TEST

START_TEST(pieces_are_the_whole)
{
	struct example sample;
	char *whole, *pieces;

	example_init(&sample);
	whole = metrics_text(&sample.roster, 100);
	pieces = metrics_text(&sample.roster, 1);
	ck_assert_str_eq(whole, pieces);
	free(whole);
	free(pieces);
}
END_TEST

/* Between two pieces peers come and go. */
START_TEST(peers_change_meanwhile)
{
	struct example sample;
	struct metrics_place place = {0};
	struct peer *turned[3];
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	example_init(&sample);
	memcpy(turned, sample.peers, sizeof(turned));
	for (unsigned turn = 0; !metrics_write(&sample.roster, &place, 1, out); turn++) {
		/* gw is there every other time, at the second place or not at all */
		sample.peers[1] = turn % 2 ? turned[1] : turned[2];
		sample.peers[2] = turned[2];
		sample.roster.peer_count = turn % 2 ? 3 : 2;
	}
	fclose(out);
	assert_unique(text);
	ck_assert_int_le(promtool_check(text), 0);
	free(text);
}
END_TEST

/* --- the file --- */

struct scene {
	char folder[32], path[64], beside[64];
	sd_event *event;
	struct example sample;
	struct journal journal;
	struct metrics *metrics;
};

static uint64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

static void scene_begin(struct scene *scene, uint64_t interval_usec)
{
	struct metrics_options options = {.interval_usec = interval_usec};

	memset(scene, 0, sizeof(*scene));
	strcpy(scene->folder, "/tmp/metrics.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scene->folder));
	snprintf(scene->path, sizeof(scene->path), "%s/m.prom", scene->folder);
	snprintf(scene->beside, sizeof(scene->beside), "%s/.m.prom.new", scene->folder);
	options.path = scene->path;
	example_init(&scene->sample);
	journal_init(&scene->journal);
	scene->journal.level = -1;
	ck_assert_int_ge(sd_event_new(&scene->event), 0);
	ck_assert_int_eq(metrics_new(&scene->metrics, scene->event, &scene->sample.roster,
				     &scene->journal, &options),
			 0);
}

static void scene_end(struct scene *scene)
{
	scene->metrics = metrics_free(scene->metrics);
	ck_assert_int_lt(access(scene->path, F_OK), 0);
	ck_assert_int_lt(access(scene->beside, F_OK), 0);
	ck_assert_int_eq(rmdir(scene->folder), 0);
	sd_event_unref(scene->event);
	journal_done(&scene->journal);
}

static ino_t scene_file(const struct scene *scene)
{
	struct stat found = {0};

	return stat(scene->path, &found) == 0 ? found.st_ino : 0;
}

/* Turns the loop until the file is another one. */
static void scene_await(struct scene *scene, ino_t before)
{
	uint64_t end = now_usec() + 60 * USEC_PER_SEC;

	while (scene_file(scene) == before) {
		ck_assert_uint_lt(now_usec(), end);
		ck_assert_int_ge(sd_event_run(scene->event, 20000), 0);
	}
}

START_TEST(written_whole_and_removed)
{
	struct scene scene;
	struct stat found;
	char first[8] = "";
	FILE *in;

	umask(0077);
	scene_begin(&scene, 3600 * USEC_PER_SEC);
	scene_await(&scene, 0);
	ck_assert_int_eq(stat(scene.path, &found), 0);
	ck_assert_uint_eq(found.st_mode & 07777, 0644);
	ck_assert_int_lt(access(scene.beside, F_OK), 0);
	in = fopen(scene.path, "re");
	ck_assert_uint_eq(fread(first, 1, 7, in), 7);
	fclose(in);
	ck_assert_str_eq(first, "# HELP ");
	scene_end(&scene);
}
END_TEST

START_TEST(changes_are_gathered)
{
	struct scene scene;
	uint64_t begun;
	ino_t file;

	scene_begin(&scene, 3600 * USEC_PER_SEC);
	scene_await(&scene, 0);
	begun = now_usec();
	file = scene_file(&scene);
	for (unsigned i = 0; i < 1000; i++)
		metrics_changed(scene.metrics);
	scene_await(&scene, file);
	ck_assert_uint_ge(now_usec() - begun, 900 * USEC_PER_MSEC);
	/* and then none, for nothing changed */
	file = scene_file(&scene);
	begun = now_usec();
	while (now_usec() - begun < 1500 * USEC_PER_MSEC)
		sd_event_run(scene.event, 20000);
	ck_assert_uint_eq(scene_file(&scene), file);
	scene_end(&scene);
}
END_TEST

START_TEST(kept_fresh)
{
	struct scene scene;
	ino_t file;

	scene_begin(&scene, 1100 * USEC_PER_MSEC);
	scene_await(&scene, 0);
	file = scene_file(&scene);
	scene_await(&scene, file);
	scene_end(&scene);
}
END_TEST

/* Nobody makes us write through a link, and what is in the way is got out of it. */
START_TEST(nothing_is_written_through)
{
	struct scene scene;
	char victim[96];
	int fd;

	scene_begin(&scene, 3600 * USEC_PER_SEC);
	snprintf(victim, sizeof(victim), "%s/victim", scene.folder);
	fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, "safe", 4), 4);
	close(fd);
	ck_assert_int_eq(symlink(victim, scene.beside), 0);
	scene_await(&scene, 0);
	fd = open(victim, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 4);
	close(fd);
	unlink(victim);
	scene_end(&scene);
}
END_TEST

/* The folder is made later. */
START_TEST(tried_again)
{
	struct scene scene;
	uint64_t end = now_usec() + 300 * USEC_PER_MSEC;

	scene_begin(&scene, 1100 * USEC_PER_MSEC);
	ck_assert_int_eq(rmdir(scene.folder), 0);
	while (now_usec() < end)
		ck_assert_int_ge(sd_event_run(scene.event, 20000), 0);
	ck_assert_uint_eq(scene_file(&scene), 0);
	ck_assert_int_eq(mkdir(scene.folder, 0700), 0);
	scene_await(&scene, 0);
	scene_end(&scene);
}
END_TEST

/* What is wrong is said as it is: a full disk is not a broken one. */
START_TEST(no_room)
{
	struct rlimit limit = {512, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	uint64_t end = now_usec() + 300 * USEC_PER_MSEC;
	char said[1024] = "";
	int before = dup(STDERR_FILENO), r = 0;
	FILE *lines = tmpfile();
	struct scene scene;

	signal(SIGXFSZ, SIG_IGN);
	scene_begin(&scene, 60 * USEC_PER_SEC);
	scene.journal.level = LOG_WARNING;
	dup2(fileno(lines), STDERR_FILENO);
	/* of no other file meanwhile, the test's own among them */
	setrlimit(RLIMIT_FSIZE, &limit);
	while (r >= 0 && now_usec() < end)
		r = sd_event_run(scene.event, 20000);
	setrlimit(RLIMIT_FSIZE, &none);
	dup2(before, STDERR_FILENO);
	close(before);
	ck_assert_int_ge(r, 0);
	rewind(lines);
	ck_assert_ptr_nonnull(fgets(said, sizeof(said), lines));
	ck_assert_ptr_nonnull(strstr(said, strerror(EFBIG)));
	ck_assert_ptr_null(fgets(said, sizeof(said), lines));
	fclose(lines);
	ck_assert_uint_eq(scene_file(&scene), 0);
	scene_end(&scene);
}
END_TEST

/* --- many --- */

START_TEST(ten_thousand_peers)
{
	struct example sample;
	struct peer *peers = calloc(MANY, sizeof(*peers)), **list = calloc(MANY, sizeof(*list));
	struct metrics_place place = {0};
	uint64_t total = 0, longest = 0;
	FILE *out = tmpfile();
	bool whole = false;
	size_t room = 0, length;
	unsigned lines = 0;
	char *line = NULL;

	example_init(&sample);
	ck_assert(peers && list && out);
	for (unsigned i = 0; i < MANY; i++) {
		peers[i] = sample.peer[0];
		snprintf(peers[i].name, sizeof(peers[i].name), "peer-%05u", i);
		list[i] = &peers[i];
	}
	sample.roster.peers = list;
	sample.roster.peer_count = MANY;
	while (!whole) {
		uint64_t before = now_usec(), spent;

		whole = metrics_write(&sample.roster, &place, 128, out);
		spent = now_usec() - before;
		total += spent;
		longest = spent > longest ? spent : longest;
	}
	length = (size_t)ftell(out);
	rewind(out);
	while (getline(&line, &room, out) > 0)
		lines += strncmp(line, "mtuwatchd_expected_mtu_bytes{", 29) == 0;
	fclose(out);
	printf("# metrics of %u peers: %zu kB in %llu ms, %llu us at once\n", MANY, length / 1000,
	       (unsigned long long)total / 1000, (unsigned long long)longest);
	ck_assert_uint_eq(lines, MANY);
	ck_assert_uint_lt(total, 20 * USEC_PER_SEC);
	free(line);
	free(list);
	free(peers);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *test = tcase_create("metrics");

	tcase_set_timeout(test, 90);
	tcase_add_test(test, all_is_told);
	tcase_add_test(test, nothing_is_made_up);
	tcase_add_test(test, strange_names);
	tcase_add_test(test, never_twice);
	tcase_add_test(test, pieces_are_the_whole);
	tcase_add_test(test, peers_change_meanwhile);
	tcase_add_test(test, written_whole_and_removed);
	tcase_add_test(test, changes_are_gathered);
	tcase_add_test(test, kept_fresh);
	tcase_add_test(test, nothing_is_written_through);
	tcase_add_test(test, tried_again);
	tcase_add_test(test, no_room);
	tcase_add_test(test, ten_thousand_peers);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
