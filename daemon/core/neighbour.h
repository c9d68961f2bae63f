/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The other end of a link's cable: what is plugged in there, and whether it sends more than the
 * link takes or takes less than the link sends. Hints for people: nothing here is a verdict.
 */
#pragma once

#include "lint.h"

#define NEIGHBOUR_TEXT 64 /* with the closing NUL */

/* Printable UTF-8, whatever came over the wire. */
struct neighbour {
	char system[NEIGHBOUR_TEXT]; /* its name, else what identifies it */
	char port[NEIGHBOUR_TEXT];   /* "" it does not say */
	uint32_t max_frame;	     /* header and checksum included; 0 it does not say */
	bool is_switch;		     /* it says so, or says nothing about that */
};

/* IEEE 802.3 section 3.1: 14 bytes of header, 4 of checksum; IEEE 802.1Q: 4 a tag. */
#define FRAME_HEADER 14U
#define FRAME_CHECKSUM 4U
#define FRAME_TAG 4U

/* Frames that came in longer than the link takes. */
struct inbound {
	uint32_t per_minute; /* 0: none */
	uint8_t counter;     /* see counters.h */
	bool sure;	     /* the counter has no other meaning */
};

struct far_end {
	struct neighbour *neighbour; /* the owner's; NULL nothing known */
	uint32_t sends;		     /* largest frame that leaves by the link, header and tags
				      * included; 0: what the neighbour announces is of no interest */
	struct inbound inbound;
};

bool neighbour_equal(const struct neighbour *a, const struct neighbour *b);

/* Several on one cable: whether `a` is named rather than `b`. A switch before a host; else by name,
 * so that it does not change with who spoke last. */
bool neighbour_precedes(const struct neighbour *a, const struct neighbour *b);

/* It announces clearly less than `sends`, which counts no checksum: some leave it out of what they
 * announce, and others announce the size of a packet (`mtu`) in its place. */
bool neighbour_takes_less(const struct neighbour *neighbour, uint32_t sends, uint32_t mtu);

/* Adds what is wrong there to the findings of `link`. */
void far_end_lint(const struct far_end *far, const struct link *link, struct findings *findings);
