/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bytes of a packet to an answer. Pure: no socket, no clock; fuzzed and unit-tested on
 * bytes. Anything short, malformed or not about a probe that could be ours yields false.
 *
 * `captured` bytes are there; `length` is what it measured on the wire before it was cut.
 */
#pragma once

#include <stddef.h>

#include "../core/facts.h"

/*
 * `packet` is what a raw ICMP socket gives: IPv4 with the IP header, IPv6 from the ICMPv6 header
 * on; `length` likewise. Fills kind, probe, to, ident, sequence, nonce, size, mtu, error; the
 * caller sets `from` (and for echoes `to`), `link` and `fragment`. Of a UDP probe that is quoted
 * too short to tell its kind it says PROBE_UDP.
 */
bool decode_icmp(const uint8_t *packet, size_t captured, size_t length, struct answer *ret);
bool decode_icmpv6(const uint8_t *packet, size_t captured, size_t length, struct answer *ret);

/* A TCP segment that answers a SYN. */
struct segment {
	uint16_t from_port, to_port;
	uint32_t acknowledged;
	bool opened; /* SYN-ACK: the peer has a half-open connection now; else RST */
};

/* `packet` is what a raw TCP socket gives, with the IP header (IPv4) or without (IPv6). */
bool decode_segment(uint8_t family, const uint8_t *packet, size_t captured, struct segment *ret);

/* A UDP payload from another daemon's responder. Fills kind, probe, sequence, nonce, cookie, size
 * (with UDP and IP header) and of a receipt `fragment`. */
bool decode_datagram(uint8_t family, const uint8_t *payload, size_t captured, size_t length,
		     struct answer *ret);
