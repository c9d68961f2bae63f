/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all through the decoders. The first byte chooses which, and whether the packet was
 * longer than what was captured of it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../daemon/world/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_icmp(bool ipv6, const uint8_t *data, size_t size, size_t length)
{
	struct answer answer;
	bool valid = ipv6 ? decode_icmpv6(data, size, length, &answer)
			  : decode_icmp(data, size, length, &answer);

	if (!valid)
		return;
	/* what the header promises of an answer */
	if (answer.kind == ANSWER_DELIVERED || answer.kind == ANSWER_COOKIE ||
	    answer.kind >= ANSWER_REFUSED || answer.probe > PROBE_RESPONDER)
		abort();
	if (answer.kind == ANSWER_ECHO ? answer.size != length + (ipv6 ? 40 : 0)
				       : answer.to.family != (ipv6 ? ADDRESS_IPV6 : ADDRESS_IPV4))
		abort();
	if (answer.kind == ANSWER_ECHO && answer.probe != PROBE_ECHO)
		abort();
	if ((answer.kind == ANSWER_UNREACHABLE) != (answer.error < 0))
		abort();
	if (!ipv6 && answer.mtu > 65535)
		abort();
}

static void check_datagram(uint8_t family, const uint8_t *data, size_t size, size_t length)
{
	struct answer answer;

	if (!decode_datagram(family, data, size, length, &answer))
		return;
	if (answer.probe != PROBE_RESPONDER || !answer.has_nonce || answer.kind > ANSWER_COOKIE)
		abort();
	if (answer.kind == ANSWER_ECHO && answer.size < length)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment segment;
	uint8_t family;
	size_t length;

	if (size == 0)
		return 0;
	family = (data[0] & 1) != 0 ? ADDRESS_IPV6 : ADDRESS_IPV4;
	length = size - 1 + (data[0] >> 3) * 2048U;
	switch (data[0] >> 1 & 3) {
	case 0:
		check_datagram(family, data + 1, size - 1, length);
		break;
	case 1:
		decode_segment(family, data + 1, size - 1, &segment);
		break;
	default:
		check_icmp(family == ADDRESS_IPV6, data + 1, size - 1, length);
		break;
	}
	return 0;
}
