/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which cables a link's packets take, how large frames leave by a cable, and what that says beside
 * what the other end announces.
 */
#include <string.h>

#include "../../daemon/core/roster.h"
#include "tap.h"

#define LINKS 10

static struct neighbour switches[] = {
	{.system = "sw1", .port = "1", .is_switch = true},
	{.system = "sw2", .port = "2", .is_switch = true},
};

static struct world {
	struct link_state states[LINKS];
	struct link_state *list[LINKS];
	struct roster roster;
} world;

static struct link *add(int index, const char *kind, uint32_t mtu)
{
	struct link_state *state = &world.states[world.roster.link_count];

	state->link = (struct link){.index = index, .mtu = mtu, .up = true, .carrier = true};
	strcpy(state->link.kind, kind);
	world.roster.links = world.list;
	world.list[world.roster.link_count++] = state;
	return &state->link;
}

static struct link *add_on(int index, const char *kind, uint32_t mtu, int parent)
{
	struct link *link = add(index, kind, mtu);

	link->parent = parent;
	return link;
}

static struct link *add_member(int index, const char *kind, uint32_t mtu, int master)
{
	struct link *link = add(index, kind, mtu);

	link->master = master;
	return link;
}

static void plug(int index, struct neighbour *neighbour)
{
	for (unsigned i = 0; i < world.roster.link_count; i++)
		if (world.list[i]->link.index == index)
			world.list[i]->far.neighbour = neighbour;
}

static void setup(void)
{
	memset(&world, 0, sizeof(world));
}

/* The names of what is found, in a row. */
static const char *found(int link)
{
	static char text[256];
	const struct neighbour *list[NEIGHBOURS_MOST];
	unsigned count = roster_neighbours(&world.roster, link, list);

	text[0] = '\0';
	for (unsigned i = 0; i < count; i++) {
		strcat(text, list[i]->system);
		strcat(text, " ");
	}
	return text;
}

static uint32_t frame(unsigned position)
{
	return roster_frame(&world.roster, &world.states[position].link);
}

START_TEST(hardware)
{
	add(1, "", 1500);
	add(2, "", 9000);
	plug(2, &switches[0]);
	ck_assert_str_eq(found(1), "");
	ck_assert_str_eq(found(2), "sw1 ");
	ck_assert_str_eq(found(3), "");
	ck_assert_uint_eq(frame(1), 9014);
}
END_TEST

START_TEST(vlan_on_bond)
{
	add_member(1, "", 9000, 3);
	add_member(2, "", 9000, 3);
	add(3, "bond", 9000);
	add_on(4, "vlan", 9000, 3);
	add_on(5, "vlan", 9000, 4);
	add_on(6, "macvlan", 9000, 4);
	add(7, "", 1500);
	plug(1, &switches[0]);
	plug(2, &switches[1]);
	for (int link = 3; link <= 6; link++)
		ck_assert_str_eq(found(link), "sw1 sw2 ");
	ck_assert_str_eq(found(1), "sw1 ");
	ck_assert_str_eq(found(7), "");
	/* two tags by either member */
	ck_assert_uint_eq(frame(0), 9022);
	ck_assert_uint_eq(frame(1), 9022);
	ck_assert_uint_eq(frame(6), 1514);
	/* both cables end at the same port of a stack: said once */
	plug(2, &switches[0]);
	ck_assert_str_eq(found(4), "sw1 ");
	/* what is down sends nothing */
	world.states[4].link.up = false;
	ck_assert_uint_eq(frame(0), 9018);
}
END_TEST

START_TEST(bridge)
{
	add_member(1, "", 1500, 4);
	add_member(2, "veth", 1500, 4);
	add_member(3, "tun", 1500, 4);
	add(4, "bridge", 1500);
	plug(1, &switches[0]);
	ck_assert_str_eq(found(4), "sw1 ");
	ck_assert_str_eq(found(2), "");
	/* guests' tags are not this host's */
	ck_assert_uint_eq(frame(0), 1514);
}
END_TEST

/* The cable below a tunnel is one hop of many. */
START_TEST(tunnel)
{
	add(1, "", 1500);
	add_on(2, "vxlan", 1450, 1);
	add_on(3, "gre", 1476, 1);
	plug(1, &switches[0]);
	ck_assert_str_eq(found(2), "");
	ck_assert_str_eq(found(3), "");
	ck_assert_uint_eq(frame(0), 1514);
}
END_TEST

