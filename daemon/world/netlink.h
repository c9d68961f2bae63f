/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one seam at the netlink socket: datagrams in, requests out. It knows nothing of links or
 * routes, takes nothing from senders other than the kernel, and never waits for ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

struct nl_sock;

struct netlink {
	struct nl_sock *socket;
	int fd;
	uint32_t sequence;
	void *buffer; /* of the datagram that was received last */
};

/* Called for every message; a negative return is handed on, but the answer is read to its end. */
typedef int (*netlink_handler_t)(struct nlmsghdr *message, void *userdata);

/*
 * `groups` ends with 0: a non-blocking socket with a large buffer for what the kernel tells.
 * NULL: a socket for requests, whose answers are waited for one second at most.
 */
int netlink_open(struct netlink *ret, const int *groups);
/* A socket for INET_DIAG: `events` as with groups, though there are none; else for requests. */
int netlink_open_connections(struct netlink *ret, bool events);
void netlink_close(struct netlink *netlink); /* takes one that is all zero */

/* Hands the messages of one datagram to `handler`. 1 there may be more, -EAGAIN nothing is
 * there, -ENOBUFS the kernel dropped messages; else what `handler` or the socket says. */
int netlink_receive(struct netlink *netlink, netlink_handler_t handler, void *userdata);

/* Throws away what waits on the socket. */
void netlink_discard(struct netlink *netlink);

/* Sends `request` (its flags and sequence are filled in) and waits for nothing. */
int netlink_send(struct netlink *netlink, struct nlmsghdr *request);

/*
 * Sends `request` (its flags and sequence are filled in; NLM_F_DUMP is the caller's) and hands
 * every message of the answer to `handler`. The kernel's own refusal comes back as it is;
 * -ETIMEDOUT without an answer, -EINTR for a dump that was not of one moment: ask again; -EBADMSG
 * when the answer to what is neither a dump nor an order (NLM_F_ACK) has no message in it.
 */
int netlink_ask(struct netlink *netlink, struct nlmsghdr *request, netlink_handler_t handler,
		void *userdata);

/* What an NLMSG_ERROR or NLMSG_DONE says: 0, or a negative errno. */
int netlink_error(struct nlmsghdr *message);

/* Appends an attribute to a request that has the room for it. */
void netlink_put(struct nlmsghdr *request, uint16_t type, const void *data, size_t length);
