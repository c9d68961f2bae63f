/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Link, route and next-hop messages, byte by byte: what they mean, and that nothing short, torn or
 * hostile is believed. No kernel here.
 */
#include <arpa/inet.h>
#include <check.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "../../daemon/world/link_message.h"
#include "../../daemon/world/route_message.h"

#define LOWER_UP 0x10000U
#define INDEX 7

static union {
	struct nlmsghdr header;
	char bytes[4096];
} message;

static void *end(void)
{
	return message.bytes + NLMSG_ALIGN(message.header.nlmsg_len);
}

static struct nlattr *put(int type, const void *data, size_t length)
{
	struct nlattr *attribute = end();

	attribute->nla_type = (uint16_t)type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + length);
	if (length > 0)
		memcpy((char *)attribute + NLA_HDRLEN, data, length);
	message.header.nlmsg_len =
		NLMSG_ALIGN(message.header.nlmsg_len) + (uint32_t)NLA_ALIGN(attribute->nla_len);
	return attribute;
}

static void put_u32(int type, uint32_t value)
{
	put(type, &value, sizeof(value));
}

static void put_text(int type, const char *text)
{
	put(type, text, strlen(text) + 1);
}

static struct nlattr *nest(int type)
{
	return put(type | NLA_F_NESTED, NULL, 0);
}

static void nest_end(struct nlattr *nested)
{
	nested->nla_len = (uint16_t)((char *)end() - (char *)nested);
}

static void begin(uint16_t type, const void *head, size_t length)
{
	memset(&message, 0, sizeof(message));
	message.header.nlmsg_type = type;
	message.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(length);
	memcpy(message.bytes + NLMSG_HDRLEN, head, length);
}

static void begin_link(uint16_t type, uint8_t family)
{
	struct ifinfomsg info = {
		.ifi_family = family,
		.ifi_index = INDEX,
		.ifi_flags = IFF_UP | IFF_RUNNING | LOWER_UP,
	};

	begin(type, &info, sizeof(info));
}

static struct ifinfomsg *link_head(void)
{
	return (void *)(message.bytes + NLMSG_HDRLEN);
}

static void put_conf(int32_t mtu, int32_t disabled)
{
	int32_t values[DEVCONF_DISABLE_IPV6 + 2] = {0};

	values[DEVCONF_MTU6] = mtu;
	values[DEVCONF_DISABLE_IPV6] = disabled;
	put(IFLA_INET6_CONF, values, sizeof(values));
}

static void put_ipv6(int32_t mtu, int32_t disabled)
{
	struct nlattr *spec = nest(IFLA_AF_SPEC), *inet6 = nest(AF_INET6);

	put_conf(mtu, disabled);
	nest_end(inet6);
	nest_end(spec);
}

static void put_kind(const char *kind)
{
	struct nlattr *info = nest(IFLA_LINKINFO);

	put_text(IFLA_INFO_KIND, kind);
	nest_end(info);
}

static void whole_link(void)
{
	begin_link(RTM_NEWLINK, AF_UNSPEC);
	put_text(IFLA_IFNAME, "eth1.5");
	put_u32(IFLA_MTU, 9000);
	put_u32(IFLA_MIN_MTU, 68);
	put_u32(IFLA_MAX_MTU, 9216);
	put_u32(IFLA_MASTER, 12);
	put_u32(IFLA_LINK, 3);
	put_kind("vlan");
	put_ipv6(1400, 0);
}

static enum link_message parse(struct link *ret)
{
	return link_message_parse(&message.header, ret);
}

START_TEST(link_whole)
{
	struct link link;

	whole_link();
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_LINK);
	ck_assert_int_eq(link.index, INDEX);
	ck_assert_str_eq(link.name, "eth1.5");
	ck_assert_str_eq(link.kind, "vlan");
	ck_assert_uint_eq(link.mtu, 9000);
	ck_assert_uint_eq(link.min_mtu, 68);
	ck_assert_uint_eq(link.max_mtu, 9216);
	ck_assert_uint_eq(link.ipv6_mtu, 1400);
	ck_assert_int_eq(link.parent, 3);
	ck_assert_int_eq(link.master, 12);
	ck_assert(link.up && link.carrier && !link.loopback);
}
END_TEST

