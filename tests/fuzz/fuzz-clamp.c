/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as a record of a clamped link, and as the kernel's word on a route of which a clamp
 * is to be made: what is taken is within bounds, and what is made can be read and undone.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "../../daemon/world/clamp_message.h"
#include "../../daemon/world/clamp_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

union message {
	struct nlmsghdr header;
	uint8_t bytes[CLAMP_MESSAGE_SIZE];
};

static void record(const uint8_t *data, size_t size)
{
	struct stack stack;

	if (clamp_record_parse((const char *)data, size, &stack) < 0)
		return;
	if (stack.count == 0 || stack.count > STACK_LARGEST)
		abort();
	for (unsigned i = 0; i < stack.count; i++)
		if (stack.list[i].before <= stack.list[i].after || stack.list[i].index <= 0 ||
		    memchr(stack.list[i].name, '\0', LINK_NAME_SIZE) == NULL)
			abort();
}

static void route(const uint8_t *data, size_t size, uint8_t family)
{
	const struct clamp_want want = {.to = {.family = family, .bytes = {203, 0, 113, 9}}, .mtu = 1500};
	static union message match, request, undo;
	struct clamp_entry entry;

	if (size > sizeof(match) - NLMSG_HDRLEN)
		return;
	memcpy(match.bytes + NLMSG_HDRLEN, data, size);
	match.header = (struct nlmsghdr){.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
					 .nlmsg_type = RTM_NEWROUTE};
	clamp_message_parse(&match.header, &entry);
	if (clamp_message_build(&match.header, &want, &request.header, sizeof(request)) < 0)
		return;
	if (request.header.nlmsg_len > sizeof(request) ||
	    !clamp_message_parse(&request.header, &entry) || entry.mtu != want.mtu ||
	    clamp_message_undo(&request.header, &undo.header, sizeof(undo)) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	record(data, size);
	route(data, size, ADDRESS_IPV4);
	route(data, size, ADDRESS_IPV6);
	return 0;
}
