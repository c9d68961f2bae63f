/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An attacker: puts made-up reports and answers on a wire, as many as are asked for and as fast as
 * it goes. Reads whole IP packets from its standard input, one a line in hex, that it builds them
 * from:
 *
 *   forger DEVICE HARDWARE OURS reports COUNT NAME...   quotes these packets, altered, in the name
 *                                                       of these hosts
 *   forger DEVICE HARDWARE OURS answers COUNT           answers them, altered
 *   forger DEVICE HARDWARE OURS replays COUNT           sends them as they are
 *   forger DEVICE HARDWARE OURS questions COUNT NAME... asks a responder, in the name of these
 *
 * HARDWARE is the next hop's address, OURS the address of the host that is to be deceived. Says how
 * many went out and in what time. What is altered is a matter of chance that repeats.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netpacket/packet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define LARGEST (ETH_HLEN + 1500)
#define PACKETS_MOST 4096
#define NAMES_MOST 8
#define QUOTE_MOST 528
#define ICMP 1
#define TCP 6
#define UDP 17
#define ICMPV6 58

struct packet {
	uint8_t bytes[LARGEST];
	size_t length;
};

struct forger {
	void (*make)(struct forger *forger, struct packet *out, const struct packet *packet);
	uint8_t ethernet[ETH_HLEN];
	uint8_t ours[16], names[NAMES_MOST][16];
	unsigned name_count, packet_count;
	bool ipv6;
	uint64_t chance;
	struct packet *packets;
	struct packet out[BATCH];
	struct iovec parts[BATCH];
	struct mmsghdr messages[BATCH];
};

