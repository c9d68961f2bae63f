/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a path loses its large packets: pairs of control and full size with rising TTL, of the kind
 * and on the flow that the fault was found with. The last hop that answers for the full size is the
 * last one it reached.
 */
#pragma once

#include "round.h"

#define WALK_HOPS 30U

struct walk_settings {
	enum probe_kind kind;
	uint64_t nonce;
	uint64_t wait_usec;      /* for one pair of answers */
	uint32_t full;
	uint32_t control;
	uint32_t plain;          /* PROBE_SYN: size of one without data */
	unsigned distance;       /* hops to the peer, itself included, by its answers; 0 unknown */
	unsigned passes;         /* how often open hops are asked */
	bool patient;            /* before the last pass routers get the time to speak again */
	uint16_t first_sequence;
};

struct walk_hop {
	struct address from;  /* who answered for the control */
	bool control, full;   /* which of the two was answered */
};

struct walk {
	struct walk_settings settings;
	struct walk_hop hops[WALK_HOPS];
	uint64_t until_usec;  /* answers are waited for until then */
	unsigned next;        /* hop to ask next in this pass */
	unsigned together;    /* hops asked since answers were last waited for */
	unsigned pass;
	unsigned end;         /* hops up to the peer itself; 0 not known */
	bool done;
};

void walk_begin(struct walk *walk, const struct walk_settings *settings);
/* True when it belongs to this walk. */
bool walk_answer(struct walk *walk, const struct answer *answer);
/* As round_step(). */
uint64_t walk_step(struct walk *walk, struct turn *turn, uint64_t now_usec, struct burst *ret_burst);

/* LOCUS_ON_LINK: lost before any router; LOCUS_AFTER with its address; LOCUS_NONE: no router told. */
enum locus walk_result(const struct walk *walk, struct address *ret_hop);

/* A router behind that place, not the peer, answers for the control and, asked in peace, not for the
 * full size: whatever the peer does to large packets, they are lost before it. */
bool walk_router_fails(const struct walk *walk);
