/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whose turn it is where a host answers no more than once a second: one packet at a time to one
 * address, whichever peers, paths and flows it is for. Keeps no more than a second or two needs.
 */
#pragma once

#include "facts.h"

#define TURN_BUCKETS 64U
#define TURN_PLACES 8U

struct turns {
	struct {
		struct address to;
		uint64_t free_usec; /* the next packet may be booked for then */
		uint64_t left_usec; /* the last one really left then */
	} places[TURN_BUCKETS][TURN_PLACES];
};

/* Books the next packet to this address, `spacing_usec` before the one after it, and returns when
 * it may leave: `at_usec` or later. Where there are too many addresses some share a turn. */
uint64_t turns_book(struct turns *turns, const struct address *to, uint64_t at_usec,
		    uint64_t spacing_usec);

/* What is booked leaves now: true. False where the one before was so late that it is too early. */
bool turns_leave(struct turns *turns, const struct address *to, uint64_t now_usec,
		 uint64_t spacing_usec, uint64_t *ret_again_usec);
