/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When links and routes are looked at again, and which paths that concerns. Events only say that something happened: once they pause,
 * the links' table is held against what was known, and every path concerned is looked at again.
 * So a storm of events costs one look, and an overrun is nothing special.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_GAP_LEAST_USEC (10 * USEC_PER_MSEC)
#define SETTLE_GAP_MOST_USEC (80 * USEC_PER_MSEC)
#define SETTLE_QUIET_USEC USEC_PER_SEC
#define IPV6_READ_AGAIN_USEC USEC_PER_SEC

/* --- hints --- */

void watch_on_link(enum link_change change, const struct link *before, const struct link *now,
		   void *userdata)
{
	struct watch *watch = userdata;

	watch->links_dirty = true;
	watch_settle_soon(watch);
}

void watch_on_route(const struct address *prefix, unsigned length, void *userdata)
{
	struct watch *watch = userdata;
	struct route_hints *hints = &watch->hints;

	if (prefix->family == ADDRESS_NONE || hints->count == HINTS_MOST)
		hints->all = true;
	if (length == 0)
		hints->gateways = true;
	if (!hints->all) {
		hints->list[hints->count].prefix = *prefix;
		hints->list[hints->count++].length = length;
	}
	watch_settle_soon(watch);
}

static bool prefix_holds(const struct address *prefix, unsigned length, const struct address *address)
{
	unsigned whole = length / 8, rest = length % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	if (prefix->family != address->family || whole > 16)
		return false;
	if (memcmp(prefix->bytes, address->bytes, whole) != 0)
		return false;
	return rest == 0 || ((prefix->bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

bool watch_hints_hold(const struct watch *watch, const struct address *address)
{
	const struct route_hints *hints = &watch->hints;

	if (hints->all)
		return true;
	for (unsigned i = 0; i < hints->count; i++)
		if (prefix_holds(&hints->list[i].prefix, hints->list[i].length, address))
			return true;
	return false;
}

/* --- paths --- */

/* A route that is asked for out of the wanted link has to be a real one: otherwise the kernel
 * would look for the peer on that link itself, where no other packet goes. */
static void look_wanted(struct watch *watch, struct path *path, const struct link *wanted,
			struct route *route, bool *ret_wrong)
{
	path->bound_link = 0;
	if (!wanted || route->local || route->link == wanted->index)
		return;
	if (routes_lead(watch->routes, &path->address, &path->from, wanted->index) &&
	    routes_ask(watch->routes, &path->address, &path->from, wanted->index, route) >= 0)
		path->bound_link = wanted->index;
	else
		*ret_wrong = route->error == 0;
}

static void look_zone(struct watch *watch, struct path *path)
{
	const struct link *link = links_by_zone(watch->links, watched_of(path)->zone_link);

	if (address_is_link_local(&path->address))
		path->address.zone = link ? link->index : 0;
}

void watch_look_ipv6(struct watch *watch, int index, uint64_t now_usec)
{
	struct watched_link *link = watch_link(watch, index);

	if (!link || now_usec - link->ipv6_read_usec < IPV6_READ_AGAIN_USEC)
		return;
	link->ipv6_read_usec = now_usec;
	links_refresh_ipv6_mtu(watch->links, index);
}

bool watch_look(struct watch *watch, struct path *path, uint64_t now_usec)
{
	struct route route = { 0 };
	struct surroundings around = { .route = &route };
	const struct watched_link *watched;
	bool differs;

	look_zone(watch, path);
	if (path->wanted_link[0])
		around.wanted = links_by_name(watch->links, path->wanted_link);
	if (path->address.family != ADDRESS_NONE) {
		int r = routes_ask(watch->routes, &path->address, &path->from, 0, &route);

		/* no answer is no news */
		if (r < 0)
			return false;
		look_wanted(watch, path, around.wanted, &route, &around.wrong_link);
	}
	if (path->address.family == ADDRESS_IPV6)
		watch_look_ipv6(watch, route.link, now_usec);
	around.link = route.link ? links_by_index(watch->links, route.link) : NULL;
	around.clamped_from = around.link ? watch_clamp_original(watch, around.link) : 0;
	watched = watch_link(watch, around.wanted ? around.wanted->index : route.link);
	around.link_expected = watched ? watched->state.expected_mtu : 0;
	differs = path_on_surroundings(path, &around);
	path->link_passes = witness_passes(&watch->witnesses, path);
	witness_update(&watch->witnesses, path);
	return differs;
}

static bool path_is_concerned(const struct watch *watch, const struct path *path, bool links_changed)
{
	const struct watched_link *link = watch_link(watch, path->route.link);

	if (links_changed && (!link || link->changed || path->facts.trouble || path->wanted_link[0]))
		return true;
	return watch_hints_hold(watch, &path->address) ||
	       (watch->hints.count > 0 && path->facts.trouble != REASON_NONE);
}

static void paths_settle(struct watch *watch, bool links_changed, uint64_t now_usec)
{
	WATCH_PATHS(watch, path) {
		if (!path_is_concerned(watch, path, links_changed) || !watch_look(watch, path, now_usec))
			continue;
		watch_path_restart(watch, path, now_usec);
		bus_peer_changed(watch->bus, &watched_of(path)->peer);
	}
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];

		link->changed = false;
	}
}

/* --- when --- */

/* All routes are read for it, so with many of them it must not follow every event: a twentieth of
 * the time at most. Returns when to come again where it is too early, else 0. */
static uint64_t settle_discover(struct watch *watch, uint64_t now_usec)
{
	struct moment after;

	if (now_usec < watch->discover_usec)
		return watch->discover_usec;
	watch->gateways_dirty = false;
	watch_peers_discover(watch);
	watch_moment(&after);
	watch->discover_usec = after.now_usec + 20 * (after.now_usec - now_usec);
	return 0;
}

static void settle_at(struct watch *watch, uint64_t usec)
{
	watch->settle_next_usec = usec;
	sd_event_source_set_time(watch->settle_source, usec);
	sd_event_source_set_enabled(watch->settle_source, SD_EVENT_ONESHOT);
}

static int on_settle(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	bool links_changed = watch->links_dirty;
	uint64_t discover_again = 0;
	struct moment moment;

	watch_moment(&moment);
	watch->settled_usec = moment.now_usec;
	watch->links_dirty = false;
	if (links_changed && watch_links_merge(watch) < 0)
		watch->links_dirty = true;
	else if (!links_changed)
		watch_links_reroute(watch);
	/* IPv4 routes go with their link without a word */
	if (watch->hints.gateways || watch->hints.all)
		watch->gateways_dirty = true;
	if (watch->gateways_dirty)
		discover_again = settle_discover(watch, moment.now_usec);
	watch_clamps_settle(watch, links_changed);
	paths_settle(watch, links_changed, moment.now_usec);
	if (links_changed)
		watch_neighbours_look(watch);
	watch_links_tell(watch, moment.now_usec);
	memset(&watch->hints, 0, sizeof(watch->hints));
	watch_peers_spread(watch);
	watch_arm(watch);
	if (discover_again)
		settle_at(watch, discover_again);
	return 0;
}

void watch_settle_soon(struct watch *watch)
{
	struct moment moment;
	uint64_t at;
	int enabled = SD_EVENT_OFF;

	if (!watch->settle_source)
		return;
	sd_event_source_get_enabled(watch->settle_source, &enabled);
	/* it may be set for something that has time */
	if (enabled != SD_EVENT_OFF &&
	    watch->settle_next_usec <= watch->settled_usec + SETTLE_GAP_MOST_USEC)
		return;
	watch_moment(&moment);
	at = moment.now_usec;
	if (at - watch->settled_usec > SETTLE_QUIET_USEC) {
		watch->settle_gap_usec = SETTLE_GAP_LEAST_USEC;
	} else {
		at = watch->settled_usec + watch->settle_gap_usec;
		if (watch->settle_gap_usec < SETTLE_GAP_MOST_USEC)
			watch->settle_gap_usec *= 2;
	}
	settle_at(watch, at);
}

int watch_settle_init(struct watch *watch)
{
	int r = watch_links_init(watch);

	if (r < 0)
		return r;
	r = sd_event_add_time(watch->event, &watch->settle_source, CLOCK_MONOTONIC, UINT64_MAX, 1,
			      on_settle, watch);
	if (r < 0)
		return r;
	/* once the messages that are there already have been read */
	sd_event_source_set_priority(watch->settle_source, SD_EVENT_PRIORITY_NORMAL + 1);
	return sd_event_source_set_enabled(watch->settle_source, SD_EVENT_OFF);
}
