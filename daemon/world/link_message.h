/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one rtnetlink message says of a link. Pure: no socket, no table; fuzzed and unit-tested on
 * bytes.
 */
#pragma once

#include <linux/netlink.h>

#include "../core/facts.h"

enum link_message {
	LINK_MESSAGE_NONE, /* not about a link, a bridge's private affair, or malformed */
	LINK_MESSAGE_LINK, /* *ret is the link as it is now */
	LINK_MESSAGE_IPV6, /* only index and ipv6_mtu of *ret are set */
	LINK_MESSAGE_GONE, /* only index of *ret is set */
};

/* nlmsg_len bytes of `message`, aligned as struct nlmsghdr is, have to be readable. *ret is
 * untouched for LINK_MESSAGE_NONE. */
enum link_message link_message_parse(struct nlmsghdr *message, struct link *ret);
