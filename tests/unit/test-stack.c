/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clamps of links: who has a say, what stands on a link, the record of it, and the verdict meanwhile. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/core/clamp.h"
#include "../../daemon/core/stack.h"
#include "../../daemon/world/clamp_record.h"
#include "tap.h"

/* --- votes --- */

#define PEERS 3

struct vote_row {
	const char *what;
	struct judgement peers[PEERS]; /* VERDICT_UNKNOWN at the end: fewer */
	unsigned count;
	uint32_t ipv6_mtu, floor, size;
	enum clamp_refusal refusal;
};

/* clang-format off */
#define HOLE(size) {.verdict = VERDICT_BLACK_HOLE, .path_mtu = (size), .confirmed = true}
#define IS(v, size) {.verdict = (v), .path_mtu = (size)}
static const struct vote_row vote_rows[] = {
	{"the only one", {HOLE(1500)}, 1, 0, 1280, 1500, REFUSAL_NONE},
	{"all of them", {HOLE(1500), HOLE(1500), HOLE(1500)}, 3, 9000, 1280, 1500, REFUSAL_NONE},
	{"two of three", {HOLE(1500), HOLE(1500), IS(VERDICT_UNREACHABLE, 0)}, 3, 0, 1280, 1500, REFUSAL_NONE},
	{"one of two", {HOLE(1500), IS(VERDICT_UNREACHABLE, 0)}, 2, 0, 1280, 1500, REFUSAL_QUORUM},
	{"one of three", {HOLE(1500), IS(VERDICT_UNKNOWN, 0), IS(VERDICT_UNVERIFIABLE, 0)}, 3, 0, 1280, 1500,
		REFUSAL_QUORUM},
	{"one of two is borne out", {HOLE(1500), IS(VERDICT_BLACK_HOLE, 1500)}, 2, 0, 1280, 1500,
		REFUSAL_QUORUM},
	{"another is good at more", {HOLE(1500), HOLE(1500), IS(VERDICT_CONSISTENT, 9000)}, 3, 0, 1280, 1500,
		REFUSAL_BETTER},
	{"another is told of more", {HOLE(1500), HOLE(1500), IS(VERDICT_REDUCED, 4000)}, 3, 0, 1280, 1500,
		REFUSAL_BETTER},
	{"another loses some of more", {HOLE(1500), HOLE(1500), IS(VERDICT_LOSSY, 9000)}, 3, 0, 1280, 1500,
		REFUSAL_BETTER},
	{"another has a larger hole", {HOLE(1500), HOLE(1500), HOLE(4000)}, 3, 0, 1280, 1500, REFUSAL_BETTER},
	{"another has a smaller hole", {HOLE(1500), HOLE(1500), HOLE(1400)}, 3, 0, 1280, 1500, REFUSAL_NONE},
	{"another is fine with that", {HOLE(1500), HOLE(1500), IS(VERDICT_CONSISTENT, 1500)}, 3, 0, 1280, 1500,
		REFUSAL_NONE},
	{"IPv6 below 1280", {HOLE(1279)}, 1, 9000, 68, 1279, REFUSAL_IPV6},
	{"IPv6 at 1280", {HOLE(1280)}, 1, 9000, 68, 1280, REFUSAL_NONE},
	{"without IPv6", {HOLE(1279)}, 1, 0, 68, 1279, REFUSAL_NONE},
	{"below the floor", {HOLE(1500)}, 1, 0, 1501, 1500, REFUSAL_FLOOR},
};
/* clang-format on */

START_TEST(everybody_has_a_say)
{
	const struct vote_row *row = &vote_rows[_i];
	struct clamp_settings settings = { .kind = CLAMP_LINK, .floor = row->floor };
	struct link link = { .mtu = 9000, .ipv6_mtu = row->ipv6_mtu };
	struct link_votes votes = { 0 };

	for (unsigned i = 0; i < row->count; i++)
		link_votes_add(&votes, &row->peers[i], &settings, row->size);
	ck_assert_msg(link_votes_decide(&votes, &link, row->size) == row->refusal, "%s: %d", row->what,
		      link_votes_decide(&votes, &link, row->size));
}
END_TEST

