/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The prober's echo against real kernels, and what every kind of probe shares: batches, refusals,
 * overflows.
 */
#include "prober_lab.h"

/* Every size of both families, and the last byte's checksum by the peer's own kernel. */
START_TEST(echoes_of_every_size)
{
	static const char *const peers[] = {"192.0.2.2", "2001:db8::2"};
	static const uint32_t smallest[] = {36, 56};
	struct lab lab;
	unsigned link;

	lab_pair(&lab, 9000);
	link = if_nametoindex("a0");
	for (unsigned i = 0; i < 2; i++) {
		lab.count = 0;
		for (uint32_t size = smallest[i]; size <= 9000; size++) {
			struct probe probe = lab_send(&lab, peers[i], size);

			if (size % 256 != 0 && size != 9000)
				continue;
			lab_wait(&lab, size - smallest[i] + 1);
			assert_answers(&lab, &probe, ANSWER_ECHO);
		}
		for (uint32_t at = 0; at < lab.count; at++) {
			ck_assert_uint_eq(lab.answers[at].size, smallest[i] + at);
			ck_assert(lab.answers[at].nonce ==
				  0x8000000000000001ULL + smallest[i] + at);
			ck_assert_int_eq(lab.answers[at].link, (int)link);
		}
	}
	ck_assert_uint_eq(prober_sent(lab.prober), 9000 - 35 + 9000 - 55);
	ck_assert_uint_eq(prober_received(lab.prober), 9000 - 35 + 9000 - 55);
	ck_assert_uint_eq(lab.overflows, 0);
	lab_close(&lab);
}
END_TEST

START_TEST(largest_packets)
{
	struct probe probes[6];
	struct lab lab;

	lab_pair(&lab, 65535);
	for (unsigned i = 0; i < 3; i++) {
		probes[i] = lab_send(&lab, "192.0.2.2", 65535 - i);
		probes[i + 3] = lab_send(&lab, "2001:db8::2", 65535 - i);
	}
	lab_wait(&lab, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_answers(&lab, &probes[i], ANSWER_ECHO);
	lab_close(&lab);
}
END_TEST

START_TEST(bytes_on_the_wire)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	int ipv4 = tap_open(peer, "b0", ETH_P_IP), ipv6 = tap_open(peer, "b0", ETH_P_IPV6);
	struct probe probe;
	uint8_t packet[64];

	lab_send(&lab, "192.0.2.2", 9000);
	probe = probe_of(&lab, "2001:db8::2", 9000);
	probe.ttl = 7;
	prober_send(lab.prober, &probe);
	lab_wait(&lab, 2);
	tap_read(ipv4, packet, 9000);
	ck_assert_uint_eq(packet[6], 0x40); /* DF, no fragment */
	ck_assert_uint_eq(packet[7], 0);
	ck_assert_uint_eq(packet[8], 64);
	ck_assert_mem_eq(packet + 12, "\xc0\x00\x02\x01\xc0\x00\x02\x02\x08\x00", 10);
	tap_read(ipv6, packet, 9000);
	ck_assert_uint_eq(packet[6], IPPROTO_ICMPV6); /* no fragment header */
	ck_assert_uint_eq(packet[7], 7);
	ck_assert_uint_eq(packet[40], 128);
	close(ipv4);
	close(ipv6);
	lab_close(&lab);
}
END_TEST

