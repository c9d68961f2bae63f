/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All who ask the kernel, over netlink and by ethtool's ioctls, and one that answers anything at all:
 * whatever it says ends, is within bounds, and leaves tables and lists in order.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../daemon/world/clamps.h"
#include "../../daemon/world/connections.h"
#include "../../daemon/world/link_clamps.h"
#include "../../daemon/world/links.h"
#include "../../daemon/world/receive.h"
#include "../../daemon/world/routes.h"
#include "../../daemon/world/storage_sources.h"
#include "kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_clamp_record_write(const char *folder, const struct stack *stack);
int __wrap_clamp_record_remove(const char *folder, int index);
int __wrap_clamp_records_read(const char *folder, void *handler, void *userdata);

#define TURNS 64

static const struct address somebody[] = {
	{.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 9}},
	{.family = ADDRESS_IPV6, .bytes = {0x20, 1, 0xd, 0xb8}},
	{.family = ADDRESS_IPV6, .bytes = {0xfe, 0x80, [15] = 1}, .zone = 3},
};

/* What it keeps on disk is another harness's matter. */
int __wrap_clamp_record_write(const char *folder, const struct stack *stack)
{
	return stack->count > 0 ? 0 : -EIO;
}

int __wrap_clamp_record_remove(const char *folder, int index)
{
	return 0;
}

int __wrap_clamp_records_read(const char *folder, void *handler, void *userdata)
{
	return 0;
}

static void turn(sd_event *event)
{
	for (unsigned i = 0; i < TURNS && !kernel_is_done(); i++)
		if (sd_event_run(event, 0) < 0)
			abort();
}

static void expect_link(const struct link *link)
{
	if (link->index <= 0 || !link->name[0] || !memchr(link->name, '\0', LINK_NAME_SIZE))
		abort();
}

static void on_link(enum link_change change, const struct link *before, const struct link *now,
		    void *userdata)
{
	if ((before == NULL) != (change == LINK_APPEARED) || (now == NULL) != (change == LINK_GONE))
		abort();
	expect_link(before ? before : now);
}

static void ask_links(sd_event *event)
{
	struct links *links;

	if (links_new(&links, event, on_link, NULL) < 0)
		return;
	turn(event);
	links_refresh_ipv6_mtu(links, 3);
	for (unsigned i = 0; i < links_count(links); i++) {
		expect_link(links_at(links, i));
		if (i > 0 && links_at(links, i - 1)->index >= links_at(links, i)->index)
			abort();
	}
	links_free(links);
}

static void on_route(const struct address *prefix, unsigned length, void *userdata)
{
	if (length > (prefix->family == ADDRESS_IPV4 ? 32 : 128))
		abort();
}

static void ask_routes(sd_event *event)
{
	struct gateway *gateways = NULL;
	struct routes *routes;
	struct route route;
	unsigned count = 0;

	if (routes_new(&routes, event, on_route, NULL) < 0)
		return;
	for (unsigned i = 0; i < 3; i++) {
		if (routes_ask(routes, &somebody[i], i == 0 ? &somebody[0] : NULL, 0, &route) >= 0 &&
		    route.clamp_mtu && route.mtu)
			abort();
		routes_lead(routes, &somebody[i], NULL, 3);
	}
	routes_owner(routes, &somebody[0]);
	if (routes_gateways(routes, &gateways, &count) >= 0)
		for (unsigned i = 0; i < count; i++)
			if (gateways[i].address.family == ADDRESS_NONE)
				abort();
	free(gateways);
	turn(event);
	routes_free(routes);
}

static void ask_clamps(sd_event *event)
{
	struct clamps *clamps;

	if (clamps_new(&clamps) < 0)
		return;
	for (unsigned i = 0; i < 3; i++) {
		const struct clamp_way way = {.to = &somebody[i], .link = i == 1 ? 3 : 0};

		if (clamps_put(clamps, &way, 1500) >= 0 && !clamps_find(clamps, &somebody[i]))
			abort();
		clamps_hold(clamps, &somebody[i]);
		clamps_refresh(clamps, &way);
	}
	clamps_take_off(clamps, &somebody[1]);
	for (unsigned i = 0; i < clamps_count(clamps); i++)
		if (clamps_at(clamps, i)->to.family == ADDRESS_NONE)
			abort();
	clamps_free(clamps);
}

static void ask_link_clamps(sd_event *event)
{
	const struct stack stack = {2, {{3, "eth1", 9000, 1500}, {4, "vlan7", 9000, 1500}}};
	struct link_clamps *clamps;

	if (link_clamps_new(&clamps, "/nowhere") < 0)
		return;
	/* what could not be put back is kept, to be tried again */
	if (link_clamps_put(clamps, &stack) >= 0 && !link_clamps_find(clamps, 3))
		abort();
	link_clamps_try(clamps, 3, true);
	link_clamps_try(clamps, 3, false);
	if (link_clamps_lift(clamps, 3) >= 0 && link_clamps_find(clamps, 3))
		abort();
	link_clamps_free(clamps);
}

static void on_connection(const struct connection *connection, void *userdata)
{
	if (connection->mss == 0 || connection->mss > SIZE_LARGEST)
		abort();
}

static void on_done(int error, uint64_t cost_usec, void *userdata)
{
	if (error > 0)
		abort();
	++*(unsigned *)userdata;
}

static void ask_connections(sd_event *event)
{
	const struct connections_handlers handlers = {on_connection, on_done};
	struct connections *connections;
	unsigned done = 0;

	if (connections_new(&connections, NULL, &handlers, &done) < 0)
		return;
	for (unsigned i = 1; i <= 3; i++)
		if (connections_look(connections, somebody, 3) >= 0 && done != i)
			abort();
	connections_free(connections);
}

static void ask_counters(sd_event *event)
{
	const struct link link = {.index = 3, .name = "eth1", .mtu = 1500};
	struct counters_reading reading;
	struct receive_source source;
	struct receive *receive;

	if (receive_new(&receive) < 0)
		return;
	receive_open(receive, &link, &source);
	if (source.count == 0 || source.count > COUNTERS_LARGEST ||
	    (source.total > 0 && source.position >= source.total))
		abort();
	if (receive_read(receive, &link, &source, &reading) >= 0 && reading.count != source.count)
		abort();
	receive_free(receive);
}

static void ask_storage(sd_event *event)
{
	struct storage_list list = {0};

	sockets_collect(&list);
	for (unsigned i = 0; i < list.count; i++)
		if (list.list[i].address.family == ADDRESS_NONE ||
		    !memchr(list.list[i].link, '\0', sizeof(list.list[i].link)))
			abort();
	storage_list_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const askers[])(sd_event *event) = {
		ask_links,	 ask_routes,   ask_clamps,  ask_link_clamps,
		ask_connections, ask_counters, ask_storage,
	};
	sd_event *event = NULL;

	if (sd_event_new(&event) < 0)
		return 0;
	kernel_begin(data, size);
	askers[bytes_u8(kernel_bytes()) % (sizeof(askers) / sizeof(askers[0]))](event);
	sd_event_unref(event);
	return 0;
}
