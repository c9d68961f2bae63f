/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One check of one path: a round on each flow; where that leaves a doubt, a second method; where a
 * fault is about to be announced, a walk to find the place; where large packets seem to get lost
 * more often than small ones, a sample.
 */
#pragma once

#include "sample.h"
#include "walk.h"

#define FLOWS_LARGEST 64U
#define FLOWS_SLOW 4U /* so many a check where a peer answers once a second */

/* What the second method is for. */
enum second {
	SECOND_NONE,
	SECOND_LIFE,    /* the first is not answered at all */
	SECOND_CONFIRM, /* the first says that large packets vanish */
};

struct check_settings {
	struct round_settings round; /* of every round; kind, nonce and first_sequence of the first */
	unsigned flow_count;
	uint64_t asked;              /* bits: the flows that this check asks */
	bool in_turn;                /* one flow after the other: a peer that limits its answers is no
				      * bundle with bad members */
	enum probe_kind others[3];   /* methods to turn to, in this order */
	unsigned other_count;        /* 0: the first is the only one asked for */
	uint32_t known_mtu;          /* what the kernel would use: a fault of that size is no secret */
	bool confirm;                /* a silent fault wants a second method */
	bool fall_back;              /* where the first method is deaf another one will do */
	bool only_life;              /* no more than a sign of life is wanted of it */
	bool walk;                   /* a silent fault wants its place found */
	bool sample;                 /* loss that depends on size is suspected */
	uint64_t random;             /* for the nonces of the parts */
};

/* What a check found out. */
struct check_result {
	struct evidence main;    /* of the worst flow */
	struct evidence second;  /* valid when has_second */
	enum second has_second;
	unsigned flow;           /* the worst flow's number */
	unsigned flows_known;    /* of which something is known */
	unsigned flows_faulty;   /* that silently carry less, or nothing */
	unsigned flows_full;
	unsigned flows_dead;     /* that carry nothing, though others do */
	bool told_elsewhere;     /* a flow was told nothing where another one of its size was */
	struct loss loss;        /* plain loss that was seen */
	enum locus locus;        /* of the walk; LOCUS_NONE none was made */
	struct address hop;
	bool router_fails;       /* a router on the way bears the fault out */
	bool sampled;
	bool lossy_there, lossy_back;
	struct loss full, control; /* counted by the sample on the way there */
	uint64_t oversize_usec;  /* when something too big was last sent */
};

struct check {
	struct check_settings settings;
	struct check_result result;
	enum second second_purpose;
	unsigned others_asked;
	unsigned part_flow;        /* of the walk or the sample */
	unsigned guesses;          /* reports that quote too little to tell, and fit nothing */
	bool second_running, walking, sampling, done;
	bool main_over;
	struct round second;
	union {
		struct walk walk;
		struct sample sample;
	};
	struct round rounds[]; /* one a flow */
};

/* Bytes that a check of so many flows needs. */
#define CHECK_SIZE(_flows) (sizeof(struct check) + (_flows) * sizeof(struct round))

void check_begin(struct check *check, const struct check_settings *settings, uint64_t now_usec);
bool check_answer(struct check *check, unsigned flow, const struct answer *answer, uint64_t now_usec);
void check_overflow(struct check *check);

/* Goes on as far as one burst goes; to be called again at once while there was one. Returns when to
 * come again at the latest; USEC_NEVER when check->done. */
uint64_t check_step(struct check *check, struct turn *turn, uint64_t now_usec,
		    struct burst *ret_burst);

/* Something the check sent was lost by nobody's fault but the kernel's. */
bool check_was_silent(const struct check *check);
