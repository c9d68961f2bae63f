/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every link of this network namespace, kept current over rtnetlink. It believes only the kernel,
 * holds what the kernel says and nothing else, and judges none of it.
 */
#include "links.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "link_message.h"
#include "netlink.h"

/* A table that changes while it is dumped is dumped again, but not for ever. */
#define DUMP_TRIES 16
#define RESYNC_RETRY_USEC (100 * USEC_PER_MSEC)
/* Datagrams in one turn of the event loop: a storm does not keep the probes waiting. */
#define EVENTS_PER_TURN 256

struct table {
	struct link *links; /* in ascending order of index */
	unsigned count;
	unsigned room;
};

struct links {
	struct table table;
	struct netlink events;
	struct netlink requests;
	sd_event_source *source;
	sd_event_source *retry;
	links_handler_t handler;
	void *userdata;
};

/* The position of `index`, or where it belongs. */
static unsigned table_position(const struct table *table, int index)
{
	unsigned low = 0, high = table->count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (table->links[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct link *table_find(const struct table *table, int index)
{
	unsigned position = table_position(table, index);

	if (position == table->count || table->links[position].index != index)
		return NULL;
	return &table->links[position];
}

static int table_insert(struct table *table, const struct link *link)
{
	unsigned position = table_position(table, link->index);

	if (table->count == table->room) {
		unsigned room = table->room == 0 ? 16 : table->room * 2;
		struct link *grown = reallocarray(table->links, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		table->links = grown;
		table->room = room;
	}
	memmove(&table->links[position + 1], &table->links[position],
		(table->count - position) * sizeof(*link));
	table->links[position] = *link;
	table->count++;
	return 0;
}

static void table_remove(struct table *table, struct link *link)
{
	unsigned position = (unsigned)(link - table->links);

	table->count--;
	memmove(link, link + 1, (table->count - position) * sizeof(*link));
}

static void tell(struct links *links, enum link_change change, const struct link *before,
		 const struct link *now)
{
	if (links->handler != NULL)
		links->handler(change, before, now, links->userdata);
}

static void link_gone(struct links *links, int index)
{
	struct link *link = table_find(&links->table, index);
	struct link before;

	if (link == NULL)
		return;
	before = *link;
	table_remove(&links->table, link);
	tell(links, LINK_GONE, &before, NULL);
}

static int link_appeared(struct links *links, const struct link *now)
{
	int r = table_insert(&links->table, now);

	if (r < 0)
		return r;
	tell(links, LINK_APPEARED, NULL, table_find(&links->table, now->index));
	return 0;
}

/* Who gave IPv6 less than the link has: as known before, or `told` where the value is new. */
static void origin_set(const struct link *known, enum ipv6_origin told, struct link *now)
{
	if (now->ipv6_mtu == 0 || now->ipv6_mtu >= now->mtu)
		now->ipv6_origin = IPV6_ORIGIN_UNKNOWN;
	else
		now->ipv6_origin = known->ipv6_mtu == now->ipv6_mtu ? known->ipv6_origin : told;
}

static int link_now(struct links *links, const struct link *told, enum ipv6_origin origin)
{
	struct link *link = table_find(&links->table, told->index);
	struct link before, copy = *told, *now = &copy;

	/* Nothing changes its kind: another link was given the index of one that went. */
	if (link != NULL && strcmp(link->kind, now->kind) != 0) {
		link_gone(links, now->index);
		link = NULL;
	}
	if (link == NULL)
		return link_appeared(links, now);
	origin_set(link, origin, now);
	if (link_equal(link, now))
		return 0;
	before = *link;
	*link = *now;
	tell(links, LINK_CHANGED, &before, link);
	return 0;
}

static int link_ipv6_now(struct links *links, int index, uint32_t ipv6_mtu,
			 enum ipv6_origin origin)
{
	const struct link *link = table_find(&links->table, index);
	struct link now;

	if (link == NULL)
		return 0;
	now = *link;
	now.ipv6_mtu = ipv6_mtu;
	return link_now(links, &now, origin);
}

struct link_request {
	struct nlmsghdr header;
	struct ifinfomsg info;
	char attributes[NLMSG_ALIGN(sizeof(struct nlattr) + sizeof(uint32_t))];
};

static int ask(struct links *links, int index, netlink_handler_t handler, void *userdata)
{
	/* counters are half of a message and not looked at */
	uint32_t skip = RTEXT_FILTER_SKIP_STATS;
	struct link_request request = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info)),
		.header.nlmsg_type = RTM_GETLINK,
		.header.nlmsg_flags = index == 0 ? NLM_F_DUMP : 0,
		.info.ifi_index = index,
	};

	netlink_put(&request.header, IFLA_EXT_MASK, &skip, sizeof(skip));
	return netlink_ask(&links->requests, &request.header, handler, userdata);
}

static int on_one(struct nlmsghdr *message, void *userdata)
{
	struct link *ret = userdata, link;

	if (link_message_parse(message, &link) == LINK_MESSAGE_LINK)
		*ret = link;
	return 0;
}

/* False when the link is not there any more. */
static bool ask_ipv6_mtu(struct links *links, int index, uint32_t *ret)
{
	struct link now = {0};

	if (ask(links, index, on_one, &now) < 0 || now.index != index)
		return false;
	*ret = now.ipv6_mtu;
	return true;
}

/*
 * A new device MTU is told before IPv6 has heard of it and made it its own, so what such a message
 * says of IPv6 is of a moment ago, and no message follows.
 */
static int link_told(struct links *links, struct link *now)
{
	const struct link *before = table_find(&links->table, now->index);

	if (before != NULL && before->mtu != now->mtu && now->ipv6_mtu != now->mtu)
		(void)ask_ipv6_mtu(links, now->index, &now->ipv6_mtu);
	return link_now(links, now, IPV6_ORIGIN_SYSCTL);
}

static int on_event(struct nlmsghdr *message, void *userdata)
{
	struct links *links = userdata;
	struct link link;

	switch (link_message_parse(message, &link)) {
	case LINK_MESSAGE_NONE:
		return 0;
	case LINK_MESSAGE_LINK:
		return link_told(links, &link);
	case LINK_MESSAGE_IPV6:
		/* a sysctl is told to nobody */
		return link_ipv6_now(links, link.index, link.ipv6_mtu, IPV6_ORIGIN_ROUTER);
	case LINK_MESSAGE_GONE:
		link_gone(links, link.index);
		return 0;
	}
	return 0;
}

static int on_dumped(struct nlmsghdr *message, void *userdata)
{
	struct table *table = userdata;
	struct link link, *known;

	if (link_message_parse(message, &link) != LINK_MESSAGE_LINK)
		return 0;
	known = table_find(table, link.index);
	if (known == NULL)
		return table_insert(table, &link);
	*known = link;
	return 0;
}

static int dump(struct links *links, struct table *ret)
{
	struct table table = {0};
	int r = -EINTR;

	for (unsigned i = 0; i < DUMP_TRIES && r == -EINTR; i++) {
		table.count = 0;
		r = ask(links, 0, on_dumped, &table);
	}
	if (r < 0) {
		free(table.links);
		return r;
	}
	*ret = table;
	return 0;
}

/* Another kind under the same index is another link. */
static bool still_there(const struct table *table, const struct link *link)
{
	const struct link *now = table_find(table, link->index);

	return now != NULL && strcmp(now->kind, link->kind) == 0;
}

/* What is gone is told first, so that no two links ever seem to have one name. */
static int tell_differences(struct links *links, const struct table *now)
{
	int r = 0;

	for (unsigned i = links->table.count; i-- > 0;) {
		if (!still_there(now, &links->table.links[i]))
			link_gone(links, links->table.links[i].index);
	}
	for (unsigned i = 0; i < now->count && r == 0; i++)
		r = link_now(links, &now->links[i], IPV6_ORIGIN_UNKNOWN);
	return r;
}

static int resync(struct links *links)
{
	struct table now;
	int r;

	/* what survived an overrun are the oldest messages: they would tell of times long gone */
	netlink_discard(&links->events);
	r = dump(links, &now);
	if (r < 0)
		return r;
	r = tell_differences(links, &now);
	free(now.links);
	return r;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata);

static int resync_or_retry(struct links *links)
{
	if (resync(links) == 0)
		return 0;
	/* out of memory or links coming and going too fast: the table is stale until it works */
	links->retry = sd_event_source_disable_unref(links->retry);
	return sd_event_add_time_relative(sd_event_source_get_event(links->source), &links->retry,
					  CLOCK_MONOTONIC, RESYNC_RETRY_USEC, 0, on_retry, links);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	return resync_or_retry(userdata);
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct links *links = userdata;

	for (unsigned i = 0; i < EVENTS_PER_TURN; i++) {
		int r = netlink_receive(&links->events, on_event, links);

		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return resync_or_retry(links);
	}
	return 0;
}

static int watch_events(struct links *links, sd_event *event)
{
	/* an IPv6 MTU that a router advertised is told in the second group only */
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV6_IFINFO, 0};
	int r = netlink_open(&links->events, groups);

	if (r < 0)
		return r;
	return sd_event_add_io(event, &links->source, links->events.fd, EPOLLIN, on_readable,
			       links);
}

