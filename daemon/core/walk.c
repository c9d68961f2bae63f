/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk along a path that loses large packets. Routers limit their time exceeded as they limit
 * everything (RFC 1812 section 4.3.2.8), so what was not answered is asked again, and a hop that
 * stays silent proves nothing.
 */
#include "walk.h"

#include <string.h>

#define HOPS_A_BURST 4U
#define PASSES_MOST 3U

void walk_begin(struct walk *walk, const struct walk_settings *settings)
{
	memset(walk, 0, sizeof(*walk));
	walk->settings = *settings;
}

/* Two sequence numbers a hop: the control's and the full size's. */
bool walk_answer(struct walk *walk, const struct answer *answer)
{
	uint16_t position = answer->sequence - walk->settings.first_sequence;
	unsigned number = position / 2U;
	struct walk_hop *hop;

	if (walk->done || number >= WALK_HOPS)
		return false;
	if (answer->has_nonce && answer->nonce != walk->settings.nonce)
		return false;
	hop = &walk->hops[number];
	if (answer->kind == ANSWER_ECHO) {
		if (walk->end == 0 || number + 1 < walk->end)
			walk->end = number + 1;
	} else if (answer->kind != ANSWER_TIME_EXCEEDED) {
		return false;
	}
	if (position % 2U) {
		hop->full = true;
	} else {
		hop->control = true;
		hop->from = answer->from;
	}
	return true;
}

static bool hop_is_open(const struct walk *walk, unsigned number)
{
	const struct walk_hop *hop = &walk->hops[number];

	return !hop->control || !hop->full;
}

static unsigned walk_length(const struct walk *walk)
{
	return walk->end ? walk->end : WALK_HOPS;
}

/* The next hops of this pass that are still open; the peer itself is known to fail. */
static void walk_send(struct walk *walk, struct burst *ret)
{
	unsigned pairs = 0;

	memset(ret, 0, sizeof(*ret));
	ret->kind = PROBE_ECHO;
	ret->nonce = walk->settings.nonce;
	while (walk->sent < walk_length(walk) && !hop_is_open(walk, walk->sent))
		walk->sent++;
	ret->first_sequence = (uint16_t)(walk->settings.first_sequence + 2 * walk->sent);
	while (walk->sent < walk_length(walk) && pairs < HOPS_A_BURST && hop_is_open(walk, walk->sent)) {
		ret->sizes[ret->count] = walk->settings.control;
		ret->ttls[ret->count++] = (uint8_t)(walk->sent + 1);
		ret->sizes[ret->count] = walk->settings.full;
		ret->ttls[ret->count++] = (uint8_t)(walk->sent + 1);
		walk->sent++;
		pairs++;
	}
}

/* Nothing beyond the first hops answers: the rest of a pass is not worth its packets. */
static bool walk_is_deaf(const struct walk *walk)
{
	unsigned silent = 0;

	for (unsigned i = walk->sent; i > 0; i--) {
		if (walk->hops[i - 1].control)
			break;
		silent++;
	}
	return silent >= 2 * HOPS_A_BURST;
}

uint64_t walk_step(struct walk *walk, struct turn *turn, uint64_t now_usec, struct burst *ret_burst)
{
	uint64_t at;

	ret_burst->count = 0;
	if (walk->done)
		return USEC_NEVER;
	if (now_usec < walk->until_usec)
		return walk->until_usec;
	if (walk->sent >= walk_length(walk) || walk_is_deaf(walk)) {
		walk->sent = 0;
		if (++walk->passes == PASSES_MOST) {
			walk->done = true;
			return USEC_NEVER;
		}
	}
	walk_send(walk, ret_burst);
	if (ret_burst->count == 0) {
		walk->done = true;
		return USEC_NEVER;
	}
	at = pace_book(turn->pace, now_usec,
		       ret_burst->count / 2 * (walk->settings.full + walk->settings.control));
	walk->until_usec = at + walk->settings.wait_usec;
	return walk->until_usec;
}

enum locus walk_result(const struct walk *walk, struct address *ret_hop)
{
	unsigned length = walk_length(walk), last = 0;
	bool heard = false;

	memset(ret_hop, 0, sizeof(*ret_hop));
	for (unsigned i = 0; i < length; i++) {
		heard |= walk->hops[i].control;
		if (walk->hops[i].full)
			last = i + 1;
	}
	/* where the walk itself gets through it went another way than what was lost */
	if (!heard || (walk->end && walk->hops[walk->end - 1].full))
		return LOCUS_NONE;
	if (last == 0)
		return walk->hops[0].control ? LOCUS_ON_LINK : LOCUS_NONE;
	if (!walk->hops[last - 1].control)
		return LOCUS_NONE;
	*ret_hop = walk->hops[last - 1].from;
	return LOCUS_AFTER;
}
