/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Token buckets that may be overdrawn once. Knows neither clients nor packets. */
#include "responder_budget.h"

#include "../core/facts.h"

#define TOKENS_A_BYTE 1000000	  /* rate times microseconds is exact */
#define BURST_SMALLEST 131072U	  /* bytes: two packets of the largest size */
#define SHARE 8			  /* one client's part of the rate and of the burst */
#define RATE_LARGEST (1ULL << 37) /* bytes: no product below overflows */

void budget_init(struct budget *budget, uint64_t bytes_per_sec, uint64_t now_usec)
{
	uint64_t rate = bytes_per_sec < RATE_LARGEST ? bytes_per_sec : RATE_LARGEST;
	int64_t burst = (int64_t)(rate > BURST_SMALLEST ? rate : BURST_SMALLEST) * TOKENS_A_BYTE;

	*budget = (struct budget){
		.bytes_per_sec = rate,
		.burst = burst,
		.all = {.tokens = burst, .filled_usec = now_usec},
	};
	for (unsigned i = 0; i < BUDGET_SHARES; i++)
		budget->shares[i] =
			(struct bucket){.tokens = burst / SHARE, .filled_usec = now_usec};
}

static int64_t bounded(int64_t value, int64_t least, int64_t most)
{
	if (value < least)
		return least;
	return value < most ? value : most;
}

static void bucket_fill(struct bucket *bucket, uint64_t rate, int64_t burst, uint64_t now_usec)
{
	uint64_t passed = now_usec - bucket->filled_usec;
	uint64_t longest = 2 * (uint64_t)burst / rate + 1; /* fills it from the deepest debt */
	int64_t gained = (int64_t)((passed < longest ? passed : longest) * rate);

	bucket->filled_usec = now_usec;
	bucket->tokens = bounded(bucket->tokens + gained, -burst, burst);
	if (bucket->closed && bucket->tokens >= burst / 2)
		bucket->closed = false;
}

static uint64_t share_rate(const struct budget *budget)
{
	return budget->bytes_per_sec > SHARE ? budget->bytes_per_sec / SHARE : 1;
}

bool budget_allows(struct budget *budget, uint64_t hash, uint64_t now_usec)
{
	struct bucket *share = &budget->shares[hash % BUDGET_SHARES];

	if (budget->bytes_per_sec == 0)
		return true;
	bucket_fill(&budget->all, budget->bytes_per_sec, budget->burst, now_usec);
	bucket_fill(share, share_rate(budget), budget->burst / SHARE, now_usec);
	if (budget->scarce && budget->all.tokens >= budget->burst / 4 * 3)
		budget->scarce = false;
	if (budget->all.closed)
		return false;
	return !budget->scarce || !share->closed;
}

static void bucket_take(struct bucket *bucket, uint32_t bytes, int64_t burst)
{
	bucket->tokens = bounded(bucket->tokens - (int64_t)bytes * TOKENS_A_BYTE, -burst, burst);
	if (bucket->tokens < 0)
		bucket->closed = true;
}

void budget_charge(struct budget *budget, uint64_t hash, uint32_t bytes)
{
	if (budget->bytes_per_sec == 0)
		return;
	bucket_take(&budget->all, bytes, budget->burst);
	if (budget->all.tokens < budget->burst / 2)
		budget->scarce = true;
	bucket_take(&budget->shares[hash % BUDGET_SHARES], bytes, budget->burst / SHARE);
}
