/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes other than echo against real kernels: SYN, UDP, and a responder, which is a small stub
 * here. And what the ports they go from are kept from.
 */
#include "prober_lab.h"

#include "../../daemon/world/responder_message.h"

#define FLOW 47000 /* source port of most probes */
#define OPEN 2049
#define CLOSED 2050

static const char *const here[] = {"192.0.2.1", "2001:db8::1"};
static const char *const there[] = {"192.0.2.2", "2001:db8::2"};
static const char *const routed_here[] = {"192.0.2.1", "2001:db8:1::1"};
static const char *const routed_there[] = {"198.51.100.2", "2001:db8:2::2"};
static const char *const routers[] = {"192.0.2.254", "2001:db8:1::fe"};
static const uint8_t families[] = {ADDRESS_IPV4, ADDRESS_IPV6};
static const uint32_t ip_headers[] = {20, 40};
static const enum probe_kind kinds[] = {PROBE_SYN, PROBE_UDP, PROBE_RESPONDER};

/* A port for each kind and family: FLOW + kind. */
static void lab_keep(struct lab *lab)
{
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < 3; k++)
			ck_assert_int_eq(prober_keep_port(lab->prober, kinds[k], families[i],
							  (uint16_t)(FLOW + kinds[k])),
					 0);
	}
}

static struct probe method_probe(struct lab *lab, enum probe_kind kind, const char *from,
				 const char *to)
{
	struct probe probe = probe_of(lab, to, 1400);

	probe.kind = kind;
	probe.from = address_of(from);
	probe.ident = (uint16_t)(FLOW + kind);
	probe.port = CLOSED;
	return probe;
}

/* Sends it and waits until it has its answer, which is the only one. */
static const struct answer *lab_ask(struct lab *lab, const struct probe *probe)
{
	lab->count = 0;
	prober_send(lab->prober, probe);
	lab_wait(lab, 1);
	ck_assert_int_eq(lab->answers[0].probe, probe->kind);
	ck_assert(address_equal(&lab->answers[0].to, &probe->to));
	ck_assert_uint_eq(lab->answers[0].ident, probe->ident);
	return &lab->answers[0];
}

/* The next packet of that protocol, which is `length` long: neighbours talk too. */
static void tap_read_only(int fd, uint8_t protocol, uint8_t packet[static 64], size_t length)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	ssize_t r;

	do {
		ck_assert_int_eq(poll(&ready, 1, 10000), 1);
		r = recv(fd, packet, 64, MSG_TRUNC);
	} while (packet[packet[0] >> 4 == 4 ? 9 : 6] != protocol);
	ck_assert_int_eq(r, (ssize_t)length);
}

