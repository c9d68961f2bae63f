/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Links of containers that stand on links of ours: macvlans and their like, which the kernel lowers
 * with what is below them wherever they are, and never raises again. Changes nothing.
 */
#pragma once

#include "../core/stack.h"
#include "netlink.h"

/* 1: one in another network namespace, as far as this host may look into it, stands on a link of
 * the stack; 0 none. */
int link_guests_find(struct netlink *netlink, const struct stack *stack);
