/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One check of one path: which sizes next, how long to wait, and when it is known.
 *
 * A healthy path costs a control and a full-size probe, one round trip. Otherwise bursts of
 * several sizes narrow the search down while the full size is tried again.
 */
#pragma once

#include "pace.h"
#include "search.h"
#include "verdict.h"

#define BURST_LARGEST 10

struct round_settings {
	uint64_t nonce;
	uint64_t timeout_usec; /* longest wait for an answer */
	uint64_t rtt_usec;     /* smoothed, of earlier rounds; 0 unknown */
	struct loss loss;      /* of earlier rounds */
	uint32_t full;
	uint32_t control;
	uint32_t hint;         /* what passed in the last round, 0 none */
	unsigned tries;
	bool followed_up;      /* another round after at least a second follows before anything is said */
	uint16_t first_sequence;
};

struct round {
	struct round_settings settings;
	struct evidence evidence;
	struct tries tries;
	uint64_t send_usec;    /* when the planned burst may go; USEC_NEVER none is planned */
	uint64_t oversize_usec; /* when something above the floor was last sent */
	uint32_t plan[BURST_LARGEST];
	unsigned plan_count;
	uint32_t hinted;       /* a size to ask because a report or the last round suggests it */
	unsigned quiet;        /* full-size tries that no other oversize probe preceded within a second */
	uint16_t burst;
	bool done;
};

/* Sizes to send now, as one burst; sequence of sizes[i] is first_sequence + i. */
struct burst {
	unsigned count;
	uint16_t first_sequence;
	uint32_t sizes[BURST_LARGEST];
};

void round_begin(struct round *round, const struct round_settings *settings);

/* True when the answer belongs to this round (sequence, size, nonce); then step. */
bool round_answer(struct round *round, const struct answer *answer, uint64_t now_usec);

/* The kernel dropped packets: what is still waited for tells nothing. */
void round_overflow(struct round *round);

/*
 * Goes on as far as it can: fills *ret_burst when something is to be sent now, and returns when to
 * call again at the latest; USEC_NEVER when round->done and the evidence is complete.
 */
uint64_t round_step(struct round *round, struct pace *pace, uint64_t now_usec,
		    struct burst *ret_burst);
