/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* IPv4 and UDP headers by hand; the checksum of any size costs the same, since the padding's
 * share of it is a multiplication. Sends nothing. */
#include "responder_datagram.h"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

#define IPV4_HEADER 20U
#define UDP_HEADER 8U

static void bytes_put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static uint32_t sum_of(const uint8_t *bytes, unsigned length)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < length; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	return sum;
}

/* RFC 768: over addresses, protocol, length, header and data; 0 would mean that there is none.
 * RFC 1071 section 1: an odd last byte counts as if a zero followed. */
static uint32_t udp_checksum(const uint8_t *head, uint32_t udp_length)
{
	uint32_t padding = udp_length - UDP_HEADER - RESPONDER_MESSAGE_SIZE;
	uint32_t sum = padding / 2 * DATAGRAM_PATTERN;

	if (padding % 2 != 0)
		sum += DATAGRAM_PATTERN & 0xff00U;
	sum += sum_of(head + 12, 8) + IPPROTO_UDP + udp_length;
	sum += sum_of(head + IPV4_HEADER, UDP_HEADER + RESPONDER_MESSAGE_SIZE);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff ? 0xffff : ~sum & 0xffff;
}

void datagram_encode(const struct datagram *datagram, const struct responder_message *message,
		     uint8_t head[static DATAGRAM_HEAD])
{
	uint32_t udp_length = datagram->size - IPV4_HEADER;
	uint8_t *udp = head + IPV4_HEADER;

	memset(head, 0, DATAGRAM_HEADERS_IPV4);
	head[0] = IPVERSION << 4 | IPV4_HEADER / 4;
	bytes_put16(head + 2, datagram->size);
	bytes_put16(head + 6, IP_DF);
	head[8] = datagram->ttl;
	head[9] = IPPROTO_UDP;
	memcpy(head + 12, datagram->from.bytes, 4);
	memcpy(head + 16, datagram->to.bytes, 4);
	bytes_put16(udp, datagram->from_port);
	bytes_put16(udp + 2, datagram->to_port);
	bytes_put16(udp + 4, udp_length);
	responder_message_encode(message, udp + UDP_HEADER);
	bytes_put16(udp + 6, udp_checksum(head, udp_length));
}
