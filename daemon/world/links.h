/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every link of this network namespace, kept current over rtnetlink. One table, by index.
 * After an overrun the kernel is asked for everything again at once and each difference is
 * told like an ordinary change.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/facts.h"

struct links;

enum link_change {
	LINK_APPEARED,
	LINK_CHANGED, /* mtu, ipv6_mtu, carrier, up, name, parent, master ... differ */
	LINK_GONE,
};

/*
 * `before` is NULL for LINK_APPEARED, `now` is NULL for LINK_GONE. Both are valid only during
 * the call. A link replaced under the same name is LINK_GONE and LINK_APPEARED.
 */
typedef void (*links_handler_t)(enum link_change change, const struct link *before,
				const struct link *now, void *userdata);

/*
 * Reads all links (no calls of `handler` for these) and watches from then on. The caller owns
 * *ret. `event` may be NULL: then nothing is watched (for --once style use).
 * Errors: as the netlink socket gives them.
 */
int links_new(struct links **ret, sd_event *event, links_handler_t handler, void *userdata);
struct links *links_free(struct links *links);

/* NULL when there is none. Valid until the next return to the event loop. */
const struct link *links_by_index(const struct links *links, int index);
const struct link *links_by_name(const struct links *links, const char *name);
/* RFC 4007 section 11.2: a zone is a link's name, or its index in digits. */
const struct link *links_by_zone(const struct links *links, const char *zone);

/* In ascending order of index: position 0 .. links_count()-1. */
unsigned links_count(const struct links *links);
const struct link *links_at(const struct links *links, unsigned position);

/* IPv6 MTUs written by sysctl are in no netlink group: reads that of one link again and tells
 * the handler when it differs. Cheap; called before a round over IPv6. */
void links_refresh_ipv6_mtu(struct links *links, int index);
