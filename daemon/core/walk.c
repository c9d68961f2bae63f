/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk along a path that loses large packets. Routers limit their time exceeded as they limit
 * everything (RFC 1812 section 4.3.2.8), so what was not answered is asked again, and a hop that
 * stays silent proves nothing.
 */
#include "walk.h"

#include <string.h>

#define HOPS_TOGETHER 4U
#define DEAF_HOPS 8U /* so many silent ones: the rest of a pass is not worth its packets */
#define PEACE_USEC (1200 * USEC_PER_MSEC)

void walk_begin(struct walk *walk, const struct walk_settings *settings)
{
	memset(walk, 0, sizeof(*walk));
	walk->settings = *settings;
}

/* --- answers --- */

/* Two sequence numbers a hop: the control's and the full size's. */
static uint32_t walk_size(const struct walk *walk, unsigned position)
{
	return position % 2U ? walk->settings.full : walk->settings.control;
}

static unsigned walk_position(const struct walk *walk, const struct answer *answer)
{
	const struct walk_settings *settings = &walk->settings;

	if (settings->kind != PROBE_SYN || answer->kind != ANSWER_DELIVERED)
		return (uint16_t)(answer->sequence - settings->first_sequence);
	for (unsigned i = 0; i < 2 * WALK_HOPS; i++)
		if (probe_syn_answered(settings->nonce, (uint16_t)(settings->first_sequence + i),
				       walk_size(walk, i) - settings->plain, answer->acknowledged))
			return i;
	return 2 * WALK_HOPS;
}

static bool walk_nonce_fits(const struct walk *walk, const struct answer *answer)
{
	uint64_t nonce = probe_nonce(walk->settings.kind, walk->settings.nonce, answer->sequence);

	if (walk->settings.kind == PROBE_SYN)
		return answer->kind == ANSWER_DELIVERED || (uint16_t)answer->nonce == (uint16_t)nonce;
	return !answer->has_nonce || answer->nonce == nonce;
}

/* It is the peer that answers, not a router. */
static bool answer_is_peers(const struct answer *answer)
{
	return answer->kind == ANSWER_ECHO || answer->kind == ANSWER_DELIVERED ||
	       answer->kind == ANSWER_COOKIE;
}

bool walk_answer(struct walk *walk, const struct answer *answer)
{
	unsigned position = walk_position(walk, answer), number = position / 2U;
	struct walk_hop *hop;

	if (walk->done || number >= WALK_HOPS || !probe_kind_fits(walk->settings.kind, answer) ||
	    !walk_nonce_fits(walk, answer))
		return false;
	hop = &walk->hops[number];
	/* errors come late, and may be another packet's */
	if (answer->kind == ANSWER_REFUSED)
		return !(position % 2U ? hop->full : hop->control);
	/* a report of another kind tells nothing of the hop */
	if (!answer_is_peers(answer) && answer->kind != ANSWER_TIME_EXCEEDED)
		return true;
	if (answer_is_peers(answer) && (walk->end == 0 || number + 1 < walk->end))
		walk->end = number + 1;
	if (position % 2U) {
		hop->full = true;
	} else {
		hop->control = true;
		hop->from = answer->from;
	}
	return true;
}

/* --- steps --- */

/* The last router before the peer does not get the full size: that the peer does not is known. */
static bool walk_stops_early(const struct walk *walk)
{
	unsigned distance = walk->settings.distance;
	const struct walk_hop *hop = distance >= 2 && distance <= WALK_HOPS ?
					     &walk->hops[distance - 2] : NULL;

	return hop && hop->control && !hop->full;
}

/* A peer that answers once a second is not to be reached by the walk. */
static unsigned walk_length(const struct walk *walk)
{
	if (walk->settings.kind == PROBE_UDP)
		return walk->settings.distance ? walk->settings.distance - 1 : 0;
	if (walk->end)
		return walk->end;
	return walk_stops_early(walk) ? walk->settings.distance - 1 : WALK_HOPS;
}

