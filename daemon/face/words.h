/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The words and sentences that people see, the same on every surface.
 */
#pragma once

#include "../core/cause.h"
#include "../core/roster.h"
#include "address_text.h"

const char *words_verdict(enum verdict verdict);     /* "black-hole" */
const char *words_severity(enum severity severity);  /* "", "ok", "notice", "warning", "critical" */
const char *words_direction(enum direction direction); /* "" for DIRECTION_NONE */
const char *words_method(enum method method);
const char *words_kind(enum probe_kind kind);        /* the method that sends it */
/* The method in use; "auto" while none has been answered. */
const char *words_path_method(const struct peer *peer, const struct path *path);
const char *words_origin(enum origin origin);
const char *words_refusal(enum clamp_refusal refusal); /* why a fault is not treated; "" it may be */
const char *words_finding(enum finding_id id);       /* "link-below-expected" */

/* "on-link", "local", "after 192.0.2.254", "at 192.0.2.254", "" */
char *words_locus(const struct judgement *judgement); /* malloc'ed, NULL out of memory */

/* The link that a path is about: the wanted one where packets can not even try it. "" none. */
const char *words_link(const struct path *path);

/* Which way, which flows, where: "2 of 8 flows, after 192.0.2.254", "on the way back". malloc'ed. */
char *words_place(const struct path *path, const struct judgement *judgement);

/* The size that a verdict's fault is about: the smaller one of the two ways. 0 unknown. */
uint32_t words_size(const struct judgement *judgement);

/* One sentence on why, "" when there is nothing to say. malloc'ed. */
char *words_reason(const struct peer *peer, const struct path *path,
		   const struct judgement *judgement);

/* "peer san-a (192.0.2.10) by eth1: black-hole: packets above 1500 bytes get lost without a word on
 * the way to it (after 192.0.2.254), 9000 expected (ping payload 1472, TCP MSS 1460); borne out by
 * tcp". malloc'ed. */
char *words_verdict_sentence(const struct peer *peer, const struct path *path,
			     const struct judgement *judgement);

/* What to do about it, "" when there is nothing to do. malloc'ed. */
char *words_verdict_advice(const struct peer *peer, const struct path *path,
			   const struct judgement *judgement);

/* "switch sw1 port Eth1/7": where the cables of the path's link end, for a fault that is on that
 * link; "" not known, or it is elsewhere. malloc'ed. */
char *words_neighbours(const struct peer *peer, const struct path *path,
		       const struct judgement *judgement);
/* "sw1 Eth1/7"; "" nothing is known. malloc'ed. */
char *words_neighbour(const struct neighbour *neighbour);
/* What they announce of the frames they take, where that is less than `expected` needs: " (it
 * announces frames of at most 1518 bytes)"; "" nothing. malloc'ed. */
char *words_neighbour_frames(const struct peer *peer, const struct path *path);
/* FINDING_INBOUND_OVERSIZE. malloc'ed. */
char *words_inbound(const struct finding *finding);

/* What is wrong, and what to do. malloc'ed. */
char *words_finding_text(const struct finding *finding);
char *words_finding_advice(const struct finding *finding);
/* The same of what is only about links; "" else. */
char *words_link_finding_text(const struct finding *finding);
char *words_link_finding_advice(const struct finding *finding);

/* "MTU 1500, was 9000: t0 became a port of it". malloc'ed. */
char *words_link_change(const struct link *before, const struct link *now,
			const struct cause *cause);

/* The same, of what the kernel remembers and of live connections. */
char *words_kernel_finding_text(const struct finding *finding);
char *words_kernel_finding_advice(const struct finding *finding);

/* PRIORITY= of a severity: critical 3, warning 4, notice 5, ok 6. */
int words_priority(enum severity severity);
