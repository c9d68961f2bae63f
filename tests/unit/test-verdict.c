/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every judgement that evidence can lead to, as one table; and the orders over verdicts. */
#include <errno.h>
#include <string.h>

#include "../../daemon/core/verdict.h"
#include "tap.h"

/* Routers are told apart by the last byte of their address, 0 is nobody. */
static struct address router(uint8_t number)
{
	struct address address = {.family = ADDRESS_IPV4, .bytes = {192, 0, 2, number}};

	return number ? address : (struct address){0};
}

struct row {
	const char *what;
	struct path_facts facts;
	struct evidence evidence;
	uint8_t reporter, error_from;
	struct judgement is;
	uint8_t is_router, is_locus;
};

/* clang-format off */
#define FACTS .facts.expected = 9000, .facts.capacity = 9000, .facts.kernel_mtu = 9000
#define FULL(size) .evidence.outcome = OUTCOME_FULL, .evidence.full = (size), .evidence.passes = (size)
#define LESS(size) .evidence.outcome = OUTCOME_LESS, .evidence.full = 9000, .evidence.passes = (size)
#define NOTHING(errno_) .evidence.outcome = OUTCOME_NOTHING, .evidence.full = 9000, .evidence.error = (errno_)
#define IS(verdict_, severity_) .is.verdict = VERDICT_##verdict_, .is.severity = SEVERITY_##severity_
#define WHERE(direction_, locus_) .is.direction = DIRECTION_##direction_, .is.locus = LOCUS_##locus_
#define WHY(reason_) .is.reason = REASON_##reason_
#define SIZES(forward, back) .is.path_mtu = (forward), .is.return_mtu = (back)
#define TROUBLE(reason_) .facts.trouble = REASON_##reason_, .is.reason = REASON_##reason_
#define NARROW(size, reason_) .facts.expected = 9000, .facts.capacity = (size), \
	.facts.narrow = REASON_##reason_, .is.reason = REASON_##reason_

