/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said where memory runs out at any call: the whole of it or nothing, and never half of it.
 */
#include "shortage.h"

#include <sys/mman.h>
#include <unistd.h>

#include "../../daemon/ctl/document.h"
#include "../../daemon/ctl/layers.h"
#include "../../daemon/ctl/command.h"
#include "../../daemon/ctl/explain.h"
#include "../../daemon/face/journal.h"
#include "../../daemon/face/journal_clamp.h"
#include "../../daemon/face/metrics.h"
#include "../../daemon/face/report.h"
#include "example.h"
#include "tap.h"

static struct example sample;

/* Every kind of finding, of the path and of the link, as many as there is room for from `first` on. */
static void findings_fill(struct findings *findings, unsigned first)
{
	findings->count = 0;
	for (unsigned id = first; id < FINDING_COUNT && findings->count < FINDINGS_LARGEST; id++) {
		struct finding *finding = &findings->list[findings->count++];

		*finding = example_finding();
		finding->id = (enum finding_id)id;
		if (id == FINDING_PTB_WRONG || id == FINDING_CACHED_PMTU_STALE)
			finding->from = example_address("192.0.2.254");
	}
}

static void sample_make(void)
{
	example_init(&sample);
	sample.dossiers[3].findings = (struct findings){.count = 0};
	findings_fill(&sample.dossiers[3].findings, 0);
	findings_fill(&sample.link[1].findings, FINDING_VLAN_ABOVE_PARENT);
	sample.paths[3].announced.locus = LOCUS_AFTER;
	sample.paths[3].announced.router = example_address("192.0.2.254");
}

/* --- documents --- */

static char *whole; /* as it is with enough memory */

static int document_written(void *about)
{
	char *text = report_json(&sample.roster, about != NULL);

	shortage_over();
	if (!text)
		return -ENOMEM;
	ck_assert_msg(strcmp(text, whole) == 0, "%s: %.1000s", shortage.failed, text);
	free(text);
	return 0;
}

START_TEST(documents_are_whole)
{
	for (unsigned pretty = 0; pretty < 2; pretty++) {
		whole = report_json(&sample.roster, pretty);
		ck_assert_ptr_nonnull(whole);
		shortage_in_turn(document_written, pretty ? &sample : NULL);
		free(whole);
	}
}
END_TEST

static int document_parsed(void *about)
{
	struct json_object *document = NULL;
	int r = document_from_text(whole, &document);

	shortage_over();
	if (r < 0) {
		ck_assert_ptr_null(document);
		return r;
	}
	ck_assert_uint_eq(document_count(document, "Peers"), 3);
	ck_assert_str_eq(document_text(document_at(document, "Peers", 2), "Name"), "san-a");
	json_object_put(document);
	return 0;
}

static int document_made(void *about)
{
	struct json_object *peers = json_object_new_array(), *links = json_object_new_array();
	struct json_object *document = document_new("1", peers, links);

	shortage_over();
	if (!document)
		return -ENOMEM;
	ck_assert_str_eq(document_text(document, "Version"), "1");
	ck_assert_str_eq(document_text(document, "Verdict"), "unknown");
	ck_assert_ptr_nonnull(document_text(document, "Severity"));
	ck_assert(json_object_object_length(document) == 5);
	json_object_put(document);
	return 0;
}

START_TEST(documents_are_read)
{
	whole = report_json(&sample.roster, false);
	shortage_in_turn(document_parsed, NULL);
	shortage_in_turn(document_made, NULL);
	free(whole);
}
END_TEST

/* --- explanations --- */

struct case_explained {
	struct explaining facts;
	const char *text;
};

static int explained(void *about)
{
	struct case_explained *one = about;
	struct json_object *explanation = explain_path(&one->facts);

	shortage_over();
	if (!explanation)
		return -ENOMEM;
	ck_assert_msg(strcmp(json_object_to_json_string(explanation), one->text) == 0, "%s: %.1000s",
		      shortage.failed, json_object_to_json_string(explanation));
	json_object_put(explanation);
	return 0;
}

static void explained_each(struct json_object *document, const struct layers *layers)
{
	for (unsigned i = 0; i < document_count(document, "Peers"); i++) {
		struct json_object *peer = document_at(document, "Peers", i);

		for (unsigned j = 0; j < document_count(peer, "Paths"); j++) {
			struct case_explained one = {
				.facts = {.document = document,
					  .peer = peer,
					  .path = document_at(peer, "Paths", j),
					  .layers = layers}};
			struct json_object *explanation = explain_path(&one.facts);

			one.text = json_object_to_json_string(explanation);
			shortage_in_turn(explained, &one);
			json_object_put(explanation);
		}
	}
}

