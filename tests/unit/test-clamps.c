/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our host routes in a real kernel, in a network namespace of our own; and the requests as bytes. */
#include "netns.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "../../daemon/world/clamps.h"
#include "tap.h"

static struct clamps *clamps;

static int put(const char *to, const char *from, int link, uint32_t mtu)
{
	struct address destination = address(to), source = {0};
	struct clamp_way way = {&destination, &source, link};

	if (from != NULL)
		source = address(from);
	if (address_is_link_local(&destination))
		destination.zone = (int)if_nametoindex("eth0");
	return clamps_put(clamps, &way, mtu);
}

static uint32_t used(const char *to, const char *from)
{
	struct address destination = address(to), source = {0};
	struct clamp_way way = {&destination, &source, 0};
	uint32_t mtu = 0;

	if (from != NULL)
		source = address(from);
	if (address_is_link_local(&destination))
		destination.zone = (int)if_nametoindex("eth0");
	ck_assert_int_eq(clamps_socket_mtu(&way, &mtu), 0);
	return mtu;
}

/* A link that comes up has an address and routes of its own, a while after it was told to. */
static void links_settle(unsigned links)
{
	time_t end = time(NULL) + 30;
	char command[128];

	snprintf(command, sizeof(command),
		 "[ $(ip -6 route show table local type local | grep -c '^local fe80') = %u ]",
		 links);
	while (system(command) != 0)
		ck_assert_msg(time(NULL) < end, "no link-local addresses");
}

static void setup(void)
{
	netns_enter();
	run("sysctl -qw net.ipv6.conf.default.accept_dad=0");
	run("ip link add eth0 mtu 9000 type veth peer name p0 mtu 9000");
	run("ip link add eth1 mtu 9000 type veth peer name p1 mtu 9000");
	run("for d in eth0 eth1 p0 p1; do ip link set $d up; done");
	links_settle(4);
	run("ip address add 192.0.2.1/24 dev eth0; ip address add 192.0.2.102/24 dev eth0");
	run("ip address add 10.0.0.1/24 dev eth1");
	run("ip address add 2001:db8:1::1/64 dev eth0 nodad");
	run("ip route add 203.0.113.0/24 via 192.0.2.2 metric 7");
	run("ip route add 203.0.113.2/31 via 192.0.2.3 table 100");
	run("ip rule add from 192.0.2.102 table 100");
	ck_assert_int_eq(clamps_new(&clamps), 0);
}

static void teardown(void)
{
	clamps = clamps_free(clamps);
}

static void routes_are(const char *file)
{
	run("{ ip -4 route show table all; ip -6 route show table all; } >/tmp/$$; mv /tmp/$$ %s", file);
}

START_TEST(comes_and_goes_without_a_trace)
{
	static const char *const peers[][2] = {
		{"192.0.2.9", NULL}, {"203.0.113.3", NULL}, {"203.0.113.3", "192.0.2.102"},
		{"2001:db8:1::9", NULL}, {"fe80::9", NULL},
	};
	const char *to = peers[_i][0], *from = peers[_i][1];
	struct address destination = address(to);

	run("mount -t tmpfs none /mnt");
	if (address_is_link_local(&destination))
		destination.zone = (int)if_nametoindex("eth0");
	routes_are("/mnt/before");
	ck_assert_uint_eq(used(to, from), 9000);
	ck_assert_int_eq(put(to, from, 0, 1500), 0);
	ck_assert_uint_eq(clamps_find(clamps, &destination)->mtu, 1500);
	ck_assert_uint_eq(used(to, from), 1500);
	ck_assert(clamps_hold(clamps, &destination));
	/* another size instead */
	ck_assert_int_eq(put(to, from, 0, 1400), 0);
	ck_assert_uint_eq(used(to, from), 1400);
	ck_assert_uint_eq(clamps_count(clamps), 1);
	ck_assert_int_eq(clamps_take_off(clamps, &destination), 0);
	routes_are("/mnt/after");
	run("diff /mnt/before /mnt/after");
	ck_assert_int_eq(clamps_take_off(clamps, &destination), -ENOENT);
}
END_TEST

