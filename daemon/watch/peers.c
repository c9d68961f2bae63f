/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which peers there are: the configured ones, the discovered ones, or the addresses of one
 * request. Knows nothing of rounds and verdicts, nor of how peers are discovered.
 */
#include "state.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "../face/words.h"

int crowd_add(struct crowd *crowd, struct watched_peer *peer)
{
	if (crowd->count == crowd->room) {
		unsigned room = crowd->room ? 2 * crowd->room : 16;
		struct peer **list = reallocarray(crowd->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		crowd->list = list;
		crowd->room = room;
	}
	crowd->list[crowd->count++] = &peer->peer;
	return 0;
}

static int crowd_add_configured(struct watch *watch, struct crowd *crowd)
{
	for (unsigned i = 0; i < watch->config->peer_count; i++) {
		const struct config_peer *config = &watch->config->peers[i];
		struct peer *known = roster_peer(&watch->roster, config->name);
		struct watched_peer *peer = known ? watched_peer_of(known) : NULL;
		int r;

		if (peer && watched_peer_is_same(peer, config)) {
			peer->peer.settings = config->settings;
			peer->kept = true;
		} else {
			peer = watched_peer_from_config(watch, config);
		}
		r = peer ? crowd_add(crowd, peer) : -ENOMEM;
		if (r < 0)
			return r;
	}
	return 0;
}

static int crowd_add_requested(struct watch *watch, struct crowd *crowd)
{
	for (struct config_peer **config = watch->options.requests; *config; config++) {
		struct watched_peer *peer = watched_peer_from_request(watch, *config);
		int r = peer ? crowd_add(crowd, peer) : -ENOMEM;

		if (r < 0)
			return r;
	}
	return 0;
}

/* --- the roster --- */

static int by_name(const void *a, const void *b)
{
	const struct peer *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void peer_retire(struct watch *watch, struct watched_peer *peer)
{
	bool faulty = peer_severity(&peer->peer) >= SEVERITY_WARNING;

	journal_plain(&watch->journal, faulty ? LOG_NOTICE : LOG_INFO,
		      "peer %s is no longer watched; its last verdict: %s", peer->peer.name,
		      words_verdict(peer_verdict(&peer->peer)));
	bus_peer_removed(watch->bus, &peer->peer);
	watched_peer_free(peer);
}

static void peer_begin(struct watch *watch, struct watched_peer *peer, uint64_t now_usec)
{
	for (unsigned i = 0; i < peer->peer.path_count; i++) {
		struct path *path = &peer->peer.paths[i];

		/* until a name is looked up there is nothing to ask */
		path->due_usec = peer->peer.host ? USEC_NEVER : now_usec;
		path->wake_usec = path->due_usec;
		if (!peer->peer.host)
			watch_look(watch, path, now_usec);
	}
	watch_peer_resolve(watch, peer);
}

static void peer_welcome(struct watch *watch, struct watched_peer *peer, uint64_t now_usec)
{
	peer_begin(watch, peer, now_usec);
	bus_peer_added(watch->bus, &peer->peer);
}

/* Reloaded: what is expected of it may have changed. */
static void peer_review(struct watch *watch, struct watched_peer *peer, uint64_t now_usec)
{
	for (unsigned i = 0; i < peer->peer.path_count; i++)
		if (watch_look(watch, &peer->peer.paths[i], now_usec))
			watch_path_restart(watch, &peer->peer.paths[i], now_usec);
}

static int queue_make_room(struct watch *watch, unsigned room)
{
	struct path **list;

	if (room <= watch->queue_room)
		return 0;
	list = reallocarray(watch->queue.list, room, sizeof(struct path *));
	if (!list)
		return -ENOMEM;
	watch->queue.list = list;
	list = reallocarray(watch->held.list, room, sizeof(struct path *));
	if (!list)
		return -ENOMEM;
	watch->held.list = list;
	list = reallocarray(watch->portless.list, room, sizeof(struct path *));
	if (!list)
		return -ENOMEM;
	watch->portless.list = list;
	watch->queue_room = room;
	return 0;
}

static void peers_replace(struct watch *watch, struct crowd *crowd)
{
	struct roster old = watch->roster;
	struct moment moment;

	if (crowd->count > 0)
		qsort(crowd->list, crowd->count, sizeof(struct peer *), by_name);
	watch_moment(&moment);
	/* whoever looks at the roster from here on sees the new one */
	watch->roster.peers = crowd->list;
	watch->roster.peer_count = crowd->count;
	for (unsigned i = 0; i < old.peer_count; i++)
		if (!watched_peer_of(old.peers[i])->kept)
			peer_retire(watch, watched_peer_of(old.peers[i]));
	free(old.peers);
	for (unsigned i = 0; i < crowd->count; i++) {
		struct watched_peer *peer = watched_peer_of(crowd->list[i]);

		if (peer->kept)
			peer_review(watch, peer, moment.now_usec);
		else
			peer_welcome(watch, peer, moment.now_usec);
		peer->kept = false;
		for (unsigned j = 0; j < peer->peer.path_count; j++)
			watch_path_put(watch, &peer->peer.paths[j]);
	}
	watch_requests_review(watch);
	watch->changed = true;
}

/* Gives up a crowd that could not be completed; those who were there before stay. */
static void crowd_drop(struct watch *watch, struct crowd *crowd)
{
	for (unsigned i = 0; i < crowd->count; i++) {
		struct watched_peer *peer = watched_peer_of(crowd->list[i]);

		if (!peer->kept)
			watched_peer_free(peer);
		else
			peer->kept = false;
	}
	free(crowd->list);
}

/* Those who did not come by themselves stay. */
static int crowd_add_known(struct watch *watch, struct crowd *crowd)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < watch->roster.peer_count; i++) {
		struct watched_peer *peer = watched_peer_of(watch->roster.peers[i]);

		if (origin_is_discovered(peer->peer.origin))
			continue;
		peer->kept = true;
		r = crowd_add(crowd, peer);
	}
	return r;
}

