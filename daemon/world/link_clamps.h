/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Links whose MTU we lowered. What they were is on a file before anything is changed. Puts back only
 * what is still as we left it: somebody else's change wins.
 */
#pragma once

#include "clamp_record.h"

struct link_clamps;

/* `folder` is where records are kept; what an earlier life left there is finished or taken over. */
int link_clamps_new(struct link_clamps **ret, const char *folder);
struct link_clamps *link_clamps_free(struct link_clamps *clamps);

/* Records found at the beginning that say nothing: what those links were is lost. */
unsigned link_clamps_broken(const struct link_clamps *clamps);

unsigned link_clamps_count(const struct link_clamps *clamps);
/* Valid until the next change; NULL none. */
const struct stack *link_clamps_at(const struct link_clamps *clamps, unsigned position);
const struct stack *link_clamps_find(const struct link_clamps *clamps, int index);

/* What became of this link, as the clamped one or as one that stands on it; NULL nothing. */
const struct stacked *link_clamps_member(const struct link_clamps *clamps, int index);

/* The record, then the links. -EXDEV: a container's link, or an IPv6 route with
 * an MTU of its own, would not be as before when it is over. On error everything is as before, as far as the kernel lets us. */
int link_clamps_put(struct link_clamps *clamps, const struct stack *stack);

/* The link at its old size, what stands on it not yet; and back again. */
int link_clamps_try(struct link_clamps *clamps, int index, bool full);

/* Everything back that is still as we left it, then the record away. On error it stays in the list. */
int link_clamps_lift(struct link_clamps *clamps, int index);

/* The link's MTU as the kernel has it. -ENODEV: it is gone. */
int link_clamps_mtu(struct link_clamps *clamps, int index, uint32_t *ret);
