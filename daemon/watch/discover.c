/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Peers that nobody asked for: storage in use and default gateways, out of what the world rooms
 * have found. A peer that is configured wins over both, and storage over a gateway: one address is
 * one peer. Looks for nothing itself, and probes nothing.
 */
#include "state.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "../face/words.h"

#define STORAGE_PEERS_MOST 256
#define STORAGE_PATHS_MOST 8

/* A zone that is not looked up yet may be any. */
static bool address_same(const struct address *a, const struct address *b)
{
	struct address other = *b;

	if (a->zone == 0 || b->zone == 0)
		other.zone = a->zone;
	return address_equal(a, &other);
}

/* Gateways are told apart by their links, so that one of them does not stand for another. */
static bool crowd_has(const struct crowd *crowd, const struct address *address)
{
	for (unsigned i = 0; i < crowd->count; i++) {
		const struct peer *peer = crowd->list[i];

		for (unsigned j = 0; j < peer->path_count && peer->origin != ORIGIN_GATEWAY; j++)
			if (address_same(&peer->paths[j].address, address))
				return true;
	}
	return false;
}

/* --- names --- */

/* Link names and addresses may hold what peer names may not. */
static void name_clean(char *name)
{
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '-';
}

/* Peers of one name would be one object on the bus. */
static void crowd_make_unique(const struct crowd *crowd, char name[static PEER_NAME_LONGEST + 1])
{
	char stem[PEER_NAME_LONGEST + 1], tail[12];
	unsigned number = 2, i = 0;

	memcpy(stem, name, sizeof(stem));
	while (i < crowd->count) {
		if (strcmp(crowd->list[i++]->name, name) != 0)
			continue;
		snprintf(tail, sizeof(tail), "-%u", number++);
		snprintf(name, PEER_NAME_LONGEST + 1, "%.*s%s",
			 (int)(PEER_NAME_LONGEST - strlen(tail)), stem, tail);
		i = 0;
	}
}

/* "gateway-eth0-192.0.2.254", "nfs-192.0.2.10". Of an address that is too long for a name the end
 * stays, where it differs from its neighbours'. */
static void name_make(const struct crowd *crowd, const char *prefix, const struct address *address,
		      char name[static PEER_NAME_LONGEST + 1])
{
	struct address plain = *address;
	char text[ADDRESS_TEXT_SIZE];
	size_t length, room = PEER_NAME_LONGEST - strlen(prefix);

	plain.zone = 0;
	length = strlen(words_address(&plain, text));
	snprintf(name, PEER_NAME_LONGEST + 1, "%s%.*s", prefix, (int)room,
		 text + (length > room ? length - room : 0));
	name_clean(name);
	crowd_make_unique(crowd, name);
}

/* --- gateways --- */

static struct watched_peer *gateway_known(const struct watch *watch, const struct gateway *gateway,
					  const char *link)
{
	for (unsigned i = 0; i < watch->roster.peer_count; i++) {
		struct peer *peer = watch->roster.peers[i];
		struct address address = peer->paths[0].address;

		address.zone = gateway->address.zone;
		if (peer->origin == ORIGIN_GATEWAY && address_equal(&address, &gateway->address) &&
		    strcmp(peer->paths[0].wanted_link, link) == 0)
			return watched_peer_of(peer);
	}
	return NULL;
}

static int crowd_keep(struct watch *watch, struct crowd *crowd, struct watched_peer *peer)
{
	if (peer->kept)
		return 0;
	peer->peer.settings = watch->config->defaults;
	peer->kept = true;
	return crowd_add(crowd, peer);
}

static int crowd_add_gateway(struct watch *watch, struct crowd *crowd,
			     const struct gateway *gateway)
{
	const struct link *link = links_by_index(watch->links, gateway->link);
	char name[PEER_NAME_LONGEST + 1], prefix[LINK_NAME_SIZE + 16];
	struct make make = {name, ORIGIN_GATEWAY, 1, 1};
	struct watched_peer *peer;

	if (!link || link->loopback || crowd_has(crowd, &gateway->address))
		return 0;
	peer = gateway_known(watch, gateway, link->name);
	if (peer)
		return crowd_keep(watch, crowd, peer);
	/* the same address may be behind several links */
	snprintf(prefix, sizeof(prefix), "gateway-%s-", link->name);
	name_make(crowd, prefix, &gateway->address, name);
	peer = watched_peer_new(watch, &make);
	if (!peer)
		return -ENOMEM;
	peer->peer.paths[0].address = gateway->address;
	memcpy(peer->peer.paths[0].wanted_link, link->name, sizeof(link->name));
	memcpy(peer->zone_link, link->name, sizeof(link->name));
	return crowd_add(crowd, peer);
}

