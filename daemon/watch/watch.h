/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts in, effects out: the only room that knows all the others.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../face/config.h"
#include "../face/journal.h"

struct watch;

struct watch_options {
	const char *config_path; /* as for config_load(); kept for reloading */
	/* watch these alone, ended by NULL, the caller's; NULL: what is configured and discovered */
	struct config_peer **requests;
	bool on_bus;             /* be on the bus */
	bool quiet;              /* no journal: the caller shows what was found */
};

/* What cannot be opened without CAP_NET_RAW. */
#define WATCH_PROBES "sockets for probes"

/*
 * Takes `config` over, also on error. The caller owns *ret; *ret_failed names what could not be had,
 * and lasts.
 * Errors: what the kernel says of it.
 */
int watch_new(struct watch **ret, sd_event *event, struct config *config,
	      const struct watch_options *options, const char **ret_failed);
struct watch *watch_free(struct watch *watch);

/* Reads the configuration again. On error the running one stays, the journal has been told, and
 * *ret_error (when not NULL) is a malloc'ed text. */
int watch_reload(struct watch *watch, char **ret_error);

const struct roster *watch_roster(const struct watch *watch);

/* Called once when every path has a settled verdict. */
void watch_when_settled(struct watch *watch, void (*settled)(void *userdata), void *userdata);

/* Called after anything that people see may have changed; not more than once a loop. */
void watch_on_change(struct watch *watch, void (*changed)(void *userdata), void *userdata);