/* A bound socket in the namespace of `host`; it listens if it is a stream. */
static int host_socket(pid_t host, uint8_t family, int type, uint16_t port)
{
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	bool is_ipv6 = family == ADDRESS_IPV6;
	char path[64];
	int ours, theirs, fd, r, one = 1;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)host);
	ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	theirs = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(setns(theirs, CLONE_NEWNET), 0);
	fd = socket(is_ipv6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(fd, 0);
	if (is_ipv6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	r = is_ipv6 ? bind(fd, (const struct sockaddr *)&ipv6, sizeof(ipv6))
		    : bind(fd, (const struct sockaddr *)&ipv4, sizeof(ipv4));
	ck_assert_int_eq(r, 0);
	if (type == SOCK_STREAM)
		ck_assert_int_eq(listen(fd, 64), 0);
	ck_assert_int_eq(setns(ours, CLONE_NEWNET), 0);
	close(ours);
	close(theirs);
	return fd;
}

/* True once no connection of `host` is half-open. */
static bool host_is_clear(pid_t host)
{
	return host_try(host, "test -z \"$(ss -Htan state syn-recv)\"") == 0;
}

static void assert_clear(struct lab *lab, pid_t host)
{
	uint64_t end = now_monotonic() + PATIENCE_USEC;

	while (!host_is_clear(host)) {
		ck_assert_uint_lt(now_monotonic(), end);
		sd_event_run(lab->event, 10 * USEC_PER_MSEC);
	}
}

static uint32_t probe_number(const struct probe *probe)
{
	return (uint32_t)(probe->nonce & 0xffff) << 16 | probe->sequence;
}

static void assert_syn(struct lab *lab, struct probe *probe, unsigned family, bool listens)
{
	uint32_t data = probe->size - ip_headers[family] - 20;
	const struct answer *answer;

	probe->sequence = lab->sequence++;
	probe->nonce += 0x10003;
	probe->port = listens ? OPEN : CLOSED;
	answer = lab_ask(lab, probe);
	ck_assert_int_eq(answer->error, 0);
	ck_assert_int_eq(answer->kind, ANSWER_DELIVERED);
	ck_assert(address_equal(&answer->from, &probe->to));
	ck_assert_int_eq(answer->link, (int)if_nametoindex("a0"));
	ck_assert_uint_eq(answer->acknowledged, probe_number(probe) + 1 + (listens ? 0 : data));
	ck_assert(!answer->has_nonce);
}

/* Bare, the smallest controls, odd ones, all up to the link's MTU. */
START_TEST(syn_of_many_sizes)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);

	lab_keep(&lab);
	for (unsigned i = 0; i < 2; i++) {
		int fd = host_socket(peer, families[i], SOCK_STREAM, OPEN);
		struct probe probe = method_probe(&lab, PROBE_SYN, here[i], there[i]);

		probe.size = ip_headers[i] + 20;
		assert_syn(&lab, &probe, i, true);
		assert_syn(&lab, &probe, i, false);
		for (probe.size = ip_headers[i] + 48; probe.size <= 9000; probe.size += 319) {
			assert_syn(&lab, &probe, i, true);
			assert_syn(&lab, &probe, i, false);
		}
		probe.size = 9000;
		assert_syn(&lab, &probe, i, true);
		assert_syn(&lab, &probe, i, false);
		assert_clear(&lab, peer);
		close(fd);
	}
	ck_assert_uint_eq(lab.overflows, 0);
	lab_close(&lab);
}
END_TEST

START_TEST(syn_on_the_wire)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	int taps[] = {tap_open(peer, "b0", ETH_P_IP), tap_open(peer, "b0", ETH_P_IPV6)};
	uint8_t packet[64];

	lab_keep(&lab);
	for (unsigned i = 0; i < 2; i++) {
		int fd = host_socket(peer, families[i], SOCK_STREAM, OPEN);
		struct probe probe = method_probe(&lab, PROBE_SYN, here[i], there[i]);
		uint8_t *tcp = packet + ip_headers[i];
		uint64_t sent = prober_sent(lab.prober);

		probe.size = 9000;
		probe.ttl = 9;
		probe.nonce = 0x1122334455667788ULL;
		probe.sequence = 0x99aa;
		probe.port = OPEN;
		lab_ask(&lab, &probe);
		tap_read_only(taps[i], IPPROTO_TCP, packet, 9000);
		if (i == 0)
			ck_assert_mem_eq(packet + 6, "\x40\x00\x09\x06", 4); /* DF alone */
		else
			ck_assert_mem_eq(packet + 6, "\x06\x09", 2); /* no fragment header */
		ck_assert_mem_eq(tcp + 2, "\x08\x01\x77\x88\x99\xaa", 6);
		ck_assert_mem_eq(tcp + 12, "\x50\x02", 2); /* no options, SYN alone */
		/* the kernel's RST and ours */
		for (unsigned j = 0; j < 2; j++) {
			tap_read_only(taps[i], IPPROTO_TCP, packet, ip_headers[i] + 20);
			ck_assert_mem_eq(tcp + 2, "\x08\x01\x77\x88\x99\xab", 6);
			ck_assert_uint_eq(tcp[13], 0x04);
		}
		ck_assert_uint_eq(prober_sent(lab.prober), sent + 2);
		assert_clear(&lab, peer);
		close(fd);
		close(taps[i]);
	}
	lab_close(&lab);
}
END_TEST

static void host_filter(pid_t host, const char *hook, const char *rule)
{
	host_run(host,
		 "printf \"table inet t {\\n chain c {\\n type filter hook %s priority 0;\\n"
		 "%s\\n }\\n}\\n\" | nft -f -",
		 hook, rule);
}

