/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all through both decoders. The first byte chooses the family and whether the
 * packet was longer than what was captured of it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../daemon/world/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer answer;
	size_t length;
	bool ipv6, valid;

	if (size == 0)
		return 0;
	ipv6 = (data[0] & 1) != 0;
	length = size - 1 + (data[0] >> 1) * 512U;
	valid = ipv6 ? decode_icmpv6(data + 1, size - 1, length, &answer)
		     : decode_icmp(data + 1, size - 1, length, &answer);
	if (!valid)
		return 0;
	/* what the header promises of an answer */
	if (answer.kind == ANSWER_REFUSED || answer.kind > ANSWER_REFUSED)
		abort();
	if (answer.kind == ANSWER_ECHO ? answer.size != length + (ipv6 ? 40 : 0)
				       : answer.to.family != (ipv6 ? ADDRESS_IPV6 : ADDRESS_IPV4))
		abort();
	if ((answer.kind == ANSWER_UNREACHABLE) != (answer.error < 0))
		abort();
	if (!ipv6 && answer.mtu > 65535)
		abort();
	return 0;
}