/* Whoever may make links may call them by any bytes but blanks, slashes and colons. */
START_TEST(link_strange_names)
{
	static const struct {
		const char *name, *clean;
	} cases[] = {
		{"\xff\xfe", "??"},                /* no UTF-8: the bus refuses all that it is in */
		{"a\xc3(", "a??"},
		{"eth0\x1b[31m", "eth0?[31m"},     /* a terminal would obey */
		{"\x01\x7f", "??"},
		{"\xc2\x9b" "2J", "??2J"},          /* the same in one character, U+009B */
		{"a\xe2\x80\xae" "b", "a???b"},     /* U+202E turns the line around */
		{"\xef\xbf\xbf", "???"},           /* U+FFFF is no character */
		{"12345678901234\xc3", "12345678901234?"},
		{"b\xc3\xbc" "ro-1", "b\xc3\xbc" "ro-1"},
		{";reboot;", "?reboot?"},           /* advice is pasted */
		{"x'y|z=1,$(id)", "x?y?z=1,??id?"},
		{"a`b\"c\\d<e>f&", "a?b?c?d?e?f?"},
		{"enp1s0f0np0.12+", "enp1s0f0np0.12+"},
	};
	struct link link;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_link(RTM_NEWLINK, AF_UNSPEC);
		put_text(IFLA_IFNAME, cases[i].name);
		put_u32(IFLA_MTU, 1500);
		ck_assert_int_eq(parse(&link), LINK_MESSAGE_LINK);
		ck_assert_str_eq(link.name, cases[i].clean);
	}
}
END_TEST

START_TEST(link_carrier)
{
	static const struct {
		unsigned flags;
		bool up, carrier;
	} cases[] = {
		{0, false, false},
		{IFF_UP, true, false},
		{IFF_UP | LOWER_UP, true, false}, /* dormant: not authenticated yet */
		{IFF_UP | IFF_RUNNING, true, false},
		{IFF_UP | IFF_RUNNING | LOWER_UP, true, true},
		{IFF_RUNNING | LOWER_UP, false, false},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct link link;

		whole_link();
		link_head()->ifi_flags = cases[i].flags;
		ck_assert_int_eq(parse(&link), LINK_MESSAGE_LINK);
		ck_assert_msg(link.up == cases[i].up && link.carrier == cases[i].carrier, "case %u",
			      i);
	}
}
END_TEST

static int parent_with(const char *kind, uint32_t parent, bool elsewhere)
{
	struct link link;

	begin_link(RTM_NEWLINK, AF_UNSPEC);
	put_text(IFLA_IFNAME, "x");
	put_u32(IFLA_MTU, 1500);
	put_u32(IFLA_LINK, parent);
	if (elsewhere)
		put_u32(IFLA_LINK_NETNSID, 0);
	put_kind(kind);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_LINK);
	return link.parent;
}

START_TEST(link_parent)
{
	ck_assert_int_eq(parent_with("macvlan", 3, false), 3);
	ck_assert_int_eq(parent_with("macvlan", 3, true), 0);
	ck_assert_int_eq(parent_with("veth", 3, false), 0);
	ck_assert_int_eq(parent_with("sit", INDEX, false), 0);
	ck_assert_int_eq(parent_with("macvlan", UINT32_MAX, false), 0);
}
END_TEST

START_TEST(link_gone)
{
	struct link link;

	begin_link(RTM_DELLINK, AF_UNSPEC);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_GONE);
	ck_assert_int_eq(link.index, INDEX);
}
END_TEST

START_TEST(link_of_bridge_ignored)
{
	struct link link;

	begin_link(RTM_DELLINK, AF_BRIDGE);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);
	whole_link();
	link_head()->ifi_family = AF_BRIDGE;
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);
}
END_TEST

START_TEST(link_ipv6_side)
{
	struct nlattr *info;
	struct link link;

	begin_link(RTM_NEWLINK, AF_INET6);
	put_text(IFLA_IFNAME, "eth1");
	put_u32(IFLA_MTU, 9000);
	info = nest(IFLA_PROTINFO);
	put_conf(1280, 0);
	nest_end(info);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_IPV6);
	ck_assert_uint_eq(link.ipv6_mtu, 1280);

	begin_link(RTM_DELLINK, AF_INET6);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_IPV6);
	ck_assert_uint_eq(link.ipv6_mtu, 0);

	begin_link(RTM_NEWLINK, AF_INET6);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);
}
END_TEST

START_TEST(link_ipv6_off)
{
	struct link link;

	begin_link(RTM_NEWLINK, AF_UNSPEC);
	put_text(IFLA_IFNAME, "eth1");
	put_u32(IFLA_MTU, 9000);
	put_ipv6(9000, 1);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_LINK);
	ck_assert_uint_eq(link.ipv6_mtu, 0);
}
END_TEST

