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

struct link_row {
	const char *what;
	struct link link;
	uint32_t expected;
	unsigned count;
	struct expected found[MOST];
};

/* clang-format off */
#define UP .name = "eth1", .up = true, .carrier = true
static const struct link_row link_rows[] = {
	{"fine", {UP, .mtu = 9000, .ipv6_mtu = 9000}, 9000, 0, {{0}}},
	{"nothing expected", {UP, .mtu = 1500, .max_mtu = 1500}, 0, 0, {{0}}},
	{"larger than expected", {UP, .mtu = 9216}, 9000, 0, {{0}}},
	{"below expected", {UP, .mtu = 8999}, 9000, 1,
		{{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 8999, 9000}}},
	{"below expected, without carrier", {.name = "eth1", .up = true, .mtu = 1500}, 9000, 1,
		{{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 1500, 9000}}},
	{"below expected, down", {.name = "eth1", .mtu = 1500}, 9000, 0, {{0}}},
	{"loopback", {UP, .mtu = 1500, .loopback = true}, 9000, 0, {{0}}},
	{"the driver cannot", {UP, .mtu = 1500, .max_mtu = 4000}, 9000, 2,
		{{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 1500, 9000},
		 {FINDING_MTU_ABOVE_DRIVER_MAX, SEVERITY_WARNING, 4000, 9000}}},
	{"the driver just can", {UP, .mtu = 9000, .max_mtu = 9000}, 9000, 0, {{0}}},
	{"the driver does not say", {UP, .mtu = 9000, .max_mtu = 0}, 9000, 0, {{0}}},
	{"IPv6 uses less", {UP, .mtu = 9000, .ipv6_mtu = 1500}, 0, 1,
		{{FINDING_IPV6_MTU_BELOW_LINK, SEVERITY_NOTICE, 1500, 9000}}},
	{"IPv6 is off", {UP, .mtu = 9000, .ipv6_mtu = 0}, 9000, 0, {{0}}},
	{"all at once", {UP, .mtu = 1500, .max_mtu = 1500, .ipv6_mtu = 1280}, 9000, 3,
		{{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 1500, 9000},
		 {FINDING_MTU_ABOVE_DRIVER_MAX, SEVERITY_WARNING, 1500, 9000},
		 {FINDING_IPV6_MTU_BELOW_LINK, SEVERITY_NOTICE, 1280, 1500}}},
};

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
	{"all at once", NARROW(1400, LINK_SMALLER), LINK(1500), .route.mtu = 9000,
		PASSES(FULL, 1400), .evidence.fragment = 1300, .count = 3,
		.found = {{FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, 1500, 9000},
			  {FINDING_ROUTE_MTU_ABOVE_LINK, SEVERITY_WARNING, 9000, 1500},
			  {FINDING_RETURN_SMALLER, SEVERITY_NOTICE, 1300, 9000}}},
};
/* clang-format on */

START_TEST(links)
{
	const struct link_row *row = &link_rows[_i];
	struct findings is;

	memset(&is, 0xa5, sizeof(is));
	lint_link(&row->link, row->expected, &is);
	assert_findings(row->what, &is, row->found, row->count);
	for (unsigned i = 0; i < is.count; i++)
		ck_assert_str_eq(is.list[i].link, "eth1");
}
END_TEST

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
	struct finding others[] = {wrong, wrong, wrong, link, link, wrong};

	others[0].severity = SEVERITY_WARNING;
	others[1].is = 1;
	others[2].should = 1;
	strcpy(others[3].link, "eth1");
	others[5].from.bytes[0] = 1;
	ck_assert(finding_equal(&wrong, &wrong));
	ck_assert(finding_equal(&link, &others[4]));
	ck_assert_str_eq(finding_link(&link), "eth0");
	ck_assert_str_eq(finding_link(&wrong), "");
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert(!finding_equal(&wrong, &others[i]));
	ck_assert(!finding_equal(&link, &others[3]));
}
END_TEST

START_TEST(found_by_id)
{
	struct findings findings = {.count = 2,
				    .list = {{.id = FINDING_PTB_WRONG}, {.id = FINDING_RETURN_SMALLER}}};

	ck_assert_ptr_eq(findings_find(&findings, FINDING_RETURN_SMALLER), &findings.list[1]);
	ck_assert_ptr_null(findings_find(&findings, FINDING_LINK_BELOW_EXPECTED));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint");
	TCase *test = tcase_create("lint");

	tcase_add_loop_test(test, links, 0, sizeof(link_rows) / sizeof(link_rows[0]));
	tcase_add_loop_test(test, paths, 0, sizeof(path_rows) / sizeof(path_rows[0]));
	tcase_add_test(test, equal_only_in_everything);
	tcase_add_test(test, found_by_id);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
