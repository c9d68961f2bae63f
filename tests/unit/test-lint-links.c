/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks of links of every kind, also those that this kernel cannot make: each with just the
 * findings that it has to give, and none more. And what follows from a finding: which path's fault
 * it explains, and when it is told.
 */
#include <stdlib.h>
#include <string.h>

#include "../../daemon/core/explain.h"
#include "../../daemon/core/lint_links.h"
#include "../../daemon/core/tower.h"
#include "tap.h"

#define LINKS_MOST 8
#define FOUND_MOST 7

struct found {
	enum finding_id id;
	enum severity severity;
	const char *link, *other; /* other NULL: none */
	uint32_t is, should;
	unsigned number;
};

struct row {
	const char *what;
	struct link_state links[LINKS_MOST]; /* their place is their index, from 1 */
	struct found found[FOUND_MOST];      /* in this order; ended by a link of NULL */
};

/* clang-format off */
#define UP .up = true, .carrier = true
#define L(name_, kind_, mtu_, ...) {.link = {.name = name_, .kind = kind_, .mtu = (mtu_), UP, __VA_ARGS__}}
#define E(name_, kind_, mtu_, expected_, ...) {.expected_mtu = (expected_), \
	.link = {.name = name_, .kind = kind_, .mtu = (mtu_), UP, __VA_ARGS__}}
/* a tunnel whose packets leave by link number `under` */
#define T(name_, kind_, mtu_, under, ...) {.underlay = (under), \
	.link = {.name = name_, .kind = kind_, .mtu = (mtu_), UP, __VA_ARGS__}}
#define ON(n) .parent = (n)
#define OF(n) .master = (n)
#define IN6 .tunnel = WRAP_IPV6
#define WARN SEVERITY_WARNING
#define NOTE SEVERITY_NOTICE
#define ABOVE(link, other, is, should) {FINDING_VLAN_ABOVE_PARENT, WARN, link, other, is, should, 0}
#define MEMBER(severity, link, other, is, should, n) \
	{FINDING_MEMBER_DIFFERS, severity, link, other, is, should, n}
#define LOWERED(severity, link, other, is, should) \
	{FINDING_BRIDGE_LOWERED_BY_PORT, severity, link, other, is, should, 0}
#define TUNNEL(severity, link, other, is, should, adds) \
	{FINDING_TUNNEL_TOO_LARGE, severity, link, other, is, should, adds}
#define BELOW(link, other, is, should) {FINDING_LINK_BELOW_EXPECTED, WARN, link, other, is, should, 0}

