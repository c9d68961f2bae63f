/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of treatment as truth tables: what is clamped, to what, and above all what is not. */
#include <string.h>

#include "../../daemon/core/clamp.h"
#include "tap.h"

/* --- what counts as a faulty round --- */

struct size_row {
	const char *what;
	struct judgement judgement;
	uint32_t size;
};

/* clang-format off */
#define HOLE .verdict = VERDICT_BLACK_HOLE, .confirmed = true
static const struct size_row size_rows[] = {
	{"forward", {HOLE, .direction = DIRECTION_FORWARD, .path_mtu = 1500}, 1500},
	{"unknown way", {HOLE, .direction = DIRECTION_UNKNOWN, .path_mtu = 1500}, 1500},
	{"back", {HOLE, .direction = DIRECTION_RETURN, .path_mtu = 9000, .return_mtu = 1500}, 1500},
	{"both, the way back smaller",
		{HOLE, .direction = DIRECTION_BOTH, .path_mtu = 4000, .return_mtu = 1500}, 1500},
	{"both, the way there smaller",
		{HOLE, .direction = DIRECTION_BOTH, .path_mtu = 1400, .return_mtu = 1500}, 1400},
	{"both, the way back unknown", {HOLE, .direction = DIRECTION_BOTH, .path_mtu = 1400}, 1400},
	{"both, the way there unknown", {HOLE, .direction = DIRECTION_BOTH, .return_mtu = 1500}, 1500},
	{"back, unknown", {HOLE, .direction = DIRECTION_RETURN, .path_mtu = 9000}, 0},
	{"some flows", {.verdict = VERDICT_PARTIAL, .path_mtu = 1500}, 1500},
	{"told", {.verdict = VERDICT_REDUCED, .path_mtu = 1500}, 0},
	{"fine", {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000}, 0},
	{"lossy", {.verdict = VERDICT_LOSSY, .path_mtu = 1500}, 0},
	{"this host", {.verdict = VERDICT_MISCONFIGURED, .path_mtu = 1500}, 0},
	{"unreachable", {.verdict = VERDICT_UNREACHABLE, .path_mtu = 1500}, 0},
	{"unverifiable", {.verdict = VERDICT_UNVERIFIABLE, .path_mtu = 1500}, 0},
	{"unknown", {.verdict = VERDICT_UNKNOWN, .path_mtu = 1500}, 0},
};

struct count_row {
	const char *what;
	struct evidence evidence;
	bool faulty;
};

static const struct count_row count_rows[] = {
	{"answered at the size, more lost", {.outcome = OUTCOME_LESS, .passes = 1500, .full = 9000}, true},
	{"another size", {.outcome = OUTCOME_LESS, .passes = 1400, .full = 9000}, false},
	{"all of it passed", {.outcome = OUTCOME_FULL, .passes = 1500, .full = 1500}, false},
	{"nothing passed", {.outcome = OUTCOME_NOTHING, .passes = 1500, .full = 9000}, false},
	{"undecided", {.outcome = OUTCOME_UNDECIDED, .passes = 1500, .full = 9000}, false},
	{"the full size itself", {.outcome = OUTCOME_LESS, .passes = 1500, .full = 1500}, false},
	{"a report alone", {.outcome = OUTCOME_UNDECIDED, .reported = true, .full = 9000}, false},
	{"came back at the size", {.outcome = OUTCOME_FULL, .passes = 9000, .full = 9000,
		.return_passes = 1500}, true},
	{"came back whole", {.outcome = OUTCOME_FULL, .passes = 1500, .full = 1500,
		.return_passes = 1500}, false},
};
/* clang-format on */

START_TEST(the_size_is_the_smaller_way)
{
	const struct size_row *row = &size_rows[_i];

	ck_assert_msg(clamp_size(&row->judgement) == row->size, "%s: %u", row->what,
		      clamp_size(&row->judgement));
}
END_TEST

