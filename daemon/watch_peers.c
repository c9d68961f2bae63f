/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which peers there are: the configured ones, the discovered gateways, or the addresses of one
 * request; and how host names become addresses. Knows nothing of rounds and verdicts.
 */
#include "watch_state.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>

#include "face/words.h"

/* A list of peers in the making. */
struct crowd {
	struct peer **list;
	unsigned count;
	unsigned room;
};

static int crowd_add(struct crowd *crowd, struct watched_peer *peer)
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

static struct watched_peer *watched_peer_of(struct peer *peer)
{
	return (void *)peer;
}

/* --- one peer --- */

static uint16_t ident_choose(const struct watch *watch)
{
	uint16_t ident = 0;

	for (unsigned tries = 0; tries < 64; tries++) {
		if (getrandom(&ident, sizeof(ident), 0) == sizeof(ident) && !watch->by_ident[ident])
			break;
	}
	return ident;
}

static void ident_register(struct watch *watch, struct watched_peer *peer)
{
	uint16_t ident = ident_choose(watch);

	peer->path.ident = ident;
	peer->next_same_ident = watch->by_ident[ident];
	watch->by_ident[ident] = &peer->path;
}

static void ident_forget(struct watch *watch, struct watched_peer *peer)
{
	struct path **next = &watch->by_ident[peer->path.ident];

	while (*next && *next != &peer->path)
		next = &watched_of(*next)->next_same_ident;
	if (*next)
		*next = peer->next_same_ident;
}

static struct watched_peer *watched_peer_new(struct watch *watch, const char *name,
					     enum origin origin)
{
	struct watched_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	snprintf(peer->peer.name, sizeof(peer->peer.name), "%s", name);
	peer->watch = watch;
	peer->peer.origin = origin;
	peer->peer.settings = watch->config->defaults;
	peer->peer.paths = &peer->path;
	peer->peer.path_count = 1;
	peer->path.settings = &peer->peer.settings;
	peer->path.owner = peer;
	peer->path.discovered = origin == ORIGIN_GATEWAY;
	peer->path.queue_place = QUEUE_NOWHERE;
	ident_register(watch, peer);
	return peer;
}

static struct watched_peer *watched_peer_free(struct watched_peer *peer)
{
	struct watch *watch = peer->watch;

	watch_requests_forget(watch, NULL, &peer->peer);
	names_cancel(watch->names, peer->query);
	queue_remove(&watch->queue, &peer->path);
	ident_forget(watch, peer);
	watch_round_give_back(watch, peer->path.round);
	free(peer->host);
	free(peer);
	return NULL;
}

/* --- names --- */

static bool addresses_hold(const struct address *list, unsigned count, const struct address *address)
{
	for (unsigned i = 0; i < count; i++)
		if (address_equal(&list[i], address))
			return true;
	return false;
}

static void on_resolved(int error, const struct address *addresses, unsigned count, void *userdata)
{
	struct watched_peer *peer = userdata;
	struct watch *watch = peer->watch;
	struct path *path = &peer->path;
	struct moment moment;

	peer->query = NULL;
	watch_moment(&moment);
	if (error == 0 && count > 0 && !addresses_hold(addresses, count, &path->address)) {
		path->address = addresses[0];
		watch_look(watch, path, moment.now_usec);
		watch_path_restart(watch, path, moment.now_usec);
		bus_peer_changed(watch->bus, &peer->peer);
	} else if (path->ended_usec == 0 && !path->round) {
		watch_look(watch, path, moment.now_usec);
		watch_path_restart(watch, path, moment.now_usec);
	}
	watch_arm(watch);
}

void watch_peer_resolve(struct watch *watch, struct watched_peer *peer)
{
	int r;

	if (!peer->host || peer->query)
		return;
	r = names_resolve(watch->names, peer->host, peer->family, on_resolved, peer, &peer->query);
	if (r < 0)
		journal_plain(&watch->journal, LOG_WARNING, "peer %s: cannot look up %s: %s",
			      peer->peer.name, peer->host, strerror(-r));
}

/* --- out of the configuration --- */

static void peer_configure(struct watched_peer *peer, const struct config_peer *config)
{
	const char *link = config->interface_count ? config->interfaces[0] : config->zone_link;

	peer->peer.settings = config->settings;
	peer->family = config->family;
	peer->path.from = config->source;
	snprintf(peer->zone_link, sizeof(peer->zone_link), "%s",
		 config->zone_link[0] ? config->zone_link : link);
	if (!isdigit((unsigned char)link[0]))
		snprintf(peer->path.wanted_link, sizeof(peer->path.wanted_link), "%s", link);
}

static struct watched_peer *peer_from_config(struct watch *watch, const struct config_peer *config)
{
	struct watched_peer *peer = watched_peer_new(watch, config->name, ORIGIN_CONFIG);

	if (!peer)
		return NULL;
	peer_configure(peer, config);
	peer->path.address = config->address;
	if (config->host && !(peer->host = strdup(config->host)))
		return watched_peer_free(peer);
	return peer;
}

