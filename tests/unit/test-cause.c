/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who changed an MTU, out of the links before and after. */
#include <string.h>

#include "../../daemon/core/cause.h"
#include "tap.h"

#define LINKS_MOST 4

struct row {
	const char *what;
	/* link 1 is asked about; an index of 0 in `before`: it was not there */
	struct link_state links[LINKS_MOST];
	struct link gone;
	enum cause_kind kind;
	const char *link;    /* NULL: none */
	uint32_t ipv6_reset; /* 0: nothing was */
};

/* clang-format off */
#define WAS(mtu_, ...) .before = {.index = 99, .mtu = (mtu_), .up = true, .carrier = true, __VA_ARGS__}
#define IS(name_, kind_, mtu_, ...) .link = {.name = name_, .kind = kind_, .mtu = (mtu_), .up = true, \
	.carrier = true, __VA_ARGS__}
#define SAME(name_, kind_, mtu_, ...) {WAS(mtu_, __VA_ARGS__), IS(name_, kind_, mtu_, __VA_ARGS__)}
#define OF(n) .master = (n)
#define ON(n) .parent = (n)
static const struct row rows[] = {
	{"somebody set it", {{WAS(9000), IS("eth0", "", 1500)}}, .kind = CAUSE_UNKNOWN},
	{"we did", {{WAS(9000), IS("eth0", "", 1500), .own_mtu = 1500}}, .kind = CAUSE_OWN},
	{"we did, but something else", {{WAS(9000), IS("eth0", "", 1400), .own_mtu = 1500}},
		.kind = CAUSE_UNKNOWN},

	{"a port joined", {{WAS(9000), IS("br0", "bridge", 1500)}, SAME("p", "", 9000, OF(1)),
		{IS("t", "tun", 1500, OF(1))}}, .kind = CAUSE_PORT_JOINED, .link = "t"},
	{"a link that was there became a port", {{WAS(9000), IS("br0", "bridge", 1500)},
		{WAS(1500), IS("t", "tun", 1500, OF(1))}}, .kind = CAUSE_PORT_JOINED, .link = "t"},
	{"two joined, the smaller one counts", {{WAS(9000), IS("br0", "bridge", 1400)},
		{IS("t", "tun", 1500, OF(1))}, {IS("u", "tun", 1400, OF(1))}},
		.kind = CAUSE_PORT_JOINED, .link = "u"},
	{"the first port came: a bridge follows upwards too", {{WAS(1500), IS("br0", "bridge", 9000)},
		{WAS(9000), IS("p", "", 9000, OF(1))}}, .kind = CAUSE_PORT_JOINED, .link = "p"},
	{"a port left", {{WAS(1500), IS("br0", "bridge", 9000)}, SAME("p", "", 9000, OF(1)),
		{WAS(1500, OF(1)), IS("t", "tun", 1500)}}, .kind = CAUSE_PORT_LEFT, .link = "t"},
	{"a port was deleted", {{WAS(1500), IS("br0", "bridge", 9000)}, SAME("p", "", 9000, OF(1))},
		.gone = {.index = 7, .name = "t", .mtu = 1500, OF(1)}, .kind = CAUSE_PORT_LEFT,
		.link = "t"},
	{"a port of another bridge was deleted", {{WAS(1500), IS("br0", "bridge", 9000)},
		SAME("p", "", 9000, OF(1))}, .gone = {.index = 7, .name = "t", .mtu = 1500, OF(5)},
		.kind = CAUSE_UNKNOWN},
	{"a port was lowered", {{WAS(9000), IS("br0", "bridge", 1500)},
		{WAS(9000, OF(1)), IS("p", "", 1500, OF(1))}, SAME("q", "", 9000, OF(1))},
		.kind = CAUSE_PORT_CHANGED, .link = "p"},
	{"a port was raised", {{WAS(1500), IS("br0", "bridge", 4000)},
		{WAS(1500, OF(1)), IS("p", "", 9000, OF(1))}, SAME("q", "", 4000, OF(1))},
		.kind = CAUSE_PORT_CHANGED, .link = "p"},
	{"a port of another size left", {{WAS(1500), IS("br0", "bridge", 9000)},
		SAME("p", "", 9000, OF(1)), {WAS(4000, OF(1)), IS("t", "tun", 4000)}}, .kind = CAUSE_UNKNOWN},
	{"a port of another size was deleted", {{WAS(1500), IS("br0", "bridge", 9000)},
		SAME("p", "", 9000, OF(1))}, .gone = {.index = 7, .name = "t", .mtu = 4000, OF(1)},
		.kind = CAUSE_UNKNOWN},
	{"a port joined, and another was deleted", {{WAS(1500), IS("br0", "bridge", 1400)},
		{IS("t", "tun", 1400, OF(1))}}, .gone = {.index = 7, .name = "u", .mtu = 1500, OF(1)},
		.kind = CAUSE_PORT_JOINED, .link = "t"},
	{"a port was changed that never was the smallest", {{WAS(1500), IS("br0", "bridge", 1400)},
		{WAS(9000, OF(1)), IS("p", "", 8000, OF(1))}}, .kind = CAUSE_UNKNOWN},
	{"the bridge was set", {{WAS(9000), IS("br0", "bridge", 1500)}, SAME("p", "", 9000, OF(1))},
		.kind = CAUSE_UNKNOWN},
	{"the bridge was set while a larger port joined", {{WAS(1500), IS("br0", "bridge", 1400)},
		{IS("t", "tun", 9000, OF(1))}}, .kind = CAUSE_UNKNOWN},

	{"the parent was lowered", {{WAS(9000, ON(2)), IS("mv0", "macvlan", 1500, ON(2))},
		{WAS(9000), IS("eth0", "", 1500)}}, .kind = CAUSE_PARENT, .link = "eth0"},
	{"a VLAN with its parent", {{WAS(9000, ON(2)), IS("eth0.5", "vlan", 1500, ON(2))},
		{WAS(9000), IS("eth0", "", 1500)}}, .kind = CAUSE_PARENT, .link = "eth0"},
	{"the parent was there before", {{WAS(9000, ON(2)), IS("mv0", "macvlan", 1500, ON(2))},
		SAME("eth0", "", 1500)}, .kind = CAUSE_UNKNOWN},
	{"the parent came with it", {{WAS(9000, ON(2)), IS("mv0", "macvlan", 1500, ON(2))},
		{IS("eth0", "", 1500)}}, .kind = CAUSE_UNKNOWN},
	{"set to something else than the parent", {{WAS(9000, ON(2)), IS("mv0", "macvlan", 1400, ON(2))},
		{WAS(9000), IS("eth0", "", 1500)}}, .kind = CAUSE_UNKNOWN},
	{"a tunnel does not follow", {{WAS(9000, ON(2)), IS("vx0", "vxlan", 1500, ON(2))},
		{WAS(9000), IS("eth0", "", 1500)}}, .kind = CAUSE_UNKNOWN},

	{"joined a bond", {{WAS(1500), IS("eth0", "", 9000, OF(2))}, SAME("bond0", "bond", 9000)},
		.kind = CAUSE_JOINED, .link = "bond0"},
	{"joined a bond of another size", {{WAS(1500), IS("eth0", "", 4000, OF(2))},
		SAME("bond0", "bond", 9000)}, .kind = CAUSE_UNKNOWN},
	{"the bond was changed", {{WAS(9000, OF(2)), IS("eth0", "", 1500, OF(2))},
		{WAS(9000), IS("bond0", "bond", 1500)}}, .kind = CAUSE_MASTER, .link = "bond0"},
	{"the team was changed", {{WAS(9000, OF(2)), IS("eth0", "", 1500, OF(2))},
		{WAS(9000), IS("team0", "team", 1500)}}, .kind = CAUSE_MASTER, .link = "team0"},
	{"a port does not follow its bridge", {{WAS(9000, OF(2)), IS("eth0", "", 1500, OF(2))},
		{WAS(9000), IS("br0", "bridge", 1500)}}, .kind = CAUSE_UNKNOWN},

	{"another link of this name", {{.before = {.index = 42, .mtu = 9000}, IS("eth0", "", 1500)}},
		.kind = CAUSE_REPLACED},
	{"another link of this name and size", {{.before = {.index = 42, .mtu = 1500},
		IS("eth0", "", 1500)}}, .kind = CAUSE_REPLACED},
	{"set while it was down", {{.before = {.index = 99, .mtu = 1500},
		.link = {.name = "eth0", .mtu = 9000}}}, .kind = CAUSE_UNKNOWN},
	{"it came up", {{.before = {.index = 99, .mtu = 1500}, IS("eth0", "", 9000)}},
		.kind = CAUSE_CAME_UP},
	{"its carrier came", {{.before = {.index = 99, .mtu = 1500, .up = true}, IS("eth0", "", 9000)}},
		.kind = CAUSE_CAME_UP},

	{"an advertised IPv6 MTU", {{WAS(1500, .ipv6_mtu = 1500), IS("eth0", "", 1500, .ipv6_mtu = 1400,
		.ipv6_origin = IPV6_ORIGIN_ROUTER)}}, .kind = CAUSE_ROUTER},
	{"an IPv6 MTU by sysctl", {{WAS(1500, .ipv6_mtu = 1500), IS("eth0", "", 1500, .ipv6_mtu = 1400,
		.ipv6_origin = IPV6_ORIGIN_SYSCTL)}}, .kind = CAUSE_SYSCTL},
	{"an IPv6 MTU of nobody knows whom", {{WAS(1500, .ipv6_mtu = 1400),
		IS("eth0", "", 1500, .ipv6_mtu = 1500)}}, .kind = CAUSE_UNKNOWN},
	{"the IPv6 MTU went with the change", {{WAS(1500, .ipv6_mtu = 1400),
		IS("eth0", "", 9000, .ipv6_mtu = 9000)}}, .kind = CAUSE_UNKNOWN, .ipv6_reset = 1400},
	{"the IPv6 MTU was the link's", {{WAS(1500, .ipv6_mtu = 1500),
		IS("eth0", "", 9000, .ipv6_mtu = 9000)}}, .kind = CAUSE_UNKNOWN},
	{"IPv6 went altogether", {{WAS(1500, .ipv6_mtu = 1400), IS("eth0", "", 1200)}},
		.kind = CAUSE_UNKNOWN},
	{"the parent took the IPv6 MTU along", {{WAS(9000, ON(2), .ipv6_mtu = 1400),
		IS("mv0", "macvlan", 1500, ON(2), .ipv6_mtu = 1500)}, {WAS(9000), IS("eth0", "", 1500)}},
		.kind = CAUSE_PARENT, .link = "eth0", .ipv6_reset = 1400},
};
/* clang-format on */

