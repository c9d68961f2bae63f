/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The head of one message of an INET_DIAG dump: whose TCP connection it is, and between whom. Pure;
 * what else the message holds is for who asked.
 */
#pragma once

#include <linux/netlink.h>

#include "../core/facts.h"

struct diag_socket {
	struct address to, from; /* IPv4 where packets are, whatever the socket is */
	uint16_t to_port, from_port;
	int link; /* it is bound to, 0 none */
	uint32_t user;
	uint32_t inode;	 /* 0: no process has it open any more */
	uint32_t queued; /* bytes to be sent, or sent and not acknowledged */
};

/* Of which type it is the caller looks at, who knows what was asked. nlmsg_len bytes of `message`,
 * aligned as struct nlmsghdr is, have to be readable. False, with *ret untouched, when it is no
 * established TCP connection. */
bool diag_message_parse(const struct nlmsghdr *message, struct diag_socket *ret);
