/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whom the responder does not answer, and how much of it anybody gets: forged senders, floods, a
 * short budget.
 */
#include "responder-lab.h"

/* A probe with headers of the test's own making, by a raw socket of the other namespace. */
static void forge(const struct lab *lab, const char *from, uint16_t port, uint32_t size)
{
	uint8_t packet[SIZE_LARGEST] = {0}, *udp;
	struct responder_message message = {.kind = RESPONDER_PROBE, .cookie = 42};
	struct address source = address(from), target = address(here[0]);
	bool ipv6 = source.family == ADDRESS_IPV6;
	union socket_address to;
	socklen_t length = address_put(&to, here[ipv6], 0);
	int fd = other_socket(lab->other, ipv6 ? AF_INET6 : AF_INET, SOCK_RAW, IPPROTO_RAW);
	uint32_t sum = 0, begin = ipv6 ? 8 : 12;

	target = address(here[ipv6]);
	udp = packet + (ipv6 ? 40 : 20);
	memcpy(packet + begin, source.bytes, ipv6 ? 16 : 4);
	memcpy(packet + begin + (ipv6 ? 16 : 4), target.bytes, ipv6 ? 16 : 4);
	memcpy(udp,
	       (uint16_t[]){htons(port), htons(RESPONDER_PORT),
			    htons((uint16_t)(size - headers[ipv6] + 8))},
	       6);
	responder_message_encode(&message, udp + 8);
	sum = IPPROTO_UDP + size - headers[ipv6] + 8;
	for (uint32_t i = begin; i < size; i += 2)
		sum += (uint32_t)packet[i] << 8 | packet[i + 1];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	udp[6] = (uint8_t)(~sum >> 8);
	udp[7] = (uint8_t)~sum;
	if (ipv6) {
		memcpy(packet,
		       (uint8_t[]){0x60, 0, 0, 0, (uint8_t)((size - 40) >> 8), (uint8_t)(size - 40),
				   IPPROTO_UDP, 64},
		       8);
	} else {
		memcpy(packet,
		       (uint8_t[]){0x45, 0, (uint8_t)(size >> 8), (uint8_t)size, 0, 0, 0x40, 0, 64,
				   IPPROTO_UDP},
		       10);
	}
	ck_assert_int_eq(sendto(fd, packet, size, 0, &to.any, length), size);
	close(fd);
}

/* Who is made to look like asking gets less than was sent, of the smallest size there is. */
START_TEST(forged_source)
{
	static const uint32_t sizes[] = {SIZE, 1280, 100};
	struct lab lab;
	struct client client;
	uint8_t packet[128];

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	ck_assert_uint_eq(tap_next(&lab, packet), smallest[_i]);
	/* or the answers would wait for a neighbour that is not there */
	other_run(&lab, "ip link set b0 address 02:00:00:00:00:02");
	run("ip neighbour replace %s dev a0 lladdr 02:00:00:00:00:02 nud permanent", nobody[_i]);
	run("ip neighbour replace %s dev a0 lladdr 02:00:00:00:00:02 nud permanent", peer[_i]);
	for (unsigned i = 0; i < 3; i++)
		forge(&lab, nobody[_i], 1234, sizes[i]);
	client_expect_nothing(&client);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(tap_next(&lab, packet), smallest[_i]);
		ck_assert_uint_eq(packet[(_i == 0 ? 28 : 48) + 5], RESPONDER_COOKIE);
		ck_assert_uint_eq(packet[_i == 0 ? 19 : 39], _i == 0 ? 99 : 0x99);
	}
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(tap_next(&lab, packet), smallest[_i]);
		ck_assert_uint_eq(packet[_i == 0 ? 19 : 39], 2);
	}
	ck_assert_uint_eq(tap_next(&lab, packet), 0);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* From this host to itself: a socket of ours, to the address that it has itself. */
static void ask_ourselves(const char *text)
{
	struct responder_message message = {.kind = RESPONDER_PROBE};
	uint8_t bytes[RESPONDER_MESSAGE_SIZE];
	union socket_address to;
	socklen_t length = address_put(&to, text, RESPONDER_PORT);
	int on = 1, fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	responder_message_encode(&message, bytes);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)), 0);
	ck_assert_int_eq(sendto(fd, bytes, sizeof(bytes), 0, &to.any, length), sizeof(bytes));
	close(fd);
}