/* The same packets to the same place: what was learned about it stays true. */
static bool peer_is_same(const struct watched_peer *peer, const struct config_peer *config)
{
	struct watched_peer other = { 0 };
	struct address address = peer->path.address;

	peer_configure(&other, config);
	address.zone = config->address.zone;
	if ((peer->host != NULL) != (config->host != NULL))
		return false;
	if (peer->host ? strcmp(peer->host, config->host) != 0 :
			 !address_equal(&address, &config->address))
		return false;
	return peer->peer.origin == ORIGIN_CONFIG && peer->family == other.family &&
	       strcmp(peer->zone_link, other.zone_link) == 0 &&
	       strcmp(peer->path.wanted_link, other.path.wanted_link) == 0 &&
	       address_equal(&peer->path.from, &other.path.from);
}

static int crowd_add_configured(struct watch *watch, struct crowd *crowd)
{
	for (unsigned i = 0; i < watch->config->peer_count; i++) {
		const struct config_peer *config = &watch->config->peers[i];
		struct peer *known = roster_peer(&watch->roster, config->name);
		struct watched_peer *peer = known ? watched_peer_of(known) : NULL;
		int r;

		if (peer && peer_is_same(peer, config)) {
			peer->peer.settings = config->settings;
			peer->kept = true;
		} else {
			peer = peer_from_config(watch, config);
		}
		r = peer ? crowd_add(crowd, peer) : -ENOMEM;
		if (r < 0)
			return r;
	}
	return 0;
}

static int crowd_add_requested(struct watch *watch, struct crowd *crowd)
{
	for (const char **text = watch->options.addresses; *text; text++) {
		struct watched_peer *peer = watched_peer_new(watch, *text, ORIGIN_REQUEST);
		int r;

		if (!peer)
			return -ENOMEM;
		r = crowd_add(crowd, peer);
		if (r < 0)
			return r;
		if (words_parse_address(*text, &peer->path.address, peer->zone_link) >= 0)
			continue;
		peer->host = strdup(*text);
		if (!peer->host)
			return -ENOMEM;
	}
	return 0;
}

/* --- out of the routes --- */

static bool address_is_configured(const struct crowd *crowd, const struct address *address)
{
	for (unsigned i = 0; i < crowd->count; i++) {
		struct address other = crowd->list[i]->paths[0].address;

		other.zone = address->zone;
		if (crowd->list[i]->origin != ORIGIN_GATEWAY && address_equal(&other, address))
			return true;
	}
	return false;
}

/* "gateway-eth0-192.0.2.254": the same address may be behind several links. Of an address that is
 * too long for a name the end stays, where it differs from its neighbours'. */
static void gateway_name(const struct gateway *gateway, const char *link,
			 char name[static PEER_NAME_LONGEST + 1])
{
	struct address address = gateway->address;
	char text[ADDRESS_TEXT_SIZE];
	size_t length, room;

	address.zone = 0;
	length = strlen(words_address(&address, text));
	for (char *c = text; *c; c++)
		if (*c == ':')
			*c = '-';
	room = PEER_NAME_LONGEST - strlen("gateway--") - strlen(link);
	snprintf(name, PEER_NAME_LONGEST + 1, "gateway-%s-%.*s", link, (int)room,
		 text + (length > room ? length - room : 0));
	/* link names may hold what peer names may not */
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '-';
}

static int crowd_add_gateway(struct watch *watch, struct crowd *crowd, const struct gateway *gateway)
{
	const struct link *link = links_by_index(watch->links, gateway->link);
	char name[PEER_NAME_LONGEST + 1];
	struct watched_peer *peer;
	struct peer *known;

	if (!link || link->loopback || address_is_configured(crowd, &gateway->address))
		return 0;
	gateway_name(gateway, link->name, name);
	known = roster_peer(&watch->roster, name);
	if (known && known->origin == ORIGIN_GATEWAY) {
		peer = watched_peer_of(known);
		peer->peer.settings = watch->config->defaults;
		peer->kept = true;
		return crowd_add(crowd, peer);
	}
	if (known)
		return 0;
	peer = watched_peer_new(watch, name, ORIGIN_GATEWAY);
	if (!peer)
		return -ENOMEM;
	peer->path.address = gateway->address;
	memcpy(peer->path.wanted_link, link->name, sizeof(link->name));
	memcpy(peer->zone_link, link->name, sizeof(link->name));
	return crowd_add(crowd, peer);
}

static int crowd_add_gateways(struct watch *watch, struct crowd *crowd)
{
	struct gateway *gateways = NULL;
	unsigned count = 0;
	int r = 0;

	if (watch->options.addresses || !(watch->config->discover & DISCOVER_GATEWAYS))
		return 0;
	r = routes_gateways(watch->routes, &gateways, &count);
	for (unsigned i = 0; r >= 0 && i < count; i++)
		r = crowd_add_gateway(watch, crowd, &gateways[i]);
	free(gateways);
	return r;
}

