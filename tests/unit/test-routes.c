/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Routes and gateways of a real kernel, in a network namespace of our own.
 */
#include "netns.h"

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "../../daemon/world/routes.h"

#define SHORTLY (5 * USEC_PER_SEC)
#define HINTS_LARGEST 64

struct hint {
	struct address prefix;
	unsigned length;
};

static struct {
	sd_event *event;
	struct routes *routes;
	struct hint hints[HINTS_LARGEST];
	unsigned count;
} scene;

static void on_routes(const struct address *prefix, unsigned length, void *userdata)
{
	ck_assert_ptr_eq(userdata, &scene);
	if (scene.count < HINTS_LARGEST)
		scene.hints[scene.count] = (struct hint){*prefix, length};
	scene.count++;
}

static void teardown(void)
{
	scene.routes = routes_free(scene.routes);
	scene.event = sd_event_unref(scene.event);
}

static int index_of(const char *name)
{
	return (int)if_nametoindex(name);
}

static struct route ask_by(const char *to, const char *from, int link)
{
	struct address destination = address(to), source = {0};
	struct route route;

	if (from != NULL)
		source = address(from);
	ck_assert_int_eq(routes_ask(scene.routes, &destination, &source, link, &route), 0);
	return route;
}

static struct route ask(const char *to)
{
	return ask_by(to, NULL, 0);
}

static void expect_address(const struct address *is, const char *text)
{
	struct address wanted = {0};

	if (text != NULL)
		wanted = address(text);
	wanted.zone = is->zone;
	ck_assert(address_equal(is, &wanted));
}

static bool is_ready(void *userdata)
{
	return ask("2001:db8::1").local;
}

/* v0 192.0.2.1/24 and 2001:db8::1/64, MTU 9000; v1 is the other end, without an address. */
static void setup(void)
{
	netns_enter();
	run("ip link add v0 mtu 9000 type veth peer name v1 mtu 9000");
	run("ip link set v0 up && ip link set v1 up");
	run("ip addr add 192.0.2.1/24 dev v0 && ip addr add 2001:db8::1/64 dev v0 nodad");
	ck_assert_int_ge(sd_event_new(&scene.event), 0);
	ck_assert_int_eq(routes_new(&scene.routes, scene.event, on_routes, &scene), 0);
	/* carrier comes a moment after both ends are up, and IPv6 waits for it */
	ck_assert(holds_within(scene.event, SHORTLY, is_ready, NULL));
}

START_TEST(direct)
{
	static const char *const peers[] = {"192.0.2.9", "2001:db8::9"};
	static const char *const sources[] = {"192.0.2.1", "2001:db8::1"};
	struct route route = ask(peers[_i]);

	ck_assert_int_eq(route.error, 0);
	ck_assert_int_eq(route.link, index_of("v0"));
	ck_assert(!route.local && !route.mtu_locked);
	expect_address(&route.source, sources[_i]);
	expect_address(&route.gateway, NULL);
	ck_assert_uint_eq(route.mtu, 0);
	ck_assert_uint_eq(route.exception_sec, 0);
}
END_TEST

START_TEST(by_gateway)
{
	struct route route;

	run("ip route add 198.51.100.0/24 via 192.0.2.254 mtu 1400");
	run("ip route add 2001:db8:1::/48 via 2001:db8::ffff mtu lock 1300");
	run("ip route add 203.0.113.0/24 via inet6 fe80::1 dev v0 mtu lock 1200");
	run("ip route add 2001:db8:2::/48 via fe80::2 dev v0");
	route = ask("198.51.100.7");
	expect_address(&route.gateway, "192.0.2.254");
	ck_assert_uint_eq(route.mtu, 1400);
	ck_assert_uint_eq(route.kernel_mtu, 1400);
	ck_assert(!route.mtu_locked);
	route = ask("2001:db8:1::7");
	expect_address(&route.gateway, "2001:db8::ffff");
	ck_assert_uint_eq(route.mtu, 1300);
	ck_assert(route.mtu_locked);
	route = ask("203.0.113.7");
	expect_address(&route.gateway, "fe80::1");
	ck_assert_int_eq(route.gateway.zone, index_of("v0"));
	expect_address(&route.source, "192.0.2.1");
	ck_assert_uint_eq(route.kernel_mtu, 1200);
	ck_assert(route.mtu_locked);
	route = ask("2001:db8:2::7");
	expect_address(&route.gateway, "fe80::2");
	ck_assert_int_eq(route.gateway.zone, index_of("v0"));
}
END_TEST