static const struct judgement hole_1500 = { HOLE, .direction = DIRECTION_FORWARD, .path_mtu = 1500 };
static const struct evidence less_1500 = { .outcome = OUTCOME_LESS, .passes = 1500, .full = 9000 };
static const struct evidence less_1028 = { .outcome = OUTCOME_LESS, .passes = 1028, .full = 9000 };
static const struct evidence full_1500 = { .outcome = OUTCOME_FULL, .passes = 1500, .full = 1500 };

START_TEST(a_round_counts_only_with_packets)
{
	const struct count_row *row = &count_rows[_i];
	struct clamp_tally tally = { 0 };

	clamp_count(&tally, &hole_1500, &row->evidence, NULL);
	ck_assert_msg(tally.faulty == row->faulty, "%s", row->what);
	/* another method's packets are as good, where this round found a fault at all */
	tally = (struct clamp_tally){ 0 };
	clamp_count(&tally, &hole_1500, &less_1028, &row->evidence);
	ck_assert_msg(tally.faulty == row->faulty, "%s, second", row->what);
	tally = (struct clamp_tally){ 0 };
	clamp_count(&tally, &hole_1500, &full_1500, &row->evidence);
	ck_assert_msg(tally.faulty == 0, "%s, kept from before", row->what);
}
END_TEST

START_TEST(rounds_have_to_agree)
{
	struct judgement other = hole_1500;
	struct evidence less = less_1500;
	struct clamp_tally tally = { 0 };

	for (unsigned i = 1; i <= 3; i++) {
		clamp_count(&tally, &hole_1500, &less_1500, NULL);
		ck_assert_uint_eq(tally.faulty, i);
	}
	other.path_mtu = less.passes = 1400;
	tally.refusal = REFUSAL_FLOOR;
	clamp_count(&tally, &other, &less, NULL);
	ck_assert_uint_eq(tally.faulty, 1);
	ck_assert_uint_eq(tally.size, 1400);
	ck_assert_uint_eq(tally.refusal, REFUSAL_NONE);
	/* what a round did not find out changes nothing */
	other.verdict = VERDICT_UNKNOWN;
	clamp_count(&tally, &other, &less, NULL);
	ck_assert_uint_eq(tally.faulty, 1);
}
END_TEST

START_TEST(every_other_verdict_ends_the_row)
{
	static const struct {
		enum verdict verdict;
		unsigned full;
	} rows[] = {
		{ VERDICT_CONSISTENT, 1 },    { VERDICT_REDUCED, 1 },	   { VERDICT_LOSSY, 1 },
		{ VERDICT_MISCONFIGURED, 0 }, { VERDICT_UNREACHABLE, 0 }, { VERDICT_UNVERIFIABLE, 0 },
	};
	struct clamp_tally tally = { .faulty = 7, .size = 1500 };
	struct judgement now = { .verdict = rows[_i].verdict, .path_mtu = 1500 };

	clamp_count(&tally, &now, &less_1500, NULL);
	ck_assert_uint_eq(tally.faulty, 0);
	ck_assert_uint_eq(tally.full, rows[_i].full);
	clamp_count(&tally, &hole_1500, &less_1500, NULL);
	ck_assert_uint_eq(tally.full, 0);
}
END_TEST

/* --- what is done --- */

struct decide_row {
	const char *what;
	struct clamp_tally tally;
	struct judgement announced;
	struct path_facts facts;
	enum clamp_kind kind;
	uint32_t floor; /* 0: 1280 */
	uint32_t in_force;
	enum clamp_action action;
	uint32_t mtu;
	enum clamp_refusal refusal;
	enum clamp_end end;
};

