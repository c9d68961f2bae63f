/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What objects tell by themselves: that they came, changed, went. Nothing is built when nobody
 * can hear. When what concerns peers is told is bus_news.c's matter.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdlib.h>

#include "report.h"
#include "sentence.h"

#define FIELDS_LARGEST 48

static int object_added(struct bus *bus, const char *path)
{
	return path ? sd_bus_emit_object_added(bus->connection, path) : -ENOMEM;
}

/* The object is out of the roster already, so sd-bus cannot find out what it had. */
static int object_removed(struct bus *bus, const char *path, const char *interface)
{
	if (!path)
		return -ENOMEM;
	return sd_bus_emit_interfaces_removed(bus->connection, path, "org.freedesktop.DBus.Peer",
					      "org.freedesktop.DBus.Introspectable",
					      "org.freedesktop.DBus.Properties", interface, NULL);
}

int bus_send_peer_changed(struct bus *bus, const struct peer *peer)
{
	_free_text_ char *path = bus_peer_path(peer->name);
	const char *names[FIELDS_LARGEST];
	unsigned count = 0;

	if (!path)
		return -ENOMEM;
	for (const struct peer_field *field = report_peer_fields; field->name; field++)
		if (field->signalled)
			names[count++] = field->name;
	names[count] = NULL;
	return sd_bus_emit_properties_changed_strv(bus->connection, path, BUS_PEER, (char **)names);
}

int bus_send_peer_added(struct bus *bus, const struct peer *peer)
{
	_free_text_ char *path = bus_peer_path(peer->name);

	return object_added(bus, path);
}

int bus_send_peer_removed(struct bus *bus, const char *name)
{
	_free_text_ char *path = bus_peer_path(name);

	return object_removed(bus, path, BUS_PEER);
}

void bus_link_changed(struct bus *bus, const struct link_state *state)
{
	_free_text_ char *path = NULL;
	const char *names[FIELDS_LARGEST];
	unsigned count = 0;

	if (!bus_is_heard(bus))
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
	_free_text_ char *path = bus_is_heard(bus) ? bus_link_path(state->link.index) : NULL;

	object_added(bus, path);
}

void bus_link_removed(struct bus *bus, int index)
{
	_free_text_ char *path = bus_is_heard(bus) ? bus_link_path(index) : NULL;

	object_removed(bus, path, BUS_LINK);
}