START_TEST(own_address)
{
	ck_assert(ask("192.0.2.1").local);
	ck_assert(ask("2001:db8::1").local);
	ck_assert(ask("127.0.0.1").local);
	ck_assert(!ask("192.0.2.1").broadcast && !ask("192.0.2.2").broadcast);
	ck_assert(ask("192.0.2.255").broadcast);
	ck_assert(!ask("192.0.2.255").multicast && ask("ff02::1").multicast);
	ck_assert(ask("::1").local);
	ck_assert_int_eq(ask("192.0.2.1").error, 0);
}
END_TEST

START_TEST(no_route)
{
	static const struct {
		const char *type;
		int error, error_ipv6;
	} types[] = {
		{"unreachable", -EHOSTUNREACH, -EHOSTUNREACH},
		{"prohibit", -EACCES, -EACCES},
		{"blackhole", -EINVAL, -EINVAL},
	};

	ck_assert_int_eq(ask("198.51.100.7").error, -ENETUNREACH);
	ck_assert_int_eq(ask("2001:db8:9::7").error, -ENETUNREACH);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		run("ip route replace %s 198.51.100.0/24", types[i].type);
		run("ip -6 route add %s 2001:db8:9::/48", types[i].type);
		ck_assert_int_eq(ask("198.51.100.7").error, types[i].error);
		ck_assert_int_eq(ask("2001:db8:9::7").error, types[i].error_ipv6);
		run("ip -6 route del %s 2001:db8:9::/48", types[i].type);
	}
}
END_TEST

START_TEST(by_source_and_link)
{
	run("ip link add w0 mtu 1500 type veth peer name w1");
	run("ip link set w0 up && ip link set w1 up && ip addr add 192.0.2.2/24 dev w0");
	run("ip rule add from 192.0.2.2 table 100 && ip route add default dev w0 table 100");
	ck_assert_int_eq(ask_by("192.0.2.9", NULL, 0).link, index_of("v0"));
	ck_assert_int_eq(ask_by("192.0.2.9", NULL, index_of("w0")).link, index_of("w0"));
	ck_assert_int_eq(ask_by("192.0.2.9", "192.0.2.2", 0).link, index_of("w0"));
	/* a source that is not this host's */
	ck_assert_int_lt(ask_by("192.0.2.9", "192.0.2.77", 0).error, 0);
	ck_assert_int_lt(ask_by("192.0.2.9", NULL, 4711).error, 0);
}
END_TEST

START_TEST(link_local)
{
	struct address to = address("fe80::9");
	struct route route;

	to.zone = index_of("v1");
	ck_assert_int_eq(routes_ask(scene.routes, &to, NULL, 0, &route), 0);
	ck_assert_int_eq(route.link, index_of("v1"));
	to.zone = index_of("v0");
	ck_assert_int_eq(routes_ask(scene.routes, &to, NULL, 0, &route), 0);
	ck_assert_int_eq(route.link, index_of("v0"));
	to.family = ADDRESS_NONE;
	ck_assert_int_eq(routes_ask(scene.routes, &to, NULL, 0, &route), -EAFNOSUPPORT);
}
END_TEST

static void send_large(const char *to, bool ipv6)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
	int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	int always = ipv6 ? IPV6_PMTUDISC_DO : IP_PMTUDISC_DO;
	static const char data[5000];

	ck_assert_int_eq(inet_pton(AF_INET, to, &in.sin_addr) == 1 ||
				 inet_pton(AF_INET6, to, &in6.sin6_addr) == 1,
			 1);
	if (ipv6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &always, sizeof(always));
		(void)!sendto(fd, data, sizeof(data), 0, (void *)&in6, sizeof(in6));
	} else {
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &always, sizeof(always));
		(void)!sendto(fd, data, sizeof(data), 0, (void *)&in, sizeof(in));
	}
	close(fd);
}

