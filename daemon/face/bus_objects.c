/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The peers and links as objects. None is registered: sd-bus asks us for each path when somebody
 * does, so ten thousand peers cost the bus nothing. The properties come from the report's tables.
 */
#include "bus_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_parse.h"
#include "report.h"
#include "sentence.h"
#include "words.h"

#define FIELDS_LARGEST 48

char *bus_peer_path(const char *name)
{
	char *path;

	return sd_bus_path_encode(BUS_PEERS, name, &path) < 0 ? NULL : path;
}

char *bus_link_path(int index)
{
	char text[16], *path;

	snprintf(text, sizeof(text), "%d", index);
	return sd_bus_path_encode(BUS_LINKS, text, &path) < 0 ? NULL : path;
}

/* With what lies between two values at most. */
static int text_bytes(const char *text)
{
	return (int)strlen(text) + 8;
}

static int append_finding(sd_bus_message *message, const struct finding *finding)
{
	_free_text_ char *text = words_finding_text(finding);
	_free_text_ char *advice = words_finding_advice(finding);
	int r;

	if (!text || !advice)
		return -ENOMEM;
	r = sd_bus_message_append(message, "(ssss)", words_finding(finding->id),
				  words_severity(finding->severity), text, advice);
	return r < 0 ? r : 64 + text_bytes(text) + text_bytes(advice);
}

static int append_findings(sd_bus_message *message, const struct findings *findings)
{
	int bytes = 8, r;

	r = sd_bus_message_open_container(message, 'a', "(ssss)");
	for (unsigned i = 0; r >= 0 && i < findings->count; i++) {
		r = append_finding(message, &findings->list[i]);
		bytes += r;
	}
	if (r >= 0)
		r = sd_bus_message_close_container(message);
	return r < 0 ? r : bytes;
}

static int append_paths(sd_bus_message *message, const struct peer *peer)
{
	int bytes = 8, r;

	r = sd_bus_message_open_container(message, 'a', "a{sv}");
	for (unsigned i = 0; r >= 0 && i < peer->path_count; i++) {
		r = bus_append_path(message, peer, &peer->paths[i]);
		bytes += r;
	}
	if (r >= 0)
		r = sd_bus_message_close_container(message);
	return r < 0 ? r : bytes;
}

static const char *field_signature(enum field_type type)
{
	switch (type) {
	case FIELD_STRING:
		return "s";
	case FIELD_BOOLEAN:
		return "b";
	case FIELD_INTEGER:
		return "i";
	case FIELD_U32:
		return "u";
	case FIELD_U64:
		return "t";
	case FIELD_FINDINGS:
		return "a(ssss)";
	case FIELD_PATHS:
		return "aa{sv}";
	}
	return "";
}

static int append_plain(sd_bus_message *message, enum field_type type,
			const struct field_value *value)
{
	switch (type) {
	case FIELD_STRING:
		return sd_bus_message_append(message, "s", value->string);
	case FIELD_BOOLEAN:
		return sd_bus_message_append(message, "b", (int)value->boolean);
	case FIELD_INTEGER:
		return sd_bus_message_append(message, "i", value->integer);
	case FIELD_U32:
		return sd_bus_message_append(message, "u", value->u32);
	case FIELD_U64:
		return sd_bus_message_append(message, "t", value->u64);
	case FIELD_FINDINGS:
	case FIELD_PATHS:
		break;
	}
	return -EINVAL;
}

static int append_value(sd_bus_message *message, enum field_type type,
			const struct field_value *value)
{
	int r;

	if (type == FIELD_FINDINGS)
		return append_findings(message, &value->findings);
	if (type == FIELD_PATHS)
		return append_paths(message, value->paths_of);
	r = append_plain(message, type, value);
	if (r < 0)
		return r;
	return type == FIELD_STRING ? text_bytes(value->string) : 8;
}

static int append_peer_field(sd_bus_message *message, const struct peer_field *field,
			     const struct peer *peer, const struct path *path)
{
	struct field_value value;
	int r;

	r = field->get(peer, path, &value);
	if (r < 0)
		return r;
	r = append_value(message, field->type, &value);
	field_value_done(field->type, &value);
	return r;
}