START_TEST(who_stands_on_it_speaks_against_it)
{
	static const struct judgement good = IS(VERDICT_CONSISTENT, 9000), fits = IS(VERDICT_CONSISTENT, 1500),
				      hole = HOLE(1500), unknown = IS(VERDICT_UNKNOWN, 0);
	struct link_votes votes = { 0 };

	link_votes_add_above(&votes, &hole, 1500);
	link_votes_add_above(&votes, &fits, 1500);
	ck_assert_uint_eq(votes.faulty, 0);
	ck_assert_uint_eq(votes.peers, 0);
	ck_assert(!votes.open && !votes.better);
	link_votes_add_above(&votes, &good, 1500);
	ck_assert(!votes.open && votes.better);
	link_votes_add_above(&votes, &unknown, 1500);
	ck_assert(votes.open && votes.better);
}
END_TEST

/* --- stacks --- */

struct stack_row {
	const char *what;
	struct link links[5]; /* the first is clamped to 1500 */
	int error;
	unsigned count;
	uint32_t after[5];
};

/* clang-format off */
#define ETH .index = 1, .name = "eth0", .mtu = 9000
static const struct stack_row stack_rows[] = {
	{"alone", {{ETH}}, 0, 1, {1500}},
	{"macvlan", {{ETH}, {.index = 2, .kind = "macvlan", .parent = 1, .mtu = 9000}}, 0, 2, {1500, 1500}},
	{"a VLAN that is smaller already", {{ETH}, {.index = 2, .kind = "vlan", .parent = 1, .mtu = 1400}},
		0, 1, {1500}},
	{"every kind that follows", {{ETH}, {.index = 2, .kind = "macvtap", .parent = 1, .mtu = 9000},
		{.index = 3, .kind = "ipvlan", .parent = 1, .mtu = 9000},
		{.index = 4, .kind = "ipvtap", .parent = 1, .mtu = 9000}}, 0, 4, {1500, 1500, 1500, 1500}},
	{"a member of what stands on it", {{ETH}, {.index = 2, .kind = "vlan", .parent = 1, .mtu = 9000},
		{.index = 3, .mtu = 9000, .master = 2}}, 0, 2, {1500, 1500}},
	{"vxlan as large as its parent", {{ETH}, {.index = 2, .kind = "vxlan", .parent = 1, .mtu = 9000}},
		0, 2, {1500, 1430}},
	{"vxlan larger than its parent", {{ETH}, {.index = 2, .kind = "vxlan", .parent = 1, .mtu = 9100}},
		0, 2, {1500, 1430}},
	{"vxlan by its difference", {{ETH}, {.index = 2, .kind = "vxlan", .parent = 1, .mtu = 8950}},
		0, 2, {1500, 1450}},
	{"vxlan that was never fitted", {{ETH}, {.index = 2, .kind = "vxlan", .parent = 1, .mtu = 4000}},
		0, 2, {1500, 1430}},
	{"vxlan that fits", {{ETH}, {.index = 2, .kind = "vxlan", .parent = 1, .mtu = 1400}}, 0, 1, {1500}},
	{"a VLAN on a macvlan, listed first",
		{{ETH}, {.index = 3, .kind = "vlan", .parent = 2, .mtu = 9000},
		 {.index = 2, .kind = "macvlan", .parent = 1, .mtu = 9000}}, 0, 3, {1500, 1500, 1500}},
	{"somebody else's", {{ETH}, {.index = 2, .kind = "macvlan", .parent = 7, .mtu = 9000}}, 0, 1, {1500}},
	{"a kind that is not known", {{ETH}, {.index = 2, .kind = "macsec", .parent = 1, .mtu = 8968}},
		-EOPNOTSUPP, 0, {0}},
	{"a bond", {{ETH, .type = LINK_BOND}, {.index = 2, .mtu = 9000, .master = 1},
		{.index = 3, .kind = "vlan", .parent = 1, .mtu = 9000}}, 0, 3, {1500, 1500, 1500}},
	{"a team", {{ETH, .type = LINK_TEAM}, {.index = 2, .mtu = 9000, .master = 1}}, 0, 2, {1500, 1500}},
	{"a bond of a larger member", {{ETH, .type = LINK_BOND}, {.index = 2, .mtu = 9000, .master = 1},
		{.index = 3, .mtu = 9216, .master = 1}}, -EOPNOTSUPP, 0, {0}},
	{"a bond of a member that is as small already", {{ETH, .type = LINK_BOND},
		{.index = 2, .mtu = 1500, .master = 1}}, -EOPNOTSUPP, 0, {0}},
	{"a bridge of a smaller port", {{ETH, .type = LINK_BRIDGE}, {.index = 2, .mtu = 1500, .master = 1}},
		0, 1, {1500}},
	{"a bridge's port stands on it", {{ETH},
		{.index = 2, .kind = "vlan", .parent = 1, .mtu = 9000, .master = 3},
		{.index = 3, .kind = "bridge", .mtu = 9000}}, -EOPNOTSUPP, 0, {0}},
	{"of a master elsewhere", {{ETH, .master = 9}}, 0, 1, {1500}},
	{"in a VRF", {{ETH, .master = 2}, {.index = 2, .kind = "vrf", .mtu = 65575}}, 0, 1, {1500}},
	{"an IPv6 MTU of its own", {{ETH, .ipv6_mtu = 4000}}, -EBUSY, 0, {0}},
	{"an IPv6 MTU of a child's own", {{ETH, .ipv6_mtu = 9000},
		{.index = 2, .kind = "macvlan", .parent = 1, .mtu = 9000, .ipv6_mtu = 4000}}, -EBUSY, 0, {0}},
	{"the driver's least", {{ETH, .min_mtu = 2000}}, -ERANGE, 0, {0}},
};
/* clang-format on */

