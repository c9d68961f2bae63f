/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which link leads to an address, asked of the kernel each time: a host may carry a million
 * routes, so no table is kept. Changes of routes, rules and addresses are told as hints.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/facts.h"

struct routes;

/*
 * Something changed that may lead packets elsewhere: for destinations inside prefix/length, or
 * for all of them when prefix->family is ADDRESS_NONE (rules, addresses, nexthops, an overrun).
 * Only a hint; storms are passed on as they come, the receiver debounces.
 */
typedef void (*routes_handler_t)(const struct address *prefix, unsigned length, void *userdata);

/* The caller owns *ret. `event` may be NULL: then nothing is watched. */
int routes_new(struct routes **ret, sd_event *event, routes_handler_t handler, void *userdata);
struct routes *routes_free(struct routes *routes);

/* Changes that this netlink port makes are no news: they are our own. */
void routes_ignore(struct routes *routes, uint32_t port);

/*
 * Asks the kernel how it would send to `to`, from `from` (NULL or ADDRESS_NONE: its choice) and
 * out of `link` (0: its choice). No route is not an error of this call: ret->error tells.
 * A link-local `to` is asked with its zone as the link.
 */
int routes_ask(struct routes *routes, const struct address *to, const struct address *from,
	       int link, struct route *ret);

/*
 * Whether some route leads to `to` out of `link`. routes_ask() with a link does not tell: without
 * one the kernel takes the address to be on that link.
 */
bool routes_lead(struct routes *routes, const struct address *to, const struct address *from,
		 int link);

/* The link that has `address` as its own; 0 none. */
int routes_owner(struct routes *routes, const struct address *address);

/*
 * Every next hop of every default route (IPv4 and IPv6, all tables but local, multipath and
 * nexthop objects included; blackhole, loopback and down ones left out), each once, as a
 * malloc'ed array that the caller frees. A link-local gateway has its zone set.
 * `ret_links[i]` is the link of `ret_gateways[i]`.
 */
struct gateway {
	struct address address;
	int link;
};
int routes_gateways(struct routes *routes, struct gateway **ret, unsigned *ret_count);
