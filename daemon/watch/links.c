/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What links have become: the links' table is held against what was known, tunnels are followed to
 * the link that they leave by, and the core lints the whole. Tells nothing to people.
 */
#include "state.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../core/lint_links.h"

struct watched_link *watch_link(const struct watch *watch, int index)
{
	return (void *)roster_link_at(&watch->roster, index);
}

static void link_expect(const struct watch *watch, struct link_state *state)
{
	const struct config_link *config = config_link_for(watch->config, state->link.name);

	state->expected_mtu = config ? config->expect_mtu : 0;
	state->ignored = config && config->ignore;
}

/* --- tunnels --- */

static bool tunnel_is_open(const struct link *link)
{
	return link_type_is_tunnel(link->type) && !link->foreign &&
	       !(link->tunnel & WRAP_EXTERNAL) &&
	       (link->remote.family != ADDRESS_NONE || link->local.family != ADDRESS_NONE);
}

/* Where its packets leave: by the route to the other end, else by the link with its own address. */
static void tunnel_follow(struct watch *watch, struct link_state *state)
{
	const struct link *link = &state->link;
	struct route route = {0};

	state->underlay = 0;
	state->underlay_mtu = 0;
	if (link->remote.family == ADDRESS_NONE) {
		state->underlay = routes_owner(watch->routes, &link->local);
		return;
	}
	if (routes_ask(watch->routes, &link->remote, &link->local, link->parent, &route) < 0 ||
	    route.error || route.local)
		return;
	state->underlay = route.link;
	state->underlay_mtu = route.mtu;
}

/* A route goes with its link without a word. */
static bool tunnel_is_stale(const struct watch *watch, const struct watched_link *tunnel)
{
	const struct link_state *state = &tunnel->state;
	const struct watched_link *under = watch_link(watch, state->underlay);

	return tunnel->changed || state->underlay == 0 || !under || under->changed ||
	       watch_hints_hold(watch, &state->link.remote);
}

static bool tunnels_follow(struct watch *watch, bool links_changed)
{
	bool changed = false;

	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];
		int before = link->state.underlay;
		uint32_t mtu = link->state.underlay_mtu;

		if (!tunnel_is_open(&link->state.link) ||
		    !(links_changed ? tunnel_is_stale(watch, link)
				    : watch_hints_hold(watch, &link->state.link.remote)))
			continue;
		tunnel_follow(watch, &link->state);
		if (link->state.underlay == before && link->state.underlay_mtu == mtu)
			continue;
		link->touched = true;
		changed = true;
	}
	return changed;
}

/* --- findings --- */

static void links_lint(struct watch *watch)
{
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct link_state *state = watch->roster.links[i];

		state->original_mtu = watch_clamp_original(watch, &state->link);
	}
	lint_links(&watch->roster);
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];

		if (!findings_equal(&link->shown, &link->state.findings)) {
			link->shown = link->state.findings;
			link->touched = true;
		}
		if (link->touched && !link->fresh) {
			bus_link_changed(watch->bus, &link->state);
			watch->changed = true;
		}
		link->touched = false;
	}
}

void watch_link_judge(const struct watch *watch, struct watched_link *link)
{
	lint_one(&watch->roster, &link->state);
	link->shown = link->state.findings;
}

void watch_link_free(struct watched_link *link)
{
	free(link->state.far.neighbour);
	free(link->counters);
	free(link);
}

void watch_links_reroute(struct watch *watch)
{
	if ((watch->hints.all || watch->hints.count > 0) && tunnels_follow(watch, false))
		links_lint(watch);
}

/* --- one link --- */

static struct link_state *link_state_new(const struct watch *watch, const struct link *link)
{
	struct watched_link *watched = calloc(1, sizeof(*watched));

	if (!watched)
		return NULL;
	watched->changed = true;
	watched->fresh = true;
	watched->said = *link;
	watched->state.link = *link;
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
	const struct link *before = &state->before;

	state->before = state->link;
	if (link_equal(before, now))
		return;
	link_state_update(state, now);
	if (strcmp(before->name, now->name) != 0)
		link_expect(watch, state);
	link->touched = true;
	if (link_matters(before, now))
		link->changed = true;
	if (before->up != now->up || before->carrier != now->carrier)
		watch->gateways_dirty = true;
	watch->changed = true;
}