static int plan(const struct stack_row *row, uint32_t mtu, struct stack *ret)
{
	const struct link *links[5];
	struct stack_case about = { .links = links, .link = &row->links[0], .mtu = mtu };

	for (unsigned i = 0; i < 5 && row->links[i].index; i++)
		links[about.count++] = &row->links[i];
	return stack_plan(&about, ret);
}

START_TEST(what_stands_on_it)
{
	const struct stack_row *row = &stack_rows[_i];
	struct stack stack;

	ck_assert_msg(plan(row, 1500, &stack) == row->error, "%s", row->what);
	if (row->error)
		return;
	ck_assert_msg(stack.count == row->count, "%s: %u", row->what, stack.count);
	ck_assert_int_eq(stack.list[0].index, 1);
	for (unsigned i = 0; i < row->count; i++)
		ck_assert_msg(stack.list[i].after == row->after[i], "%s: %u", row->what,
			      stack.list[i].after);
}
END_TEST

START_TEST(a_child_with_ipv6_needs_1280)
{
	const struct stack_row row = { "", { { ETH },
					     { .index = 2, .kind = "vxlan", .parent = 1, .mtu = 8950,
					       .ipv6_mtu = 8950 } },
				       0, 0, { 0 } };
	struct stack stack;

	ck_assert_int_eq(plan(&row, 1330, &stack), 0);
	ck_assert_int_eq(plan(&row, 1329, &stack), -ERANGE);
}
END_TEST

/* Nothing is left for what lies in a tunnel. */
START_TEST(no_room_for_a_tunnel)
{
	const struct stack_row row = {"", {{ETH}, {.index = 2, .kind = "vxlan", .parent = 1, .mtu = 8950}},
				      0, 0, {0}};
	struct stack stack;

	ck_assert_int_eq(plan(&row, 51, &stack), 0);
	ck_assert_uint_eq(stack.list[1].after, 1);
	ck_assert_int_eq(plan(&row, 50, &stack), -EOPNOTSUPP);
}
END_TEST

