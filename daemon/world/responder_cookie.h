/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cookies that the responder gives out and knows again without remembering anybody. Pure: the
 * caller brings randomness and time.
 */
#pragma once

#include <stdbool.h>

#include "../core/facts.h"
#include "siphash.h"

#define COOKIES_LIFE_USEC (300 * USEC_PER_SEC) /* of a key; a cookie is good for one to two of them */

struct cookies {
	uint8_t keys[2][SIPHASH_KEY_SIZE]; /* the one in use and the one before */
	uint64_t since_usec;               /* when the one in use began; CLOCK_MONOTONIC */
};

/* How many fresh keys cookies_renew() wants now: 0, 1 or 2. */
unsigned cookies_stale(const struct cookies *cookies, uint64_t now_usec);
void cookies_renew(struct cookies *cookies, const uint8_t key[static SIPHASH_KEY_SIZE],
		   uint64_t now_usec);

/* Never 0. */
uint64_t cookies_make(const struct cookies *cookies, const struct address *client, uint16_t port);
bool cookies_check(const struct cookies *cookies, const struct address *client, uint16_t port,
		   uint64_t cookie);
