/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What links and routes have become. Events only say that something happened: once they pause,
 * the links' table is held against what was known, and every path concerned is looked at again.
 * So a storm of events costs one look, and an overrun is nothing special.
 */
#include "watch_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_GAP_LEAST_USEC (10 * USEC_PER_MSEC)
#define SETTLE_GAP_MOST_USEC (80 * USEC_PER_MSEC)
#define SETTLE_QUIET_USEC USEC_PER_SEC
#define IPV6_READ_AGAIN_USEC USEC_PER_SEC
#define TELL_GAP_LEAST_USEC USEC_PER_SEC
#define TELL_GAP_MOST_USEC (64 * USEC_PER_SEC)

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

bool watch_hints_hold(const struct route_hints *hints, const struct address *address)
{
	if (hints->all)
		return true;
	for (unsigned i = 0; i < hints->count; i++)
		if (prefix_holds(&hints->list[i].prefix, hints->list[i].length, address))
			return true;
	return false;
}

/* --- links --- */

struct watched_link *watch_link(const struct watch *watch, int index)
{
	unsigned low = 0, high = watch->roster.link_count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		struct link_state *state = watch->roster.links[middle];

		if (state->link.index == index)
			return (void *)state;
		if (state->link.index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* A peer on this link expects the same and will raise the alarm: one fault, one alarm. */
static bool link_alarm_is_raised(const struct watch *watch, const struct link *link)
{
	WATCH_PATHS(watch, path) {
		if (strcmp(path->link_name, link->name) == 0 && path->facts.expected > link->mtu)
			return true;
	}
	return false;
}

static void link_tell_findings(struct watch *watch, struct watched_link *link)
{
	const struct findings *now = &link->state.findings;
	const struct findings *told = &link->told;

	for (unsigned i = 0; i < told->count; i++)
		if (!findings_find(now, told->list[i].id))
			journal_finding(&watch->journal, NULL, NULL, &told->list[i], false, SEVERITY_OK);
	for (unsigned i = 0; i < now->count; i++) {
		const struct finding *finding = &now->list[i];
		enum severity severity = finding->severity;

		if (findings_find(told, finding->id))
			continue;
		if (severity > SEVERITY_NOTICE && link_alarm_is_raised(watch, &link->state.link))
			severity = SEVERITY_NOTICE;
		journal_finding(&watch->journal, NULL, NULL, finding, true, severity);
	}
	link->told = *now;
}

/* A link whose MTU changes all the time is told of more and more seldom, and then as it is. */
static void link_tell_mtu(struct watch *watch, struct watched_link *link, uint64_t now_usec)
{
	struct link before = link->state.link;

	if (link->told_mtu == before.mtu)
		return;
	if (now_usec < link->tell_usec) {
		if (link->tell_usec < watch->tell_usec)
			watch->tell_usec = link->tell_usec;
		return;
	}
	before.mtu = link->told_mtu;
	journal_link_mtu(&watch->journal, &before, &link->state.link);
	link->told_mtu = link->state.link.mtu;
	if (now_usec - link->tell_usec > link->tell_gap_usec)
		link->tell_gap_usec = TELL_GAP_LEAST_USEC;
	else if (link->tell_gap_usec < TELL_GAP_MOST_USEC)
		link->tell_gap_usec *= 2;
	link->tell_usec = now_usec + link->tell_gap_usec;
}

static void links_tell_mtu(struct watch *watch, uint64_t now_usec)
{
	watch->tell_usec = USEC_NEVER;
	for (unsigned i = 0; i < watch->roster.link_count; i++)
		link_tell_mtu(watch, (void *)watch->roster.links[i], now_usec);
}

void watch_links_tell(struct watch *watch)
{
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];

		link_tell_findings(watch, link);
		if (link->fresh)
			bus_link_added(watch->bus, &link->state);
		link->fresh = false;
	}
}

static void link_expect(const struct watch *watch, struct link_state *state)
{
	const struct config_link *config = config_link_for(watch->config, state->link.name);
	struct link link = state->link;

	state->expected_mtu = config ? config->expect_mtu : 0;
	state->ignored = config && config->ignore;
	state->original_mtu = watch_clamp_original(watch, &state->link);
	/* what we did to it ourselves is no finding */
	if (state->original_mtu && link.ipv6_mtu == link.mtu)
		link.ipv6_mtu = state->original_mtu;
	if (state->original_mtu)
		link.mtu = state->original_mtu;
	lint_link(&link, state->expected_mtu, &state->findings);
	far_end_lint(&state->far, &link, &state->findings);
	if (state->ignored)
		state->findings.count = 0;
}

void watch_link_judge(const struct watch *watch, struct watched_link *link)
{
	link_expect(watch, &link->state);
}

void watch_link_free(struct watched_link *link)
{
	free(link->state.far.neighbour);
	free(link->counters);
	free(link);
}