static const struct row rows[] = {
	/* the link itself */
	{"nothing at all", {L("eth0", "", 1500)}, {}},
	{"as expected", {E("eth0", "", 9000, 9000, .ipv6_mtu = 9000, .max_mtu = 9000)}, {}},
	{"more than expected", {E("eth0", "", 9216, 9000)}, {}},
	{"below expected", {E("eth0", "", 8999, 9000)}, {BELOW("eth0", NULL, 8999, 9000)}},
	{"a VLAN below expected, though its parent is not", {L("eth0", "", 9000),
		E("v", "vlan", 8000, 9000, ON(1))}, {BELOW("v", NULL, 8000, 9000)}},
	{"a VLAN below expected, its parent elsewhere", {E("v", "vlan", 8000, 9000, .foreign = true)},
		{BELOW("v", NULL, 8000, 9000)}},
	{"a bond's member below expected", {E("a", "", 1500, 9000, OF(2)), L("bond0", "bond", 1500)},
		{BELOW("a", "bond0", 1500, 9000)}},
	{"a team's member below expected", {E("a", "", 1500, 9000, OF(2)), L("team0", "team", 1500)},
		{BELOW("a", "team0", 1500, 9000)}},
	{"a bridge's port below expected", {E("a", "", 1500, 9000, OF(2)), L("br0", "bridge", 1500)},
		{BELOW("a", NULL, 1500, 9000)}},
	{"as expected before a clamp of ours", {{.original_mtu = 9000, .expected_mtu = 9000,
		.link = {.name = "eth0", .mtu = 1500, .ipv6_mtu = 1500, UP}},
		L("v", "vlan", 9000, ON(1))}, {}},
	{"IPv6 used less before a clamp of ours too", {{.original_mtu = 9000,
		.link = {.name = "eth0", .mtu = 1500, .ipv6_mtu = 1400, UP}}},
		{{FINDING_IPV6_MTU_BELOW_LINK, NOTE, "eth0", NULL, 1400, 9000, 0}}},
	{"below expected, without carrier", {{.expected_mtu = 9000,
		.link = {.name = "eth0", .mtu = 1500, .up = true}}}, {BELOW("eth0", NULL, 1500, 9000)}},
	{"below expected, down", {{.expected_mtu = 9000, .link = {.name = "eth0", .mtu = 1500}}}, {}},
	{"below expected, to be ignored", {{.expected_mtu = 9000, .ignored = true,
		.link = {.name = "eth0", .mtu = 1500, UP}}}, {}},
	{"loopback", {E("lo", "", 1500, 9000, .loopback = true)}, {}},
	{"the driver cannot", {E("eth0", "", 1500, 9000, .max_mtu = 4000)},
		{BELOW("eth0", NULL, 1500, 9000),
		 {FINDING_MTU_ABOVE_DRIVER_MAX, WARN, "eth0", NULL, 4000, 9000, 0}}},
	{"IPv6 uses less", {L("eth0", "", 9000, .ipv6_mtu = 1500)},
		{{FINDING_IPV6_MTU_BELOW_LINK, NOTE, "eth0", NULL, 1500, 9000, 0}}},
	{"IPv6 is off", {L("eth0", "", 9000)}, {}},
	{"IPv6 was lost", {{.ipv6_lost = true, .link = {.name = "eth0", .mtu = 1200, UP}}},
		{{FINDING_IPV6_LOST, WARN, "eth0", NULL, 1200, 1280, 0}}},
	{"an IPv4 link of less than IPv6 needs", {L("eth0", "", 576)}, {}},
	{"strangers of different sizes", {L("lan", "veth", 1500), L("stor", "", 9000),
		L("ring", "veth", 65520), L("br0", "bridge", 1400), L("vpn", "tun", 1300)}, {}},

	/* VLANs */
	{"a VLAN of all its parent has", {L("eth0", "", 1500), L("eth0.5", "vlan", 1500, ON(1))}, {}},
	{"a VLAN of less", {L("eth0", "", 9000), L("eth0.5", "vlan", 1500, ON(1))}, {}},
	{"a VLAN above its parent", {L("eth0", "", 1500), L("eth0.5", "vlan", 9000, ON(1))},
		{ABOVE("eth0.5", "eth0", 9000, 1500)}},
	{"one byte above", {L("eth0", "", 1500), L("eth0.5", "vlan", 1501, ON(1))},
		{ABOVE("eth0.5", "eth0", 1501, 1500)}},
	{"two tags, all of equal size", {L("eth0", "", 1500), L("s", "vlan", 1500, ON(1)),
		L("c", "vlan", 1500, ON(2))}, {}},
	{"two tags, the outer one above", {L("eth0", "", 1500), L("s", "vlan", 1504, ON(1)),
		L("c", "vlan", 1504, ON(2))}, {ABOVE("s", "eth0", 1504, 1500)}},
	{"two tags, the inner one above", {L("eth0", "", 1504), L("s", "vlan", 1504, ON(1)),
		L("c", "vlan", 1508, ON(2))}, {ABOVE("c", "s", 1508, 1504)}},
	{"two tags, both above", {L("eth0", "", 1500), L("s", "vlan", 1504, ON(1)),
		L("c", "vlan", 1508, ON(2))},
		{ABOVE("s", "eth0", 1504, 1500), ABOVE("c", "s", 1508, 1504)}},
	{"a VLAN above a bridge", {L("br0", "bridge", 1500), L("br0.5", "vlan", 9000, ON(1))},
		{ABOVE("br0.5", "br0", 9000, 1500)}},
	{"a VLAN on a parent that is down", {{.link = {.name = "eth0", .mtu = 1500}},
		L("eth0.5", "vlan", 9000, ON(1))}, {}},
	{"a VLAN that is down", {L("eth0", "", 1500),
		{.link = {.name = "eth0.5", .kind = "vlan", .mtu = 9000, ON(1)}}}, {}},
	{"a VLAN whose parent is elsewhere", {L("eth0.5", "vlan", 9000, .foreign = true)}, {}},
	{"a VLAN below expected, as its parent", {L("eth0", "", 1500),
		E("eth0.5", "vlan", 1500, 9000, ON(1))}, {BELOW("eth0.5", "eth0", 1500, 9000)}},
	{"a VLAN below expected, by itself", {L("eth0", "", 9000),
		E("eth0.5", "vlan", 1500, 9000, ON(1))}, {BELOW("eth0.5", NULL, 1500, 9000)}},

	/* macvlan, ipvlan */
	{"a macvlan as its parent", {L("eth0", "", 9000), L("mv0", "macvlan", 9000, ON(1))}, {}},
	{"a macvlan above its parent", {L("eth0", "", 1500), L("mv0", "macvlan", 9000, ON(1))},
		{ABOVE("mv0", "eth0", 9000, 1500)}},
	{"a macvtap above its parent", {L("eth0", "", 1500), L("tap0", "macvtap", 9000, ON(1))},
		{ABOVE("tap0", "eth0", 9000, 1500)}},
	{"an ipvlan above its parent", {L("eth0", "", 1500), L("iv0", "ipvlan", 1501, ON(1))},
		{ABOVE("iv0", "eth0", 1501, 1500)}},

	/* bonds and teams */
	{"a bond of equals", {L("bond0", "bond", 9000), L("a", "", 9000, OF(1)),
		L("b", "", 9000, OF(1))}, {}},
	{"a bond with a smaller member", {L("bond0", "bond", 9000), L("a", "", 9000, OF(1)),
		L("b", "", 1500, OF(1))}, {MEMBER(WARN, "bond0", "b", 1500, 9000, 1)}},
	{"a bond with three of different sizes", {L("bond0", "bond", 9000), L("a", "", 9000, OF(1)),
		L("b", "", 1500, OF(1)), L("c", "", 4000, OF(1))},
		{MEMBER(WARN, "bond0", "b", 1500, 9000, 2)}},
	{"a bond with a larger member", {L("bond0", "bond", 1500), L("a", "", 1500, OF(1)),
		L("b", "", 9000, OF(1))}, {MEMBER(NOTE, "bond0", "b", 9000, 1500, 1)}},
	{"a bond with a smaller member that is down", {L("bond0", "bond", 9000),
		L("a", "", 9000, OF(1)), {.link = {.name = "b", .mtu = 1500, OF(1)}}}, {}},
	{"a bond with a smaller member to be ignored", {L("bond0", "bond", 9000),
		{.ignored = true, .link = {.name = "b", .mtu = 1500, UP, OF(1)}}}, {}},
	{"a bond to be ignored", {{.ignored = true, .link = {.name = "bond0", .kind = "bond",
		.mtu = 9000, UP}}, L("b", "", 1500, OF(1))}, {}},
	{"a team with a smaller member", {L("team0", "team", 9000), L("a", "", 1500, OF(1))},
		{MEMBER(WARN, "team0", "a", 1500, 9000, 1)}},
	{"a member below expected", {L("bond0", "bond", 1500), E("a", "", 1500, 9000, OF(1))},
		{BELOW("a", "bond0", 1500, 9000)}},
	{"a VRF has no members to compare", {L("vrf0", "vrf", 65575), L("a", "", 1500, OF(1)),
		L("b", "", 9000, OF(1))}, {}},
	{"an Open vSwitch neither", {L("ovs-system", "openvswitch", 1500), L("a", "", 9000, OF(1)),
		L("b", "", 1400, OF(1))}, {}},

	/* bridges */
	{"a bridge as its ports", {E("br0", "bridge", 9000, 9000), L("p", "", 9000, OF(1)),
		L("q", "tun", 9000, OF(1))}, {}},
	{"a bridge without ports", {L("br0", "bridge", 1500)}, {}},
	{"a bridge without ports, below expected", {E("br0", "bridge", 1500, 9000)},
		{BELOW("br0", NULL, 1500, 9000)}},
	{"a bridge lowered by a port", {E("br0", "bridge", 1500, 9000), L("p", "", 9000, OF(1)),
		L("t", "tun", 1500, OF(1))}, {LOWERED(WARN, "br0", "t", 1500, 9000)}},
	{"a bridge lowered by a port that is down", {E("br0", "bridge", 1500, 9000),
		L("p", "", 9000, OF(1)), {.link = {.name = "t", .mtu = 1500, OF(1)}}},
		{LOWERED(WARN, "br0", "t", 1500, 9000)}},
	{"a bridge lowered, nothing expected", {L("br0", "bridge", 1500), L("p", "", 9000, OF(1)),
		L("t", "tun", 1500, OF(1))}, {LOWERED(NOTE, "br0", "t", 1500, 9000)}},
	{"a bridge as its only port, more expected", {E("br0", "bridge", 1500, 9000),
		L("p", "", 1500, OF(1))}, {LOWERED(WARN, "br0", "p", 1500, 9000)}},
	{"a bridge set below its ports", {L("br0", "bridge", 1500), L("p", "", 9000, OF(1)),
		L("q", "", 9000, OF(1))}, {}},
	{"a bridge set below its ports, more expected", {E("br0", "bridge", 1500, 9000),
		L("p", "", 9000, OF(1))}, {BELOW("br0", NULL, 1500, 9000)}},
	{"a bridge set above a port", {L("br0", "bridge", 9000), L("p", "", 1500, OF(1))},
		{MEMBER(WARN, "br0", "p", 1500, 9000, 1)}},
	{"a bridge set above some ports", {L("br0", "bridge", 9000), L("p", "", 9000, OF(1)),
		L("s", "tun", 1500, OF(1)), L("t", "tun", 1400, OF(1)), L("u", "tun", 1500, OF(1))},
		{MEMBER(WARN, "br0", "t", 1400, 9000, 3)}},
	{"a bridge between its ports", {L("br0", "bridge", 4000), L("p", "", 9000, OF(1)),
		L("t", "tun", 1500, OF(1))}, {MEMBER(WARN, "br0", "t", 1500, 4000, 1)}},
	{"a bridge that is down", {{.link = {.name = "br0", .kind = "bridge", .mtu = 9000}},
		L("t", "tun", 1500, OF(1))}, {}},

	/* veth */
	{"both ends alike", {L("a", "veth", 9000, .pair = 2), L("b", "veth", 9000, .pair = 1)}, {}},
	{"ends that differ", {L("a", "veth", 1500, .pair = 2), L("b", "veth", 9000, .pair = 1)},
		{{FINDING_PAIR_DIFFERS, WARN, "b", "a", 1500, 9000, 0}}},
	{"the other end is elsewhere", {L("a", "veth", 9000, .foreign = true),
		L("b", "veth", 1500, .foreign = true)}, {}},
	{"an index that is somebody else's", {L("a", "veth", 9000, .pair = 2), L("b", "", 1500)}, {}},
	{"ends that differ, the small one to be ignored", {L("a", "veth", 9000, .pair = 2),
		{.ignored = true, .link = {.name = "b", .kind = "veth", .mtu = 1500, UP, .pair = 1}}}, {}},
	{"ends that differ, one down", {L("a", "veth", 9000, .pair = 2),
		{.link = {.name = "b", .kind = "veth", .mtu = 1500, .pair = 1}}}, {}},

	/* tunnels: each kind at the size that just fits, and one byte more */
#define FITS(kind_, adds, ...) \
	{kind_ " that fits", {L("eth0", "", 1500), T("t0", kind_, 1500 - (adds), 1, __VA_ARGS__)}, {}}, \
	{kind_ " one byte too large", {L("eth0", "", 1500), \
		T("t0", kind_, 1501 - (adds), 1, __VA_ARGS__)}, \
		{TUNNEL(WARN, "t0", "eth0", 1501 - (adds), 1500 - (adds), adds)}}
	FITS("vxlan", 50),
	FITS("vxlan", 70, IN6),
	FITS("vxlan", 36, .tunnel = WRAP_NO_ETHERNET),
	FITS("vxlan", 56, .tunnel = WRAP_NO_ETHERNET | WRAP_IPV6),
	FITS("geneve", 50),
	FITS("geneve", 70, IN6),
	FITS("geneve", 36, .tunnel = WRAP_NO_ETHERNET),
	FITS("gre", 24),
	FITS("gre", 28, .tunnel = WRAP_KEY),
	FITS("gre", 36, .tunnel = WRAP_KEY | WRAP_CHECKSUM | WRAP_SEQUENCE),
	FITS("gre", 32, .tunnel = WRAP_FOU),
	FITS("gretap", 38),
	FITS("gretap", 42, .tunnel = WRAP_SEQUENCE),
	FITS("ip6gre", 44, IN6),
	FITS("ip6gre", 52, .tunnel = WRAP_IPV6 | WRAP_ENCAP_LIMIT),
	FITS("ip6gretap", 58, IN6),
	FITS("ip6gretap", 66, .tunnel = WRAP_IPV6 | WRAP_ENCAP_LIMIT),
	FITS("ipip", 20),
	FITS("ipip", 28, .tunnel = WRAP_FOU),
	FITS("ipip", 32, .tunnel = WRAP_GUE),
	FITS("sit", 20),
	FITS("ip6tnl", 40, IN6),
	FITS("ip6tnl", 48, .tunnel = WRAP_IPV6 | WRAP_ENCAP_LIMIT),
	{"vxlan without DF", {L("eth0", "", 1500), T("vx0", "vxlan", 1500, 1,
		.tunnel = WRAP_FRAGMENTS)}, {TUNNEL(NOTE, "vx0", "eth0", 1500, 1450, 50)}},
	{"vxlan over its named parent", {L("eth0", "", 1500), L("vx0", "vxlan", 8950, ON(1))},
		{TUNNEL(WARN, "vx0", "eth0", 8950, 1450, 50)}},
	{"vxlan over a route of less", {L("eth0", "", 9000), {.underlay = 1, .underlay_mtu = 1500,
		.link = {.name = "vx0", .kind = "vxlan", .mtu = 8950, UP}}},
		{TUNNEL(WARN, "vx0", "eth0", 8950, 1450, 50)}},
	{"vxlan over IPv6 of less than the link", {L("eth0", "", 9000, .ipv6_mtu = 1500),
		T("vx0", "vxlan", 8930, 1, IN6)},
		{{FINDING_IPV6_MTU_BELOW_LINK, NOTE, "eth0", NULL, 1500, 9000, 0},
		 TUNNEL(WARN, "vx0", "eth0", 8930, 1430, 70)}},
	{"vxlan that leads nobody knows where", {L("eth0", "", 1500), L("vx0", "vxlan", 9000)}, {}},
	{"vxlan told with each packet", {L("eth0", "", 1500), T("vx0", "vxlan", 65000, 1,
		.tunnel = WRAP_EXTERNAL)}, {}},
	{"vxlan from another namespace", {L("eth0", "", 1500), T("vx0", "vxlan", 9000, 1,
		.foreign = true)}, {}},
	{"vxlan over a link that is down", {{.link = {.name = "eth0", .mtu = 1500}},
		T("vx0", "vxlan", 9000, 1)}, {}},
	{"vxlan whose route leads into itself", {T("vx0", "vxlan", 9000, 1)}, {}},
	{"a tunnel in a tunnel", {L("eth0", "", 1500), T("vx0", "vxlan", 1450, 1),
		T("gre0", "gre", 1426, 2)}, {}},
	{"a tunnel in a tunnel, too large", {L("eth0", "", 1500), T("vx0", "vxlan", 1450, 1),
		T("gre0", "gre", 1476, 2)}, {TUNNEL(WARN, "gre0", "vx0", 1476, 1426, 24)}},
	{"vxlan over IPv6 that uses all of the link", {L("eth0", "", 1500, .ipv6_mtu = 1500),
		T("vx0", "vxlan", 1500, 1, IN6)}, {TUNNEL(WARN, "vx0", "eth0", 1500, 1430, 70)}},
	{"vxlan whose route has room enough", {L("eth0", "", 1500), {.underlay = 1, .underlay_mtu = 9000,
		.link = {.name = "vx0", .kind = "vxlan", .mtu = 1500, UP}}},
		{TUNNEL(WARN, "vx0", "eth0", 1500, 1450, 50)}},
	{"vxlan over a link without room for anything", {L("eth0", "", 50), T("vx0", "vxlan", 1500, 1)}, {}},
	{"vxlan to this host itself", {L("lo", "", 1500, .loopback = true), T("vx0", "vxlan", 1500, 1)}, {}},
	{"wireguard as by default", {L("eth0", "", 1500), L("wg0", "wireguard", 1420,
		.tunnel = WRAP_FRAGMENTS)}, {}},
	{"wireguard that fits", {L("eth0", "", 1500), L("wg0", "wireguard", 1440,
		.tunnel = WRAP_FRAGMENTS)}, {}},
	{"wireguard too large for all there is", {L("eth0", "", 1500), L("wg0", "wireguard", 1441,
		.tunnel = WRAP_FRAGMENTS)}, {TUNNEL(NOTE, "wg0", "eth0", 1441, 1440, 60)}},
	{"wireguard over IPv6", {L("eth0", "", 1500), L("wg0", "wireguard", 1421,
		.tunnel = WRAP_FRAGMENTS | WRAP_IPV6)}, {TUNNEL(NOTE, "wg0", "eth0", 1421, 1420, 80)}},
	{"wireguard that may use a larger link", {L("eth0", "", 1500), L("eth1", "", 9000),
		L("wg0", "wireguard", 1500)}, {}},
	{"wireguard that may use a larger link, listed first", {L("eth0", "", 9000), L("eth1", "", 1500),
		L("wg0", "wireguard", 1500)}, {}},
	{"wireguard beside a larger link that is down", {{.link = {.name = "eth0", .mtu = 9000}},
		L("eth1", "", 1500), L("wg0", "wireguard", 1441, .tunnel = WRAP_FRAGMENTS)},
		{TUNNEL(NOTE, "wg0", "eth1", 1441, 1440, 60)}},
	{"wireguard in a container", {L("eth0", "veth", 1400), L("wg0", "wireguard", 1420)}, {}},
	{"other kinds cost nobody knows what", {L("eth0", "", 1500), T("e0", "erspan", 9000, 1),
		T("x0", "xfrm", 9000, 1)}, {}},

	/* stacks of many, every fault once */
	{"a whole stack", {L("a", "", 1500, OF(3)), L("b", "", 9000, OF(3)), L("bond0", "bond", 9000),
		L("bond0.5", "vlan", 9000, ON(3)), E("br0", "bridge", 1400, 9000),
		T("vx0", "vxlan", 1450, 4, OF(5)), L("t0", "tun", 1400, OF(5))},
		{MEMBER(WARN, "bond0", "a", 1500, 9000, 1), LOWERED(WARN, "br0", "t0", 1400, 9000)}},
	{"a healthy stack", {L("a", "", 9000, OF(3)), L("b", "", 9000, OF(3)), L("bond0", "bond", 9000),
		L("bond0.5", "vlan", 9000, ON(3)), E("br0", "bridge", 8950, 8950),
		T("vx0", "vxlan", 8950, 4, OF(5)), L("t0", "tun", 8950, OF(5))}, {}},
	{"more than one fault of one link", {L("eth0", "", 1500, .ipv6_mtu = 1400),
		E("v", "vlan", 8000, 9000, ON(1), .ipv6_mtu = 1500, .max_mtu = 8500)},
		{{FINDING_IPV6_MTU_BELOW_LINK, NOTE, "eth0", NULL, 1400, 1500, 0},
		 BELOW("v", "eth0", 8000, 9000),
		 {FINDING_MTU_ABOVE_DRIVER_MAX, WARN, "v", NULL, 8500, 9000, 0},
		 {FINDING_IPV6_MTU_BELOW_LINK, NOTE, "v", NULL, 1500, 8000, 0},
		 ABOVE("v", "eth0", 8000, 1500)}},
};
/* clang-format on */

