/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Addresses to text and back. Numeric only: it resolves no host name, and a zone is looked up
 * only to be shown.
 */
#include "address_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static void zone_append(char *text, int zone)
{
	size_t used = strlen(text);
	char name[LINK_NAME_SIZE];

	_Static_assert(LINK_NAME_SIZE >= IF_NAMESIZE, "names of links are cut");
	if (if_indextoname((unsigned)zone, name)) {
		link_name_clean(name);
		snprintf(text + used, ADDRESS_TEXT_SIZE - used, "%%%s", name);
	} else {
		snprintf(text + used, ADDRESS_TEXT_SIZE - used, "%%%d", zone);
	}
}

const char *words_address(const struct address *address, char buffer[static ADDRESS_TEXT_SIZE])
{
	buffer[0] = '\0';
	if (address->family == ADDRESS_IPV4)
		inet_ntop(AF_INET, address->bytes, buffer, ADDRESS_TEXT_SIZE);
	else if (address->family == ADDRESS_IPV6)
		inet_ntop(AF_INET6, address->bytes, buffer, ADDRESS_TEXT_SIZE);
	if (address->family == ADDRESS_IPV6 && address->zone > 0)
		zone_append(buffer, address->zone);
	return buffer;
}

int words_parse_address(const char *text, struct address *ret, char ret_zone[static LINK_NAME_SIZE])
{
	const char *percent = strchr(text, '%');
	size_t length = percent ? (size_t)(percent - text) : strlen(text);
	struct address address = {.family = ADDRESS_IPV4};
	char digits[INET6_ADDRSTRLEN];

	if (length >= sizeof(digits))
		return -EINVAL;
	/* RFC 4007 section 11.2: what follows the percent sign is never empty */
	if (percent && (!percent[1] || strlen(percent + 1) >= LINK_NAME_SIZE))
		return -EINVAL;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (percent || inet_pton(AF_INET, digits, address.bytes) != 1) {
		address.family = ADDRESS_IPV6;
		if (inet_pton(AF_INET6, digits, address.bytes) != 1)
			return -EINVAL;
	}
	*ret = address;
	snprintf(ret_zone, LINK_NAME_SIZE, "%s", percent ? percent + 1 : "");
	return 0;
}
