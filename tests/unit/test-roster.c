/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The worst of all, the counts, and finding by name. */
#include <check.h>
#include <stdlib.h>

#include "example.h"

START_TEST(worst_path_is_the_peers)
{
	struct example sample;

	example_init(&sample);
	ck_assert_ptr_eq(peer_worst_path(&sample.peer[2]), &sample.paths[3]);
	ck_assert_int_eq(peer_verdict(&sample.peer[2]), VERDICT_BLACK_HOLE);
	ck_assert_int_eq(peer_verdict(&sample.peer[0]), VERDICT_CONSISTENT);
	ck_assert_int_eq(peer_severity(&sample.peer[2]), SEVERITY_CRITICAL);
}
END_TEST

START_TEST(of_equal_paths_the_first)
{
	struct example sample;

	example_init(&sample);
	sample.paths[2] = sample.paths[3];
	ck_assert_ptr_eq(peer_worst_path(&sample.peer[2]), &sample.paths[2]);
	sample.paths[2].announced.severity = SEVERITY_WARNING;
	ck_assert_ptr_eq(peer_worst_path(&sample.peer[2]), &sample.paths[3]);
}
END_TEST

START_TEST(no_path_is_unknown)
{
	struct peer peer = {.name = "x"};

	ck_assert_ptr_null(peer_worst_path(&peer));
	ck_assert_int_eq(peer_verdict(&peer), VERDICT_UNKNOWN);
	ck_assert_int_eq(peer_severity(&peer), SEVERITY_NONE);
}
END_TEST

START_TEST(severity_is_of_any_path)
{
	struct example sample;

	example_init(&sample);
	sample.paths[3].announced.severity = SEVERITY_WARNING; /* not confirmed */
	sample.paths[2].announced.verdict = VERDICT_MISCONFIGURED;
	sample.paths[2].announced.severity = SEVERITY_CRITICAL;
	ck_assert_int_eq(peer_severity(&sample.peer[2]), SEVERITY_CRITICAL);
}
END_TEST

START_TEST(the_whole)
{
	struct example sample;
	struct roster empty = {};

	example_init(&sample);
	ck_assert_int_eq(roster_verdict(&sample.roster), VERDICT_BLACK_HOLE);
	ck_assert_int_eq(roster_severity(&sample.roster), SEVERITY_CRITICAL);
	ck_assert_uint_eq(roster_peers_faulty(&sample.roster), 1);
	ck_assert_uint_eq(roster_links_faulty(&sample.roster), 0);
	ck_assert_int_eq(roster_verdict(&empty), VERDICT_UNKNOWN);
	ck_assert_int_eq(roster_severity(&empty), SEVERITY_NONE);
}
END_TEST

START_TEST(links_count_too)
{
	struct example sample;

	example_init(&sample);
	sample.peer[2].path_count = 1;
	ck_assert_int_eq(roster_severity(&sample.roster), SEVERITY_OK);
	sample.link[1].findings.list[0] = example_finding();
	sample.link[1].findings.count = 1;
	ck_assert_int_eq(link_state_severity(&sample.link[1]), SEVERITY_WARNING);
	ck_assert_int_eq(link_state_severity(&sample.link[0]), SEVERITY_OK);
	ck_assert_int_eq(roster_severity(&sample.roster), SEVERITY_WARNING);
	ck_assert_int_eq(roster_verdict(&sample.roster), VERDICT_CONSISTENT);
	ck_assert_uint_eq(roster_links_faulty(&sample.roster), 1);
	sample.link[1].ignored = true;
	ck_assert_int_eq(roster_severity(&sample.roster), SEVERITY_OK);
	ck_assert_uint_eq(roster_links_faulty(&sample.roster), 0);
}
END_TEST

START_TEST(found_by_name)
{
	struct example sample;
	struct roster empty = {};

	example_init(&sample);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_eq(roster_peer(&sample.roster, sample.peer[i].name), &sample.peer[i]);
	ck_assert_ptr_null(roster_peer(&sample.roster, ""));
	ck_assert_ptr_null(roster_peer(&sample.roster, "eth0"));
	ck_assert_ptr_null(roster_peer(&sample.roster, "zzz"));
	ck_assert_ptr_null(roster_peer(&empty, "db"));
	ck_assert_ptr_eq(roster_link(&sample.roster, "eth1"), &sample.link[1]);
	ck_assert_ptr_null(roster_link(&sample.roster, "eth"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("roster");
	TCase *test = tcase_create("roster");
	SRunner *runner;
	int failed;

	tcase_add_test(test, worst_path_is_the_peers);
	tcase_add_test(test, of_equal_paths_the_first);
	tcase_add_test(test, no_path_is_unknown);
	tcase_add_test(test, severity_is_of_any_path);
	tcase_add_test(test, the_whole);
	tcase_add_test(test, links_count_too);
	tcase_add_test(test, found_by_name);
	suite_add_tcase(suite, test);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
