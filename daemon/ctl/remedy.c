/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lines for systemd-networkd, netplan, NetworkManager and ifupdown. `ip link set` works at
 * once with each of them and lasts with none.
 */
#include "remedy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 1, 0))) static struct json_object *text_new(const char *format,
									  va_list arguments)
{
	struct json_object *object;
	char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0)
		return NULL;
	object = json_object_new_string(text);
	free(text);
	return object;
}

struct json_object *action_new(const char *format, ...)
{
	_drop_ struct json_object *action = json_object_new_object();
	struct json_object *text;
	va_list arguments;

	va_start(arguments, format);
	text = text_new(format, arguments);
	va_end(arguments);
	if (document_put(action, "Text", text) < 0 ||
	    document_put(action, "File", json_object_new_string("")) < 0 ||
	    document_put(action, "Lines", json_object_new_array()) < 0 ||
	    document_put(action, "Commands", json_object_new_array()) < 0)
		return NULL;
	return json_object_get(action);
}

int action_add(struct json_object *action, const char *key, const char *format, ...)
{
	struct json_object *list = NULL, *text;
	va_list arguments;

	va_start(arguments, format);
	text = text_new(format, arguments);
	va_end(arguments);
	json_object_object_get_ex(action, key, &list);
	return document_append(list, text);
}

static int action_file(struct json_object *action, const char *file)
{
	return document_put(action, "File", json_object_new_string(file));
}

/* A word for the shell. */
static const char *quoted(const char *word, char buffer[static 160])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._-@%+:/";
	char *end = buffer;

	if (word[0] && word[strspn(word, plain)] == '\0')
		return word;
	*end++ = '\'';
	for (; *word && end < buffer + 150; word++) {
		if (*word == '\'') {
			memcpy(end, "'\\''", 4);
			end += 4;
		} else {
			*end++ = *word;
		}
	}
	*end++ = '\'';
	*end = '\0';
	return buffer;
}

/* A drop-in holds beside a file of whoever wrote it, also below /run and /usr/lib. */
static int add_networkd(struct json_object *action, const struct device *device, uint32_t mtu)
{
	const char *base = strrchr(device->manager.file, '/') + 1;
	char file[FILE_NAME_SIZE + 64];

	snprintf(file, sizeof(file), "/etc/systemd/network/%s.d/90-mtu.conf", base);
	if (action_file(action, file) < 0 || action_add(action, "Lines", "[Link]") < 0 ||
	    action_add(action, "Lines", "MTUBytes=%u", mtu) < 0 ||
	    action_add(action, "Commands", "networkctl reload") < 0)
		return -ENOMEM;
	return action_add(action, "Commands", "networkctl reconfigure %s", device->name);
}

static int add_netplan(struct json_object *action, const struct device *device, uint32_t mtu)
{
	const struct manager *manager = &device->manager;
	const char *section = manager->section[0] ? manager->section : "ethernets";

	if (action_file(action, manager->file) < 0 || action_add(action, "Lines", "network:") < 0 ||
	    action_add(action, "Lines", "  %s:", section) < 0 ||
	    action_add(action, "Lines", "    %s:", manager->name) < 0 ||
	    action_add(action, "Lines", "      mtu: %u", mtu) < 0)
		return -ENOMEM;
	return action_add(action, "Commands", "netplan apply");
}

static const char *nm_setting(const char *type)
{
	static const char *const own[] = {"802-11-wireless", "infiniband", "wireguard",
					  "ip-tunnel",	     "wpan",	   NULL};

	for (const char *const *one = own; *one; one++)
		if (strcmp(type, *one) == 0)
			return type;
	return "802-3-ethernet";
}

static int add_network_manager(struct json_object *action, const struct device *device,
			       uint32_t mtu)
{
	const struct manager *manager = &device->manager;
	char buffer[160];
	const char *name = quoted(manager->name, buffer);

	if (action_add(action, "Commands", "nmcli connection modify %s %s.mtu %u", name,
		       nm_setting(manager->section), mtu) < 0)
		return -ENOMEM;
	return action_add(action, "Commands", "nmcli connection up %s", name);
}

/* interfaces(5): these methods of IPv4 take "mtu"; the others are helped by a command. */
static bool method_takes_mtu(const struct manager *manager)
{
	return strcmp(manager->name, "inet") == 0 &&
	       (strcmp(manager->section, "static") == 0 || strcmp(manager->section, "manual") == 0);
}

static int add_ifupdown(struct json_object *action, const struct device *device, uint32_t mtu)
{
	const struct manager *manager = &device->manager;

	if (action_file(action, manager->file) < 0 ||
	    action_add(action, "Lines", "iface %s %s %s", device->name, manager->name,
		       manager->section) < 0)
		return -ENOMEM;
	if (method_takes_mtu(manager)
		    ? action_add(action, "Lines", "    mtu %u", mtu) < 0
		    : action_add(action, "Lines", "    post-up ip link set dev $IFACE mtu %u",
				 mtu) < 0)
		return -ENOMEM;
	return action_add(action, "Commands", "ip link set dev %s mtu %u", device->name, mtu);
}

static int add_lines(struct json_object *action, const struct device *device, uint32_t mtu)
{
	switch (device->manager.kind) {
	case MANAGER_NETWORKD:
		return add_networkd(action, device, mtu);
	case MANAGER_NETPLAN:
		return add_netplan(action, device, mtu);
	case MANAGER_NETWORK_MANAGER:
		return add_network_manager(action, device, mtu);
	case MANAGER_IFUPDOWN:
		return add_ifupdown(action, device, mtu);
	case MANAGER_NONE:
		return action_add(action, "Commands", "ip link set dev %s mtu %u", device->name,
				  mtu);
	}
	return 0;
}

static struct json_object *device_action(const struct device *device, uint32_t mtu)
{
	const char *name = device->name;

	switch (device->manager.kind) {
	case MANAGER_NETWORKD:
		return action_new("%s is set up by systemd-networkd, by %s. Write a drop-in, so "
				  "that it lasts:",
				  name, device->manager.file);
	case MANAGER_NETPLAN:
		return action_new("%s is set up by netplan, as \"%s\". Add the last line, so that "
				  "it lasts:",
				  name, device->manager.name);
	case MANAGER_NETWORK_MANAGER:
		return action_new("%s is set up by NetworkManager, by the connection \"%s\". These "
				  "commands last; the second sets the link up anew:",
				  name, device->manager.name);
	case MANAGER_IFUPDOWN:
		return action_new("%s is set up by ifupdown. Add the last line, so that it lasts; "
				  "the command does it now:",
				  name);
	case MANAGER_NONE:
		return action_new("Neither systemd-networkd, NetworkManager, netplan nor ifupdown "
				  "sets up %s. This works now and is gone with the next boot; what "
				  "makes the link has to do it for good:",
				  name);
	}
	return NULL;
}

struct json_object *remedy_device(const struct device *device, uint32_t mtu)
{
	_drop_ struct json_object *action = device_action(device, mtu);

	if (!action || add_lines(action, device, mtu) < 0)
		return NULL;
	return json_object_get(action);
}

uint32_t remedy_mtu(const struct device *device, uint32_t mtu)
{
	return mtu + device->above;
}
