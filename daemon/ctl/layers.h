/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The devices below a link of this host, and who sets each of them up.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "document.h"

#define LAYERS_LARGEST 16
#define FILE_NAME_SIZE 256

enum manager_kind {
	MANAGER_NONE, /* nobody that was asked */
	MANAGER_NETWORKD,
	MANAGER_NETPLAN,
	MANAGER_NETWORK_MANAGER,
	MANAGER_IFUPDOWN,
};

struct manager {
	enum manager_kind kind;
	char file[FILE_NAME_SIZE]; /* where it is set up; "" not known */
	char name[64];		   /* NetworkManager: the connection; netplan: the definition */
	char section[32];	   /* netplan: "ethernets"; NetworkManager: the connection's type;
				    * ifupdown: the method, "static" */
};

struct device {
	char name[LINK_NAME_SIZE];
	char kind[LINK_NAME_SIZE];
	int index;
	uint32_t mtu;
	uint32_t most;	/* what its driver takes; 0 unknown */
	uint32_t adds;	/* what it puts around a packet, as a tunnel */
	uint32_t above; /* what the one above it adds to a packet of the path */
	bool follows;	/* its bond or team sets it */
	struct manager manager;
};

/* In the order in which a larger MTU has to be set; the path's link is the last one. */
struct layers {
	unsigned count;
	struct device list[LAYERS_LARGEST];
};

/* What lies below `link`, by sysfs below `root` ("" for this host) and the document, which knows
 * what tunnels add and leave by. */
void layers_read(struct layers *ret, const char *root, struct json_object *document,
		 const char *link);
/* Asks for each device who sets it up. `bus` NULL: only files are read. */
void layers_find_managers(struct layers *layers, sd_bus *bus, const char *root);

/* --- for tests --- */

/* What systemd-networkd keeps of a link; false: it does not set it up. */
bool manager_from_networkd(struct manager *ret, const char *state);
/* "netplan-ID" in a file's or connection's name makes it netplan's, whose definition is looked for.
 */
void manager_to_netplan(struct manager *manager, const char *root);
/* Where a definition is in a file of netplan's: its section, "" it is not. */
void netplan_section(const char *yaml, const char *id, char ret[static 32]);
bool manager_from_interfaces(struct manager *ret, const char *root, const char *link);
