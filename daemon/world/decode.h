/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bytes of a packet to an answer. Pure: no socket, no clock; fuzzed and unit-tested on
 * bytes. Anything short, malformed or not about an echo of ours yields false.
 */
#pragma once

#include <stddef.h>

#include "../core/facts.h"

/*
 * `packet` is what a raw ICMP socket gives: IPv4 with the IP header, IPv6 from the ICMPv6 header
 * on. `captured` bytes of it are there; `length` is what it measured on the wire before it was
 * cut (for IPv4 with, for IPv6 without the IP header). Fills kind, to, ident, sequence, nonce,
 * size, mtu, error; the caller sets `from` (and for echoes `to`), `link` and `fragment`.
 */
bool decode_icmp(const uint8_t *packet, size_t captured, size_t length, struct answer *ret);
bool decode_icmpv6(const uint8_t *packet, size_t captured, size_t length, struct answer *ret);