static int append_link_field(sd_bus_message *message, const struct link_field *field,
			     const struct link_state *link)
{
	struct field_value value;
	int r;

	r = field->get(link, &value);
	if (r < 0)
		return r;
	r = append_value(message, field->type, &value);
	field_value_done(field->type, &value);
	return r;
}

static int entry_open(sd_bus_message *message, const char *name, enum field_type type)
{
	int r;

	r = sd_bus_message_open_container(message, 'e', "sv");
	if (r >= 0)
		r = sd_bus_message_append(message, "s", name);
	return r < 0 ? r : sd_bus_message_open_container(message, 'v', field_signature(type));
}

/* `bytes`: of the value, or what went wrong with it. */
static int entry_close(sd_bus_message *message, const char *name, int bytes)
{
	int r;

	if (bytes < 0)
		return bytes;
	r = sd_bus_message_close_container(message);
	if (r >= 0)
		r = sd_bus_message_close_container(message);
	return r < 0 ? r : bytes + text_bytes(name) + 8;
}

/* `path` NULL: the whole peer. */
int bus_append_path(sd_bus_message *message, const struct peer *peer, const struct path *path)
{
	int bytes = 8, r;

	r = sd_bus_message_open_container(message, 'a', "{sv}");
	for (const struct peer_field *field = report_peer_fields; r >= 0 && field->name; field++) {
		if (path && !field->of_path)
			continue;
		r = entry_open(message, field->name, field->type);
		if (r >= 0)
			r = entry_close(message, field->name,
					append_peer_field(message, field, peer, path));
		bytes += r;
	}
	if (r >= 0)
		r = sd_bus_message_close_container(message);
	return r < 0 ? r : bytes;
}

int bus_append_peer(sd_bus_message *message, const struct peer *peer)
{
	return bus_append_path(message, peer, NULL);
}

int bus_append_link(sd_bus_message *message, const struct link_state *link)
{
	int bytes = 8, r;

	r = sd_bus_message_open_container(message, 'a', "{sv}");
	for (const struct link_field *field = report_link_fields; r >= 0 && field->name; field++) {
		r = entry_open(message, field->name, field->type);
		if (r >= 0)
			r = entry_close(message, field->name, append_link_field(message, field, link));
		bytes += r;
	}
	if (r >= 0)
		r = sd_bus_message_close_container(message);
	return r < 0 ? r : bytes;
}

static int peer_property(sd_bus *connection, const char *path, const char *interface,
			 const char *property, sd_bus_message *reply, void *userdata,
			 sd_bus_error *error)
{
	for (const struct peer_field *field = report_peer_fields; field->name; field++)
		if (strcmp(field->name, property) == 0)
			return append_peer_field(reply, field, userdata, NULL);
	return -ENOENT;
}

static int link_property(sd_bus *connection, const char *path, const char *interface,
			 const char *property, sd_bus_message *reply, void *userdata,
			 sd_bus_error *error)
{
	for (const struct link_field *field = report_link_fields; field->name; field++)
		if (strcmp(field->name, property) == 0)
			return append_link_field(reply, field, userdata);
	return -ENOENT;
}

static int peer_find(sd_bus *connection, const char *path, const char *interface, void *userdata,
		     void **ret_found, sd_bus_error *error)
{
	const struct bus *bus = userdata;
	_free_text_ char *name = NULL;
	struct peer *peer;
	int r;

	r = sd_bus_path_decode(path, BUS_PEERS, &name);
	if (r <= 0)
		return r;
	peer = roster_peer(bus->roster, name);
	if (!peer)
		return 0;
	*ret_found = peer;
	return 1;
}

static struct link_state *link_by_index(const struct roster *roster, int index)
{
	unsigned low = 0, high = roster->link_count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		struct link_state *state = roster->links[middle];