/* --- a host of a few links --- */

struct host {
	struct link_state links[LINKS_MOST];
	struct link_state *list[LINKS_MOST];
	struct peer peer;
	struct peer *peers[1];
	struct path path;
	struct peer_settings settings;
	struct roster roster;
};

static void host_init(struct host *host, const struct link_state *links)
{
	memset(host, 0, sizeof(*host));
	memcpy(host->links, links, sizeof(host->links));
	for (unsigned i = 0; i < LINKS_MOST && host->links[i].link.name[0]; i++) {
		struct link *link = &host->links[i].link;

		link->index = (int)i + 1;
		link->type = link_type(link->kind);
		host->list[i] = &host->links[i];
		host->roster.link_count++;
	}
	host->path.due_usec = USEC_PER_SEC;
	host->path.settings = &host->settings;
	host->peer.paths = &host->path;
	host->peer.path_count = 1;
	host->peers[0] = &host->peer;
	host->roster.links = host->list;
	host->roster.peers = host->peers;
	host->roster.peer_count = 1;
	lint_links(&host->roster);
}

static void assert_finding(const char *what, const struct finding *is, const struct found *found)
{
	ck_assert_msg(found->link != NULL, "%s: finding %d of %s too many", what, is->id, is->link);
	ck_assert_msg(is->id == found->id && is->severity == found->severity &&
			      is->is == found->is && is->should == found->should &&
			      is->number == found->number,
		      "%s: %s: id %d severity %d is %u should %u number %u", what, is->link, is->id,
		      is->severity, is->is, is->should, is->number);
	ck_assert_str_eq(is->link, found->link);
	ck_assert_str_eq(is->other, found->other ? found->other : "");
	ck_assert(!is->explains);
}