START_TEST(too_many)
{
	static struct link links[STACK_LARGEST + 2];
	const struct link *all[STACK_LARGEST + 2];
	struct stack_case about = { .links = all, .link = &links[0], .mtu = 1500 };
	struct stack stack;

	for (unsigned i = 0; i < STACK_LARGEST + 2; i++) {
		links[i] = (struct link){ .index = (int)i + 1, .kind = "macvlan", .mtu = 9000,
					  .parent = i ? 1 : 0 };
		all[i] = &links[i];
	}
	about.count = STACK_LARGEST;
	ck_assert_int_eq(stack_plan(&about, &stack), 0);
	about.count++;
	ck_assert_int_eq(stack_plan(&about, &stack), -EMLINK);
}
END_TEST

/* --- the verdict meanwhile --- */

START_TEST(a_clamped_link_hides_recovery)
{
	struct path_facts facts = { .link_clamped = true, .clamp_mtu = 1500, .expected = 9000,
				    .capacity = 1500 };
	struct judgement announced = { .verdict = VERDICT_BLACK_HOLE, .path_mtu = 1500, .confirmed = true };
	struct judgement now = { .verdict = VERDICT_CONSISTENT, .path_mtu = 1500 };

	clamp_hold_verdict(&facts, &announced, &now);
	ck_assert_int_eq(now.verdict, VERDICT_BLACK_HOLE);
	/* taken over: nothing is announced yet */
	now = (struct judgement){ .verdict = VERDICT_CONSISTENT, .path_mtu = 1500 };
	announced = (struct judgement){ .verdict = VERDICT_UNKNOWN };
	clamp_hold_verdict(&facts, &announced, &now);
	ck_assert_int_eq(now.verdict, VERDICT_BLACK_HOLE);
	ck_assert_uint_eq(now.path_mtu, 1500);
	ck_assert_int_eq(now.severity, SEVERITY_CRITICAL);
	/* what is worse is said */
	now = (struct judgement){ .verdict = VERDICT_UNREACHABLE };
	clamp_hold_verdict(&facts, &announced, &now);
	ck_assert_int_eq(now.verdict, VERDICT_UNREACHABLE);
	now = (struct judgement){ .verdict = VERDICT_BLACK_HOLE, .path_mtu = 1400 };
	clamp_hold_verdict(&facts, &announced, &now);
	ck_assert_uint_eq(now.path_mtu, 1400);
	/* one that never wanted more is fine */
	facts.expected = 1500;
	now = (struct judgement){ .verdict = VERDICT_CONSISTENT, .path_mtu = 1500 };
	clamp_hold_verdict(&facts, &announced, &now);
	ck_assert_int_eq(now.verdict, VERDICT_CONSISTENT);
	facts = (struct path_facts){ .expected = 9000, .capacity = 9000 };
	clamp_hold_verdict(&facts, &announced, &now);
	ck_assert_int_eq(now.verdict, VERDICT_CONSISTENT);
}
END_TEST

/* --- records --- */

#define RECORD "mtuwatchd clamp 1\neth0 3 9000 1500\nmv0 4 9000 1500\nend\n"

static int parse(const char *text, struct stack *ret)
{
	return clamp_record_parse(text, strlen(text), ret);
}

