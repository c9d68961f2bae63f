/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who sets a link up: systemd-networkd and NetworkManager are asked on the bus whether they are
 * there and what they do with it; netplan's and ifupdown's files are read. Starts nobody.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"

#define NETWORKD "org.freedesktop.network1"
#define NM "org.freedesktop.NetworkManager"
#define TEXT_LARGEST (256 * 1024)

static inline void reply_drop(sd_bus_message **reply)
{
	sd_bus_message_unref(*reply);
}
#define _drop_reply_ __attribute__((cleanup(reply_drop)))

static char *text_read(const char *root, const char *name)
{
	char path[2 * FILE_NAME_SIZE];
	char *text;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	text = malloc(TEXT_LARGEST + 1);
	length = text ? fread(text, 1, TEXT_LARGEST, file) : 0;
	fclose(file);
	if (text)
		text[length] = '\0';
	return text;
}

/* --- systemd-networkd --- */

bool manager_from_networkd(struct manager *ret, const char *state)
{
	const char *file = NULL;

	for (const char *line = state; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, "NETWORK_FILE=", 13) == 0)
			file = line + 13;
	if (!file || file[0] != '/')
		return false;
	*ret = (struct manager){.kind = MANAGER_NETWORKD};
	snprintf(ret->file, sizeof(ret->file), "%.*s", (int)strcspn(file, "\n"), file);
	return true;
}

/* A state that outlived networkd is not its word any more. */
static bool bus_has(sd_bus *bus, const char *name)
{
	_drop_reply_ sd_bus_message *reply = NULL;
	int has = 0;

	if (sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
			       "org.freedesktop.DBus", "NameHasOwner", NULL, &reply, "s", name) < 0)
		return false;
	return sd_bus_message_read(reply, "b", &has) >= 0 && has;
}

static bool networkd_find(struct manager *ret, sd_bus *bus, const char *root, int index)
{
	char name[64], *state;
	bool found;

	if (index <= 0 || !bus || !bus_has(bus, NETWORKD))
		return false;
	snprintf(name, sizeof(name), "/run/systemd/netif/links/%d", index);
	state = text_read(root, name);
	found = state && manager_from_networkd(ret, state);
	free(state);
	return found;
}

/* --- NetworkManager --- */

/* Any user of NetworkManager may name a connection: no name steers a terminal. */
static void text_take(char *text, char *ret, size_t size)
{
	snprintf(ret, size, "%s", text ? text : "");
	for (; *ret; ret++)
		if ((unsigned char)*ret < 0x20 || *ret == 0x7f)
			*ret = '?';
	free(text);
}

static bool nm_property(sd_bus *bus, const char *path, const char *interface, const char *name,
			char type, char **ret)
{
	char types[2] = {type, '\0'};
	_drop_reply_ sd_bus_message *reply = NULL;
	const char *text;

	if (sd_bus_get_property(bus, NM, path, interface, name, NULL, &reply, types) < 0 ||
	    sd_bus_message_read_basic(reply, type, &text) < 0)
		return false;
	*ret = strdup(text);
	return *ret;
}

static void nm_read(struct manager *ret, sd_bus *bus, const char *active)
{
	static const char interface[] = NM ".Connection.Active";
	char *id = NULL, *type = NULL, *settings = NULL, *file = NULL;

	nm_property(bus, active, interface, "Id", 's', &id);
	nm_property(bus, active, interface, "Type", 's', &type);
	if (nm_property(bus, active, interface, "Connection", 'o', &settings))
		nm_property(bus, settings, NM ".Settings.Connection", "Filename", 's', &file);
	text_take(id, ret->name, sizeof(ret->name));
	text_take(type, ret->section, sizeof(ret->section));
	text_take(file, ret->file, sizeof(ret->file));
	free(settings);
}

/* Without a connection it does nothing to the link. */
static bool nm_find(struct manager *ret, sd_bus *bus, const char *link)
{
	_drop_reply_ sd_bus_message *reply = NULL;
	const char *device;
	char *active = NULL;
	bool found;

	if (!bus || !bus_has(bus, NM) ||
	    sd_bus_call_method(bus, NM, "/org/freedesktop/NetworkManager", NM, "GetDeviceByIpIface",
			       NULL, &reply, "s", link) < 0 ||
	    sd_bus_message_read(reply, "o", &device) < 0 ||
	    !nm_property(bus, device, NM ".Device", "ActiveConnection", 'o', &active))
		return false;
	*ret = (struct manager){.kind = MANAGER_NETWORK_MANAGER};
	found = strcmp(active, "/") != 0;
	if (found)
		nm_read(ret, bus, active);
	free(active);
	return found && ret->name[0];
}

