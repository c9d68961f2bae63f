/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One message of an INET_DIAG dump: whether it is a connection to storage. Pure; fuzzed.
 */
#pragma once

#include <stddef.h>

#include <linux/netlink.h>

#include "storage_list.h"

struct storage_socket {
	struct storage storage;
	int link; /* it is bound to, 0 none */
};

/* nlmsg_len bytes of `message`, aligned as struct nlmsghdr is, have to be readable. */
bool storage_from_socket(struct nlmsghdr *message, struct storage_socket *ret);

#define SOCKETS_FILTER_MOST 512U
/* A program for the kernel that lets connections to storage's ports pass. Returns its length. */
size_t sockets_filter_write(void *buffer);
