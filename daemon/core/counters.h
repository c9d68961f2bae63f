/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From receive counters, read again and again, to "frames come in that are too long for this link".
 * Knows which driver counts them under which name; reads nothing itself.
 */
#pragma once

#include "neighbour.h"

#define COUNTERS_LARGEST 2U /* of one link */
#define COUNTERS_PERIOD_USEC (30 * USEC_PER_SEC)
#define COUNTERS_PERIOD_CLOSE_USEC (10 * USEC_PER_SEC) /* something rises */
#define COUNTERS_QUIET_USEC (300 * USEC_PER_SEC)       /* then it is over */

/* The first two are the kernel's for every link (struct rtnl_link_stats64); the others a driver's.
 */
enum {
	COUNTER_LENGTH_ERRORS, /* too long or too short */
	COUNTER_OVER_ERRORS,   /* did not fit into a buffer, or there was none */
	COUNTER_OF_DRIVER,     /* and up */
};

unsigned counters_known(void); /* how many there are */
const char *counter_name(unsigned counter);
/* Whether `driver` counts these frames by this counter. */
bool counter_is_of(unsigned counter, const char *driver);
/* Nothing else is counted there. */
bool counter_is_sure(unsigned counter);
/* RFC 2819 etherStatsOversizePkts: whatever is above 1518, also where the link takes more. */
bool counter_counts_jumbo(unsigned counter);

struct counters_reading {
	uint64_t usec;
	uint64_t packets;  /* received in order */
	uint64_t overruns; /* dropped for want of room or time */
	unsigned count;
	struct {
		uint8_t counter;
		uint64_t value;
	} list[COUNTERS_LARGEST];
};

struct counters {
	struct counters_reading last;	 /* usec 0: none yet */
	uint64_t risen_usec;		 /* when what is found last rose */
	uint8_t rises[COUNTERS_LARGEST]; /* readings in a row in which it rose */
	struct inbound found;
};

/* True when what is found has changed. */
bool counters_on_reading(struct counters *counters, const struct counters_reading *now);

/* The next reading is wanted so soon. */
uint64_t counters_period(const struct counters *counters);
