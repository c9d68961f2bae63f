/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the responder share: it lives here, who asks it lives in another network
 * namespace, and what arrives there is read off the wire too.
 */
#pragma once

#include "netns.h"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sys/socket.h>

#include "../../daemon/world/responder.h"
#include "../../daemon/world/responder_message.h"

#define PATIENCE_USEC (10 * USEC_PER_SEC)
#define SIZE 9000U

/* By family: IPv4, IPv6. */
static const char *const here[2] = {"192.0.2.1", "2001:db8::1"};
static const char *const here_too[2] = {"192.0.2.11", "2001:db8::11"};
static const char *const peer[2] = {"192.0.2.2", "2001:db8::2"};
static const char *const peer_too[2] = {"192.0.2.3", "2001:db8:1::3"};
static const char *const nobody[2] = {"192.0.2.99", "2001:db8::99"};
static const uint32_t headers[2] = {28, 48};
static const uint32_t smallest[2] = {60, 80};

struct lab {
	sd_event *event;
	struct responder *responder;
	pid_t other;
	int tap; /* what arrives in the other namespace */
};

struct client {
	struct lab *lab;
	int fd;
	int at; /* 0 IPv4, 1 IPv6 */
	uint64_t cookie;
	uint16_t sequence;
};

__attribute__((format(printf, 2, 3))) static inline void other_run(const struct lab *lab,
								   const char *format, ...)
{
	char line[512];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	run("nsenter -t %d -n %s", (int)lab->other, line);
}

/* A socket of another namespace. */
static inline int other_socket(pid_t other, int family, int type, int protocol)
{
	char path[64];
	int home, there, fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)other);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	there = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(setns(there, CLONE_NEWNET), 0);
	fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(setns(home, CLONE_NEWNET), 0);
	close(home);
	close(there);
	return fd;
}

static inline int tap_open(pid_t other)
{
	int bytes = 64 << 20, fd = other_socket(other, AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));

	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)), 0);
	return fd;
}

/* The next UDP packet of port 8899 that came to the other side; its length, 0 none. */
static inline uint32_t tap_next(const struct lab *lab, uint8_t packet[static 128])
{
	struct sockaddr_ll from;
	ssize_t length;

	for (;;) {
		socklen_t size = sizeof(from);
		const uint8_t *udp;
		uint16_t port;

		length =
			recvfrom(lab->tap, packet, 128, MSG_TRUNC, (struct sockaddr *)&from, &size);
		if (length < 0)
			return 0;
		if (from.sll_pkttype == PACKET_OUTGOING || length < 60)
			continue;
		if (ntohs(from.sll_protocol) == ETH_P_IP && packet[9] == IPPROTO_UDP)
			udp = packet + 20;
		else if (ntohs(from.sll_protocol) == ETH_P_IPV6 && packet[6] == IPPROTO_UDP)
			udp = packet + 40;
		else
			continue;
		memcpy(&port, udp, 2);
		if (port == htons(RESPONDER_PORT))
			return (uint32_t)length;
	}
}

static inline void lab_open(struct lab *lab, uint64_t bits_per_sec)
{
	netns_enter();
	*lab = (struct lab){.other = netns_other()};
	run("ip link add a0 mtu 9000 type veth peer name b0 mtu 9000 netns %d", (int)lab->other);
	run("ip link set a0 up");
	other_run(lab, "ip link set lo up");
	other_run(lab, "ip link set b0 up");
	for (int at = 0; at < 2; at++) {
		const char *more = at == 0 ? "/24" : "/64 nodad";

		run("ip address add %s%s dev a0", here[at], more);
		run("ip address add %s%s dev a0", here_too[at], more);
		other_run(lab, "ip address add %s%s dev b0", peer[at], more);
		other_run(lab, "ip address add %s%s dev b0", peer_too[at], more);
	}
	run("ip route add 2001:db8:1::/64 dev a0");
	other_run(lab, "ping -qc1 -W5 %s >/dev/null", here[0]);
	other_run(lab, "ping -qc1 -W5 %s >/dev/null", here[1]);
	lab->tap = tap_open(lab->other);
	ck_assert_int_ge(sd_event_new(&lab->event), 0);
	ck_assert_int_eq(responder_new(&lab->responder, lab->event, RESPONDER_PORT, bits_per_sec),
			 0);
}

static inline void lab_close(struct lab *lab)
{
	ck_assert_ptr_null(responder_free(lab->responder));
	sd_event_unref(lab->event);
	close(lab->tap);
	netns_end(lab->other);
}