START_TEST(causes)
{
	const struct row *row = &rows[_i];
	struct link_state links[LINKS_MOST], *list[LINKS_MOST];
	struct roster roster = {.links = list};
	struct gone gone = {&row->gone, row->gone.index ? 1 : 0};
	struct cause cause;

	memcpy(links, row->links, sizeof(links));
	memset(&cause, 0xa5, sizeof(cause));
	for (unsigned i = 0; i < LINKS_MOST && links[i].link.name[0]; i++) {
		links[i].link.index = (int)i + 1;
		links[i].link.type = link_type(links[i].link.kind);
		if (links[i].before.index == 99)
			links[i].before.index = (int)i + 1;
		list[i] = &links[i];
		roster.link_count++;
	}
	cause_find(&roster, &gone, &links[0], &cause);
	ck_assert_msg(cause.kind == row->kind, "%s: cause %d", row->what, cause.kind);
	ck_assert_str_eq(cause.link, row->link ? row->link : "");
	ck_assert_uint_eq(cause.ipv6_reset ? cause.ipv6_mtu : 0, row->ipv6_reset);
}
END_TEST

/* RFC 8200 section 5: below 1280 the kernel takes IPv6 off a link, addresses, routes and all. */
START_TEST(ipv6_is_lost)
{
	struct link_state state = {.link = {.mtu = 1500, .ipv6_mtu = 1500}};
	struct link now = {.mtu = 1280, .ipv6_mtu = 1280};

	link_state_update(&state, &now);
	ck_assert(!state.ipv6_lost);
	now = (struct link){.mtu = 1279};
	link_state_update(&state, &now);
	ck_assert(state.ipv6_lost);
	now.mtu = 1000;
	link_state_update(&state, &now);
	ck_assert(state.ipv6_lost);
	now = (struct link){.mtu = 1500};
	link_state_update(&state, &now);
	ck_assert(!state.ipv6_lost);
	/* it had none to lose */
	now.mtu = 1000;
	link_state_update(&state, &now);
	ck_assert(!state.ipv6_lost);
	ck_assert_uint_eq(state.link.mtu, 1000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cause");
	TCase *test = tcase_create("cause");

	tcase_add_loop_test(test, causes, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(test, ipv6_is_lost);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