static void fail(const char *what)
{
	fprintf(stderr, "forger: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* xorshift64* */
static uint64_t dice(struct forger *forger)
{
	forger->chance ^= forger->chance >> 12;
	forger->chance ^= forger->chance << 25;
	forger->chance ^= forger->chance >> 27;
	return forger->chance * 0x2545F4914F6CDD1D >> 16;
}

static bool coin(struct forger *forger)
{
	return dice(forger) & 1;
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

static void scramble(struct forger *forger, uint8_t *at, size_t length)
{
	while (length-- > 0)
		*at++ = (uint8_t)dice(forger);
}

static uint32_t sum(uint32_t so_far, const uint8_t *at, size_t length)
{
	for (; length > 1; at += 2, length -= 2)
		so_far += (uint32_t)(at[0] << 8 | at[1]);
	return length ? so_far + (uint32_t)(at[0] << 8) : so_far;
}

static unsigned folded(uint32_t total)
{
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return ~total & 0xffff;
}

static size_t header_of(bool ipv6)
{
	return ipv6 ? 40 : 20;
}

/* Writes the IP header in front of what is there, and both checksums. */
static void finish(struct packet *packet, bool ipv6, uint8_t protocol, const uint8_t *from,
		   const uint8_t *to)
{
	uint8_t *ip = packet->bytes + ETH_HLEN, *above = ip + header_of(ipv6);
	size_t address = ipv6 ? 16 : 4, length = packet->length - ETH_HLEN - header_of(ipv6);
	uint8_t *check = above + (protocol == TCP ? 16 : protocol == UDP ? 6 : 2);
	uint32_t pseudo = 0;

	memset(ip, 0, header_of(ipv6));
	ip[0] = ipv6 ? 0x60 : 0x45;
	put16(ip + (ipv6 ? 4 : 2), (unsigned)(ipv6 ? length : length + 20));
	ip[ipv6 ? 6 : 9] = protocol;
	ip[ipv6 ? 7 : 8] = 64;
	memcpy(ip + (ipv6 ? 8 : 12), from, address);
	memcpy(ip + (ipv6 ? 24 : 16), to, address);
	if (!ipv6)
		put16(ip + 10, folded(sum(0, ip, 20)));
	if (protocol != ICMP)
		pseudo = sum(protocol + (uint32_t)length, ip + (ipv6 ? 8 : 12), 2 * address);
	put16(check, 0);
	put16(check, folded(sum(pseudo, above, length)));
}

static uint8_t protocol_of(const struct packet *packet, bool ipv6)
{
	return packet->bytes[ipv6 ? 6 : 9];
}

/* What a guess may get right or wrong: identifier or source port, sequence, port, nonce. */
static void quote_alter(struct forger *forger, uint8_t *quote, uint8_t protocol)
{
	uint8_t *above = quote + header_of(forger->ipv6);
	bool echo = protocol == ICMP || protocol == ICMPV6;

	if (coin(forger))
		scramble(forger, above + (echo ? 4 : 0), 2);
	if (coin(forger))
		scramble(forger, above + (echo ? 6 : 4), echo ? 2 : 4);
	if (!forger->ipv6 && coin(forger))
		scramble(forger, quote + 4, 2);
	if (!echo && coin(forger))
		scramble(forger, above + 2, 2);
	if (coin(forger))
		scramble(forger, above + 8, 8);
}

static void make_report(struct forger *forger, struct packet *out, const struct packet *packet)
{
	static const uint32_t mtus[] = {0, 68, 552, 576, 1279, 1280, 1400, 65535};
	static const size_t quotes[] = {0, 8, 9, 16, 24, 40, 100, QUOTE_MOST};
	size_t header = header_of(forger->ipv6);
	uint8_t *report = out->bytes + ETH_HLEN + header, *quote = report + 8;
	size_t quoted = header + quotes[dice(forger) % 8];
	uint32_t mtu = mtus[dice(forger) % 8];
	const uint8_t *name = forger->names[dice(forger) % forger->name_count];
	bool too_big = dice(forger) % 4 > 0;

	memset(report, 0, 8);
	memcpy(quote, packet->bytes, QUOTE_MOST + header);
	quote_alter(forger, quote, protocol_of(packet, forger->ipv6));
	if (quoted > packet->length)
		quoted = packet->length;
	if (forger->ipv6) {
		report[0] = too_big ? 2 : coin(forger) ? 1 : 3;
		report[1] = report[0] == 1 ? dice(forger) % 7 : 0;
		put32(report + 4, too_big ? mtu : 0);
	} else {
		report[0] = too_big || coin(forger) ? 3 : 11;
		report[1] = too_big ? 4 : report[0] == 3 ? dice(forger) % 16 : 0;
		put16(report + 6, too_big ? mtu : 0);
	}
	out->length = ETH_HLEN + header + 8 + quoted;
	finish(out, forger->ipv6, forger->ipv6 ? ICMPV6 : ICMP, name, forger->ours);
}

/* A responder's message: its kind, and of sequence, nonce, cookie and size some eight bytes. */
static void message_alter(struct forger *forger, uint8_t *message, uint64_t kind)
{
	message[5] = (uint8_t)kind;
	scramble(forger, message + 6 + dice(forger) % 16, 8);
}

/* An echo reply, a SYN-ACK or RST, or a datagram, from whom the packet was for. */
static void make_answer(struct forger *forger, struct packet *out, const struct packet *packet)
{
	size_t header = header_of(forger->ipv6);
	uint8_t *above = out->bytes + ETH_HLEN + header;
	uint8_t protocol = protocol_of(packet, forger->ipv6);
	const uint8_t *theirs = packet->bytes + (forger->ipv6 ? 24 : 16);
	const uint8_t *asked = packet->bytes + header;
	size_t length = packet->length - header;

	memcpy(above, asked, length);
	if (protocol == TCP) {
		length = 20;
		scramble(forger, above + 4, 8);
		above[12] = 0x50;
		above[13] = coin(forger) ? 0x12 : 0x14;
	}
	if (protocol == TCP || protocol == UDP) {
		memcpy(above, asked + 2, 2);
		memcpy(above + 2, asked, 2);
		if (coin(forger))
			scramble(forger, above + 2, 2);
	} else {
		above[0] = forger->ipv6 ? 129 : 0;
		if (coin(forger))
			scramble(forger, above + 4, 2);
		if (coin(forger))
			scramble(forger, above + 6, 2);
	}
	if (protocol == UDP)
		message_alter(forger, above + 8, 2 + dice(forger) % 3);
	else if (protocol != TCP)
		scramble(forger, above + 8, 8);
	out->length = ETH_HLEN + header + length;
	finish(out, forger->ipv6, protocol, theirs, forger->ours);
}

static void make_replay(struct forger *forger, struct packet *out, const struct packet *packet)
{
	const uint8_t *from = packet->bytes + (forger->ipv6 ? 8 : 12);

	memcpy(out->bytes + ETH_HLEN, packet->bytes, packet->length);
	out->length = ETH_HLEN + packet->length;
	finish(out, forger->ipv6, protocol_of(packet, forger->ipv6), from, forger->ours);
}

static void make_question(struct forger *forger, struct packet *out, const struct packet *packet)
{
	const uint8_t *name = forger->names[dice(forger) % forger->name_count];
	uint8_t *above = out->bytes + ETH_HLEN + header_of(forger->ipv6);

	memcpy(out->bytes + ETH_HLEN, packet->bytes, packet->length);
	out->length = ETH_HLEN + packet->length;
	if (coin(forger))
		scramble(forger, above, 2);
	if (coin(forger))
		message_alter(forger, above + 8, 1);
	finish(out, forger->ipv6, UDP, name, forger->ours);
}

static void kind_choose(struct forger *forger, const char *kind)
{
	if (strcmp(kind, "reports") == 0 && forger->name_count > 0)
		forger->make = make_report;
	else if (strcmp(kind, "answers") == 0)
		forger->make = make_answer;
	else if (strcmp(kind, "replays") == 0)
		forger->make = make_replay;
	else if (strcmp(kind, "questions") == 0 && forger->name_count > 0)
		forger->make = make_question;
	else
		fail(kind);
}

/* Of a long packet the line has only the beginning: the rest is nought. */
static void read_packet(const char *line, bool ipv6, struct packet *ret)
{
	size_t whole, most = LARGEST - ETH_HLEN;
	unsigned byte;

	while (ret->length < most && sscanf(line + 2 * ret->length, "%2x", &byte) == 1)
		ret->bytes[ret->length++] = (uint8_t)byte;
	whole = (size_t)(ret->bytes[ipv6 ? 4 : 2] << 8 | ret->bytes[ipv6 ? 5 : 3]) +
		(ipv6 ? header_of(ipv6) : 0);
	if (whole > ret->length)
		ret->length = whole < most ? whole : most;
}

static void read_packets(struct forger *forger)
{
	char line[2 * LARGEST + 2];

	forger->packets = calloc(PACKETS_MOST, sizeof(*forger->packets));
	if (!forger->packets)
		fail("memory");
	while (forger->packet_count < PACKETS_MOST && fgets(line, sizeof(line), stdin)) {
		read_packet(line, forger->ipv6, &forger->packets[forger->packet_count]);
		forger->packet_count += forger->packets[forger->packet_count].length > 0;
	}
	if (forger->packet_count == 0) {
		errno = EINVAL;
		fail("no packet to work with");
	}
}

static void address_read(struct forger *forger, const char *text, uint8_t ret[16])
{
	if (inet_pton(forger->ipv6 ? AF_INET6 : AF_INET, text, ret) != 1) {
		errno = EINVAL;
		fail(text);
	}
}

static int wire_open(struct forger *forger, const char *device, const char *hardware)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)if_nametoindex(device),
	};
	const struct ether_addr *target = ether_aton(hardware);
	int bypass = 1, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || to.sll_ifindex == 0 || !target)
		fail(device);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof(bypass)) < 0)
		fail(device);
	memcpy(forger->ethernet, target, ETH_ALEN);
	memcpy(forger->ethernet + ETH_ALEN, "\2\0\0\0\0\1", ETH_ALEN);
	put16(forger->ethernet + 2 * ETH_ALEN, forger->ipv6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	return fd;
}

