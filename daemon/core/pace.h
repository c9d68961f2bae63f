/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probing budget, and the spreading of rounds over the interval.
 */
#pragma once

#include "turn.h"

struct pace {
	uint64_t bits_per_sec; /* ProbeBandwidth=; 0: no limit */
	uint64_t free_usec;    /* all that was booked is through by then */
	uint64_t begin_usec;   /* checks that were admitted begin by then */
	uint32_t stretch;      /* intervals are this many thousandths as long; at least 1000 */
	struct turns turns;    /* of what hosts answer once a second only */
};

void pace_init(struct pace *pace, uint64_t bits_per_sec);

/* Books `bytes` behind what is booked already and returns when they may be sent: `now_usec` or
 * later. First booked, first sent. */
uint64_t pace_book(struct pace *pace, uint64_t now_usec, uint32_t bytes);

/* When the budget is free enough for one more check to begin; `now_usec` or before: it is. Those
 * that have begun are brought to their end first. */
uint64_t pace_room(const struct pace *pace);

/* When a check may begin: `now_usec`, or a little later where thousands would begin at once. So
 * those that began are not held up, and what they find out serves those that come after them. */
uint64_t pace_admit(struct pace *pace, uint64_t now_usec);

/* What all healthy rounds need together, in bits per second, decides how far intervals are
 * stretched so that they fit and searches still have room. True when the stretch changed. */
bool pace_load(struct pace *pace, uint64_t load_bits_per_sec);

uint64_t pace_interval(const struct pace *pace, uint64_t interval_usec);

/* The place within the interval of number `position` of `count` paths. Rounds share slots so that
 * their packets share system calls. */
uint64_t pace_phase(uint64_t interval_usec, unsigned position, unsigned count);

/* The next time at this place in the interval that is at least an eighth of it away. */
uint64_t pace_next(uint64_t now_usec, uint64_t interval_usec, uint64_t phase_usec);
