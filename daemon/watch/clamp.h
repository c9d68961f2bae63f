/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of treatment share: clamp.c (a round), clamp_follow.c (the route below),
 * clamp_off.c (coming off), clamp_link.c (a link), clamp_trial.c (trying one). Nobody
 * else includes this.
 */
#pragma once

#include "../face/journal_clamp.h"
#include "state.h"

/* clamp.c */
/* A path that wants the clamp of this address, else one that it was for; NULL: nobody's. */
struct path *watch_clamp_owner(const struct watch *watch, const struct address *to);
struct clamp_way watch_clamp_way(const struct path *path);
/* `path` NULL: nobody watches it. */
struct clamp_word watch_clamp_word(const struct path *path, const struct address *to, uint32_t mtu);
/* What the kernel says now of every path to this address. */
void watch_clamp_look(struct watch *watch, const struct address *to);
enum clamp_refusal watch_clamp_refusal(int error);
/* Said once for a fault. */
void watch_clamp_refuse(struct watch *watch, struct path *path, const struct clamp_word *word);

/* Whether anything of ours is in force. */
static inline bool watch_clamps_any(const struct watch *watch)
{
	return clamps_count(watch->clamps) > 0 ||
	       (watch->link_clamps && link_clamps_count(watch->link_clamps) > 0);
}

/* clamp_follow.c */
/* A path that nothing answers on: the kernel may have turned to another router. */
void watch_clamp_follow(struct watch *watch, struct path *path);

/* clamp_off.c */
/* `path` NULL: nobody's. Says why it came off. */
int watch_clamp_take_off(struct watch *watch, struct path *path, const struct address *to,
			 enum clamp_end end);

/* clamp_link.c */
/* What the clamped link is called now. */
const char *watch_clamp_link_name(const struct watch *watch, const struct stacked *of);
bool watch_clamp_uses(const struct path *path, int index);
/* A path whose fault is why the link is clamped. */
bool watch_clamp_is_reason(const struct watch *watch, const struct path *path, int index);
/* Our own change of these is on its way as an event. */
void watch_clamp_expect(struct watch *watch, const struct stack *stack, bool back);
/* The routes that held the link's peers down while it was tried; `but_reasons`: those of the peers that
 * had the fault stay until it has gone for good. */
void watch_clamp_locks_off(struct watch *watch, const struct stacked *of, bool but_reasons);
int watch_clamp_link_lift(struct watch *watch, int index, enum clamp_end end);
