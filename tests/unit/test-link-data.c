/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a message says of a VLAN or a tunnel, attribute by attribute, for kinds that this kernel
 * cannot make as well; and that nothing short is believed. No kernel here.
 */
#include <arpa/inet.h>
#include <check.h>
#include <net/if.h>
#include <string.h>

#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/ip6_tunnel.h>
#include <linux/rtnetlink.h>

#include "../../daemon/world/link_message.h"
#include "tap.h"

static union {
	struct nlmsghdr header;
	char bytes[2048];
} message;

/* One attribute of IFLA_INFO_DATA; length 0: a flag. */
struct attribute {
	int type;
	unsigned length;
	const void *data;
};

static struct nlattr *put(int type, const void *data, size_t length)
{
	struct nlattr *attribute = (void *)(message.bytes + NLMSG_ALIGN(message.header.nlmsg_len));

	attribute->nla_type = (uint16_t)type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + length);
	if (length > 0)
		memcpy((char *)attribute + NLA_HDRLEN, data, length);
	message.header.nlmsg_len =
		NLMSG_ALIGN(message.header.nlmsg_len) + (uint32_t)NLA_ALIGN(attribute->nla_len);
	return attribute;
}

static void end(struct nlattr *nest)
{
	nest->nla_len = (uint16_t)(message.bytes + message.header.nlmsg_len - (char *)nest);
}

static struct link parse(const char *kind, const struct attribute *attributes, int below)
{
	const struct ifinfomsg info = {.ifi_index = 7, .ifi_flags = IFF_UP};
	const uint32_t mtu = 1500;
	struct nlattr *outer, *inner;
	struct link link;

	memset(&message, 0, sizeof(message));
	memset(&link, 0xa5, sizeof(link));
	message.header.nlmsg_type = RTM_NEWLINK;
	message.header.nlmsg_len = NLMSG_LENGTH(sizeof(info));
	memcpy(message.bytes + NLMSG_HDRLEN, &info, sizeof(info));
	put(IFLA_IFNAME, "t0", 3);
	put(IFLA_MTU, &mtu, sizeof(mtu));
	if (below)
		put(IFLA_LINK, &below, sizeof(below));
	outer = put(IFLA_LINKINFO | NLA_F_NESTED, NULL, 0);
	put(IFLA_INFO_KIND, kind, strlen(kind) + 1);
	inner = put(IFLA_INFO_DATA | NLA_F_NESTED, NULL, 0);
	for (; attributes && attributes->type; attributes++)
		put(attributes->type, attributes->data, attributes->length);
	end(inner);
	end(outer);
	ck_assert_int_eq(link_message_parse(&message.header, &link), LINK_MESSAGE_LINK);
	return link;
}

#define B(...) (const uint8_t[]){__VA_ARGS__}
#define V4 4, B(192, 0, 2, 9)
#define V6 16, B(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9)
#define ANY4 4, B(0, 0, 0, 0)
#define GROUP4 4, B(239, 1, 1, 1)
#define GROUP6 16, B(0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
#define U8(n) 1, B(n)
#define U32(n) 4, &(const uint32_t){n}
#define U16(n) 2, &(const uint16_t){n}
#define MOST 8

struct row {
	const char *what, *kind;
	struct attribute attributes[MOST];
	unsigned tunnel;
	uint8_t remote, local; /* family */
};

