/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host names to addresses, off the loop: a slow resolver never delays a probe.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/facts.h"

struct names;
struct name_query;

/* `addresses` in the resolver's order of preference, each once; error is 0 or a negative errno
 * (-ENOENT no such name, -EAGAIN the resolver failed for now, -ETIMEDOUT). The query is over and
 * is freed after the call. */
typedef void (*names_handler_t)(int error, const struct address *addresses, unsigned count,
				void *userdata);

int names_new(struct names **ret, sd_event *event);
/* Running queries are dropped without a call; never blocks on a resolver that hangs. */
struct names *names_free(struct names *names);

/* family: ADDRESS_NONE for any. The query belongs to `names`. */
int names_resolve(struct names *names, const char *host, enum address_family family,
		  names_handler_t handler, void *userdata, struct name_query **ret);
/* The handler will not be called any more. Takes NULL. Returns NULL. */
struct name_query *names_cancel(struct names *names, struct name_query *query);
