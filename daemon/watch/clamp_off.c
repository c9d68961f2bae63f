/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How clamps come off: when nobody wants them any more, on request, and what a daemon finds when it
 * starts and leaves when it ends.
 */
#include "clamp.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "../world/privilege.h"

#define WHAT_TO_SET                                                                                \
	"CAP_NET_ADMIN is missing (for the service: see clamp.conf in the documentation's folder, " \
	"mtuwatchd(8), and restart it: what was not asked for when it started was given up); faults " \
	"are told, nothing is clamped"

void watch_clamp_is_stuck(struct watch *watch, int error)
{
	if (!watch->clamps_said)
		journal_plain(&watch->journal, LOG_WARNING,
			      "a clamp that is not wanted any more cannot be taken off yet: %s",
			      strerror(-error));
	watch->clamps_stuck = watch->clamps_said = true;
}

/* `path` NULL: nobody's. Says why it came off. */
int watch_clamp_take_off(struct watch *watch, struct path *path, const struct address *to,
			  enum clamp_end end)
{
	const struct clamp_entry *entry = clamps_find(watch->clamps, to);
	struct clamp_word word;
	int r;

	if (!entry)
		return 0;
	word = watch_clamp_word(path, to, entry->mtu);
	r = clamps_take_off(watch->clamps, &word.to);
	if (r < 0 && r != -ENOENT) {
		watch_clamp_is_stuck(watch, r);
		return r;
	}
	watch->clamps_said = false;
	word.end = end;
	journal_released(&watch->journal, &word);
	watch_clamp_look(watch, &word.to);
	return 0;
}

/* A name that is being looked up may lead to any of them. */
static bool names_are_open(const struct watch *watch)
{
	WATCH_PATHS(watch, path)
		if (path->address.family == ADDRESS_NONE && path->ended_usec == 0)
			return true;
	return false;
}

/* Whoever it belongs to, it holds packets down as long as the link is tried. */
static bool clamp_is_of_trial(const struct watch *watch, const struct address *to)
{
	WATCH_PATHS(watch, path) {
		const struct watched_link *link = watch_link(watch, path->route.link);

		if (link && link->trial_usec && address_equal(&path->address, to))
			return true;
	}
	return false;
}

void watch_clamps_review(struct watch *watch)
{
	bool open = names_are_open(watch);

	if (!watch->clamps || !watch_clamps_any(watch))
		return;
	watch->clamps_stuck = false;
	for (unsigned i = clamps_count(watch->clamps); i-- > 0;) {
		struct address to = clamps_at(watch->clamps, i)->to;
		struct path *path = watch_clamp_owner(watch, &to);

		if (path && watch_clamp_kind(watch, path) != CLAMP_OFF)
			continue;
		if (clamp_is_of_trial(watch, &to))
			continue;
		if (path)
			watch_clamp_take_off(watch, path, &to, CLAMP_END_OFF);
		else if (!open)
			watch_clamp_take_off(watch, NULL, &to, CLAMP_END_UNWATCHED);
		else
			watch->clamps_stuck = true;
	}
	if (watch->link_clamps)
		watch_clamp_links_review(watch);
}

static int release_of(struct watch *watch, const struct address *to)
{
	int r = watch_clamp_take_off(watch, watch_clamp_owner(watch, to), to, CLAMP_END_REQUEST);

	if (r < 0)
		return r;
	/* the next round would put it back at once */
	WATCH_PATHS(watch, path) {
		if (!address_equal(&path->address, to))
			continue;
		path->clamp.held = true;
		path->clamp.refusal = REFUSAL_TAKEN_OFF;
	}
	return 0;
}

static bool clamp_is_meant(const struct watch *watch, const struct address *to, const char *name)
{
	if (name[0] == '\0')
		return true;
	WATCH_PATHS(watch, path) {
		if (address_equal(&path->address, to) &&
		    (strcmp(watched_of(path)->peer.name, name) == 0 ||
		     strcmp(path->link_name, name) == 0))
			return true;
	}
	return false;
}

static bool link_is_meant(const struct watch *watch, const struct stacked *link, const char *name)
{
	if (name[0] == '\0' || strcmp(watch_clamp_link_name(watch, link), name) == 0)
		return true;
	WATCH_PATHS(watch, path) {
		if (path->route.link == link->index && strcmp(watched_of(path)->peer.name, name) == 0)
			return true;
	}
	return false;
}

static int release_links(struct watch *watch, const char *name)
{
	int r = 0;

	for (unsigned i = link_clamps_count(watch->link_clamps); i-- > 0;) {
		const struct stacked *link = link_clamps_at(watch->link_clamps, i)->list;
		int s = link_is_meant(watch, link, name) ?
				watch_clamp_link_release(watch, link->index) : 0;

		r = r < 0 ? r : s;
	}
	return r;
}

int watch_clamps_release(struct watch *watch, const char *name)
{
	int r;

	if (name[0] != '\0' && !roster_peer(&watch->roster, name) &&
	    !roster_link(&watch->roster, name))
		return -ENOENT;
	r = watch->link_clamps ? release_links(watch, name) : 0;
	for (unsigned i = watch->clamps ? clamps_count(watch->clamps) : 0; i-- > 0;) {
		struct address to = clamps_at(watch->clamps, i)->to;
		int s = clamp_is_meant(watch, &to, name) ? release_of(watch, &to) : 0;

		r = r < 0 ? r : s;
	}
	return r;
}

/* --- life --- */

void watch_clamps_configured(struct watch *watch)
{
	bool wanted = config_wants_clamps(watch->config);

	watch->may_clamp = privilege_have();
	if (wanted && !watch->may_clamp)
		journal_plain(&watch->journal, LOG_WARNING, "Clamp= is set: %s", WHAT_TO_SET);
	watch->clamps_wanted = wanted;
}

void watch_clamps_begin(struct watch *watch)
{
	int r;

	/* who is asked once treats nothing */
	if (watch->options.requests || watch->options.quiet)
		return;
	r = clamps_new(&watch->clamps);
	if (r < 0) {
		journal_plain(&watch->journal, LOG_WARNING,
			      "the routes of earlier clamps cannot be read, nothing is clamped: %s",
			      strerror(-r));
		return;
	}
	routes_ignore(watch->routes, clamps_port(watch->clamps));
	watch_clamp_links_begin(watch);
	watch_clamps_configured(watch);
	if (watch->clamps_wanted)
		return;
	/* left over from a time when clamps were wanted */
	for (unsigned i = clamps_count(watch->clamps); i-- > 0;) {
		struct address to = clamps_at(watch->clamps, i)->to;

		watch_clamp_take_off(watch, NULL, &to, CLAMP_END_OFF);
	}
	watch_clamp_links_off(watch);
	if (clamps_count(watch->clamps) == 0 && privilege_drop() == -EPERM)
		privilege_leave();
	watch_clamps_end_privilege(watch);
}

void watch_clamps_leave(struct watch *watch)
{
	unsigned count = watch->clamps ? clamps_count(watch->clamps) : 0;

	if (watch->link_clamps)
		count += link_clamps_count(watch->link_clamps);
	if (count > 0)
		journal_plain(&watch->journal, LOG_NOTICE,
			      "%u clamp%s in force, for the next start to take over; \"mtuwatchd "
			      "--release\" takes %s off",
			      count, count == 1 ? " stays" : "s stay", count == 1 ? "it" : "them");
}

void watch_clamps_end_privilege(struct watch *watch)
{
	if (!watch->clamps || watch->clamps_wanted || watch_clamps_any(watch))
		return;
	(void)privilege_drop();
	watch->may_clamp = false;
}