		if (state->link.index == index)
			return state;
		if (index < state->link.index)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static int link_find(sd_bus *connection, const char *path, const char *interface, void *userdata,
		     void **ret_found, sd_bus_error *error)
{
	const struct bus *bus = userdata;
	_free_text_ char *text = NULL, *again = NULL;
	struct link_state *state;
	uint64_t index;
	int r;

	r = sd_bus_path_decode(path, BUS_LINKS, &text);
	if (r <= 0)
		return r;
	if (value_number(text, &index) < 0 || index > INT_MAX)
		return 0;
	state = link_by_index(bus->roster, (int)index);
	if (!state)
		return 0;
	again = bus_link_path(state->link.index); /* "02" is not the name of 2 */
	if (!again)
		return -ENOMEM;
	if (strcmp(again, path) != 0)
		return 0;
	*ret_found = state;
	return 1;
}

static void strings_free(char **strings, unsigned count)
{
	while (count > 0)
		free(strings[--count]);
	free(strings);
}

static int peers_enumerate(sd_bus *connection, const char *prefix, void *userdata,
			   char ***ret_nodes, sd_bus_error *error)
{
	const struct roster *roster = ((const struct bus *)userdata)->roster;
	char **nodes = calloc(roster->peer_count + 1, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	for (unsigned i = 0; i < roster->peer_count; i++) {
		nodes[i] = bus_peer_path(roster->peers[i]->name);
		if (!nodes[i]) {
			strings_free(nodes, i);
			return -ENOMEM;
		}
	}
	*ret_nodes = nodes;
	return 1;
}

static int links_enumerate(sd_bus *connection, const char *prefix, void *userdata,
			   char ***ret_nodes, sd_bus_error *error)
{
	const struct roster *roster = ((const struct bus *)userdata)->roster;
	char **nodes = calloc(roster->link_count + 1, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	for (unsigned i = 0; i < roster->link_count; i++) {
		nodes[i] = bus_link_path(roster->links[i]->link.index);
		if (!nodes[i]) {
			strings_free(nodes, i);
			return -ENOMEM;
		}
	}
	*ret_nodes = nodes;
	return 1;
}

static const sd_bus_vtable vtable_begin = SD_BUS_VTABLE_START(0);
static const sd_bus_vtable vtable_end = SD_BUS_VTABLE_END;

static sd_bus_vtable vtable_property(const char *name, enum field_type type, bool signalled,
				     sd_bus_property_get_t get)
{
	uint64_t flags = signalled ? SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE : 0;

	return (sd_bus_vtable)SD_BUS_PROPERTY(name, field_signature(type), get, 0, flags);
}

/* What the tables of the report hold is what the objects have: nothing is listed twice. */
int bus_objects_make(struct bus *bus)
{
	sd_bus_vtable *entry;

	bus->peer_vtable = calloc(FIELDS_LARGEST, sizeof(sd_bus_vtable));
	bus->link_vtable = calloc(FIELDS_LARGEST, sizeof(sd_bus_vtable));
	if (!bus->peer_vtable || !bus->link_vtable)
		return -ENOMEM;
	entry = bus->peer_vtable;
	*entry++ = vtable_begin;
	for (const struct peer_field *field = report_peer_fields; field->name; field++)
		*entry++ =
			vtable_property(field->name, field->type, field->signalled, peer_property);
	*entry = vtable_end;
	entry = bus->link_vtable;
	*entry++ = vtable_begin;
	for (const struct link_field *field = report_link_fields; field->name; field++)
		*entry++ =
			vtable_property(field->name, field->type, field->signalled, link_property);
	*entry = vtable_end;
	return 0;
}

int bus_objects_add(struct bus *bus)
{
	int r;

	r = sd_bus_add_fallback_vtable(bus->connection, NULL, BUS_PEERS, BUS_PEER, bus->peer_vtable,
				       peer_find, bus);
	if (r < 0)
		return r;
	r = sd_bus_add_node_enumerator(bus->connection, NULL, BUS_PEERS, peers_enumerate, bus);
	if (r < 0)
		return r;
	r = sd_bus_add_fallback_vtable(bus->connection, NULL, BUS_LINKS, BUS_LINK, bus->link_vtable,
				       link_find, bus);
	if (r < 0)
		return r;
	return sd_bus_add_node_enumerator(bus->connection, NULL, BUS_LINKS, links_enumerate, bus);
}
