/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one rtnetlink message says of a route or a next hop. Pure: no socket; fuzzed and
 * unit-tested on bytes.
 */
#pragma once

#include <linux/netlink.h>

#include "../core/facts.h"

struct nlattr;

struct route_message {
	uint8_t type;           /* RTN_UNICAST ... */
	uint8_t length;         /* of the prefix */
	uint8_t protocol;       /* who made it: RTPROT_... */
	uint32_t flags;         /* RTM_F_..., RTNH_F_... */
	struct address prefix;  /* family of the route; all zero for a default route */
	struct address source;
	struct address gateway; /* ADDRESS_NONE: none; link-local with its zone */
	int link;
	uint32_t mtu;           /* 0 none */
	bool mtu_locked;
	uint32_t expires;       /* in ticks of the clock that user space sees, 0 never */
	uint32_t nexthop;       /* id of a nexthop object, 0 none */
	struct nlattr *hops;    /* RTA_MULTIPATH, within the message; NULL none */
};

/* nlmsg_len bytes of `message`, aligned as struct nlmsghdr is, have to be readable. False, with
 * *ret untouched, when it is no whole route of IPv4 or IPv6. */
bool route_message_parse(struct nlmsghdr *message, struct route_message *ret);

struct next_hop {
	struct address gateway; /* ADDRESS_NONE: on the link itself; link-local with its zone */
	int link;
	bool dead;
};

typedef int (*next_hop_handler_t)(const struct next_hop *hop, void *userdata);

/* Each next hop that the message itself holds; ends early with what `handler` returns below 0. */
int route_message_hops(const struct route_message *route, next_hop_handler_t handler,
		       void *userdata);

struct nexthop_message {
	struct next_hop hop;   /* link 0: none, it is a group or leads nowhere */
	const uint8_t *group;  /* struct nexthop_grp, one after the other, within the message */
	unsigned group_count;
};

bool nexthop_message_parse(struct nlmsghdr *message, struct nexthop_message *ret);
uint32_t nexthop_message_member(const struct nexthop_message *nexthop, unsigned position);