static struct link_state *link_state_new(const struct watch *watch, const struct link *link)
{
	struct watched_link *watched = calloc(1, sizeof(*watched));

	if (!watched)
		return NULL;
	watched->changed = true;
	watched->fresh = true;
	watched->state.link = *link;
	watched->told_mtu = link->mtu;
	link_expect(watch, &watched->state);
	return &watched->state;
}

static bool link_matters(const struct link *a, const struct link *b)
{
	return a->mtu != b->mtu || a->ipv6_mtu != b->ipv6_mtu || a->up != b->up ||
	       a->carrier != b->carrier || strcmp(a->name, b->name) != 0;
}

static void link_update(struct watch *watch, struct link_state *state, const struct link *now)
{
	struct watched_link *link = (void *)state;
	struct link before = state->link;

	if (memcmp(&before, now, sizeof(before)) == 0)
		return;
	state->link = *now;
	link_expect(watch, state);
	link->touched = true;
	if (link_matters(&before, now))
		link->changed = true;
	if (before.up != now->up || before.carrier != now->carrier)
		watch->gateways_dirty = true;
	/* what we set ourselves was said then */
	if (now->mtu == link->made_mtu) {
		link->made_mtu = 0;
		link->told_mtu = now->mtu;
	}
	watch->changed = true;
}

static void link_gone(struct watch *watch, struct link_state *state)
{
	state->findings.count = 0;
	link_tell_findings(watch, (void *)state);
	bus_link_removed(watch->bus, state->link.index);
	watch->gateways_dirty = true;
	watch->changed = true;
	watch_link_free((void *)state);
}

/* The roster is whole again: only now may anybody look at it. */
static void links_swap(struct watch *watch, struct link_state **list, unsigned count,
		       struct link_state *gone)
{
	free(watch->roster.links);
	watch->roster.links = list;
	watch->roster.link_count = count;
	for (unsigned i = 0; i < count; i++) {
		struct watched_link *link = (void *)list[i];

		if (link->touched)
			bus_link_changed(watch->bus, &link->state);
		link->touched = false;
	}
	while (gone) {
		struct watched_link *link = (void *)gone;

		gone = link->next_gone;
		link_gone(watch, &link->state);
	}
}

/* Merges two lists in the order of their indexes: what is known and what is there. */
static int links_merge(struct watch *watch)
{
	struct roster *roster = &watch->roster;
	unsigned count = links_count(watch->links), known = 0, now = 0, total = 0;
	struct link_state **list = calloc(count + 1, sizeof(*list)), *gone = NULL;

	if (!list)
		return -ENOMEM;
	while (known < roster->link_count || now < count) {
		struct link_state *state = known < roster->link_count ? roster->links[known] : NULL;
		const struct link *link = now < count ? links_at(watch->links, now) : NULL;

		if (state && (!link || state->link.index < link->index)) {
			struct watched_link *leaving = (void *)state;

			leaving->next_gone = gone;
			gone = state;
			known++;
			continue;
		}
		if (state && state->link.index == link->index) {
			link_update(watch, state, link);
			known++;
		} else {
			state = link_state_new(watch, link);
			if (!state)
				break;
			watch->gateways_dirty = true;
			watch->changed = true;
		}
		list[total++] = state;
		now++;
	}
	links_swap(watch, list, total, gone);
	return 0;
}

void watch_links_expect(struct watch *watch)
{
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		link_expect(watch, watch->roster.links[i]);
		bus_link_changed(watch->bus, watch->roster.links[i]);
	}
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
	const char *name = watched_of(path)->zone_link;
	const struct link *link = links_by_name(watch->links, name);

	if (!link)
		link = links_by_index(watch->links, atoi(name));
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
	return watch_hints_hold(&watch->hints, &path->address) ||
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
	uint64_t discover_again = 0, again;
	struct moment moment;

	watch_moment(&moment);
	watch->settled_usec = moment.now_usec;
	watch->links_dirty = false;
	if (links_changed && links_merge(watch) < 0)
		watch->links_dirty = true;
	/* IPv4 routes go with their link without a word */
	if (watch->hints.gateways || watch->hints.all)
		watch->gateways_dirty = true;
	if (watch->gateways_dirty)
		discover_again = settle_discover(watch, moment.now_usec);
	if (links_changed || moment.now_usec >= watch->tell_usec)
		links_tell_mtu(watch, moment.now_usec);
	watch_clamps_settle(watch, links_changed);
	paths_settle(watch, links_changed, moment.now_usec);
	if (links_changed)
		watch_neighbours_look(watch);
	if (links_changed)
		watch_links_tell(watch);
	memset(&watch->hints, 0, sizeof(watch->hints));
	watch_peers_spread(watch);
	watch_arm(watch);
	again = watch->tell_usec;
	if (discover_again && discover_again < again)
		again = discover_again;
	if (again != USEC_NEVER)
		settle_at(watch, again);
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
	int r = links_merge(watch);

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
