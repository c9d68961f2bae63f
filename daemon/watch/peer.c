/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One peer as watch keeps it: its paths, their flows and what these hold, how it is made out of a
 * configuration, and how its host name becomes addresses. Knows nothing of other peers.
 */
#include "state.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "../face/words.h"

/* --- one peer --- */

static void path_init(struct watched_peer *peer, struct path *path, struct flow *flows,
		      unsigned flow_count)
{
	path->flows = flows;
	path->flow_count = flow_count;
	path->settings = &peer->peer.settings;
	path->owner = peer;
	path->discovered = origin_is_discovered(peer->peer.origin);
	path->gateway = peer->peer.origin == ORIGIN_GATEWAY;
	path->queue_place = QUEUE_NOWHERE;
	for (unsigned i = 0; i < flow_count; i++) {
		path->flows[i].path = path;
		watch_flow_choose_ident(peer->watch, &path->flows[i]);
	}
}

struct watched_peer *watched_peer_free(struct watched_peer *peer)
{
	struct watch *watch = peer->watch;

	watch_requests_forget(watch, NULL, &peer->peer);
	names_cancel(watch->names, peer->query);
	watch_connections_forget(watch);
	for (unsigned i = 0; i < peer->peer.path_count; i++) {
		struct path *path = &peer->peer.paths[i];

		watch_path_remove(watch, path);
		witness_remove(path);
		for (unsigned j = 0; j < path->flow_count; j++)
			watch_flow_release(watch, &path->flows[j]);
		watch_check_give_back(watch, path->check);
		free(path->dossier);
	}
	free(peer->peer.host);
	free(peer);
	return NULL;
}

struct watched_peer *watched_peer_new(struct watch *watch, const struct make *make)
{
	unsigned flows = make->path_count * make->flow_count;
	struct watched_peer *peer = calloc(1, sizeof(*peer) + make->path_count * sizeof(struct path) +
						      flows * sizeof(struct flow));
	struct flow *flow;

	if (!peer)
		return NULL;
	snprintf(peer->peer.name, sizeof(peer->peer.name), "%s", make->name);
	peer->watch = watch;
	peer->peer.roster = &watch->roster;
	peer->peer.origin = make->origin;
	peer->peer.settings = watch->config->defaults;
	peer->peer.paths = peer->paths;
	peer->peer.path_count = make->path_count;
	flow = (void *)(peer->paths + make->path_count);
	for (unsigned i = 0; i < make->path_count; i++, flow += make->flow_count)
		path_init(peer, &peer->paths[i], flow, make->flow_count);
	return peer;
}

/* --- names --- */

static bool address_suits(const struct path *path, const struct address *address)
{
	return path->family == ADDRESS_NONE || path->family == address->family;
}

/* The address the path has when it is still among them, else the first that suits; NULL none. */
static const struct address *address_choose(const struct path *path, const struct address *list,
					    unsigned count)
{
	const struct address *first = NULL;

	for (unsigned i = 0; i < count; i++) {
		if (!address_suits(path, &list[i]))
			continue;
		if (address_equal(&list[i], &path->address))
			return &list[i];
		if (!first)
			first = &list[i];
	}
	return first;
}

/* `address` NULL: the name gave none, this time. */
static bool path_resolved(struct watch *watch, struct path *path, const struct address *address,
			  uint64_t now_usec)
{
	bool moved = address && !address_equal(address, &path->address);
	bool first = path->ended_usec == 0 && !path->check;

	if (!moved && !first)
		return false;
	if (moved) {
		for (unsigned i = 0; i < path->flow_count; i++)
			path->flows[i].cookie = 0;
		path->facts.whole_back = 0;
		path->address = *address;
	}
	watch_look(watch, path, now_usec);
	watch_path_restart(watch, path, now_usec);
	if (moved && watched_of(path)->peer.origin != ORIGIN_REQUEST)
		bus_peer_changed(watch->bus, &watched_of(path)->peer);
	return moved;
}

static void on_resolved(int error, const struct address *addresses, unsigned count, void *userdata)
{
	struct watched_peer *peer = userdata;
	struct moment moment;
	bool moved = false;

	peer->query = NULL;
	watch_moment(&moment);
	for (unsigned i = 0; i < peer->peer.path_count; i++) {
		struct path *path = &peer->peer.paths[i];

		moved |= path_resolved(peer->watch, path,
				       error == 0 ? address_choose(path, addresses, count) : NULL,
				       moment.now_usec);
	}
	/* it may turn out to be a gateway that was discovered too */
	if (moved && peer->peer.origin != ORIGIN_REQUEST) {
		peer->watch->gateways_dirty = true;
		watch_settle_soon(peer->watch);
	}
	watch_arm(peer->watch);
}

