/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table, the document and the exit code. */
#include <check.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "../../daemon/face/report.h"
#include "example.h"

static char *table_text(const struct roster *roster, bool colour, unsigned width)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	report_table(roster, out, &(struct report_style){.colour = colour, .width = width});
	fclose(out);
	return text;
}

/* The longest line of the table itself, which ends at an empty line. */
static size_t table_longest(const char *text)
{
	size_t longest = 0;

	while (*text && *text != '\n') {
		size_t length = strcspn(text, "\n");

		longest = length > longest ? length : longest;
		text += length + (text[length] == '\n');
	}
	return longest;
}

START_TEST(table_says_it_all)
{
	struct example sample;
	char *text;

	example_init(&sample);
	sample.link[1].findings.list[0] = example_finding();
	sample.link[1].findings.count = 1;
	text = table_text(&sample.roster, false, 0);
	ck_assert(strncmp(text, "PEER ", 5) == 0);
	ck_assert_ptr_nonnull(strstr(text, "1500/9000 black-hole"));
	ck_assert_ptr_nonnull(strstr(text, "\ncritical: peer san-a (192.0.2.10) by eth1: "));
	ck_assert_ptr_nonnull(strstr(text, "\n    the peer's own link, or a switch port"));
	ck_assert_ptr_nonnull(strstr(text, "\nwarning: link eth1 has an MTU of 1500"));
	ck_assert_ptr_null(strstr(text, "\033"));
	ck_assert_ptr_null(strstr(text, " \n"));
	ck_assert_ptr_null(strstr(text, "NOTE"));
	ck_assert_str_ne(text + strlen(text) - 2, "\n\n");
	free(text);
}
END_TEST

START_TEST(clean_table_says_no_more)
{
	struct example sample;
	char *text;

	example_init(&sample);
	sample.peer[2].path_count = 1;
	text = table_text(&sample.roster, false, 80);
	ck_assert_ptr_null(strstr(text, "\n\n"));
	free(text);
}
END_TEST

START_TEST(table_fits_the_screen)
{
	struct example sample;
	char *text;

	example_init(&sample);
	memset(sample.peer[0].name, 'd', PEER_NAME_LONGEST);
	sample.paths[0].address = example_address("2001:db8:1111:2222:3333:4444:5555:6666");
	sample.paths[3].announced.reason = REASON_SILENT;
	strcpy(sample.paths[3].link_name, "enp129s0f1np1vf");
	text = table_text(&sample.roster, false, 80);
	ck_assert_uint_le(table_longest(text), 80);
	ck_assert_ptr_nonnull(strstr(text, "..."));
	ck_assert_ptr_nonnull(strstr(text, "black-hole"));
	free(text);
	text = table_text(&sample.roster, false, 0);
	ck_assert_ptr_nonnull(strstr(text, sample.peer[0].name));
	ck_assert_ptr_nonnull(strstr(text, "2001:db8:1111:2222:3333:4444:5555:6666"));
	free(text);
}
END_TEST

static void assert_same_words(const char *a, const char *b)
{
	while (*a && *b) {
		size_t length = strcspn(a, " \n");

		ck_assert_uint_eq(length, strcspn(b, " \n"));
		ck_assert_int_eq(strncmp(a, b, length), 0);
		a += length + strspn(a + length, " \n");
		b += length + strspn(b + length, " \n");
	}
	ck_assert_int_eq(*a, *b);
}

static char *faults_text(const struct roster *roster, unsigned width)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	report_faults(roster, out, &(struct report_style){.width = width});
	fclose(out);
	return text;
}

/* What stands below the table is held by the screen too, and nothing of it is lost. */
START_TEST(faults_are_wrapped)
{
	struct example sample;
	char *wrapped, *whole;

	example_init(&sample);
	wrapped = faults_text(&sample.roster, 80);
	whole = faults_text(&sample.roster, 0);
	for (const char *line = wrapped; *line; line += strcspn(line, "\n"), line += *line == '\n')
		ck_assert_uint_le(strcspn(line, "\n"), 80);
	ck_assert_ptr_nonnull(strstr(wrapped, "\ncritical: peer san-a (192.0.2.10) by eth1: "));
	ck_assert_ptr_nonnull(strstr(wrapped, "\n    the peer's own link, or a switch port, tunnel or router"));
	ck_assert_uint_gt(strlen(whole), 160);
	assert_same_words(wrapped, whole);
	free(wrapped);
	free(whole);
}
END_TEST

