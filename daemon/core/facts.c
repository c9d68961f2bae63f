/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The little that can be said of an address without asking anybody. */
#include "facts.h"

#include <string.h>

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