START_TEST(link_and_source_per_packet)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 1500);
	struct probe probes[5];
	int fd;
	uint8_t packet[64];

	/* a second link to the same peer, and second addresses */
	link_new(0, "a1", peer, "b1", 1500);
	host_run(0,
		 "ip address add 192.0.2.11/32 dev a0; ip address add 2001:db8::11/128 dev a0 nodad;"
		 "ip route add 203.0.113.0/24 dev a0; ip route add 203.0.113.0/24 dev a1 metric 9;"
		 "ip rule add from 192.0.2.11 to 203.0.113.3 lookup 99;"
		 "ip route add 203.0.113.0/24 dev a1 table 99;"
		 "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.a1.rp_filter=0");
	host_run(peer, "ip address add 203.0.113.2/32 dev lo; ip address add 203.0.113.3/32 dev "
		       "lo; ip route add 192.0.2.11/32 dev b1;"
		       "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.b1.rp_filter=0");
	fd = tap_open(peer, "b1", ETH_P_IP);
	probes[0] = probe_of(&lab, "203.0.113.2", 100);
	probes[0].link = (int)if_nametoindex("a1");
	probes[0].from = address_of("192.0.2.11");
	probes[1] = probe_of(&lab, "2001:db8::2", 100);
	probes[1].from = address_of("2001:db8::11");
	probes[2] = probe_of(&lab, "192.0.2.2", 100);
	probes[2].link = 999; /* there is none */
	probes[3] = probe_of(&lab, "2001:db8::2", 100);
	probes[3].from = address_of("2001:db8::99");	/* not ours */
	probes[4] = probe_of(&lab, "203.0.113.3", 101); /* a rule leads this source elsewhere */
	probes[4].from = address_of("192.0.2.11");
	for (unsigned i = 0; i < 5; i++)
		prober_send(lab.prober, &probes[i]);
	lab_wait(&lab, 5);
	assert_answers(&lab, &probes[0], ANSWER_ECHO);
	ck_assert_int_eq(lab_answer(&lab, probes[0].sequence)->link, probes[0].link);
	tap_read(fd, packet, 100);
	ck_assert_mem_eq(packet + 12, "\xc0\x00\x02\x0b\xcb\x00\x71\x02", 8);
	assert_answers(&lab, &probes[4], ANSWER_ECHO);
	tap_read(fd, packet, 101);
	assert_answers(&lab, &probes[1], ANSWER_ECHO);
	assert_answers(&lab, &probes[2], ANSWER_REFUSED);
	ck_assert_int_lt(lab_answer(&lab, probes[2].sequence)->error, 0);
	assert_refused(&lab, &probes[3], -EINVAL);
	close(fd);
	lab_close(&lab);
}
END_TEST

START_TEST(link_local_with_zone)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	struct probe with_zone, with_both;

	host_run(peer, "ip address add fe80::b/64 dev b0 nodad");
	with_zone = probe_of(&lab, "fe80::b", 9000);
	with_zone.to.zone = (int)if_nametoindex("a0");
	with_both = probe_of(&lab, "fe80::b", 1280);
	with_both.to.zone = with_both.link = with_zone.to.zone;
	prober_send(lab.prober, &with_zone);
	prober_send(lab.prober, &with_both);
	lab_wait(&lab, 2);
	assert_answers(&lab, &with_zone, ANSWER_ECHO);
	assert_answers(&lab, &with_both, ANSWER_ECHO);
	lab_close(&lab);
}
END_TEST

START_TEST(router_says_too_big)
{
	struct lab lab;
	pid_t router;
	struct probe ipv4, ipv6;

	lab_routed(&lab, &router);
	ipv4 = lab_send(&lab, "198.51.100.2", 9000);
	ipv6 = lab_send(&lab, "2001:db8:2::2", 9000);
	lab_wait(&lab, 2);
	assert_answers(&lab, &ipv4, ANSWER_TOO_BIG);
	assert_from(&lab, &ipv4, "192.0.2.254");
	ck_assert_uint_eq(lab_answer(&lab, ipv4.sequence)->mtu, 1500);
	assert_answers(&lab, &ipv6, ANSWER_TOO_BIG);
	assert_from(&lab, &ipv6, "2001:db8:1::fe");
	ck_assert_uint_eq(lab_answer(&lab, ipv6.sequence)->mtu, 1500);
	/* the host's own traffic is left alone: nothing was learned */
	host_run(0, "r=$(ip route get 198.51.100.2); case \"$r\" in "
		    "*mtu*) echo \"$r\" >&2; exit 1;; *198.51.100.2*) ;; *) exit 1;; esac");
	/* and what is too big for IPv6 by the kernel's cache is sent all the same */
	ipv6 = lab_send(&lab, "2001:db8:2::2", 9000);
	lab_wait(&lab, 3);
	assert_answers(&lab, &ipv6, ANSWER_TOO_BIG);
	lab_close(&lab);
}
END_TEST

START_TEST(time_to_live_per_packet)
{
	static const char *const peers[] = {"198.51.100.2", "2001:db8:2::2"};
	static const char *const routers[] = {"192.0.2.254", "2001:db8:1::fe"};
	struct lab lab;
	pid_t router;

	lab_routed(&lab, &router);
	for (unsigned i = 0; i < 2; i++) {
		struct probe near = probe_of(&lab, peers[i], 1500);
		struct probe far = probe_of(&lab, peers[i], 1500);

		near.ttl = 1;
		far.ttl = 2;
		prober_send(lab.prober, &near);
		prober_send(lab.prober, &far);
		lab_wait(&lab, (i + 1) * 2);
		assert_answers(&lab, &near, ANSWER_TIME_EXCEEDED);
		assert_from(&lab, &near, routers[i]);
		assert_answers(&lab, &far, ANSWER_ECHO);
	}
	lab_close(&lab);
}
END_TEST

