/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts, and compares two counts. Ends as soon as it is clear, one way or the other. */
#include "sample.h"

#include <string.h>

#define THREES_A_BURST 3U
#define CLEAR 16U       /* square of the deviations that two equal rates may be apart */
#define LEAST_THREES 24U

void sample_begin(struct sample *sample, const struct sample_settings *settings)
{
	memset(sample, 0, sizeof(*sample));
	sample->settings = *settings;
}

bool sample_answer(struct sample *sample, const struct answer *answer)
{
	uint16_t position = answer->sequence - sample->settings.first_sequence;
	unsigned three = position / 3U, which = position % 3U;

	if (sample->done || three >= sample->sent || answer->kind != ANSWER_ECHO ||
	    !answer->has_nonce || answer->nonce != sample->settings.nonce ||
	    answer->size != sample->settings.sizes[which])
		return false;
	sample->answered[three] |= (uint8_t)(1U << which);
	return true;
}

static void sample_count(struct sample *sample)
{
	memset(sample->lost, 0, sizeof(sample->lost));
	for (unsigned i = 0; i < sample->sent; i++)
		for (unsigned which = 0; which < 3; which++)
			sample->lost[which] += !(sample->answered[i] & (1U << which));
}

/* Two counts out of equally many: (a - b)^2 / (a + b) is the square of their distance in standard
 * deviations, if both came from one rate. */
static bool sample_is_clear(const struct sample *sample)
{
	uint64_t control = sample->lost[0], full = sample->lost[2];

	return full > control && (full - control) * (full - control) >= CLEAR * (full + control);
}

static void sample_burst(struct sample *sample, struct burst *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = PROBE_ECHO;
	ret->nonce = sample->settings.nonce;
	ret->first_sequence = (uint16_t)(sample->settings.first_sequence + 3 * sample->sent);
	for (unsigned i = 0; i < THREES_A_BURST && sample->sent < SAMPLE_LARGEST; i++, sample->sent++)
		for (unsigned which = 0; which < 3; which++)
			ret->sizes[ret->count++] = sample->settings.sizes[which];
}

uint64_t sample_step(struct sample *sample, struct turn *turn, uint64_t now_usec,
		     struct burst *ret_burst)
{
	uint32_t bytes = 0;

	ret_burst->count = 0;
	if (sample->done)
		return USEC_NEVER;
	if (now_usec < sample->until_usec)
		return sample->until_usec;
	sample_count(sample);
	sample->lossy = sample->sent >= LEAST_THREES && sample_is_clear(sample);
	if (sample->lossy || sample->sent == SAMPLE_LARGEST) {
		sample->done = true;
		return USEC_NEVER;
	}
	sample_burst(sample, ret_burst);
	for (unsigned i = 0; i < ret_burst->count; i++)
		bytes += ret_burst->sizes[i];
	sample->until_usec = pace_book(turn->pace, now_usec, bytes) + sample->settings.wait_usec;
	return sample->until_usec;
}