START_TEST(stacks)
{
	const struct row *row = &rows[_i];
	const struct found *found = row->found;
	struct host host;

	host_init(&host, row->links);
	for (unsigned i = 0; i < host.roster.link_count; i++) {
		const struct findings *findings = &host.links[i].findings;

		for (unsigned j = 0; j < findings->count; j++)
			assert_finding(row->what, &findings->list[j], found++);
	}
	ck_assert_msg(found->link == NULL, "%s: finding %d of %s is missing", row->what, found->id,
		      found->link);
}
END_TEST

/* A link that is looked at alone shows what it shows among all, and nothing of it is changed. */
START_TEST(one_as_all)
{
	struct host host, before;

	host_init(&host, rows[_i].links);
	before = host;
	for (unsigned i = 0; i < host.roster.link_count; i++) {
		host.links[i].findings.count = 0;
		lint_one(&host.roster, &host.links[i]);
		ck_assert_msg(findings_equal(&host.links[i].findings, &before.links[i].findings), "%s",
			      rows[_i].what);
		ck_assert(link_equal(&host.links[i].link, &before.links[i].link));
		ck_assert_uint_eq(host.links[i].original_mtu, rows[_i].links[i].original_mtu);
	}
}
END_TEST

/* What was found once is gone with its cause. */
START_TEST(findings_go_by_themselves)
{
	struct host host;

	host_init(&host, rows[_i].links);
	for (unsigned i = 0; i < host.roster.link_count; i++)
		host.links[i].link.up = false;
	lint_links(&host.roster);
	for (unsigned i = 0; i < host.roster.link_count; i++)
		ck_assert_uint_eq(host.links[i].findings.count, 0);
}
END_TEST

