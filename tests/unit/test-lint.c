/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each finding with its cause alone, and no finding without one. */
#include <string.h>

#include "../../daemon/core/lint.h"
#include "tap.h"

#define MOST 3

/* A row ends with what has to be found, in this order, and nothing else. */
struct expected {
	enum finding_id id;
	enum severity severity;
	uint32_t is, should;
};

static void assert_findings(const char *what, const struct findings *is,
			    const struct expected *expected, unsigned count)
{
	ck_assert_msg(is->count == count, "%s: %u findings", what, is->count);
	for (unsigned i = 0; i < count; i++) {
		const struct finding *one = &is->list[i];

		ck_assert_msg(one->id == expected[i].id && one->severity == expected[i].severity &&
				      one->is == expected[i].is &&
				      one->should == expected[i].should,
			      "%s: id %d severity %d is %u should %u", what, one->id,
			      one->severity, one->is, one->should);
		ck_assert_ptr_eq(findings_find(is, one->id), one);
	}
}

/* clang-format off */
#define UP .name = "eth1", .up = true, .carrier = true
struct path_row {
	const char *what;
	struct path_facts facts;
	struct link link;       /* mtu 0: unknown */
	struct route route;
	struct evidence evidence; /* full 0: no round yet */
	unsigned count;
	struct expected found[MOST];
};

#define LINK(size) .link = {UP, .mtu = (size)}
#define NARROW(size, why) .facts = {.expected = 9000, .capacity = (size), .narrow = REASON_##why}
#define PASSES(outcome_, size) .evidence.outcome = OUTCOME_##outcome_, .evidence.full = 9000, \
	.evidence.passes = (size)
static const struct path_row path_rows[] = {
	{"nothing is known", .count = 0},
	{"fine", .facts = {.expected = 9000, .capacity = 9000}, LINK(9000), PASSES(FULL, 9000)},
	{"a black hole is a verdict", LINK(9000), PASSES(LESS, 1500)},
	{"silence is a verdict", LINK(9000), PASSES(NOTHING, 0)},
	{"the link is too small", NARROW(1500, LINK_SMALLER), LINK(1500), .count = 1,
		.found = {{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 1500, 9000}}},
	{"link and route are too small", NARROW(1400, LINK_SMALLER), LINK(1500), .route.mtu = 1400,
		.count = 2,
		.found = {{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 1500, 9000},
			  {FINDING_ROUTE_MTU_BELOW_LINK, SEVERITY_NOTICE, 1400, 1500}}},
	{"only IPv6 uses too little of the link", NARROW(1500, LINK_SMALLER),
		.link = {UP, .mtu = 9000, .ipv6_mtu = 1500}, .count = 1,
		.found = {{FINDING_IPV6_MTU_BELOW_LINK, SEVERITY_NOTICE, 1500, 9000}}},
	{"the link has grown since", NARROW(1500, LINK_SMALLER), LINK(9000)},
	{"a link that is gone", NARROW(1500, LINK_SMALLER), .count = 0},
	{"the wrong link", NARROW(1500, WRONG_LINK), LINK(1500), .count = 1,
		.found = {{FINDING_WRONG_LINK, SEVERITY_WARNING, 1500, 9000}}},
	{"the route is too small", NARROW(1400, ROUTE_SMALLER), LINK(9000), .route.mtu = 1400,
		.count = 1, .found = {{FINDING_ROUTE_MTU_BELOW_LINK, SEVERITY_NOTICE, 1400, 9000}}},
	{"the route is as the link", LINK(9000), .route.mtu = 9000},
	{"the route promises too much", LINK(1500), .route.mtu = 9000, .count = 1,
		.found = {{FINDING_ROUTE_MTU_ABOVE_LINK, SEVERITY_WARNING, 9000, 1500}}},
	{"no route any more", LINK(1500), .route = {.mtu = 9000, .error = -1}},
	{"a wrong report", LINK(9000), PASSES(LESS, 1400), .evidence.has_wrong_report = true,
		.evidence.wrong_mtu = 1500, .count = 1,
		.found = {{FINDING_PTB_WRONG, SEVERITY_NOTICE, 1500, 1400}}},
	{"a wrong report though all passes", LINK(9000), PASSES(FULL, 9000),
		.evidence.has_wrong_report = true, .evidence.wrong_mtu = 0, .count = 1,
		.found = {{FINDING_PTB_WRONG, SEVERITY_NOTICE, 0, 9000}}},
	{"the way back is smaller", LINK(9000), PASSES(FULL, 9000), .evidence.fragment = 1500,
		.count = 1, .found = {{FINDING_RETURN_SMALLER, SEVERITY_NOTICE, 1500, 9000}}},
	{"the way back of what did not pass", LINK(9000), PASSES(LESS, 1500),
		.evidence.fragment = 1400},
	{"the way back carries less of what arrived", LINK(9000), PASSES(LESS, 4000),
		.evidence.return_passes = 1500, .count = 1,
		.found = {{FINDING_RETURN_SMALLER, SEVERITY_NOTICE, 1500, 4000}}},
	{"the way back carries all that arrived", LINK(9000), PASSES(LESS, 4000),
		.evidence.return_passes = 4000},
	{"echo alone ends", LINK(9000), PASSES(FULL, 9000), .evidence.echo_limit = 1472, .count = 1,
		.found = {{FINDING_ECHO_LIMITED, SEVERITY_NOTICE, 1472, 9000}}},
	{"the link has grown since, and IPv6 uses all of it", NARROW(1500, LINK_SMALLER),
		.link = {UP, .mtu = 9000, .ipv6_mtu = 9000}},
	{"all at once", NARROW(1400, LINK_SMALLER), LINK(1500), .route.mtu = 9000,
		PASSES(FULL, 1400), .evidence.fragment = 1300, .count = 3,
		.found = {{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 1500, 9000},
			  {FINDING_ROUTE_MTU_ABOVE_LINK, SEVERITY_WARNING, 9000, 1500},
			  {FINDING_RETURN_SMALLER, SEVERITY_NOTICE, 1300, 9000}}},
};
/* clang-format on */

