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

	report_table(roster, out, colour, width);
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
	ck_assert_ptr_nonnull(strstr(text, "\n    a switch port"));
	ck_assert_ptr_nonnull(strstr(text, "\nwarning: link eth1 has an MTU of 1500"));
	ck_assert_ptr_null(strstr(text, "\033"));
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
	sample.paths[3].findings.list[0] = example_finding();
	sample.paths[3].findings.count = 1;
	sample.paths[2].findings = sample.paths[3].findings;
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

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *test = tcase_create("report");
	SRunner *runner;
	int failed;

	tcase_add_test(test, table_says_it_all);
	tcase_add_test(test, clean_table_says_no_more);
	tcase_add_test(test, table_fits_the_screen);
	tcase_add_test(test, table_in_colour);
	tcase_add_test(test, empty_table);
	tcase_add_test(test, document);
	tcase_add_test(test, document_pretty);
	tcase_add_test(test, fields);
	tcase_add_test(test, exit_codes);
	suite_add_tcase(suite, test);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