/* --- what explains what --- */

struct explained {
	const char *what;
	struct link_state links[LINKS_MOST];
	int link;                 /* that the path leaves by */
	enum verdict verdict;
	enum direction direction;
	uint32_t mtu;             /* path_mtu, and return_mtu where that is what is bad */
	uint32_t capacity;        /* of a misconfigured one */
	enum finding_id id;       /* that explains it; FINDING_COUNT: none */
};

/* clang-format off */
#define NONE ((enum finding_id)FINDING_COUNT)
#define HOLE VERDICT_BLACK_HOLE, DIRECTION_FORWARD
#define BRIDGE {L("br0", "bridge", 9000), L("p0", "veth", 1500, OF(1))}
#define VXLAN {L("eth0", "", 1500), T("vx0", "vxlan", 1500, 1, .tunnel = WRAP_FRAGMENTS)}
static const struct explained explained[] = {
	{"a small port", BRIDGE, 1, HOLE, 1500, 0, FINDING_MEMBER_DIFFERS},
	{"a small port, with room for a tag", BRIDGE, 1, HOLE, 1504, 0, FINDING_MEMBER_DIFFERS},
	{"a small port, no more than that", BRIDGE, 1, HOLE, 1505, 0, NONE},
	{"less than the small port", BRIDGE, 1, HOLE, 1499, 0, NONE},
	{"some flows", BRIDGE, 1, VERDICT_PARTIAL, DIRECTION_FORWARD, 1500, 0, FINDING_MEMBER_DIFFERS},
	{"the way back", BRIDGE, 1, VERDICT_BLACK_HOLE, DIRECTION_RETURN, 1500, 0,
		FINDING_MEMBER_DIFFERS},
	{"unreachable", BRIDGE, 1, VERDICT_UNREACHABLE, DIRECTION_UNKNOWN, 0, 0, NONE},
	{"consistent", BRIDGE, 1, VERDICT_CONSISTENT, DIRECTION_NONE, 1500, 0, NONE},
	{"another way out", {L("br0", "bridge", 9000), L("p0", "veth", 1500, OF(1)), L("eth0", "", 9000)},
		3, HOLE, 1500, 0, NONE},
	{"a VLAN on the bridge", {L("br0", "bridge", 9000), L("p0", "veth", 1500, OF(1)),
		L("br0.5", "vlan", 9000, ON(1))}, 3, HOLE, 1500, 0, FINDING_MEMBER_DIFFERS},
	{"a bond below a VLAN in a bridge", {L("b", "", 1500, OF(2)), L("bond0", "bond", 9000),
		L("bond0.7", "vlan", 9000, ON(2), OF(4)), L("br0", "bridge", 9000),
		L("br0.5", "vlan", 9000, ON(4))}, 5, VERDICT_PARTIAL, DIRECTION_FORWARD, 1500, 0,
		FINDING_MEMBER_DIFFERS},
	{"a larger member", {L("a", "", 9000, OF(3)), L("b", "", 1500, OF(3)), L("bond0", "bond", 1500)},
		3, HOLE, 1500, 0, NONE},
	{"a VLAN above its parent", {L("eth0", "", 1500), L("v", "vlan", 9000, ON(1))}, 2, HOLE, 1504, 0,
		FINDING_VLAN_ABOVE_PARENT},
	{"a VLAN above its parent, and large packets get lost now and then", {L("eth0", "", 1500),
		L("v", "vlan", 9000, ON(1))}, 2, VERDICT_LOSSY, DIRECTION_FORWARD, 1504, 0, NONE},
	{"a VLAN above its parent, in a VRF", {L("eth0", "", 1500), L("v", "vlan", 9000, ON(1), OF(3)),
		L("vrf0", "vrf", 65575)}, 2, HOLE, 1504, 0, FINDING_VLAN_ABOVE_PARENT},
	{"the parent of that VLAN", {L("eth0", "", 1500), L("v", "vlan", 9000, ON(1))}, 1, HOLE, 1400, 0,
		NONE},
	{"a pair", {L("a", "veth", 9000, .pair = 2), L("b", "veth", 1500, .pair = 1)}, 1, HOLE, 1504, 0,
		FINDING_PAIR_DIFFERS},
	{"a tunnel", VXLAN, 2, HOLE, 1450, 0, FINDING_TUNNEL_TOO_LARGE},
	{"a tunnel that says so", VXLAN, 2, VERDICT_REDUCED, DIRECTION_FORWARD, 1450, 0,
		FINDING_TUNNEL_TOO_LARGE},
	{"a tunnel, and large packets get lost now and then", VXLAN, 2, VERDICT_LOSSY,
		DIRECTION_FORWARD, 1450, 0, NONE},
	{"a tunnel whose way is told with each packet", {L("br0", "bridge", 9000),
		L("p0", "veth", 1500, OF(1)), T("vx0", "vxlan", 8950, 1, .tunnel = WRAP_EXTERNAL)}, 3,
		HOLE, 1454, 0, NONE},
	{"a bond at the other end of a veth", {L("bond0", "bond", 9000), L("p0", "veth", 1500, OF(1)),
		L("o", "veth", 9000, OF(1), .pair = 4), L("i", "veth", 9000, .pair = 3)}, 4, HOLE, 1500, 0,
		NONE},
	{"not to the byte", VXLAN, 2, HOLE, 1451, 0, NONE},
	{"below the tunnel", VXLAN, 1, HOLE, 1450, 0, NONE},
	{"a bridge over a tunnel", {L("eth0", "", 1500), T("vx0", "vxlan", 1500, 1, OF(3)),
		L("br0", "bridge", 1500)}, 3, HOLE, 1450, 0, FINDING_TUNNEL_TOO_LARGE},
	{"a tunnel over a bridge", {L("br0", "bridge", 9000), L("p0", "veth", 1500, OF(1)),
		L("vx0", "vxlan", 8950, ON(1))}, 3, HOLE, 1454, 0, FINDING_MEMBER_DIFFERS},
	{"a tunnel over a bridge, another size", {L("br0", "bridge", 9000),
		L("p0", "veth", 1500, OF(1)), T("vx0", "vxlan", 8950, 1)}, 3, HOLE, 1504, 0, NONE},
	{"a tunnel that the route leads over a bridge", {L("br0", "bridge", 9000),
		L("p0", "veth", 1500, OF(1)), T("gre1", "gre", 8976, 1)}, 3, HOLE, 1476, 0,
		FINDING_MEMBER_DIFFERS},
	{"a tunnel in a tunnel over a VLAN", {L("eth0", "", 1500), L("v", "vlan", 9000, ON(1)),
		T("vx0", "vxlan", 8950, 2), T("gre1", "gre", 8926, 3)}, 4, HOLE, 1426, 0,
		FINDING_VLAN_ABOVE_PARENT},
	{"a bridge at the other end of a veth", {L("br0", "bridge", 9000),
		L("p0", "veth", 1500, OF(1)), L("o", "veth", 9000, OF(1), .pair = 4),
		L("i", "veth", 9000, .pair = 3)}, 4, HOLE, 1500, 0, FINDING_MEMBER_DIFFERS},
	{"two bridges, a veth between them", {L("br0", "bridge", 9000),
		L("p0", "veth", 1500, OF(1)), L("o", "veth", 9000, OF(1), .pair = 4),
		L("i", "veth", 9000, OF(5), .pair = 3), L("br1", "bridge", 9000)}, 5, HOLE, 1500, 0,
		FINDING_MEMBER_DIFFERS},
	{"a tunnel elsewhere", {L("br0", "bridge", 9000), L("p0", "veth", 1500, OF(1)),
		L("vx0", "vxlan", 8950, ON(1), .foreign = true)}, 3, HOLE, 1454, 0, NONE},
	{"the link itself", {E("eth0", "", 1500, 9000)}, 1, VERDICT_MISCONFIGURED, DIRECTION_FORWARD,
		1500, 1500, FINDING_LINK_BELOW_EXPECTED},
	{"a link of which only the peer expects more", {L("eth0", "", 1500)}, 1,
		VERDICT_MISCONFIGURED, DIRECTION_FORWARD, 1500, 1500, FINDING_LINK_BELOW_EXPECTED},
	{"the link itself, and something else is to blame", {E("eth0", "", 1500, 9000)}, 1,
		VERDICT_MISCONFIGURED, DIRECTION_FORWARD, 1500, 0, NONE},
	{"the link itself, and a hole behind it", {E("eth0", "", 1500, 9000)}, 1, HOLE, 1400, 0, NONE},
	{"the link itself, and less is to be had of it", {E("eth0", "", 1500, 9000)}, 1,
		VERDICT_MISCONFIGURED, DIRECTION_FORWARD, 1400, 1400, FINDING_LINK_BELOW_EXPECTED},
	{"the link below it", {E("eth0", "", 1500, 9000), L("v", "vlan", 1500, ON(1))}, 2,
		VERDICT_MISCONFIGURED, DIRECTION_FORWARD, 1500, 1500, FINDING_LINK_BELOW_EXPECTED},
	{"a link that has grown since", {L("eth0", "", 9000)}, 1, VERDICT_MISCONFIGURED,
		DIRECTION_FORWARD, 1500, 1500, NONE},
	{"a link that is gone", {L("eth0", "", 1500)}, 7, VERDICT_MISCONFIGURED, DIRECTION_FORWARD,
		1500, 1500, NONE},
	{"a bridge of which only the peer expects more", {L("br0", "bridge", 1400),
		L("p", "", 1400, OF(1))}, 1, VERDICT_MISCONFIGURED, DIRECTION_FORWARD, 1400, 1400,
		FINDING_BRIDGE_LOWERED_BY_PORT},
	{"IPv6 that uses less", {L("eth0", "", 9000, .ipv6_mtu = 1400)}, 1, VERDICT_MISCONFIGURED,
		DIRECTION_FORWARD, 1400, 1400, FINDING_IPV6_MTU_BELOW_LINK},
	{"a lowered bridge", {E("br0", "bridge", 1500, 9000), L("t", "tun", 1500, OF(1))}, 1,
		VERDICT_MISCONFIGURED, DIRECTION_FORWARD, 1500, 1500, FINDING_BRIDGE_LOWERED_BY_PORT},
};
/* clang-format on */