static int crowd_add_gateways(struct watch *watch, struct crowd *crowd)
{
	struct gateway *gateways = NULL;
	unsigned count = 0;
	int r = 0;

	if (!(watch->config->discover & DISCOVER_GATEWAYS))
		return 0;
	r = routes_gateways(watch->routes, &gateways, &count);
	for (unsigned i = 0; r >= 0 && i < count; i++)
		r = crowd_add_gateway(watch, crowd, &gateways[i]);
	free(gateways);
	return r;
}

/* --- storage --- */

static enum origin storage_origin(enum storage_kind kind, unsigned *ret_bit)
{
	static const struct {
		enum origin origin;
		unsigned bit;
	} origins[] = {
		[STORAGE_NFS] = {ORIGIN_NFS, DISCOVER_NFS},
		[STORAGE_SMB] = {ORIGIN_SMB, DISCOVER_SMB},
		[STORAGE_ISCSI] = {ORIGIN_ISCSI, DISCOVER_ISCSI},
		[STORAGE_NVME] = {ORIGIN_NVME, DISCOVER_NVME},
		[STORAGE_CEPH] = {ORIGIN_CEPH, DISCOVER_CEPH},
		[STORAGE_GLUSTERFS] = {ORIGIN_GLUSTERFS, DISCOVER_OTHERS},
		[STORAGE_DRBD] = {ORIGIN_DRBD, DISCOVER_OTHERS},
		[STORAGE_COROSYNC] = {ORIGIN_COROSYNC, DISCOVER_OTHERS},
	};

	*ret_bit = origins[kind].bit;
	return origins[kind].origin;
}

/* Several ways to one address, in the order that names the peer. */
struct ways {
	const struct storage *list[STORAGE_PATHS_MOST];
	unsigned count;
};

static int by_address(const void *a, const void *b)
{
	const struct storage *x = a, *y = b;
	int order = memcmp(x->address.bytes, y->address.bytes, sizeof(x->address.bytes));

	if (order == 0)
		order = x->address.family - y->address.family;
	if (order == 0 && x->address.zone != y->address.zone)
		order = x->address.zone < y->address.zone ? -1 : 1;
	if (order == 0)
		order = (int)x->kind - (int)y->kind;
	if (order == 0)
		order = (int)x->port - (int)y->port;
	if (order == 0)
		order = strcmp(x->link, y->link);
	if (order == 0)
		order = memcmp(&x->from.bytes, &y->from.bytes, sizeof(x->from.bytes));
	return order != 0 ? order : strcmp(x->host, y->host);
}

/* What is bound to the same link and address goes the same way, whatever storage it is. */
static void ways_add(struct ways *ways, const struct storage *storage)
{
	for (unsigned i = 0; i < ways->count; i++)
		if (strcmp(ways->list[i]->link, storage->link) == 0 &&
		    address_equal(&ways->list[i]->from, &storage->from))
			return;
	if (ways->count < STORAGE_PATHS_MOST)
		ways->list[ways->count++] = storage;
}

static bool way_is_path(const struct storage *way, const struct path *path)
{
	struct address address = path->address;

	address.zone = way->address.zone;
	return address_equal(&address, &way->address) && address_equal(&path->from, &way->from) &&
	       path->port == way->port && strcmp(path->wanted_link, way->link) == 0;
}

static struct watched_peer *ways_known(const struct watch *watch, const struct ways *ways,
				       enum origin origin)
{
	for (unsigned i = 0; i < watch->roster.peer_count; i++) {
		struct peer *peer = watch->roster.peers[i];
		unsigned same = 0;

		if (peer->origin != origin || peer->path_count != ways->count)
			continue;
		while (same < ways->count && way_is_path(ways->list[same], &peer->paths[same]))
			same++;
		if (same == ways->count)
			return watched_peer_of(peer);
	}
	return NULL;
}

static void path_take_way(struct path *path, const struct storage *way)
{
	path->address = way->address;
	path->from = way->from;
	path->port = way->port;
	memcpy(path->wanted_link, way->link, sizeof(path->wanted_link));
}

