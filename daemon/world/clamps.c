/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts, renews and removes our host routes. Asks the kernel before each step and after each that
 * failed; keeps a list only so that the kernel need not be asked for all its routes.
 */
#include "clamps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/socket.h>

#include "netlink.h"

#define DUMP_TRIES 16

union message {
	struct nlmsghdr header;
	char bytes[CLAMP_MESSAGE_SIZE];
};

struct clamp_route {
	struct clamp_entry entry;
	union message request; /* that made it, or would */
};

struct clamps {
	struct netlink netlink;
	struct clamp_route **routes;
	unsigned count;
	unsigned room;
};

/* --- the list --- */

static struct clamp_route *route_find(const struct clamps *clamps, const struct address *to)
{
	for (unsigned i = 0; i < clamps->count; i++)
		if (address_equal(&clamps->routes[i]->entry.to, to))
			return clamps->routes[i];
	return NULL;
}

static int route_add(struct clamps *clamps, struct clamp_route *route)
{
	if (clamps->count == clamps->room) {
		unsigned room = clamps->room == 0 ? 8 : 2 * clamps->room;
		struct clamp_route **grown = reallocarray(clamps->routes, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		clamps->routes = grown;
		clamps->room = room;
	}
	clamps->routes[clamps->count++] = route;
	return 0;
}

static void route_forget(struct clamps *clamps, struct clamp_route *route)
{
	for (unsigned i = 0; i < clamps->count; i++)
		if (clamps->routes[i] == route)
			clamps->routes[i] = clamps->routes[--clamps->count];
	free(route);
}

/* --- asking --- */

struct lookup {
	struct nlmsghdr header;
	struct rtmsg info;
	char attributes[2 * NLMSG_ALIGN(sizeof(struct nlattr) + 16) +
			NLMSG_ALIGN(sizeof(struct nlattr) + sizeof(uint32_t))];
};

static void put_address(struct nlmsghdr *request, uint16_t type, const struct address *address)
{
	netlink_put(request, type, address->bytes, address->family == ADDRESS_IPV4 ? 4 : 16);
}

static void lookup_fill(struct lookup *lookup, const struct clamp_way *way, int link)
{
	uint8_t bits = way->to->family == ADDRESS_IPV4 ? 32 : 128;

	memset(lookup, 0, sizeof(*lookup));
	lookup->header.nlmsg_len = NLMSG_LENGTH(sizeof(lookup->info));
	lookup->header.nlmsg_type = RTM_GETROUTE;
	lookup->info.rtm_family = way->to->family == ADDRESS_IPV4 ? AF_INET : AF_INET6;
	lookup->info.rtm_dst_len = bits;
	lookup->info.rtm_flags = RTM_F_FIB_MATCH;
	/* otherwise IPv4 calls every table the main one; IPv6 does not, and takes no such flag */
	if (way->to->family == ADDRESS_IPV4)
		lookup->info.rtm_flags |= RTM_F_LOOKUP_TABLE;
	put_address(&lookup->header, RTA_DST, way->to);
	if (way->from != NULL && way->from->family == way->to->family) {
		lookup->info.rtm_src_len = bits;
		put_address(&lookup->header, RTA_SRC, way->from);
	}
	if (link != 0)
		netlink_put(&lookup->header, RTA_OIF, &link, sizeof(link));
}

static int on_match(struct nlmsghdr *message, void *userdata)
{
	union message *match = userdata;

	if (message->nlmsg_len > sizeof(*match))
		return -EMSGSIZE;
	memcpy(match, message, message->nlmsg_len);
	return 0;
}

/* The table's entry that packets of this way meet. */
static int match_ask(struct clamps *clamps, const struct clamp_way *way, int link,
		     union message *ret)
{
	struct lookup lookup;

	lookup_fill(&lookup, way, link);
	return netlink_ask(&clamps->netlink, &lookup.header, on_match, ret);
}

static int way_link(const struct clamp_way *way)
{
	return way->link == 0 && address_is_link_local(way->to) ? way->to->zone : way->link;
}

static uint32_t match_table(union message *match)
{
	const struct rtmsg *info = NLMSG_DATA(&match->header);
	struct nlattr *table = nlmsg_find_attr(&match->header, sizeof(*info), RTA_TABLE);

	return table != NULL && nla_len(table) >= 4 ? nla_get_u32(table) : info->rtm_table;
}

/*
 * A host route in a table that other packets to the peer look in too would draw them to the bound
 * link. Where they look in another table (VRF, policy routing by link) it concerns the bound ones
 * alone.
 */
static int bound_objection(struct clamps *clamps, const struct clamp_way *way, union message *bound)
{
	union message unbound;
	int r;

	if (way->link == 0)
		return 0;
	r = match_ask(clamps, way, 0, &unbound);
	if (r == -ENETUNREACH || r == -EHOSTUNREACH)
		return 0;
	if (r < 0)
		return r;
	return match_table(&unbound) == match_table(bound) ? -EXDEV : 0;
}

static int route_prepare(struct clamps *clamps, const struct clamp_way *way, uint32_t mtu,
			 struct clamp_route *ret)
{
	const struct clamp_want want = {.to = *way->to, .mtu = mtu};
	union message match;
	int r = match_ask(clamps, way, way_link(way), &match);

	if (r >= 0)
		r = clamp_message_build(&match.header, &want, &ret->request.header,
					sizeof(ret->request));
	if (r >= 0)
		r = bound_objection(clamps, way, &match);
	/* read back as the kernel will show it: a route that is not to this address could not be taken off */
	if (r >= 0 && (!clamp_message_parse(&ret->request.header, &ret->entry) ||
		       !address_equal(&ret->entry.to, way->to)))
		r = -EBADMSG;
	return r;
}

/* --- changing --- */

static int on_nothing(struct nlmsghdr *message, void *userdata)
{
	return 0;
}

/* The request is sent as a copy: what sending fills in is not ours. */
static int request_do(struct clamps *clamps, const union message *request)
{
	union message copy;

	memcpy(&copy, request, request->header.nlmsg_len);
	return netlink_ask(&clamps->netlink, &copy.header, on_nothing, NULL);
}

/* 0: it is not there any more; it may have been gone before. */
static int route_undo(struct clamps *clamps, struct clamp_route *route)
{
	union message undo;
	int r = clamp_message_undo(&route->request.header, &undo.header, sizeof(undo));

	if (r >= 0)
		r = request_do(clamps, &undo);
	return r;
}

static bool error_is_gone(int error)
{
	return error == -ESRCH || error == -ENOENT || error == -ENODEV;
}

/* What was asked for may have been done though the answer got lost. */
static int route_make(struct clamps *clamps, struct clamp_route *route)
{
	int r = route_add(clamps, route), undone;

	if (r < 0) {
		free(route);
		return r;
	}
	r = request_do(clamps, &route->request);
	if (r >= 0)
		return 0;
	/* the kernel's own word that it did nothing */
	if (r == -EEXIST || r == -EPERM || r == -EINVAL) {
		route_forget(clamps, route);
		return r;
	}
	undone = route_undo(clamps, route);
	if (undone >= 0 || error_is_gone(undone))
		route_forget(clamps, route);
	return r;
}

int clamps_put(struct clamps *clamps, const struct clamp_way *way, uint32_t mtu)
{
	struct clamp_route *route;
	int r = clamps_take_off(clamps, way->to);

	if (r < 0 && r != -ENOENT)
		return r;
	route = calloc(1, sizeof(*route));
	if (route == NULL)
		return -ENOMEM;
	r = route_prepare(clamps, way, mtu, route);
	if (r < 0) {
		free(route);
		return r;
	}
	return route_make(clamps, route);
}

int clamps_take_off(struct clamps *clamps, const struct address *to)
{
	struct clamp_route *route = route_find(clamps, to);
	int r;

	if (route == NULL)
		return -ENOENT;
	r = route_undo(clamps, route);
	if (r < 0 && !error_is_gone(r))
		return r;
	route_forget(clamps, route);
	return r < 0 ? -ENOENT : 0;
}

int clamps_refresh(struct clamps *clamps, const struct clamp_way *way)
{
	const struct clamp_route *route = route_find(clamps, way->to);

	/* what lies under our route shows only without it; the next packet may be a large one, and
	 * is sent again */
	return route == NULL ? -ENOENT : clamps_put(clamps, way, route->entry.mtu);
}

/* --- what is there --- */

struct presence {
	const struct clamp_entry *entry;
	bool found;
};

static int on_present(struct nlmsghdr *message, void *userdata)
{
	struct presence *presence = userdata;
	struct clamp_entry entry;

	presence->found |= clamp_message_parse(message, &entry) &&
			   address_equal(&entry.to, &presence->entry->to) &&
			   entry.table == presence->entry->table;
	return 0;
}

/* All routes of ours, of one family, and of one table unless that is 0. */
static int dump(struct clamps *clamps, uint8_t family, uint32_t table, netlink_handler_t handler,
		void *userdata)
{
	struct lookup request;
	int r = -EINTR;

	for (unsigned i = 0; i < DUMP_TRIES && r == -EINTR; i++) {
		memset(&request, 0, sizeof(request));
		request.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info));
		request.header.nlmsg_type = RTM_GETROUTE;
		request.header.nlmsg_flags = NLM_F_DUMP;
		request.info.rtm_family = family;
		request.info.rtm_protocol = CLAMP_PROTOCOL;
		if (table != 0)
			netlink_put(&request.header, RTA_TABLE, &table, sizeof(table));
		r = netlink_ask(&clamps->netlink, &request.header, handler, userdata);
	}
	return r;
}