static struct route learned(const char *to, bool ipv6)
{
	uint64_t end = now_usec() + SHORTLY;
	struct route route;

	/* the first packet may go while the neighbour is still looked for */
	do {
		send_large(to, ipv6);
		poll(NULL, 0, 20);
		route = ask(to);
	} while (route.exception_sec == 0 && now_usec() < end);
	return route;
}

/* A router behind v1, whose next link carries 1400. */
START_TEST(exception)
{
	pid_t other = netns_other();
	struct route route;

	run("ip link set v1 netns %d", other);
	run("nsenter -t %d -n sh -c 'ip link set lo up && ip link set v1 up mtu 9000 && "
	    "ip addr add 192.0.2.254/24 dev v1 && ip addr add 2001:db8::ffff/64 dev v1 nodad && "
	    "ip link add x0 type veth peer name x1 && ip link set x0 up && ip link set x1 up && "
	    "ip link set x0 mtu 1400 && ip addr add 198.51.100.1/24 dev x0 && "
	    "ip addr add 2001:db8:1::1/64 dev x0 nodad && echo 1 >/proc/sys/net/ipv4/ip_forward && "
	    "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'",
	    other);
	run("ip route add 198.51.100.0/24 via 192.0.2.254 mtu 8000");
	run("ip route add 2001:db8:1::/64 via 2001:db8::ffff");

	route = learned("198.51.100.7", false);
	ck_assert_uint_eq(route.kernel_mtu, 1400);
	ck_assert_uint_eq(route.mtu, 8000);
	ck_assert_uint_gt(route.exception_sec, 500);
	ck_assert_uint_le(route.exception_sec, 600);
	/* of this address alone */
	ck_assert_uint_eq(ask("198.51.100.8").kernel_mtu, 8000);
	ck_assert_uint_eq(ask("198.51.100.8").exception_sec, 0);

	route = learned("2001:db8:1::7", true);
	ck_assert_uint_eq(route.kernel_mtu, 1400);
	ck_assert_uint_eq(route.mtu, 0);
	ck_assert_uint_gt(route.exception_sec, 500);

	run("ip route flush cache");
	ck_assert_uint_eq(ask("198.51.100.7").exception_sec, 0);
	ck_assert_uint_eq(ask("198.51.100.7").kernel_mtu, 8000);
	netns_end(other);
}
END_TEST

static struct gateway *gateways;
static unsigned gateway_count;

static void read_gateways(void)
{
	free(gateways);
	ck_assert_int_eq(routes_gateways(scene.routes, &gateways, &gateway_count), 0);
}

static bool has_gateway(const char *text, const char *link)
{
	struct address wanted = address(text);
	unsigned found = 0;

	if (address_is_link_local(&wanted))
		wanted.zone = index_of(link);
	for (unsigned i = 0; i < gateway_count; i++)
		found += gateways[i].link == index_of(link) &&
			 address_equal(&gateways[i].address, &wanted);
	return found == 1;
}

START_TEST(gateways_of_tables)
{
	read_gateways();
	ck_assert_uint_eq(gateway_count, 0);
	run("ip route add default via 192.0.2.254");
	run("ip route add default via 192.0.2.254 metric 50 table 100");
	run("ip route add default via 192.0.2.253 table 100");
	run("ip route add default via inet6 fe80::5 dev v0 metric 7");
	run("ip -6 route add default via fe80::1 dev v0");
	run("ip -6 route add default via fe80::1 dev v1 metric 5");
	run("ip route add 198.51.100.0/24 via 192.0.2.99");
	run("ip route add blackhole default metric 900");
	run("ip -6 route add unreachable default metric 4000");
	run("ip route add default dev v1 metric 77");
	run("ip route add default via 198.51.100.9 dev lo onlink metric 78");
	read_gateways();
	ck_assert_uint_eq(gateway_count, 5);
	ck_assert(has_gateway("192.0.2.254", "v0"));
	ck_assert(has_gateway("192.0.2.253", "v0"));
	ck_assert(has_gateway("fe80::5", "v0"));
	ck_assert(has_gateway("fe80::1", "v0"));
	ck_assert(has_gateway("fe80::1", "v1"));
}
END_TEST

