/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What several witnesses mean together: flows, other methods, other paths, a walk, a sample. */
#include <errno.h>
#include <string.h>

#include "../../daemon/core/verdict.h"
#include "tap.h"

static struct address router(uint8_t number)
{
	struct address address = {.family = ADDRESS_IPV4, .bytes = {192, 0, 2, number}};

	return number ? address : (struct address){0};
}

/* Each row is a silent loss of what is above 1500 bytes, by echo, unless it says otherwise. */
struct row {
	const char *what;
	struct path_facts facts;
	struct evidence main, second; /* full 0: no second */
	uint8_t told_by, hop, reporter;
	struct testimony also;
	struct judgement is;
	uint32_t echo_limit;
};

/* clang-format off */
#define LOST .main = {.outcome = OUTCOME_LESS, .full = 9000, .passes = 1500}
#define MAIN(kind_, outcome_, size, ...) .main = {.kind = PROBE_##kind_, \
	.outcome = OUTCOME_##outcome_, .full = 9000, .passes = (size), ##__VA_ARGS__}
#define SECOND(kind_, outcome_, size, ...) .second = {.kind = PROBE_##kind_, \
	.outcome = OUTCOME_##outcome_, .full = 9000, .passes = (size), ##__VA_ARGS__}
#define IS(verdict_, size, direction_, ...) .is = {.verdict = VERDICT_##verdict_, \
	.path_mtu = (size), .direction = DIRECTION_##direction_, ##__VA_ARGS__}
#define CONFIRMED .confirmed = true