/* Neither a wireless event nor one with a broken name or MTU makes a link of MTU 0. */
START_TEST(link_incomplete)
{
	struct link link = {.index = 99};
	uint16_t half = 1500;

	begin_link(RTM_NEWLINK, AF_UNSPEC);
	put_text(IFLA_IFNAME, "wlan0");
	put(IFLA_WIRELESS, "event", 5);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);

	begin_link(RTM_NEWLINK, AF_UNSPEC);
	put_text(IFLA_IFNAME, "eth1");
	put(IFLA_MTU, &half, sizeof(half));
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);

	begin_link(RTM_NEWLINK, AF_UNSPEC);
	put_text(IFLA_IFNAME, "a-name-too-long-for-it");
	put_u32(IFLA_MTU, 1500);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);

	begin_link(RTM_NEWLINK, AF_UNSPEC);
	put(IFLA_IFNAME, "", 0);
	put_u32(IFLA_MTU, 1500);
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);

	whole_link();
	link_head()->ifi_index = -1;
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);
	whole_link();
	message.header.nlmsg_type = RTM_NEWADDR;
	ck_assert_int_eq(parse(&link), LINK_MESSAGE_NONE);
	ck_assert_int_eq(link.index, 99);
}
END_TEST

static void begin_route(uint8_t family, uint8_t length)
{
	struct rtmsg info = {
		.rtm_family = family,
		.rtm_dst_len = length,
		.rtm_type = RTN_UNICAST,
	};

	begin(RTM_NEWROUTE, &info, sizeof(info));
}

static void put_address(int type, int family, const char *text)
{
	uint8_t bytes[16];

	ck_assert_int_eq(inet_pton(family, text, bytes), 1);
	put(type, bytes, family == AF_INET ? 4 : 16);
}

static void put_via(const char *text)
{
	uint8_t bytes[2 + 16] = {AF_INET6 & 0xff, 0};

	ck_assert_int_eq(inet_pton(AF_INET6, text, bytes + 2), 1);
	put(RTA_VIA, bytes, sizeof(bytes));
}

static void whole_route(void)
{
	struct rta_cacheinfo cache = {.rta_expires = 59321};
	struct nlattr *metrics;

	begin_route(AF_INET, 32);
	put_address(RTA_DST, AF_INET, "192.0.2.9");
	put_address(RTA_PREFSRC, AF_INET, "192.0.2.1");
	put_address(RTA_GATEWAY, AF_INET, "192.0.2.254");
	put_u32(RTA_OIF, INDEX);
	metrics = nest(RTA_METRICS);
	put_u32(RTAX_LOCK, 1U << RTAX_MTU);
	put_u32(RTAX_MTU, 1400);
	nest_end(metrics);
	put(RTA_CACHEINFO, &cache, sizeof(cache));
}

START_TEST(route_whole)
{
	struct route_message route;

	whole_route();
	ck_assert(route_message_parse(&message.header, &route));
	ck_assert_int_eq(route.type, RTN_UNICAST);
	ck_assert_uint_eq(route.length, 32);
	ck_assert_int_eq(route.link, INDEX);
	ck_assert_uint_eq(route.mtu, 1400);
	ck_assert(route.mtu_locked);
	ck_assert_uint_eq(route.expires, 59321);
	ck_assert_int_eq(route.prefix.family, ADDRESS_IPV4);
	ck_assert_mem_eq(route.prefix.bytes, "\300\0\2\11", 4);
	ck_assert_mem_eq(route.source.bytes, "\300\0\2\1", 4);
	ck_assert_mem_eq(route.gateway.bytes, "\300\0\2\376", 4);
}
END_TEST

START_TEST(route_via)
{
	struct route_message route;

	begin_route(AF_INET, 0);
	put_u32(RTA_OIF, INDEX);
	put_via("fe80::1");
	ck_assert(route_message_parse(&message.header, &route));
	ck_assert_int_eq(route.prefix.family, ADDRESS_IPV4);
	ck_assert_int_eq(route.gateway.family, ADDRESS_IPV6);
	ck_assert_int_eq(route.gateway.zone, INDEX);
}
END_TEST

static void put_hop(int link, uint8_t flags, const char *gateway)
{
	struct rtnexthop *hop = end();

	*hop = (struct rtnexthop){.rtnh_ifindex = link, .rtnh_flags = flags};
	message.header.nlmsg_len += sizeof(*hop);
	put_address(RTA_GATEWAY, AF_INET, gateway);
	hop->rtnh_len = (uint16_t)((char *)end() - (char *)hop);
}

static int count_hop(const struct next_hop *hop, void *userdata)
{
	unsigned *alive = userdata;

	ck_assert_int_eq(hop->gateway.family, ADDRESS_IPV4);
	if (!hop->dead)
		*alive += (unsigned)hop->link;
	return 0;
}

static void multipath_route(void)
{
	struct nlattr *hops;

	begin_route(AF_INET, 0);
	hops = put(RTA_MULTIPATH, NULL, 0);
	put_hop(1, 0, "192.0.2.1");
	put_hop(10, RTNH_F_DEAD, "192.0.2.2");
	put_hop(100, 0, "192.0.2.3");
	nest_end(hops);
}