START_TEST(gateways_multipath)
{
	run("ip route add default nexthop via 192.0.2.10 nexthop via 192.0.2.11 weight 5 "
	    "nexthop via inet6 fe80::3 dev v1");
	run("ip -6 route add default nexthop via 2001:db8::10 nexthop via fe80::11 dev v0");
	read_gateways();
	ck_assert_uint_eq(gateway_count, 5);
	ck_assert(has_gateway("192.0.2.10", "v0"));
	ck_assert(has_gateway("192.0.2.11", "v0"));
	ck_assert(has_gateway("fe80::3", "v1"));
	ck_assert(has_gateway("2001:db8::10", "v0"));
	ck_assert(has_gateway("fe80::11", "v0"));
}
END_TEST

/* Expanded by the kernel, and with nothing but the object's id in the route. */
START_TEST(gateways_nexthop_objects)
{
	run("echo %d >/proc/sys/net/ipv4/nexthop_compat_mode", _i);
	run("ip nexthop add id 1 via 192.0.2.20 dev v0");
	run("ip nexthop add id 2 via fe80::20 dev v0");
	run("ip nexthop add id 3 via 192.0.2.21 dev v0");
	run("ip nexthop add id 10 group 1/2/3");
	run("ip nexthop add id 11 blackhole");
	run("ip nexthop add id 12 via 2001:db8::20 dev v0");
	run("ip route add default nhid 10 && ip route add default nhid 11 metric 9");
	run("ip -6 route add default nhid 12");
	read_gateways();
	ck_assert_uint_eq(gateway_count, 4);
	ck_assert(has_gateway("192.0.2.20", "v0"));
	ck_assert(has_gateway("192.0.2.21", "v0"));
	ck_assert(has_gateway("fe80::20", "v0"));
	ck_assert(has_gateway("2001:db8::20", "v0"));
	ck_assert_int_eq(ask("2001:db8:77::1").link, index_of("v0"));
}
END_TEST

static bool has_hint(void *userdata)
{
	const struct hint *wanted = userdata;

	for (unsigned i = 0; i < scene.count && i < HINTS_LARGEST; i++)
		if (address_equal(&scene.hints[i].prefix, &wanted->prefix) &&
		    scene.hints[i].length == wanted->length)
			return true;
	return false;
}

static void expect_hint(const char *prefix, unsigned length)
{
	struct hint wanted = {.length = length};

	if (prefix != NULL)
		wanted.prefix = address(prefix);
	ck_assert_msg(holds_within(scene.event, SHORTLY, has_hint, &wanted), "no hint of %s/%u",
		      prefix ? prefix : "all", length);
	scene.count = 0;
}

/* What was done before is through, its hints forgotten. */
static void settle(void)
{
	run("ip route add 233.252.0.0/24 dev v0 && ip route del 233.252.0.0/24 dev v0");
	expect_hint("233.252.0.0", 24);
	while (sd_event_run(scene.event, 0) > 0)
		scene.count = 0;
	scene.count = 0;
}

START_TEST(hints)
{
	settle();
	run("ip route add 198.51.100.0/24 via 192.0.2.254");
	expect_hint("198.51.100.0", 24);
	run("ip -6 route add default via 2001:db8::ffff");
	expect_hint("::", 0);
	run("ip route del 198.51.100.0/24");
	expect_hint("198.51.100.0", 24);
	run("ip rule add from 192.0.2.1 table 100");
	expect_hint(NULL, 0);
	run("ip -6 rule add from 2001:db8::1 table 100");
	expect_hint(NULL, 0);
	run("ip nexthop add id 1 via 192.0.2.20 dev v0");
	expect_hint(NULL, 0);
	run("ip addr add 192.0.2.3/32 dev v0");
	expect_hint(NULL, 0);
	run("ip addr del 192.0.2.3/32 dev v0");
	expect_hint(NULL, 0);
}
END_TEST

/* Hints up to a route that was added last of all. */
static unsigned hints_until_now(void)
{
	struct hint marker = {address("233.252.1.0"), 24};

	run("ip route add 233.252.1.0/24 dev v0");
	ck_assert(holds_within(scene.event, SHORTLY, has_hint, &marker));
	return scene.count - 1;
}