/* clang-format off */
#define RIPE .tally = {.size = 1500, .faulty = 3}
#define FULL_TWICE .tally = {.full = 2}
#define ANNOUNCED .announced = {HOLE, .direction = DIRECTION_FORWARD, .path_mtu = 1500}
#define BIG .facts = {.capacity = 9000, .expected = 9000}
#define SIX .facts = {.capacity = 9000, .expected = 9000, .ipv6 = true}
#define ROUTE .kind = CLAMP_ROUTE
static const struct decide_row decide_rows[] = {
	{"a fault that stands", RIPE, ANNOUNCED, BIG, ROUTE, .action = CLAMP_PUT, .mtu = 1500},
	{"the same in IPv6", RIPE, ANNOUNCED, SIX, ROUTE, .action = CLAMP_PUT, .mtu = 1500},
	{"not asked for", RIPE, ANNOUNCED, BIG, .action = CLAMP_LEAVE},
	{"too soon", .tally = {.size = 1500, .faulty = 2}, ANNOUNCED, BIG, ROUTE},
	{"nothing faulty", .announced = {HOLE, .path_mtu = 1500}, BIG, ROUTE},
	{"rounds say another size", .tally = {.size = 1400, .faulty = 9}, ANNOUNCED, BIG, ROUTE},
	{"not announced", RIPE, .announced = {.verdict = VERDICT_CONSISTENT}, BIG, ROUTE},
	{"reduced", RIPE, .announced = {.verdict = VERDICT_REDUCED, .path_mtu = 1500}, BIG, ROUTE},
	{"unreachable", RIPE, .announced = {.verdict = VERDICT_UNREACHABLE, .path_mtu = 1500}, BIG, ROUTE},
	{"unverifiable", RIPE, .announced = {.verdict = VERDICT_UNVERIFIABLE, .path_mtu = 1500}, BIG, ROUTE},
	{"lossy", RIPE, .announced = {.verdict = VERDICT_LOSSY, .path_mtu = 1500}, BIG, ROUTE},
	{"misconfigured", RIPE, .announced = {.verdict = VERDICT_MISCONFIGURED, .path_mtu = 1500}, BIG, ROUTE},
	{"some flows", RIPE, .announced = {.verdict = VERDICT_PARTIAL, .confirmed = true,
		.path_mtu = 1500}, BIG, ROUTE, .action = CLAMP_PUT, .mtu = 1500},
	{"echo alone", RIPE, .announced = {.verdict = VERDICT_BLACK_HOLE, .path_mtu = 1500}, BIG, ROUTE,
		.action = CLAMP_REFUSE, .mtu = 1500, .refusal = REFUSAL_UNCONFIRMED},
	{"below the floor", RIPE, ANNOUNCED, BIG, ROUTE, .floor = 1501,
		.action = CLAMP_REFUSE, .mtu = 1500, .refusal = REFUSAL_FLOOR},
	{"at the floor", RIPE, ANNOUNCED, BIG, ROUTE, .floor = 1500, .action = CLAMP_PUT, .mtu = 1500},
	{"IPv6 below 1280", .tally = {.size = 1279, .faulty = 3},
		.announced = {HOLE, .path_mtu = 1279}, SIX, ROUTE, .floor = 68,
		.action = CLAMP_REFUSE, .mtu = 1279, .refusal = REFUSAL_IPV6},
	{"IPv6 at 1280", .tally = {.size = 1280, .faulty = 3},
		.announced = {HOLE, .path_mtu = 1280}, SIX, ROUTE, .floor = 68,
		.action = CLAMP_PUT, .mtu = 1280},
	{"IPv4 below 1280", .tally = {.size = 600, .faulty = 3},
		.announced = {HOLE, .path_mtu = 600}, BIG, ROUTE, .floor = 68,
		.action = CLAMP_PUT, .mtu = 600},
	{"never raises", RIPE, ANNOUNCED, .facts = {.capacity = 1500}, ROUTE},
	{"taken off by hand", .tally = {.size = 1500, .faulty = 9, .held = true}, ANNOUNCED, BIG, ROUTE,
		.action = CLAMP_REFUSE, .mtu = 1500, .refusal = REFUSAL_TAKEN_OFF},

	{"in force and needed", RIPE, ANNOUNCED, BIG, ROUTE, .in_force = 1500, .mtu = 1500},
	{"in force, one good round", .tally = {.full = 1}, ANNOUNCED, BIG, ROUTE, .in_force = 1500, .mtu = 1500},
	{"recovered", FULL_TWICE, .announced = {.verdict = VERDICT_CONSISTENT}, BIG, ROUTE, .in_force = 1500,
		.action = CLAMP_LIFT, .mtu = 1500, .end = CLAMP_END_PASSES},
	{"told by now", FULL_TWICE, .announced = {.verdict = VERDICT_REDUCED}, BIG, ROUTE, .in_force = 1500,
		.action = CLAMP_LIFT, .mtu = 1500, .end = CLAMP_END_TOLD},
	{"unreachable meanwhile", .announced = {.verdict = VERDICT_UNREACHABLE}, BIG, ROUTE,
		.in_force = 1500, .mtu = 1500},
	{"the link is down meanwhile", RIPE, ANNOUNCED, .facts = {.trouble = REASON_LINK_DOWN, .capacity = 1500},
		ROUTE, .in_force = 1500, .mtu = 1500},
	{"the link is not known meanwhile", RIPE, ANNOUNCED, .facts = {.capacity = 0}, ROUTE,
		.in_force = 1500, .mtu = 1500},
	{"not even that passes, by echo alone", .tally = {.size = 1200, .faulty = 3},
		.announced = {.verdict = VERDICT_BLACK_HOLE, .path_mtu = 1200}, BIG, ROUTE,
		.in_force = 1500, .mtu = 1500},
	{"more passes than is allowed", .tally = {.size = 4000, .faulty = 3},
		.announced = {HOLE, .path_mtu = 4000}, BIG, ROUTE, .floor = 5000, .in_force = 1500, .mtu = 1500},
	{"not known yet", BIG, ROUTE, .in_force = 1500, .mtu = 1500},
	{"not wanted any more", RIPE, ANNOUNCED, BIG, .in_force = 1500,
		.action = CLAMP_LIFT, .mtu = 1500, .end = CLAMP_END_OFF},
	{"the link became as small", RIPE, ANNOUNCED, .facts = {.capacity = 1500}, ROUTE, .in_force = 1500,
		.action = CLAMP_LIFT, .mtu = 1500, .end = CLAMP_END_SMALLER},
	{"less passes now", .tally = {.size = 1400, .faulty = 3}, .announced = {HOLE, .path_mtu = 1400}, BIG,
		ROUTE, .in_force = 1500, .action = CLAMP_PUT, .mtu = 1400},
	{"less, not yet for sure", .tally = {.size = 1400, .faulty = 2},
		.announced = {HOLE, .path_mtu = 1400}, BIG, ROUTE, .in_force = 1500, .mtu = 1500},
	{"more passes now", .tally = {.size = 4000, .faulty = 3}, .announced = {HOLE, .path_mtu = 4000}, BIG,
		ROUTE, .in_force = 1500, .action = CLAMP_PUT, .mtu = 4000},
	{"less than is allowed", .tally = {.size = 1200, .faulty = 3},
		.announced = {HOLE, .path_mtu = 1200}, BIG, ROUTE, .in_force = 1500,
		.action = CLAMP_LIFT, .mtu = 1500, .end = CLAMP_END_NO_HELP},
};
/* clang-format on */