START_TEST(explains)
{
	const struct explained *row = &explained[_i];
	struct host host;
	struct finding why;
	bool found;

	host_init(&host, row->links);
	host.path.route.link = row->link;
	host.path.facts.capacity = row->capacity;
	host.path.facts.expected = 9000;
	host.path.announced = (struct judgement){
		.verdict = row->verdict,
		.direction = row->direction,
		.path_mtu = row->direction == DIRECTION_RETURN ? 9000 : row->mtu,
		.return_mtu = row->direction == DIRECTION_RETURN ? row->mtu : 0,
		.reason = row->capacity ? REASON_LINK_SMALLER : REASON_NONE,
	};
	found = explain_fault(&host.roster, &host.path, &why);
	ck_assert_msg(found == (row->id != NONE), "%s", row->what);
	if (found)
		ck_assert_msg(why.id == row->id, "%s: finding %d", row->what, why.id);
}
END_TEST

/* From below or from above, it is the same question. */
START_TEST(concerns_what_stands_on_it)
{
	struct host host;
	struct standing standing = {0};

	host_init(&host, explained[_i].links);
	for (unsigned i = 0; i < host.roster.link_count; i++) {
		const struct finding *finding = &host.links[i].findings.list[0];

		if (host.links[i].findings.count == 0 || finding->id == FINDING_LINK_BELOW_EXPECTED ||
		    finding->id == FINDING_BRIDGE_LOWERED_BY_PORT ||
		    finding->id == FINDING_IPV6_MTU_BELOW_LINK)
			continue;
		standing.finding = *finding;
		standing.link = (int)i + 1;
		for (int link = 1; link <= (int)host.roster.link_count; link++) {
			uint16_t around;
			bool concerns;

			host.path.route.link = link;
			tower_mark_above(&host.roster, standing.link);
			concerns = explain_concerns(&host.roster, &standing, &host.path);
			around = host.links[link - 1].around;
			tower_mark_below(&host.roster, link);
			ck_assert_msg(concerns == host.links[standing.link - 1].reached,
				      "%s: %d on %d", explained[_i].what, link, standing.link);
			ck_assert_msg(!concerns || around == host.links[standing.link - 1].around,
				      "%s: around %d on %d", explained[_i].what, link, standing.link);
		}
	}
}
END_TEST

