/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel's view of links and routes means for a path: whether it can be probed at all,
 * what is expected of it, and how much this host can send.
 */
#include "path.h"

#include <string.h>

static uint32_t link_capacity(const struct path *path, const struct link *link)
{
	uint32_t capacity = link->mtu;

	if (path->address.family == ADDRESS_IPV6 && link->ipv6_mtu && link->ipv6_mtu < capacity)
		capacity = link->ipv6_mtu;
	return capacity < SIZE_LARGEST ? capacity : SIZE_LARGEST;
}

static enum reason facts_trouble(const struct path *path, const struct surroundings *around)
{
	bool wanted = path->wanted_link[0] != '\0';

	if (path->address.family == ADDRESS_NONE)
		return REASON_NO_ADDRESS;
	if (around->route->local)
		return REASON_OWN_ADDRESS;
	if (around->route->broadcast)
		return REASON_BROADCAST;
	if (around->route->multicast)
		return REASON_MULTICAST;
	if (wanted && !around->wanted)
		return REASON_NO_LINK;
	if (wanted && (!around->wanted->up || !around->wanted->carrier))
		return REASON_LINK_DOWN;
	if (around->route->error)
		return REASON_NO_ROUTE;
	if (!around->link)
		return REASON_NO_LINK;
	if (!around->link->up || !around->link->carrier)
		return REASON_LINK_DOWN;
	return REASON_NONE;
}

static void facts_sizes(const struct path *path, const struct surroundings *around,
			struct path_facts *facts)
{
	uint32_t link = link_capacity(path, around->link);
	uint32_t route = around->route->mtu;
	uint32_t asked = path->settings->expect_mtu;

	if (asked == 0)
		asked = around->link_expected;
	facts->capacity = route && route < link ? route : link;
	facts->expect_configured = asked != 0;
	facts->expected = asked;
	if (asked == 0)
		facts->expected = around->wrong_link ? link_capacity(path, around->wanted) :
						       facts->capacity;
	if (facts->link_clamped && asked == 0 && !around->wrong_link)
		facts->expected = around->clamped_from;
	if (around->wrong_link)
		facts->narrow = REASON_WRONG_LINK;
	/* our own doing, for the fault that is announced */
	else if (facts->link_clamped && facts->expected <= around->clamped_from)
		facts->narrow = REASON_NONE;
	else if (facts->expected > link)
		facts->narrow = REASON_LINK_SMALLER;
	else if (facts->expected > facts->capacity)
		facts->narrow = REASON_ROUTE_SMALLER;
}

static bool facts_differ(const struct path_facts *a, const struct path_facts *b)
{
	return a->trouble != b->trouble || a->narrow != b->narrow || a->expected != b->expected ||
	       a->capacity != b->capacity;
}

static bool route_differs(const struct route *a, const struct route *b)
{
	return a->link != b->link || a->error != b->error ||
	       !address_equal(&a->source, &b->source) || !address_equal(&a->gateway, &b->gateway);
}

bool path_on_surroundings(struct path *path, const struct surroundings *around)
{
	struct path_facts facts = {
		.trouble = facts_trouble(path, around),
		.discovered = path->discovered,
		.gateway = path->gateway,
		.ever_answered = path->facts.ever_answered,
		.whole_back = path->facts.whole_back,
		.on_link = around->route->gateway.family == ADDRESS_NONE,
		.ipv6 = path->address.family == ADDRESS_IPV6,
	};
	uint32_t link_mtu = around->link ? around->link->mtu : 0;
	bool differs;

	if (facts.trouble == REASON_NONE) {
		facts.link_clamped = around->clamped_from != 0;
		facts.clamp_mtu = around->route->clamp_mtu;
		if (facts.link_clamped && (!facts.clamp_mtu || around->link->mtu < facts.clamp_mtu))
			facts.clamp_mtu = around->link->mtu;
		facts_sizes(path, around, &facts);
		facts.kernel_mtu = around->route->kernel_mtu ? around->route->kernel_mtu :
							      facts.capacity;
	}
	differs = facts_differ(&path->facts, &facts) || route_differs(&path->route, around->route) ||
		  link_mtu != path->link_mtu;
	path->facts = facts;
	path->route = *around->route;
	path->link_mtu = link_mtu;
	memset(path->link_name, 0, sizeof(path->link_name));
	if (around->link)
		memcpy(path->link_name, around->link->name, sizeof(path->link_name));
	return differs;
}
