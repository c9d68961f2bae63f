/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Default gateways. The kernel cannot be asked for default routes alone, so all unicast routes
 * pass by, message by message; none but the gateways' addresses is kept.
 */
#include "gateways.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "route_message.h"

#define LOOPBACK_INDEX 1 /* in every network namespace */
#define DUMP_TRIES 8

struct ids {
	uint32_t *list;
	unsigned count;
	unsigned room;
};

struct collection {
	struct netlink *netlink;
	struct gateway *list;
	unsigned count;
	unsigned room;
	struct ids pending; /* nexthop objects, asked for when the dump is through */
};

/* Makes room for one more; the contents stay. */
static int grow(void **list, unsigned *room, unsigned count, size_t size)
{
	unsigned wanted = *room == 0 ? 8 : *room * 2;
	void *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*list, wanted, size);
	if (grown == NULL)
		return -ENOMEM;
	*list = grown;
	*room = wanted;
	return 0;
}

static int ids_add(struct ids *ids, uint32_t id)
{
	void *list = ids->list;
	int r;

	for (unsigned i = 0; i < ids->count; i++)
		if (ids->list[i] == id)
			return 0;
	r = grow(&list, &ids->room, ids->count, sizeof(*ids->list));
	if (r < 0)
		return r;
	ids->list = list;
	ids->list[ids->count++] = id;
	return 0;
}

static int on_hop(const struct next_hop *hop, void *userdata)
{
	struct collection *collection = userdata;
	void *list = collection->list;
	int r;

	if (hop->gateway.family == ADDRESS_NONE || hop->dead || hop->link == LOOPBACK_INDEX)
		return 0;
	for (unsigned i = 0; i < collection->count; i++)
		if (collection->list[i].link == hop->link &&
		    address_equal(&collection->list[i].address, &hop->gateway))
			return 0;
	r = grow(&list, &collection->room, collection->count, sizeof(*collection->list));
	if (r < 0)
		return r;
	collection->list = list;
	collection->list[collection->count++] = (struct gateway){
		.address = hop->gateway,
		.link = hop->link,
	};
	return 0;
}

static int on_route(struct nlmsghdr *message, void *userdata)
{
	struct collection *collection = userdata;
	struct route_message route;

	if (!route_message_parse(message, &route) || route.length != 0 ||
	    route.type != RTN_UNICAST || (route.flags & RTM_F_CLONED) != 0)
		return 0;
	/* net.ipv4.nexthop_compat_mode=0: the object's id is all there is */
	if (route.nexthop != 0 && route.gateway.family == ADDRESS_NONE && route.hops == NULL)
		return ids_add(&collection->pending, route.nexthop);
	return route_message_hops(&route, on_hop, collection);
}

static int on_nexthop(struct nlmsghdr *message, void *userdata)
{
	struct collection *collection = userdata;
	struct nexthop_message nexthop;

	if (!nexthop_message_parse(message, &nexthop))
		return 0;
	for (unsigned i = 0; i < nexthop.group_count; i++) {
		int r = ids_add(&collection->pending, nexthop_message_member(&nexthop, i));

		if (r < 0)
			return r;
	}
	return nexthop.hop.link != 0 ? on_hop(&nexthop.hop, collection) : 0;
}

static int ask_nexthop(struct collection *collection, uint32_t id)
{
	struct {
		struct nlmsghdr header;
		struct nhmsg info;
		char attributes[NLMSG_ALIGN(sizeof(struct nlattr) + sizeof(uint32_t))];
	} request = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info)),
		.header.nlmsg_type = RTM_GETNEXTHOP,
	};

	netlink_put(&request.header, NHA_ID, &id, sizeof(id));
	return netlink_ask(collection->netlink, &request.header, on_nexthop, collection);
}

/* A group's members are added behind it while this goes on; groups hold no groups. */
static int ask_nexthops(struct collection *collection)
{
	for (unsigned i = 0; i < collection->pending.count; i++) {
		int r = ask_nexthop(collection, collection->pending.list[i]);

		if (r < 0 && r != -ENOENT) /* gone since */
			return r;
	}
	return 0;
}

static int dump_family(struct collection *collection, int family)
{
	int r = -EINTR;

	/* What is found twice is kept once, so an interrupted dump is simply gone through again. */
	for (unsigned i = 0; i < DUMP_TRIES && r == -EINTR; i++) {
		struct {
			struct nlmsghdr header;
			struct rtmsg info;
		} request = {
			.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info)),
			.header.nlmsg_type = RTM_GETROUTE,
			.header.nlmsg_flags = NLM_F_DUMP,
			.info.rtm_family = (uint8_t)family,
			.info.rtm_type = RTN_UNICAST,
		};

		r = netlink_ask(collection->netlink, &request.header, on_route, collection);
	}
	/* Routes that never stand still: what was seen of them in all these tries is good enough.
	 * A family that this kernel has not has no gateways. */
	return r == -EINTR || r == -EOPNOTSUPP || r == -EAFNOSUPPORT ? 0 : r;
}

int gateways_collect(struct netlink *netlink, struct gateway **ret, unsigned *ret_count)
{
	struct collection collection = {.netlink = netlink};
	int r = dump_family(&collection, AF_INET);

	if (r == 0)
		r = dump_family(&collection, AF_INET6);
	if (r == 0)
		r = ask_nexthops(&collection);
	free(collection.pending.list);
	if (r < 0) {
		free(collection.list);
		return r;
	}
	*ret = collection.list;
	*ret_count = collection.count;
	return 0;
}
