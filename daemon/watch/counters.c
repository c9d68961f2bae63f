/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When receive counters are read, and of which links: of hardware, and of whatever peers are
 * reached by. The links' other slow matters go with the same turn.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/tower.h"

#define FIRST_USEC (10 * USEC_PER_SEC)
/* Nothing of it is urgent: it goes along with whatever wakes the daemon meanwhile. */
#define SLACK_USEC (15 * USEC_PER_SEC)

static bool is_read(const struct watched_link *link)
{
	const struct link *what = &link->state.link;

	if (!what->up || !what->carrier || what->loopback || link->state.ignored)
		return false;
	return link->state.carries || !what->kind[0];
}

static struct watched_counters *counters_of(struct watch *watch, struct watched_link *link)
{
	struct watched_counters *counters = link->counters;

	if (!counters)
		counters = link->counters = calloc(1, sizeof(*counters));
	if (!counters)
		return NULL;
	if (counters->source.count == 0 || counters->mtu != link->state.link.mtu)
		receive_open(watch->receive, &link->state.link, &counters->source);
	counters->mtu = link->state.link.mtu;
	return counters;
}

/* True when what is found has changed. */
static bool counters_read(struct watch *watch, struct watched_link *link, uint64_t now_usec)
{
	struct watched_counters *counters = counters_of(watch, link);
	struct counters_reading reading;
	int r;

	if (!counters)
		return false;
	r = receive_read(watch->receive, &link->state.link, &counters->source, &reading);
	if (r == -EAGAIN)
		counters->source.count = 0;
	if (r < 0)
		return false;
	reading.usec = now_usec;
	return counters_on_reading(&counters->counters, &reading);
}

/* Nothing is known of a link that is not read. */
static bool counters_drop(struct watched_link *link)
{
	bool found = link->counters && link->counters->counters.found.per_minute;

	free(link->counters);
	link->counters = NULL;
	return found;
}

static bool link_turn(struct watch *watch, struct watched_link *link, uint64_t now_usec)
{
	bool changed = is_read(link) ? counters_read(watch, link, now_usec) : counters_drop(link);

	if (!changed)
		return false;
	memset(&link->state.far.inbound, 0, sizeof(link->state.far.inbound));
	if (link->counters)
		link->state.far.inbound = link->counters->counters.found;
	watch_link_judge(watch, link);
	bus_link_changed(watch->bus, &link->state);
	return true;
}

static uint64_t next_period(const struct watch *watch)
{
	uint64_t least = COUNTERS_PERIOD_USEC;

	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		const struct watched_link *link = (void *)watch->roster.links[i];
		uint64_t period =
			link->counters ? counters_period(&link->counters->counters) : least;

		if (period < least)
			least = period;
	}
	return least;
}

static int on_turn(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	struct moment moment;
	bool changed;

	watch_moment(&moment);
	tower_count_paths(&watch->roster);
	changed = watch_neighbours_compare(watch);
	for (unsigned i = 0; i < watch->roster.link_count; i++)
		changed |= link_turn(watch, (void *)watch->roster.links[i], moment.now_usec);
	if (changed) {
		watch_links_tell(watch, moment.now_usec);
		watch->changed = true;
	}
	sd_event_source_set_time(source, moment.now_usec + next_period(watch));
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int watch_counters_init(struct watch *watch)
{
	struct moment moment;
	int r;

	/* one look at a host is too short to see anything rise */
	if (watch->options.quiet)
		return 0;
	r = receive_new(&watch->receive);
	if (r < 0)
		return r;
	watch_moment(&moment);
	r = sd_event_add_time(watch->event, &watch->counters_source, CLOCK_MONOTONIC,
			      moment.now_usec + FIRST_USEC, SLACK_USEC, on_turn, watch);
	/* probes and their answers first */
	return r < 0 ? r
		     : sd_event_source_set_priority(watch->counters_source,
						    SD_EVENT_PRIORITY_NORMAL + 2);
}