bool clamps_hold(struct clamps *clamps, const struct address *to)
{
	struct clamp_route *route = route_find(clamps, to);
	struct presence presence;
	int r;

	if (route == NULL)
		return false;
	presence = (struct presence){.entry = &route->entry};
	r = dump(clamps, to->family == ADDRESS_IPV4 ? AF_INET : AF_INET6, route->entry.table,
		 on_present, &presence);
	/* the kernel knows no such table any more */
	if (r < 0 && r != -ENOENT)
		return true;
	if (!presence.found)
		route_forget(clamps, route);
	return presence.found;
}

/* A route that is there in the form of a request that would make it. */
static int on_adopted(struct nlmsghdr *message, void *userdata)
{
	struct clamps *clamps = userdata;
	struct clamp_entry entry;
	struct clamp_route *route;
	int r;

	if (!clamp_message_parse(message, &entry) || route_find(clamps, &entry.to) != NULL)
		return 0;
	if (message->nlmsg_len > sizeof(route->request))
		return 0;
	route = calloc(1, sizeof(*route));
	if (route == NULL)
		return -ENOMEM;
	route->entry = entry;
	memcpy(&route->request, message, message->nlmsg_len);
	r = route_add(clamps, route);
	if (r < 0)
		free(route);
	return r;
}