START_TEST(never_round_in_circles)
{
	add_on(1, "vlan", 1500, 2);
	add_on(2, "vlan", 1500, 1);
	add_member(3, "bond", 1500, 4);
	add_member(4, "bond", 1500, 3);
	ck_assert_str_eq(found(1), "");
	ck_assert_str_eq(found(3), "");
	ck_assert_uint_ge(frame(0), 1514);
	ck_assert_uint_ge(frame(2), 1514);
}
END_TEST

START_TEST(precedence)
{
	struct neighbour host = {.system = "a-host"}, other = switches[0];

	ck_assert(neighbour_precedes(&switches[0], &host));
	ck_assert(!neighbour_precedes(&host, &switches[0]));
	ck_assert(neighbour_precedes(&switches[0], &switches[1]));
	strcpy(other.port, "0");
	ck_assert(neighbour_precedes(&other, &switches[0]));
	ck_assert(!neighbour_precedes(&other, &other));
	ck_assert(neighbour_equal(&other, &other));
	ck_assert(!neighbour_equal(&other, &switches[0]));
}
END_TEST

struct row {
	const char *what;
	uint32_t announced, sends, mtu;
	bool less;
};

static const struct row rows[] = {
	{"nothing announced", 0, 9014, 9000, false},
	{"nothing to compare", 1518, 0, 9000, false},
	{"the standard", 1518, 1514, 1500, false},
	{"with a tag", 1522, 1518, 1500, false},
	{"one that counts no checksum", 1514, 1514, 1500, false},
	{"one that counts no tag", 1518, 1518, 1500, false},
	{"one that announces the MTU", 9000, 9014, 9000, false},
	{"smaller", 1518, 9014, 9000, true},
	{"a little smaller", 9001, 9014, 9000, true},
	{"two tags in a small one", 1518, 1522, 1500, true},
	{"larger", 9216, 9014, 9000, false},
};

START_TEST(frames)
{
	const struct row *row = &rows[_i];
	struct neighbour neighbour = {.max_frame = row->announced};
	struct link link = {.name = "eth1", .up = true, .mtu = row->mtu};
	struct far_end far = {.neighbour = &neighbour, .sends = row->sends};
	struct findings findings = {0};

	ck_assert_msg(neighbour_takes_less(&neighbour, row->sends, row->mtu) == row->less, "%s",
		      row->what);
	far_end_lint(&far, &link, &findings);
	ck_assert_msg(findings.count == row->less, "%s", row->what);
	if (!row->less)
		return;
	ck_assert_int_eq(findings.list[0].id, FINDING_NEIGHBOUR_FRAME_SMALLER);
	ck_assert_int_eq(findings.list[0].severity, SEVERITY_NOTICE);
	ck_assert_uint_eq(findings.list[0].is, row->announced);
	ck_assert_uint_eq(findings.list[0].should, row->sends + 4);
	ck_assert_str_eq(finding_link(&findings.list[0]), "eth1");
	findings.count = 0;
	link.up = false;
	far_end_lint(&far, &link, &findings);
	ck_assert_uint_eq(findings.count, 0);
}
END_TEST

START_TEST(inbound)
{
	struct link link = {.name = "eth1", .up = true, .mtu = 1500};
	struct far_end far = {.inbound = {.per_minute = 90, .counter = 3, .sure = true}};
	struct findings findings = {0};

	far_end_lint(&far, &link, &findings);
	ck_assert_uint_eq(findings.count, 1);
	ck_assert_int_eq(findings.list[0].id, FINDING_INBOUND_OVERSIZE);
	ck_assert_int_eq(findings.list[0].severity, SEVERITY_WARNING);
	ck_assert_uint_eq(findings.list[0].is, 90);
	ck_assert_uint_eq(findings.list[0].should, 3);
	findings.count = 0;
	far.inbound.sure = false;
	far_end_lint(&far, &link, &findings);
	ck_assert_int_eq(findings.list[0].severity, SEVERITY_NOTICE);
	/* beside others, and never beyond the end */
	findings.count = FINDINGS_LARGEST;
	far_end_lint(&far, &link, &findings);
	ck_assert_uint_eq(findings.count, FINDINGS_LARGEST);
	findings.count = 0;
	link.loopback = true;
	far_end_lint(&far, &link, &findings);
	ck_assert_uint_eq(findings.count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cables");
	TCase *tcase = tcase_create("cables");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, hardware);
	tcase_add_test(tcase, vlan_on_bond);
	tcase_add_test(tcase, bridge);
	tcase_add_test(tcase, tunnel);
	tcase_add_test(tcase, never_round_in_circles);
	tcase_add_test(tcase, precedence);
	tcase_add_loop_test(tcase, frames, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(tcase, inbound);
	suite_add_tcase(suite, tcase);
	return tap_run(suite);
}
