/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a link down to the cables that its packets take, and from a cable up to the largest frame
 * that is sent on it. A tunnel's cable is another network's matter: it is not followed.
 */
#include "roster.h"

#include <string.h>

#define DEEPEST 6 /* QinQ over a bond in a bridge, and two to spare */

static const struct link_state *state_of(const struct roster *roster, int index)
{
	unsigned low = 0, high = roster->link_count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct link_state *state = roster->links[middle];

		if (state->link.index == index)
			return state;
		if (state->link.index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool is_kind(const struct link *link, const char *const *kinds)
{
	for (; *kinds; kinds++)
		if (strcmp(link->kind, *kinds) == 0)
			return true;
	return false;
}

/* Its frames are its parent's frames. */
static bool lies_on_parent(const struct link *link)
{
	static const char *const kinds[] = {"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", NULL};

	return link->parent && is_kind(link, kinds);
}

/* Its frames leave by one of its members. */
static bool has_members(const struct link *link)
{
	static const char *const kinds[] = {"bond", "team", "bridge", NULL};

	return is_kind(link, kinds);
}

struct named {
	const struct neighbour **list;
	unsigned count;
};

static void name(struct named *named, const struct neighbour *neighbour)
{
	for (unsigned i = 0; i < named->count; i++)
		if (neighbour_equal(named->list[i], neighbour))
			return;
	if (named->count < NEIGHBOURS_MOST)
		named->list[named->count++] = neighbour;
}

static void descend(const struct roster *roster, const struct link_state *state, unsigned depth,
		    struct named *named)
{
	if (!state || depth > DEEPEST)
		return;
	if (state->far.neighbour) {
		name(named, state->far.neighbour);
		return;
	}
	if (lies_on_parent(&state->link))
		descend(roster, state_of(roster, state->link.parent), depth + 1, named);
	for (unsigned i = 0; has_members(&state->link) && i < roster->link_count; i++)
		if (roster->links[i]->link.master == state->link.index)
			descend(roster, roster->links[i], depth + 1, named);
}

unsigned roster_neighbours(const struct roster *roster, int link,
			   const struct neighbour *ret[static NEIGHBOURS_MOST])
{
	struct named named = {.list = ret};

	descend(roster, state_of(roster, link), 0, &named);
	return named.count;
}

static uint32_t frame_of(const struct roster *roster, const struct link *link, unsigned depth)
{
	static const char *const tagged[] = {"vlan", NULL}, *const bonds[] = {"bond", "team", NULL};
	uint32_t largest = link->up ? link->mtu + FRAME_HEADER : 0;

	for (unsigned i = 0; depth < DEEPEST && i < roster->link_count; i++) {
		const struct link *upper = &roster->links[i]->link;
		bool tag = upper->parent == link->index && is_kind(upper, tagged);
		uint32_t frame = 0;

		if (tag || (link->master == upper->index && is_kind(upper, bonds)))
			frame = frame_of(roster, upper, depth + 1);
		if (tag && frame)
			frame += FRAME_TAG;
		if (frame > largest)
			largest = frame;
	}
	return largest;
}

uint32_t roster_frame(const struct roster *roster, const struct link *link)
{
	return frame_of(roster, link, 0);
}