START_TEST(paths)
{
	const struct path_row *row = &path_rows[_i];
	struct evidence evidence = row->evidence;
	struct findings is;
	const struct finding *wrong;

	evidence.wrong_router = (struct address){.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 7}};
	memset(&is, 0xa5, sizeof(is));
	lint_path(&row->facts, row->link.mtu ? &row->link : NULL, &row->route,
		  evidence.full ? &evidence : NULL, &is);
	assert_findings(row->what, &is, row->found, row->count);
	wrong = findings_find(&is, FINDING_PTB_WRONG);
	if (wrong)
		ck_assert_int_eq(wrong->from.bytes[3], 7);
}
END_TEST

START_TEST(equal_only_in_everything)
{
	struct finding wrong = {.id = FINDING_PTB_WRONG, .severity = SEVERITY_NOTICE, .is = 1500,
				.should = 1400, .from = {.family = 4}};
	struct finding link = {.id = FINDING_IPV6_MTU_BELOW_LINK, .severity = SEVERITY_NOTICE,
			       .is = 1500, .should = 1400, .link = "eth0"};
	struct finding others[] = {wrong, wrong, wrong, link, link, wrong, link, link, link, link, link};

	others[0].severity = SEVERITY_WARNING;
	others[1].is = 1;
	others[2].should = 1;
	strcpy(others[3].link, "eth1");
	others[5].from.bytes[0] = 1;
	strcpy(others[6].other, "eth1");
	others[7].number = 1;
	others[8].origin = IPV6_ORIGIN_ROUTER;
	others[9].cause = 1;
	others[10].locked = true;
	ck_assert(finding_equal(&wrong, &wrong));
	ck_assert(finding_equal(&link, &others[4]));
	ck_assert_str_eq(finding_link(&link), "eth0");
	ck_assert_str_eq(finding_link(&wrong), "");
	ck_assert_str_eq(finding_other(&others[6]), "eth1");
	ck_assert_str_eq(finding_other(&wrong), "");
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert(!finding_equal(&wrong, &others[i]));
	ck_assert(!finding_equal(&link, &others[3]));
	for (unsigned i = 6; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(!finding_equal(&link, &others[i]), "%u", i);
}
END_TEST

/* However many there are and in whatever order: the worst stay, and the count of the rest is right. */
START_TEST(none_is_left_out_without_a_word)
{
	const unsigned total = (unsigned)_i;
	unsigned warnings = 0, listed = 0, listed_warnings = 0, more = 0;
	struct findings findings = {0};

	for (unsigned i = 0; i < total; i++) {
		struct finding finding = finding_make(FINDING_RETURN_SMALLER, SEVERITY_NOTICE, NULL);

		/* late ones are the worst */
		finding.severity = i % 3 == 2 ? SEVERITY_WARNING : SEVERITY_NOTICE;
		warnings += i % 3 == 2;
		finding.is = i;
		findings_add(&findings, &finding);
	}
	for (unsigned i = 0; i < findings.count; i++) {
		const struct finding *one = &findings.list[i];

		if (one->id == FINDING_MORE) {
			ck_assert_uint_eq(i, findings.count - 1);
			more = one->is;
			continue;
		}
		listed++;
		listed_warnings += one->severity == SEVERITY_WARNING;
	}
	ck_assert_uint_eq(listed + more, total);
	ck_assert_uint_eq(more > 0, total > FINDINGS_LARGEST);
	if (warnings >= FINDINGS_LARGEST - 1)
		ck_assert_uint_eq(listed_warnings, FINDINGS_LARGEST - (more > 0));
	else
		ck_assert_uint_eq(listed_warnings, warnings);
	if (more > 0)
		ck_assert_int_eq(findings.list[FINDINGS_LARGEST - 1].severity,
				 warnings > listed_warnings ? SEVERITY_WARNING : SEVERITY_NOTICE);
}
END_TEST

/* What makes room for something worse is counted as what it is. */
START_TEST(the_worst_that_is_left_out)
{
	struct findings findings = {0};
	struct finding finding = finding_make(FINDING_RETURN_SMALLER, SEVERITY_NOTICE, NULL);
	const struct finding *more = &findings.list[FINDINGS_LARGEST - 1];

	findings_add(&findings, &finding);
	finding.severity = SEVERITY_WARNING;
	for (unsigned i = 0; i < FINDINGS_LARGEST; i++)
		findings_add(&findings, &finding);
	ck_assert_int_eq(more->id, FINDING_MORE);
	ck_assert_int_eq(more->severity, SEVERITY_WARNING);
	findings = (struct findings){0};
	finding.severity = SEVERITY_NOTICE;
	for (unsigned i = 0; i < 3; i++)
		findings_add(&findings, &finding);
	finding.severity = SEVERITY_WARNING;
	for (unsigned i = 0; i < FINDINGS_LARGEST - 2; i++)
		findings_add(&findings, &finding);
	ck_assert_int_eq(more->severity, SEVERITY_NOTICE);
	/* the notices went first; now a warning has to */
	finding.severity = SEVERITY_CRITICAL;
	for (unsigned i = 0; i < 2; i++)
		findings_add(&findings, &finding);
	ck_assert_int_eq(more->severity, SEVERITY_WARNING);
	ck_assert_uint_eq(findings.count - 1 + more->is, 3 + FINDINGS_LARGEST - 2 + 2);
	/* and one more of those that found no room is none that is worse */
	finding.severity = SEVERITY_NOTICE;
	findings_add(&findings, &finding);
	ck_assert_int_eq(more->severity, SEVERITY_WARNING);
}
END_TEST

START_TEST(joined_each_once)
{
	struct finding one = finding_make(FINDING_RETURN_SMALLER, SEVERITY_NOTICE, NULL), two = one;
	struct findings a = {0}, b = {0};

	two.is = 7;
	findings_add(&a, &one);
	findings_add(&b, &one);
	findings_add(&b, &two);
	findings_join(&a, &b);
	findings_join(&a, &b);
	ck_assert_uint_eq(a.count, 2);
	ck_assert(finding_equal(&a.list[1], &two));
}
END_TEST

START_TEST(found_by_id)
{
	struct findings findings = {.count = 2,
				    .list = {{.id = FINDING_PTB_WRONG}, {.id = FINDING_RETURN_SMALLER}}};

	ck_assert_ptr_eq(findings_find(&findings, FINDING_RETURN_SMALLER), &findings.list[1]);
	ck_assert_ptr_null(findings_find(&findings, FINDING_LINK_BELOW_EXPECTED));
	ck_assert_ptr_null(findings_explaining(&findings));
	findings.list[1].explains = true;
	ck_assert_ptr_eq(findings_explaining(&findings), &findings.list[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint");
	TCase *test = tcase_create("lint");

	tcase_add_loop_test(test, paths, 0, sizeof(path_rows) / sizeof(path_rows[0]));
	tcase_add_test(test, equal_only_in_everything);
	tcase_add_test(test, found_by_id);
	tcase_add_loop_test(test, none_is_left_out_without_a_word, 0, 40);
	tcase_add_test(test, the_worst_that_is_left_out);
	tcase_add_test(test, joined_each_once);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
