/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts in, effects out. Each fact enters by one short handler: find the paths it touches, read
 * the clock once, and let the path take its turn in path.c, the only place with effects.
 * Decides nothing itself.
 */
#include "state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "../face/address_text.h"

#define IGNORED_GAP_USEC (60 * USEC_PER_SEC)
#define LATE_USEC (20 * USEC_PER_MSEC)

static uint64_t clock_usec(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

void watch_moment(struct moment *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->now_usec = clock_usec(CLOCK_MONOTONIC);
	ret->real_usec = clock_usec(CLOCK_REALTIME);
}

uint64_t watch_now(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

/* --- facts: time --- */

void watch_go_on(struct watch *watch)
{
	struct moment moment;
	struct path *path;

	watch_moment(&moment);
	watch->burst_bytes = 0;
	/* no more at once than its answers find room in the socket's buffer, charged about twofold */
	while (watch->burst_bytes < prober_receive_buffer(watch->prober) / 4 &&
	       (path = watch_path_next(watch, moment.now_usec)))
		watch_path_run(watch, path, &moment);
	prober_flush(watch->prober);
	if (watch->requests)
		watch_requests_serve(watch);
	watch_arm(watch);
}

static int on_wake(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	struct moment moment;

	watch_moment(&moment);
	watch->wake_set_usec = 0;
	/* after a standstill the answers wait beside the timer */
	if (!watch->late && moment.now_usec > usec + LATE_USEC) {
		watch->late = true;
		if (sd_event_source_set_time(source, moment.now_usec) >= 0 &&
		    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) >= 0)
			return 0;
	}
	watch->late = false;
	watch_go_on(watch);
	return 0;
}

/* --- facts: answers --- */

/* Another program's, one that comes after its round, or a forged one: none of them is believed. */
static void report_ignore(struct watch *watch, const struct answer *answer, uint64_t now_usec)
{
	char from[ADDRESS_TEXT_SIZE];

	watch->roster.reports_ignored++;
	if (now_usec < watch->ignored_told_usec)
		return;
	watch->ignored_told_usec = now_usec + IGNORED_GAP_USEC;
	journal_plain(&watch->journal, LOG_DEBUG,
		      "ignored a report of an MTU of %u from %s: it quotes no packet of a running "
		      "round; %" PRIu64 " so far",
		      answer->mtu, words_address(&answer->from, from), watch->roster.reports_ignored);
}

static void on_answer(const struct answer *answer, uint64_t now_usec, void *userdata)
{
	struct watch *watch = userdata;
	struct flow *flow = *ident_row(watch, answer->ident);
	bool known = false;

	for (; flow; flow = flow->next_in_row) {
		if (flow->ident != answer->ident ||
		    !path_on_answer(flow->path, flow, answer, now_usec))
			continue;
		known = true;
		flow->path->wake_usec = 0;
		watch_path_put(watch, flow->path);
	}
	if (!known && answer->kind == ANSWER_TOO_BIG)
		report_ignore(watch, answer, now_usec);
}

static void on_batch_end(uint64_t now_usec, void *userdata)
{
	watch_go_on(userdata);
}

static void on_overflow(uint64_t now_usec, void *userdata)
{
	watch_paths_overflow(userdata);
}

/* --- facts: requests --- */

static void on_check(struct bus_check *check, struct peer *peer, void *userdata)
{
	watch_request_add(userdata, check, peer);
}

static int on_probe(struct bus_check *check, const struct config_peer *request, void *userdata)
{
	return watch_request_probe(userdata, check, request);
}

static void on_check_gone(struct bus_check *check, void *userdata)
{
	watch_requests_forget(userdata, check, NULL);
}

static int on_release(const char *name, void *userdata)
{
	return watch_clamps_release(userdata, name);
}

static int on_reload(char **ret_error, void *userdata)
{
	return watch_reload(userdata, ret_error);
}

void watch_when_settled(struct watch *watch, void (*settled)(void *userdata), void *userdata)
{
	watch->settled = settled;
	watch->settled_userdata = userdata;
	watch_request_add(watch, NULL, NULL);
}

void watch_on_change(struct watch *watch, void (*changed)(void *userdata), void *userdata)
{
	watch->on_change = changed;
	watch->on_change_userdata = userdata;
}

/* Once a loop, whatever happened in it. */
static int on_loop(sd_event_source *source, void *userdata)
{
	struct watch *watch = userdata;

	if (!watch->changed)
		return 0;
	watch->changed = false;
	bus_totals_changed(watch->bus);
	metrics_changed(watch->metrics);
	watch_tell_status(watch);
	if (watch->on_change)
		watch->on_change(watch->on_change_userdata);
	return 0;
}

/* --- where they come from --- */

int watch_open_prober(struct watch *watch)
{
	static const struct prober_handlers handlers = {
		.answer = on_answer,
		.batch_end = on_batch_end,
		.overflow = on_overflow,
	};

	return prober_new(&watch->prober, watch->event, &handlers, watch);
}

int watch_open_loop(struct watch *watch)
{
	sd_event_source *post = NULL;
	int r = sd_event_add_time(watch->event, &watch->wake_source, CLOCK_MONOTONIC, UINT64_MAX, 1,
				  on_wake, watch);

	if (r >= 0)
		r = sd_event_add_post(watch->event, &post, on_loop, watch);
	if (r >= 0)
		r = sd_event_source_set_floating(post, 1);
	sd_event_source_unref(post);
	return r;
}

int watch_open_bus(struct watch *watch)
{
	static const struct bus_handlers handlers = {
		.check = on_check,
		.probe = on_probe,
		.check_gone = on_check_gone,
		.reload = on_reload,
		.release = on_release,
	};

	if (!watch->options.on_bus)
		return 0;
	return bus_new(&watch->bus, watch->event, &watch->roster, &watch->journal, &handlers, watch);
}