START_TEST(a_decision)
{
	const struct decide_row *row = &decide_rows[_i];
	struct clamp_settings settings = { row->kind, 3, row->floor ? row->floor : 1280, false };
	struct clamp_case about = {
		.tally = &row->tally,
		.announced = &row->announced,
		.facts = &row->facts,
		.settings = &settings,
		.kind = row->kind,
		.recover_after = 2,
		.in_force = row->in_force,
	};
	struct clamp_decision is;

	clamp_decide(&about, &is);
	ck_assert_msg(is.action == row->action, "%s: action %d", row->what, is.action);
	ck_assert_msg(is.mtu == row->mtu, "%s: mtu %u", row->what, is.mtu);
	ck_assert_msg(is.refusal == row->refusal, "%s: refusal %d", row->what, is.refusal);
	if (is.action == CLAMP_LIFT)
		ck_assert_msg(is.end == row->end, "%s: end %d", row->what, is.end);
}
END_TEST

/* Whatever the numbers: never below a floor, never at or above what the link carries. */
START_TEST(no_number_leads_out_of_bounds)
{
	uint64_t dice = 20;

	for (unsigned i = 0; i < 200000; i++) {
		uint32_t size = (uint32_t)(dice_roll(&dice) % 9300);
		struct clamp_tally tally = { .size = size, .faulty = 9 };
		struct judgement hole = { HOLE, .path_mtu = size };
		struct path_facts facts = { .capacity = (uint32_t)(dice_roll(&dice) % 9300),
					    .ipv6 = dice_roll(&dice) & 1 };
		struct clamp_settings settings = { CLAMP_ROUTE, 3, (uint32_t)(dice_roll(&dice) % 2000),
						   false };
		struct clamp_case about = { &tally, &hole, &facts, &settings, CLAMP_ROUTE, 2,
					    (uint32_t)(dice_roll(&dice) % 3 ? 0 : 1500) };
		struct clamp_decision is;

		clamp_decide(&about, &is);
		if (is.action != CLAMP_PUT)
			continue;
		ck_assert_uint_lt(is.mtu, facts.capacity);
		ck_assert_uint_ge(is.mtu, settings.floor);
		ck_assert(!facts.ipv6 || is.mtu >= IPV6_SMALLEST_MTU);
	}
}
END_TEST