int links_new(struct links **ret, sd_event *event, links_handler_t handler, void *userdata)
{
	struct links *links = calloc(1, sizeof(*links));
	int r;

	if (links == NULL)
		return -ENOMEM;
	links->handler = handler;
	links->userdata = userdata;
	/* first listen, then ask: nothing falls between the two */
	r = event != NULL ? watch_events(links, event) : 0;
	if (r >= 0)
		r = netlink_open(&links->requests, NULL);
	if (r >= 0)
		r = dump(links, &links->table);
	if (r < 0) {
		links_free(links);
		return r;
	}
	*ret = links;
	return 0;
}

struct links *links_free(struct links *links)
{
	if (links == NULL)
		return NULL;
	sd_event_source_disable_unref(links->retry);
	sd_event_source_disable_unref(links->source);
	netlink_close(&links->requests);
	netlink_close(&links->events);
	free(links->table.links);
	free(links);
	return NULL;
}

const struct link *links_by_index(const struct links *links, int index)
{
	return table_find(&links->table, index);
}

const struct link *links_by_name(const struct links *links, const char *name)
{
	for (unsigned i = 0; i < links->table.count; i++)
		if (strcmp(links->table.links[i].name, name) == 0)
			return &links->table.links[i];
	return NULL;
}

const struct link *links_by_zone(const struct links *links, const char *zone)
{
	const struct link *link = links_by_name(links, zone);
	unsigned long index;
	char *end;

	/* a name may begin with digits: while that link is gone no other is meant */
	if (link || zone[0] < '0' || zone[0] > '9')
		return link;
	index = strtoul(zone, &end, 10);
	return *end == '\0' && index <= INT_MAX ? links_by_index(links, (int)index) : NULL;
}

unsigned links_count(const struct links *links)
{
	return links->table.count;
}

const struct link *links_at(const struct links *links, unsigned position)
{
	return position < links->table.count ? &links->table.links[position] : NULL;
}

void links_refresh_ipv6_mtu(struct links *links, int index)
{
	uint32_t ipv6_mtu;

	/* Only the IPv6 MTU is taken: the rest is told in its order by the event socket, and a
	 * value from ahead of the events still waiting there would seem to change twice. */
	if (ask_ipv6_mtu(links, index, &ipv6_mtu))
		(void)link_ipv6_now(links, index, ipv6_mtu, IPV6_ORIGIN_SYSCTL);
}
