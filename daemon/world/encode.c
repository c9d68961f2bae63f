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
#include <string.h>

#define IPV4_HEADER 20U
#define ECHO_HEADER 16U /* ICMP header and nonce */

static void bytes_put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void echo_put(const struct probe *probe, uint8_t type, uint8_t *at)
{
	memset(at, 0, ECHO_HEADER);
	at[0] = type;
	bytes_put16(at + 4, probe->ident);
	bytes_put16(at + 6, probe->sequence);
	memcpy(at + 8, &probe->nonce, sizeof(probe->nonce));
}

/* RFC 1071 section 1: an odd last byte counts as if a zero followed. 32 bits hold the sum of all
 * the words that a packet has. */
static uint16_t echo_checksum(const uint8_t *echo, uint32_t pattern_length)
{
	uint32_t sum = pattern_length / 2 * ENCODE_PATTERN;

	if (pattern_length % 2 != 0)
		sum += ENCODE_PATTERN & 0xff00U;
	for (unsigned i = 0; i < ECHO_HEADER; i += 2)
		sum += (uint32_t)echo[i] << 8 | echo[i + 1];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

unsigned encode_icmp(const struct probe *probe, uint8_t ttl,
		     uint8_t header[static ENCODE_HEADER_LARGEST])
{
	uint8_t *echo = header + IPV4_HEADER;

	memset(header, 0, IPV4_HEADER);
	header[0] = IPVERSION << 4 | IPV4_HEADER / 4;
	bytes_put16(header + 2, (uint16_t)probe->size);
	bytes_put16(header + 6, IP_DF);
	header[8] = probe->ttl != 0 ? probe->ttl : ttl;
	header[9] = IPPROTO_ICMP;
	if (probe->from.family == ADDRESS_IPV4)
		memcpy(header + 12, probe->from.bytes, 4);
	memcpy(header + 16, probe->to.bytes, 4);
	echo_put(probe, ICMP_ECHO, echo);
	bytes_put16(echo + 2, echo_checksum(echo, probe->size - IPV4_HEADER - ECHO_HEADER));
	return IPV4_HEADER + ECHO_HEADER;
}

unsigned encode_icmpv6(const struct probe *probe, uint8_t header[static ENCODE_HEADER_LARGEST])
{
	echo_put(probe, ICMP6_ECHO_REQUEST, header);
	return ECHO_HEADER;
}

int encode_check(const struct probe *probe)
{
	if (probe->to.family != ADDRESS_IPV4 && probe->to.family != ADDRESS_IPV6)
		return -EAFNOSUPPORT;
	if (probe->from.family != ADDRESS_NONE && probe->from.family != probe->to.family)
		return -EINVAL;
	if (probe->size > SIZE_LARGEST)
		return -EMSGSIZE;
	if (probe->size <
	    (probe->to.family == ADDRESS_IPV4 ? ENCODE_SMALLEST_IPV4 : ENCODE_SMALLEST_IPV6))
		return -EINVAL;
	return 0;
}
