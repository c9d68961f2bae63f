/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as what rtnetlink says of a link. The first byte chooses the kind of message;
 * its header is made here, so that the bytes get as far as possible.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "../../daemon/world/link_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_link(const struct link *link)
{
	/* what the header promises of a link */
	if (link->index <= 0 || link->name[0] == '\0' || !memchr(link->name, '\0', LINK_NAME_SIZE) ||
	    !memchr(link->kind, '\0', LINK_NAME_SIZE))
		abort();
	if (link->type != link_type(link->kind) || link->parent < 0 || link->pair < 0)
		abort();
	if (link->foreign && (link->parent || link->pair))
		abort();
	if (link->pair && (link->type != LINK_VETH || link->pair == link->index))
		abort();
	if (!link_type_is_tunnel(link->type) &&
	    (link->tunnel || link->remote.family || link->local.family || link_overhead(link)))
		abort();
	if (link_overhead(link) > 150 || !link_equal(link, link))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = {RTM_NEWLINK, RTM_NEWLINK, RTM_DELLINK, RTM_NEWROUTE};
	union {
		struct nlmsghdr header;
		uint8_t bytes[2048];
	} *message;
	struct link link;

	if (size == 0 || size - 1 > sizeof(message->bytes) - NLMSG_HDRLEN)
		return 0;
	/* to the byte, so that reading past the end is seen */
	message = malloc(NLMSG_HDRLEN + size - 1 > sizeof(struct nlmsghdr)
				 ? NLMSG_HDRLEN + size - 1 : sizeof(struct nlmsghdr));
	if (!message)
		return 0;
	message->header = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size - 1),
		.nlmsg_type = types[data[0] & 3],
	};
	memcpy((uint8_t *)message + NLMSG_HDRLEN, data + 1, size - 1);
	switch (link_message_parse(&message->header, &link)) {
	case LINK_MESSAGE_LINK:
		check_link(&link);
		break;
	case LINK_MESSAGE_IPV6:
	case LINK_MESSAGE_GONE:
		if (link.index <= 0)
			abort();
		break;
	case LINK_MESSAGE_NONE:
		break;
	}
	free(message);
	return 0;
}