static const enum verdict faults[] = {VERDICT_BLACK_HOLE, VERDICT_REDUCED, VERDICT_MISCONFIGURED,
				      VERDICT_PARTIAL, VERDICT_UNREACHABLE};

/* Who sets up the link, down to the device below it, makes other advice. */
START_TEST(explanations_are_whole)
{
	struct layers layers = {
		.count = 2,
		.list = {{.name = "p0", .index = 3, .mtu = 1500, .most = 9216},
			 {.name = "eth1", .kind = "bridge", .index = 12, .mtu = 1500}}};

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct json_object *document = NULL;
		char *text;

		layers.list[0].manager.kind = (enum manager_kind)i;
		layers.list[1].manager = layers.list[0].manager;
		sample.paths[3].announced.verdict = faults[i];
		text = report_json(&sample.roster, false);
		ck_assert_int_eq(document_from_text(text, &document), 0);
		explained_each(document, &layers);
		json_object_put(document);
		free(text);
	}
}
END_TEST

/* --- sentences --- */

typedef char *(*sentence_maker_t)(void);

struct case_sentence {
	sentence_maker_t make;
	char *text;
};

static int sentence_made(void *about)
{
	struct case_sentence *one = about;
	char *text = one->make();

	shortage_over();
	if (!text)
		return -ENOMEM;
	ck_assert_str_eq(text, one->text);
	free(text);
	return 0;
}

/* Those that need no memory at all cannot fail. */
static void sentence_each(sentence_maker_t make)
{
	struct case_sentence one = {make, make()};

	ck_assert_ptr_nonnull(one.text);
	shortage_each(sentence_made, &one, false);
	shortage_each(sentence_made, &one, true);
	free(one.text);
}

static const struct finding *finding_told;

static char *finding_text(void)
{
	return words_finding_text(finding_told);
}

static char *finding_advice(void)
{
	return words_finding_advice(finding_told);
}

START_TEST(findings_are_whole)
{
	for (unsigned id = 0; id < FINDING_COUNT; id++) {
		struct findings one = {0};

		findings_fill(&one, id);
		for (unsigned type = 0; type < 4; type++) {
			one.list[0].type = (uint8_t)type;
			one.list[0].cause = (uint8_t)type;
			one.list[0].origin = (uint8_t)type;
			finding_told = &one.list[0];
			sentence_each(finding_text);
			sentence_each(finding_advice);
		}
	}
}
END_TEST

static char *verdict_text(void)
{
	return words_verdict_sentence(&sample.peer[2], &sample.paths[3], &sample.paths[3].announced);
}

static char *verdict_advice(void)
{
	return words_verdict_advice(&sample.peer[2], &sample.paths[3], &sample.paths[3].announced);
}

static char *verdict_place(void)
{
	return words_place(&sample.paths[3], &sample.paths[3].announced);
}

START_TEST(verdicts_are_whole)
{
	struct judgement *said = &sample.paths[3].announced;

	for (unsigned verdict = 0; verdict < VERDICT_COUNT; verdict++)
		for (unsigned direction = DIRECTION_NONE; direction <= DIRECTION_BOTH; direction++) {
			said->verdict = (enum verdict)verdict;
			said->direction = (enum direction)direction;
			said->return_mtu = direction == DIRECTION_RETURN ? 1400 : 0;
			sentence_each(verdict_text);
			sentence_each(verdict_advice);
			sentence_each(verdict_place);
		}
}
END_TEST

/* --- the table --- */

/* What is wrong may be missing, or the note of a row. No row may, and half a line may not. */
static int table_printed(void *about)
{
	char *text = NULL, *rest, *line;
	size_t length;
	FILE *out = __real_open_memstream(&text, &length);

	report_table(&sample.roster, out, &(struct report_style){.width = 0});
	fclose(out);
	shortage_over();
	ck_assert_msg(strstr(text, "black-hole"), "%s: %.1500s", shortage.failed, text);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		ck_assert_msg(strstr(whole, line) || strncmp(line, "san-a ", 6) == 0, "%s: \"%s\"",
			      shortage.failed, line);
	free(text);
	return 0;
}

