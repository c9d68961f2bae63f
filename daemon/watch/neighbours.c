/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Neighbours come in here and go to their links. Whether what one announces is less than what this
 * host sends is looked at now and then only: what has passed meanwhile proves it wrong.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

/* True when it is another one. */
static bool neighbour_set(struct link_state *state, const struct neighbour *now)
{
	struct neighbour *known = state->far.neighbour;
	bool was = known != NULL;

	if (!now) {
		state->far.neighbour = NULL;
		state->far.sends = 0;
		free(known);
		return was;
	}
	if (known && neighbour_equal(known, now))
		return false;
	if (!known)
		known = calloc(1, sizeof(*known));
	if (!known)
		return false;
	*known = *now;
	state->far.neighbour = known;
	state->far.sends = 0;
	return true;
}

static void tell_lldpd(struct watch *watch)
{
	int error = neighbours_lldpd_error(watch->neighbours);

	if (watch->lldpd_told || (error != -EACCES && error != -ENOSYS))
		return;
	watch->lldpd_told = true;
	journal_plain(&watch->journal, LOG_INFO,
		      "lldpd is running, but %s: it is not asked for the switches at the other end "
		      "of the links (see NEIGHBOURS in mtuwatchd(8))",
		      error == -EACCES ? "its socket is closed to this user"
				       : "its library liblldpctl.so.4 is not there");
}

void watch_neighbours_look(struct watch *watch)
{
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];
		struct link_state *state = &link->state;

		if (!neighbour_set(state, neighbours_of(watch->neighbours, state->link.index)))
			continue;
		watch_link_judge(watch, link);
		if (!link->fresh)
			bus_link_changed(watch->bus, state);
		watch->changed = true;
	}
}

static void on_neighbours(void *userdata)
{
	struct watch *watch = userdata;
	struct moment moment;

	watch_moment(&moment);
	watch_neighbours_look(watch);
	watch_links_tell(watch, moment.now_usec);
}

/* A tagged frame of a VLAN on this link, or one of its own: the largest that some peer was reached
 * by. It has gone through this cable. */
static uint32_t frame_passed(const struct watch *watch, const struct link *link)
{
	uint32_t largest = 0;

	WATCH_PATHS(watch, path)
	{
		const struct watched_link *egress = watch_link(watch, path->route.link);
		uint32_t frame = path->announced.path_mtu + FRAME_HEADER;

		if (!egress || path->announced.path_mtu == 0)
			continue;
		if (egress->state.link.index != link->index &&
		    egress->state.link.parent != link->index)
			continue;
		if (frame > largest)
			largest = frame;
	}
	return largest;
}

/* True when it is another one. */
static bool sends_set(const struct watch *watch, struct link_state *state)
{
	const struct neighbour *neighbour = state->far.neighbour;
	uint32_t before = state->far.sends, sends = 0;

	if (neighbour && neighbour->max_frame && !state->ignored)
		sends = roster_frame(&watch->roster, &state->link);
	if (sends && neighbour_takes_less(neighbour, sends, state->link.mtu) &&
	    frame_passed(watch, &state->link) > neighbour->max_frame)
		sends = 0;
	state->far.sends = sends;
	return sends != before;
}

bool watch_neighbours_compare(struct watch *watch)
{
	bool any = false;

	tell_lldpd(watch);
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];

		if (!sends_set(watch, &link->state))
			continue;
		watch_link_judge(watch, link);
		bus_link_changed(watch->bus, &link->state);
		any = true;
	}
	return any;
}

int watch_neighbours_init(struct watch *watch)
{
	int r = neighbours_new(&watch->neighbours, watch->event, NULL, on_neighbours, watch);

	if (r >= 0)
		watch_neighbours_look(watch);
	return r;
}