START_TEST(is_found_again)
{
	struct address four = address("203.0.113.3"), six = address("2001:db8:1::9");

	ck_assert_int_eq(put("203.0.113.3", "192.0.2.102", 0, 1500), 0);
	ck_assert_int_eq(put("2001:db8:1::9", NULL, 0, 1400), 0);
	run("ip route add 198.51.100.1 via 192.0.2.2 proto static mtu lock 1300");
	clamps_free(clamps);
	ck_assert_int_eq(clamps_new(&clamps), 0);
	ck_assert_uint_eq(clamps_count(clamps), 2);
	ck_assert_uint_eq(clamps_find(clamps, &four)->mtu, 1500);
	ck_assert_uint_eq(clamps_find(clamps, &four)->table, 100);
	ck_assert_uint_eq(clamps_find(clamps, &six)->mtu, 1400);
	ck_assert_int_eq(clamps_take_off(clamps, &four), 0);
	ck_assert_int_eq(clamps_take_off(clamps, &six), 0);
	run("test -z \"$(ip -N route show table all proto 77)$(ip -N -6 route show table all proto 77)\"");
	run("ip route show 198.51.100.1 | grep -q 1300");
}
END_TEST

START_TEST(follows_the_route)
{
	struct address to = address("203.0.113.9");
	struct clamp_way way = {&to, NULL, 0};

	ck_assert_int_eq(put("203.0.113.9", NULL, 0, 1500), 0);
	run("ip route replace 203.0.113.0/24 via 10.0.0.2 metric 7 src 10.0.0.1");
	ck_assert_int_eq(clamps_refresh(clamps, &way), 0);
	run("ip -N route show 203.0.113.9 | grep -q 'via 10.0.0.2 dev eth1 proto 77 src 10.0.0.1 metric 7'");
	ck_assert_uint_eq(used("203.0.113.9", NULL), 1500);
	run("ip route del 203.0.113.0/24");
	ck_assert_int_lt(clamps_refresh(clamps, &way), 0);
	ck_assert_ptr_null(clamps_find(clamps, &to));
	run("test -z \"$(ip route show 203.0.113.9)\"");
}
END_TEST

/* Same prefix, other metric or other protocol: never touched, and never merged with ours. */
START_TEST(others_are_left_alone)
{
	struct address four = address("203.0.113.9"), six = address("2001:db8:9::9");

	run("ip route add 203.0.113.9 via 192.0.2.2 proto static");
	ck_assert_int_eq(put("203.0.113.9", NULL, 0, 1500), -EEXIST);
	run("ip route del 203.0.113.9");
	ck_assert_int_eq(put("203.0.113.9", NULL, 0, 1500), 0);
	run("ip route add 203.0.113.9 via 192.0.2.2 proto static metric 99");
	ck_assert_int_eq(clamps_take_off(clamps, &four), 0);
	run("ip route show 203.0.113.9 | grep -q 'proto static metric 99'");

	run("ip -6 route add 2001:db8:9::/64 via 2001:db8:1::2");
	ck_assert_int_eq(put("2001:db8:9::9", NULL, 0, 1500), 0);
	/* the kernel makes one route of several next hops of these two */
	run("ip -6 route append 2001:db8:9::9 via 2001:db8:1::3 proto static");
	ck_assert_int_eq(clamps_take_off(clamps, &six), 0);
	run("ip -6 route show 2001:db8:9::9 | grep -q 'via 2001:db8:1::3 .*proto static'");
	run("! ip -6 route show 2001:db8:9::9 | grep -q 2001:db8:1::2");
	run("ip -6 route show 2001:db8:9::/64 | grep -q 2001:db8:1::2");
}
END_TEST

START_TEST(one_that_somebody_took_is_forgotten)
{
	struct address to = address("203.0.113.9");

	ck_assert_int_eq(put("203.0.113.9", NULL, 0, 1500), 0);
	run("ip -N route flush proto 77");
	ck_assert(!clamps_hold(clamps, &to));
	ck_assert_uint_eq(clamps_count(clamps), 0);
	ck_assert_int_eq(put("203.0.113.9", NULL, 0, 1500), 0);
	run("ip link del eth0");
	ck_assert(!clamps_hold(clamps, &to));
}
END_TEST

START_TEST(leads_nowhere)
{
	ck_assert_int_lt(put("198.51.100.1", NULL, 0, 1500), 0);
	run("ip route add blackhole 198.51.100.0/24");
	ck_assert_int_lt(put("198.51.100.1", NULL, 0, 1500), 0);
	ck_assert_int_lt(put("192.0.2.1", NULL, 0, 1500), 0);
	ck_assert_uint_eq(clamps_count(clamps), 0);
	run("test -z \"$(ip -N route show table all proto 77)\"");
}
END_TEST