START_TEST(the_word_goes_with_the_fault)
{
	struct clamp_tally tally = { .held = true, .refusal = REFUSAL_TAKEN_OFF };
	struct judgement now = { .verdict = VERDICT_UNREACHABLE };

	clamp_announced(&tally, &now);
	ck_assert(tally.held);
	now.verdict = VERDICT_CONSISTENT;
	clamp_announced(&tally, &now);
	ck_assert(!tally.held);
	ck_assert_uint_eq(tally.refusal, REFUSAL_NONE);
}
END_TEST

#define COUNT(rows) (int)(sizeof(rows) / sizeof(rows[0]))

/* Rounds are worth their haste until there are enough of them. */
START_TEST(near_until_it_is_ripe)
{
	struct clamp_settings settings = {CLAMP_ROUTE, 3, 1280, false};
	struct clamp_tally tally = {.faulty = 2};

	ck_assert(clamp_is_near(&tally, &settings));
	tally.faulty = 3;
	ck_assert(!clamp_is_near(&tally, &settings));
	tally.faulty = 0;
	ck_assert(!clamp_is_near(&tally, &settings));
	tally.faulty = 2;
	tally.refusal = REFUSAL_FLOOR;
	ck_assert(!clamp_is_near(&tally, &settings));
	tally.refusal = REFUSAL_NONE;
	tally.held = true;
	ck_assert(!clamp_is_near(&tally, &settings));
	tally.held = false;
	settings.kind = CLAMP_OFF;
	ck_assert(!clamp_is_near(&tally, &settings));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clamp");
	TCase *tests = tcase_create("clamp");

	tcase_add_loop_test(tests, the_size_is_the_smaller_way, 0, COUNT(size_rows));
	tcase_add_loop_test(tests, a_round_counts_only_with_packets, 0, COUNT(count_rows));
	tcase_add_test(tests, rounds_have_to_agree);
	tcase_add_loop_test(tests, every_other_verdict_ends_the_row, 0, 6);
	tcase_add_loop_test(tests, a_decision, 0, COUNT(decide_rows));
	tcase_add_test(tests, no_number_leads_out_of_bounds);
	tcase_add_test(tests, near_until_it_is_ripe);
	tcase_add_test(tests, the_word_goes_with_the_fault);
	suite_add_tcase(suite, tests);
	return tap_run(suite);
}
