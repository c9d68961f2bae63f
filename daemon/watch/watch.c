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

/* --- the queue --- */

void watch_path_remove(struct watch *watch, struct path *path)
{
	queue_remove(path->held ? &watch->held : &watch->queue, path);
	path->held = false;
}

void watch_path_put(struct watch *watch, struct path *path)
{
	if (path->held)
		watch_path_remove(watch, path);
	queue_put(&watch->queue, path);
}

void watch_path_restart(struct watch *watch, struct path *path, uint64_t now_usec)
{
	watch_check_give_back(watch, path_restart(path, now_usec));
	watch_path_put(watch, path);
}

void watch_arm(struct watch *watch)
{
	const struct path *first = queue_first(&watch->queue);
	uint64_t at = first ? first->wake_usec : USEC_NEVER;

	if (watch->held.count > 0 && pace_room(&watch->pace) < at)
		at = pace_room(&watch->pace);
	if (watch->requests && watch->request_usec < at)
		at = watch->request_usec;

	if (at == watch->wake_set_usec)
		return;
	watch->wake_set_usec = at;
	sd_event_source_set_time(watch->wake_source, at);
	sd_event_source_set_enabled(watch->wake_source,
				    at == USEC_NEVER ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

/* --- facts: time --- */

/* What is due; those that wait for the budget come when the others leave room in it. */
static struct path *watch_next(struct watch *watch, uint64_t now_usec)
{
	struct path *path = queue_first(&watch->queue);

	if (path && path->wake_usec <= now_usec)
		return path;
	path = queue_first(&watch->held);
	if (!path || pace_room(&watch->pace) > now_usec)
		return NULL;
	path->admitted = true;
	watch_path_put(watch, path);
	return path;
}

static void watch_run(struct watch *watch)
{
	struct moment moment;
	struct path *path;

	watch_moment(&moment);
	watch->burst_bytes = 0;
	/* no more at once than its answers find room in the socket's buffer, charged about twofold */
	while (watch->burst_bytes < prober_receive_buffer(watch->prober) / 4 &&
	       (path = watch_next(watch, moment.now_usec)))
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
		sd_event_source_set_time(source, moment.now_usec);
		return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	watch->late = false;
	watch_run(watch);
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
	watch_run(userdata);
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

/* --- life --- */

/* As configured. A port that cannot be had is no reason to stop watching. */
static void watch_open_responder(struct watch *watch)
{
	uint16_t port = watch->options.requests || watch->options.quiet ?
				0 : watch->config->responder_port;
	int r;

	watch->responder = responder_free(watch->responder);
	watch->roster.answering_port = 0;
	if (port == 0)
		return;
	r = responder_new(&watch->responder, watch->event, port, watch->config->probe_bandwidth);
	if (r >= 0)
		watch->roster.answering_port = port;
	else
		journal_plain(&watch->journal, LOG_ERR,
			      "Responder=%u: the port cannot be had, other hosts get no answers: %s",
			      port, strerror(-r));
}

/* As configured. Nothing that fails here is a reason to stop watching. */
static void watch_open_metrics(struct watch *watch)
{
	struct metrics_options options = {
		.path = watch->config->metrics_file,
		.interval_usec = watch->config->defaults.interval_usec,
	};
	int r;

	if (watch->metrics && metrics_is(watch->metrics, &options))
		return;
	watch->metrics = metrics_free(watch->metrics);
	if (!options.path || watch->options.requests || watch->options.quiet)
		return;
	r = metrics_new(&watch->metrics, watch->event, &watch->roster, &watch->journal, &options);
	if (r < 0)
		journal_plain(&watch->journal, LOG_ERR, "MetricsFile=%s: %s", options.path,
			      strerror(-r));
}

int watch_reload(struct watch *watch, char **ret_error)
{
	struct config *config = NULL, *old = watch->config;
	struct moment moment;
	char *error = NULL;
	int r = config_load(watch->options.config_path, &config, &error);

	if (r < 0) {
		journal_config_rejected(&watch->journal, error ? error : strerror(-r));
		if (ret_error)
			*ret_error = error;
		else
			free(error);
		return r;
	}
	watch->config = config;
	config_free(old);
	watch->pace.bits_per_sec = config->probe_bandwidth;
	watch_open_responder(watch);
	watch_open_metrics(watch);
	watch_links_expect(watch);
	watch_storage_configure(watch);
	if (watch->clamps)
		watch_clamps_configured(watch);
	r = watch_peers_configure(watch);
	watch_clamps_review(watch);
	watch_clamps_end_privilege(watch);
	watch_moment(&moment);
	watch_links_tell(watch, moment.now_usec);
	if (r >= 0)
		journal_plain(&watch->journal, LOG_INFO, "configuration reloaded: %u peer%s",
			      watch->roster.peer_count, watch->roster.peer_count == 1 ? "" : "s");
	watch->changed = true;
	watch_run(watch);
	return r;
}

const struct roster *watch_roster(const struct watch *watch)
{
	return &watch->roster;
}

static int watch_open_world(struct watch *watch)
{
	static const struct prober_handlers handlers = {
		.answer = on_answer,
		.batch_end = on_batch_end,
		.overflow = on_overflow,
	};
	int r = prober_new(&watch->prober, watch->event, &handlers, watch);

	if (r >= 0)
		r = links_new(&watch->links, watch->event, watch_on_link, watch);
	if (r >= 0)
		r = routes_new(&watch->routes, watch->event, watch_on_route, watch);
	if (r >= 0)
		r = watch_clamp_links_init(watch);
	if (r >= 0)
		watch_clamps_begin(watch);
	if (r >= 0)
		r = names_new(&watch->names, watch->event);
	return r;
}

static int watch_open_loop(struct watch *watch)
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

static int watch_open_bus(struct watch *watch)
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

static int watch_open(struct watch *watch)
{
	struct moment moment;
	int r = watch_open_loop(watch);

	if (r >= 0)
		r = journal_attach(&watch->journal, watch->event);
	if (r >= 0)
		r = watch_open_world(watch);
	if (r >= 0)
		r = watch_open_bus(watch);
	if (r >= 0)
		r = watch_settle_init(watch);
	if (r >= 0 && !watch->options.quiet)
		r = watch_connections_init(watch);
	if (r >= 0)
		r = watch_neighbours_init(watch);
	if (r >= 0)
		r = watch_counters_init(watch);
	if (r >= 0)
		watch_storage_configure(watch);
	if (r >= 0)
		r = watch_peers_configure(watch);
	if (r < 0)
		return r;
	watch->changed = true;
	watch_open_responder(watch);
	watch_open_metrics(watch);
	if (!watch->options.quiet)
		journal_started(&watch->journal, &watch->roster);
	/* what an earlier life clamped may be nobody's concern any more */
	watch_clamps_review(watch);
	watch_moment(&moment);
	watch_links_tell(watch, moment.now_usec);
	watch_arm(watch);
	return 0;
}

int watch_new(struct watch **ret, sd_event *event, struct config *config,
	      const struct watch_options *options)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch) {
		config_free(config);
		return -ENOMEM;
	}
	watch->event = sd_event_ref(event);
	watch->config = config;
	watch->options = *options;
	watch->request_usec = USEC_NEVER;
	journal_init(&watch->journal);
	if (options->quiet)
		watch->journal.level = LOG_CRIT;
	pace_init(&watch->pace, config->probe_bandwidth);
	r = watch_open(watch);
	if (r < 0) {
		watch_free(watch);
		return r;
	}
	*ret = watch;
	return 0;
}

struct watch *watch_free(struct watch *watch)
{
	if (!watch)
		return NULL;
	watch_clamps_leave(watch);
	watch->bus = bus_free(watch->bus);
	watch->metrics = metrics_free(watch->metrics);
	watch_requests_free(watch);
	watch_storage_free(watch);
	watch_connections_free(watch);
	watch_peers_free(watch);
	while (watch->spare_count > 0)
		free(watch->spare_checks[--watch->spare_count]);
	free(watch->spare_dossier);
	watch_links_free(watch);
	sd_event_source_disable_unref(watch->counters_source);
	sd_event_source_disable_unref(watch->settle_source);
	sd_event_source_disable_unref(watch->wake_source);
	responder_free(watch->responder);
	prober_free(watch->prober);
	links_free(watch->links);
	routes_free(watch->routes);
	clamps_free(watch->clamps);
	link_clamps_free(watch->link_clamps);
	sd_event_source_disable_unref(watch->trial_source);
	names_free(watch->names);
	neighbours_free(watch->neighbours);
	receive_free(watch->receive);
	config_free(watch->config);
	journal_done(&watch->journal);
	sd_event_unref(watch->event);
	free(watch);
	return NULL;
}
