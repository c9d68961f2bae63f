/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The largest size that passes, thought out from what was tried so far. A search is a view on
 * the tries of one flow: it keeps nothing of its own.
 *
 * An answer raises the floor at once. A silence only suggests: a size counts as too big after
 * enough of its tries went unanswered although something sent beside them was answered.
 */
#pragma once

#include "facts.h"

enum try_state {
	TRY_WAITING,
	TRY_RECEIPT,   /* it arrived; an answer of its size may still come back */
	TRY_DELIVERED, /* it arrived; none came back, or none is to be expected */
	TRY_ANSWERED,  /* it arrived, and as much came back */
	TRY_SILENT,
	TRY_REPORTED,  /* a router said too big */
	TRY_REFUSED,  /* this host would not send it */
	TRY_ASKED_AGAIN, /* not a word about the size: it will be sent anew */
	TRY_VOID,     /* never sent, or what happened to it tells nothing */
};

/* One probe that was sent. */
struct try {
	uint32_t sent_usec; /* since the round began */
	uint16_t size;
	uint8_t burst; /* tries of one burst left together */
	uint8_t state; /* enum try_state */
};

#define TRIES_LARGEST 320

/* Which way is asked about. */
enum view {
	VIEW_FORWARD, /* did it arrive? Of an echo: did it arrive and come back? */
	VIEW_RETURN,  /* of what arrived: did it come back? */
};

struct tries {
	enum view view;
	unsigned count;
	struct try list[TRIES_LARGEST];
};

/* Plain loss: of probes that are known to fit. Fades, so that old times do not rule. */
struct loss {
	uint16_t sent;
	uint16_t lost;
};

void loss_add(struct loss *loss, struct loss more);

/* Largest size that passed, 0 none. */
uint32_t search_floor(const struct tries *tries);

/* How often `size` failed although its burst was alive; reports and refusals count too. On the way
 * back only what arrived can fail: its receipt is its control. */
unsigned search_failures(const struct tries *tries, uint32_t size);

/* The smallest size above the floor that failed at least once; 0 none. */
uint32_t search_suspect(const struct tries *tries);

/* A size below the floor of which every try failed, though none of the same bursts' controls did: the
 * sizes of this path do not fail in order; 0 none. */
uint32_t search_exception(const struct tries *tries, uint32_t control);

/* Tries of sizes up to the floor: how many are decided, how many of these were lost. */
struct loss search_loss(const struct tries *tries);

/* How many failures make a size too big, when `loss` is the path's plain loss: `tries`, and more
 * where chance alone could explain that many. */
unsigned search_needed(struct loss loss, unsigned tries);

struct search_limit {
	unsigned sizes; /* how many at most */
	uint32_t bytes; /* together at most; one size is always given */
};

/*
 * Sizes to ask between floor and suspect (both left out), ascending: well-known MTUs first, then
 * the middles of what is left. Returns how many; 0 when nothing lies between.
 */
unsigned search_next(uint32_t floor, uint32_t suspect, struct search_limit limit,
		     uint32_t *ret_sizes);
