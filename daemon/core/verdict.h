/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a round's evidence means: verdict, direction, locus, severity, and the findings beside it.
 * Decides only; when to announce it is the peer's matter.
 */
#pragma once

#include "facts.h"

enum verdict {
	VERDICT_UNKNOWN,
	VERDICT_CONSISTENT,
	VERDICT_REDUCED,
	VERDICT_BLACK_HOLE,
	VERDICT_PARTIAL,
	VERDICT_LOSSY,
	VERDICT_MISCONFIGURED,
	VERDICT_UNREACHABLE,
	VERDICT_UNVERIFIABLE,
};
#define VERDICT_COUNT 9

enum severity {
	SEVERITY_NONE, /* not measured yet */
	SEVERITY_OK,
	SEVERITY_NOTICE,
	SEVERITY_WARNING,
	SEVERITY_CRITICAL,
};

enum direction {
	DIRECTION_NONE, /* there is no fault */
	DIRECTION_UNKNOWN,
	DIRECTION_FORWARD,
	DIRECTION_RETURN,
	DIRECTION_BOTH,
};

enum locus {
	LOCUS_NONE,
	LOCUS_LOCAL,
	LOCUS_ON_LINK,
	LOCUS_AFTER, /* the last hop that the full size reached */
	LOCUS_AT,    /* the router that refused */
};

/* Why a path is unreachable or misconfigured; more than the verdict's word says. */
enum reason {
	REASON_NONE,
	REASON_LINK_SMALLER,   /* the link's MTU is below the expected one */
	REASON_ROUTE_SMALLER,  /* the route's MTU is below the expected one */
	REASON_WRONG_LINK,     /* the route does not use the configured link */
	REASON_SEND_REFUSED,   /* this host's packet filter refuses to send (EPERM) */
	REASON_NO_ADDRESS,     /* the host name does not resolve */
	REASON_OWN_ADDRESS,    /* the address is this host's own */
	REASON_BROADCAST,      /* it is that of all hosts on a link */
	REASON_MULTICAST,      /* it is that of a group of hosts */
	REASON_NO_LINK,        /* the configured link is not there */
	REASON_LINK_DOWN,      /* down or without carrier */
	REASON_NO_ROUTE,
	REASON_HOST_SHORT,     /* of memory, descriptors or ports: nothing could be asked */
	REASON_NO_NEIGHBOUR,   /* nobody answers ARP or neighbour discovery */
	REASON_HOST_UNREACHABLE, /* a router says so */
	REASON_SILENT,         /* no answer and no word why */
	REASON_IRREGULAR,      /* answers come too irregularly to tell sizes apart */
	REASON_NO_SIZES,       /* it connects, but nothing of any size is answered */
	REASON_NO_RESPONDER,   /* it lives, but no responder answers there */
	REASON_FLOWS_DEAD,     /* some flows carry nothing at all */
};

/* No other host can have the address, whatever is measured. */
static inline bool reason_is_address(enum reason reason)
{
	return reason == REASON_OWN_ADDRESS || reason == REASON_BROADCAST ||
	       reason == REASON_MULTICAST;
}

enum round_outcome {
	OUTCOME_UNDECIDED, /* too much loss to tell, or cut short: no verdict from this round */
	OUTCOME_FULL,      /* the full size was answered */
	OUTCOME_LESS,      /* passes was answered, passes + 1 and the full size were not */
	OUTCOME_NOTHING,   /* not even the control was answered */
};

