/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does loss depend on size? Threes of control, middle and full size, many of them, only where a
 * path that carries the full size is suspected to lose it too often. By any method; a responder
 * tells the two ways apart.
 */
#pragma once

#include "round.h"

#define SAMPLE_LARGEST 256U

struct sample_settings {
	enum probe_kind kind;
	uint64_t nonce;
	uint64_t wait_usec;
	uint32_t sizes[3];     /* control, middle, full */
	uint32_t plain;        /* PROBE_SYN: size of one without data */
	unsigned most;         /* threes, at most SAMPLE_LARGEST */
	uint16_t first_sequence;
};

/* How many of each size were lost on one way. */
struct sample_losses {
	unsigned sent, lost[3];
	bool lossy;            /* the full size is lost clearly more often, and not always */
};

struct sample {
	struct sample_settings settings;
	uint64_t until_usec;              /* answers are waited for until then */
	uint64_t send_usec;               /* PROBE_UDP: its turn, where one is booked */
	bool booked;
	unsigned sent;                    /* packets */
	uint8_t arrived[SAMPLE_LARGEST];  /* bits: which of the three */
	uint8_t returned[SAMPLE_LARGEST];
	uint8_t untold[SAMPLE_LARGEST];    /* it tells nothing */
	struct sample_losses there, back; /* back: PROBE_RESPONDER, of what arrived */
	bool done;
};

void sample_begin(struct sample *sample, const struct sample_settings *settings);
bool sample_answer(struct sample *sample, const struct answer *answer);
/* The kernel dropped packets: what was not answered tells nothing. */
void sample_overflow(struct sample *sample);
uint64_t sample_step(struct sample *sample, struct turn *turn, uint64_t now_usec,
		     struct burst *ret_burst);

/* Are two counts so far apart that one rate of loss does not explain both? */
bool loss_is_clear(struct loss full, struct loss control);
