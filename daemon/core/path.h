/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One path's life: this host to one address of a peer, and back. When its rounds begin, what
 * they mean, and when a changed verdict is announced.
 *
 * Facts come in by path_on_...(), what is to be done goes out in a struct todo. Nothing here
 * sends, logs, allocates or looks at a clock.
 */
#pragma once

#include <stddef.h>

#include "check.h"
#include "clamp.h"
#include "connections.h"
#include "lint.h"
#include "pace.h"
#include "verdict.h"

enum method {
	METHOD_AUTO,
	METHOD_ICMP,
	METHOD_TCP,
	METHOD_UDP,
	METHOD_RESPONDER,
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
	struct clamp_settings clamp;
};

/* One source port or echo identifier of a path: what ECMP and LACP hash on. Stays the same from
 * round to round, so that a verdict does not flip with the hash. The owner's. */
struct flow {
	struct path *path;
	struct flow *next_in_row;     /* the owner's: another one with an ident like this */
	uint64_t cookie;              /* of the peer's responder; 0 none yet */
	uint16_t ident;
	uint8_t kept_ports;           /* bits of enum probe_kind: the port is kept for it */
	bool told;                    /* a router told of the size that passes */
	bool syn_open;                /* the last SYN may have left a half-open connection behind */
	uint16_t syn_sequence;
	uint16_t passes;              /* carried when last asked, where a check asks some; 0 unknown */
	uint64_t syn_nonce;
};

/* What is kept of a path that is not simply good. */
struct dossier {
	struct judgement candidate;       /* what the last rounds say while it is not announced */
	struct evidence second;           /* another method's, on a fault of path.second_passes bytes */
	struct address hop;               /* of path.locus */
	struct findings findings;
};

/* What a path that is due waits for, so that its round can begin. */
enum path_wait {
	WAITS_FOR_TIME,   /* it is not due, or its turn comes */
	WAITS_FOR_BUDGET, /* see pace_room() */
	WAITS_FOR_PORT,   /* which others have now */
};

struct path {
	/* what it is; the owner's */
	struct address address;           /* ADDRESS_NONE: not resolved yet */
	struct address from;              /* configured source; ADDRESS_NONE: the kernel chooses */
	char wanted_link[LINK_NAME_SIZE]; /* Interface=; "" the route decides */
	const struct peer_settings *settings;
	void *owner;
	struct flow *flows;
	unsigned flow_count;
	uint16_t port;                    /* Port=, 0 the method's own */
	uint8_t family;                   /* of a host name's addresses: which this path takes */
	int bound_link;                   /* packets are sent by this link; 0 the route decides */
	bool discovered;                  /* nobody asked for it to be watched */
	bool gateway;                     /* and it is a router, whose own word on echoes is worth little */
	bool admitted;                    /* the next check has its turn: see pace_admit() */
	bool outdated;                    /* something changed under the last check: see path_endures() */
	enum path_wait waits;
	uint64_t phase_usec;              /* its place within the interval */

	/* what the kernel says */
	struct route route;
	char link_name[LINK_NAME_SIZE];   /* the egress link's; "" none */
	uint32_t link_mtu;
	struct path_facts facts;
	uint32_t *link_passes;            /* see struct turn; the owner's, one for all by this link */

	/* what was found */
	struct judgement announced;
	struct dossier *dossier;          /* the owner's memory; NULL: there is nothing to be kept */
	struct evidence evidence;         /* of the last decided check, of the worst flow */
	uint32_t hint;                    /* what passed in the last check, 0 none or all */
	uint32_t second_passes;           /* 0: none is kept */
	uint64_t second_rounds;           /* when it was asked, counted in rounds */
	enum probe_kind kind;             /* method in use */
	uint32_t echo_limit;              /* echo alone ended here when it was last asked; 0 it did not */
	unsigned flows_faulty;            /* by the last decided check */
	enum locus locus;                 /* found by a walk for a fault of locus_mtu bytes */
	bool router_fails;                /* the walk found that a router bears the fault out */
	bool told_elsewhere;              /* see struct check_result, of the last check */
	uint32_t locus_mtu;               /* 0: no walk was made */
	struct loss full_loss;            /* of the full size where it passes, and of the control beside */
	struct loss control_loss;
	struct path_sockets sockets;      /* live TCP connections */
	uint32_t check_beside;            /* what the kernel had learned when the last check began, 0 nothing */
	uint32_t measured_beside;         /* the same of the check that known_mtu is from */
	struct loss loss;                 /* plain loss, fading */
	struct clamp_tally clamp;
	unsigned streak;                  /* rounds in a row that gave the candidate; 0: none */
	unsigned differing;               /* rounds in a row that gave something not announced */
	unsigned undecided;               /* rounds in a row that gave nothing */
	unsigned gentle_rounds;           /* bursts drew too irregular answers: so many rounds without */
	uint32_t known_mtu;               /* last measured, kept while unreachable */
	uint64_t rtt_usec;                /* smoothed; 0 unknown */
	uint64_t since_usec;              /* CLOCK_REALTIME: begin of the announced verdict */
	uint64_t last_round_usec;         /* CLOCK_REALTIME; 0 none */
	uint64_t rounds;
	uint64_t control_sent, control_lost;
	uint64_t full_sent, full_lost;    /* every size above the control */