/* What a round found out. */
struct evidence {
	enum probe_kind kind;     /* an echo measures the round trip, a responder each way, else only forward */
	enum round_outcome outcome; /* of the way there (echo: of the round trip) */
	uint32_t full;            /* the size that was asked for */
	uint32_t passes;          /* largest answered size, 0 none */
	uint32_t return_passes;   /* PROBE_RESPONDER: largest size that came back, 0 unknown */
	uint8_t distance;         /* hops to who answered, plus 1; 0 unknown */
	bool dried_up;            /* in the midst of it the answers ended, small ones too */
	bool cut_short;           /* the full size's echo came back shorter than it went */
	bool connects;            /* a plain SYN is answered, one with data is not */
	uint32_t fragment;        /* largest fragment of the full size's reply, 0 it came whole */
	bool reported;            /* reports for the full size lead down to a size that passes */
	struct address router;    /* who reported; ADDRESS_NONE nobody */
	uint32_t wrong_mtu;       /* a reported value that is not what passes; see has_wrong_report */
	bool has_wrong_report;
	struct address wrong_router;
	bool refused;             /* this host itself refused the full size (EPERM) */
	int error;                /* last unreachable report, or refusal of the control; 0 none */
	struct address error_from;
	bool error_is_own;        /* it came from this host: its neighbour did not answer */
	uint64_t rtt_usec;        /* of the control, 0 unknown */
	uint32_t fails_below;     /* a size below what passes that was lost all the same, 0 none */
	uint8_t flows;            /* how many there are, */
	uint8_t flows_shown;      /* and how many went a way of their own, as far as known */
	bool refused_by_peer;     /* the peer itself says that nothing listens there */
	uint32_t echo_limit;      /* echo alone ends here, though another method passes; 0 it does not */
};

/* What is known of a path without probing it. */
struct path_facts {
	enum reason trouble;    /* REASON_NONE: it can be probed */
	uint32_t expected;      /* expected MTU */
	uint32_t capacity;      /* largest packet this host can send on it */
	enum reason narrow;     /* why this host cannot send the expected size, else REASON_NONE */
	uint32_t kernel_mtu;
	uint32_t clamp_mtu;     /* a clamp of ours makes the kernel use this; 0 none */
	bool link_clamped;      /* the link's own MTU is that clamp: nothing larger can be asked */
	bool expect_configured; /* ExpectMTU= of the peer or the link */
	bool on_link;           /* no router between */
	bool ipv6;
	struct address told_by; /* a router that told another path this way of this size; or NONE */
	bool borne_out;         /* another peer by this link fails at the same size */
	bool refuted;           /* packets of full size pass through this peer to another one */
	bool discovered;        /* nobody asked for it to be watched */
	bool gateway;           /* a discovered router: no more than a warning */
	bool ever_answered;
	uint32_t whole_back;    /* size whose echo once came back whole; 0 none */
};

struct judgement {
	enum verdict verdict;
	enum severity severity;
	enum direction direction;
	enum locus locus;
	enum reason reason;
	struct address locus_address; /* LOCUS_AFTER, LOCUS_AT */
	struct address router;        /* who sent the report; ADDRESS_NONE nobody */
	uint32_t path_mtu;            /* forward, 0 unknown */
	uint32_t return_mtu;          /* 0 unknown */
	bool confirmed;               /* borne out by more than echo */
};

/* All that was found out in one check. */
struct testimony {
	const struct evidence *main;
	const struct evidence *second; /* another method's, NULL none */
	unsigned flows;
	unsigned flows_full;           /* that carry the full size */
	unsigned flows_dead;           /* that carry nothing, though others do */
	enum locus locus;              /* where it is lost, by a walk; LOCUS_NONE not known */
	struct address hop;
	bool router_fails;             /* a router before the peer bears the fault out */
	bool only_life;                /* the second shows no more than that the peer lives */
	bool lossy_there, lossy_back;  /* the full size passes, but is lost too often */
	bool irregular;                /* too many checks in a row ended undecided */
};

/* What one round says. OUTCOME_UNDECIDED gives VERDICT_UNKNOWN. */
void verdict_judge(const struct path_facts *facts, const struct evidence *evidence,
		   struct judgement *ret);

/* What all of it says. *ret_echo_limit: echo alone ends there, though more passes; 0 it does not. */
void verdict_weigh(const struct path_facts *facts, const struct testimony *testimony,
		   struct judgement *ret, uint32_t *ret_echo_limit);

enum severity verdict_severity(enum verdict verdict, const struct path_facts *facts, bool confirmed);

/* The order of badness: greater is worse. */
int verdict_rank(enum verdict verdict);

/* Less than expected passes, or nothing does. */
bool verdict_is_fault(enum verdict verdict);
