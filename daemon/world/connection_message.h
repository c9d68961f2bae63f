/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one message of an INET_DIAG dump says of a TCP connection, and what such a dump is asked
 * for. Pure: no socket; fuzzed and unit-tested on bytes.
 */
#pragma once

#include <stddef.h>

#include <linux/netlink.h>

#include "../core/facts.h"

/* nlmsg_len bytes of `message`, aligned as struct nlmsghdr is, have to be readable. False, with
 * *ret untouched, when it is no established TCP connection or lacks what is to be known of it. */
bool connection_message_parse(struct nlmsghdr *message, struct connection *ret);

/* Fills in what INET_DIAG_INFO holds; in_flight is the whole queue before. False, with nothing
 * touched, when it is no struct tcp_info of a connection that is through its handshake. */
bool connection_info_read(const void *bytes, size_t length, struct connection *connection);

/* Bytes that a filter takes for each address, at most. */
#define FILTER_ADDRESS_SIZE 32U

/*
 * Writes a program for the kernel that lets connections to these addresses pass (IPv4 ones from
 * IPv6 sockets too) into `buffer` of count * FILTER_ADDRESS_SIZE bytes. Returns its length.
 */
size_t connection_filter_write(const struct address *addresses, unsigned count, void *buffer);
