/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon, as seen from here: calls over the bus, and why one failed in words for people.
 */
#pragma once

#include "command.h"
#include "document.h"
#include "progress.h"

#define BUS_NAME "org.mtuwatch1"
#define BUS_ROOT "/org/mtuwatch1"
#define BUS_MANAGER BUS_NAME ".Manager"

struct remote {
	sd_bus *bus;
	struct progress progress;
	bool at_other_host;
	bool may_ask;		/* for a password; once */
	pid_t agent;		/* that does; 0 none */
	bool answered;		/* something was, once */
	uint64_t deadline_usec; /* CLOCK_MONOTONIC; no check takes longer; 0: none */

	/* why the last call failed */
	int status;  /* exit code */
	bool denied; /* it may not */
	bool locked; /* it may, with a password */
	bool absent; /* there is no such peer or link */
	bool broken; /* nobody is there to answer, now */
	bool large;  /* the answer would not fit into a message */
	char *words;
};

/*
 * All return 0 or a negative errno; then the fields above say why. None may be called by a handler
 * of the bus. remote_complain() prints it and
 * returns the exit code.
 */
int remote_open(struct remote *ret, const struct command *command);
void remote_done(struct remote *remote);
int remote_complain(const struct remote *remote, const struct command *command);

/* A call of the Manager's; types and arguments as for sd_bus_message_append(). */
int remote_call(struct remote *remote, const char *member, sd_bus_message **ret_reply,
		const char *types, ...);
/* The same with a message of the caller's own making, which may take long. */
int remote_send(struct remote *remote, sd_bus_message *call, sd_bus_message **ret_reply);
int remote_new_call(struct remote *remote, const char *member, sd_bus_message **ret);

/* Everything. */
int remote_describe(struct remote *remote, struct json_object **ret);
int remote_version(struct remote *remote, char **ret);
/* One object's properties. `path` as ListPeers has it. */
int remote_properties(struct remote *remote, const char *path, const char *interface,
		      struct json_object **ret);

/* Checks each of these peers. On error ret_peers[i] is NULL for those that could not be checked;
 * the caller drops the others. */
int remote_check(struct remote *remote, char *const *names, unsigned count,
		 struct json_object **ret_peers);
/* Checks all; *ret is an array of peers. Where no message holds them all, each is read by itself
 * once they are measured. */
int remote_check_all(struct remote *remote, struct json_object **ret);

static inline void remote_drop(struct remote *remote)
{
	remote_done(remote);
}
#define _drop_remote_ __attribute__((cleanup(remote_drop)))

static inline void message_drop(sd_bus_message **message)
{
	sd_bus_message_unref(*message);
}
#define _drop_message_ __attribute__((cleanup(message_drop)))

/* Says that something failed which is no call. */
int remote_failed(struct remote *remote, int error, const char *what);

/* The answer to a call: its sender tells the bus's own word from the daemon's. For tests too. */
void remote_explain(struct remote *remote, const sd_bus_error *error, const char *sender, int r);
