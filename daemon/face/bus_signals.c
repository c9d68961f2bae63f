/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What objects tell by themselves: that they came, changed, went. Nothing is built when nobody
 * can hear, and nothing waits.
 */
#include "bus_private.h"

#include <stdlib.h>

#include "report.h"

static inline void string_free(char **text)
{
	free(*text);
}
#define _free_text_ __attribute__((cleanup(string_free)))

#define FIELDS_LARGEST 48

static bool can_be_heard(const struct bus *bus)
{
	return bus && bus->ready;
}

static void object_added(struct bus *bus, const char *path)
{
	if (path)
		sd_bus_emit_object_added(bus->connection, path);
}

/* The object is out of the roster already, so sd-bus cannot find out what it had. */
static void object_removed(struct bus *bus, const char *path, const char *interface)
{
	if (path)
		sd_bus_emit_interfaces_removed(bus->connection, path, "org.freedesktop.DBus.Peer",
					       "org.freedesktop.DBus.Introspectable",
					       "org.freedesktop.DBus.Properties", interface, NULL);
}

void bus_peer_changed(struct bus *bus, const struct peer *peer)
{
	_free_text_ char *path = NULL;
	const char *names[FIELDS_LARGEST];
	unsigned count = 0;

	if (!can_be_heard(bus))
		return;
	path = bus_peer_path(peer->name);
	if (!path)
		return;
	for (const struct peer_field *field = report_peer_fields; field->name; field++)
		if (field->signalled)
			names[count++] = field->name;
	names[count] = NULL;
	sd_bus_emit_properties_changed_strv(bus->connection, path, BUS_PEER, (char **)names);
}

void bus_peer_added(struct bus *bus, const struct peer *peer)
{
	_free_text_ char *path = can_be_heard(bus) ? bus_peer_path(peer->name) : NULL;

	object_added(bus, path);
}

void bus_peer_removed(struct bus *bus, const char *name)
{
	_free_text_ char *path = can_be_heard(bus) ? bus_peer_path(name) : NULL;

	object_removed(bus, path, BUS_PEER);
}

void bus_link_changed(struct bus *bus, const struct link_state *state)
{
	_free_text_ char *path = NULL;
	const char *names[FIELDS_LARGEST];
	unsigned count = 0;

	if (!can_be_heard(bus))
		return;
	path = bus_link_path(state->link.index);
	if (!path)
		return;
	for (const struct link_field *field = report_link_fields; field->name; field++)
		if (field->signalled)
			names[count++] = field->name;
	names[count] = NULL;
	sd_bus_emit_properties_changed_strv(bus->connection, path, BUS_LINK, (char **)names);
}

void bus_link_added(struct bus *bus, const struct link_state *state)
{
	_free_text_ char *path = can_be_heard(bus) ? bus_link_path(state->link.index) : NULL;

	object_added(bus, path);
}

void bus_link_removed(struct bus *bus, int index)
{
	_free_text_ char *path = can_be_heard(bus) ? bus_link_path(index) : NULL;

	object_removed(bus, path, BUS_LINK);
}