/* --- netplan --- */

/* The key of a line of YAML: "eth1:" with or without quotes. -1: it has none. */
static int yaml_key(const char *line, size_t length, char key[static 64])
{
	size_t indent = strspn(line, " "), end;
	char quote;

	if (indent >= length || line[indent] == '#' || line[indent] == '-')
		return -1;
	quote = line[indent] == '"' || line[indent] == '\'' ? line[indent] : '\0';
	line += indent + (quote != 0);
	length -= indent + (quote != 0);
	end = quote ? (size_t)(strchrnul(line, quote) - line) : strcspn(line, ":\n");
	if (end >= length || end >= 64 || line[end + (quote != 0)] != ':')
		return -1;
	memcpy(key, line, end);
	key[end] = '\0';
	return (int)indent;
}

/* The third level below "network:" are definitions, the second the sections they are in. */
void netplan_section(const char *yaml, const char *id, char ret[static 32])
{
	int depth[3] = {-1, -1, -1};
	char section[64] = "", key[64];
	size_t length;

	ret[0] = '\0';
	for (const char *line = yaml; *line; line += length, line += *line == '\n') {
		int indent;

		length = strcspn(line, "\n");
		indent = yaml_key(line, length, key);
		if (indent < 0)
			continue;
		if (indent == 0) {
			depth[0] = strcmp(key, "network") == 0 ? 0 : -1;
			depth[1] = -1;
			continue;
		}
		if (depth[0] < 0)
			continue;
		if (depth[1] < 0 || indent <= depth[1]) {
			depth[1] = indent;
			depth[2] = -1;
			strcpy(section, key);
			continue;
		}
		if (depth[2] < 0)
			depth[2] = indent;
		if (indent == depth[2] && strcmp(key, id) == 0 && strlen(section) < 32)
			strcpy(ret, section);
	}
}

static int entry_is_yaml(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

/* The later files win; /etc is where an administrator writes. */
static void netplan_find(struct manager *manager, const char *root)
{
	struct dirent **entries = NULL;
	char folder[FILE_NAME_SIZE], name[FILE_NAME_SIZE + 16], section[32];
	int count;

	snprintf(folder, sizeof(folder), "%s/etc/netplan", root);
	count = scandir(folder, &entries, entry_is_yaml, alphasort);
	for (int i = 0; i < count; i++) {
		char *text;

		snprintf(name, sizeof(name), "/etc/netplan/%.200s", entries[i]->d_name);
		text = text_read(root, name);
		section[0] = '\0';
		if (text)
			netplan_section(text, manager->name, section);
		if (section[0]) {
			snprintf(manager->file, sizeof(manager->file), "%.255s", name);
			strcpy(manager->section, section);
		}
		free(text);
		free(entries[i]);
	}
	free(entries);
}

void manager_to_netplan(struct manager *manager, const char *root)
{
	static const char mark[] = "netplan-";
	const char *base = strrchr(manager->file, '/'), *id = base ? strstr(base, mark) : NULL;
	size_t length;

	if (!id || strncmp(manager->file, "/run/", 5) != 0)
		return;
	id += strlen(mark);
	length = strlen(id);
	for (const char *const *end = (const char *const[]){".network", ".nmconnection", NULL};
	     *end; end++)
		if (length > strlen(*end) && strcmp(id + length - strlen(*end), *end) == 0)
			length -= strlen(*end);
	snprintf(manager->name, sizeof(manager->name), "%.*s", (int)(length < 63 ? length : 63),
		 id);
	manager->kind = MANAGER_NETPLAN;
	manager->file[0] = manager->section[0] = '\0';
	netplan_find(manager, root);
}

/* --- together --- */

void layers_find_managers(struct layers *layers, sd_bus *bus, const char *root)
{
	for (unsigned i = 0; i < layers->count; i++) {
		struct device *device = &layers->list[i];
		struct manager *manager = &device->manager;

		if (networkd_find(manager, bus, root, device->index) ||
		    nm_find(manager, bus, device->name))
			manager_to_netplan(manager, root);
		else if (!manager_from_interfaces(manager, root, device->name))
			*manager = (struct manager){.kind = MANAGER_NONE};
	}
}
