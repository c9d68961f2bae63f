/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the administrator asked to be watched, or what discovery found: a name and its paths.
 */
#pragma once

#include "path.h"

#define PEER_NAME_LONGEST 40

enum origin {
	ORIGIN_CONFIG,
	ORIGIN_GATEWAY,
	ORIGIN_REQUEST, /* an address given to --once or Probe */
	ORIGIN_NFS,
	ORIGIN_SMB,
	ORIGIN_ISCSI,
	ORIGIN_NVME,
	ORIGIN_CEPH,
	ORIGIN_GLUSTERFS,
	ORIGIN_DRBD,
	ORIGIN_COROSYNC,
};

static inline bool origin_is_storage(enum origin origin)
{
	return origin >= ORIGIN_NFS;
}

/* Nobody asked for it. */
static inline bool origin_is_discovered(enum origin origin)
{
	return origin == ORIGIN_GATEWAY || origin_is_storage(origin);
}

struct roster;

struct peer {
	const struct roster *roster; /* of the host; NULL: nothing is known of it */
	char name[PEER_NAME_LONGEST + 1];
	char *host; /* whose address is asked for; the owner's. NULL: the address was given */
	enum origin origin;
	struct peer_settings settings;
	struct path *paths; /* the owner's */
	unsigned path_count;
	uint8_t untold; /* the bus's: what of it waits to be told */
};