/* The kernel's RST, told by its time to live, is filtered. */
START_TEST(half_open_is_ended_by_us)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 1500);

	lab_keep(&lab);
	host_run(0, "sysctl -qw net.ipv4.ip_default_ttl=33 net.ipv6.conf.a0.hop_limit=33");
	host_filter(0, "output",
		    "tcp flags rst ip ttl 33 drop\\n"
		    "tcp flags rst ip6 hoplimit 33 drop");
	for (unsigned i = 0; i < 2; i++) {
		int fd = host_socket(peer, families[i], SOCK_STREAM, OPEN);
		struct probe probe = method_probe(&lab, PROBE_SYN, here[i], there[i]);

		assert_syn(&lab, &probe, i, true);
		assert_clear(&lab, peer);
		close(fd);
	}
	lab_close(&lab);
}
END_TEST

/* A filter takes the SYN-ACK: neither the kernel nor we see it. */
START_TEST(half_open_is_ended_blindly)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 1500);

	lab_keep(&lab);
	host_filter(0, "input", "tcp flags & (syn|ack) == (syn|ack) drop");
	for (unsigned i = 0; i < 2; i++) {
		int fd = host_socket(peer, families[i], SOCK_STREAM, OPEN);
		struct probe probe = method_probe(&lab, PROBE_SYN, here[i], there[i]);
		uint64_t end = now_monotonic() + PATIENCE_USEC;

		probe.port = OPEN;
		prober_send(lab.prober, &probe);
		prober_flush(lab.prober);
		while (host_is_clear(peer))
			ck_assert_uint_lt(now_monotonic(), end);
		prober_end_syn(lab.prober, &probe);
		assert_clear(&lab, peer);
		close(fd);
	}
	ck_assert_uint_eq(lab.count, 0);
	lab_close(&lab);
}
END_TEST

/* The peer answers no echo; this host's own firewall tracks connections. */
START_TEST(syn_through_filters)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);

	lab_keep(&lab);
	host_filter(peer, "input", "icmp type echo-request drop\\nicmpv6 type echo-request drop");
	host_filter(0, "input", "ct state invalid drop");
	for (unsigned i = 0; i < 2; i++) {
		int fd = host_socket(peer, families[i], SOCK_STREAM, OPEN);
		struct probe probe = method_probe(&lab, PROBE_SYN, here[i], there[i]);

		for (unsigned j = 0; j < 3; j++) {
			probe.size = 9000;
			assert_syn(&lab, &probe, i, true);
			assert_clear(&lab, peer);
			assert_syn(&lab, &probe, i, false);
		}
		close(fd);
	}
	lab_close(&lab);
}
END_TEST

START_TEST(syn_to_link_local)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	int fd = host_socket(peer, ADDRESS_IPV6, SOCK_STREAM, OPEN);
	struct probe probe;

	lab_keep(&lab);
	host_run(peer, "ip address add fe80::b/64 dev b0 nodad");
	host_run(0, "ip address add fe80::a/64 dev a0 nodad");
	probe = method_probe(&lab, PROBE_SYN, "fe80::a", "fe80::b");
	probe.to.zone = probe.from.zone = (int)if_nametoindex("a0");
	assert_syn(&lab, &probe, 1, true);
	assert_clear(&lab, peer);
	assert_syn(&lab, &probe, 1, false);
	close(fd);
	lab_close(&lab);
}
END_TEST

/* More than a batch at once, each from its own port. */
START_TEST(syn_by_the_hundred)
{
	struct lab lab;

	lab_pair(&lab, 9000);
	for (unsigned i = 0; i < 2; i++) {
		lab.count = 0;
		for (uint16_t port = 30000; port < 30300; port++) {
			struct probe probe = method_probe(&lab, PROBE_SYN, here[i], there[i]);

			ck_assert_int_eq(prober_keep_port(lab.prober, PROBE_SYN, families[i], port),
					 0);
			probe.ident = port;
			probe.size = 9000;
			prober_send(lab.prober, &probe);
		}
		lab_wait(&lab, 300);
		for (unsigned j = 0; j < 300; j++) {
			ck_assert_uint_eq(lab.answers[j].ident, 30000 + j);
			ck_assert_int_eq(lab.answers[j].kind, ANSWER_DELIVERED);
		}
	}
	ck_assert_uint_eq(lab.overflows, 0);
	lab_close(&lab);
}
END_TEST

