/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One peer's life: its paths, their rounds, and when a changed verdict is announced.
 *
 * Facts come in by peer_on_...(), what is to be done goes out in a struct todo. Nothing here
 * sends, logs, allocates or looks at a clock.
 */
#pragma once

#include "lint.h"
#include "pace.h"
#include "round.h"
#include "verdict.h"

#define PEER_NAME_LONGEST 40

enum method {
	METHOD_AUTO,
	METHOD_ICMP,
	METHOD_TCP,
	METHOD_UDP,
	METHOD_RESPONDER,
};

enum origin {
	ORIGIN_CONFIG,
	ORIGIN_GATEWAY,
	ORIGIN_REQUEST, /* an address given to --once or Probe */
};

struct peer_settings {
	uint64_t interval_usec;
	uint64_t timeout_usec;
	uint64_t remind_usec; /* 0 never */
	uint32_t expect_mtu;  /* 0: the link's */
	unsigned tries;
	unsigned fail_after;
	unsigned recover_after;
	enum method method;
};

/* This host to one address of a peer, and back. */
struct path {
	/* what it is; set by the owner */
	struct address address;     /* ADDRESS_NONE: not resolved yet */
	struct address from;        /* configured source, ADDRESS_NONE: the kernel chooses */
	char wanted_link[LINK_NAME_SIZE]; /* Interface=, "" the route decides */
	uint16_t ident;             /* the flow's echo identifier */

	/* what the kernel says; set by peer_on_route() */
	struct route route;
	char link_name[LINK_NAME_SIZE]; /* the egress link's, "" none */
	uint32_t link_mtu;
	struct path_facts facts;

	/* what was found */
	struct judgement announced;
	struct judgement candidate; /* of the last round, while it differs from what is announced */
	struct findings findings;
	struct evidence evidence;   /* of the last decided round */
	struct loss loss;           /* plain loss seen on this path, fading */
	unsigned streak;            /* rounds in a row that gave the candidate */
	uint64_t due_usec;          /* begin of the next round */
	uint64_t phase_usec;        /* its place within the interval */
	uint64_t restart_gap_usec;  /* debounce of events */
	uint64_t restarted_usec;
	uint64_t rtt_usec;          /* smoothed, 0 unknown */
	uint64_t since_usec;        /* CLOCK_REALTIME: begin of the announced verdict */
	uint64_t last_round_usec;   /* CLOCK_REALTIME */
	uint64_t ended_usec;        /* CLOCK_MONOTONIC: end of the last round, 0 none */
	uint64_t told_usec;         /* CLOCK_MONOTONIC: when a standing fault was last said */
	uint64_t rounds;
	uint64_t control_sent, control_lost, full_sent, full_lost;
	struct round *round;        /* the running one, NULL none; memory is the owner's */
};

struct peer {
	char name[PEER_NAME_LONGEST + 1];
	enum origin origin;
	struct peer_settings settings;
	struct path *paths; /* the owner's */
	unsigned path_count;
};