static int adopt(struct clamps *clamps)
{
	int r = dump(clamps, AF_INET, 0, on_adopted, clamps);
	/* a kernel without IPv6 has none of its routes */
	int s = dump(clamps, AF_INET6, 0, on_adopted, clamps);

	return r < 0 ? r : s == -EOPNOTSUPP || s == -EAFNOSUPPORT ? 0 : s;
}

int clamps_new(struct clamps **ret)
{
	struct clamps *clamps = calloc(1, sizeof(*clamps));
	int r;

	if (clamps == NULL)
		return -ENOMEM;
	r = netlink_open(&clamps->netlink, NULL);
	if (r >= 0)
		r = adopt(clamps);
	if (r < 0) {
		clamps_free(clamps);
		return r;
	}
	*ret = clamps;
	return 0;
}

struct clamps *clamps_free(struct clamps *clamps)
{
	if (clamps == NULL)
		return NULL;
	for (unsigned i = 0; i < clamps->count; i++)
		free(clamps->routes[i]);
	free(clamps->routes);
	netlink_close(&clamps->netlink);
	free(clamps);
	return NULL;
}

unsigned clamps_count(const struct clamps *clamps)
{
	return clamps->count;
}

const struct clamp_entry *clamps_at(const struct clamps *clamps, unsigned position)
{
	return position < clamps->count ? &clamps->routes[position]->entry : NULL;
}

const struct clamp_entry *clamps_find(const struct clamps *clamps, const struct address *to)
{
	const struct clamp_route *route = route_find(clamps, to);

	return route ? &route->entry : NULL;
}

uint32_t clamps_port(const struct clamps *clamps)
{
	return nl_socket_get_local_port(clamps->netlink.socket);
}
