/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the route that the kernel uses to the request for a host route like it with an MTU of ours.
 * Pure: no socket; unit-tested on bytes.
 */
#pragma once

#include <stddef.h>

#include <linux/netlink.h>

#include "../core/facts.h"

#define CLAMP_PROTOCOL 77 /* rtm_protocol of our routes; named in rt_protos.d */

/* A request with room for the routes that there are: a hundred next hops and more. */
#define CLAMP_MESSAGE_SIZE 8192

struct clamp_want {
	struct address to;
	uint32_t mtu;
};

/*
 * Makes of `match`, the kernel's own entry for the address (RTM_F_FIB_MATCH), the request for our
 * route. -EEXIST: the entry is somebody's host route to this address; -EALREADY: it is ours;
 * -ENETUNREACH: it leads nowhere; -EOPNOTSUPP: by a nexthop object of which nothing is told; -EMSGSIZE: it is too long; -EBADMSG.
 */
int clamp_message_build(struct nlmsghdr *match, const struct clamp_want *want, struct nlmsghdr *ret,
			size_t room);

/* Turns the request for a route into the one that takes just that route off. */
int clamp_message_undo(struct nlmsghdr *request, struct nlmsghdr *ret, size_t room);

struct clamp_entry {
	struct address to;
	uint32_t table;
	uint32_t mtu;
	int link;          /* 0: several, or by a nexthop object */
};

/* One route of ours as the kernel tells of it; false: it is none. */
bool clamp_message_parse(struct nlmsghdr *message, struct clamp_entry *ret);
