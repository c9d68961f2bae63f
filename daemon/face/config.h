/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: read strictly, checked as a whole, all or nothing.
 */
#pragma once

#include <stdio.h>

#include "../core/peer.h"

struct config_peer {
	char name[PEER_NAME_LONGEST + 1];
	char *host;                  /* Address= as written when it is a host name, else NULL */
	struct address address;      /* Address= when it is one; zone 0 until zone_link is looked up */
	char zone_link[LINK_NAME_SIZE]; /* fe80::1%eth1: "eth1" (or digits), "" none */
	struct address source;       /* ADDRESS_NONE: not given */
	enum address_family family;  /* ADDRESS_NONE: any or both */
	bool family_both;
	char (*interfaces)[LINK_NAME_SIZE];
	unsigned interface_count;
	uint16_t port;               /* 0 not given */
	unsigned flows;
	struct peer_settings settings;
	char *file;                  /* where the section began, for later complaints */
	unsigned line;
};

struct config_link {
	char *pattern;    /* a name or a glob (fnmatch(3)) */
	uint32_t expect_mtu; /* 0 none */
	enum clamp_kind clamp;
	bool clamp_set;
	bool ignore;
};

enum discover {
	DISCOVER_GATEWAYS = 1 << 0,
	DISCOVER_NFS = 1 << 1,
	DISCOVER_SMB = 1 << 2,
	DISCOVER_ISCSI = 1 << 3,
	DISCOVER_NVME = 1 << 4,
	DISCOVER_CEPH = 1 << 5,
	DISCOVER_OTHERS = 1 << 6, /* storage without a word of its own */
	DISCOVER_STORAGE = DISCOVER_NFS | DISCOVER_SMB | DISCOVER_ISCSI | DISCOVER_NVME |
			   DISCOVER_CEPH | DISCOVER_OTHERS,
};

struct config {
	struct peer_settings defaults; /* [Daemon] values that a peer may override */
	bool clamp_discovered;
	uint64_t clamp_retry_usec;
	unsigned discover;             /* enum discover bits */
	uint64_t probe_bandwidth;      /* bits per second */
	uint16_t responder_port;       /* 0 off */
	char *metrics_file;            /* NULL none */
	struct config_peer *peers;     /* in the order of their names */
	unsigned peer_count;
	struct config_link *links;     /* in the order they were written */
	unsigned link_count;
};

/*
 * Reads the main file and its drop-ins. `path` NULL: /etc/mtuwatchd/mtuwatchd.conf and the
 * drop-ins of /etc, /run, /usr/local/lib and /usr/lib (a file that is not there is an empty one);
 * otherwise that file alone, which must exist.
 * On error returns a negative errno (-EINVAL for what is written wrong) and, in *ret_error, a
 * malloc'ed text of one line per complaint: file:line: the bad text and what was expected.
 * All complaints are gathered before giving up.
 */
int config_load(const char *path, struct config **ret, char **ret_error);
struct config *config_free(struct config *config);
/* Frees the peers alone: whoever has made them needs their text no more. */
void config_forget_peers(struct config *config);

/* The effective configuration in the file's own language; reading it again gives the same. */
void config_print(const struct config *config, FILE *out);

/*
 * A peer that is asked for by name of its address and not configured, made of a few keys of a [Peer]
 * section; times and counts are those of no configuration. config_peer_set() once a key (Interface=
 * adds up), then config_peer_check(). -EINVAL: *ret_error is a malloc'ed text of what was expected.
 */
int config_peer_new(struct config_peer **ret);
struct config_peer *config_peer_free(struct config_peer *peer);
int config_peer_set(struct config_peer *peer, const char *key, const char *text, char **ret_error);
/* *ret_key: the key that has to be another one. */
int config_peer_check(struct config_peer *peer, const char **ret_key, char **ret_error);

/* Whether any section asks for clamps. */
bool config_wants_clamps(const struct config *config);

/* The first [Link] section that matches, NULL none. */
const struct config_link *config_link_for(const struct config *config, const char *name);
