/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether what others say of links by name or index is said of this network namespace. Where that
 * cannot be found out, it is taken to be so.
 */
#pragma once

#include <stdbool.h>

/* The first process here: whose /run this is. */
bool same_network_as_init(void);
/* Who listens at the other end of a connected Unix socket. */
bool same_network_as_peer(int fd);
