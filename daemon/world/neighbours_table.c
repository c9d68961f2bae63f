/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small sorted table; asks nobody. */
#include "neighbours_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CABLES_MOST 1024

/* The position of `link`, or where it belongs. */
static unsigned position_of(const struct cables *cables, int link)
{
	unsigned low = 0, high = cables->count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (cables->list[middle].link < link)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int make_room(struct cables *cables)
{
	unsigned room = cables->room ? cables->room * 2 : 4;
	struct cable *grown;

	if (cables->list && cables->count < cables->room)
		return 0;
	grown = reallocarray(cables->list, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	cables->list = grown;
	cables->room = room;
	return 0;
}

int cables_put(struct cables *cables, const struct cable *cable)
{
	unsigned position = position_of(cables, cable->link);
	struct cable *slot = cables->list ? &cables->list[position] : NULL;
	int r;

	if (slot && position < cables->count && slot->link == cable->link) {
		if (neighbour_precedes(&cable->neighbour, &slot->neighbour))
			*slot = *cable;
		return 0;
	}
	if (cables->count == CABLES_MOST)
		return 0;
	r = make_room(cables);
	if (r < 0)
		return r;
	slot = &cables->list[position];
	memmove(slot + 1, slot, (cables->count - position) * sizeof(*slot));
	*slot = *cable;
	cables->count++;
	return 0;
}

void cables_expire(struct cables *cables, uint64_t age_sec)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < cables->count; i++)
		if (age_sec <= cables->list[i].ttl_sec)
			cables->list[kept++] = cables->list[i];
	cables->count = kept;
}

const struct cable *cables_find(const struct cables *cables, int link)
{
	unsigned position = position_of(cables, link);

	if (position == cables->count || cables->list[position].link != link)
		return NULL;
	return &cables->list[position];
}

bool cables_equal(const struct cables *a, const struct cables *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (a->list[i].link != b->list[i].link ||
		    !neighbour_equal(&a->list[i].neighbour, &b->list[i].neighbour))
			return false;
	return true;
}

void cables_done(struct cables *cables)
{
	free(cables->list);
	memset(cables, 0, sizeof(*cables));
}