static unsigned occurrences(const char *text, const char *part)
{
	unsigned count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

/* A link that is too small: the verdict, the path and the link know it, one says it. */
START_TEST(worst_fault_first)
{
	struct example sample;
	const char *warning, *critical;
	char *text;

	example_init(&sample);
	sample.paths[0].announced = (struct judgement){.verdict = VERDICT_UNREACHABLE,
						       .severity = SEVERITY_WARNING,
						       .reason = REASON_NO_NEIGHBOUR};
	text = table_text(&sample.roster, false, 0);
	critical = strstr(text, "\ncritical: peer san-a");
	warning = strstr(text, "\nwarning: peer db");
	ck_assert_ptr_nonnull(critical);
	ck_assert_ptr_nonnull(warning);
	ck_assert(critical < warning);
	free(text);
}
END_TEST

START_TEST(one_fault_is_said_once)
{
	struct example sample;
	struct path *path = &sample.paths[3];
	char *text;

	example_init(&sample);
	path->announced = (struct judgement){.verdict = VERDICT_MISCONFIGURED,
					     .severity = SEVERITY_WARNING,
					     .reason = REASON_LINK_SMALLER,
					     .path_mtu = 1500};
	path->facts.capacity = 1500;
	path->dossier->findings.list[0] = example_finding();
	path->dossier->findings.count = 1;
	sample.link[1].findings = path->dossier->findings;
	text = table_text(&sample.roster, false, 0);
	ck_assert_uint_eq(occurrences(text, "link eth1 has an MTU of 1500"), 1);
	ck_assert_uint_eq(occurrences(text, "warning: "), 1);
	free(text);
	/* a verdict that does not say it: the link does */
	path->announced = sample.paths[2].announced;
	text = table_text(&sample.roster, false, 0);
	ck_assert_uint_eq(occurrences(text, "warning: "), 1);
	ck_assert_ptr_nonnull(strstr(text, "\nwarning: link eth1 has an MTU of 1500"));
	free(text);
	path->announced = (struct judgement){.verdict = VERDICT_MISCONFIGURED,
					     .severity = SEVERITY_WARNING,
					     .reason = REASON_WRONG_LINK};
	path->dossier->findings.list[0].id = FINDING_WRONG_LINK;
	text = table_text(&sample.roster, false, 0);
	ck_assert_ptr_nonnull(strstr(text, "as configured\n"));
	ck_assert_ptr_null(strstr(text, "packets leave by"));
	free(text);
	path->announced = (struct judgement){.verdict = VERDICT_BLACK_HOLE,
					     .severity = SEVERITY_CRITICAL,
					     .direction = DIRECTION_RETURN,
					     .return_mtu = 1500};
	path->dossier->findings.list[0].id = FINDING_RETURN_SMALLER;
	text = table_text(&sample.roster, false, 0);
	ck_assert_uint_eq(occurrences(text, "come back whole"), 0);
	path->announced.direction = DIRECTION_FORWARD;
	free(text);
	text = table_text(&sample.roster, false, 0);
	ck_assert_uint_eq(occurrences(text, "come back whole"), 1);
	free(text);
	path->announced = sample.paths[2].announced;
	path->dossier->findings.list[0] = example_finding();
	/* other numbers are another fault */
	sample.link[1].findings.list[0].should = 8000;
	text = table_text(&sample.roster, false, 0);
	ck_assert_uint_eq(occurrences(text, "warning: "), 2);
	ck_assert_ptr_nonnull(strstr(text, "\nwarning: peer san-a: link eth1 has an MTU of 1500"));
	free(text);
}
END_TEST

static char *table_again(const struct roster *roster, struct report_told *told)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	report_table(roster, out, &(struct report_style){.told = told});
	fclose(out);
	return text;
}