START_TEST(router_has_no_way)
{
	struct lab lab;
	pid_t router;
	struct probe ipv4, ipv6;

	lab_routed(&lab, &router);
	host_run(router, "ip route add unreachable 203.0.113.0/24;"
			 "ip route add prohibit 2001:db8:3::/64");
	ipv4 = lab_send(&lab, "203.0.113.1", 1500);
	ipv6 = lab_send(&lab, "2001:db8:3::1", 1500);
	lab_wait(&lab, 2);
	assert_answers(&lab, &ipv4, ANSWER_UNREACHABLE);
	ck_assert_int_eq(lab_answer(&lab, ipv4.sequence)->error, -EHOSTUNREACH);
	assert_answers(&lab, &ipv6, ANSWER_UNREACHABLE);
	ck_assert_int_eq(lab_answer(&lab, ipv6.sequence)->error, -EACCES);
	lab_close(&lab);
}
END_TEST

/* Above the device's MTU, without a route, filtered: each for itself, in one batch. */
START_TEST(refusals_leave_others_alone)
{
	static const char *const peers[] = {"192.0.2.2", "2001:db8::2"};
	static const char *const elsewhere[] = {"203.0.113.1", "2001:db8:9::1"};
	struct lab lab;
	struct probe probes[7];

	lab_pair(&lab, 9000);
	host_run(0, "printf \"table inet t {\\n chain o {\\n type filter hook output priority 0;\\n"
		    "meta length 4000 drop\\n }\\n}\\n\" | nft -f -");
	for (unsigned i = 0; i < 2; i++) {
		static const uint32_t sizes[] = {9000, 9001, 9000, 4000, 3999, 1400};
		static const int errors[] = {0, -EMSGSIZE, 0, -EPERM, 0, 0};

		lab.count = 0;
		for (unsigned j = 0; j < 6; j++)
			probes[j] = lab_send(&lab, peers[i], sizes[j]);
		probes[6] = lab_send(&lab, elsewhere[i], 1400);
		lab_wait(&lab, 7);
		for (unsigned j = 0; j < 6; j++) {
			if (errors[j] == 0)
				assert_answers(&lab, &probes[j], ANSWER_ECHO);
			else
				assert_refused(&lab, &probes[j], errors[j]);
		}
		assert_refused(&lab, &probes[6], -ENETUNREACH);
	}
	ck_assert_uint_eq(prober_sent(lab.prober), 8);
	lab_close(&lab);
}
END_TEST

START_TEST(refusals_come_from_the_loop)
{
	struct lab lab;

	lab_pair(&lab, 1500);
	for (unsigned i = 0; i < 500; i++)
		lab_send(&lab, "192.0.2.2", 1501);
	lab_send(&lab, "192.0.2.2", 20);
	prober_flush(lab.prober);
	ck_assert_uint_eq(lab.count, 0);
	lab_wait(&lab, 501);
	ck_assert_uint_eq(lab.batches, 1);
	for (unsigned i = 0; i < 501; i++)
		ck_assert_int_eq(lab.answers[i].kind, ANSWER_REFUSED);
	lab_close(&lab);
}
END_TEST

START_TEST(link_goes_away)
{
	struct lab lab;
	struct probe ipv4, ipv6;

	lab_pair(&lab, 1500);
	host_run(0, "ip link set a0 down");
	ipv4 = lab_send(&lab, "192.0.2.2", 1500);
	ipv6 = lab_send(&lab, "2001:db8::2", 1500);
	lab_wait(&lab, 2);
	assert_refused(&lab, &ipv4, -ENETUNREACH);
	assert_refused(&lab, &ipv6, -ENETUNREACH);
	lab_close(&lab);
}
END_TEST

