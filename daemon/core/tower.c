/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a link down to the cables and from a cable up to all that stands on it. Follows what is
 * known; a tunnel of which nobody knows where it leaves ends the way.
 */
#include "tower.h"

#define DEPTH_MOST 8 /* a tunnel over a VLAN over a bridge over a veth into another bridge */

static void marks_clear(const struct roster *roster)
{
	for (unsigned i = 0; i < roster->link_count; i++) {
		roster->links[i]->reached = false;
		roster->links[i]->around = 0;
	}
}

int tower_under(const struct link_state *state)
{
	if (state->link.foreign || (state->link.tunnel & WRAP_EXTERNAL))
		return 0;
	if (!state->link.parent && link_type_is_tunnel(state->link.type))
		return state->underlay;
	return state->link.parent;
}

/* What goes into one end of a veth comes out of the other, and is that one's bridge's then. */
static int bridge_behind(const struct roster *roster, const struct link_state *state)
{
	const struct link_state *pair =
		state->link.pair ? roster_link_at(roster, state->link.pair) : NULL;
	const struct link_state *master =
		pair && pair->link.master ? roster_link_at(roster, pair->link.master) : NULL;

	return master && master->link.type == LINK_BRIDGE ? master->link.index : 0;
}

static uint16_t around_below(const struct link_state *state)
{
	return (uint16_t)(state->around + link_overhead(&state->link));
}

/* --- down --- */

static void mark_below(const struct roster *roster, int link, uint16_t around, unsigned depth)
{
	struct link_state *state = link ? roster_link_at(roster, link) : NULL;

	if (!state || state->reached || depth == 0)
		return;
	state->reached = true;
	state->around = around;
	mark_below(roster, tower_under(state), around_below(state), depth - 1);
	mark_below(roster, bridge_behind(roster, state), around, depth - 1);
	if (!state->members.smallest)
		return;
	for (unsigned i = 0; i < roster->link_count; i++)
		if (roster->links[i]->link.master == link)
			mark_below(roster, roster->links[i]->link.index, around, depth - 1);
}

void tower_mark_below(const struct roster *roster, int link)
{
	marks_clear(roster);
	mark_below(roster, link, 0, DEPTH_MOST);
}

/* --- up --- */

static bool reached_add(struct link_state *state, uint32_t around)
{
	if (state->reached)
		return false;
	state->reached = true;
	state->around = (uint16_t)around;
	return true;
}

static struct link_state *reached_at(const struct roster *roster, int link)
{
	struct link_state *state = link ? roster_link_at(roster, link) : NULL;

	return state && state->reached ? state : NULL;
}

/* What it lies on is reached already. */
static bool reach_by_what_is_below(const struct roster *roster, struct link_state *state)
{
	const struct link_state *below = reached_at(roster, tower_under(state));

	if (below)
		return reached_add(state, below->around + link_overhead(&state->link));
	below = reached_at(roster, bridge_behind(roster, state));
	return below && reached_add(state, below->around);
}

static bool reach_master(const struct roster *roster, const struct link_state *state)
{
	struct link_state *master =
		state->link.master ? roster_link_at(roster, state->link.master) : NULL;

	return master && master->members.smallest && reached_add(master, state->around);
}

void tower_mark_above(const struct roster *roster, int link)
{
	struct link_state *state = roster_link_at(roster, link);
	bool more = state != NULL;

	marks_clear(roster);
	if (state)
		state->reached = true;
	for (unsigned depth = 1; depth < DEPTH_MOST && more; depth++) {
		more = false;
		for (unsigned i = 0; i < roster->link_count; i++) {
			state = roster->links[i];
			more |= !state->reached && reach_by_what_is_below(roster, state);
			more |= state->reached && reach_master(roster, state);
		}
	}
}

/* --- paths --- */

bool tower_has_paths(const struct roster *roster)
{
	for (unsigned i = 0; i < roster->link_count; i++)
		if (roster->links[i]->reached && roster->links[i]->carries)
			return true;
	return false;
}

void tower_count_paths(const struct roster *roster)
{
	const struct link_state *last = NULL;

	for (unsigned i = 0; i < roster->link_count; i++)
		roster->links[i]->carries = false;
	for (unsigned i = 0; i < roster->peer_count; i++) {
		const struct peer *peer = roster->peers[i];

		for (unsigned j = 0; j < peer->path_count; j++) {
			int link = peer->paths[j].route.link;
			struct link_state *state;

			/* one after the other they mostly leave by the same */
			if (link == 0 || (last && last->link.index == link))
				continue;
			state = roster_link_at(roster, link);
			if (state)
				state->carries = true;
			last = state;
		}
	}
}
