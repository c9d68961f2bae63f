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

uint64_t turns_book(struct turns *turns, const struct address *to, uint64_t at_usec,
		    uint64_t spacing_usec)
{
	unsigned bucket = turn_bucket(to), place = 0;

	for (unsigned i = 0; i < TURN_PLACES; i++) {
		if (address_equal(&turns->places[bucket][i].to, to)) {
			place = i;
			break;
		}
		if (turns->places[bucket][i].free_usec < turns->places[bucket][place].free_usec)
			place = i;
	}
	if (turns->places[bucket][place].free_usec > at_usec)
		at_usec = turns->places[bucket][place].free_usec;
	turns->places[bucket][place].to = *to;
	turns->places[bucket][place].free_usec = at_usec + spacing_usec;
	return at_usec;
}
