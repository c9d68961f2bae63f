/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a probe to the bytes of its packet. Pure like its twin decode.h. Only the first bytes
 * differ from probe to probe; what follows is the same pattern for all of them.
 */
#pragma once

#include "../core/facts.h"

#define ENCODE_HEADER_LARGEST 80U /* IPv6 40, UDP 8, what the payload begins with 32 */
#define ENCODE_ECHO_HEADER 16U	  /* ICMP header and nonce */
#define ENCODE_PATTERN 0x5aa5U	  /* what the rest is filled with, 16 bits at a time */

/*
 * Writes what comes before the pattern, from the IP header on, checksums included. What IPv4's
 * header leaves 0 is the kernel's to fill in: its checksum, an echo's identification and source.
 * `ttl` is for probes that name none. Returns the length written; the pattern makes up the rest
 * of probe->size. The probe must be one that encode_check() allows.
 */
unsigned encode_packet(const struct probe *probe, uint8_t ttl,
		       uint8_t header[static ENCODE_HEADER_LARGEST]);

/* The same of an ICMPv6 echo from the ICMPv6 header on: checksum and IPv6 header are the kernel's,
 * which knows the source. */
unsigned encode_icmpv6(const struct probe *probe, uint8_t header[static ENCODE_HEADER_LARGEST]);

/* A bare RST of that number, from and to where a PROBE_SYN like `probe` would go; size and
 * sequence do not matter. RFC 9293 section 3.5.2: the number is what was acknowledged. */
unsigned encode_reset(const struct probe *probe, uint32_t number, uint8_t ttl,
		      uint8_t packet[static ENCODE_HEADER_LARGEST]);

/* The number of a SYN, from which an answer or a report is known again. */
uint32_t encode_number(const struct probe *probe);

/* 0, -EINVAL when the size has no place for what the probe carries or it has no port, -EMSGSIZE
 * when it is above what an IP header can say, -EAFNOSUPPORT when the address has no family,
 * -EADDRNOTAVAIL when a checksum would need a source that is not given (all but echo). */
int encode_check(const struct probe *probe);