static int crowd_add_ways(struct watch *watch, struct crowd *crowd, const struct ways *ways)
{
	const struct storage *first = ways->list[0];
	char name[PEER_NAME_LONGEST + 1], prefix[16];
	unsigned bit;
	struct make make = {name, storage_origin(first->kind, &bit), ways->count, 1};
	struct watched_peer *peer = ways_known(watch, ways, make.origin);

	if (peer)
		return crowd_keep(watch, crowd, peer);
	snprintf(prefix, sizeof(prefix), "%s-", words_origin(make.origin));
	name_make(crowd, prefix, &first->address, name);
	peer = watched_peer_new(watch, &make);
	if (!peer)
		return -ENOMEM;
	for (unsigned i = 0; i < ways->count; i++)
		path_take_way(&peer->peer.paths[i], ways->list[i]);
	if (address_is_link_local(&first->address))
		memcpy(peer->zone_link, first->link, sizeof(peer->zone_link));
	return crowd_add(crowd, peer);
}

static bool storage_is_own(struct watch *watch, const struct storage *storage)
{
	struct route route = {0};

	return routes_ask(watch->routes, &storage->address, NULL, 0, &route) >= 0 && route.local;
}

/* A link-local address is one of a link. False: that link is not there. */
static bool storage_place(struct watch *watch, struct storage *storage)
{
	const struct link *link;

	if (!address_is_link_local(&storage->address))
		return true;
	link = storage->address.zone ? links_by_index(watch->links, storage->address.zone)
				     : links_by_name(watch->links, storage->link);
	if (!link)
		return false;
	storage->address.zone = link->index;
	memcpy(storage->link, link->name, sizeof(storage->link));
	return true;
}

static void found_say(struct watch *watch, struct found *found, enum origin origin)
{
	char text[ADDRESS_TEXT_SIZE];

	if (found->said)
		return;
	found->said = true;
	journal_plain(
		&watch->journal, LOG_NOTICE,
		"%s storage at %s is not watched: its packets are not this host's own TCP, but "
		"RDMA or an adapter's",
		words_origin(origin), words_address(&found->storage.address, text));
}

/* Whether it is to be a peer. */
static bool found_counts(struct watch *watch, struct found *found, struct storage *ret)
{
	unsigned bit;
	enum origin origin = storage_origin(found->storage.kind, &bit);

	if (!(watch->config->discover & bit) || found->storage.address.family == ADDRESS_NONE)
		return false;
	if (found->storage.offloaded) {
		found_say(watch, found, origin);
		return false;
	}
	*ret = found->storage;
	return storage_place(watch, ret) && !storage_is_own(watch, ret);
}

/* All that count, by address; the caller frees *ret. */
static int storage_gather(struct watch *watch, struct storage **ret, unsigned *ret_count)
{
	struct discovery *discovery = watch->discovery;
	struct storage *list = calloc(discovery->count + 1, sizeof(*list));
	unsigned count = 0;

	discovery->changed = false;
	if (!list)
		return -ENOMEM;
	for (struct found *found = discovery->found; found; found = found->next)
		if (found_counts(watch, found, &list[count]))
			count++;
	if (count > 0)
		qsort(list, count, sizeof(*list), by_address);
	*ret = list;
	*ret_count = count;
	return 0;
}

static int crowd_add_storage(struct watch *watch, struct crowd *crowd)
{
	struct storage *list = NULL;
	unsigned count = 0, peers = 0, i = 0;
	int r = watch->discovery ? storage_gather(watch, &list, &count) : 0;

	while (r >= 0 && i < count) {
		const struct address *address = &list[i].address;
		struct ways ways = {.count = 0};

		do
			ways_add(&ways, &list[i++]);
		while (i < count && address_equal(&list[i].address, address));
		if (crowd_has(crowd, address))
			continue;
		if (peers++ == STORAGE_PEERS_MOST) {
			watch_storage_say_full(watch, STORAGE_PEERS_MOST);
			break;
		}
		r = crowd_add_ways(watch, crowd, &ways);
	}
	free(list);
	return r;
}

int crowd_add_discovered(struct watch *watch, struct crowd *crowd)
{
	int r = crowd_add_storage(watch, crowd);

	return r < 0 ? r : crowd_add_gateways(watch, crowd);
}