/* clang-format off */
#define LIMIT (WRAP_IPV6 | WRAP_ENCAP_LIMIT)
static const struct row rows[] = {
	{"vxlan, as by default", "vxlan", {{IFLA_VXLAN_GROUP, V4}, {IFLA_VXLAN_LOCAL, V4}},
		WRAP_FRAGMENTS, 4, 4},
	{"vxlan to a group", "vxlan", {{IFLA_VXLAN_GROUP, GROUP4}}, WRAP_FRAGMENTS, 0, 0},
	{"vxlan to nobody", "vxlan", {{IFLA_VXLAN_ID, U32(7)}}, WRAP_FRAGMENTS, 0, 0},
	{"vxlan with DF", "vxlan", {{IFLA_VXLAN_GROUP, V4}, {IFLA_VXLAN_DF, U8(VXLAN_DF_SET)}}, 0, 4, 0},
	{"vxlan with what DF is inside", "vxlan", {{IFLA_VXLAN_GROUP, V4},
		{IFLA_VXLAN_DF, U8(VXLAN_DF_INHERIT)}}, 0, 4, 0},
	{"vxlan over IPv6", "vxlan", {{IFLA_VXLAN_GROUP6, V6}, {IFLA_VXLAN_LOCAL6, V6}}, WRAP_IPV6, 6, 6},
	{"vxlan to an IPv6 group", "vxlan", {{IFLA_VXLAN_GROUP6, GROUP6}}, WRAP_IPV6, 0, 0},
	{"vxlan gpe", "vxlan", {{IFLA_VXLAN_GROUP, V4}, {IFLA_VXLAN_GPE, 0, NULL}},
		WRAP_FRAGMENTS | WRAP_NO_ETHERNET, 4, 0},
	{"vxlan told by each packet", "vxlan", {{IFLA_VXLAN_COLLECT_METADATA, U8(1)}},
		WRAP_FRAGMENTS | WRAP_EXTERNAL, 0, 0},
	{"vxlan not told by each packet", "vxlan", {{IFLA_VXLAN_COLLECT_METADATA, U8(0)}},
		WRAP_FRAGMENTS, 0, 0},
	{"geneve", "geneve", {{IFLA_GENEVE_REMOTE, V4}}, WRAP_FRAGMENTS, 4, 0},
	{"geneve over IPv6", "geneve", {{IFLA_GENEVE_REMOTE6, V6}}, WRAP_IPV6, 6, 0},
	{"geneve with DF and without Ethernet", "geneve", {{IFLA_GENEVE_REMOTE, V4},
		{IFLA_GENEVE_DF, U8(GENEVE_DF_SET)}, {IFLA_GENEVE_INNER_PROTO_INHERIT, 0, NULL}},
		WRAP_NO_ETHERNET, 4, 0},
	{"geneve told by each packet", "geneve", {{IFLA_GENEVE_COLLECT_METADATA, 0, NULL}},
		WRAP_EXTERNAL | WRAP_FRAGMENTS, 0, 0},
	{"gre", "gre", {{IFLA_GRE_REMOTE, V4}, {IFLA_GRE_PMTUDISC, U8(1)}}, 0, 4, 0},
	{"gre to any", "gre", {{IFLA_GRE_REMOTE, ANY4}, {IFLA_GRE_LOCAL, V4}}, 0, 0, 4},
	{"gre with all it can have", "gre", {{IFLA_GRE_REMOTE, V4},
		{IFLA_GRE_OFLAGS, 2, B(0xb0, 0)}}, WRAP_KEY | WRAP_CHECKSUM | WRAP_SEQUENCE, 4, 0},
	{"gre that only takes a key", "gre", {{IFLA_GRE_REMOTE, V4}, {IFLA_GRE_IFLAGS, 2, B(0x20, 0)},
		{IFLA_GRE_OFLAGS, 2, B(0, 0)}}, 0, 4, 0},
	{"gre that keeps DF", "gre", {{IFLA_GRE_REMOTE, V4}, {IFLA_GRE_PMTUDISC, U8(0)}}, 0, 4, 0},
	{"gre that ignores DF", "gretap", {{IFLA_GRE_REMOTE, V4}, {IFLA_GRE_PMTUDISC, U8(0)},
		{IFLA_GRE_IGNORE_DF, U8(1)}}, WRAP_FRAGMENTS, 4, 0},
	{"gre in UDP", "gre", {{IFLA_GRE_REMOTE, V4}, {IFLA_GRE_ENCAP_TYPE, U16(TUNNEL_ENCAP_FOU)}},
		WRAP_FOU, 4, 0},
	{"ip6gre", "ip6gre", {{IFLA_GRE_REMOTE, V6}, {IFLA_GRE_FLAGS, U32(0)}}, LIMIT, 6, 0},
	{"ip6gre without the limit", "ip6gretap", {{IFLA_GRE_REMOTE, V6},
		{IFLA_GRE_FLAGS, U32(IP6_TNL_F_IGN_ENCAP_LIMIT)}}, WRAP_IPV6, 6, 0},
	{"ipip", "ipip", {{IFLA_IPTUN_REMOTE, V4}, {IFLA_IPTUN_PMTUDISC, U8(0)}}, 0, 4, 0},
	{"ipip in UDP", "ipip", {{IFLA_IPTUN_REMOTE, V4},
		{IFLA_IPTUN_ENCAP_TYPE, U16(TUNNEL_ENCAP_GUE)}}, WRAP_GUE, 4, 0},
	{"sit", "sit", {{IFLA_IPTUN_REMOTE, V4}, {IFLA_IPTUN_PMTUDISC, U8(1)}}, 0, 4, 0},
	{"sit without DF", "sit", {{IFLA_IPTUN_REMOTE, V4}, {IFLA_IPTUN_PMTUDISC, U8(0)}},
		WRAP_FRAGMENTS, 4, 0},
	{"ip6tnl", "ip6tnl", {{IFLA_IPTUN_REMOTE, V6}, {IFLA_IPTUN_LOCAL, V6}}, LIMIT, 6, 6},
	{"ip6tnl without the limit", "ip6tnl", {{IFLA_IPTUN_REMOTE, V6},
		{IFLA_IPTUN_FLAGS, U32(IP6_TNL_F_IGN_ENCAP_LIMIT)}}, WRAP_IPV6, 6, 0},
	{"ip6tnl told by each packet", "ip6tnl", {{IFLA_IPTUN_COLLECT_METADATA, 0, NULL}},
		LIMIT | WRAP_EXTERNAL, 0, 0},
	{"wireguard says nothing", "wireguard", {{0}}, WRAP_FRAGMENTS, 0, 0},
	{"another kind's numbers mean nothing", "macvlan", {{IFLA_GRE_REMOTE, V4}}, 0, 0, 0},
	{"torn", "vxlan", {{IFLA_VXLAN_GROUP, 3, B(192, 0, 2)}, {IFLA_VXLAN_DF, 0, NULL},
		{IFLA_VXLAN_COLLECT_METADATA, 0, NULL}, {IFLA_VXLAN_GROUP6, 15, B(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)}}, WRAP_FRAGMENTS, 0, 0},
	{"torn gre", "gre", {{IFLA_GRE_OFLAGS, 1, B(0xb0)}, {IFLA_GRE_PMTUDISC, 0, NULL},
		{IFLA_GRE_ENCAP_TYPE, U8(1)}}, 0, 0, 0},
};
/* clang-format on */

