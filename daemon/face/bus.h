/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * org.mtuwatch1 on the system bus (INTERFACE 4). Reads the roster, hands requests to its owner.
 * Without a bus it waits for one to come and tries again; the daemon works on meanwhile.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/roster.h"
#include "config.h"
#include "journal.h"

struct bus;
struct bus_check; /* one caller that waits */

struct bus_handlers {
	/*
	 * A fresh round on every path of this peer is wanted (NULL: of all peers). The handler calls
	 * bus_check_done() once, at any time from within this call on.
	 */
	void (*check)(struct bus_check *check, struct peer *peer, void *userdata);
	/*
	 * The paths of `request`, which is not a peer of the roster, are to be measured once. 0: the
	 * handler calls bus_check_done_peer() later. -EBUSY: too many are under way; -EADDRINUSE:
	 * the address is this host's own; -EADDRNOTAVAIL: it is a broadcast address; -ENODEV: the link that is asked for is not there; other
	 * errors as they are. `request` stays the caller's.
	 */
	int (*probe)(struct bus_check *check, const struct config_peer *request, void *userdata);
	/* The caller went away or the bus did: forget `check`. */
	void (*check_gone)(struct bus_check *check, void *userdata);
	/* Read the configuration again. On error *ret_error is a malloc'ed text. */
	int (*reload)(char **ret_error, void *userdata);
	/* Take the clamps of this peer, by this link, or with "" all, off. -ENOENT: there is neither. */
	int (*release)(const char *name, void *userdata);
};

/* `roster` must outlive the bus; `journal`'s level is what LogControl1 changes. */
int bus_new(struct bus **ret, sd_event *event, const struct roster *roster, struct journal *journal,
	    const struct bus_handlers *handlers, void *userdata);
struct bus *bus_free(struct bus *bus);

/* Answers the caller from the roster as it is now. Frees `check`. */
void bus_check_done(struct bus_check *check);
/* Answers with this peer, whether the roster has it or not. Frees `check`. */
void bus_check_done_peer(struct bus_check *check, const struct peer *peer);

/* Tell whoever listens, soon: what is said of peers waits until the bus has room for it. All are
 * cheap when nobody can hear; bus NULL: nobody ever can. */
void bus_verdict_changed(struct bus *bus, struct peer *peer, const struct path *path,
			 const struct judgement *before);
void bus_peer_changed(struct bus *bus, struct peer *peer);  /* PropertiesChanged */
void bus_peer_added(struct bus *bus, struct peer *peer);    /* InterfacesAdded */
void bus_peer_removed(struct bus *bus, struct peer *peer);  /* before its memory goes */
void bus_link_changed(struct bus *bus, const struct link_state *state);
void bus_link_added(struct bus *bus, const struct link_state *state);
void bus_link_removed(struct bus *bus, int index);
void bus_totals_changed(struct bus *bus); /* the Manager's own properties */