START_TEST(route_multipath)
{
	struct route_message route;
	unsigned sum = 0;

	multipath_route();
	ck_assert(route_message_parse(&message.header, &route));
	ck_assert_int_eq(route_message_hops(&route, count_hop, &sum), 0);
	ck_assert_uint_eq(sum, 101);
}
END_TEST

/* A hop of length 0 would go round for ever, one too long would leave the message. */
START_TEST(route_multipath_hostile)
{
	static const uint16_t lengths[] = {0, 1, 7, 9, 0xffff};

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct route_message route;
		struct rtnexthop *hop;
		unsigned sum = 0;

		multipath_route();
		hop = (void *)(message.bytes + NLMSG_LENGTH(sizeof(struct rtmsg)) + NLA_HDRLEN);
		hop->rtnh_ifindex = 0;
		hop->rtnh_len = lengths[i];
		ck_assert(route_message_parse(&message.header, &route));
		if (lengths[i] != 9)
			ck_assert_int_eq(route_message_hops(&route, count_hop, &sum), 0);
		ck_assert_uint_eq(sum, 0);
	}
}
END_TEST

static void group_message(void)
{
	struct nhmsg info = {.nh_family = AF_UNSPEC};
	struct nexthop_grp members[] = {{.id = 11}, {.id = 12}};

	begin(RTM_NEWNEXTHOP, &info, sizeof(info));
	put_u32(NHA_ID, 10);
	put(NHA_GROUP, members, sizeof(members));
}

START_TEST(nexthop_group)
{
	struct nexthop_message nexthop;

	group_message();
	ck_assert(nexthop_message_parse(&message.header, &nexthop));
	ck_assert_int_eq(nexthop.hop.link, 0);
	ck_assert_uint_eq(nexthop.group_count, 2);
	ck_assert_uint_eq(nexthop_message_member(&nexthop, 0), 11);
	ck_assert_uint_eq(nexthop_message_member(&nexthop, 1), 12);
}
END_TEST

static int any_hop(const struct next_hop *hop, void *userdata)
{
	unsigned *count = userdata;

	(*count)++;
	return 0;
}

/* Parses a copy that ends where its memory ends: a sanitizer sees every byte read too far. */
static void parse_all(const void *bytes, size_t length)
{
	struct nlmsghdr *copy = malloc(length);
	struct nexthop_message nexthop;
	struct route_message route;
	struct link link;
	unsigned count = 0;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, length);
	copy->nlmsg_len = (uint32_t)length;
	if (link_message_parse(copy, &link) == LINK_MESSAGE_LINK)
		ck_assert(memchr(link.name, 0, sizeof(link.name)) != NULL &&
			  memchr(link.kind, 0, sizeof(link.kind)) != NULL);
	if (route_message_parse(copy, &route)) {
		route_message_hops(&route, any_hop, &count);
		ck_assert_uint_le(count, length);
	}
	if (nexthop_message_parse(copy, &nexthop))
		for (unsigned i = 0; i < nexthop.group_count; i++)
			count += nexthop_message_member(&nexthop, i) != 0;
	free(copy);
}

static void (*const makers[])(void) = {whole_link, whole_route, multipath_route, group_message};
#define MAKERS (sizeof(makers) / sizeof(makers[0]))

START_TEST(truncated)
{
	makers[_i]();
	for (size_t n = sizeof(struct nlmsghdr); n <= message.header.nlmsg_len; n++)
		parse_all(message.bytes, n);
}
END_TEST

START_TEST(mutated)
{
	unsigned seed = 1;

	for (unsigned round = 0; round < 50000; round++) {
		makers[_i]();
		for (unsigned n = 1 + (unsigned)rand_r(&seed) % 4; n > 0; n--) {
			unsigned at = (unsigned)rand_r(&seed) % message.header.nlmsg_len;

			/* the type and length of the message itself stay */
			if (at >= sizeof(struct nlmsghdr))
				message.bytes[at] = (char)rand_r(&seed);
		}
		parse_all(message.bytes, message.header.nlmsg_len);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("links");
	TCase *tests = tcase_create("messages");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, link_whole);
	tcase_add_test(tests, link_strange_names);
	tcase_add_test(tests, link_carrier);
	tcase_add_test(tests, link_parent);
	tcase_add_test(tests, link_gone);
	tcase_add_test(tests, link_of_bridge_ignored);
	tcase_add_test(tests, link_ipv6_side);
	tcase_add_test(tests, link_ipv6_off);
	tcase_add_test(tests, link_incomplete);
	tcase_add_test(tests, route_whole);
	tcase_add_test(tests, route_via);
	tcase_add_test(tests, route_multipath);
	tcase_add_test(tests, route_multipath_hostile);
	tcase_add_test(tests, nexthop_group);
	tcase_add_loop_test(tests, truncated, 0, MAKERS);
	tcase_add_loop_test(tests, mutated, 0, MAKERS);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