/* --- the roster --- */

static int by_name(const void *a, const void *b)
{
	const struct peer *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void peer_retire(struct watch *watch, struct watched_peer *peer)
{
	journal_plain(&watch->journal, LOG_INFO, "peer %s is no longer watched; its last verdict: %s",
		      peer->peer.name, words_verdict(peer_verdict(&peer->peer)));
	bus_peer_removed(watch->bus, peer->peer.name);
	watched_peer_free(peer);
}

static void peer_welcome(struct watch *watch, struct watched_peer *peer, uint64_t now_usec)
{
	peer->path.due_usec = now_usec;
	if (peer->host) {
		/* until the name is looked up there is nothing to ask */
		peer->path.due_usec = USEC_NEVER;
		watch_peer_resolve(watch, peer);
	} else {
		watch_look(watch, &peer->path, now_usec);
	}
	peer->path.wake_usec = peer->path.due_usec;
	bus_peer_added(watch->bus, &peer->peer);
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
	watch->queue_room = room;
	return 0;
}

static void peers_replace(struct watch *watch, struct crowd *crowd)
{
	struct roster old = watch->roster;
	struct moment moment;

	qsort(crowd->list, crowd->count, sizeof(struct peer *), by_name);
	watch_moment(&moment);
	for (unsigned i = 0; i < old.peer_count; i++)
		if (!watched_peer_of(old.peers[i])->kept)
			peer_retire(watch, watched_peer_of(old.peers[i]));
	watch->roster.peers = crowd->list;
	watch->roster.peer_count = crowd->count;
	free(old.peers);
	for (unsigned i = 0; i < crowd->count; i++) {
		struct watched_peer *peer = watched_peer_of(crowd->list[i]);

		if (peer->path.queue_place == QUEUE_NOWHERE)
			peer_welcome(watch, peer, moment.now_usec);
		else if (watch_look(watch, &peer->path, moment.now_usec))
			watch_path_restart(watch, &peer->path, moment.now_usec);
		peer->kept = false;
		watch_path_put(watch, &peer->path);
	}
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

static int crowd_gather(struct watch *watch, struct crowd *crowd)
{
	int r;

	if (watch->options.addresses)
		r = crowd_add_requested(watch, crowd);
	else
		r = crowd_add_configured(watch, crowd);
	if (r >= 0)
		r = crowd_add_gateways(watch, crowd);
	if (r >= 0)
		r = queue_make_room(watch, crowd->count + watch->roster.peer_count);
	if (r < 0)
		crowd_drop(watch, crowd);
	return r;
}

int watch_peers_configure(struct watch *watch)
{
	struct crowd crowd = { 0 };
	int r = crowd_gather(watch, &crowd);

	if (r < 0)
		return r;
	peers_replace(watch, &crowd);
	watch_peers_spread(watch);
	return 0;
}

static bool crowd_is_roster(const struct watch *watch, const struct crowd *crowd)
{
	for (unsigned i = 0; i < crowd->count; i++)
		if (!watched_peer_of(crowd->list[i])->kept)
			return false;
	return crowd->count == watch->roster.peer_count;
}

/* Only gateways come and go by themselves. */
int watch_peers_discover(struct watch *watch)
{
	struct crowd crowd = { 0 };
	int r;

	if (watch->options.addresses)
		return 0;
	r = crowd_gather(watch, &crowd);
	if (r < 0)
		return r;
	if (crowd_is_roster(watch, &crowd))
		crowd_drop(watch, &crowd);
	else
		peers_replace(watch, &crowd);
	return 0;
}

void watch_peers_free(struct watch *watch)
{
	for (unsigned i = 0; i < watch->roster.peer_count; i++)
		watched_peer_free(watched_peer_of(watch->roster.peers[i]));
	free(watch->roster.peers);
	free(watch->queue.list);
	watch->roster.peers = NULL;
	watch->roster.peer_count = 0;
}

void watch_peers_spread(struct watch *watch)
{
	unsigned count = watch->roster.peer_count;
	uint64_t load = 0;

	for (unsigned i = 0; i < count; i++) {
		struct path *path = &watch->roster.peers[i]->paths[0];
		uint64_t interval = path->settings->interval_usec;
		uint64_t bytes = path->facts.expected < path->facts.capacity ? path->facts.expected :
									       path->facts.capacity;

		path->phase_usec = pace_phase(interval, i, count);
		load += (bytes + CONTROL_IPV6) * 8 * USEC_PER_SEC / interval;
	}
	if (!pace_load(&watch->pace, load) || watch->pace.stretch == 1000)
		return;
	journal_plain(&watch->journal, LOG_NOTICE,
		      "healthy rounds alone need %llu bit/s: to stay within ProbeBandwidth=%llu every "
		      "interval is made %u.%02u times as long",
		      (unsigned long long)load, (unsigned long long)watch->pace.bits_per_sec,
		      watch->pace.stretch / 1000, watch->pace.stretch / 10 % 100);
}