/* One of the address, one of its subnet; none of the local and broadcast routes beside it. */
START_TEST(hints_of_address)
{
	static const struct hint all;
	struct hint subnet = {address("203.0.113.64"), 26};

	settle();
	run("ip addr add 203.0.113.65/26 brd + dev v0");
	ck_assert_uint_eq(hints_until_now(), 2);
	ck_assert(has_hint((void *)&all));
	ck_assert(has_hint(&subnet));
}
END_TEST

/* What every router advertisement does to the addresses that were made from it. In the first second
 * it counts as part of the making, and other addresses are still being made. */
START_TEST(no_hint_of_renewed_address)
{
	uint64_t end = now_usec() + SHORTLY;
	unsigned count;

	do {
		settle();
		run("ip addr change 2001:db8::1/64 dev v0 valid_lft 600 preferred_lft 300");
		count = hints_until_now();
		run("ip route del 233.252.1.0/24 dev v0");
	} while (count > 0 && now_usec() < end);
	ck_assert_uint_eq(count, 0);
	/* one that is to be used no more is a change */
	run("ip addr change 2001:db8::1/64 dev v0 valid_lft 600 preferred_lft 0");
	expect_hint(NULL, 0);
}
END_TEST

static bool has_any_hint(void *userdata)
{
	struct hint all = {0};

	return has_hint(&all);
}

static void add_many_routes(void)
{
	char path[] = "/tmp/mtuwatchd-batch-XXXXXX";
	FILE *batch = fdopen(mkstemp(path), "w");

	ck_assert_ptr_nonnull(batch);
	for (unsigned i = 0; i < 30000; i++)
		fprintf(batch, "route add 10.%u.%u.0/24 via 192.0.2.254\n", i / 250, i % 250);
	fclose(batch);
	run("ip -batch %s", path);
	unlink(path);
}

START_TEST(hints_overrun)
{
	settle();
	add_many_routes();
	ck_assert(holds_within(scene.event, SHORTLY, has_any_hint, NULL));
	ck_assert_uint_lt(scene.count, 30000);
	scene.count = 0;
	run("ip route add default via 192.0.2.254");
	expect_hint("0.0.0.0", 0);
	read_gateways();
	ck_assert_uint_eq(gateway_count, 1);
}
END_TEST

/* Ten thousand peers on a host with thirty thousand routes: asking is a matter of moments. */
START_TEST(many_peers)
{
	const int v0 = index_of("v0");
	uint64_t begun, spent;

	add_many_routes();
	begun = now_usec();
	for (unsigned i = 0; i < 10000; i++) {
		struct address to = {.family = ADDRESS_IPV4,
				     .bytes = {10, (uint8_t)(i / 250), (uint8_t)(i % 250), 1}};
		struct route route;

		ck_assert_int_eq(routes_ask(scene.routes, &to, NULL, 0, &route), 0);
		ck_assert_int_eq(route.link, v0);
	}
	spent = now_usec() - begun;
	fprintf(stderr, "# one route asked for in %.1f us\n", (double)spent / 10000);
	ck_assert_uint_lt(spent, 5 * USEC_PER_SEC);
	begun = now_usec();
	read_gateways();
	fprintf(stderr, "# gateways among 30000 routes in %u us\n", (unsigned)(now_usec() - begun));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("routes");
	TCase *tests = tcase_create("routes");

	tcase_set_timeout(tests, 100);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, direct, 0, 2);
	tcase_add_test(tests, by_gateway);
	tcase_add_test(tests, own_address);
	tcase_add_test(tests, no_route);
	tcase_add_test(tests, by_source_and_link);
	tcase_add_test(tests, link_local);
	tcase_add_test(tests, exception);
	tcase_add_test(tests, gateways_of_tables);
	tcase_add_test(tests, gateways_multipath);
	tcase_add_loop_test(tests, gateways_nexthop_objects, 0, 2);
	tcase_add_test(tests, hints);
	tcase_add_test(tests, hints_of_address);
	tcase_add_test(tests, no_hint_of_renewed_address);
	tcase_add_test(tests, hints_overrun);
	tcase_add_test(tests, many_peers);
	suite_add_tcase(suite, tests);
	return netns_main(suite);
}
