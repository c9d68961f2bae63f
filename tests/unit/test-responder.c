/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the responder answers over real links: to sockets as any program has them, and on the wire.
 */
#include "responder-lab.h"

START_TEST(cookie_then_both_directions)
{
	struct lab lab;
	struct client client;
	unsigned count = 0;

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here_too[_i]);
	client_send(&client, SIZE);
	client.cookie = client_expect(&client, RESPONDER_COOKIE, smallest[_i]).cookie;
	ck_assert_uint_eq(responder_answered(lab.responder), 0);
	for (uint32_t size = smallest[_i]; size <= SIZE; size += 447, count++) {
		client_send(&client, size);
		client_expect_whole(&client, size);
	}
	client_expect_nothing(&client);
	ck_assert_uint_eq(responder_answered(lab.responder), count + 1);
	ck_assert_uint_eq(responder_refused(lab.responder), 0);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* A cookie is good for one address and one port. */
START_TEST(cookie_of_somebody_else)
{
	struct lab lab;
	struct client client, thief;

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	for (unsigned i = 0; i < 2; i++) {
		thief = client_open(&lab, i == 0 ? peer[_i] : peer_too[_i], here[_i]);
		thief.cookie = client.cookie;
		client_send(&thief, SIZE);
		client_expect(&thief, RESPONDER_COOKIE, smallest[_i]);
		close(thief.fd);
	}
	client.cookie ^= 1;
	client_send(&client, SIZE);
	client_expect(&client, RESPONDER_COOKIE, smallest[_i]);
	ck_assert_uint_eq(responder_answered(lab.responder), 0);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* DF and nothing in fragments, for each of the three. */
START_TEST(bytes_on_the_wire)
{
	struct lab lab;
	struct client client;
	uint8_t packet[128];
	const uint32_t sizes[3] = {smallest[_i], SIZE - 1, smallest[_i]};

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	client_send(&client, SIZE - 1);
	client_expect_whole(&client, SIZE - 1);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(tap_next(&lab, packet), sizes[i]);
		if (_i == 0) {
			ck_assert_uint_eq(packet[6], 0x40);
			ck_assert_uint_eq(packet[7], 0);
			ck_assert_uint_eq(packet[8], 64);
			ck_assert_mem_eq(packet + 12, "\xc0\x00\x02\x01\xc0\x00\x02\x02", 8);
		} else {
			ck_assert_uint_eq(packet[6], IPPROTO_UDP);
		}
	}
	ck_assert_uint_eq(tap_next(&lab, packet), 0);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* What our link does not carry is told by the receipt alone; so are the probe's fragments. */
START_TEST(fragments_and_small_link)
{
	struct lab lab;
	struct client client;
	struct responder_message message;
	int fragment = _i == 0 ? IP_PMTUDISC_DONT : IPV6_PMTUDISC_DONT;

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	run("ip link set a0 mtu 1500");
	other_run(&lab, "ip link set b0 mtu 1500");
	ck_assert_int_eq(setsockopt(client.fd, _i == 0 ? IPPROTO_IP : IPPROTO_IPV6,
				    _i == 0 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &fragment,
				    sizeof(fragment)),
			 0);
	client_send(&client, 4000);
	message = client_expect(&client, RESPONDER_RECEIPT, smallest[_i]);
	ck_assert_uint_eq(message.size, 4000);
	ck_assert_uint_gt(message.fragment, 1492);
	ck_assert_uint_le(message.fragment, 1500);
	client_expect_nothing(&client);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* Large packets vanish on the way back: the wire carries them, the client has the receipt. */
START_TEST(hole_on_the_way_back)
{
	struct lab lab;
	struct client client;
	uint8_t packet[128];

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	other_run(&lab, "nft add table inet t");
	other_run(&lab, "nft 'add chain inet t c { type filter hook prerouting priority -300; }'");
	other_run(&lab, "nft add rule inet t c meta length gt 1500 drop");
	client_send(&client, SIZE);
	ck_assert_uint_eq(client_expect(&client, RESPONDER_RECEIPT, smallest[_i]).size, SIZE);
	client_expect_nothing(&client);
	client_send(&client, 1500);
	client_expect_whole(&client, 1500);
	ck_assert_uint_eq(tap_next(&lab, packet), smallest[_i]);
	ck_assert_uint_eq(tap_next(&lab, packet), SIZE);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* This host's own firewall: nothing is there to send, the receipt still says what came. */
START_TEST(own_firewall)
{
	struct lab lab;
	struct client client;

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	run("nft add table inet t");
	run("nft 'add chain inet t c { type filter hook output priority 0; }'");
	run("nft add rule inet t c meta length gt 1500 drop");
	client_send(&client, SIZE);
	ck_assert_uint_eq(client_expect(&client, RESPONDER_RECEIPT, smallest[_i]).size, SIZE);
	client_expect_nothing(&client);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* Whether `command` prints something. */
static bool prints(const char *command)
{
	FILE *pipe = popen(command, "re");
	char line[256];
	bool some;

	ck_assert_ptr_nonnull(pipe);
	some = fgets(line, sizeof(line), pipe) != NULL;
	pclose(pipe);
	return some;
}

/*
 * A router on the way back refuses the answer and says so: the kernel must not believe it for
 * everything else that this host sends there, and the next answer goes out all the same.
 */
START_TEST(reports_leave_the_routes_alone)
{
	static const char *const far[2] = {"198.51.100.2", "2001:db8:2::2"};
	static const char *const cached[2] = {"ip route get 198.51.100.2 | grep -w mtu",
					      "ip -6 route get 2001:db8:2::2 | grep -w mtu"};
	static const char *const told[2] = {
		"nstat -asz IcmpInDestUnreachs | awk '/Unreach/ && $2 >= 2'",
		"nstat -asz Icmp6InPktTooBigs | awk '/PktTooBigs/ && $2 >= 2'"};
	struct lab lab;
	struct client client;
	pid_t router;
	uint64_t end = now_usec() + PATIENCE_USEC;

	lab_open(&lab, 0);
	router = lab.other; /* it sends back what is for the address behind its lo */
	other_run(&lab, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
	lab.other = netns_other();
	run("nsenter -t %d -n ip link add r1 mtu 9000 type veth peer name c0 mtu 9000 netns %d",
	    (int)router, (int)lab.other);
	run("nsenter -t %d -n ip link set r1 up", (int)router);
	other_run(&lab, "ip link set c0 up");
	run("nsenter -t %d -n ip address add %s dev r1", (int)router,
	    _i == 0 ? "198.51.100.1/24" : "2001:db8:2::1/64 nodad");
	other_run(&lab, "ip address add %s%s dev c0", far[_i], _i == 0 ? "/24" : "/64 nodad");
	other_run(&lab, "ip route add %s via %s", _i == 0 ? "192.0.2.0/24" : "2001:db8::/64",
		  _i == 0 ? "198.51.100.1" : "2001:db8:2::1");
	run("nsenter -t %d -n ip route add %s dev r1 mtu lock 1500", (int)router, far[_i]);
	run("ip route add %s via %s", far[_i], peer[_i]);
	client = client_open(&lab, far[_i], here[_i]);
	client_get_cookie(&client);
	for (unsigned i = 0; i < 3; i++) {
		client_send(&client, SIZE);
		ck_assert_uint_eq(client_expect(&client, RESPONDER_RECEIPT, smallest[_i]).size,
				  SIZE);
	}
	while (!prints(told[_i]))
		ck_assert_uint_lt(now_usec(), end);
	ck_assert(!prints(cached[_i]));
	/* all three were on the wire: the router refused each */
	client_send(&client, 1500);
	client_expect_whole(&client, 1500);
	ck_assert_uint_ge(tap_bytes(&lab), 3 * SIZE);
	close(client.fd);
	netns_end(router);
	lab_close(&lab);
}
END_TEST

/* The way back is the one that all else takes from here, not the link the question came by. */
START_TEST(answers_take_the_route)
{
	struct lab lab;
	struct client client;

	lab_open(&lab, 0);
	run("ip link add a1 mtu 1500 type veth peer name b1 mtu 1500 netns %d", (int)lab.other);
	run("ip link set a1 up");
	other_run(&lab, "ip link set b1 up");
	other_run(&lab, "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.b1.rp_filter=0");
	run("sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.a0.rp_filter=0");
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	other_run(&lab, "ip link set b1 address 02:00:00:00:00:03");
	run("ip neighbour replace %s dev a1 lladdr 02:00:00:00:00:03 nud permanent", peer[_i]);
	run("ip route add %s dev a1", peer[_i]);
	client_send(&client, SIZE);
	ck_assert_uint_eq(client_expect(&client, RESPONDER_RECEIPT, smallest[_i]).size, SIZE);
	client_expect_nothing(&client);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* Link-local addresses are of a link: the answer goes out of that one. */
START_TEST(link_local)
{
	struct lab lab;
	struct client client;
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(RESPONDER_PORT)};

	lab_open(&lab, 0);
	run("ip address add fe80::1/64 dev a0 nodad");
	other_run(&lab, "ip address add fe80::2/64 dev b0 nodad");
	client = (struct client){.lab = &lab, .at = 1};
	client.fd = other_socket(lab.other, AF_INET6, SOCK_DGRAM, 0);
	ck_assert_int_eq(setsockopt(client.fd, SOL_SOCKET, SO_BINDTODEVICE, "b0", sizeof("b0")), 0);
	memcpy(&to.sin6_addr, address("fe80::1").bytes, 16);
	ck_assert_int_eq(connect(client.fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	client_get_cookie(&client);
	client_send(&client, SIZE);
	client_expect_whole(&client, SIZE);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("responder");
	TCase *tests = tcase_create("responder");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, cookie_then_both_directions, 0, 2);
	tcase_add_loop_test(tests, cookie_of_somebody_else, 0, 2);
	tcase_add_loop_test(tests, bytes_on_the_wire, 0, 2);
	tcase_add_loop_test(tests, fragments_and_small_link, 0, 2);
	tcase_add_loop_test(tests, hole_on_the_way_back, 0, 2);
	tcase_add_loop_test(tests, own_firewall, 0, 2);
	tcase_add_loop_test(tests, reports_leave_the_routes_alone, 0, 2);
	tcase_add_loop_test(tests, answers_take_the_route, 0, 2);
	tcase_add_test(tests, link_local);
	suite_add_tcase(suite, tests);
	return netns_main(suite);
}
