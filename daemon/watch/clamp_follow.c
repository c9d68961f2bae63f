/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clamp is a copy of a route: sees to it that it follows the route, goes with it, and is left alone
 * when somebody takes it off.
 */
#include "clamp.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

static bool clamp_link_is_up(const struct watch *watch, const struct clamp_entry *entry)
{
	const struct link *link = links_by_index(watch->links, entry->link);

	return entry->link == 0 || (link && link->up);
}

/* Removed by itself, while the route that it was a copy of is there: somebody meant it. */
static bool clamp_was_removed(struct watch *watch, const struct clamp_entry *entry)
{
	const struct route_hints *hints = &watch->hints;
	unsigned bits = entry->to.family == ADDRESS_IPV4 ? 32 : 128;
	bool told = false;
	struct route route;

	for (unsigned i = 0; i < hints->count; i++)
		told |= hints->list[i].length == bits &&
			memcmp(hints->list[i].prefix.bytes, entry->to.bytes,
			       sizeof(entry->to.bytes)) == 0;
	return told && clamp_link_is_up(watch, entry) &&
	       routes_ask(watch->routes, &entry->to, NULL, 0, &route) >= 0 && route.error == 0;
}

static void clamp_gone(struct watch *watch, struct path *path, const struct clamp_entry *entry)
{
	struct clamp_word word = watch_clamp_word(path, &entry->to, entry->mtu);

	word.end = CLAMP_END_ROUTE;
	watch_clamp_look(watch, &entry->to);
	if (!clamp_was_removed(watch, entry)) {
		journal_released(&watch->journal, &word);
		return;
	}
	journal_clamp_yielded(&watch->journal, &word);
	if (!path)
		return;
	path->clamp.held = true;
	path->clamp.refusal = REFUSAL_TAKEN_OFF;
}

/* The route may have changed under it: copies it anew. */
static void clamp_follow(struct watch *watch, struct path *path, const struct clamp_entry *entry)
{
	struct clamp_word word = watch_clamp_word(path, &entry->to, entry->mtu);
	const struct clamp_way way = watch_clamp_way(path);
	int r = clamps_refresh(watch->clamps, &way);

	word.end = CLAMP_END_ROUTE;
	watch_clamp_look(watch, &entry->to);
	if (r >= 0 || clamps_find(watch->clamps, &entry->to))
		return;
	journal_released(&watch->journal, &word);
	if (r != -EEXIST && r != -EXDEV)
		return;
	word.refusal = watch_clamp_refusal(r);
	watch_clamp_refuse(watch, path, &word);
}

/* Where nothing answers the kernel may have turned to another router of equal rank by now, which no
 * event tells. */
void watch_clamp_follow(struct watch *watch, struct path *path)
{
	const struct clamp_entry *entry = clamps_find(watch->clamps, &path->address);
	struct clamp_entry copy;

	if (path->announced.verdict != VERDICT_UNREACHABLE || path->facts.clamp_mtu == 0 ||
	    !entry || !watch->may_clamp)
		return;
	copy = *entry;
	clamp_follow(watch, path, &copy);
}

static bool clamp_link_changed(const struct watch *watch, const struct clamp_entry *entry)
{
	const struct watched_link *link = watch_link(watch, entry->link);

	return entry->link == 0 || !link || link->changed;
}

void watch_clamps_settle(struct watch *watch, bool links_changed)
{
	for (unsigned i = watch->clamps ? clamps_count(watch->clamps) : 0; i-- > 0;) {
		struct clamp_entry entry = *clamps_at(watch->clamps, i);
		struct path *path = watch_clamp_owner(watch, &entry.to);
		bool route = watch_hints_hold(watch, &entry.to);

		if (!route && !(links_changed && clamp_link_changed(watch, &entry)))
			continue;
		if (!clamps_hold(watch->clamps, &entry.to))
			clamp_gone(watch, path, &entry);
		else if (path && route && watch->may_clamp)
			clamp_follow(watch, path, &entry);
	}
	if (watch->link_clamps)
		watch_clamp_links_settle(watch);
	watch_clamps_review(watch);
}
