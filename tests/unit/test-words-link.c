/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sentences about links, word for word: both links named, all numbers given. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/face/words.h"
#include "tap.h"

struct row {
	struct finding finding;
	const char *text, *advice;
};

/* clang-format off */
#define F(id_, severity_, is_, should_, ...) {.id = FINDING_##id_, .severity = SEVERITY_##severity_, \
	.is = (is_), .should = (should_), __VA_ARGS__}
static const struct row rows[] = {
	{F(LINK_BELOW_EXPECTED, WARNING, 1500, 9000, .link = "eth1"),
		"link eth1 has an MTU of 1500, 9000 expected",
		"ip link set dev eth1 mtu 9000, and the same in the configuration that sets this link up; "
		"or set ExpectMTU=1500"},
	{F(LINK_BELOW_EXPECTED, WARNING, 1500, 9000, .link = "eth1.5", .other = "eth1", .type = LINK_VLAN),
		"VLAN eth1.5 has an MTU of 1500, 9000 expected; eth1, which it lies on, is too small as well",
		"first ip link set dev eth1 mtu 9000, then ip link set dev eth1.5 mtu 9000, and the same in "
		"the configuration that sets them up; or set ExpectMTU=1500"},
	{F(LINK_BELOW_EXPECTED, WARNING, 1500, 9000, .link = "eth1", .other = "bond0"),
		"link eth1 has an MTU of 1500, 9000 expected; bond0, which it belongs to, is too small as well",
		"ip link set dev bond0 mtu 9000 gives it to all members; the same in the configuration that "
		"sets it up; or set ExpectMTU=1500"},
	{F(VLAN_ABOVE_PARENT, WARNING, 9000, 1500, .link = "eth1.5", .other = "eth1", .type = LINK_VLAN),
		"VLAN eth1.5 has an MTU of 9000, eth1 below it only 1500: larger packets get lost",
		"ip link set dev eth1 mtu 9000, if the switch takes that; else ip link set dev eth1.5 mtu "
		"1500"},
	{F(VLAN_ABOVE_PARENT, WARNING, 9000, 1500, .link = "mv0", .other = "eth1", .type = LINK_MACVLAN),
		"macvlan mv0 has an MTU of 9000, eth1 below it only 1500: larger packets get lost", NULL},
	{F(MEMBER_DIFFERS, WARNING, 1500, 9000, .link = "br0", .other = "p0", .type = LINK_BRIDGE,
		.number = 1),
		"bridge br0 has an MTU of 9000, its port p0 only 1500: larger packets get lost there",
		"ip link set dev p0 mtu 9000, if what is behind it takes that; else ip link set dev br0 mtu "
		"1500"},
	{F(MEMBER_DIFFERS, WARNING, 1500, 9000, .link = "br0", .other = "p0", .type = LINK_BRIDGE,
		.number = 2),
		"bridge br0 has an MTU of 9000, its port p0 only 1500: larger packets get lost there, and 1 "
		"more port differs likewise", NULL},
	{F(MEMBER_DIFFERS, WARNING, 1500, 9000, .link = "bond0", .other = "eth1", .type = LINK_BOND,
		.number = 4),
		"bond bond0 has an MTU of 9000, its member eth1 only 1500: larger packets get lost there, "
		"and 3 more members differ likewise", "ip link set dev eth1 mtu 9000, as the bond has"},
	{F(MEMBER_DIFFERS, NOTICE, 9000, 1500, .link = "team0", .other = "eth1", .type = LINK_TEAM,
		.number = 1),
		"team team0 has an MTU of 1500, its member eth1 9000",
		"take eth1 out of team0 and put it in again: it gets the team's MTU then"},
	{F(BRIDGE_LOWERED_BY_PORT, WARNING, 1500, 9000, .link = "br0", .other = "t0"),
		"bridge br0 has an MTU of 1500, 9000 expected: it follows its smallest port, t0",
		"ip link set dev t0 mtu 9000, and in the guest behind it; setting br0 itself would lose what "
		"is larger than its smallest port"},
	{F(BRIDGE_LOWERED_BY_PORT, NOTICE, 1500, 9000, .link = "br0", .other = "t0"),
		"bridge br0 has an MTU of 1500, though another port has 9000: it follows its smallest port, "
		"t0", NULL},
	{F(TUNNEL_TOO_LARGE, WARNING, 1500, 1450, .link = "vx0", .other = "eth1", .type = LINK_VXLAN,
		.number = 50),
		"vxlan vx0 has an MTU of 1500 and adds 50 bytes: over eth1 no more than 1450 fit, larger "
		"packets do not get through",
		"ip link set dev vx0 mtu 1450, and the same at its other end; or give eth1 and the way there "
		"1550"},
	{F(TUNNEL_TOO_LARGE, NOTICE, 1500, 1440, .link = "wg0", .other = "eth1", .type = LINK_WIREGUARD,
		.number = 60),
		"WireGuard link wg0 has an MTU of 1500 and adds 60 bytes: over eth1 no more than 1440 fit, "
		"larger packets leave in fragments", NULL},
	{F(PAIR_DIFFERS, WARNING, 1500, 9000, .link = "a", .other = "b", .type = LINK_VETH),
		"veth a has an MTU of 9000, its other end b only 1500: larger packets get lost",
		"ip link set dev b mtu 9000, or ip link set dev a mtu 1500"},
	{F(IPV6_LOST, WARNING, 1200, 1280, .link = "eth1"),
		"link eth1 has an MTU of 1200, below the 1280 that IPv6 needs: its IPv6 addresses and routes "
		"are gone",
		"ip link set dev eth1 mtu 1280 or more, then set its IPv6 addresses and routes up anew: only "
		"the link-local address comes back by itself"},
	{F(IPV6_MTU_BELOW_LINK, NOTICE, 1400, 1500, .link = "eth1", .origin = IPV6_ORIGIN_ROUTER),
		"IPv6 uses an MTU of 1400 on link eth1, whose own is 1500: a router advertised it",
		"\"rdisc6 eth1\" shows the router's MTU option: change it there, or set ExpectMTU=1400 where "
		"it is meant"},
	{F(IPV6_MTU_BELOW_LINK, NOTICE, 1400, 1500, .link = "eth1", .origin = IPV6_ORIGIN_SYSCTL),
		"IPv6 uses an MTU of 1400 on link eth1, whose own is 1500: a sysctl set it",
		"sysctl -w net/ipv6/conf/eth1/mtu=1500, or set ExpectMTU=1400 where it is meant"},
	{F(IPV6_MTU_BELOW_LINK, NOTICE, 1400, 1500, .link = "eth1"),
		"IPv6 uses an MTU of 1400 on link eth1, whose own is 1500", NULL},
	{F(MORE, NOTICE, 12, 0), "12 more findings than are listed",
		"mend the listed ones first"},
};