static const struct row rows[] = {
	{"undecided", FACTS, .evidence.full = 9000, .evidence.passes = 1500, IS(UNKNOWN, NONE)},

	{"full", FACTS, FULL(9000), IS(CONSISTENT, OK), SIZES(9000, 9000)},
	{"full, the reply in fragments", FACTS, FULL(9000), .evidence.fragment = 1500,
		IS(CONSISTENT, OK), SIZES(9000, 1500)},
	{"full after a stray report", FACTS, FULL(9000), .evidence.has_wrong_report = true,
		.reporter = 7, IS(CONSISTENT, OK), SIZES(9000, 9000)},
	{"the link is too small", NARROW(1500, LINK_SMALLER), FULL(1500),
		IS(MISCONFIGURED, WARNING), WHERE(FORWARD, LOCAL), SIZES(1500, 1500)},
	{"the route is too small", NARROW(1400, ROUTE_SMALLER), FULL(1400),
		IS(MISCONFIGURED, WARNING), WHERE(FORWARD, LOCAL), SIZES(1400, 1400)},
	{"the wrong link", NARROW(1500, WRONG_LINK), FULL(1500),
		IS(MISCONFIGURED, WARNING), WHERE(FORWARD, LOCAL), SIZES(1500, 1500)},

	{"silence behind a router", FACTS, LESS(1500),
		IS(BLACK_HOLE, WARNING), WHERE(UNKNOWN, NONE), SIZES(1500, 0)},
	{"silence on the link", FACTS, .facts.on_link = true, LESS(1500),
		IS(BLACK_HOLE, WARNING), WHERE(UNKNOWN, ON_LINK), SIZES(1500, 0)},
	{"a hole below the small link's MTU", .facts.expected = 9000, .facts.capacity = 1500,
		.facts.kernel_mtu = 1500, .facts.narrow = REASON_LINK_SMALLER, LESS(1400),
		IS(BLACK_HOLE, WARNING), WHERE(UNKNOWN, NONE), SIZES(1400, 0)},
	{"a wrong report is no report", FACTS, LESS(1500), .evidence.has_wrong_report = true,
		.reporter = 7, IS(BLACK_HOLE, WARNING), WHERE(UNKNOWN, NONE), SIZES(1500, 0)},
	{"a router says so", FACTS, LESS(1500), .evidence.reported = true, .reporter = 7,
		IS(REDUCED, NOTICE), WHERE(FORWARD, AT), SIZES(1500, 0), .is_router = 7, .is_locus = 7},
	{"a router says so where more was asked for", FACTS, .facts.expect_configured = true,
		LESS(1500), .evidence.reported = true, .reporter = 7,
		IS(REDUCED, WARNING), WHERE(FORWARD, AT), SIZES(1500, 0), .is_router = 7, .is_locus = 7},
	{"the kernel knows", .facts.expected = 9000, .facts.capacity = 9000,
		.facts.kernel_mtu = 1500, LESS(1500),
		IS(REDUCED, NOTICE), WHERE(FORWARD, NONE), SIZES(1500, 0)},
	{"the kernel knows another number", .facts.expected = 9000, .facts.capacity = 9000,
		.facts.kernel_mtu = 1501, LESS(1500),
		IS(BLACK_HOLE, WARNING), WHERE(UNKNOWN, NONE), SIZES(1500, 0)},
	{"this host refuses large packets", FACTS, LESS(1500), .evidence.refused = true,
		IS(MISCONFIGURED, WARNING), WHY(SEND_REFUSED), WHERE(FORWARD, LOCAL), SIZES(1500, 0)},
	{"this host refuses, whatever a router says", FACTS, LESS(1500), .evidence.refused = true,
		.evidence.reported = true, .reporter = 7,
		IS(MISCONFIGURED, WARNING), WHY(SEND_REFUSED), WHERE(FORWARD, LOCAL), SIZES(1500, 0)},

	{"silent", FACTS, NOTHING(0), IS(UNREACHABLE, WARNING), WHY(SILENT)},
	{"refused", FACTS, NOTHING(-EPERM), IS(UNREACHABLE, WARNING), WHY(SEND_REFUSED)},
	{"link down", FACTS, NOTHING(-ENETDOWN), IS(UNREACHABLE, WARNING), WHY(LINK_DOWN)},
	{"link gone", FACTS, NOTHING(-ENODEV), IS(UNREACHABLE, WARNING), WHY(LINK_DOWN)},
	{"no neighbour, by an error", FACTS, NOTHING(-EHOSTUNREACH),
		IS(UNREACHABLE, WARNING), WHY(NO_NEIGHBOUR)},
	{"no neighbour, by a message of our own", FACTS, NOTHING(-EHOSTUNREACH),
		.evidence.error_is_own = true, .error_from = 1,
		IS(UNREACHABLE, WARNING), WHY(NO_NEIGHBOUR)},
	{"a router has no neighbour", FACTS, NOTHING(-EHOSTUNREACH), .error_from = 7,
		IS(UNREACHABLE, WARNING), WHY(HOST_UNREACHABLE)},
	{"no route", FACTS, NOTHING(-ENETUNREACH), IS(UNREACHABLE, WARNING), WHY(NO_ROUTE)},
	{"no descriptor", FACTS, NOTHING(-EMFILE), IS(UNREACHABLE, WARNING), WHY(HOST_SHORT)},
	{"no memory", FACTS, NOTHING(-ENOMEM), IS(UNREACHABLE, WARNING), WHY(HOST_SHORT)},
	{"a router has no route", FACTS, NOTHING(-ENETUNREACH), .error_from = 7,
		IS(UNREACHABLE, WARNING), WHY(HOST_UNREACHABLE)},
	{"a router forbids it", FACTS, NOTHING(-EACCES), .error_from = 7,
		IS(UNREACHABLE, WARNING), WHY(HOST_UNREACHABLE)},
	{"the route forbids it", FACTS, NOTHING(-EACCES), IS(UNREACHABLE, WARNING), WHY(NO_ROUTE)},
	{"discovered, never answered", FACTS, .facts.discovered = true, NOTHING(0),
		IS(UNVERIFIABLE, NOTICE), WHY(SILENT)},
	{"discovered, answered once", FACTS, .facts.discovered = true, .facts.ever_answered = true,
		NOTHING(0), IS(UNREACHABLE, WARNING), WHY(SILENT)},
	{"configured, never answered", FACTS, .facts.ever_answered = false, NOTHING(0),
		IS(UNREACHABLE, WARNING), WHY(SILENT)},

	{"no address", TROUBLE(NO_ADDRESS), NOTHING(0), IS(UNREACHABLE, WARNING), WHERE(NONE, NONE)},
	{"own address", TROUBLE(OWN_ADDRESS), NOTHING(0),
		IS(MISCONFIGURED, WARNING), WHERE(NONE, LOCAL)},
	{"broadcast", TROUBLE(BROADCAST), NOTHING(0),
		IS(MISCONFIGURED, WARNING), WHERE(NONE, LOCAL)},
	{"multicast", TROUBLE(MULTICAST), NOTHING(0),
		IS(MISCONFIGURED, WARNING), WHERE(NONE, LOCAL)},
	{"no link", TROUBLE(NO_LINK), NOTHING(0), IS(UNREACHABLE, WARNING), WHERE(NONE, LOCAL)},
	{"trouble with the link", TROUBLE(LINK_DOWN), NOTHING(0),
		IS(UNREACHABLE, WARNING), WHERE(NONE, LOCAL)},
	{"trouble with the route", TROUBLE(NO_ROUTE), NOTHING(0),
		IS(UNREACHABLE, WARNING), WHERE(NONE, LOCAL)},
	{"trouble silences what was measured", TROUBLE(LINK_DOWN), FULL(9000),
		IS(UNREACHABLE, WARNING), WHERE(NONE, LOCAL)},
};
/* clang-format on */

