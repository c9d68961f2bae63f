/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every peer and link there is, for those who tell about them. watch writes it, the face reads it.
 */
#pragma once

#include "peer.h"

struct link_state {
	struct link link;
	uint32_t expected_mtu;    /* ExpectMTU= of its [Link], 0 none */
	struct findings findings;
	bool ignored;             /* [Link] Ignore=yes */
};

struct roster {
	struct peer **peers;       /* in the order of their names */
	unsigned peer_count;
	struct link_state **links; /* in the order of their indexes */
	unsigned link_count;
};

/* The worst path of a peer; NULL when it has none. */
const struct path *peer_worst_path(const struct peer *peer);
enum verdict peer_verdict(const struct peer *peer);
enum severity peer_severity(const struct peer *peer);

/* The worst peer's; the severity takes the links' findings into account too. */
enum verdict roster_verdict(const struct roster *roster);
enum severity roster_severity(const struct roster *roster);
enum severity link_state_severity(const struct link_state *state);
unsigned roster_peers_faulty(const struct roster *roster); /* severity warning or worse */
unsigned roster_links_faulty(const struct roster *roster);

struct peer *roster_peer(const struct roster *roster, const char *name);
struct link_state *roster_link(const struct roster *roster, const char *name);
