/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The little that can be said of an address without asking anybody. */
#include "facts.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

uint64_t probe_nonce(enum probe_kind kind, uint64_t nonce, uint16_t sequence)
{
	/* an odd factor: different for every sequence, and far apart for neighbours */
	return kind == PROBE_SYN ? nonce ^ (uint16_t)(sequence * 0x9e37U) : nonce;
}

bool probe_syn_answered(uint64_t nonce, uint16_t sequence, uint32_t data, uint32_t acknowledged)
{
	uint64_t own = probe_nonce(PROBE_SYN, nonce, sequence);
	uint32_t number = (uint32_t)(own & 0xffff) << 16 | sequence;

	/* RFC 9293 section 3.5.2: who takes or refuses the data acknowledges it as well */
	return acknowledged == number + 1 || acknowledged == number + 1 + data;
}

bool probe_kind_fits(enum probe_kind asked, const struct answer *answer)
{
	bool udp = asked == PROBE_UDP || asked == PROBE_RESPONDER;
	bool about_udp = answer->probe == PROBE_UDP || answer->probe == PROBE_RESPONDER;

	return asked == answer->probe || (udp && about_udp && !answer->has_nonce);
}

bool address_equal(const struct address *a, const struct address *b)
{
	return a->family == b->family && a->zone == b->zone &&
	       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool address_is_link_local(const struct address *address)
{
	/* RFC 4291 section 2.5.6: fe80::/10 */
	return address->family == ADDRESS_IPV6 && address->bytes[0] == 0xfe &&
	       (address->bytes[1] & 0xc0) == 0x80;
}

bool error_is_shortage(int error)
{
	static const int shortages[] = {ENOMEM, EMFILE, ENFILE, EAGAIN, EINTR, EIO, ENOSPC, EADDRINUSE};

	for (size_t i = 0; i < sizeof(shortages) / sizeof(shortages[0]); i++)
		if (error == -shortages[i])
			return true;
	return false;
}