START_TEST(udp_to_a_closed_port)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	int taps[] = {tap_open(peer, "b0", ETH_P_IP), tap_open(peer, "b0", ETH_P_IPV6)};
	uint8_t packet[64];

	lab_keep(&lab);
	for (unsigned i = 0; i < 2; i++) {
		uint32_t sizes[] = {ip_headers[i] + 40, 1499, 9000};

		for (unsigned j = 0; j < 3; j++) {
			struct probe probe = method_probe(&lab, PROBE_UDP, here[i], there[i]);

			probe.size = sizes[j];
			probe.sequence = (uint16_t)(0x4240 + j);
			lab_ask(&lab, &probe);
			assert_answers(&lab, &probe, ANSWER_DELIVERED);
			assert_from(&lab, &probe, there[i]);
			tap_read_only(taps[i], IPPROTO_UDP, packet, sizes[j]);
			if (i == 0)
				ck_assert_mem_eq(packet + 5, &"\x40\x40\x41\x40\x42\x40"[j * 2], 2);
		}
		close(taps[i]);
	}
	lab_close(&lab);
}
END_TEST

/* Sequence 0 stays an identification of 0; an answer from an open port is none. */
START_TEST(udp_to_an_open_port)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 1500);
	int tap = tap_open(peer, "b0", ETH_P_IP);
	int fd = host_socket(peer, ADDRESS_IPV4, SOCK_DGRAM, OPEN);
	struct probe probe = method_probe(&lab, PROBE_UDP, here[0], there[0]);
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	uint8_t packet[64];

	lab_keep(&lab);
	probe.port = OPEN;
	probe.sequence = 0;
	prober_send(lab.prober, &probe);
	prober_flush(lab.prober);
	tap_read_only(tap, IPPROTO_UDP, packet, 1400);
	ck_assert_mem_eq(packet + 4, "\x00\x00\x40\x00", 4);
	ck_assert_int_eq(poll(&ready, 1, 10000), 1);
	/* the checksum was right, or the kernel would not give it */
	ck_assert_int_eq(recvfrom(fd, packet, 64, MSG_TRUNC, (struct sockaddr *)&from, &length),
			 1372);
	ck_assert_mem_eq(packet, &probe.nonce, 8);
	ck_assert_uint_eq(ntohs(from.sin_port), probe.ident);
	ck_assert_int_eq(sendto(fd, "x", 1, 0, (struct sockaddr *)&from, length), 1);
	/* what comes next is the answer to another probe alone */
	lab.sequence = 1;
	probe = method_probe(&lab, PROBE_UDP, here[0], there[0]);
	lab_ask(&lab, &probe);
	assert_answers(&lab, &probe, ANSWER_DELIVERED);
	close(fd);
	close(tap);
	lab_close(&lab);
}
END_TEST

static void assert_report(struct lab *lab, const struct probe *probe, enum answer_kind kind,
			  const char *router)
{
	const struct answer *answer = lab_ask(lab, probe);
	struct address from = address_of(router);

	ck_assert_int_eq(answer->kind, kind);
	ck_assert(address_equal(&answer->from, &from));
	ck_assert_uint_eq(answer->sequence, probe->sequence);
	ck_assert_uint_eq(answer->size, probe->size);
	ck_assert_int_eq(answer->has_nonce, probe->kind != PROBE_SYN);
	ck_assert(answer->nonce ==
		  (probe->kind == PROBE_SYN ? probe->nonce & 0xffff : probe->nonce));
}

START_TEST(reports_about_each_kind)
{
	struct lab lab;
	pid_t router;

	lab_routed(&lab, &router);
	lab_keep(&lab);
	for (unsigned k = 0; k < 3; k++) {
		for (unsigned i = 0; i < 2; i++) {
			struct probe probe =
				method_probe(&lab, kinds[k], routed_here[i], routed_there[i]);

			probe.size = 9000;
			assert_report(&lab, &probe, ANSWER_TOO_BIG, routers[i]);
			ck_assert_uint_eq(lab.answers[0].mtu, 1500);
			probe.ttl = 1;
			assert_report(&lab, &probe, ANSWER_TIME_EXCEEDED, routers[i]);
		}
	}
	/* no socket of ours let the host learn from them */
	host_run(0, "r=$(ip route get 198.51.100.2); case \"$r\" in "
		    "*mtu*) echo \"$r\" >&2; exit 1;; *198.51.100.2*) ;; *) exit 1;; esac");
	lab_close(&lab);
}
END_TEST

