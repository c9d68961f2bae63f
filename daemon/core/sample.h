/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does loss depend on size? Threes of control, middle and full size, many of them, only where a
 * path that carries the full size is suspected to lose it too often.
 */
#pragma once

#include "round.h"

#define SAMPLE_LARGEST 256U

struct sample_settings {
	uint64_t nonce;
	uint64_t wait_usec;
	uint32_t sizes[3];     /* control, middle, full */
	uint16_t first_sequence;
};

struct sample {
	struct sample_settings settings;
	uint64_t until_usec;
	unsigned sent;                    /* threes */
	uint8_t answered[SAMPLE_LARGEST]; /* bits: which of the three */
	bool lossy;                       /* the full size is lost clearly more often than the control */
	unsigned lost[3];
	bool done;
};

void sample_begin(struct sample *sample, const struct sample_settings *settings);
bool sample_answer(struct sample *sample, const struct answer *answer);
uint64_t sample_step(struct sample *sample, struct turn *turn, uint64_t now_usec,
		     struct burst *ret_burst);
