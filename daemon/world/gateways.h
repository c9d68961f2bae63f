/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk behind routes_gateways(): every route once, only default routes looked at.
 */
#pragma once

#include "netlink.h"
#include "routes.h"

/* As routes_gateways(), over a socket for requests. */
int gateways_collect(struct netlink *netlink, struct gateway **ret, unsigned *ret_count);
