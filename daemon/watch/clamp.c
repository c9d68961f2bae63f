/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Treatment: does what core/clamp decides about a path after a round. Believes nothing before the
 * kernel has said so.
 */
#include "clamp.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

/* --- whose clamp --- */

/* [Peer] before [Link] before [Daemon]. */
enum clamp_kind watch_clamp_kind(const struct watch *watch, const struct path *path)
{
	const struct clamp_settings *settings = &path->settings->clamp;
	const struct config_link *link = config_link_for(watch->config, path->link_name);

	if (watched_of(path)->peer.origin == ORIGIN_REQUEST)
		return CLAMP_OFF;
	if (path->discovered && !watch->config->clamp_discovered)
		return CLAMP_OFF;
	return !settings->own && link && link->clamp_set ? link->clamp : settings->kind;
}

/* A path that wants this clamp, else one that it was for; NULL: nobody's. */
struct path *watch_clamp_owner(const struct watch *watch, const struct address *to)
{
	struct path *found = NULL;

	WATCH_PATHS(watch, path) {
		if (!address_equal(&path->address, to))
			continue;
		if (path->facts.clamp_mtu != 0 && watch_clamp_kind(watch, path) != CLAMP_OFF)
			return path;
		if (!found || watch_clamp_kind(watch, path) != CLAMP_OFF)
			found = path;
	}
	return found;
}

struct clamp_way watch_clamp_way(const struct path *path)
{
	return (struct clamp_way){ &path->address, &path->from, path->bound_link };
}

/* `path` NULL: nobody watches it. */
struct clamp_word watch_clamp_word(const struct path *path, const struct address *to, uint32_t mtu)
{
	struct clamp_word word = {.path = path, .to = *to, .mtu = mtu};

	if (path)
		word.peer = &watched_of(path)->peer;
	return word;
}

/* What the kernel says now of every path to this address. */
void watch_clamp_look(struct watch *watch, const struct address *to)
{
	struct moment moment;

	watch_moment(&moment);
	WATCH_PATHS(watch, path) {
		if (!address_equal(&path->address, to))
			continue;
		if (watch_look(watch, path, moment.now_usec))
			watch_path_restart(watch, path, moment.now_usec);
		bus_peer_changed(watch->bus, &watched_of(path)->peer);
	}
	watch->changed = true;
}

/* --- on --- */

/* Another path to the same address still wants a clamp of this size or a smaller one. */
static bool others_need(const struct watch *watch, const struct path *mine, uint32_t size)
{
	WATCH_PATHS(watch, path) {
		uint32_t wanted = clamp_size(&path->announced);

		if (path != mine && address_equal(&path->address, &mine->address) &&
		    path->facts.clamp_mtu != 0 && watch_clamp_kind(watch, path) != CLAMP_OFF &&
		    wanted != 0 && wanted <= size)
			return true;
	}
	return false;
}

enum clamp_refusal watch_clamp_refusal(int error)
{
	switch (error) {
	case -EEXIST:
		return REFUSAL_HOST_ROUTE;
	case -EXDEV:
		return REFUSAL_OTHER_LINK;
	case -EPERM:
		return REFUSAL_PRIVILEGE;
	case -EREMOTEIO:
		return REFUSAL_NO_HELP;
	default:
		return REFUSAL_KERNEL;
	}
}

/* The lookup of packets like ours, and an ordinary socket's view. */
static bool clamp_is_used(struct watch *watch, struct path *path, uint32_t mtu)
{
	const struct clamp_way way = watch_clamp_way(path);
	uint32_t used = mtu;

	watch_clamp_look(watch, &path->address);
	(void)clamps_socket_mtu(&way, &used);
	return used == mtu && path->facts.clamp_mtu == mtu && path->facts.kernel_mtu == mtu;
}

static int path_clamp(struct watch *watch, struct path *path, uint32_t mtu)
{
	const struct clamp_entry *entry = clamps_find(watch->clamps, &path->address);
	const struct clamp_way way = watch_clamp_way(path);
	int r;

	if (!watch->may_clamp)
		return -EPERM;
	/* one that this path's packets do not meet belongs to another path */
	if (entry && path->facts.clamp_mtu == 0)
		return -EXDEV;
	r = clamps_put(watch->clamps, &way, mtu);
	if (r < 0) {
		watch_clamp_look(watch, &path->address);
		return r;
	}
	if (clamp_is_used(watch, path, mtu))
		return 0;
	clamps_take_off(watch->clamps, &path->address);
	watch_clamp_look(watch, &path->address);
	return -EREMOTEIO;
}