START_TEST(only_news_is_told_again)
{
	struct example sample;
	struct report_told told = {};
	char *text;

	example_init(&sample);
	sample.link[1].findings.list[0] = example_finding();
	sample.link[1].findings.count = 1;
	text = table_again(&sample.roster, &told);
	ck_assert_uint_eq(occurrences(text, "critical: ") + occurrences(text, "warning: "), 2);
	free(text);
	text = table_again(&sample.roster, &told);
	ck_assert_ptr_nonnull(strstr(text, "black-hole"));
	ck_assert_ptr_null(strstr(text, "\n\n"));
	free(text);
	sample.paths[3].announced.path_mtu = 1400;
	text = table_again(&sample.roster, &told);
	ck_assert_uint_eq(occurrences(text, "critical: "), 1);
	ck_assert_uint_eq(occurrences(text, "warning: "), 0);
	free(text);
	/* gone, and there again */
	sample.link[1].findings.count = 0;
	free(table_again(&sample.roster, &told));
	sample.link[1].findings.count = 1;
	text = table_again(&sample.roster, &told);
	ck_assert_uint_eq(occurrences(text, "warning: "), 1);
	free(text);
	report_told_done(&told);
}
END_TEST

/* The place; why it is so only where no sentence below says it. */
START_TEST(notes)
{
	struct example sample;
	char *text;

	example_init(&sample);
	sample.paths[3].announced.locus = LOCUS_ON_LINK;
	sample.paths[0].announced = (struct judgement){.verdict = VERDICT_UNREACHABLE,
						       .severity = SEVERITY_WARNING,
						       .reason = REASON_NO_NEIGHBOUR};
	sample.paths[1].announced =
		(struct judgement){.verdict = VERDICT_UNKNOWN, .reason = REASON_NO_ADDRESS};
	text = table_text(&sample.roster, false, 0);
	ck_assert_ptr_nonnull(strstr(text, " on-link\n"));
	ck_assert_uint_eq(occurrences(text, "nobody answers"), 1);
	ck_assert_ptr_nonnull(strstr(text, "its host name has no address now\n"));
	ck_assert_ptr_nonnull(strstr(text, " PASSES/OF "));
	free(text);
}
END_TEST

START_TEST(table_in_colour)
{
	struct example sample;
	char *text;

	example_init(&sample);
	text = table_text(&sample.roster, true, 80);
	ck_assert_ptr_nonnull(strstr(text, "\033[1;31mblack-hole"));
	free(text);
}
END_TEST

START_TEST(empty_table)
{
	struct roster roster = {};
	char *text = table_text(&roster, false, 80);

	ck_assert_ptr_nonnull(strstr(text, "nothing to watch"));
	ck_assert_ptr_null(strstr(text, "answered"));
	free(text);
	roster.answering_port = 8899;
	text = table_text(&roster, false, 80);
	ck_assert_ptr_nonnull(strstr(text, "Other hosts are answered on UDP port 8899.\n"));
	free(text);
}
END_TEST

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	ck_assert_msg(json_object_object_get_ex(object, key, &value), "no key %s", key);
	return value;
}

static const char *text_of(struct json_object *object, const char *key)
{
	return json_object_get_string(member(object, key));
}

START_TEST(document)
{
	struct example sample;
	struct json_object *all, *peer, *path, *finding;
	char *text;

	example_init(&sample);
	sample.paths[3].dossier->findings.list[0] = example_finding();
	sample.paths[3].dossier->findings.count = 1;
	sample.paths[2].dossier->findings = sample.paths[3].dossier->findings;
	text = report_json(&sample.roster, false);
	ck_assert_ptr_null(strchr(text, '\n'));
	all = json_tokener_parse(text);
	ck_assert_ptr_nonnull(all);
	ck_assert_str_eq(text_of(all, "Version"), VERSION);
	ck_assert_str_eq(text_of(all, "Verdict"), "black-hole");
	ck_assert_str_eq(text_of(all, "Severity"), "critical");
	ck_assert_uint_eq(json_object_array_length(member(all, "Links")), 2);
	peer = json_object_array_get_idx(member(all, "Peers"), 2);
	ck_assert_str_eq(text_of(peer, "Name"), "san-a");
	ck_assert_int_eq(json_object_get_int(member(peer, "PathMTU")), 1500);
	ck_assert_str_eq(text_of(peer, "Interface"), "eth1");
	ck_assert_int_eq(json_object_get_int(member(peer, "ProbesSent")), 32);
	ck_assert_int_eq(json_object_get_int(member(peer, "Flows")), 2);
	ck_assert_int_eq(json_object_get_int(member(peer, "FlowsFaulty")), 1);
	ck_assert_uint_eq(json_object_array_length(member(peer, "Findings")), 1);
	path = json_object_array_get_idx(member(peer, "Paths"), 0);
	ck_assert_str_eq(text_of(path, "Verdict"), "consistent");
	ck_assert_str_eq(text_of(path, "Severity"), "ok");
	ck_assert_int_eq(json_object_get_int(member(path, "ProbesSent")), 16);
	finding = json_object_array_get_idx(member(path, "Findings"), 0);
	ck_assert_str_eq(text_of(finding, "Id"), "link-below-expected");
	ck_assert_str_eq(text_of(finding, "Severity"), "warning");
	ck_assert_uint_gt(strlen(text_of(finding, "Text")), 0);
	ck_assert_uint_gt(strlen(text_of(finding, "Advice")), 0);
	json_object_put(all);
	free(text);
}
END_TEST