/* A router's port unreachable says nothing of the peer; the peer's about a responder neither. */
START_TEST(refused_ports)
{
	struct lab lab;
	pid_t router;

	lab_routed(&lab, &router);
	lab_keep(&lab);
	for (unsigned i = 0; i < 2; i++) {
		struct probe probe =
			method_probe(&lab, PROBE_RESPONDER, routed_here[i], routed_there[i]);

		assert_report(&lab, &probe, ANSWER_UNREACHABLE, routed_there[i]);
		ck_assert_int_eq(lab.answers[0].error, -ECONNREFUSED);
	}
	host_filter(router, "forward", "meta l4proto udp reject with icmpx type port-unreachable");
	for (unsigned i = 0; i < 2; i++) {
		struct probe probe = method_probe(&lab, PROBE_UDP, routed_here[i], routed_there[i]);

		assert_report(&lab, &probe, ANSWER_UNREACHABLE, routers[i]);
		ck_assert_int_eq(lab.answers[0].error, -ECONNREFUSED);
	}
	lab_close(&lab);
}
END_TEST

/* Speaks for a responder in the peer's namespace: a cookie first; then a receipt and an answer. */
static int stub_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	static const uint8_t filler[9000];
	struct responder_message message;
	struct sockaddr_in6 from;
	socklen_t length = sizeof(from);
	uint32_t ip = *(const uint32_t *)userdata;
	uint8_t bytes[9000];
	ssize_t size;

	size = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &length);
	if (size < 0)
		return 0;
	ck_assert(responder_message_decode(bytes, (size_t)size, &message));
	ck_assert_int_eq(message.kind, RESPONDER_PROBE);
	message.kind = message.cookie == 0 ? RESPONDER_COOKIE : RESPONDER_RECEIPT;
	message.size = ip + 8 + (uint32_t)size;
	message.fragment = 1234;
	if (message.kind == RESPONDER_COOKIE)
		message.cookie = 0xc00c1e;
	responder_message_encode(&message, bytes);
	sendto(fd, bytes, RESPONDER_MESSAGE_SIZE, 0, (struct sockaddr *)&from, length);
	if (message.kind == RESPONDER_COOKIE)
		return 0;
	message.kind = RESPONDER_ANSWER;
	memcpy(bytes, filler, sizeof(bytes));
	responder_message_encode(&message, bytes);
	sendto(fd, bytes, (size_t)size, 0, (struct sockaddr *)&from, length);
	return 0;
}

static void stub_start(struct lab *lab, pid_t peer)
{
	for (unsigned i = 0; i < 2; i++) {
		int fd = host_socket(peer, families[i], SOCK_DGRAM, RESPONDER_PORT);

		ck_assert_int_ge(sd_event_add_io(lab->event, NULL, fd, EPOLLIN, stub_on_io,
						 (void *)(uintptr_t)&ip_headers[i]),
				 0);
	}
}

static struct probe responder_probe(struct lab *lab, unsigned family, uint32_t size)
{
	struct probe probe = method_probe(lab, PROBE_RESPONDER, here[family], there[family]);

	probe.size = size;
	probe.port = RESPONDER_PORT;
	probe.cookie = 0xc00c1e;
	return probe;
}

/* A receipt and the answer behind it, which came in fragments of that size at most. */
static void assert_exchange(struct lab *lab, const struct probe *probe, uint32_t fragment)
{
	const struct answer *receipt = lab->answers, *echo = lab->answers + 1;

	lab->count = 0;
	prober_send(lab->prober, probe);
	lab_wait(lab, 2);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(lab->answers[i].probe, PROBE_RESPONDER);
		ck_assert_uint_eq(lab->answers[i].ident, probe->ident);
		ck_assert_uint_eq(lab->answers[i].sequence, probe->sequence);
		ck_assert(lab->answers[i].has_nonce && lab->answers[i].nonce == probe->nonce);
		ck_assert_uint_eq(lab->answers[i].size, probe->size);
		ck_assert(address_equal(&lab->answers[i].from, &probe->to));
		ck_assert(address_equal(&lab->answers[i].to, &probe->to));
		ck_assert_int_eq(lab->answers[i].link, (int)if_nametoindex("a0"));
	}
	ck_assert_int_eq(receipt->kind, ANSWER_DELIVERED);
	ck_assert_uint_eq(receipt->fragment, 1234);
	ck_assert_int_eq(echo->kind, ANSWER_ECHO);
	ck_assert_uint_eq(echo->fragment, fragment);
}