START_TEST(a_record_is_whole_or_none)
{
	static const char *const wrong[] = {
		"", "mtuwatchd clamp 1\n", "mtuwatchd clamp 1\nend\n",
		"mtuwatchd clamp 2\neth0 3 9000 1500\nend\n",
		"mtuwatchd clamp 1\neth0 3 9000 1500\n",
		"mtuwatchd clamp 1\neth0 3 9000 1500\nend",
		"mtuwatchd clamp 1\neth0 3 9000 1500\nend\nmore\n",
		"mtuwatchd clamp 1\neth0 3 1500 9000\nend\n",
		"mtuwatchd clamp 1\neth0 3 9000 9000\nend\n",
		"mtuwatchd clamp 1\neth0 0 9000 1500\nend\n",
		"mtuwatchd clamp 1\neth0 3 9000 0\nend\n",
		"mtuwatchd clamp 1\neth0 3 9000\nend\n",
		"mtuwatchd clamp 1\neth0 3 9000 1500 7\nend\n",
		"mtuwatchd clamp 1\neth0 3 9000 1500 \nend\n",
		"mtuwatchd clamp 1\neth0 4294967299 9000 1500\nend\n",
		"mtuwatchd clamp 1\neth0 3 4294976296 1500\nend\n",
		"mtuwatchd clamp 1\neth0 3 9000 -4294965796\nend\n",
		"mtuwatchd clamp 1\na/b 3 9000 1500\nend\n",
		"mtuwatchd clamp 1\nsixteen-letters- 3 9000 1500\nend\n",
	};
	struct stack stack;

	ck_assert_int_eq(parse(RECORD, &stack), 0);
	ck_assert_uint_eq(stack.count, 2);
	ck_assert_str_eq(stack.list[1].name, "mv0");
	ck_assert_uint_eq(stack.list[1].before, 9000);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(parse(wrong[i], &stack) == -EBADMSG, "taken: %s", wrong[i]);
	for (size_t length = 0; length < strlen(RECORD); length++)
		ck_assert_int_eq(clamp_record_parse(RECORD, length, &stack), -EBADMSG);
}
END_TEST

static struct stack seen;

static int on_record(const struct stack *stack, void *userdata)
{
	++*(unsigned *)userdata;
	seen = *stack;
	return 0;
}

START_TEST(a_record_comes_back)
{
	char folder[] = "/tmp/mtuwatchd-record-XXXXXX", command[256];
	struct stack stack;
	unsigned count = 0;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(parse(RECORD, &stack), 0);
	ck_assert_int_eq(clamp_record_write(folder, &stack), 0);
	/* another namespace's, and one of ours that is torn */
	snprintf(command, sizeof(command),
		 "cd %s && one=$(echo link-*-3) && touch other link-9 && : >${one%%3}9 && cp $one link-0-3",
		 folder);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(clamp_records_read(folder, on_record, &count), 1);
	ck_assert_uint_eq(count, 1);
	ck_assert(memcmp(&seen.list[1], &stack.list[1], sizeof(seen.list[1])) == 0);
	ck_assert_int_eq(clamp_record_remove(folder, 3), 0);
	ck_assert_int_eq(clamp_record_remove(folder, 3), 0);
	ck_assert_int_eq(clamp_record_remove(folder, 9), 0);
	ck_assert_int_eq(clamp_records_read(folder, on_record, &count), 0);
	ck_assert_uint_eq(count, 1);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(clamp_records_read(folder, on_record, &count), -ENOENT);
	ck_assert_int_eq(clamp_record_write(folder, &stack), -ENOENT);
}
END_TEST

#define COUNT(rows) (int)(sizeof(rows) / sizeof(rows[0]))

int main(void)
{
	Suite *suite = suite_create("stack");
	TCase *tests = tcase_create("stack");

	tcase_add_loop_test(tests, everybody_has_a_say, 0, COUNT(vote_rows));
	tcase_add_test(tests, who_stands_on_it_speaks_against_it);
	tcase_add_loop_test(tests, what_stands_on_it, 0, COUNT(stack_rows));
	tcase_add_test(tests, a_child_with_ipv6_needs_1280);
	tcase_add_test(tests, no_room_for_a_tunnel);
	tcase_add_test(tests, too_many);
	tcase_add_test(tests, a_clamped_link_hides_recovery);
	tcase_add_test(tests, a_record_is_whole_or_none);
	tcase_add_test(tests, a_record_comes_back);
	suite_add_tcase(suite, tests);
	return tap_run(suite);
}