START_TEST(document_pretty)
{
	struct example sample;
	char *text;
	struct json_object *all;

	example_init(&sample);
	text = report_json(&sample.roster, true);
	ck_assert_ptr_nonnull(strstr(text, "\n  \"Peers\""));
	ck_assert_ptr_nonnull(strstr(text, "\"Findings\": []"));
	all = json_tokener_parse(text);
	ck_assert_ptr_nonnull(all);
	json_object_put(all);
	free(text);
}
END_TEST

/* All fields work on a peer that has no path, and none is named twice. */
START_TEST(fields)
{
	struct peer peer = {.name = "x"};
	struct link_state link = {};
	struct field_value value;

	for (const struct peer_field *field = report_peer_fields; field->name; field++) {
		ck_assert_int_eq(field->get(&peer, NULL, &value), 0);
		field_value_done(field->type, &value);
		for (const struct peer_field *other = field + 1; other->name; other++)
			ck_assert_str_ne(field->name, other->name);
	}
	for (const struct link_field *field = report_link_fields; field->name; field++) {
		ck_assert_int_eq(field->get(&link, &value), 0);
		field_value_done(field->type, &value);
	}
}
END_TEST

static uint32_t number_of(const struct peer *peer, const struct path *path, const char *name)
{
	struct field_value value = {};

	for (const struct peer_field *field = report_peer_fields; field->name; field++)
		if (strcmp(field->name, name) == 0)
			ck_assert_int_eq(field->get(peer, path, &value), 0);
	return value.u32;
}

START_TEST(flows_and_methods)
{
	struct example sample;
	struct peer *peer = &sample.peer[2];
	struct path *path = &sample.paths[3];
	struct json_object *all, *one;
	char *text;

	example_init(&sample);
	path->flow_count = 8;
	path->flows_faulty = 3;
	path->kind = PROBE_SYN;
	ck_assert_uint_eq(number_of(peer, path, "Flows"), 8);
	ck_assert_uint_eq(number_of(peer, path, "FlowsFaulty"), 3);
	ck_assert_uint_eq(number_of(peer, NULL, "Flows"), 9);
	ck_assert_uint_eq(number_of(peer, NULL, "FlowsFaulty"), 3);
	/* seen in one round, not announced */
	path->announced.verdict = VERDICT_CONSISTENT;
	ck_assert_uint_eq(number_of(peer, path, "FlowsFaulty"), 0);
	path->announced.verdict = VERDICT_PARTIAL;
	text = report_json(&sample.roster, false);
	all = json_tokener_parse(text);
	one = json_object_array_get_idx(member(all, "Peers"), 2);
	ck_assert_str_eq(text_of(one, "Method"), "tcp");
	ck_assert_str_eq(text_of(json_object_array_get_idx(member(one, "Paths"), 0), "Method"),
			 "icmp");
	ck_assert_str_eq(text_of(json_object_array_get_idx(member(one, "Paths"), 0), "Interface"),
			 "eth0");
	ck_assert_str_eq(text_of(json_object_array_get_idx(member(one, "Paths"), 1), "Interface"),
			 "eth1");
	ck_assert_str_eq(text_of(json_object_array_get_idx(member(one, "Paths"), 1), "Address"),
			 "192.0.2.10");
	json_object_put(all);
	free(text);
	text = table_text(&sample.roster, false, 0);
	ck_assert_ptr_nonnull(strstr(text, "3 of 8 flows"));
	free(text);
}
END_TEST

