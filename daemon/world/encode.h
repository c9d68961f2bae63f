/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a probe to the bytes of its packet. Pure like its twin decode.h. Only the first bytes
 * differ from probe to probe; what follows is the same pattern for all of them.
 */
#pragma once

#include "../core/facts.h"

#define ENCODE_HEADER_LARGEST 36U /* IPv4 20, ICMP 8, nonce 8 */
#define ENCODE_PATTERN 0x5aa5U	  /* what the rest is filled with, 16 bits at a time */
#define ENCODE_SMALLEST_IPV4 36U  /* whole packet, the nonce in it */
#define ENCODE_SMALLEST_IPV6 56U

/*
 * Writes what comes before the pattern: IPv4 from the IP header on (checksum, and where they are
 * 0 identification and source, are the kernel's to fill in), IPv6 from the ICMPv6 header on
 * (checksum the kernel's). `ttl` is for probes that name none. Returns the length written; the
 * pattern makes up the rest of probe->size. The size must be one that encode_check() allows.
 */
unsigned encode_icmp(const struct probe *probe, uint8_t ttl,
		     uint8_t header[static ENCODE_HEADER_LARGEST]);
unsigned encode_icmpv6(const struct probe *probe, uint8_t header[static ENCODE_HEADER_LARGEST]);

/* 0, -EINVAL when the size has no place for the nonce, -EMSGSIZE when it is above what an IP
 * header can say, -EAFNOSUPPORT when the address has no family. */
int encode_check(const struct probe *probe);
