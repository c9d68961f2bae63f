/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table of buckets. What is over makes room; nothing is ever thrown out before. */
#include "turn.h"

/* FNV-1a */
static unsigned turn_bucket(const struct address *to)
{
	uint32_t hash = 2166136261U;

	for (unsigned i = 0; i < sizeof(to->bytes); i++)
		hash = (hash ^ to->bytes[i]) * 16777619U;
	return (hash ^ hash >> 16) % TURN_BUCKETS;
}

static unsigned turn_place(const struct turns *turns, unsigned bucket, const struct address *to)
{
	unsigned place = 0;

	for (unsigned i = 0; i < TURN_PLACES; i++) {
		if (address_equal(&turns->places[bucket][i].to, to))
			return i;
		if (turns->places[bucket][i].free_usec < turns->places[bucket][place].free_usec)
			place = i;
	}
	return place;
}

uint64_t turns_book(struct turns *turns, const struct address *to, uint64_t at_usec,
		    uint64_t spacing_usec)
{
	unsigned bucket = turn_bucket(to), place = turn_place(turns, bucket, to);

	if (turns->places[bucket][place].free_usec > at_usec)
		at_usec = turns->places[bucket][place].free_usec;
	turns->places[bucket][place].to = *to;
	turns->places[bucket][place].free_usec = at_usec + spacing_usec;
	return at_usec;
}

bool turns_leave(struct turns *turns, const struct address *to, uint64_t now_usec,
		 uint64_t spacing_usec, uint64_t *ret_again_usec)
{
	unsigned bucket = turn_bucket(to), place = turn_place(turns, bucket, to);
	uint64_t *left = &turns->places[bucket][place].left_usec;

	/* it had to make room, and waited behind another one already */
	if (!address_equal(&turns->places[bucket][place].to, to))
		return true;
	if (*left != 0 && now_usec < *left + spacing_usec) {
		*ret_again_usec = *left + spacing_usec;
		return false;
	}
	*left = now_usec;
	return true;
}
