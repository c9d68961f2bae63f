/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who calls. The bus tells the user behind a connection once, and when it leaves: who calls again is
 * known. One user cannot have as many connections as there are places here, so that he alone is in
 * nobody's way while it is not known yet who he is.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void caller_unlink(struct bus_caller *caller)
{
	if (caller->next)
		caller->next->previous = caller->previous;
	if (caller->previous)
		caller->previous->next = caller->next;
	else
		caller->bus->callers = caller->next;
	caller->bus->caller_count--;
}

static void caller_link(struct bus_caller *caller)
{
	struct bus *bus = caller->bus;

	caller->previous = NULL;
	caller->next = bus->callers;
	if (bus->callers)
		bus->callers->previous = caller;
	bus->callers = caller;
	bus->caller_count++;
}

static void caller_free(struct bus_caller *caller)
{
	caller_unlink(caller);
	sd_bus_slot_unref(caller->question);
	sd_bus_slot_unref(caller->leaving);
	free(caller);
}

static void caller_gone(struct bus_caller *caller)
{
	bus_checks_drop(caller->bus, caller);
	caller_free(caller);
}

void bus_callers_drop(struct bus *bus)
{
	while (bus->callers)
		caller_gone(bus->callers);
}

static int caller_on_left(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *name, *before, *after;

	if (sd_bus_message_read(message, "sss", &name, &before, &after) >= 0 && !after[0])
		caller_gone(userdata);
	return 0;
}

static int caller_on_user(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct bus_caller *caller = userdata;
	uint32_t uid;

	/* the name is nobody's any more: the caller left before we could watch it */
	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_read(reply, "u", &uid) < 0) {
		caller_gone(caller);
		return 0;
	}
	caller->question = sd_bus_slot_unref(caller->question);
	caller->uid = uid;
	caller->known = true;
	bus_checks_go_on(caller);
	return 0;
}

/* Asked in this order, so that a caller cannot leave unseen in between. */
static int caller_ask(struct bus_caller *caller)
{
	sd_bus *connection = caller->bus->connection;
	char match[256];
	int r;

	snprintf(match, sizeof(match),
		 "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
		 "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='%s'",
		 caller->name);
	r = sd_bus_add_match_async(connection, &caller->leaving, match, caller_on_left, NULL,
				   caller);
	if (r < 0)
		return r;
	return sd_bus_call_method_async(connection, &caller->question, "org.freedesktop.DBus",
					"/org/freedesktop/DBus", "org.freedesktop.DBus",
					"GetConnectionUnixUser", caller_on_user, caller, "s",
					caller->name);
}

/* The one that called last comes first. */
static struct bus_caller *caller_find(struct bus *bus, const char *name)
{
	struct bus_caller *caller = bus->callers;

	while (caller && strcmp(caller->name, name) != 0)
		caller = caller->next;
	if (caller && caller != bus->callers) {
		caller_unlink(caller);
		caller_link(caller);
	}
	return caller;
}

/* Forgets who did not call for the longest time and waits for nothing. */
static int caller_make_room(struct bus *bus)
{
	struct bus_caller *idle = NULL;

	if (bus->caller_count < BUS_CALLERS_LARGEST)
		return 0;
	for (struct bus_caller *caller = bus->callers; caller; caller = caller->next)
		if (caller->checks == 0 && caller->known)
			idle = caller;
	if (!idle)
		return -EBUSY;
	caller_free(idle);
	return 0;
}

int bus_caller_of(struct bus *bus, const char *name, struct bus_caller **ret)
{
	struct bus_caller *caller = caller_find(bus, name);
	int r = caller ? 0 : caller_make_room(bus);

	if (!caller && r >= 0) {
		caller = calloc(1, sizeof(*caller) + strlen(name) + 1);
		if (!caller)
			return -ENOMEM;
		caller->bus = bus;
		strcpy(caller->name, name);
		caller_link(caller);
		r = caller_ask(caller);
		if (r < 0)
			caller_free(caller);
	}
	*ret = caller;
	return r;
}