START_TEST(judged)
{
	const struct row *row = &rows[_i];
	struct evidence evidence = row->evidence;
	struct judgement is;

	evidence.router = router(row->reporter);
	evidence.error_from = router(row->error_from);
	memset(&is, 0xa5, sizeof(is));
	verdict_judge(&row->facts, &evidence, &is);
	ck_assert_msg(is.verdict == row->is.verdict, "%s: verdict %d", row->what, is.verdict);
	ck_assert_msg(is.severity == row->is.severity, "%s: severity %d", row->what, is.severity);
	ck_assert_msg(is.reason == row->is.reason, "%s: reason %d", row->what, is.reason);
	ck_assert_msg(is.direction == row->is.direction, "%s: direction %d", row->what,
		      is.direction);
	ck_assert_msg(is.locus == row->is.locus, "%s: locus %d", row->what, is.locus);
	ck_assert_msg(is.path_mtu == row->is.path_mtu && is.return_mtu == row->is.return_mtu,
		      "%s: %u there, %u back", row->what, is.path_mtu, is.return_mtu);
	ck_assert_int_eq(is.router.bytes[3], row->is_router);
	ck_assert_int_eq(is.locus_address.bytes[3], row->is_locus);
	ck_assert(!is.confirmed);
}
END_TEST

/* Whatever the evidence: echo alone is never critical, an unreachable peer has no number, and
 * only a fault has a direction. */
START_TEST(promises)
{
	for (unsigned i = 0; i < 4 * 13 * 64; i++) {
		struct path_facts facts = {
			.trouble = i % 5 == 4 ? (enum reason)(i / 4 % 13) : REASON_NONE,
			.expected = 9000,
			.capacity = 9000,
			.kernel_mtu = i & 64 ? 1500 : 9000,
			.expect_configured = i & 128,
			.discovered = i & 256,
			.gateway = i & 256 && i & 4,
			.ever_answered = i & 512,
		};
		struct evidence evidence = {
			.outcome = (enum round_outcome)(i % 4),
			.full = 9000,
			.passes = 1500,
			.reported = i & 1024,
			.refused = i & 2048,
			.error = i & 32 ? -EPERM : 0,
		};
		struct judgement is;

		verdict_judge(&facts, &evidence, &is);
		ck_assert_int_le(is.severity, SEVERITY_WARNING);
		if (is.verdict == VERDICT_UNREACHABLE || is.verdict == VERDICT_UNVERIFIABLE)
			ck_assert_uint_eq(is.path_mtu, 0);
		if (!verdict_is_fault(is.verdict))
			ck_assert_int_eq(is.direction, DIRECTION_NONE);
		if (evidence.outcome != OUTCOME_LESS) {
			ck_assert_int_ne(is.verdict, VERDICT_BLACK_HOLE);
			ck_assert_int_ne(is.verdict, VERDICT_REDUCED);
		}
	}
}
END_TEST

