/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Builds the heads of our probes. The checksum of any size is computed without touching the
 * payload: the pattern's share is a multiplication. Sends nothing.
 */
#include "encode.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <string.h>

#include "responder_message.h"

#define IPV4_HEADER 20U
#define IPV6_HEADER 40U
#define TCP_HEADER 20U
#define UDP_HEADER 8U
#define UDP_BEGIN RESPONDER_MESSAGE_SIZE /* of the payload, for both kinds of UDP probes */

static void bytes_put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void bytes_put32(uint8_t *at, uint32_t value)
{
	bytes_put16(at, (uint16_t)(value >> 16));
	bytes_put16(at + 2, (uint16_t)value);
}

/* 32 bits hold the sum of all the words that a packet has. */
static uint32_t words_sum(const uint8_t *at, size_t length)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	return sum;
}

/* RFC 1071 section 1: an odd last byte counts as if a zero followed. */
static uint32_t pattern_sum(uint32_t length)
{
	return length / 2 * ENCODE_PATTERN + (length % 2 != 0 ? ENCODE_PATTERN & 0xff00U : 0);
}

static uint16_t sum_fold(uint32_t sum)
{
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* RFC 9293 section 3.1, RFC 768, RFC 8200 section 8.1: addresses, protocol and length are covered
 * too, and their words sum up the same in both families. */
static uint32_t pseudo_sum(const struct probe *probe, uint8_t protocol, uint32_t length)
{
	return words_sum(probe->from.bytes, sizeof(probe->from.bytes)) +
	       words_sum(probe->to.bytes, sizeof(probe->to.bytes)) + protocol + length;
}

static uint8_t protocol_of(enum probe_kind kind)
{
	switch (kind) {
	case PROBE_ECHO:
		return IPPROTO_ICMP;
	case PROBE_SYN:
		return IPPROTO_TCP;
	case PROBE_UDP:
	case PROBE_RESPONDER:
		return IPPROTO_UDP;
	}
	return 0;
}

static unsigned ip_put_ipv4(const struct probe *probe, uint8_t ttl, uint8_t *at)
{
	uint8_t protocol = protocol_of(probe->kind);

	memset(at, 0, IPV4_HEADER);
	at[0] = IPVERSION << 4 | IPV4_HEADER / 4;
	bytes_put16(at + 2, (uint16_t)probe->size);
	/* RFC 792: a report need not quote more of a datagram than its ports */
	if (protocol == IPPROTO_UDP)
		bytes_put16(at + 4, probe->sequence);
	bytes_put16(at + 6, IP_DF);
	at[8] = probe->ttl != 0 ? probe->ttl : ttl;
	at[9] = protocol;
	if (probe->from.family == ADDRESS_IPV4)
		memcpy(at + 12, probe->from.bytes, 4);
	memcpy(at + 16, probe->to.bytes, 4);
	return IPV4_HEADER;
}

static unsigned ip_put_ipv6(const struct probe *probe, uint8_t ttl, uint8_t *at)
{
	memset(at, 0, IPV6_HEADER);
	at[0] = 6 << 4;
	bytes_put16(at + 4, (uint16_t)(probe->size - IPV6_HEADER));
	at[6] = protocol_of(probe->kind);
	at[7] = probe->ttl != 0 ? probe->ttl : ttl;
	memcpy(at + 8, probe->from.bytes, 16);
	memcpy(at + 24, probe->to.bytes, 16);
	return IPV6_HEADER;
}

static unsigned ip_put(const struct probe *probe, uint8_t ttl, uint8_t *at)
{
	return probe->to.family == ADDRESS_IPV4 ? ip_put_ipv4(probe, ttl, at)
						: ip_put_ipv6(probe, ttl, at);
}

static unsigned echo_put(const struct probe *probe, uint8_t type, uint8_t *at)
{
	memset(at, 0, ENCODE_ECHO_HEADER);
	at[0] = type;
	bytes_put16(at + 4, probe->ident);
	bytes_put16(at + 6, probe->sequence);
	memcpy(at + 8, &probe->nonce, sizeof(probe->nonce));
	return ENCODE_ECHO_HEADER;
}

static unsigned echo_put_ipv4(const struct probe *probe, uint8_t *at)
{
	uint32_t pattern = probe->size - IPV4_HEADER - ENCODE_ECHO_HEADER;

	echo_put(probe, ICMP_ECHO, at);
	bytes_put16(at + 2, sum_fold(words_sum(at, ENCODE_ECHO_HEADER) + pattern_sum(pattern)));
	return ENCODE_ECHO_HEADER;
}

/* `length` is that of header and data. */
static unsigned tcp_put(const struct probe *probe, uint8_t flags, uint32_t number, uint8_t *at,
			uint32_t length)
{
	uint32_t sum = pseudo_sum(probe, IPPROTO_TCP, length) + pattern_sum(length - TCP_HEADER);

	memset(at, 0, TCP_HEADER);
	bytes_put16(at, probe->ident);
	bytes_put16(at + 2, probe->port);
	bytes_put32(at + 4, number);
	at[12] = TCP_HEADER / 4 << 4;
	at[13] = flags;
	if ((flags & TH_SYN) != 0)
		bytes_put16(at + 14, 0xffff);
	bytes_put16(at + 16, sum_fold(sum + words_sum(at, TCP_HEADER)));
	return TCP_HEADER;
}

static void udp_put_begin(const struct probe *probe, uint8_t *at)
{
	const struct responder_message message = {
		.kind = RESPONDER_PROBE,
		.sequence = probe->sequence,
		.nonce = probe->nonce,
		.cookie = probe->cookie,
	};

	if (probe->kind == PROBE_RESPONDER) {
		responder_message_encode(&message, at);
		return;
	}
	for (unsigned i = 0; i < UDP_BEGIN; i += 2)
		bytes_put16(at + i, ENCODE_PATTERN);
	memcpy(at, &probe->nonce, sizeof(probe->nonce));
	bytes_put16(at + sizeof(probe->nonce), probe->sequence);
}

static unsigned udp_put(const struct probe *probe, uint8_t *at, uint32_t length)
{
	unsigned head = UDP_HEADER + UDP_BEGIN;
	uint32_t sum = pseudo_sum(probe, IPPROTO_UDP, length) + pattern_sum(length - head);
	uint16_t checksum;

	bytes_put16(at, probe->ident);
	bytes_put16(at + 2, probe->port);
	bytes_put16(at + 4, (uint16_t)length);
	bytes_put16(at + 6, 0);
	udp_put_begin(probe, at + UDP_HEADER);
	checksum = sum_fold(sum + words_sum(at, head));
	bytes_put16(at + 6,
		    checksum != 0 ? checksum : 0xffff); /* RFC 768: 0 would say there is none */
	return head;
}

uint32_t encode_number(const struct probe *probe)
{
	return (uint32_t)(probe->nonce & 0xffff) << 16 | probe->sequence;
}

unsigned encode_packet(const struct probe *probe, uint8_t ttl,
		       uint8_t header[static ENCODE_HEADER_LARGEST])
{
	unsigned ip = ip_put(probe, ttl, header);

	switch (probe->kind) {
	case PROBE_ECHO:
		return ip + echo_put_ipv4(probe, header + ip);
	case PROBE_SYN:
		return ip +
		       tcp_put(probe, TH_SYN, encode_number(probe), header + ip, probe->size - ip);
	case PROBE_UDP:
	case PROBE_RESPONDER:
		return ip + udp_put(probe, header + ip, probe->size - ip);
	}
	return ip;
}

unsigned encode_icmpv6(const struct probe *probe, uint8_t header[static ENCODE_HEADER_LARGEST])
{
	return echo_put(probe, ICMP6_ECHO_REQUEST, header);
}

unsigned encode_reset(const struct probe *probe, uint32_t number, uint8_t ttl,
		      uint8_t packet[static ENCODE_HEADER_LARGEST])
{
	struct probe bare = *probe;
	unsigned ip = probe->to.family == ADDRESS_IPV4 ? IPV4_HEADER : IPV6_HEADER;

	bare.kind = PROBE_SYN;
	bare.size = ip + TCP_HEADER;
	ip_put(&bare, ttl, packet);
	return ip + tcp_put(&bare, TH_RST, number, packet + ip, TCP_HEADER);
}

static uint32_t size_smallest(const struct probe *probe)
{
	uint32_t ip = probe->to.family == ADDRESS_IPV4 ? IPV4_HEADER : IPV6_HEADER;

	switch (probe->kind) {
	case PROBE_ECHO:
		return ip + ENCODE_ECHO_HEADER;
	case PROBE_SYN:
		return ip + TCP_HEADER;
	case PROBE_UDP:
	case PROBE_RESPONDER:
		return ip + UDP_HEADER + UDP_BEGIN;
	}
	return UINT32_MAX;
}

int encode_check(const struct probe *probe)
{
	if (probe->to.family != ADDRESS_IPV4 && probe->to.family != ADDRESS_IPV6)
		return -EAFNOSUPPORT;
	if (probe->from.family != ADDRESS_NONE && probe->from.family != probe->to.family)
		return -EINVAL;
	if (probe->kind != PROBE_ECHO && probe->from.family == ADDRESS_NONE)
		return -EADDRNOTAVAIL;
	if (probe->kind != PROBE_ECHO && (probe->ident == 0 || probe->port == 0))
		return -EINVAL;
	if (probe->size > SIZE_LARGEST)
		return -EMSGSIZE;
	return probe->size < size_smallest(probe) ? -EINVAL : 0;
}
