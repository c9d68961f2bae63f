/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Findings: what is wrong beside the verdict, seen in the facts without sending anything.
 * A finding is an id and its numbers; the sentences are the face's matter.
 */
#pragma once

#include "verdict.h"

enum finding_id {
	FINDING_LINK_BELOW_EXPECTED,
	FINDING_ROUTE_MTU_BELOW_LINK,
	FINDING_ROUTE_MTU_ABOVE_LINK,
	FINDING_IPV6_MTU_BELOW_LINK,
	FINDING_MTU_ABOVE_DRIVER_MAX,
	FINDING_PTB_WRONG,
	FINDING_RETURN_SMALLER,
	FINDING_WRONG_LINK,
	FINDING_ECHO_LIMITED,
	FINDING_INBOUND_OVERSIZE,        /* is: packets a minute; should: which counter, see counters.h */
	FINDING_NEIGHBOUR_FRAME_SMALLER, /* is, should: frames, header and checksum included */
	FINDING_CACHED_PMTU_STALE,
	FINDING_SOCKET_MSS_BELOW_PATH,
	FINDING_CONNECTIONS_STALLED,
	FINDING_FLOWS_UNPROVEN,          /* is: shown to go a way of their own; should: all */
	FINDING_VLAN_ABOVE_PARENT,
	FINDING_MEMBER_DIFFERS,
	FINDING_BRIDGE_LOWERED_BY_PORT,
	FINDING_TUNNEL_TOO_LARGE,
	FINDING_PAIR_DIFFERS,
	FINDING_IPV6_LOST,
	FINDING_MORE, /* stands for `is` others that the list has no room for */
};
#define FINDING_COUNT 22

struct finding {
	enum finding_id id;
	enum severity severity;
	uint32_t is;	 /* the size that was found */
	uint32_t should; /* the size that it is held against */
	union {
		struct {
			char link[LINK_NAME_SIZE];  /* the link it is about, "" none */
			char other[LINK_NAME_SIZE]; /* the one it is held against, "" none */
		};
		struct address from; /* PTB_WRONG: the router */
		struct address to;   /* CACHED_PMTU_STALE: the peer */
	};
	union {
		uint32_t count;	    /* live connections that it is about */
		uint32_t lasts_sec; /* CACHED_PMTU_STALE: until the kernel forgets by itself */
	};
	uint16_t number; /* MEMBER_DIFFERS: how many members do; TUNNEL_TOO_LARGE: bytes that
			  * the tunnel adds */
	uint16_t mss;	 /* SOCKET_MSS_BELOW_PATH: data of a segment */
	uint8_t cause;	 /* SOCKET_MSS_BELOW_PATH: enum socket_cause */
	uint8_t type;	 /* enum link_type of `link` */
	uint8_t origin;	 /* IPV6_MTU_BELOW_LINK: enum ipv6_origin */
	bool locked;	 /* CACHED_PMTU_STALE: packets leave without DF */
	bool explains;	 /* of a path: why its verdict is what it is */
};

#define FINDINGS_LARGEST 8

struct findings {
	unsigned count;
	struct finding list[FINDINGS_LARGEST];
};

/* `link` is the egress link, NULL unknown; `evidence` NULL: no round yet. */
void lint_path(const struct path_facts *facts, const struct link *link, const struct route *route,
	       const struct evidence *evidence, struct findings *ret);

/* A new finding, all else zero; `link` may be NULL. */
struct finding finding_make(enum finding_id id, enum severity severity, const struct link *link);
/* Where the list is full the worst stay, and FINDING_MORE says how many do not. */
void findings_add(struct findings *findings, const struct finding *finding);
/* What is not there yet. */
void findings_join(struct findings *findings, const struct findings *more);

struct path;

/* What the kernel's memory and the live connections of a path show, added to what is there. */
void lint_kernel(const struct path *path, struct findings *findings);

/* The link that it is about, "" none. */
const char *finding_link(const struct finding *finding);
/* The link that it is held against, "" none. */
const char *finding_other(const struct finding *finding);
/* The one that explains the path's verdict; NULL none. */
const struct finding *findings_explaining(const struct findings *findings);
const struct finding *findings_find(const struct findings *findings, enum finding_id id);
bool finding_equal(const struct finding *a, const struct finding *b);
/* The same ones in the same order. */
bool findings_equal(const struct findings *a, const struct findings *b);