START_TEST(fragmented_reply)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	const struct answer *answer;

	/* the way back is smaller */
	host_run(peer, "ip route replace 192.0.2.1/32 dev b0 mtu 1500;"
		       "ip route add 2001:db8::1/128 dev b0 mtu 1500");
	lab_send(&lab, "192.0.2.2", 9000);
	lab_send(&lab, "2001:db8::2", 9000);
	lab_wait(&lab, 2);
	for (uint16_t i = 0; i < 2; i++) {
		answer = lab_answer(&lab, i);
		ck_assert_int_eq(answer->kind, ANSWER_ECHO);
		ck_assert_uint_eq(answer->size, 9000);
		/* fragments carry a multiple of 8 behind their headers: RFC 791 section 3.2 */
		ck_assert_uint_eq(answer->fragment, i == 0 ? 1500 : 1496);
	}
	lab_close(&lab);
}
END_TEST

/* More answers than the buffer holds while nobody reads. */
static void overflow_cause(struct lab *lab)
{
	uint32_t room = prober_receive_buffer(lab->prober);

	ck_assert_uint_ge(room, 16 << 20);
	for (uint32_t charged = 0; charged < room + (8U << 20); charged += 9000)
		lab_send(lab, "192.0.2.2", 9000);
	prober_flush(lab->prober);
}

START_TEST(overflow_is_told)
{
	struct lab lab;
	unsigned sent;

	lab_pair(&lab, 9000);
	overflow_cause(&lab);
	sent = lab.sequence;
	while (sd_event_run(lab.event, 0) > 0)
		;
	ck_assert_uint_lt(lab.count, sent);
	ck_assert_uint_ge(lab.overflows, 1);
	ck_assert(!prober_check_overflow(lab.prober)); /* told once */
	lab.count = 0;
	lab_send(&lab, "192.0.2.2", 9000);
	lab_wait(&lab, 1);
	ck_assert_uint_eq(lab.overflows, 1);
	lab_close(&lab);
}
END_TEST

START_TEST(overflow_is_found_unread)
{
	struct lab lab;

	lab_pair(&lab, 9000);
	ck_assert(!prober_check_overflow(lab.prober));
	overflow_cause(&lab);
	ck_assert(prober_check_overflow(lab.prober));
	ck_assert(!prober_check_overflow(lab.prober));
	while (sd_event_run(lab.event, 0) > 0)
		;
	ck_assert_uint_eq(lab.overflows, 0);
	lab_close(&lab);
}
END_TEST

/* A slow link keeps more than the send buffer holds: the rest waits for it, in order, however slowly
 * the packets were made; then the link is a fast one. The peer's own counter tells what arrived; of so
 * many large ones it may leave some without a reply. */
START_TEST(full_send_buffer)
{
	uint64_t end = now_monotonic() + PATIENCE_USEC;
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	unsigned count = 4500;

	host_run(0, "tc qdisc add dev a0 root tbf rate 1mbit burst 20000 limit 100000000");
	for (unsigned i = 0; i < count; i++)
		lab_send(&lab, "192.0.2.2", 9000);
	prober_flush(lab.prober);
	ck_assert_uint_lt(prober_sent(lab.prober), count);
	host_run(0, "tc qdisc change dev a0 root tbf rate 200mbit burst 20000 limit 100000000");
	while (prober_sent(lab.prober) < count && now_monotonic() < end)
		sd_event_run(lab.event, 100 * USEC_PER_MSEC);
	/* one more was the ping of lab_pair() */
	while (host_try(peer, "nstat -asz IcmpInEchos | grep -q \" %u \"", count + 1) != 0) {
		ck_assert_uint_lt(now_monotonic(), end);
		sd_event_run(lab.event, 10 * USEC_PER_MSEC);
	}
	ck_assert_uint_eq(prober_sent(lab.prober), count);
	/* how many are heard is the machine's to say: a busy one comes too late for some */
	ck_assert_uint_gt(lab.count, 0);
	for (unsigned i = 0; i < lab.count; i++) {
		ck_assert_int_eq(lab.answers[i].kind, ANSWER_ECHO);
		ck_assert(i == 0 || lab.answers[i].sequence > lab.answers[i - 1].sequence);
	}
	lab_close(&lab);
}
END_TEST

/* Handlers may send, be refused, and send again. */
static void resend_on_answer(const struct answer *answer, uint64_t now_usec, void *userdata)
{
	struct lab *lab = userdata;

	lab_on_answer(answer, now_usec, lab);
	if (lab->count < 300)
		lab_send(lab, "192.0.2.2", lab->count % 2 == 0 ? 1500 : 1501);
}

static void resend_on_batch_end(uint64_t now_usec, void *userdata)
{
	struct lab *lab = userdata;

	lab_on_batch_end(now_usec, lab);
	prober_flush(lab->prober);
}

