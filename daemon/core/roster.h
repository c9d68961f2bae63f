/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every peer and link there is, for those who tell about them. watch writes it, the face reads it.
 */
#pragma once

#include "neighbour.h"
#include "peer.h"

/* What belongs to a bridge, bond or team, gathered by lint_links(). */
struct link_members {
	const struct link *smallest; /* of all; NULL there is none */
	const struct link *largest;
	const struct link *low;      /* the smallest that is in use and not to be ignored */
	const struct link *high;
	unsigned below, above;       /* those in use that have less and more than the master */
};

struct link_state {
	struct link link;
	struct link before;       /* when links were last looked at; index 0: it was not there */
	uint32_t expected_mtu;    /* ExpectMTU= of its [Link], 0 none */
	int underlay;             /* of a tunnel: the link that its packets leave by, 0 unknown */
	uint32_t underlay_mtu;    /* the MTU of the route there, 0 none */
	uint32_t own_mtu;         /* what this daemon sets it to, until the change is seen; 0 nothing */
	struct link_members members;
	uint32_t original_mtu;    /* before a clamp of ours, 0 it has none */
	struct findings findings;
	bool reached, carries;    /* see tower.h */
	uint16_t around;
	bool ipv6_lost;           /* IPv6 left it when its MTU fell below what IPv6 needs */
	bool ignored;             /* [Link] Ignore=yes */
	struct far_end far;       /* the other end of its cable */
};

struct roster {
	struct peer **peers;       /* in the order of their names */
	unsigned peer_count;
	struct link_state **links; /* in the order of their indexes */
	unsigned link_count;
	uint16_t answering_port;   /* other hosts are answered on it, 0 none are */
	uint64_t reports_ignored;  /* "too big" about packets that no running round sent */
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

unsigned roster_clamped(const struct roster *roster);      /* peers and links */

/*
 * What is plugged in at the other ends of the cables that packets take which leave by this link:
 * its own, or those of the links that it is made of (VLAN, bond, bridge). At most NEIGHBOURS_MOST.
 */
#define NEIGHBOURS_MOST 4U
unsigned roster_neighbours(const struct roster *roster, int link,
			   const struct neighbour *ret[static NEIGHBOURS_MOST]);
/* The largest frame that leaves by this link, header and tags included: its own, or a VLAN's on it. */
uint32_t roster_frame(const struct roster *roster, const struct link *link);

struct peer *roster_peer(const struct roster *roster, const char *name);
struct link_state *roster_link(const struct roster *roster, const char *name);
struct link_state *roster_link_at(const struct roster *roster, int index);

/* The link is as `now` from here on. */
void link_state_update(struct link_state *state, const struct link *now);