/* --- when a finding is told --- */

#define T0 (1000 * USEC_PER_SEC)
#define LATE (3600 * USEC_PER_SEC)

static enum telling telling_of(struct host *host, uint64_t now_usec)
{
	struct standing standing = {.link = 1, .since_usec = T0};
	uint64_t again = USEC_NEVER;
	enum telling telling;

	standing.finding = host->links[0].findings.list[0];
	tower_count_paths(&host->roster);
	telling = explain_telling(&host->roster, &standing, now_usec, &again);
	if (telling == TELL_LATER)
		ck_assert(again > now_usec && again <= T0 + 60 * USEC_PER_SEC);
	return telling;
}

static void host_with_small_port(struct host *host)
{
	static const struct link_state links[LINKS_MOST] = BRIDGE;

	host_init(host, links);
	ck_assert_uint_eq(host->links[0].findings.count, 1);
}

static void path_says(struct path *path, enum verdict verdict, uint32_t mtu, uint64_t usec)
{
	path->announced = (struct judgement){
		.verdict = verdict, .direction = DIRECTION_FORWARD, .path_mtu = mtu};
	path->announced.severity = verdict_severity(verdict, &path->facts, true);
	path->told_usec = usec;
	path->ended_usec = usec;
	path->route.link = 1;
}

