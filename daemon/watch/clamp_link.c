/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clamps of whole links: the last resort. Asks everybody who is watched by the link, keeps a record
 * before anything changes, tries from time to time whether it can come off, and leaves a link to
 * whoever else sets its MTU.
 */
#include "clamp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define FIGHTS_MOST 2U

/* --- who is concerned --- */

bool watch_clamp_uses(const struct path *path, int index)
{
	return path->route.link == index && watched_of(path)->peer.origin != ORIGIN_REQUEST;
}

/* A path whose fault is the reason. */
bool watch_clamp_is_reason(const struct watch *watch, const struct path *path, int index)
{
	return watch_clamp_uses(path, index) && clamp_size(&path->announced) != 0 &&
	       watch_clamp_kind(watch, path) == CLAMP_LINK;
}

static void paths_hold(struct watch *watch, int index, bool for_good)
{
	WATCH_PATHS(watch, path) {
		if (!watch_clamp_uses(path, index))
			continue;
		path->clamp.faulty = 0;
		path->clamp.held |= for_good;
		if (for_good)
			path->clamp.refusal = REFUSAL_TAKEN_OFF;
	}
}

/* Our own change is on its way as an event. */
void watch_clamp_expect(struct watch *watch, const struct stack *stack, bool back)
{
	for (unsigned i = 0; i < stack->count; i++) {
		struct watched_link *link = watch_link(watch, stack->list[i].index);

		if (link)
			link->state.own_mtu = back ? stack->list[i].before : stack->list[i].after;
	}
}

/* The record has the name of that time. */
const char *watch_clamp_link_name(const struct watch *watch, const struct stacked *of)
{
	const struct link *link = links_by_index(watch->links, of->index);

	return link ? link->name : of->name;
}

static struct clamp_word link_word(const struct watch *watch, const struct stack *stack)
{
	struct clamp_word word = { .mtu = stack->list[0].after, .before = stack->list[0].before };

	snprintf(word.link, sizeof(word.link), "%s", watch_clamp_link_name(watch, &stack->list[0]));
	return word;
}

uint32_t watch_clamp_original(const struct watch *watch, const struct link *link)
{
	const struct stacked *one =
		watch->link_clamps ? link_clamps_member(watch->link_clamps, link->index) : NULL;

	return one && link->mtu == one->after ? one->before : 0;
}

/* --- off --- */

/* The routes that held the link's peers down while it was tried; `but_reasons`: those of the peers that
 * had the fault stay until it has gone for good. */
void watch_clamp_locks_off(struct watch *watch, const struct stacked *of, bool but_reasons)
{
	const struct stacked link = *of;

	WATCH_PATHS(watch, path) {
		const struct clamp_entry *entry = clamps_find(watch->clamps, &path->address);

		if (watch_clamp_uses(path, link.index) && entry && entry->mtu == link.after &&
		    !(but_reasons && watch_clamp_is_reason(watch, path, link.index)))
			(void)clamps_take_off(watch->clamps, &path->address);
	}
}

int watch_clamp_link_lift(struct watch *watch, int index, enum clamp_end end)
{
	const struct stack *stack = link_clamps_find(watch->link_clamps, index);
	struct watched_link *link = watch_link(watch, index);
	struct clamp_word word = link_word(watch, stack);
	int r;

	watch_clamp_expect(watch, stack, true);
	r = link_clamps_lift(watch->link_clamps, index);
	watch->links_dirty = true;
	if (link) {
		link->trial_usec = 0;
		link->lifting = r < 0;
	}
	if (r < 0) {
		watch_clamp_is_stuck(watch, r);
		return r;
	}
	watch_settle_soon(watch);
	word.end = end;
	journal_released(&watch->journal, &word);
	return 0;
}

int watch_clamp_link_release(struct watch *watch, int index)
{
	const struct stacked link = link_clamps_find(watch->link_clamps, index)->list[0];
	int r = watch_clamp_link_lift(watch, index, CLAMP_END_REQUEST);

	if (r < 0)
		return r;
	watch_clamp_locks_off(watch, &link, false);
	paths_hold(watch, index, true);
	return 0;
}

/* Whether this path may have the fault for which the link is clamped. Where its route is not known, what
 * is said of the link counts. */