/* Bound to another link than the route's: allowed only where nobody else looks in that table. */
START_TEST(bound_paths)
{
	int eth1 = (int)if_nametoindex("eth1");

	run("ip route add 203.0.113.0/24 via 10.0.0.2 metric 70");
	ck_assert_int_eq(put("203.0.113.9", NULL, eth1, 1500), -EXDEV);
	run("ip route add 203.0.113.0/24 via 10.0.0.2 table 200; ip rule add oif eth1 table 200");
	ck_assert_int_eq(put("203.0.113.9", NULL, eth1, 1500), 0);
	ck_assert_uint_eq(used("203.0.113.9", NULL), 9000);
	run("ip -N route show table 200 | grep -q '203.0.113.9 via 10.0.0.2 dev eth1 proto 77'");
}
END_TEST

/* --- bytes --- */

union bytes {
	struct nlmsghdr header;
	char all[CLAMP_MESSAGE_SIZE];
};

static void example_match(union bytes *ret)
{
	struct rtmsg info = {.rtm_family = AF_INET, .rtm_dst_len = 24, .rtm_type = RTN_UNICAST,
			     .rtm_table = 254, .rtm_protocol = RTPROT_STATIC,
			     .rtm_flags = RTNH_F_LINKDOWN | RTNH_F_ONLINK};
	struct nl_msg *message = nlmsg_alloc_simple(RTM_NEWROUTE, 0);
	uint32_t link = 3, mtu = 9000, window = 17, lock = 1U << RTAX_WINDOW, cache[8] = {0};
	struct nlattr *metrics;

	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	nla_put(message, RTA_DST, 4, "\xcb\x00\x71\x00");
	nla_put(message, RTA_OIF, 4, &link);
	metrics = nla_nest_start(message, RTA_METRICS);
	nla_put(message, RTAX_MTU, 4, &mtu);
	nla_put(message, RTAX_WINDOW, 4, &window);
	nla_put(message, RTAX_LOCK, 4, &lock);
	nla_nest_end(message, metrics);
	nla_put(message, RTA_CACHEINFO, sizeof(cache), cache);
	memcpy(ret, nlmsg_hdr(message), nlmsg_hdr(message)->nlmsg_len);
	nlmsg_free(message);
}

static uint32_t metric(struct nlmsghdr *message, int type)
{
	struct nlattr *metrics = nlmsg_find_attr(message, sizeof(struct rtmsg), RTA_METRICS);
	struct nlattr *one = nla_find(nla_data(metrics), nla_len(metrics), type);

	return one ? nla_get_u32(one) : 0;
}

START_TEST(a_copy_has_what_counts)
{
	struct clamp_want want = {.to = address("203.0.113.9"), .mtu = 1500};
	union bytes match, request, undo;
	struct clamp_entry entry;
	const struct rtmsg *info = NLMSG_DATA(&request.header);

	example_match(&match);
	ck_assert_int_eq(clamp_message_build(&match.header, &want, &request.header, sizeof(request)), 0);
	ck_assert_uint_eq(info->rtm_dst_len, 32);
	ck_assert_uint_eq(info->rtm_protocol, CLAMP_PROTOCOL);
	ck_assert_uint_eq(info->rtm_flags, RTNH_F_ONLINK);
	ck_assert((request.header.nlmsg_flags & (NLM_F_EXCL | NLM_F_REPLACE)) == NLM_F_EXCL);
	ck_assert_uint_eq(metric(&request.header, RTAX_MTU), 1500);
	ck_assert_uint_eq(metric(&request.header, RTAX_WINDOW), 17);
	ck_assert_uint_eq(metric(&request.header, RTAX_LOCK), 1U << RTAX_MTU | 1U << RTAX_WINDOW);
	ck_assert_ptr_null(nlmsg_find_attr(&request.header, sizeof(*info), RTA_CACHEINFO));
	ck_assert(clamp_message_parse(&request.header, &entry));
	ck_assert_uint_eq(entry.mtu, 1500);
	ck_assert_int_eq(entry.link, 3);
	ck_assert_int_eq(clamp_message_undo(&request.header, &undo.header, sizeof(undo)), 0);
	ck_assert_uint_eq(undo.header.nlmsg_type, RTM_DELROUTE);
	ck_assert_uint_eq(((struct rtmsg *)NLMSG_DATA(&undo.header))->rtm_protocol, CLAMP_PROTOCOL);
}
END_TEST

