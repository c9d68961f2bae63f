/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probing budget, and the spreading of rounds over the interval.
 */
#pragma once

#include "facts.h"

struct pace {
	uint64_t bits_per_sec; /* ProbeBandwidth=; 0: no limit */
	uint64_t free_usec;    /* all that was booked is through by then */
};

/* Books `bytes` at the end of what is booked and returns when they may be sent: `now_usec` or
 * later. First booked, first sent. */
uint64_t pace_book(struct pace *pace, uint64_t now_usec, uint32_t bytes);

/* How long one interval has to be for `bytes_per_interval` to fit: at least `interval_usec`. */
uint64_t pace_interval(const struct pace *pace, uint64_t interval_usec, uint64_t bytes_per_interval);

/* The place within the interval of number `position` of `count` paths; rounds share a slot of
 * 100 ms so that their packets share a system call. */
uint64_t pace_phase(uint64_t interval_usec, unsigned position, unsigned count);

/* The next time at this place in the interval that is at least half an interval away. */
uint64_t pace_next(uint64_t now_usec, uint64_t interval_usec, uint64_t phase_usec);