START_TEST(handlers_may_send)
{
	static const struct prober_handlers handlers = {resend_on_answer, resend_on_batch_end,
							lab_on_overflow};
	struct lab lab;

	lab_pair(&lab, 1500);
	prober_free(lab.prober);
	ck_assert_int_eq(prober_new(&lab.prober, lab.event, &handlers, &lab), 0);
	lab_send(&lab, "192.0.2.2", 1501);
	lab_wait(&lab, 300);
	lab_close(&lab);
}
END_TEST

/* The kernel keeps the replies to them from us; another program's reports may be ours and come. */
START_TEST(pings_of_others_wake_nobody)
{
	struct lab lab;

	lab_pair(&lab, 1500);
	host_run(0, "ping -qc3 -i0.01 -w5 192.0.2.2 >/dev/null; ping -qc3 -i0.01 -s40 -p a5 -w5 "
		    "2001:db8::2 >/dev/null");
	lab_send(&lab, "192.0.2.2", 1500);
	lab_send(&lab, "2001:db8::2", 1500);
	lab_wait(&lab, 2);
	ck_assert_uint_eq(prober_received(lab.prober), 2);
	lab_close(&lab);
}
END_TEST

/* RFC 792 says nothing of the least a reply may hold: one that is too short to show more is heard. */
START_TEST(shortest_replies)
{
	struct lab lab;

	lab_pair(&lab, 1500);
	lab_send(&lab, "192.0.2.2", 36);
	lab_send(&lab, "192.0.2.2", 39);
	lab_send(&lab, "192.0.2.2", 40);
	lab_send(&lab, "2001:db8::2", 56);
	lab_send(&lab, "2001:db8::2", 59);
	lab_send(&lab, "2001:db8::2", 60);
	lab_wait(&lab, 6);
	lab_close(&lab);
}
END_TEST

static int on_other(sd_event_source *source, void *userdata)
{
	const struct lab *lab = userdata;

	ck_assert_uint_lt(lab->count, 8000);
	return sd_event_exit(lab->event, 0);
}

/* Whoever sends answers without end does not keep the loop to himself. */
START_TEST(floods_leave_others_a_turn)
{
	uint64_t end = now_monotonic() + PATIENCE_USEC;
	sd_event_source *other = NULL;
	struct lab lab;

	lab_pair(&lab, 1500);
	for (unsigned i = 0; i < 8000; i++)
		lab_send(&lab, "192.0.2.2", 68);
	prober_flush(lab.prober);
	/* one more was the ping of lab_pair() */
	while (host_try(0, "nstat -asz IcmpInEchoReps | grep -q \" 8001 \"") != 0)
		ck_assert_uint_lt(now_monotonic(), end);
	ck_assert_int_ge(sd_event_add_defer(lab.event, &other, on_other, &lab), 0);
	ck_assert_int_ge(sd_event_loop(lab.event), 0);
	sd_event_source_unref(other);
	lab_close(&lab);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, echoes_of_every_size);
	tcase_add_test(tests, largest_packets);
	tcase_add_test(tests, bytes_on_the_wire);
	tcase_add_test(tests, link_and_source_per_packet);
	tcase_add_test(tests, link_local_with_zone);
	tcase_add_test(tests, router_says_too_big);
	tcase_add_test(tests, time_to_live_per_packet);
	tcase_add_test(tests, router_has_no_way);
	tcase_add_test(tests, refusals_leave_others_alone);
	tcase_add_test(tests, refusals_come_from_the_loop);
	tcase_add_test(tests, link_goes_away);
	tcase_add_test(tests, fragmented_reply);
	tcase_add_test(tests, overflow_is_told);
	tcase_add_test(tests, overflow_is_found_unread);
	tcase_add_test(tests, full_send_buffer);
	tcase_add_test(tests, handlers_may_send);
	tcase_add_test(tests, pings_of_others_wake_nobody);
	tcase_add_test(tests, shortest_replies);
	tcase_add_test(tests, floods_leave_others_a_turn);
}

int main(void)
{
	const char *reason = reason_to_skip();
	Suite *suite = suite_create("prober");
	TCase *tests = tcase_create("kernel");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tests);
	add_tests(tests);
	if (reason != NULL) {
		printf("1..0 # SKIP %s\n", reason);
	} else {
		srunner_set_tap(runner, "-");
		srunner_run_all(runner, CK_SILENT);
	}
	srunner_free(runner);
	return EXIT_SUCCESS;
}