void watch_clamp_refuse(struct watch *watch, struct path *path, const struct clamp_word *word)
{
	/* that it was taken off has been said, by whoever did it */
	if (path->clamp.refusal == word->refusal || word->refusal == REFUSAL_TAKEN_OFF)
		return;
	path->clamp.refusal = (uint8_t)word->refusal;
	path->clamp.held |= word->refusal == REFUSAL_NO_HELP;
	journal_clamp_refused(&watch->journal, word);
	bus_peer_changed(watch->bus, &watched_of(path)->peer);
}

/* True: that was all, for good or bad. */
static bool path_put_link(struct watch *watch, struct path *path, struct clamp_word *word)
{
	word->refusal = watch_clamp_link_put(watch, path, word->mtu, &word->error);
	if (word->refusal == REFUSAL_BETTER || word->refusal == REFUSAL_QUORUM)
		return false;
	if (word->refusal != REFUSAL_NONE)
		watch_clamp_refuse(watch, path, word);
	else
		path->clamp.refusal = REFUSAL_NONE;
	return true;
}

static void path_put(struct watch *watch, struct path *path, struct clamp_word *word)
{
	bool link = watch_clamp_kind(watch, path) == CLAMP_LINK && path->facts.clamp_mtu == 0;
	int r;

	if ((link || path->facts.link_clamped) && path_put_link(watch, path, word))
		return;
	r = path_clamp(watch, path, word->mtu);
	if (r < 0) {
		word->refusal = watch_clamp_refusal(r);
		word->error = r;
		watch_clamp_refuse(watch, path, word);
		return;
	}
	path->clamp.refusal = REFUSAL_NONE;
	journal_clamped(&watch->journal, word);
}

/* Another path to the same address, of another peer maybe, is allowed what this one is not. */
static bool others_want(const struct watch *watch, const struct path *mine)
{
	const struct path *owner = watch_clamp_owner(watch, &mine->address);

	return owner && watch_clamp_kind(watch, owner) != CLAMP_OFF;
}

/* Whether the others to this address have no use for the clamp either. */
static bool lift_is_due(const struct watch *watch, const struct path *path,
			const struct clamp_decision *decision)
{
	switch (decision->end) {
	case CLAMP_END_OFF:
		return !others_want(watch, path);
	case CLAMP_END_NO_HELP:
		return true;
	case CLAMP_END_PASSES:
	case CLAMP_END_TOLD:
	case CLAMP_END_SMALLER:
	case CLAMP_END_UNWATCHED:
	case CLAMP_END_REQUEST:
	case CLAMP_END_ROUTE:
		break;
	}
	return !others_need(watch, path, decision->mtu);
}

static void path_lift(struct watch *watch, struct path *path, const struct clamp_decision *decision)
{
	struct clamp_word word = watch_clamp_word(path, &path->address, decision->mtu);

	if (!lift_is_due(watch, path, decision))
		return;
	word.refusal = REFUSAL_NO_HELP;
	if (watch_clamp_take_off(watch, path, &word.to, decision->end) >= 0 &&
	    decision->end == CLAMP_END_NO_HELP)
		watch_clamp_refuse(watch, path, &word);
}

/* --- a round --- */

void watch_clamp_path(struct watch *watch, struct path *path)
{
	struct clamp_case about = {
		.tally = &path->clamp,
		.announced = &path->announced,
		.facts = &path->facts,
		.settings = &path->settings->clamp,
		.recover_after = path->settings->recover_after,
		.in_force = path->facts.clamp_mtu,
	};
	struct clamp_decision decision;
	struct clamp_word word;

	if (!watch->clamps || watched_of(path)->peer.origin == ORIGIN_REQUEST ||
	    (!watch->clamps_wanted && !watch_clamps_any(watch)))
		return;
	if (watch->clamps_stuck)
		watch_clamps_review(watch);
	if (watch_clamp_link_path(watch, path))
		return;
	if (path->facts.link_clamped)
		about.in_force = 0;
	about.kind = watch_clamp_kind(watch, path);
	clamp_decide(&about, &decision);
	word = watch_clamp_word(path, &path->address, decision.mtu);
	word.refusal = decision.refusal;
	switch (decision.action) {
	case CLAMP_LEAVE:
		watch_clamp_follow(watch, path);
		break;
	case CLAMP_PUT:
		if (about.in_force == 0 || decision.mtu < about.in_force ||
		    !others_need(watch, path, about.in_force))
			path_put(watch, path, &word);
		break;
	case CLAMP_LIFT:
		path_lift(watch, path, &decision);
		break;
	case CLAMP_REFUSE:
		watch_clamp_refuse(watch, path, &word);
		break;
	}
}