/* How many datagrams the kernel gave to UDP sockets of this namespace, and they sent. */
static void udp_counters(int at, unsigned long *ret_in, unsigned long *ret_out)
{
	FILE *file = fopen(at == 0 ? "/proc/net/snmp" : "/proc/net/snmp6", "r");
	char line[512];
	int found = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		found += sscanf(line, "Udp: %lu %*u %*u %lu", ret_in, ret_out) == 2 ? 2 : 0;
		found += sscanf(line, "Udp6InDatagrams %lu", ret_in) == 1;
		found += sscanf(line, "Udp6OutDatagrams %lu", ret_out) == 1;
	}
	fclose(file);
	ck_assert_int_eq(found, 2);
}

START_TEST(who_gets_no_answer)
{
	static const char *const many[2] = {"192.0.2.255", "ff02::1"};
	struct lab lab;
	struct client client, asks_many;
	uint8_t packet[128];
	union socket_address to;
	socklen_t length;
	int on = 1;

	lab_open(&lab, 0);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	tap_next(&lab, packet);
	for (enum responder_message_kind kind = RESPONDER_RECEIPT; kind <= RESPONDER_COOKIE; kind++)
		client_send_kind(&client, kind, SIZE);
	ck_assert_int_eq(send(client.fd, packet, 31, 0), 31);
	ck_assert_int_eq(send(client.fd, packet, 0, 0), 0);
	forge(&lab, peer[_i], 0, 200);
	/* to all on the link */
	asks_many = client;
	asks_many.fd = other_socket(lab.other, _i == 0 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
	ck_assert_int_eq(setsockopt(asks_many.fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)), 0);
	ck_assert_int_eq(setsockopt(asks_many.fd, SOL_SOCKET, SO_BINDTODEVICE, "b0", sizeof("b0")),
			 0);
	length = address_put(&to, many[_i], RESPONDER_PORT);
	ck_assert_int_eq(connect(asks_many.fd, &to.any, length), 0);
	client_send(&asks_many, 200);
	client_expect_nothing(&client);
	ck_assert_uint_eq(tap_next(&lab, packet), smallest[_i]);
	ck_assert_uint_eq(tap_next(&lab, packet), smallest[_i]);
	ck_assert_uint_eq(tap_next(&lab, packet), 0);
	close(asks_many.fd);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

START_TEST(not_to_ourselves)
{
	struct lab lab;
	struct client client;
	unsigned long in, out, in_after, out_after;
	const char *const own[] = {here[_i], here_too[_i], _i == 0 ? "127.0.0.1" : "::1"};

	lab_open(&lab, 0);
	run("sysctl -qw net.ipv4.ip_nonlocal_bind=1 net.ipv6.ip_nonlocal_bind=1");
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	udp_counters(_i, &in, &out);
	for (unsigned i = 0; i < 3; i++)
		ask_ourselves(own[i]);
	client_expect_nothing(&client);
	udp_counters(_i, &in_after, &out_after);
	ck_assert_uint_eq(in_after - in, 4);
	/* what we sent here, and for IPv6 (IPv4's are raw) the client's two */
	ck_assert_uint_eq(out_after - out, _i == 0 ? 3 : 5);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* 100 kbit/s, two packets of the largest size at once: hundreds of large probes get no more. */
START_TEST(budget_on_the_wire)
{
	struct lab lab;
	struct client client;
	uint64_t begin, bytes;

	lab_open(&lab, 100000);
	begin = now_usec();
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	for (unsigned i = 0; i < 300; i++) {
		client_send(&client, SIZE);
		ck_assert_int_ge(sd_event_run(lab.event, 0), 0);
		client_drain(&client);
	}
	while (sd_event_run(lab.event, 0) > 0)
		;
	bytes = tap_bytes(&lab);
	ck_assert_uint_ge(bytes, 7 * SIZE);
	ck_assert_uint_le(bytes, 131072 + SIZE + 200 + 12500 * (now_usec() - begin) / USEC_PER_SEC);
	ck_assert_uint_gt(responder_refused(lab.responder), 200);
	ck_assert_uint_eq(responder_answered(lab.responder) + responder_refused(lab.responder),
			  300);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	++*(unsigned *)userdata;
	return sd_event_source_set_time(source, usec + 1000);
}

/* One client asks without end; another is answered every time, and the loop has its turns. */
START_TEST(flood_starves_nobody)
{
	struct lab lab;
	struct client flood, client;
	unsigned answered = 0, turns = 0;
	uint64_t end;
	sd_event_source *timer;

	lab_open(&lab, 2000000);
	flood = client_open(&lab, peer[_i], here[_i]);
	client = client_open(&lab, peer_too[_i], here[_i]);
	client_get_cookie(&flood);
	client_get_cookie(&client);
	ck_assert_int_ge(sd_event_add_time(lab.event, &timer, CLOCK_MONOTONIC, now_usec(), 1,
					   on_timer, &turns),
			 0);
	ck_assert_int_ge(sd_event_source_set_enabled(timer, SD_EVENT_ON), 0);
	end = now_usec() + 2 * USEC_PER_SEC;
	while (now_usec() < end) {
		unsigned before = turns;

		for (unsigned i = 0; i < 20; i++)
			client_send(&flood, 1400);
		if (answered < 10) {
			client_send(&client, 1400);
			client_expect_whole(&client, 1400);
			answered++;
		}
		client_drain(&flood);
		ck_assert_int_ge(sd_event_run(lab.event, 0), 0);
		if (turns == before)
			ck_assert_int_ge(sd_event_run(lab.event, 2000), 0);
	}
	ck_assert_uint_eq(answered, 10);
	ck_assert_uint_gt(turns, 100);
	ck_assert_uint_gt(responder_refused(lab.responder), 1000);
	client_expect_nothing(&client);
	sd_event_source_unref(timer);
	close(flood.fd);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

/* Forged strangers use up what strangers have: who has a cookie does not notice. */
START_TEST(strangers_starve_no_client)
{
	struct lab lab;
	struct client stranger, client;

	lab_open(&lab, 100000);
	stranger = client_open(&lab, peer_too[_i], here[_i]);
	client = client_open(&lab, peer[_i], here[_i]);
	client_get_cookie(&client);
	for (unsigned i = 0; i < 6000; i++) {
		client_send(&stranger, smallest[_i]);
		if (i % 50 == 0) {
			while (sd_event_run(lab.event, 0) > 0)
				;
			client_drain(&stranger);
		}
	}
	client_expect_nothing(&client);
	ck_assert_uint_gt(responder_refused(lab.responder), 1000);
	client_send(&client, SIZE);
	client_expect_whole(&client, SIZE);
	close(stranger.fd);
	close(client.fd);
	lab_close(&lab);
}
END_TEST

START_TEST(port_in_use)
{
	struct lab lab;
	struct responder *second = NULL;

	lab_open(&lab, 0);
	ck_assert_int_eq(responder_new(&second, lab.event, RESPONDER_PORT, 0), -EADDRINUSE);
	ck_assert_ptr_null(second);
	ck_assert_int_eq(responder_new(&second, lab.event, RESPONDER_PORT + 1, 0), 0);
	responder_free(second);
	ck_assert_ptr_null(responder_free(NULL));
	lab_close(&lab);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("responder-limits");
	TCase *tests = tcase_create("responder-limits");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, forged_source, 0, 2);
	tcase_add_loop_test(tests, who_gets_no_answer, 0, 2);
	tcase_add_loop_test(tests, not_to_ourselves, 0, 2);
	tcase_add_loop_test(tests, budget_on_the_wire, 0, 2);
	tcase_add_loop_test(tests, flood_starves_nobody, 0, 2);
	tcase_add_loop_test(tests, strangers_starve_no_client, 0, 2);
	tcase_add_test(tests, port_in_use);
	suite_add_tcase(suite, tests);
	return netns_main(suite);
}