static const struct row rows[] = {
	{"nobody else says anything", LOST, IS(BLACK_HOLE, 1500, UNKNOWN)},
	{"another peer fails alike", .facts.borne_out = true, LOST,
		IS(BLACK_HOLE, 1500, UNKNOWN, CONFIRMED)},
	{"a router on the way fails too", .also.router_fails = true, LOST,
		IS(BLACK_HOLE, 1500, UNKNOWN, CONFIRMED)},
	{"another path through this peer is whole", .facts.refuted = true, LOST,
		IS(CONSISTENT, 9000, NONE, CONFIRMED), .echo_limit = 1500},
	{"what is lost by other packets than echoes is not refuted", .facts.refuted = true,
		MAIN(SYN, LESS, 1500), IS(BLACK_HOLE, 1500, FORWARD, CONFIRMED)},

	{"a router told another path of this", .told_by = 7, .hop = 7, .also.locus = LOCUS_AFTER, LOST,
		IS(REDUCED, 1500, FORWARD, .locus = LOCUS_AT), .reporter = 7},
	{"another router did", .told_by = 8, .hop = 7, .also.locus = LOCUS_AFTER, LOST,
		IS(BLACK_HOLE, 1500, UNKNOWN, .locus = LOCUS_AFTER)},
	{"a router did, and the walk found no place", .told_by = 7, LOST,
		IS(BLACK_HOLE, 1500, UNKNOWN)},

	{"some flows carry all", .also = {.flows = 8, .flows_full = 3}, LOST,
		IS(PARTIAL, 1500, UNKNOWN, CONFIRMED)},
	{"no flow carries all", .also = {.flows = 8}, LOST, IS(BLACK_HOLE, 1500, UNKNOWN)},
	{"every flow is known to carry all by now", .also = {.flows = 8, .flows_full = 8}, LOST,
		IS(BLACK_HOLE, 1500, UNKNOWN)},
	{"some flows carry nothing", .also = {.flows = 8, .flows_full = 7, .flows_dead = 1},
		MAIN(SYN, FULL, 9000), IS(PARTIAL, 9000, UNKNOWN, .reason = REASON_FLOWS_DEAD)},
	{"a place where large ones end is none of dead flows", .also = {.flows_dead = 1,
		.locus = LOCUS_ON_LINK}, MAIN(SYN, FULL, 9000),
		IS(PARTIAL, 9000, UNKNOWN, .reason = REASON_FLOWS_DEAD)},

	{"TCP bears it out", LOST, SECOND(SYN, LESS, 1500), IS(BLACK_HOLE, 1500, FORWARD, CONFIRMED)},
	{"TCP finds it worse", LOST, SECOND(SYN, LESS, 1400), IS(BLACK_HOLE, 1400, FORWARD, CONFIRMED)},
	{"TCP finds it less bad", LOST, SECOND(SYN, LESS, 4000),
		IS(BLACK_HOLE, 4000, FORWARD, CONFIRMED), .echo_limit = 1500},
	{"TCP gets through", LOST, SECOND(SYN, FULL, 9000), IS(CONSISTENT, 9000, NONE, CONFIRMED),
		.echo_limit = 1500},
	{"TCP gets through where echoes once came back whole", .facts.whole_back = 9000, LOST,
		SECOND(SYN, FULL, 9000), IS(BLACK_HOLE, 9000, RETURN, .return_mtu = 1500)},
	{"smaller echoes once came back whole", .facts.whole_back = 8999, LOST,
		SECOND(SYN, FULL, 9000), IS(CONSISTENT, 9000, NONE, CONFIRMED), .echo_limit = 1500},
	{"a responder knows of the way back", .facts.whole_back = 9000, LOST,
		SECOND(RESPONDER, FULL, 9000, .return_passes = 9000),
		IS(CONSISTENT, 9000, NONE, CONFIRMED, .return_mtu = 9000), .echo_limit = 1500},
	{"the way back alone is it", LOST, SECOND(RESPONDER, FULL, 9000, .return_passes = 1500),
		IS(BLACK_HOLE, 9000, RETURN, CONFIRMED, .return_mtu = 1500)},
	{"a peer that takes connections, whatever their size", LOST,
		SECOND(SYN, NOTHING, 0, .connects = true), IS(BLACK_HOLE, 1500, UNKNOWN)},
	{"TCP's own fault has no other witness", MAIN(SYN, LESS, 1500), SECOND(UDP, FULL, 9000),
		IS(BLACK_HOLE, 1500, FORWARD, CONFIRMED)},
	{"a filter rather than a path", MAIN(SYN, LESS, 575), IS(BLACK_HOLE, 575, FORWARD)},
	{"the least that is a path", MAIN(SYN, LESS, 576), IS(BLACK_HOLE, 576, FORWARD, CONFIRMED)},

	{"a responder: nothing is known of the way back", MAIN(RESPONDER, LESS, 1500),
		IS(BLACK_HOLE, 1500, FORWARD, CONFIRMED)},
	{"a responder: the way back is worse", MAIN(RESPONDER, LESS, 1500, .return_passes = 1400),
		IS(BLACK_HOLE, 1500, BOTH, CONFIRMED, .return_mtu = 1400)},
	{"a responder: the way back carries all that arrived",
		MAIN(RESPONDER, LESS, 1500, .return_passes = 1500),
		IS(BLACK_HOLE, 1500, FORWARD, CONFIRMED)},
	{"a responder: the way back alone", MAIN(RESPONDER, FULL, 9000, .return_passes = 1500),
		IS(BLACK_HOLE, 9000, RETURN, CONFIRMED, .return_mtu = 1500)},
	{"and a walk there found no place for that", .also.locus = LOCUS_ON_LINK,
		MAIN(RESPONDER, FULL, 9000, .return_passes = 1500),
		IS(BLACK_HOLE, 9000, RETURN, CONFIRMED, .return_mtu = 1500)},
	{"an echo comes back in fragments", MAIN(RESPONDER, FULL, 9000, .return_passes = 1500),
		SECOND(ECHO, FULL, 9000, .fragment = 1500),
		IS(REDUCED, 9000, RETURN, CONFIRMED, .return_mtu = 1500)},
	{"an echo comes back whole", MAIN(RESPONDER, FULL, 9000, .return_passes = 1500),
		SECOND(ECHO, FULL, 9000), IS(BLACK_HOLE, 9000, RETURN, CONFIRMED, .return_mtu = 1500)},
	{"an echo gets lost as well", MAIN(RESPONDER, FULL, 9000, .return_passes = 1500),
		SECOND(ECHO, LESS, 1500, .fragment = 1500),
		IS(BLACK_HOLE, 9000, RETURN, CONFIRMED, .return_mtu = 1500)},
	{"TCP tells nothing of the way back", MAIN(RESPONDER, FULL, 9000, .return_passes = 1500),
		SECOND(SYN, FULL, 9000), IS(BLACK_HOLE, 9000, RETURN, CONFIRMED, .return_mtu = 1500)},
	{"IPv6: only the peer itself takes a reply apart", .facts.ipv6 = true,
		MAIN(ECHO, FULL, 9000, .fragment = 1500), IS(REDUCED, 9000, RETURN, .return_mtu = 1500)},
	{"and then this host's small link is not the worst of it", .facts = {.ipv6 = true,
		.narrow = REASON_LINK_SMALLER}, MAIN(ECHO, FULL, 9000, .fragment = 1500),
		IS(REDUCED, 9000, RETURN, .return_mtu = 1500)},
	{"a reply that was cut short", MAIN(ECHO, FULL, 9000, .cut_short = true),
		IS(CONSISTENT, 9000, NONE)},

	{"the kernel knows that size", .facts.kernel_mtu = 1500, LOST, IS(REDUCED, 1500, FORWARD)},
	{"the kernel has it from a clamp", .facts = {.kernel_mtu = 1500, .clamp_mtu = 1500}, LOST,
		IS(BLACK_HOLE, 1500, UNKNOWN)},

	{"nothing answers", MAIN(ECHO, NOTHING, 0), IS(UNREACHABLE, 0, NONE, .reason = REASON_SILENT)},
	{"nothing answers but TCP", MAIN(ECHO, NOTHING, 0), SECOND(SYN, FULL, 9000),
		IS(CONSISTENT, 9000, NONE, CONFIRMED)},
	{"nothing of any size, but it connects", MAIN(SYN, NOTHING, 0, .connects = true),
		IS(UNVERIFIABLE, 0, NONE, .reason = REASON_NO_SIZES)},
	{"nothing answers but a plain SYN", MAIN(ECHO, NOTHING, 0),
		SECOND(SYN, NOTHING, 0, .connects = true),
		IS(UNVERIFIABLE, 0, NONE, .reason = REASON_NO_SIZES)},
	{"no responder, as the peer itself says", MAIN(RESPONDER, NOTHING, 0, .refused_by_peer = true,
		.error = -ECONNREFUSED), IS(UNVERIFIABLE, 0, NONE, .reason = REASON_NO_RESPONDER)},
	{"no responder, as a router says", MAIN(RESPONDER, NOTHING, 0, .error = 0),
		IS(UNREACHABLE, 0, NONE, .reason = REASON_SILENT)},
	{"no responder, though the peer lives", .also.only_life = true, MAIN(RESPONDER, NOTHING, 0),
		SECOND(ECHO, FULL, 68), IS(UNVERIFIABLE, 0, NONE, .reason = REASON_NO_RESPONDER)},
	{"the link is down, whatever was measured", .facts.trouble = REASON_LINK_DOWN,
		MAIN(ECHO, NOTHING, 0), SECOND(SYN, FULL, 9000),
		IS(UNREACHABLE, 0, NONE, .reason = REASON_LINK_DOWN, .locus = LOCUS_LOCAL)},

	{"undecided", MAIN(ECHO, UNDECIDED, 1500), IS(UNKNOWN, 0, NONE)},
	{"undecided again and again", .also.irregular = true, MAIN(ECHO, UNDECIDED, 1500),
		IS(UNVERIFIABLE, 0, NONE, .reason = REASON_IRREGULAR)},
	{"large ones get lost too often", .also.lossy_there = true, MAIN(ECHO, FULL, 9000),
		IS(LOSSY, 9000, UNKNOWN)},
	{"on the way there", .also.lossy_there = true, MAIN(RESPONDER, FULL, 9000, .return_passes = 9000),
		IS(LOSSY, 9000, FORWARD, CONFIRMED, .return_mtu = 9000)},
	{"on the way back", .also.lossy_back = true, MAIN(RESPONDER, FULL, 9000, .return_passes = 9000),
		IS(LOSSY, 9000, RETURN, CONFIRMED, .return_mtu = 9000)},
	{"on both", .also = {.lossy_there = true, .lossy_back = true},
		MAIN(RESPONDER, FULL, 9000, .return_passes = 9000),
		IS(LOSSY, 9000, BOTH, CONFIRMED, .return_mtu = 9000)},
	{"so often that a round was not decided", .also.lossy_there = true,
		MAIN(SYN, UNDECIDED, 1500), IS(LOSSY, 9000, FORWARD)},
	{"a router's word is more than loss", .also.lossy_there = true,
		MAIN(ECHO, LESS, 1500, .reported = true),
		IS(REDUCED, 1500, FORWARD, .locus = LOCUS_AT)},
};
/* clang-format on */