START_TEST(tables_have_every_row)
{
	size_t length;
	FILE *out = open_memstream(&whole, &length);

	report_table(&sample.roster, out, &(struct report_style){.width = 0});
	fclose(out);
	shortage_in_turn(table_printed, NULL);
	free(whole);
}
END_TEST

/* --- the journal --- */

static int said_fd; /* what is standard error */

/* Each record is told of, if only in a word. */
static void assert_told(unsigned records)
{
	char text[8192];
	ssize_t length = pread(said_fd, text, sizeof(text) - 1, 0);
	unsigned lines = 0;

	ck_assert_int_ge(length, 0);
	for (ssize_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	ck_assert_msg(lines >= records, "%u of %u: %.*s", lines, records, (int)length, text);
}

static void tell_all(struct journal *journal)
{
	struct judgement before = {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000};
	struct finding finding = example_finding();
	struct link was = sample.link[1].link;
	struct cause cause = {0};
	struct link_news link = {.before = &was, .now = &sample.link[1].link, .cause = &cause};
	struct finding_news news = {.finding = &finding, .appeared = true, .severity = SEVERITY_WARNING};
	struct clamp_word word = {.peer = &sample.peer[2], .path = &sample.paths[3], .mtu = 1500};

	was.mtu = 1500;
	journal_verdict(journal, &sample.peer[2], &sample.paths[3], &before,
			&sample.paths[3].announced);
	journal_reminder(journal, &sample.peer[2], &sample.paths[3]);
	journal_link_mtu(journal, &link);
	journal_link_finding(journal, &news);
	journal_finding(journal, &sample.peer[2], &sample.paths[3], &finding, true, SEVERITY_WARNING);
	journal_config_rejected(journal, "mtuwatchd.conf:1: no such key\n");
	journal_clamped(journal, &word);
	journal_released(journal, &word);
	word.refusal = REFUSAL_KERNEL;
	word.error = -EPERM;
	journal_clamp_refused(journal, &word);
	journal_clamp_yielded(journal, &word);
}

static int all_told(void *about)
{
	struct journal journal;

	if (ftruncate(said_fd, 0) < 0 || lseek(said_fd, 0, SEEK_SET) < 0)
		return -errno;
	journal_init(&journal);
	journal_choose(&journal, true);
	tell_all(&journal);
	journal_done(&journal);
	shortage_over();
	assert_told(10);
	return 0;
}

START_TEST(journal_tells_in_any_case)
{
	int own = dup(STDERR_FILENO);

	said_fd = memfd_create("said", MFD_CLOEXEC);
	ck_assert_int_ge(dup2(said_fd, STDERR_FILENO), 0);
	shortage_in_turn(all_told, NULL);
	dup2(own, STDERR_FILENO);
	close(own);
	close(said_fd);
}
END_TEST

/* --- the metrics' file --- */

static char folder[] = "/tmp/mtuwatchd-shortage-XXXXXX";

static unsigned folder_files(void)
{
	DIR *list = __real_opendir(folder);
	unsigned count = 0;

	for (struct dirent *entry; (entry = readdir(list));)
		count += entry->d_name[0] != '.';
	closedir(list);
	return count;
}

static int metrics_kept(void *about)
{
	struct metrics_options options = {.interval_usec = 60 * USEC_PER_SEC};
	struct metrics *metrics = NULL;
	sd_event *event;
	char path[96];
	int r = sd_event_new(&event);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/mtu.prom", folder);
	options.path = path;
	r = metrics_new(&metrics, event, &sample.roster, &(struct journal){.level = -1, .fd = -1},
			&options);
	shortage_over();
	if (r >= 0)
		ck_assert(metrics_is(metrics, &options));
	else
		ck_assert_ptr_null(metrics);
	metrics_free(metrics);
	sd_event_unref(event);
	ck_assert_uint_eq(folder_files(), 0);
	return r;
}

START_TEST(metrics_leave_nothing)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	shortage_in_turn(metrics_kept, NULL);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shortage");
	TCase *words = tcase_create("words");

	tcase_add_checked_fixture(words, sample_make, NULL);
	tcase_add_test(words, documents_are_whole);
	tcase_add_test(words, documents_are_read);
	tcase_add_test(words, explanations_are_whole);
	tcase_add_test(words, findings_are_whole);
	tcase_add_test(words, verdicts_are_whole);
	tcase_add_test(words, tables_have_every_row);
	tcase_add_test(words, journal_tells_in_any_case);
	tcase_add_test(words, metrics_leave_nothing);
	suite_add_tcase(suite, words);
	return tap_run(suite);
}
