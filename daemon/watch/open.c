/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From nothing to a watch, from one configuration to the next, and back to nothing.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

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
	watch_go_on(watch);
	return r;
}

const struct roster *watch_roster(const struct watch *watch)
{
	return &watch->roster;
}

static int watch_open_links(struct watch *watch)
{
	return links_new(&watch->links, watch->event, watch_on_link, watch);
}

static int watch_open_routes(struct watch *watch)
{
	return routes_new(&watch->routes, watch->event, watch_on_route, watch);
}

static int watch_open_clamps(struct watch *watch)
{
	int r = watch_clamp_links_init(watch);

	if (r >= 0)
		watch_clamps_begin(watch);
	return r;
}

static int watch_open_names(struct watch *watch)
{
	return names_new(&watch->names, watch->event);
}

static int watch_open_journal(struct watch *watch)
{
	return journal_attach(&watch->journal, watch->event);
}

static int watch_open_connections(struct watch *watch)
{
	return watch->options.quiet ? 0 : watch_connections_init(watch);
}

static int watch_open_peers(struct watch *watch)
{
	watch_storage_configure(watch);
	return watch_peers_configure(watch);
}

/* In this order: clamps are taken over before there are threads. */
static const struct {
	const char *name;
	int (*open)(struct watch *watch);
} parts[] = {
	{ "the event loop", watch_open_loop },
	{ "the journal", watch_open_journal },
	{ WATCH_PROBES, watch_open_prober },
	{ "links", watch_open_links },
	{ "routes", watch_open_routes },
	{ "clamps", watch_open_clamps },
	{ "host names", watch_open_names },
	{ "the bus", watch_open_bus },
	{ "changes of links and routes", watch_settle_init },
	{ "TCP connections", watch_open_connections },
	{ "neighbours", watch_neighbours_init },
	{ "counters of links", watch_counters_init },
	{ "peers", watch_open_peers },
};

static int watch_open(struct watch *watch, const char **ret_failed)
{
	struct moment moment;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int r = parts[i].open(watch);

		*ret_failed = parts[i].name;
		if (r < 0)
			return r;
	}
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
	      const struct watch_options *options, const char **ret_failed)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int r;

	*ret_failed = "memory";
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
	r = watch_open(watch, ret_failed);
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