START_TEST(weighed)
{
	const struct row *row = &rows[_i];
	struct path_facts facts = row->facts;
	struct testimony testimony = row->also;
	struct judgement is;
	uint32_t limit = 7;

	facts.expected = 9000;
	facts.capacity = 9000;
	if (!facts.kernel_mtu)
		facts.kernel_mtu = 9000;
	facts.told_by = router(row->told_by);
	testimony.main = &row->main;
	testimony.second = row->second.full ? &row->second : NULL;
	testimony.hop = router(row->hop);
	verdict_weigh(&facts, &testimony, &is, &limit);
	ck_assert_msg(is.verdict == row->is.verdict && is.reason == row->is.reason,
		      "%s: verdict %d, reason %d", row->what, is.verdict, is.reason);
	ck_assert_msg(is.path_mtu == row->is.path_mtu, "%s: %u", row->what, is.path_mtu);
	ck_assert_msg(is.direction == row->is.direction && is.confirmed == row->is.confirmed,
		      "%s: direction %d, confirmed %d", row->what, is.direction, is.confirmed);
	ck_assert_msg(is.locus == row->is.locus, "%s: locus %d", row->what, is.locus);
	ck_assert_int_eq(is.router.bytes[3], row->reporter);
	ck_assert_msg(limit == row->echo_limit, "%s: echo ends at %u", row->what, limit);
	if (row->is.return_mtu)
		ck_assert_uint_eq(is.return_mtu, row->is.return_mtu);
	ck_assert_int_eq(is.severity, verdict_severity(is.verdict, &facts, is.confirmed));
}
END_TEST

/* A value that is none of them is no fault. */
START_TEST(none_of_them)
{
	const struct path_facts facts = {0};
	enum verdict none = (enum verdict)99;

	ck_assert(!verdict_is_fault(none));
	ck_assert_int_eq(verdict_rank(none), 0);
	ck_assert_int_eq(verdict_severity(none, &facts, true), SEVERITY_NONE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("testimony");
	TCase *test = tcase_create("testimony");

	tcase_add_loop_test(test, weighed, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(test, none_of_them);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
