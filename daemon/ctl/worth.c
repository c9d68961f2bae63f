/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two series differ where their ranges do not touch and their medians are further apart than what
 * nobody would change an MTU for.
 */
#include "worth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FASTER_LEAST 1.03
#define CHEAPER_LEAST 0.90

static int real_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static struct spread spread_of(double *values, unsigned count)
{
	struct spread spread = {0};

	if (count == 0)
		return spread;
	qsort(values, count, sizeof(*values), real_compare);
	spread.least = values[0];
	spread.most = values[count - 1];
	spread.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
	return spread;
}

struct spread series_bits(const struct series *series)
{
	double values[WORTH_RUNS];

	for (unsigned i = 0; i < series->count; i++)
		values[i] = (double)series->runs[i].bits;
	return spread_of(values, series->count);
}

static double cpu_of(const struct series *series, unsigned run, bool sender)
{
	const struct iperf_answer *answer = &series->runs[run];

	return sender != series->reverse ? answer->cpu_here : answer->cpu_there;
}

struct spread series_cpu(const struct series *series, bool sender)
{
	double values[WORTH_RUNS];

	for (unsigned i = 0; i < series->count; i++)
		values[i] = cpu_of(series, i, sender);
	return spread_of(values, series->count);
}

/* Both ends' together. */
static struct spread series_cpu_sum(const struct series *series)
{
	double values[WORTH_RUNS];

	for (unsigned i = 0; i < series->count; i++)
		values[i] = cpu_of(series, i, true) + cpu_of(series, i, false);
	return spread_of(values, series->count);
}

uint64_t series_retransmits(const struct series *series)
{
	double values[WORTH_RUNS];

	for (unsigned i = 0; i < series->count; i++) {
		if (!series->runs[i].has_retransmits)
			return UINT64_MAX;
		values[i] = (double)series->runs[i].retransmits;
	}
	return (uint64_t)spread_of(values, series->count).median;
}

bool series_stalls(const struct series *series)
{
	for (unsigned i = 0; i < series->count; i++)
		if (series->runs[i].stalled)
			return true;
	return false;
}

enum worth worth_judge(const struct series *smaller, const struct series *larger)
{
	struct spread small = series_bits(smaller), large = series_bits(larger);
	struct spread cost_small = series_cpu_sum(smaller), cost_large = series_cpu_sum(larger);

	if (series_stalls(smaller))
		return WORTH_BOTH_STALL;
	if (series_stalls(larger))
		return WORTH_STALLS;
	if (large.least > small.most && large.median >= small.median * FASTER_LEAST)
		return WORTH_FASTER;
	if (large.most < small.least && small.median >= large.median * FASTER_LEAST)
		return WORTH_SLOWER;
	if (cost_large.most < cost_small.least &&
	    cost_large.median <= cost_small.median * CHEAPER_LEAST)
		return WORTH_CHEAPER;
	return WORTH_NONE;
}

const char *worth_word(enum worth worth)
{
	switch (worth) {
	case WORTH_FASTER:
		return "faster";
	case WORTH_SLOWER:
		return "slower";
	case WORTH_CHEAPER:
		return "cheaper";
	case WORTH_NONE:
		return "none";
	case WORTH_STALLS:
		return "stalls";
	case WORTH_BOTH_STALL:
		return "both-stall";
	}
	return "none";
}

static int print_sentence(char **ret, const struct series *smaller, const struct series *larger)
{
	const char *way = larger->reverse ? "From the peer" : "To the peer";
	unsigned small = smaller->size, large = larger->size;
	double gain = series_bits(smaller).median > 0
			      ? series_bits(larger).median / series_bits(smaller).median
			      : 0;
	double cost = series_cpu_sum(smaller).median > 0
			      ? series_cpu_sum(larger).median / series_cpu_sum(smaller).median
			      : 0;

	switch (worth_judge(smaller, larger)) {
	case WORTH_FASTER:
		return asprintf(ret, "%s: %u is %.2f times as fast as %u.", way, large, gain,
				small);
	case WORTH_SLOWER:
		return asprintf(ret, "%s: %u is slower than %u (%.2f times as fast): stay at %u.",
				way, large, small, gain, small);
	case WORTH_CHEAPER:
		return asprintf(ret,
				"%s: %u is no faster than %u, but both ends together spend %.0f%% "
				"less CPU.",
				way, large, small, 100 - 100 * cost);
	case WORTH_NONE:
		return asprintf(ret, "%s: no gain from %u that is more than chance: stay at %u.",
				way, large, small);
	case WORTH_STALLS:
		return asprintf(
			ret,
			"%s: %u stalls where %u runs: packets of that size get lost on the "
			"way (\"mtuwatchctl explain\" tells where). Stay at %u until that is "
			"mended.",
			way, large, small, small);
	case WORTH_BOTH_STALL:
		return asprintf(ret, "%s: already %u stalls: that is no matter of the larger size.",
				way, small);
	}
	return -1;
}

char *worth_sentence(const struct series *smaller, const struct series *larger)
{
	char *text = NULL;

	return print_sentence(&text, smaller, larger) < 0 ? NULL : text;
}