void watch_peer_resolve(struct watch *watch, struct watched_peer *peer)
{
	int r;

	if (!peer->peer.host || peer->query)
		return;
	r = names_resolve(watch->names, peer->peer.host, peer->family, on_resolved, peer, &peer->query);
	if (r >= 0)
		return;
	for (unsigned i = 0; i < peer->peer.path_count; i++) {
		struct path *path = &peer->peer.paths[i];

		/* a check without an address says so, and leads back here */
		if (path->due_usec == USEC_NEVER)
			path->due_usec = path->wake_usec = 0;
	}
	journal_plain(&watch->journal, LOG_WARNING, "peer %s: cannot look up %s: %s",
		      peer->peer.name, peer->peer.host, strerror(-r));
}

/* --- out of the configuration --- */

/* Each Interface= and each family is a path. */
static unsigned config_path_count(const struct config_peer *config)
{
	unsigned links = config->interface_count ? config->interface_count : 1;

	return config->family_both ? 2 * links : links;
}

static void path_configure(struct path *path, const struct config_peer *config, unsigned number)
{
	unsigned links = config->interface_count ? config->interface_count : 1;
	const char *link = config->zone_link;

	if (config->interface_count)
		link = config->interfaces[number % links];
	path->from = config->source;
	path->port = config->port;
	path->address = config->address;
	path->family = (uint8_t)config->family;
	if (config->family_both)
		path->family = number < links ? ADDRESS_IPV4 : ADDRESS_IPV6;
	if (!isdigit((unsigned char)link[0]))
		snprintf(path->wanted_link, sizeof(path->wanted_link), "%s", link);
}

static struct watched_peer *peer_make(struct watch *watch, const struct config_peer *config,
				      const struct make *make)
{
	struct watched_peer *peer = watched_peer_new(watch, make);

	if (!peer)
		return NULL;
	peer->peer.settings = config->settings;
	peer->family = config->family;
	snprintf(peer->zone_link, sizeof(peer->zone_link), "%s", config->zone_link);
	for (unsigned i = 0; i < make->path_count; i++)
		path_configure(&peer->peer.paths[i], config, i);
	if (config->host && !(peer->peer.host = strdup(config->host)))
		return watched_peer_free(peer);
	return peer;
}

struct watched_peer *watched_peer_from_config(struct watch *watch, const struct config_peer *config)
{
	const struct make make = { config->name, ORIGIN_CONFIG, config_path_count(config),
				   config->flows };

	return peer_make(watch, config, &make);
}

/* Named by its address. What a request can not say is as for all. */
struct watched_peer *watched_peer_from_request(struct watch *watch, const struct config_peer *config)
{
	char text[ADDRESS_TEXT_SIZE + LINK_NAME_SIZE];
	const struct make make = { config->host ? config->host : text, ORIGIN_REQUEST,
				   config_path_count(config), config->flows };
	struct watched_peer *peer;

	words_address(&config->address, text);
	if (config->zone_link[0])
		snprintf(text + strlen(text), LINK_NAME_SIZE + 1, "%%%s", config->zone_link);
	peer = peer_make(watch, config, &make);
	if (!peer)
		return NULL;
	peer->peer.settings = watch->config->defaults;
	peer->peer.settings.method = config->settings.method;
	peer->peer.settings.expect_mtu = config->settings.expect_mtu;
	return peer;
}

static bool path_is_same(const struct path *path, const struct config_peer *config, unsigned number)
{
	struct address address = path->address;
	struct path other = { 0 };

	path_configure(&other, config, number);
	address.zone = config->address.zone;
	return (config->host || address_equal(&address, &config->address)) &&
	       path->family == other.family && path->port == other.port &&
	       path->flow_count == config->flows &&
	       strcmp(path->wanted_link, other.wanted_link) == 0 &&
	       address_equal(&path->from, &other.from);
}

/* The same packets to the same place: what was learned about it stays true. */
bool watched_peer_is_same(const struct watched_peer *peer, const struct config_peer *config)
{
	if (peer->peer.origin != ORIGIN_CONFIG || (peer->peer.host != NULL) != (config->host != NULL) ||
	    peer->peer.path_count != config_path_count(config) ||
	    peer->peer.settings.method != config->settings.method ||
	    strcmp(peer->zone_link, config->zone_link) != 0)
		return false;
	if (peer->peer.host && strcmp(peer->peer.host, config->host) != 0)
		return false;
	for (unsigned i = 0; i < peer->peer.path_count; i++)
		if (!path_is_same(&peer->peer.paths[i], config, i))
			return false;
	return true;
}
