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
	enum probe_kind kind;
	uint64_t nonce;
	uint64_t timeout_usec;   /* longest wait for an answer */
	uint64_t rtt_usec;       /* smoothed, of earlier rounds; 0 unknown */
	struct loss loss;        /* of earlier rounds */
	uint32_t full;
	uint32_t control;
	uint32_t least;          /* smallest MTU that a router may name */
	uint32_t sane;           /* hosts make no use of a smaller one */
	uint32_t plain;          /* PROBE_SYN: size of one without data */
	uint32_t hint;           /* what passed in the last round, 0 none */
	uint32_t proven;         /* the round before found by silence that no more passes; 0 none did */
	unsigned tries;
	unsigned first_sign;     /* tries of the control before a path counts as dead */
	uint64_t longest_usec;   /* then it ends undecided */
	bool gentle;             /* a peer that limits its answers: one packet a second */
	bool plain_too;          /* a dead path is worth a SYN without data */
	bool cautious;           /* nothing large before the control was answered */
	bool repeats;            /* another method found a fault here already */
	bool followed_up;        /* nothing is said before another round, a second later at least */
	uint16_t first_sequence;
};

/* What a router said of one size. */
struct round_report {
	uint32_t size;
	uint32_t mtu;
	struct address from;
};

#define REPORTS_LARGEST 8

struct round {
	struct round_settings settings;
	struct evidence evidence;   /* complete when done */
	struct tries tries;
	struct round_report reports[REPORTS_LARGEST]; /* the first is the full size's */
	uint32_t goal;              /* the size asked about: the full one; on the way back what arrived */
	uint32_t plan[BURST_LARGEST];
	unsigned plan_count;        /* 0: nothing is planned */
	unsigned plan_sent;         /* of a kind that goes one by one */
	unsigned report_count;
	uint64_t gentle_usec;       /* no packet of a gentle round before */
	unsigned cookies;           /* that were asked for */
	unsigned quiet;             /* full-size tries with no oversize probe in the second before */
	uint64_t began_usec;
	uint64_t send_usec;         /* when the plan may be sent */
	uint64_t oversize_usec;     /* when something above the floor was last sent, 0 never */
	uint64_t rtt_usec;          /* largest seen in this round, 0 none */
	uint32_t suggested;         /* a size to ask because a report or the last round named it */
	uint32_t boundary;          /* it passes and the size above it seems not to; 0 not known */
	bool heard_others;          /* what other paths say was suggested already */
	uint16_t bursts;
	uint64_t now_usec;          /* when it was last planned */
	bool hopeless;              /* the peer itself says that this method has nothing to answer */
	bool settling;              /* all that is left is to wait for late answers */
	bool done;
};

/* Sizes to send now, together; the sequence of sizes[i] is first_sequence + i. */
struct burst {
	enum probe_kind kind;
	uint64_t nonce;
	unsigned flow;              /* number of the flow */
	unsigned count;
	uint16_t first_sequence;
	uint32_t sizes[BURST_LARGEST];
	uint8_t ttls[BURST_LARGEST]; /* 0: the system's default */
};

void round_begin(struct round *round, const struct round_settings *settings, uint64_t now_usec);

/* True when the answer belongs to this round (sequence, size, nonce); step afterwards. */
bool round_answer(struct round *round, const struct answer *answer, uint64_t now_usec);

/* When something may be sent: the budget of all, and the turn of the address it goes to.
 * And what other paths that begin alike have found out meanwhile. */
struct turn {
	struct pace *pace;
	uint32_t *passes;           /* the last size found where larger ones fail, 0 none; or NULL */
	const struct address *to;
};

/* Books a packet that is answered once a second only. `patience` doubles the spacing so often. */
uint64_t turn_book_slow(const struct turn *turn, uint64_t at_usec, unsigned patience);
/* False where it must wait until *ret_again_usec, since the one before left late. */
bool turn_leave_slow(const struct turn *turn, uint64_t now_usec, uint64_t *ret_again_usec);

/* The kernel dropped packets: what was not answered tells nothing. */
void round_overflow(struct round *round);

/*
 * Goes on as far as it can: fills *ret_burst when something is to be sent now, and returns when to
 * call again at the latest; USEC_NEVER when round->done.
 */
uint64_t round_step(struct round *round, struct turn *turn, uint64_t now_usec,
		    struct burst *ret_burst);

/* Silent so far, or all but certain that less than the full size passes: another method may begin
 * to look meanwhile. */
bool round_is_doubtful(const struct round *round);
