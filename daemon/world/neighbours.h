/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is plugged in at the other end of each link, from whoever listens to LLDP on this host:
 * systemd-networkd's records, and lldpd. Listens to no cable itself, and holds nothing for true
 * longer than it was said to be.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/neighbour.h"

struct neighbours;

/* Something is different: ask neighbours_of() again. */
typedef void (*neighbours_handler_t)(void *userdata);

/* Where to look; NULL: where they are on every host. */
struct neighbours_places {
	const char *folder; /* networkd's */
	const char *socket; /* lldpd's */
};

/* Reads what is there (without a call of `handler`) and follows it. The caller owns *ret. */
int neighbours_new(struct neighbours **ret, sd_event *event, const struct neighbours_places *places,
		   neighbours_handler_t handler, void *userdata);
struct neighbours *neighbours_free(struct neighbours *neighbours);

/* NULL: nothing is known. Valid until the next return to the event loop. */
const struct neighbour *neighbours_of(const struct neighbours *neighbours, int link);

/* Why lldpd is not asked, as lldpd_look() says; 0: it is. */
int neighbours_lldpd_error(const struct neighbours *neighbours);