START_TEST(told_alone)
{
	struct host host;

	host_with_small_port(&host);
	/* nobody's way: told once it has stood for a while */
	ck_assert_int_eq(telling_of(&host, T0), TELL_LATER);
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ALONE);
	/* all is well, or something else is wrong */
	path_says(&host.path, VERDICT_CONSISTENT, 1500, T0 + 1);
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ALONE);
	path_says(&host.path, VERDICT_BLACK_HOLE, 1400, T0 + 1);
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ALONE);
	path_says(&host.path, VERDICT_UNREACHABLE, 0, T0 + 1);
	host.path.facts.trouble = REASON_LINK_DOWN;
	host.path.ended_usec = 0;
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ALONE);
}
END_TEST

/* Not before it may be told, however long it stands. */
START_TEST(told_when_it_may_be)
{
	struct host host;
	struct standing standing = {.link = 1, .since_usec = T0, .not_before_usec = LATE};
	uint64_t again = 0;

	host_with_small_port(&host);
	standing.finding = host.links[0].findings.list[0];
	tower_count_paths(&host.roster);
	ck_assert_int_eq(explain_telling(&host.roster, &standing, LATE - 1, &again), TELL_LATER);
	ck_assert_uint_eq(again, LATE);
	ck_assert_int_eq(explain_telling(&host.roster, &standing, LATE, &again), TELL_ALONE);
}
END_TEST

/* What is said of a link itself concerns those that leave by it, what is lost on no path nobody. */
START_TEST(concerns_by_what_it_is)
{
	static const struct link_state links[LINKS_MOST] = {E("eth0", "", 1500, 9000),
							    L("v", "vlan", 1500, ON(1))};
	struct host host;
	struct standing standing = {.link = 1};

	host_init(&host, links);
	standing.finding = host.links[0].findings.list[0];
	explain_mark(&host.roster, &standing);
	host.path.route.link = 1;
	ck_assert(explain_concerns(&host.roster, &standing, &host.path));
	host.path.route.link = 2;
	ck_assert(!explain_concerns(&host.roster, &standing, &host.path));
	standing.finding.id = FINDING_MEMBER_DIFFERS;
	ck_assert(explain_concerns(&host.roster, &standing, &host.path));
	host.path.route.link = 7; /* that is gone */
	ck_assert(!explain_concerns(&host.roster, &standing, &host.path));
	host.path.route.link = 1;
	standing.finding.id = FINDING_INBOUND_OVERSIZE;
	ck_assert(!explain_concerns(&host.roster, &standing, &host.path));
	standing.link = 7;
	explain_mark(&host.roster, &standing);
	ck_assert(!host.links[0].reached && !host.links[1].reached);
}
END_TEST

/* Two paths by one link and one by a link that is gone: only the one that is there carries. */
START_TEST(carries_where_paths_leave)
{
	static const struct link_state links[LINKS_MOST] = {L("eth0", "", 1500), L("eth1", "", 1500)};
	struct path paths[5] = {0};
	struct host host;

	host_init(&host, links);
	host.peer.paths = paths;
	host.peer.path_count = 5;
	paths[1].route.link = 7;
	paths[2].route.link = 2;
	paths[3].route.link = 2;
	paths[4].route.link = 7;
	tower_count_paths(&host.roster);
	ck_assert(!host.links[0].carries && host.links[1].carries);
	tower_mark_above(&host.roster, 1);
	ck_assert(!tower_has_paths(&host.roster));
	tower_mark_above(&host.roster, 2);
	ck_assert(tower_has_paths(&host.roster));
}
END_TEST

START_TEST(held_back_while_a_path_is_measured)
{
	struct host host;

	host_with_small_port(&host);
	host.path.route.link = 1;
	/* never measured */
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_LATER);
	/* measured before */
	path_says(&host.path, VERDICT_CONSISTENT, 9000, T0 - USEC_PER_SEC);
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_LATER);
	/* a round said so, the next has to bear it out */
	path_says(&host.path, VERDICT_CONSISTENT, 9000, T0 + 1);
	host.path.streak = 1;
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_LATER);
	/* but not for ever */
	ck_assert_int_eq(telling_of(&host, LATE), TELL_ALONE);
	/* nor for a name that leads nowhere, or somebody's question */
	host.path.due_usec = USEC_NEVER;
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ALONE);
	host.path.due_usec = 0;
	host.peer.origin = ORIGIN_REQUEST;
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ALONE);
}
END_TEST

START_TEST(one_fault_one_alert)
{
	struct host host;

	host_with_small_port(&host);
	/* the verdict came second: it carries the finding */
	path_says(&host.path, VERDICT_BLACK_HOLE, 1504, T0 + USEC_PER_SEC);
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_NOT);
	ck_assert_int_eq(telling_of(&host, LATE), TELL_NOT);
	/* but one that is milder than the finding is no alert of it */
	path_says(&host.path, VERDICT_REDUCED, 1504, T0 + 1);
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ALONE);
	/* the verdict was there before: told, but not as an alert */
	path_says(&host.path, VERDICT_BLACK_HOLE, 1504, T0 - USEC_PER_SEC);
	ck_assert_int_eq(telling_of(&host, T0 + USEC_PER_SEC), TELL_ASIDE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint-links");
	TCase *test = tcase_create("lint-links");

	tcase_add_loop_test(test, stacks, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(test, findings_go_by_themselves, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(test, explains, 0, sizeof(explained) / sizeof(explained[0]));
	tcase_add_loop_test(test, concerns_what_stands_on_it, 0,
			    sizeof(explained) / sizeof(explained[0]));
	tcase_add_loop_test(test, one_as_all, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(test, told_alone);
	tcase_add_test(test, told_when_it_may_be);
	tcase_add_test(test, concerns_by_what_it_is);
	tcase_add_test(test, carries_where_paths_leave);
	tcase_add_test(test, held_back_while_a_path_is_measured);
	tcase_add_test(test, one_fault_one_alert);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
