/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The head of an IPv4 datagram that answers: headers and message; what follows up to its size is
 * the same pattern for all. Pure.
 */
#pragma once

#include "../core/facts.h"
#include "responder_message.h"

#define DATAGRAM_HEADERS_IPV4 28U /* IP without options, UDP */
#define DATAGRAM_HEADERS_IPV6 48U
#define DATAGRAM_HEAD (DATAGRAM_HEADERS_IPV4 + RESPONDER_MESSAGE_SIZE)
#define DATAGRAM_PATTERN 0x5aa5U /* the padding, 16 bits at a time */

struct datagram {
	struct address from, to; /* IPv4 */
	uint16_t from_port, to_port;
	uint8_t ttl;
	uint32_t size; /* of the whole IP packet, DATAGRAM_HEAD to SIZE_LARGEST */
};

/* DF set; the kernel fills in identification and the IP header's checksum. */
void datagram_encode(const struct datagram *datagram, const struct responder_message *message,
		     uint8_t head[static DATAGRAM_HEAD]);