static const struct {
	struct link before, now;
	struct cause cause;
	const char *text;
} changes[] = {
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_UNKNOWN}, "MTU 1500, was 9000"},
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_OWN}, "MTU 1500, was 9000: set by mtuwatchd"},
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_REPLACED},
		"MTU 1500, was 9000: it is another link of this name"},
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_PORT_JOINED, .link = "t0"},
		"MTU 1500, was 9000: t0 became a port of it"},
	{{.mtu = 1500}, {.mtu = 9000}, {.kind = CAUSE_PORT_LEFT, .link = "t0"},
		"MTU 9000, was 1500: t0 is no longer a port of it"},
	{{.mtu = 1500}, {.mtu = 9000}, {.kind = CAUSE_PORT_CHANGED, .link = "t0"},
		"MTU 9000, was 1500: the MTU of its port t0 changed"},
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_PARENT, .link = "eth0"},
		"MTU 1500, was 9000: changed together with eth0 below it"},
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_JOINED, .link = "bond0"},
		"MTU 1500, was 9000: it became a member of bond0"},
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_MASTER, .link = "bond0"},
		"MTU 1500, was 9000: changed together with bond0, whose member it is"},
	{{.mtu = 9000}, {.mtu = 1500}, {.kind = CAUSE_CAME_UP}, "MTU 1500, was 9000: as it came up"},
	{{.mtu = 1500}, {.mtu = 9000}, {.ipv6_reset = true, .ipv6_mtu = 1400},
		"MTU 9000, was 1500; the IPv6 MTU of 1400 that was set on it went with that"},
	{{.mtu = 1500, .ipv6_mtu = 1500}, {.mtu = 1500, .ipv6_mtu = 1400}, {.kind = CAUSE_ROUTER},
		"IPv6 MTU 1400, was 1500: a router advertised it"},
	{{.mtu = 1500, .ipv6_mtu = 1500}, {.mtu = 1500, .ipv6_mtu = 1400}, {.kind = CAUSE_SYSCTL},
		"IPv6 MTU 1400, was 1500: a sysctl set it"},
};
/* clang-format on */

START_TEST(findings)
{
	const struct row *row = &rows[_i];
	char *text = words_finding_text(&row->finding), *advice = words_finding_advice(&row->finding);

	ck_assert_str_eq(text, row->text);
	if (row->advice)
		ck_assert_str_eq(advice, row->advice);
	ck_assert_uint_gt(strlen(advice), 20);
	free(text);
	free(advice);
}
END_TEST

START_TEST(causes)
{
	char *text = words_link_change(&changes[_i].before, &changes[_i].now, &changes[_i].cause);

	ck_assert_str_eq(text, changes[_i].text);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("words-link");
	TCase *test = tcase_create("words-link");

	tcase_add_loop_test(test, findings, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(test, causes, 0, sizeof(changes) / sizeof(changes[0]));
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