START_TEST(responder_exchange)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);

	lab_keep(&lab);
	stub_start(&lab, peer);
	for (unsigned i = 0; i < 2; i++) {
		struct probe probe = responder_probe(&lab, i, ip_headers[i] + 40);
		const struct answer *answer;

		probe.cookie = 0;
		answer = lab_ask(&lab, &probe);
		ck_assert_int_eq(answer->kind, ANSWER_COOKIE);
		ck_assert(answer->cookie == 0xc00c1e && answer->nonce == probe.nonce);
		ck_assert_uint_eq(answer->sequence, probe.sequence);
		probe.cookie = answer->cookie;
		assert_exchange(&lab, &probe, 0);
		probe = responder_probe(&lab, i, 9000);
		assert_exchange(&lab, &probe, 0);
	}
	/* the way back is smaller */
	host_run(peer, "ip route replace 192.0.2.1/32 dev b0 mtu 1500;"
		       "ip route add 2001:db8::1/128 dev b0 mtu 1500");
	for (unsigned i = 0; i < 2; i++) {
		struct probe probe = responder_probe(&lab, i, 8999);

		assert_exchange(&lab, &probe, i == 0 ? 1500 : 1496);
	}
	lab_close(&lab);
}
END_TEST

START_TEST(responder_overflow_is_told)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 9000);
	int fd = host_socket(peer, ADDRESS_IPV4, SOCK_DGRAM, RESPONDER_PORT);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(FLOW + PROBE_RESPONDER)};
	uint8_t bytes[8000] = {0};
	uint32_t room = prober_receive_buffer(lab.prober);

	lab_keep(&lab);
	inet_pton(AF_INET, here[0], &to.sin_addr);
	fcntl(fd, F_SETFL, 0);
	ck_assert(!prober_check_overflow(lab.prober));
	for (uint32_t charged = 0; charged < room + (8U << 20); charged += sizeof(bytes))
		sendto(fd, bytes, sizeof(bytes), 0, (const struct sockaddr *)&to, sizeof(to));
	ck_assert(prober_check_overflow(lab.prober));
	ck_assert(!prober_check_overflow(lab.prober));
	while (sd_event_run(lab.event, 0) > 0)
		;
	ck_assert_uint_eq(lab.count, 0);
	close(fd);
	lab_close(&lab);
}
END_TEST

static void release_on_answer(const struct answer *answer, uint64_t now_usec, void *userdata)
{
	struct lab *lab = userdata;

	lab_on_answer(answer, now_usec, lab);
	prober_release_port(lab->prober, answer->probe, answer->to.family, answer->ident);
}

/* In the midst of a batch of that very port; what was read with it is not ours any more. */
START_TEST(handlers_may_release)
{
	static const struct prober_handlers handlers = {release_on_answer, lab_on_batch_end,
							lab_on_overflow};
	struct lab lab;
	pid_t peer = lab_pair(&lab, 1500);

	prober_free(lab.prober);
	ck_assert_int_eq(prober_new(&lab.prober, lab.event, &handlers, &lab), 0);
	stub_start(&lab, peer);
	for (unsigned i = 0; i < 4; i++) {
		struct probe probe = responder_probe(&lab, i % 2, 1500);

		lab_keep(&lab);
		lab_ask(&lab, &probe);
		probe = method_probe(&lab, PROBE_SYN, here[i % 2], there[i % 2]);
		lab_ask(&lab, &probe);
		for (unsigned k = 0; k < 3; k++) {
			for (unsigned j = 0; j < 2; j++)
				prober_release_port(lab.prober, kinds[k], families[j],
						    (uint16_t)(FLOW + kinds[k]));
		}
	}
	lab_close(&lab);
}
END_TEST