START_TEST(tunnels)
{
	const struct row *row = &rows[_i];
	struct link link = parse(row->kind, row->attributes, 0);

	ck_assert_msg(link.tunnel == row->tunnel, "%s: %#x", row->what, link.tunnel);
	ck_assert_msg(link.remote.family == row->remote && link.local.family == row->local,
		      "%s: to %u from %u", row->what, link.remote.family, link.local.family);
	if (row->remote)
		ck_assert_uint_eq(link.remote.bytes[row->remote == 4 ? 3 : 15], 9);
}
END_TEST

START_TEST(vlans)
{
	const struct attribute attributes[] = {
		{IFLA_VLAN_ID, U16(5)}, {IFLA_VLAN_PROTOCOL, 2, B(0x88, 0xa8)}, {0}};
	struct link link = parse("vlan", attributes, 3);

	ck_assert_int_eq(link.parent, 3);
	ck_assert_int_eq(link.type, LINK_VLAN);
	ck_assert_uint_eq(link.tunnel, 0);
}
END_TEST

START_TEST(pairs)
{
	struct link link = parse("veth", NULL, 3);

	ck_assert_int_eq(link.pair, 3);
	ck_assert_int_eq(link.parent, 0);
	ck_assert(!link.foreign);
	put(IFLA_LINK_NETNSID, &(const int32_t){0}, sizeof(int32_t));
	ck_assert_int_eq(link_message_parse(&message.header, &link), LINK_MESSAGE_LINK);
	ck_assert_int_eq(link.pair, 0);
	ck_assert(link.foreign);
}
END_TEST

/* A link-local other end is on the link that the tunnel is bound to. */
START_TEST(zone_of_the_other_end)
{
	const struct attribute attributes[] = {
		{IFLA_VXLAN_GROUP6, 16, B(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9)}, {0}};
	struct link link = parse("vxlan", attributes, 3);

	ck_assert_int_eq(link.parent, 3);
	ck_assert_int_eq(link.remote.zone, 3);
}
END_TEST

/* Its own way to say what it stands on; in another namespace the number means nothing here. */
START_TEST(below_a_vxlan)
{
	const struct attribute attributes[] = {{IFLA_VXLAN_LINK, U32(5)}, {0}};
	const struct attribute torn[] = {{IFLA_VXLAN_LINK, 2, B(5, 0)}, {0}};

	ck_assert_int_eq(parse("vxlan", attributes, 0).parent, 5);
	ck_assert_int_eq(parse("vxlan", attributes, 3).parent, 3);
	ck_assert_int_eq(parse("vxlan", torn, 0).parent, 0);
	ck_assert_int_eq(parse("vxlan", NULL, 0).parent, 0);
}
END_TEST

START_TEST(equal_only_in_everything)
{
	const struct attribute attributes[] = {{IFLA_VXLAN_GROUP, V4}, {IFLA_VXLAN_LOCAL, V4}, {0}};
	struct link link = parse("vxlan", attributes, 3), other;
	unsigned char *bytes = (unsigned char *)&other;

	ck_assert(link_equal(&link, &link));
	/* every field counts; what lies between them is all that may differ */
	for (size_t i = 0, between = 0; i < sizeof(link); i++) {
		other = link;
		bytes[i] ^= 1;
		if (link_equal(&link, &other))
			between++;
		/* behind the end of the names, in the addresses and at the end of the struct */
		ck_assert_uint_le(between, 48);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("link-data");
	TCase *test = tcase_create("link-data");

	tcase_add_loop_test(test, tunnels, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(test, vlans);
	tcase_add_test(test, pairs);
	tcase_add_test(test, zone_of_the_other_end);
	tcase_add_test(test, below_a_vxlan);
	tcase_add_test(test, equal_only_in_everything);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