/* What finds a queue full is sent again. */
static void send_batch(struct forger *forger, int fd, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct packet *out = &forger->out[i];

		forger->make(forger, out, &forger->packets[dice(forger) % forger->packet_count]);
		memcpy(out->bytes, forger->ethernet, ETH_HLEN);
		forger->parts[i] = (struct iovec){out->bytes, out->length};
		forger->messages[i].msg_hdr.msg_iov = &forger->parts[i];
		forger->messages[i].msg_hdr.msg_iovlen = 1;
	}
	for (unsigned done = 0; done < count;) {
		int sent = sendmmsg(fd, forger->messages + done, count - done, 0);

		if (sent < 0 && errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
			fail("sendmmsg");
		done += sent > 0 ? (unsigned)sent : 0;
	}
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static struct forger forger = {.chance = 88172645463325252};
	unsigned long count;
	double began;
	int fd;

	if (argc < 6 || argc > 6 + NAMES_MOST) {
		fprintf(stderr, "usage: forger DEVICE HARDWARE OURS reports|answers|replays|questions "
				"COUNT [NAME...]\n");
		return 64;
	}
	forger.ipv6 = strchr(argv[3], ':') != NULL;
	address_read(&forger, argv[3], forger.ours);
	for (int i = 6; i < argc; i++)
		address_read(&forger, argv[i], forger.names[forger.name_count++]);
	kind_choose(&forger, argv[4]);
	count = strtoul(argv[5], NULL, 10);
	fd = wire_open(&forger, argv[1], argv[2]);
	read_packets(&forger);
	began = seconds_now();
	for (unsigned long left = count; left > 0;) {
		unsigned now = left < BATCH ? (unsigned)left : BATCH;

		send_batch(&forger, fd, now);
		left -= now;
	}
	printf("%lu %.3f\n", count, seconds_now() - began);
	return 0;
}