struct severity_row {
	enum verdict verdict;
	enum severity plain, configured, confirmed, gateway_confirmed;
	bool fault;
};

/* clang-format off */
static const struct severity_row severities[] = {
	{VERDICT_UNKNOWN, SEVERITY_NONE, SEVERITY_NONE, SEVERITY_NONE, SEVERITY_NONE, false},
	{VERDICT_CONSISTENT, SEVERITY_OK, SEVERITY_OK, SEVERITY_OK, SEVERITY_OK, false},
	{VERDICT_UNVERIFIABLE, SEVERITY_NOTICE, SEVERITY_NOTICE, SEVERITY_NOTICE, SEVERITY_NOTICE, false},
	{VERDICT_REDUCED, SEVERITY_NOTICE, SEVERITY_WARNING, SEVERITY_NOTICE, SEVERITY_NOTICE, true},
	{VERDICT_LOSSY, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_WARNING, true},
	{VERDICT_MISCONFIGURED, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_WARNING, true},
	{VERDICT_UNREACHABLE, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_WARNING, true},
	{VERDICT_PARTIAL, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_CRITICAL, SEVERITY_WARNING, true},
	{VERDICT_BLACK_HOLE, SEVERITY_WARNING, SEVERITY_WARNING, SEVERITY_CRITICAL, SEVERITY_WARNING, true},
};
/* clang-format on */

START_TEST(severity_of_each)
{
	const struct severity_row *row = &severities[_i];
	struct path_facts plain = {0};
	struct path_facts configured = {.expect_configured = true};
	struct path_facts gateway = {.discovered = true, .gateway = true};
	struct path_facts storage = {.discovered = true};

	ck_assert_int_eq(verdict_severity(row->verdict, &plain, false), row->plain);
	ck_assert_int_eq(verdict_severity(row->verdict, &configured, false), row->configured);
	ck_assert_int_eq(verdict_severity(row->verdict, &plain, true), row->confirmed);
	ck_assert_int_eq(verdict_severity(row->verdict, &gateway, true), row->gateway_confirmed);
	ck_assert_int_eq(verdict_severity(row->verdict, &storage, true), row->confirmed);
	ck_assert(verdict_is_fault(row->verdict) == row->fault);
}
END_TEST

/* Faults rank above all that is none, and no two verdicts share a rank. */
START_TEST(ranks)
{
	bool taken[VERDICT_COUNT] = {false};

	for (int a = 0; a < VERDICT_COUNT; a++) {
		int rank = verdict_rank((enum verdict)a);

		ck_assert_int_ge(rank, 0);
		ck_assert_int_lt(rank, VERDICT_COUNT);
		ck_assert(!taken[rank]);
		taken[rank] = true;
		for (int b = 0; b < VERDICT_COUNT; b++)
			if (verdict_is_fault((enum verdict)a) && !verdict_is_fault((enum verdict)b))
				ck_assert_int_gt(rank, verdict_rank((enum verdict)b));
	}
	ck_assert_int_eq(verdict_rank(VERDICT_CONSISTENT), 0);
	ck_assert_int_eq(verdict_rank(VERDICT_BLACK_HOLE), VERDICT_COUNT - 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict");
	TCase *test = tcase_create("verdict");

	tcase_add_loop_test(test, judged, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(test, promises);
	tcase_add_loop_test(test, severity_of_each, 0, VERDICT_COUNT);
	tcase_add_test(test, ranks);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