/* A program's own socket with that port, or any while the host has no other: 0 or the errno. */
static int other_program(uint8_t family, int type, uint16_t port)
{
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(family == ADDRESS_IPV6 ? AF_INET6 : AF_INET, type, 0), one = 1, r;

	ck_assert_int_ge(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (port == 0 && type == SOCK_STREAM) {
		ipv4.sin_port = ipv6.sin6_port = htons(OPEN);
		inet_pton(AF_INET, there[0], &ipv4.sin_addr);
		inet_pton(AF_INET6, there[1], &ipv6.sin6_addr);
		r = family == ADDRESS_IPV6
			    ? connect(fd, (const struct sockaddr *)&ipv6, sizeof(ipv6))
			    : connect(fd, (const struct sockaddr *)&ipv4, sizeof(ipv4));
	} else {
		r = family == ADDRESS_IPV6 ? bind(fd, (const struct sockaddr *)&ipv6, sizeof(ipv6))
					   : bind(fd, (const struct sockaddr *)&ipv4, sizeof(ipv4));
	}
	r = r < 0 ? errno : 0;
	close(fd);
	return r;
}

START_TEST(kept_ports_are_ours)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 1500);

	for (unsigned i = 0; i < 2; i++)
		host_socket(peer, families[i], SOCK_STREAM, OPEN);
	/* the only port that there is to get */
	host_run(0, "sysctl -qw net.ipv4.ip_local_port_range=\"%u %u\"", FLOW, FLOW);
	for (unsigned k = 0; k < 3; k++) {
		int type = kinds[k] == PROBE_SYN ? SOCK_STREAM : SOCK_DGRAM;

		for (unsigned i = 0; i < 2; i++) {
			ck_assert_int_eq(prober_keep_port(lab.prober, kinds[k], families[i], FLOW),
					 0);
			ck_assert_int_eq(prober_keep_port(lab.prober, kinds[k], families[i], FLOW),
					 -EADDRINUSE);
		}
		for (unsigned i = 0; i < 2; i++) {
			ck_assert_int_eq(other_program(families[i], type, FLOW), EADDRINUSE);
			ck_assert_int_ne(other_program(families[i], type, 0), 0);
			prober_release_port(lab.prober, kinds[k], families[i], FLOW);
		}
		for (unsigned i = 0; i < 2; i++) {
			ck_assert_int_eq(other_program(families[i], type, FLOW), 0);
			ck_assert_int_eq(prober_keep_port(lab.prober, kinds[k], families[i], FLOW),
					 0);
			prober_release_port(lab.prober, kinds[k], families[i], FLOW);
		}
	}
	ck_assert_int_eq(other_program(ADDRESS_IPV4, SOCK_STREAM, 0), 0);
	ck_assert_int_eq(prober_keep_port(lab.prober, PROBE_ECHO, ADDRESS_IPV4, FLOW), -EINVAL);
	ck_assert_int_eq(prober_keep_port(lab.prober, PROBE_SYN, ADDRESS_IPV4, 0), -EINVAL);
	lab_close(&lab);
}
END_TEST

