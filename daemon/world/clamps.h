/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Our host routes with a smaller MTU. The kernel is their memory: whatever carries our number when
 * this begins is ours. Touches no route of anybody else.
 */
#pragma once

#include "clamp_message.h"

struct clamps;

/* Where packets to a peer go. */
struct clamp_way {
	const struct address *to;
	const struct address *from; /* NULL or ADDRESS_NONE: the kernel chooses */
	int link;                   /* its packets are bound to this link; 0: the route decides */
};

/* Finds the routes of ours that are there. The caller owns *ret. */
int clamps_new(struct clamps **ret);
struct clamps *clamps_free(struct clamps *clamps);

unsigned clamps_count(const struct clamps *clamps);
/* Valid until the next change. */
const struct clamp_entry *clamps_at(const struct clamps *clamps, unsigned position);
const struct clamp_entry *clamps_find(const struct clamps *clamps, const struct address *to);

/* The netlink port that our changes come from: what is told of them carries it. */
uint32_t clamps_port(const struct clamps *clamps);

/*
 * A route for `way->to` like the one that is used now, of this MTU; one of ours that is there is
 * replaced. -EEXIST: somebody's host route is there; -EXDEV: other packets to it take another link;
 * -EPERM; -ENETUNREACH: no route leads there; else what the kernel says. On error nothing of ours is
 * left behind for that address, as far as the kernel lets us.
 */
int clamps_put(struct clamps *clamps, const struct clamp_way *way, uint32_t mtu);

/* -ENOENT: it was gone already. On another error it is still there, and stays in the list. */
int clamps_take_off(struct clamps *clamps, const struct address *to);

/* Copies the route that is used now anew. Errors as clamps_put(). */
int clamps_refresh(struct clamps *clamps, const struct clamp_way *way);

/* Whether the kernel still has it; one that it has not is forgotten. When in doubt: true. */
bool clamps_hold(struct clamps *clamps, const struct address *to);

/* What an ordinary socket to the peer would use, exceptions and locks included; sends nothing. */
int clamps_socket_mtu(const struct clamp_way *way, uint32_t *ret);