union socket_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static inline socklen_t address_put(union socket_address *to, const char *text, uint16_t port)
{
	memset(to, 0, sizeof(*to));
	if (!strchr(text, ':')) {
		to->ipv4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		ck_assert_int_eq(inet_pton(AF_INET, text, &to->ipv4.sin_addr), 1);
		return sizeof(to->ipv4);
	}
	to->ipv6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	ck_assert_int_eq(inet_pton(AF_INET6, text, &to->ipv6.sin6_addr), 1);
	return sizeof(to->ipv6);
}

/* Connected: it hears the address that it asked, nobody else. */
static inline struct client client_open(struct lab *lab, const char *from, const char *to)
{
	struct client client = {.lab = lab, .at = strchr(to, ':') != NULL};
	int probe = client.at == 0 ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
	union socket_address address;
	socklen_t length;

	client.fd = other_socket(lab->other, client.at == 0 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
	ck_assert_int_eq(setsockopt(client.fd, client.at == 0 ? IPPROTO_IP : IPPROTO_IPV6,
				    client.at == 0 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &probe,
				    sizeof(probe)),
			 0);
	length = address_put(&address, from, 0);
	ck_assert_int_eq(bind(client.fd, &address.any, length), 0);
	length = address_put(&address, to, RESPONDER_PORT);
	ck_assert_int_eq(connect(client.fd, &address.any, length), 0);
	return client;
}

static inline void client_send_kind(struct client *client, enum responder_message_kind kind,
				    uint32_t size)
{
	uint8_t bytes[SIZE_LARGEST] = {0};
	struct responder_message message = {
		.kind = kind,
		.sequence = ++client->sequence,
		.nonce = 0x0102030405060708,
		.cookie = client->cookie,
	};
	uint32_t payload = size - headers[client->at];

	responder_message_encode(&message, bytes);
	ck_assert_int_eq(send(client->fd, bytes, payload, 0), payload);
}

static inline void client_send(struct client *client, uint32_t size)
{
	client_send_kind(client, RESPONDER_PROBE, size);
}

static inline bool is_readable(void *userdata)
{
	struct pollfd ready = {.fd = *(int *)userdata, .events = POLLIN};

	return poll(&ready, 1, 0) == 1;
}

/* The next message, and the size of the packet that it came in. */
static inline struct responder_message client_receive(struct client *client, uint32_t *ret_size)
{
	struct responder_message message = {0};
	uint8_t bytes[RESPONDER_MESSAGE_SIZE];
	ssize_t length;

	ck_assert_msg(holds_within(client->lab->event, PATIENCE_USEC, is_readable, &client->fd),
		      "no answer");
	length = recv(client->fd, bytes, sizeof(bytes), MSG_TRUNC);
	ck_assert_int_ge(length, RESPONDER_MESSAGE_SIZE);
	ck_assert(responder_message_decode(bytes, sizeof(bytes), &message));
	ck_assert_uint_eq(message.nonce, 0x0102030405060708);
	*ret_size = (uint32_t)length + headers[client->at];
	return message;
}

static inline struct responder_message
client_expect(struct client *client, enum responder_message_kind kind, uint32_t size)
{
	uint32_t got;
	struct responder_message message = client_receive(client, &got);

	ck_assert_int_eq(message.kind, kind);
	ck_assert_uint_eq(message.sequence, client->sequence);
	ck_assert_uint_eq(got, size);
	return message;
}

static inline void client_get_cookie(struct client *client)
{
	client_send(client, smallest[client->at]);
	client->cookie = client_expect(client, RESPONDER_COOKIE, smallest[client->at]).cookie;
	ck_assert_uint_ne(client->cookie, 0);
}

static inline void client_expect_whole(struct client *client, uint32_t size)
{
	struct responder_message message = client_expect(client, RESPONDER_ANSWER, size);

	ck_assert_uint_eq(message.size, size);
	ck_assert_uint_eq(message.fragment, 0);
	message = client_expect(client, RESPONDER_RECEIPT, smallest[client->at]);
	ck_assert_uint_eq(message.size, size);
	ck_assert_uint_eq(message.fragment, 0);
}

/* All that was under way before is through, and nothing of it was for this client. */
static inline void client_expect_nothing(struct client *client)
{
	client_send(client, smallest[client->at]);
	client_expect_whole(client, smallest[client->at]);
}

/* The tap's packets since the last call: all of their bytes. */
static inline uint64_t tap_bytes(const struct lab *lab)
{
	uint8_t packet[128];
	uint64_t bytes = 0;
	uint32_t size;

	while ((size = tap_next(lab, packet)) > 0)
		bytes += size;
	return bytes;
}

static inline void client_drain(struct client *client)
{
	uint8_t byte;

	while (recv(client->fd, &byte, 1, MSG_TRUNC) >= 0)
		;
}
