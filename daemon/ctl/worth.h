/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs at two or more sizes held against each other: what the larger one gains, and whether that is
 * more than chance. Only counts.
 */
#pragma once

#include "command.h"
#include "iperf.h"

#define WORTH_SIZES SIZES_LARGEST
#define WORTH_RUNS 20

/* All runs at one size in one direction. */
struct series {
	uint32_t size;
	bool reverse;
	unsigned count;
	struct iperf_answer runs[WORTH_RUNS];
};

struct spread {
	double median, least, most;
};

enum worth {
	WORTH_FASTER,
	WORTH_SLOWER,
	WORTH_CHEAPER, /* as fast, for less CPU */
	WORTH_NONE,
	WORTH_STALLS, /* the larger one is a black hole */
	WORTH_BOTH_STALL,
};

struct spread series_bits(const struct series *series);
struct spread series_cpu(const struct series *series, bool sender);
uint64_t series_retransmits(const struct series *series); /* median; UINT64_MAX unknown */
bool series_stalls(const struct series *series);	  /* any run did */

/* `larger` against `smaller`, of the same direction. */
enum worth worth_judge(const struct series *smaller, const struct series *larger);
/* "9000 there: 2.1 times as fast as 1500". malloc'ed, NULL out of memory. */
char *worth_sentence(const struct series *smaller, const struct series *larger);
const char *worth_word(enum worth worth); /* "faster" */