/* Its hops are copied, and it is not: others share it. */
START_TEST(a_nexthop_object_is_not_shared)
{
	struct clamp_want want = {.to = address("203.0.113.9"), .mtu = 1500};
	struct rtmsg info = {.rtm_family = AF_INET, .rtm_dst_len = 24, .rtm_type = RTN_UNICAST};
	struct nl_msg *message = nlmsg_alloc_simple(RTM_NEWROUTE, 0);
	uint32_t object = 20, link = 3, advmss = 8960;
	struct nlattr *metrics;
	union bytes request;

	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	nla_put(message, RTA_NH_ID, 4, &object);
	ck_assert_int_eq(clamp_message_build(nlmsg_hdr(message), &want, &request.header, sizeof(request)),
			 -EOPNOTSUPP);
	nla_put(message, RTA_OIF, 4, &link);
	metrics = nla_nest_start(message, RTA_METRICS);
	nla_put(message, RTAX_ADVMSS, 4, &advmss);
	nla_nest_end(message, metrics);
	ck_assert_int_eq(clamp_message_build(nlmsg_hdr(message), &want, &request.header, sizeof(request)),
			 0);
	ck_assert_ptr_null(nlmsg_find_attr(&request.header, sizeof(info), RTA_NH_ID));
	ck_assert_ptr_nonnull(nlmsg_find_attr(&request.header, sizeof(info), RTA_OIF));
	/* nor what it announces, above what it carries */
	ck_assert_uint_eq(metric(&request.header, RTAX_ADVMSS), 1460);
	nlmsg_free(message);
}
END_TEST

/* Whatever bytes there are, and however little room. */
START_TEST(bytes_do_no_harm)
{
	struct clamp_want want = {.to = address("203.0.113.9"), .mtu = 1500};
	union bytes match, broken, request;
	struct clamp_entry entry;
	uint64_t dice = 3;

	example_match(&match);
	for (size_t room = 0; room < 200; room++) {
		int r = clamp_message_build(&match.header, &want, &request.header, room);

		ck_assert(r <= 0);
		ck_assert(r < 0 || request.header.nlmsg_len <= room);
	}
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t length = match.header.nlmsg_len;

		memcpy(&broken, &match, length);
		for (unsigned j = 0; j < 1 + dice_roll(&dice) % 4; j++)
			broken.all[16 + dice_roll(&dice) % (length - 16)] = (char)dice_roll(&dice);
		broken.header.nlmsg_len = 16 + (uint32_t)(dice_roll(&dice) % (length - 15));
		if (clamp_message_build(&broken.header, &want, &request.header, sizeof(request)) == 0)
			clamp_message_parse(&request.header, &entry);
		clamp_message_parse(&broken.header, &entry);
		clamp_message_undo(&broken.header, &request.header, sizeof(request));
	}
}
END_TEST

int main(void)
{
	const char *obstacle = netns_obstacle();
	Suite *suite = suite_create("clamps");
	TCase *kernel = tcase_create("kernel"), *bytes = tcase_create("bytes");

	tcase_add_test(bytes, a_copy_has_what_counts);
	tcase_add_test(bytes, a_nexthop_object_is_not_shared);
	tcase_add_test(bytes, bytes_do_no_harm);
	suite_add_tcase(suite, bytes);
	if (obstacle)
		printf("# SKIP kernel: %s\n", obstacle);
	tcase_add_checked_fixture(kernel, setup, teardown);
	tcase_set_timeout(kernel, 60);
	tcase_add_loop_test(kernel, comes_and_goes_without_a_trace, 0, 5);
	tcase_add_test(kernel, is_found_again);
	tcase_add_test(kernel, follows_the_route);
	tcase_add_test(kernel, others_are_left_alone);
	tcase_add_test(kernel, one_that_somebody_took_is_forgotten);
	tcase_add_test(kernel, leads_nowhere);
	tcase_add_test(kernel, bound_paths);
	if (!obstacle)
		suite_add_tcase(suite, kernel);
	return tap_run(suite);
}
