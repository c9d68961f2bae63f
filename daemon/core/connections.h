/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What live TCP connections say of the paths they take: the segments they use, why these are
 * smaller than what passes, and whether large ones get stuck. One pass over all connections is
 * added up per path; nothing is kept of a single one.
 */
#pragma once

#include "facts.h"

struct path;

/* Options that a connection may have and the kernel does not show: RFC 2385 and RFC 5925 take 20
 * bytes of a segment at most. */
#define SOCKET_SLACK 20U

/* Why a connection uses less than the path carries. */
enum socket_cause {
	SOCKET_CAUSE_CACHE,     /* the kernel learned a smaller MTU */
	SOCKET_CAUSE_OWN,       /* this host announced less, so that the peer sends less */
	SOCKET_CAUSE_PROBED,    /* the kernel went down by itself after losses */
	SOCKET_CAUSE_PEER,      /* less was announced in the peer's name */
	SOCKET_CAUSE_PEER_SMALL, /* the same, and no more comes back from it */
	SOCKET_CAUSE_REWRITTEN, /* the same, though more comes back from it whole */
};
#define SOCKET_CAUSE_COUNT 6

/* Connections of one cause. */
struct socket_below {
	uint32_t count; /* 0 none */
	uint32_t size;  /* whole packets of the smallest one of them */
	uint32_t mss;   /* and the data in these */
};

/* The path's, from one look at all connections to the next. */
struct path_sockets {
	uint32_t mss;           /* SocketMSS: the smallest of all; 0 no connections */
	struct socket_below below; /* of the cause that matters most */
	uint32_t should;        /* what the path carried when that was seen */
	uint16_t below_looks;   /* in a row that saw it */
	uint8_t cause;          /* enum socket_cause */
	bool told;              /* it is a finding */
	uint8_t renewals;       /* how often it came back soon after it had gone */
	bool stalled_alive;     /* a stalled connection itself hears from the peer */
	uint16_t stalled;       /* connections that do not get full-size segments through */
	uint32_t stalled_size;  /* of these segments, whole packets */
	uint64_t seen_usec;     /* when something below was last seen; 0 never */
	uint64_t slow_usec;     /* when full-size segments began to be repeated; 0 they are not */
	uint64_t moved_usec;    /* when they ceased to be, and no round has begun since; 0 none is owed */
	uint64_t asked_usec;    /* when a round was last asked for because of that */
	uint64_t ask_gap_usec;  /* until it is asked for again */
};

/* One path in a look at all connections. */
struct tally {
	struct path *path;
	struct address address; /* the path's, as it was when the look began */
	uint32_t there;         /* what it carries; 0 not known */
	uint32_t both;          /* what is right to announce: it comes back; 0 not known */
	uint32_t connections;
	uint32_t mss;
	uint32_t stalled, stalled_size;
	uint32_t slow;          /* connections that may be on the way to a stall */
	bool stalled_alive;
	struct socket_below below[SOCKET_CAUSE_COUNT];
};

/* How TCP of this host finds a path's MTU by itself: net.ipv4.tcp_mtu_probing. */
enum mtu_probing {
	MTU_PROBING_OFF,
	MTU_PROBING_AFTER_LOSS,
	MTU_PROBING_ALWAYS,
};

/* Every path with an address has a tally, and they are in the order of tally_compare(). */
struct tallies {
	struct tally *list;
	unsigned count;
	enum mtu_probing probing;
};

void tally_begin(struct tally *tally, struct path *path);
/* Below, at or above 0; for qsort(). */
int tally_compare(const void *a, const void *b);

/* Which path the connection takes can be told from it, or it takes none. Else its link is to be
 * looked up: another source may leave by another link. */
bool tallies_know(const struct tallies *tallies, const struct connection *connection);

/* Adds a connection to each path that it may take. Where it is not bound, `link` may be the one that
 * its route has. */
void tallies_add(struct tallies *tallies, const struct connection *connection);

/* What a look means for its path; done once. */
struct sockets_news {
	bool mss_changed;  /* of path->sockets */
	bool ask;          /* a round is wanted at once */
	bool restless;     /* look again soon */
	bool lint;         /* findings may differ */
};
void path_on_connections(struct path *path, const struct tally *tally, uint64_t now_usec,
			 struct sockets_news *ret);

/* The connection does not get full-size segments through: repeated, unanswered. */
bool connection_is_stalled(const struct connection *connection);
/* It hears from the peer all the same. */
bool connection_is_alive(const struct connection *connection);
/* A whole packet of a full segment. */
uint32_t connection_size(const struct connection *connection);

/* The kernel learned of less than what a round found to pass, and before that round began. */
bool path_cache_is_stale(const struct path *path);
/* It learned of less since the last round: another round is to tell whether that is true. */
bool path_cache_is_news(const struct path *path);
/* Connections are stuck for their segments' size: smaller packets pass. */
bool path_sockets_are_stalled(const struct path *path);
