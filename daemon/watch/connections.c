/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When to look at the live TCP connections, and what is done about what they show. With nobody to
 * watch there is no look; one that is dear comes seldom. What it means is the core's matter.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define QUIET_USEC (5 * USEC_PER_SEC)
/* where no peer has a connection: so often at least between two rounds, or so seldom */
#define IDLE_LOOKS 6U
#define IDLE_MOST_USEC (60 * USEC_PER_SEC)
#define RESTLESS_USEC USEC_PER_SEC
/* of one processor's time at most, as long as nothing is the matter, and else */
#define QUIET_SHARE 200U
#define RESTLESS_SHARE 50U
#define REVIEWS 32U
#define LOST_USEC (30 * USEC_PER_SEC) /* then a look without an end is begun anew */

static void look_arm(struct watch *watch, uint64_t at_usec)
{
	struct watched_connections *sockets = &watch->connections;

	if (!sockets->source)
		return;
	sockets->due_usec = at_usec;
	sd_event_source_set_time(sockets->source, at_usec);
	sd_event_source_set_enabled(sockets->source,
				    at_usec == USEC_NEVER ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static uint64_t look_gap_least(const struct watched_connections *sockets)
{
	uint64_t idle = sockets->interval_usec / IDLE_LOOKS;

	if (sockets->restless)
		return RESTLESS_USEC;
	if (sockets->any || idle < QUIET_USEC)
		return QUIET_USEC;
	return idle < IDLE_MOST_USEC ? idle : IDLE_MOST_USEC;
}

static uint64_t look_gap(const struct watched_connections *sockets)
{
	uint64_t least = look_gap_least(sockets);
	uint64_t share = sockets->restless ? RESTLESS_SHARE : QUIET_SHARE;

	return sockets->cost_usec * share > least ? sockets->cost_usec * share : least;
}

/* --- a look --- */

static int tallies_make_room(struct watched_connections *sockets, unsigned room)
{
	struct tally *list;

	if (room <= sockets->room)
		return 0;
	list = reallocarray(sockets->tallies.list, room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	sockets->tallies.list = list;
	sockets->room = room;
	return 0;
}

/* Every path that packets can take. */
static int tallies_fill(struct watch *watch)
{
	struct tallies *tallies = &watch->connections.tallies;
	unsigned count = 0;
	int r;

	WATCH_PATHS(watch, path)
		count++;
	tallies->count = 0;
	watch->connections.interval_usec = USEC_NEVER;
	r = tallies_make_room(&watch->connections, count);
	if (r < 0)
		return r;
	WATCH_PATHS(watch, path) {
		if (path->settings->interval_usec < watch->connections.interval_usec)
			watch->connections.interval_usec = path->settings->interval_usec;
		if (path->address.family != ADDRESS_NONE && !path->route.local)
			tally_begin(&tallies->list[tallies->count++], path);
	}
	if (tallies->count > 0)
		qsort(tallies->list, tallies->count, sizeof(struct tally), tally_compare);
	tallies->probing = (enum mtu_probing)connections_mtu_probing();
	return 0;
}

/* So few that the kernel leaves the others out; 0: all are read. */
static unsigned look_addresses(const struct tallies *tallies,
			       struct address list[static CONNECTIONS_FILTER_MOST])
{
	unsigned count = 0;

	for (unsigned i = 0; i < tallies->count; i++) {
		const struct address *address = &tallies->list[i].address;

		if (count > 0 && address_equal(&list[count - 1], address))
			continue;
		if (count == CONNECTIONS_FILTER_MOST)
			return 0;
		list[count++] = *address;
	}
	return count;
}

static int look_begin(struct watch *watch, struct connections *connections)
{
	struct address addresses[CONNECTIONS_FILTER_MOST];
	int r = tallies_fill(watch);

	if (r < 0 || !connections || watch->connections.tallies.count == 0)
		return r;
	watch->connections.asked_to = (struct address){ 0 };
	return connections_look(connections, addresses,
				look_addresses(&watch->connections.tallies, addresses));
}

/* The link that packets from there to there leave by, 0 unknown. Connections of one kind come one
 * after the other, so the last answer is kept for as long as a look takes. */
static int connection_link(struct watch *watch, const struct connection *connection)
{
	struct watched_connections *sockets = &watch->connections;
	struct route route = { 0 };

	if (address_equal(&sockets->asked_to, &connection->to) &&
	    address_equal(&sockets->asked_from, &connection->from))
		return sockets->asked_link;
	if (routes_ask(watch->routes, &connection->to, &connection->from, 0, &route) < 0)
		route.link = 0;
	sockets->asked_to = connection->to;
	sockets->asked_from = connection->from;
	sockets->asked_link = route.link;
	return route.link;
}

static void on_connection(const struct connection *connection, void *userdata)
{
	struct watch *watch = userdata;
	struct connection known = *connection;

	if (!tallies_know(&watch->connections.tallies, connection))
		known.link = connection_link(watch, connection);
	tallies_add(&watch->connections.tallies, &known);
}

/* --- what it shows --- */

static void path_settle(struct watch *watch, const struct tally *tally, uint64_t now_usec)
{
	struct path *path = tally->path;
	bool told = watched_of(path)->peer.origin != ORIGIN_REQUEST;
	struct sockets_news news;

	/* its name has led elsewhere meanwhile */
	if (!address_equal(&tally->address, &path->address))
		return;
	if (tally->below[SOCKET_CAUSE_CACHE].count > 0 && watch_path_look(watch, path, now_usec)) {
		watch_path_restart(watch, path, now_usec);
		return;
	}
	path_on_connections(path, tally, now_usec, &news);
	watch->connections.restless |= news.restless;
	if (news.ask && path_on_request(path, now_usec))
		watch_path_put(watch, path);
	if (news.lint)
		watch_path_lint(watch, path);
	if (news.mss_changed && told)
		bus_peer_changed(watch->bus, &watched_of(path)->peer);
	watch->changed |= news.mss_changed;
}

static void look_settle(struct watch *watch, uint64_t now_usec)
{
	watch->connections.restless = false;
	watch->connections.any = false;
	for (unsigned i = 0; i < watch->connections.tallies.count; i++) {
		watch->connections.any |= watch->connections.tallies.list[i].connections > 0;
		path_settle(watch, &watch->connections.tallies.list[i], now_usec);
	}
	watch->connections.tallies.count = 0;
	watch_arm(watch);
}

static void on_done(int error, uint64_t cost_usec, void *userdata)
{
	struct watch *watch = userdata;
	struct watched_connections *sockets = &watch->connections;
	struct moment moment;

	watch_moment(&moment);
	sockets->cost_usec = cost_usec;
	sockets->looked_usec = moment.now_usec;
	/* half of the truth would look like an end of what was found */
	if (error == 0)
		look_settle(watch, moment.now_usec);
	sockets->tallies.count = 0;
	look_arm(watch, moment.now_usec + look_gap(sockets));
}

/* --- the kernel's memory --- */

/* What the kernel learns is in no netlink group, and rounds may be far apart. */
static void path_review(struct watch *watch, struct path *path, uint64_t now_usec)
{
	bool remembered = path->route.exception_sec > 0;

	if (watch_path_look(watch, path, now_usec)) {
		watch_path_restart(watch, path, now_usec);
		return;
	}
	if (path_cache_is_news(path) && path_on_request(path, now_usec))
		watch_path_put(watch, path);
	if (remembered || path->route.exception_sec > 0)
		watch_path_lint(watch, path);
}

/* A few at a time, in turn: 10 us each. */
static void paths_review(struct watch *watch, uint64_t now_usec)
{
	struct watched_connections *sockets = &watch->connections;
	unsigned count = sockets->tallies.count < REVIEWS ? sockets->tallies.count : REVIEWS;

	for (unsigned i = 0; i < count; i++)
		path_review(watch,
			    sockets->tallies.list[sockets->reviewed++ % sockets->tallies.count].path,
			    now_usec);
	watch_arm(watch);
}

static int on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	struct moment moment;
	int r;

	watch_moment(&moment);
	look_arm(watch, moment.now_usec + LOST_USEC);
	r = look_begin(watch, watch->connections.world);
	paths_review(watch, moment.now_usec);
	/* a name that leads nowhere yet is worth another try, nobody at all is not */
	if (watch->roster.peer_count == 0)
		look_arm(watch, USEC_NEVER);
	else if (r < 0 || !watch->connections.world || watch->connections.tallies.count == 0)
		look_arm(watch, moment.now_usec + QUIET_USEC);
	return 0;
}

/* --- life --- */

static const struct connections_handlers handlers = {
	.connection = on_connection,
	.done = on_done,
};

int watch_connections_init(struct watch *watch)
{
	struct watched_connections *sockets = &watch->connections;
	int r = connections_new(&sockets->world, watch->event, &handlers, watch);

	/* a kernel without it is no reason not to watch */
	if (r < 0)
		journal_plain(&watch->journal, LOG_INFO,
			      "this kernel tells nothing of TCP connections: %s", strerror(-r));
	r = sd_event_add_time(watch->event, &sockets->source, CLOCK_MONOTONIC, UINT64_MAX, 1,
			      on_due, watch);
	if (r < 0)
		return r;
	look_arm(watch, USEC_NEVER);
	return 0;
}

void watch_connections_free(struct watch *watch)
{
	struct watched_connections *sockets = &watch->connections;

	sockets->source = sd_event_source_disable_unref(sockets->source);
	sockets->world = connections_free(sockets->world);
	free(sockets->tallies.list);
	memset(sockets, 0, sizeof(*sockets));
}

void watch_connections_review(struct watch *watch)
{
	struct watched_connections *sockets = &watch->connections;
	struct moment moment;
	uint64_t at;

	if (!sockets->source || watch->roster.peer_count == 0)
		return;
	watch_moment(&moment);
	at = sockets->looked_usec + RESTLESS_USEC;
	if (at < moment.now_usec)
		at = moment.now_usec;
	if (sockets->due_usec > at)
		look_arm(watch, at);
}

void watch_connections_forget(struct watch *watch)
{
	watch->connections.tallies.count = 0;
}

/* Nobody will look a second time: what is seen is told. */
static void on_once_done(int error, uint64_t cost_usec, void *userdata)
{
	struct watch *watch = userdata;
	struct tallies *tallies = &watch->connections.tallies;
	struct moment moment;
	struct sockets_news news;

	watch_moment(&moment);
	for (unsigned i = 0; error == 0 && i < tallies->count; i++) {
		struct path *path = tallies->list[i].path;

		watch_path_look(watch, path, moment.now_usec);
		path_on_connections(path, &tallies->list[i], moment.now_usec, &news);
		if (news.restless)
			path_on_connections(path, &tallies->list[i], moment.now_usec, &news);
		watch_path_lint(watch, path);
	}
	tallies->count = 0;
}

void watch_connections_once(struct watch *watch)
{
	static const struct connections_handlers once = {
		.connection = on_connection,
		.done = on_once_done,
	};
	struct connections *connections = NULL;

	if (connections_new(&connections, NULL, &once, watch) < 0)
		return;
	(void)look_begin(watch, connections);
	connections_free(connections);
}