static bool path_may_want(const struct watch *watch, const struct path *path, const struct stacked *of)
{
	const struct config_link *config =
		config_link_for(watch->config, watch_clamp_link_name(watch, of));
	bool asked = path->settings->clamp.kind == CLAMP_LINK ||
		     (config && config->clamp_set && config->clamp == CLAMP_LINK);

	if (watched_of(path)->peer.origin == ORIGIN_REQUEST)
		return false;
	if (path->facts.trouble != REASON_NONE || path->ended_usec == 0)
		return asked;
	if (!watch_clamp_uses(path, of->index) || watch_clamp_kind(watch, path) != CLAMP_LINK)
		return false;
	switch (path->announced.verdict) {
	case VERDICT_CONSISTENT:
	case VERDICT_REDUCED:
	case VERDICT_LOSSY:
		return false;
	case VERDICT_UNKNOWN:
	case VERDICT_BLACK_HOLE:
	case VERDICT_PARTIAL:
	case VERDICT_MISCONFIGURED:
	case VERDICT_UNREACHABLE:
	case VERDICT_UNVERIFIABLE:
		break;
	}
	return true;
}

static enum clamp_end link_end(const struct watch *watch, int index)
{
	WATCH_PATHS(watch, path) {
		if (watch_clamp_uses(path, index) && watch_clamp_kind(watch, path) == CLAMP_LINK)
			return CLAMP_END_PASSES;
	}
	return CLAMP_END_OFF;
}

static bool link_is_wanted(const struct watch *watch, const struct stacked *of)
{
	WATCH_PATHS(watch, path) {
		if (path_may_want(watch, path, of))
			return true;
	}
	return false;
}

void watch_clamp_links_review(struct watch *watch)
{
	for (unsigned i = link_clamps_count(watch->link_clamps); i-- > 0;) {
		const struct stacked *of = link_clamps_at(watch->link_clamps, i)->list;
		const struct watched_link *link = watch_link(watch, of->index);
		bool trial = link && link->trial_usec;

		if ((link && link->lifting) || (!trial && !link_is_wanted(watch, of)))
			watch_clamp_link_lift(watch, of->index, link_end(watch, of->index));
	}
}

/* --- on --- */

static enum clamp_refusal refusal_of_plan(int error)
{
	switch (error) {
	case -ERANGE:
		return REFUSAL_IPV6;
	default:
		return REFUSAL_STACK;
	}
}

static enum clamp_refusal refusal_of_change(int error)
{
	switch (error) {
	case -EPERM:
		return REFUSAL_PRIVILEGE;
	case -EXDEV:
		return REFUSAL_STACK;
	case -ENOENT:
	case -EROFS:
	case -ENOSPC:
	case -EDQUOT:
	case -EACCES:
	case -EIO:
		return REFUSAL_RECORD;
	default:
		return REFUSAL_KERNEL;
	}
}

static int plan(const struct watch *watch, const struct link *link, uint32_t mtu, struct stack *ret)
{
	unsigned count = links_count(watch->links);
	const struct link **all = calloc(count + 1, sizeof(*all));
	struct stack_case about = { .links = all, .count = count, .link = link, .mtu = mtu };
	int r;

	if (!all)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		all[i] = links_at(watch->links, i);
	r = stack_plan(&about, ret);
	free(all);
	return r;
}

static void ask_all(const struct watch *watch, int index, uint32_t size, struct link_votes *ret)
{
	*ret = (struct link_votes){ 0 };
	WATCH_PATHS(watch, path) {
		struct judgement said = path->announced;

		if (!watch_clamp_uses(path, index))
			continue;
		/* whom nobody named may speak against a clamp, not for one */
		said.confirmed &= !path->discovered || watch->config->clamp_discovered;
		link_votes_add(ret, &said, &path->settings->clamp, size);
	}
}

/* The peers by what stands on it. */
static void ask_above(const struct watch *watch, const struct stack *stack, struct link_votes *votes)
{
	WATCH_PATHS(watch, path) {
		for (unsigned i = 1; i < stack->count; i++)
			if (watch_clamp_uses(path, stack->list[i].index))
				link_votes_add_above(votes, &path->announced, stack->list[i].after);
	}
}