/* Connections of this host from ports between ours live on, and their segments cost us nothing. */
START_TEST(others_connections_are_left_alone)
{
	struct lab lab;
	pid_t peer = lab_pair(&lab, 1500);

	host_run(0, "sysctl -qw net.ipv4.ip_local_port_range=\"%u %u\"", FLOW, FLOW + 100);
	for (unsigned i = 0; i < 2; i++) {
		struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(OPEN)};
		struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(OPEN)};
		int listener = host_socket(peer, families[i], SOCK_STREAM, OPEN), here_fd, there_fd;
		uint8_t bytes[65536] = {0};
		uint64_t before = prober_received(lab.prober);

		prober_keep_port(lab.prober, PROBE_SYN, families[i], FLOW);
		prober_keep_port(lab.prober, PROBE_SYN, families[i], FLOW + 100);
		inet_pton(AF_INET, there[0], &ipv4.sin_addr);
		inet_pton(AF_INET6, there[1], &ipv6.sin6_addr);
		here_fd = socket(i == 0 ? AF_INET : AF_INET6, SOCK_STREAM, 0);
		ck_assert_int_eq(i == 0 ? connect(here_fd, (struct sockaddr *)&ipv4, sizeof(ipv4))
					: connect(here_fd, (struct sockaddr *)&ipv6, sizeof(ipv6)),
				 0);
		there_fd = accept(listener, NULL, NULL);
		ck_assert_int_ge(there_fd, 0);
		/* back and forth, so that segments and acknowledgements come to us */
		for (unsigned n = 0; n < 300; n++) {
			ck_assert_int_eq(send(there_fd, bytes, sizeof(bytes), 0), sizeof(bytes));
			ck_assert_int_eq(recv(here_fd, bytes, sizeof(bytes), MSG_WAITALL),
					 sizeof(bytes));
			ck_assert_int_eq(send(here_fd, bytes, 1000, 0), 1000);
			ck_assert_int_eq(recv(there_fd, bytes, 1000, MSG_WAITALL), 1000);
		}
		while (sd_event_run(lab.event, 0) > 0)
			;
		/* the one SYN-ACK, which is not handed on */
		ck_assert_uint_eq(prober_received(lab.prober) - before, 1);
		close(here_fd);
		close(there_fd);
		close(listener);
	}
	ck_assert_uint_eq(lab.count, 0);
	ck_assert_uint_eq(lab.overflows, 0);
	ck_assert_uint_eq(prober_sent(lab.prober), 0);
	lab_close(&lab);
}
END_TEST

START_TEST(probes_that_are_refused)
{
	struct lab lab;
	struct probe probe;

	lab_pair(&lab, 1500);
	lab_keep(&lab);
	for (unsigned k = 0; k < 3; k++) {
		for (unsigned i = 0; i < 2; i++) {
			const struct probe good = method_probe(&lab, kinds[k], here[i], there[i]);

			probe = good;
			probe.from = (struct address){.family = ADDRESS_NONE};
			lab_ask(&lab, &probe);
			assert_refused(&lab, &probe, -EADDRNOTAVAIL);
			probe = good;
			probe.ident++; /* kept for another kind or for none */
			lab_ask(&lab, &probe);
			assert_refused(&lab, &probe, -EADDRNOTAVAIL);
			probe = good;
			probe.port = 0;
			lab_ask(&lab, &probe);
			assert_refused(&lab, &probe, -EINVAL);
			probe = good;
			probe.size = ip_headers[i] + (kinds[k] == PROBE_SYN ? 19 : 39);
			lab_ask(&lab, &probe);
			assert_refused(&lab, &probe, -EINVAL);
			probe = good;
			probe.size = 1501;
			lab_ask(&lab, &probe);
			assert_refused(&lab, &probe, -EMSGSIZE);
		}
		probe = method_probe(&lab, kinds[k], "2001:db8::99", there[1]); /* not ours */
		lab_ask(&lab, &probe);
		assert_refused(&lab, &probe, -EINVAL);
	}
	ck_assert_uint_eq(prober_sent(lab.prober), 0);
	lab_close(&lab);
}
END_TEST

int main(void)
{
	const char *reason = reason_to_skip();
	Suite *suite = suite_create("methods");
	TCase *tests = tcase_create("kernel");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, syn_of_many_sizes);
	tcase_add_test(tests, syn_on_the_wire);
	tcase_add_test(tests, half_open_is_ended_by_us);
	tcase_add_test(tests, half_open_is_ended_blindly);
	tcase_add_test(tests, syn_through_filters);
	tcase_add_test(tests, syn_to_link_local);
	tcase_add_test(tests, syn_by_the_hundred);
	tcase_add_test(tests, udp_to_a_closed_port);
	tcase_add_test(tests, udp_to_an_open_port);
	tcase_add_test(tests, reports_about_each_kind);
	tcase_add_test(tests, refused_ports);
	tcase_add_test(tests, responder_exchange);
	tcase_add_test(tests, responder_overflow_is_told);
	tcase_add_test(tests, handlers_may_release);
	tcase_add_test(tests, kept_ports_are_ours);
	tcase_add_test(tests, others_connections_are_left_alone);
	tcase_add_test(tests, probes_that_are_refused);
	if (reason != NULL) {
		printf("1..0 # SKIP %s\n", reason);
	} else {
		srunner_set_tap(runner, "-");
		srunner_run_all(runner, CK_SILENT);
	}
	srunner_free(runner);
	return EXIT_SUCCESS;
}