static bool hop_is_open(const struct walk *walk, unsigned number)
{
	const struct walk_hop *hop = &walk->hops[number];

	/* that the peer itself fails is known */
	if (walk->pass > 0 && number + 1 == walk->end)
		return false;
	return !hop->control || !hop->full;
}

static bool walk_is_deaf(const struct walk *walk)
{
	unsigned silent = 0;

	for (unsigned i = walk->next; i > 0; i--) {
		if (walk->hops[i - 1].control)
			break;
		silent++;
	}
	return silent >= DEAF_HOPS;
}

/* Goes to the next open hop. False where this pass has none left. */
static bool walk_seek(struct walk *walk)
{
	while (walk->next < walk_length(walk) && !hop_is_open(walk, walk->next))
		walk->next++;
	return walk->next < walk_length(walk) && !walk_is_deaf(walk);
}

static void walk_send(struct walk *walk, struct burst *ret)
{
	unsigned first = 2 * walk->next + walk->hops[walk->next].control;

	memset(ret, 0, sizeof(*ret));
	ret->kind = walk->settings.kind;
	ret->nonce = walk->settings.nonce;
	ret->first_sequence = (uint16_t)(walk->settings.first_sequence + first);
	for (unsigned i = first; i < 2 * walk->next + 2; i++) {
		ret->sizes[ret->count] = walk_size(walk, i);
		ret->ttls[ret->count++] = (uint8_t)(walk->next + 1);
	}
	walk->next++;
	walk->together++;
}

/* Answers are waited for when so many are asked; with a flow's one half-open connection, each time. */
static bool walk_pauses(struct walk *walk)
{
	unsigned distance = walk->settings.distance;

	return walk->together >= HOPS_TOGETHER || walk->settings.kind == PROBE_SYN ||
	       (walk->pass == 0 && (walk->next == distance || walk->next + 1 == distance)) || !walk_seek(walk);
}

/* False at the end of the last one. */
static bool walk_next_pass(struct walk *walk, uint64_t now_usec)
{
	walk->next = 0;
	walk->together = 0;
	walk->pass++;
	if (walk->settings.patient && walk->pass + 1 == walk->settings.passes)
		walk->until_usec = now_usec + PEACE_USEC;
	return walk->pass < walk->settings.passes && walk_seek(walk);
}

uint64_t walk_step(struct walk *walk, struct turn *turn, uint64_t now_usec, struct burst *ret_burst)
{
	uint32_t bytes = 0;

	ret_burst->count = 0;
	if (walk->done)
		return USEC_NEVER;
	if (now_usec < walk->until_usec)
		return walk->until_usec;
	if (!walk_seek(walk) && !walk_next_pass(walk, now_usec)) {
		walk->done = true;
		return USEC_NEVER;
	}
	if (now_usec < walk->until_usec)
		return walk->until_usec;
	walk_send(walk, ret_burst);
	for (unsigned i = 0; i < ret_burst->count; i++)
		bytes += ret_burst->sizes[i];
	now_usec = pace_book(turn->pace, now_usec, bytes);
	if (walk_pauses(walk)) {
		walk->together = 0;
		walk->until_usec = now_usec + walk->settings.wait_usec;
	}
	return walk->until_usec;
}

/* --- the end --- */

/* Hops up to the last one that the full size reached. */
static unsigned walk_reached(const struct walk *walk)
{
	unsigned last = 0;

	for (unsigned i = 0; i < walk_length(walk); i++)
		if (walk->hops[i].full)
			last = i + 1;
	return last;
}

enum locus walk_result(const struct walk *walk, struct address *ret_hop)
{
	unsigned length = walk_length(walk), last = walk_reached(walk);
	bool heard = false;

	memset(ret_hop, 0, sizeof(*ret_hop));
	for (unsigned i = 0; i < length; i++)
		heard |= walk->hops[i].control;
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

bool walk_router_fails(const struct walk *walk)
{
	if (!walk->settings.patient)
		return false;
	for (unsigned i = walk_reached(walk); i < walk_length(walk); i++)
		if (walk->hops[i].control && i + 1 != walk->end)
			return true;
	return false;
}