static enum clamp_refusal link_put(struct watch *watch, const struct link *link, uint32_t size,
				   int *ret_error)
{
	struct watched_link *state = watch_link(watch, link->index);
	enum clamp_refusal refusal;
	struct link_votes votes;
	struct clamp_word word;
	struct stack stack;
	int r;

	/* whether IPv6 is on is told by no event */
	for (unsigned i = 0; i < links_count(watch->links); i++)
		links_refresh_ipv6_mtu(watch->links, links_at(watch->links, i)->index);
	ask_all(watch, link->index, size, &votes);
	/* asked again after the next round */
	if (votes.open)
		return REFUSAL_NONE;
	refusal = link_votes_decide(&votes, link, size);
	if (refusal != REFUSAL_NONE)
		return refusal;
	if (!watch->may_clamp || !watch->link_clamps || !state)
		return REFUSAL_PRIVILEGE;
	r = plan(watch, link, size, &stack);
	if (r < 0)
		return refusal_of_plan(r);
	ask_above(watch, &stack, &votes);
	if (votes.open || votes.better)
		return votes.open ? REFUSAL_NONE : REFUSAL_BETTER;
	watch_clamp_expect(watch, &stack, false);
	r = link_clamps_put(watch->link_clamps, &stack);
	watch->links_dirty = true;
	watch_settle_soon(watch);
	*ret_error = r;
	if (r < 0)
		return refusal_of_change(r);
	state->retry_usec = watch_now() + watch->config->clamp_retry_usec;
	word = link_word(watch, &stack);
	journal_clamped(&watch->journal, &word);
	/* what a route did for one of its peers the link does now */
	watch_clamp_locks_off(watch, stack.list, false);
	return REFUSAL_NONE;
}

enum clamp_refusal watch_clamp_link_put(struct watch *watch, struct path *path, uint32_t size,
					int *ret_error)
{
	const struct link *link = links_by_index(watch->links, path->route.link);
	const struct stack *stack;

	if (!link || !watch->link_clamps)
		return REFUSAL_RECORD;
	stack = link_clamps_find(watch->link_clamps, link->index);
	if (!stack)
		return link_put(watch, link, size, ret_error);
	/* less than that passes now: from the beginning, with the link as it was */
	watch_clamp_link_lift(watch, link->index, CLAMP_END_NO_HELP);
	return REFUSAL_NONE;
}

/* --- others --- */

static void link_yield(struct watch *watch, const struct stack *stack, uint32_t now)
{
	int index = stack->list[0].index;
	struct watched_link *link = watch_link(watch, index);
	struct clamp_word word = link_word(watch, stack);

	const struct stacked of = stack->list[0];

	watch_clamp_expect(watch, stack, true);
	watch_clamp_locks_off(watch, &of, false);
	if (link_clamps_lift(watch->link_clamps, index) < 0)
		return;
	word.now = now;
	if (link) {
		link->trial_usec = 0;
		link->state.own_mtu = 0;
		word.for_good = ++link->fights >= FIGHTS_MOST;
	}
	journal_clamp_yielded(&watch->journal, &word);
	paths_hold(watch, index, word.for_good);
}

void watch_clamp_links_settle(struct watch *watch)
{
	for (unsigned i = link_clamps_count(watch->link_clamps); i-- > 0;) {
		const struct stack *stack = link_clamps_at(watch->link_clamps, i);
		const struct watched_link *link = watch_link(watch, stack->list[0].index);
		uint32_t now, ours = stack->list[0].after;
		int r = link_clamps_mtu(watch->link_clamps, stack->list[0].index, &now);

		if (link && link->trial_usec)
			ours = stack->list[0].before;
		if (r == -ENODEV)
			watch_clamp_link_lift(watch, stack->list[0].index, CLAMP_END_ROUTE);
		/* what we could not finish is no sign of somebody else */
		else if (r >= 0 && now != ours && !(link && link->lifting))
			link_yield(watch, stack, now);
	}
}

/* --- life --- */

void watch_clamp_links_begin(struct watch *watch)
{
	int r = link_clamps_new(&watch->link_clamps, clamp_record_folder());

	if (r < 0)
		journal_plain(&watch->journal, LOG_WARNING,
			      "what links were before earlier clamps cannot be read in %s, no link is "
			      "clamped: %s",
			      clamp_record_folder(), strerror(-r));
	else if (link_clamps_broken(watch->link_clamps) > 0)
		journal_plain(&watch->journal, LOG_WARNING,
			      "what a link was before a clamp cannot be read in %s any more: look at the "
			      "MTUs, then remove the file",
			      clamp_record_folder());
}

void watch_clamp_links_off(struct watch *watch)
{
	while (watch->link_clamps && link_clamps_count(watch->link_clamps) > 0)
		if (watch_clamp_link_lift(watch, link_clamps_at(watch->link_clamps, 0)->list[0].index,
			      CLAMP_END_OFF) < 0)
			return;
}