static int crowd_gather(struct watch *watch, struct crowd *crowd, bool anew)
{
	unsigned paths = watch->guest_paths;
	int r;

	if (!anew)
		r = crowd_add_known(watch, crowd);
	else if (watch->options.requests)
		r = crowd_add_requested(watch, crowd);
	else
		r = crowd_add_configured(watch, crowd);
	if (r >= 0 && !watch->options.requests)
		r = crowd_add_discovered(watch, crowd);
	for (unsigned i = 0; i < crowd->count; i++)
		paths += crowd->list[i]->path_count;
	for (unsigned i = 0; i < watch->roster.peer_count; i++)
		paths += watch->roster.peers[i]->path_count;
	if (r >= 0)
		r = queue_make_room(watch, paths);
	if (r < 0)
		crowd_drop(watch, crowd);
	return r;
}

int watch_guest_new(struct watch *watch, const struct config_peer *config,
		    struct watched_peer **ret)
{
	struct watched_peer *peer = watched_peer_from_request(watch, config);
	unsigned paths = watch->guest_paths;
	struct moment moment;
	int r;

	if (!peer)
		return -ENOMEM;
	WATCH_PATHS(watch, path)
		paths++;
	r = queue_make_room(watch, paths + peer->peer.path_count);
	if (r < 0) {
		watched_peer_free(peer);
		return r;
	}
	watch_moment(&moment);
	peer_begin(watch, peer, moment.now_usec);
	for (unsigned i = 0; i < peer->peer.path_count; i++)
		watch_path_put(watch, &peer->peer.paths[i]);
	*ret = peer;
	return 0;
}

int watch_peers_configure(struct watch *watch)
{
	struct crowd crowd = { 0 };
	int r = crowd_gather(watch, &crowd, true);

	if (r < 0)
		return r;
	peers_replace(watch, &crowd);
	/* each peer has what it needs of them */
	config_forget_peers(watch->config);
	malloc_trim(0);
	watch_peers_spread(watch);
	watch_connections_review(watch);
	return 0;
}

static bool crowd_is_roster(const struct watch *watch, const struct crowd *crowd)
{
	for (unsigned i = 0; i < crowd->count; i++)
		if (!watched_peer_of(crowd->list[i])->kept)
			return false;
	return crowd->count == watch->roster.peer_count;
}

/* Who was asked for stays, who was discovered comes and goes. */
int watch_peers_discover(struct watch *watch)
{
	struct crowd crowd = { 0 };
	int r;

	if (watch->options.requests)
		return 0;
	r = crowd_gather(watch, &crowd, false);
	if (r < 0)
		return r;
	if (crowd_is_roster(watch, &crowd))
		crowd_drop(watch, &crowd);
	else
		peers_replace(watch, &crowd);
	watch_connections_review(watch);
	/* who waits for everybody may have waited for a name that is nobody's */
	watch_requests_serve(watch);
	return 0;
}

void watch_peers_free(struct watch *watch)
{
	for (unsigned i = 0; i < watch->roster.peer_count; i++)
		watched_peer_free(watched_peer_of(watch->roster.peers[i]));
	free(watch->roster.peers);
	free(watch->queue.list);
	free(watch->held.list);
	free(watch->portless.list);
	watch->roster.peers = NULL;
	watch->roster.peer_count = 0;
}

void watch_peers_spread(struct watch *watch)
{
	unsigned count = 0, position = 0;
	uint64_t load = 0;

	WATCH_PATHS(watch, path)
		count++;
	WATCH_PATHS(watch, path) {
		uint64_t interval = path->settings->interval_usec;
		uint64_t bytes = path->facts.expected < path->facts.capacity ? path->facts.expected :
									       path->facts.capacity;

		path->phase_usec = pace_phase(interval, position++, count);
		load += (bytes + CONTROL_IPV6) * path->flow_count * 8 * USEC_PER_SEC / interval;
	}
	if (!pace_load(&watch->pace, load) || watch->pace.stretch == 1000)
		return;
	journal_plain(&watch->journal, LOG_NOTICE,
		      "healthy rounds alone need %llu bit/s: to stay within ProbeBandwidth=%llu every "
		      "interval is made %u.%02u times as long",
		      (unsigned long long)load, (unsigned long long)watch->pace.bits_per_sec,
		      watch->pace.stretch / 1000, watch->pace.stretch / 10 % 100);
}
