/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much may be sent: a token bucket over all, and a share for each client that counts once
 * what is left for all becomes scarce. Pure: the caller brings the time.
 *
 * Whether a packet may go does not depend on its size, or a short budget would look like a path
 * that swallows large packets: what overdraws a bucket passes, then the bucket stays closed for
 * all sizes until half of it is back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_SHARES 256U /* a client has one by its hash; who falls together shares */

struct bucket {
	int64_t tokens; /* millionths of a byte; below 0: a debt */
	uint64_t filled_usec;
	bool closed;
};

struct budget {
	uint64_t bytes_per_sec; /* 0 no limit */
	int64_t burst; /* tokens */
	bool scarce; /* less than half was left, and not three quarters since: shares count */
	struct bucket all;
	struct bucket shares[BUDGET_SHARES];
};

void budget_init(struct budget *budget, uint64_t bytes_per_sec, uint64_t now_usec);

/* Whether `hash`'s client may be sent something now. */
bool budget_allows(struct budget *budget, uint64_t hash, uint64_t now_usec);
/* `bytes`, at most 2^31, were sent after budget_allows() said so. */
void budget_charge(struct budget *budget, uint64_t hash, uint32_t bytes);