	/* when what comes next; CLOCK_MONOTONIC */
	struct check *check;              /* the running one, memory of the owner; NULL none */
	uint64_t wake_usec;               /* when path_on_time() is wanted */
	uint64_t due_usec;                /* begin of the next round */
	uint64_t began_usec;              /* begin of the last check; 0 none */
	uint64_t ended_usec;              /* end of the last round; 0 none */
	uint64_t told_usec;               /* when a standing fault was last said */
	uint64_t restart_usec;            /* no event starts a round before this */
	uint64_t restart_gap_usec;
	uint64_t unrest_usec;             /* begin of the events that follow each other */
	unsigned queue_place;             /* see queue.h */
	struct path *next_witness;        /* see witness.h */
	struct path **witness_place;
};

/* The moment a fact came in, with fresh random numbers. */
struct moment {
	uint64_t now_usec;  /* CLOCK_MONOTONIC */
	uint64_t real_usec; /* CLOCK_REALTIME */
	uint64_t random[2];
};

/* What is to be done about it. */
struct todo {
	struct burst burst;               /* send these; burst.count 0: nothing */
	bool judge;                       /* the check is over: look at the route again, path_judge() */
	bool announced;                   /* verdict or number changed; before is what was */
	bool details;                     /* only details of what is announced changed */
	bool remind;                      /* the standing fault is to be said again */
	bool findings_changed;            /* findings_before is what was */
	struct judgement before;
	struct findings findings_before;
};

/* What lies around a path now. */
struct surroundings {
	const struct route *route;
	const struct link *link;    /* egress link; NULL none */
	const struct link *wanted;  /* the link of wanted_link; NULL not there or none wanted */
	uint32_t link_expected;     /* ExpectMTU= of the [Link], 0 none */
	uint32_t clamped_from;      /* MTU of the egress link before a clamp of ours; 0 it has none */
	bool wrong_link;            /* the route does not use the wanted link */
};

/* The kernel's view was read. True when it differs so that what was measured is out of date. */
bool path_on_surroundings(struct path *path, const struct surroundings *surroundings);

/* Changes follow each other without end: better a check of one of the ways than none at all. It is
 * judged, and a fresh one follows. */
bool path_endures(struct path *path, uint64_t now_usec);

/* Something relevant changed: the running round is thrown away unless it endures, a fresh one is due at
 * once, or soon where events come in storms. Returns the check's memory to its owner, NULL none. */
struct check *path_restart(struct path *path, uint64_t now_usec);

/* A fresh round was asked for. False when the last one is less than a second old and settled. */
bool path_on_request(struct path *path, uint64_t now_usec);

/* Due and not running: path_begin() wants memory of path_check_size() bytes, unless there is trouble. */
bool path_is_due(const struct path *path, uint64_t now_usec);
/* A change waits for this round to confirm it: others that are due may wait. */
bool path_is_urgent(const struct path *path);
/* Nothing runs and no change waits for a further round to confirm it. */
bool path_is_settled(const struct path *path);

size_t path_check_size(const struct path *path);
void path_begin(struct path *path, struct check *check, const struct moment *moment);

/* Where probes of this kind go. */
uint16_t path_port(const struct path *path, enum probe_kind kind);

/* True when the answer was for the running check. */
bool path_on_answer(struct path *path, struct flow *flow, const struct answer *answer,
		    uint64_t now_usec);
void path_on_overflow(struct path *path);

/* Steps the running check and sets wake_usec. Sets todo->burst, then wants to be called again at
 * once, or todo->judge. */
void path_on_time(struct path *path, struct pace *pace, uint64_t now_usec, struct todo *todo);

/* What is known beside the last verdict; nothing at all where no dossier is kept. */
const struct dossier *path_dossier(const struct path *path);
/* The memory may be taken back. */
bool path_dossier_is_empty(const struct path *path);

/* The end of a check, or of none where facts.trouble forbids one. Returns the check's memory. Needs
 * a dossier, which may be empty, as path_lint() does. */
struct check *path_judge(struct path *path, const struct pace *pace, const struct moment *moment,
			 struct todo *todo);

/* Findings anew from what is known; sets todo->findings_changed. `link` is the egress link; `why` is
 * the finding about a link that explains what is announced, NULL none. */
void path_lint(struct path *path, const struct link *link, const struct finding *why,
	       struct todo *todo);
