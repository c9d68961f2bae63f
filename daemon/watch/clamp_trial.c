/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clamped link hides its own recovery: tries it at its old size for a round, behind locked routes,
 * and puts it back where it was or takes the clamp off.
 */
#include "clamp.h"

#include <syslog.h>

#define TRIAL_USEC (15 * USEC_PER_SEC)

/* Set for the first that is due; off while there is none. */
static void trial_timer(struct watch *watch)
{
	uint64_t first = 0;

	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		const struct watched_link *link = (void *)watch->roster.links[i];

		if (link->trial_usec && (!first || link->trial_usec < first))
			first = link->trial_usec;
	}
	if (first)
		sd_event_source_set_time(watch->trial_source, first + TRIAL_USEC);
	sd_event_source_set_enabled(watch->trial_source, first ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void trial_end(struct watch *watch, struct watched_link *link, bool passes)
{
	int index = link->state.link.index;
	const struct stack *stack = link_clamps_find(watch->link_clamps, index);
	int r;

	journal_plain(&watch->journal, LOG_DEBUG, "link %s: %s", link->state.link.name,
		      passes ? "passes" : "still not");
	link->trial_usec = 0;
	link->retry_usec = watch_now() + watch->config->clamp_retry_usec;
	trial_timer(watch);
	if (!stack)
		return;
	if (passes) {
		link->fights = 0;
		watch_clamp_locks_off(watch, stack->list, true);
		watch_clamp_link_lift(watch, index, CLAMP_END_PASSES);
		return;
	}
	watch_clamp_expect(watch, stack, false);
	r = link_clamps_try(watch->link_clamps, index, false);
	if (r < 0)
		watch_clamp_is_stuck(watch, r);
	watch_clamp_locks_off(watch, stack->list, false);
	watch->links_dirty = true;
	watch_settle_soon(watch);
}

static int on_trial_over(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;

	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];

		if (link->trial_usec && link->trial_usec + TRIAL_USEC <= usec)
			trial_end(watch, link, false);
	}
	trial_timer(watch);
	return 0;
}

int watch_clamp_links_init(struct watch *watch)
{
	int r = sd_event_add_time(watch->event, &watch->trial_source, CLOCK_MONOTONIC, UINT64_MAX, 1,
				  on_trial_over, watch);

	return r < 0 ? r : sd_event_source_set_enabled(watch->trial_source, SD_EVENT_OFF);
}

/* Locked routes first: what goes to the peers of the link stays as small as it is. */
static void trial_begin(struct watch *watch, struct watched_link *link)
{
	int index = link->state.link.index;
	const struct stack *stack = link_clamps_find(watch->link_clamps, index);

	WATCH_PATHS(watch, path) {
		struct clamp_way way = { &path->address, &path->from, path->bound_link };

		if (watch_clamp_uses(path, index) && path->address.family != ADDRESS_NONE &&
		    !clamps_find(watch->clamps, &path->address))
			(void)clamps_put(watch->clamps, &way, stack->list[0].after);
	}
	journal_plain(&watch->journal, LOG_DEBUG, "link %s: tried at %u", stack->list[0].name,
		      stack->list[0].before);
	link->trial_usec = watch_now();
	link->state.own_mtu = stack->list[0].before;
	trial_timer(watch);
	if (link_clamps_try(watch->link_clamps, index, true) < 0)
		trial_end(watch, link, false);
	watch->links_dirty = true;
	watch_settle_soon(watch);
}

/* One that was a reason until this trial's round made it well. */
static bool path_is_well(const struct watch *watch, const struct path *path, int index)
{
	return watch_clamp_uses(path, index) && watch_clamp_kind(watch, path) == CLAMP_LINK &&
	       path->clamp.full > 0;
}

/* All whose fault was the reason have had a round at the full size. Where nobody is left who could tell,
 * that is no good news. */
static void trial_look(struct watch *watch, struct watched_link *link, uint32_t clamp)
{
	int index = link->state.link.index;
	bool passes = true, heard = false;

	WATCH_PATHS(watch, path) {
		bool reason = watch_clamp_is_reason(watch, path, index);
		bool full = path->ended_usec > link->trial_usec && path->facts.capacity > clamp;

		if (!reason && !path_is_well(watch, path, index))
			continue;
		if (reason && path->facts.trouble == REASON_NONE && !full)
			return;
		heard |= full && path->facts.expected > clamp;
		passes &= path->clamp.full > 0;
	}
	trial_end(watch, link, passes && heard);
}

bool watch_clamp_link_path(struct watch *watch, struct path *path)
{
	struct watched_link *link = watch_link(watch, path->route.link);
	const struct stack *stack;

	if (!watch->link_clamps || !link)
		return false;
	stack = link_clamps_find(watch->link_clamps, path->route.link);
	if (!stack)
		return false;
	/* taken over from an earlier life */
	if (link->retry_usec == 0)
		link->retry_usec = watch_now() + watch->config->clamp_retry_usec;
	if (link->trial_usec)
		trial_look(watch, link, stack->list[0].after);
	else if (path->facts.link_clamped && watch_clamp_is_reason(watch, path, stack->list[0].index) &&
		 path->clamp.faulty == 0 && watch_now() >= link->retry_usec)
		trial_begin(watch, link);
	else
		/* less than the clamp passes: that is to be treated */
		return path->clamp.size == 0 || path->clamp.size >= stack->list[0].after;
	return true;
}