static void link_gone(struct watch *watch, struct link_state *state)
{
	watch->gone[watch->gone_next] = state->link;
	watch->gone_next = (watch->gone_next + 1) % GONE_MOST;
	if (watch->gone_count < GONE_MOST)
		watch->gone_count++;
	if (watch->gone_now < GONE_MOST)
		watch->gone_now++;
	bus_link_removed(watch->bus, state->link.index);
	watch->gateways_dirty = true;
	watch->changed = true;
	watch_link_free((void *)state);
}

/* --- what changed --- */

/* The one that was there under this name before, and what the journal knows of it. */
static void link_inherit(struct watch *watch, struct watched_link *link)
{
	for (unsigned i = 1; i <= watch->gone_count; i++) {
		struct link *gone = &watch->gone[(watch->gone_next + GONE_MOST - i) % GONE_MOST];

		if (strcmp(gone->name, link->state.link.name) != 0)
			continue;
		link->state.before = *gone;
		link->said = *gone;
		gone->name[0] = '\0';
		return;
	}
}

bool watch_link_mtu_differs(const struct link *a, const struct link *b)
{
	uint32_t a_ipv6 = a->ipv6_mtu < a->mtu ? a->ipv6_mtu : a->mtu;
	uint32_t b_ipv6 = b->ipv6_mtu < b->mtu ? b->ipv6_mtu : b->mtu;

	/* IPv6 coming and going is no matter of its MTU */
	return a->mtu != b->mtu || (a_ipv6 && b_ipv6 && a_ipv6 != b_ipv6);
}

static void links_find_causes(struct watch *watch)
{
	struct link list[GONE_MOST];
	struct gone gone = {list, watch->gone_now};

	for (unsigned i = 0; i < gone.count; i++)
		list[i] = watch->gone[(watch->gone_next + GONE_MOST - 1 - i) % GONE_MOST];
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];
		struct link_state *state = &link->state;

		if (link->fresh)
			link_inherit(watch, link);
		if (!state->before.index || !watch_link_mtu_differs(&state->before, &state->link))
			continue;
		cause_find(&watch->roster, &gone, state, &link->cause);
		link->news = link->cause.kind != CAUSE_OWN;
		if (link->news)
			continue;
		/* what we set ourselves was said then */
		link->said = state->link;
		state->own_mtu = 0;
	}
	watch->gone_now = 0;
}

/* The roster is whole again: only now may anybody look at it. */
static void links_swap(struct watch *watch, struct link_state **list, unsigned count,
		       struct link_state *gone)
{
	free(watch->roster.links);
	watch->roster.links = list;
	watch->roster.link_count = count;
	while (gone) {
		struct watched_link *link = (void *)gone;

		gone = link->next_gone;
		link_gone(watch, &link->state);
	}
	links_find_causes(watch);
	tunnels_follow(watch, true);
	links_lint(watch);
}

/* Merges two lists in the order of their indexes: what is known and what is there. */
int watch_links_merge(struct watch *watch)
{
	struct roster *roster = &watch->roster;
	unsigned count = links_count(watch->links), known = 0, now = 0, total = 0;
	struct link_state **list = calloc(count + 1, sizeof(*list)), *gone = NULL;

	if (!list)
		return -ENOMEM;
	while (known < roster->link_count || now < count) {
		int was = known < roster->link_count ? roster->links[known]->link.index : INT_MAX;
		int is = now < count ? links_at(watch->links, now)->index : INT_MAX;
		struct link_state *state;

		if (was < is) {
			struct watched_link *leaving = (void *)roster->links[known++];

			leaving->next_gone = gone;
			gone = &leaving->state;
			continue;
		}
		if (was == is) {
			state = roster->links[known++];
			link_update(watch, state, links_at(watch->links, now));
		} else {
			state = link_state_new(watch, links_at(watch->links, now));
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
		struct watched_link *link = (void *)watch->roster.links[i];

		link_expect(watch, &link->state);
		link->touched = true;
	}
	links_lint(watch);
}

int watch_links_init(struct watch *watch)
{
	int r = watch_tell_init(watch);

	return r < 0 ? r : watch_links_merge(watch);
}

void watch_links_free(struct watch *watch)
{
	for (unsigned i = 0; i < watch->roster.link_count; i++)
		watch_link_free((void *)watch->roster.links[i]);
	free(watch->roster.links);
	free(watch->standings);
	sd_event_source_disable_unref(watch->tell_source);
}
