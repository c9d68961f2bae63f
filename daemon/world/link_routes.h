/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * IPv6 routes with an MTU of their own: the kernel lowers one that is not locked with its link, and
 * raises it to all that the link takes afterwards. Changes nothing.
 */
#pragma once

#include "../core/stack.h"
#include "netlink.h"

/* 1: a route by one of the stack's links would not be as before once they are put back; 0 none. */
int link_routes_find(struct netlink *netlink, const struct stack *stack);
