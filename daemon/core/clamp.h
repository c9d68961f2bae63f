/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a path's fault may be treated, and to what size: what its rounds said, counted, and what
 * follows from it. Changes nothing itself, and when in doubt says no.
 */
#pragma once

#include "verdict.h"

enum clamp_kind {
	CLAMP_OFF,
	CLAMP_ROUTE, /* a host route with a smaller MTU */
	CLAMP_LINK,  /* the link's own MTU */
};

struct clamp_settings {
	enum clamp_kind kind;
	unsigned after;  /* faulty rounds in a row */
	uint32_t floor;  /* never below */
	bool own;        /* `kind` is said of this peer itself */
};

/* Why a fault is not treated. */
enum clamp_refusal {
	REFUSAL_NONE,
	REFUSAL_UNCONFIRMED, /* nothing but echo bears the fault out */
	REFUSAL_FLOOR,       /* below ClampFloor= */
	REFUSAL_IPV6,        /* below what every IPv6 path carries */
	REFUSAL_HOST_ROUTE,  /* somebody else's host route is there already */
	REFUSAL_OTHER_LINK,  /* other packets to the peer take another link */
	REFUSAL_PRIVILEGE,
	REFUSAL_KERNEL,      /* the kernel would not */
	REFUSAL_NO_HELP,     /* the kernel goes on with another size, or less than that passes now */
	REFUSAL_BETTER,      /* of a link: another peer by it is good at more */
	REFUSAL_QUORUM,      /* of a link: too few of its peers have the fault */
	REFUSAL_STACK,       /* of a link: what stands on it could not be put back */
	REFUSAL_RECORD,      /* of a link: what it was cannot be kept on a file */
	REFUSAL_TAKEN_OFF,   /* by Release, or by somebody else: not again for the same fault */
};
#define REFUSAL_COUNT 14

/* Why a clamp came off. */
enum clamp_end {
	CLAMP_END_PASSES,    /* the full size passes again */
	CLAMP_END_TOLD,      /* less still passes, but now the sender is told */
	CLAMP_END_SMALLER,   /* the link takes no more than that itself */
	CLAMP_END_OFF,       /* Clamp= does not ask for it any more */
	CLAMP_END_UNWATCHED, /* the peer is not watched any more */
	CLAMP_END_REQUEST,   /* Release */
	CLAMP_END_ROUTE,     /* the route that it was a copy of went */
	CLAMP_END_NO_HELP,
};
#define CLAMP_END_COUNT 8

/* What the rounds of a path said so far. Begins all zero. */
struct clamp_tally {
	uint32_t size;      /* that passed in the last faulty round, 0 none */
	unsigned faulty;    /* rounds in a row in which `size` was answered and more was lost */
	unsigned full;      /* rounds in a row without such a fault */
	bool held;          /* taken off by hand: not again before the fault has gone */
	uint8_t refusal;    /* enum clamp_refusal: what was said of this fault */
};

/* The size that this fault leaves, in the direction that it is in; 0: it is none to be treated. */
uint32_t clamp_size(const struct judgement *judgement);

/* A round is over. `second`: another method's evidence, NULL none. */
void clamp_count(struct clamp_tally *tally, const struct judgement *now,
		 const struct evidence *evidence, const struct evidence *second);

/* The announced verdict changed: with the fault goes what was said and asked about its treatment. */
void clamp_announced(struct clamp_tally *tally, const struct judgement *now);

enum clamp_action {
	CLAMP_LEAVE,  /* everything as it is */
	CLAMP_PUT,    /* a clamp of `mtu`, instead of the one in force */
	CLAMP_LIFT,   /* the one in force comes off; `end` says why */
	CLAMP_REFUSE, /* not treated; `refusal` says why */
};

struct clamp_decision {
	enum clamp_action action;
	uint32_t mtu;
	enum clamp_end end;
	enum clamp_refusal refusal;
};

struct clamp_case {
	const struct clamp_tally *tally;
	const struct judgement *announced;
	const struct path_facts *facts;
	const struct clamp_settings *settings;
	enum clamp_kind kind;   /* what is allowed here, all sections considered */
	unsigned recover_after;
	uint32_t in_force;      /* 0: there is no clamp */
};

void clamp_decide(const struct clamp_case *about, struct clamp_decision *ret);

/* What the peers by one link say of it. Begins all zero. */
struct link_votes {
	unsigned peers;    /* paths by it that are watched */
	unsigned faulty;   /* that have a fault of this size, and one that is borne out */
	bool open;         /* one was not measured yet */
	bool better;       /* one was measured to be good at more */
	uint32_t floor;    /* the largest of theirs */
};

/* A path by the link, about a clamp of `size`. */
void link_votes_add(struct link_votes *votes, const struct judgement *announced,
		    const struct clamp_settings *settings, uint32_t size);

/* A path by a link that stands on it and is lowered to `size` with it: no vote for that, but maybe one
 * against. */
void link_votes_add_above(struct link_votes *votes, const struct judgement *announced, uint32_t size);

/* Not while votes->open. REFUSAL_NONE: the link itself may be clamped to `size`; REFUSAL_BETTER,
 * REFUSAL_QUORUM: by a route then, for the peer alone. */
enum clamp_refusal link_votes_decide(const struct link_votes *votes, const struct link *link,
				     uint32_t size);

/* The verdict of a path whose link is clamped: a round there can only show that `clamp` passes. */
void clamp_hold_verdict(const struct path_facts *facts, const struct judgement *announced,
			struct judgement *now);

/* More faulty rounds are wanted, and soon. */
bool clamp_is_near(const struct clamp_tally *tally, const struct clamp_settings *settings);