/* A row a path; of a fault on the way back its own number, not that of the way there. */
START_TEST(table_of_paths)
{
	struct example sample;
	struct judgement *judgement = &sample.paths[3].announced;
	char *text;

	example_init(&sample);
	judgement->direction = DIRECTION_RETURN;
	judgement->path_mtu = 9000;
	judgement->return_mtu = 1500;
	text = table_text(&sample.roster, false, 0);
	ck_assert_ptr_nonnull(strstr(text, "\nsan-a 192.0.2.10  eth0 9000/9000 consistent"));
	ck_assert_ptr_nonnull(strstr(text, "\nsan-a 192.0.2.10  eth1 1500/9000 black-hole"));
	ck_assert_ptr_nonnull(strstr(text, "on the way back\n"));
	free(text);
}
END_TEST

START_TEST(exit_codes)
{
	struct example sample;
	struct roster empty = {};
	struct judgement *a, *b;

	example_init(&sample);
	a = &sample.paths[2].announced;
	b = &sample.paths[0].announced;
	ck_assert_int_eq(report_exit_code(&empty), 3);
	ck_assert_int_eq(report_exit_code(&sample.roster), 2);
	sample.peer[2].path_count = 1;
	ck_assert_int_eq(report_exit_code(&sample.roster), 0);
	a->severity = SEVERITY_NOTICE;
	ck_assert_int_eq(report_exit_code(&sample.roster), 0);
	a->severity = SEVERITY_WARNING;
	ck_assert_int_eq(report_exit_code(&sample.roster), 1);
	b->verdict = VERDICT_UNREACHABLE;
	b->severity = SEVERITY_WARNING;
	ck_assert_int_eq(report_exit_code(&sample.roster), 3);
	a->severity = SEVERITY_CRITICAL;
	ck_assert_int_eq(report_exit_code(&sample.roster), 2);
	a->severity = SEVERITY_OK;
	b->verdict = VERDICT_UNKNOWN;
	b->severity = SEVERITY_NONE;
	ck_assert_int_eq(report_exit_code(&sample.roster), 3);
}
END_TEST

/* A link that an address has nothing to do with is no matter of that address. */
START_TEST(exit_code_of_what_was_asked)
{
	struct example sample;

	example_init(&sample);
	sample.peer[2].path_count = 1;
	sample.link[1].findings.list[0] = example_finding();
	sample.link[1].findings.count = 1;
	ck_assert_int_eq(report_exit_code(&sample.roster), 1);
	for (unsigned i = 0; i < 3; i++)
		sample.peer[i].origin = ORIGIN_REQUEST;
	for (unsigned i = 0; i < 3; i++)
		sample.paths[i].route.link = sample.link[0].link.index;
	ck_assert_int_eq(report_exit_code(&sample.roster), 0);
	sample.paths[2].route.link = sample.link[1].link.index;
	ck_assert_int_eq(report_exit_code(&sample.roster), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *test = tcase_create("report");
	SRunner *runner;
	int failed;

	tcase_add_test(test, table_says_it_all);
	tcase_add_test(test, clean_table_says_no_more);
	tcase_add_test(test, table_fits_the_screen);
	tcase_add_test(test, faults_are_wrapped);
	tcase_add_test(test, worst_fault_first);
	tcase_add_test(test, one_fault_is_said_once);
	tcase_add_test(test, only_news_is_told_again);
	tcase_add_test(test, notes);
	tcase_add_test(test, table_in_colour);
	tcase_add_test(test, empty_table);
	tcase_add_test(test, document);
	tcase_add_test(test, document_pretty);
	tcase_add_test(test, fields);
	tcase_add_test(test, flows_and_methods);
	tcase_add_test(test, table_of_paths);
	tcase_add_test(test, exit_codes);
	tcase_add_test(test, exit_code_of_what_was_asked);
	suite_add_tcase(suite, test);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
