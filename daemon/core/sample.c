/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts, and compares two counts. Ends as soon as it is clear, one way or the other. */
#include "sample.h"

#include <string.h>

#define THREES_A_BURST 3U
#define CLEAR 16ULL     /* square of the deviations that two equal rates may be apart */
#define LEAST_SENT 12U  /* of each size */
#define LEAST_THREES 24U
#define BOTH_WAYS 128U  /* threes, where one way is clear and the other is not yet */

void sample_begin(struct sample *sample, const struct sample_settings *settings)
{
	memset(sample, 0, sizeof(*sample));
	sample->settings = *settings;
}

/* Who limits its answers answers the first of a burst: each size takes its turn at being that. */
static unsigned which_size(unsigned position)
{
	return (position + position / (3 * THREES_A_BURST)) % 3;
}

/* --- answers --- */

static unsigned sample_position(const struct sample *sample, const struct answer *answer)
{
	const struct sample_settings *settings = &sample->settings;

	if (settings->kind != PROBE_SYN || answer->kind != ANSWER_DELIVERED)
		return (uint16_t)(answer->sequence - settings->first_sequence);
	/* the last ones first: it is one of these */
	for (unsigned i = sample->sent; i > 0; i--)
		if (probe_syn_answered(settings->nonce, (uint16_t)(settings->first_sequence + i - 1),
				       settings->sizes[which_size(i - 1)] - settings->plain,
				       answer->acknowledged))
			return i - 1;
	return sample->sent;
}

static bool sample_nonce_fits(const struct sample *sample, const struct answer *answer,
			      unsigned position)
{
	if (sample->settings.kind == PROBE_SYN)
		return answer->kind == ANSWER_DELIVERED;
	if (!answer->has_nonce)
		return sample->settings.kind == PROBE_UDP &&
		       answer->size == sample->settings.sizes[which_size(position)];
	return answer->nonce == sample->settings.nonce;
}

bool sample_answer(struct sample *sample, const struct answer *answer)
{
	unsigned position = sample_position(sample, answer), three = position / 3;
	uint8_t bit = (uint8_t)(1U << which_size(position));

	if (sample->done || position >= sample->sent ||
	    !probe_kind_fits(sample->settings.kind, answer) ||
	    !sample_nonce_fits(sample, answer, position))
		return false;
	switch (answer->kind) {
	case ANSWER_ECHO:
		sample->returned[three] |= bit;
		sample->arrived[three] |= bit;
		break;
	case ANSWER_DELIVERED:
		sample->arrived[three] |= bit;
		break;
	case ANSWER_REFUSED:
		/* errors come late, and may be another packet's */
		if (sample->arrived[three] & bit)
			return false;
		sample->untold[three] |= bit;
		break;
	case ANSWER_COOKIE:
		sample->untold[three] |= bit;
		break;
	case ANSWER_TOO_BIG:
	case ANSWER_UNREACHABLE:
	case ANSWER_TIME_EXCEEDED:
		break;
	}
	return true;
}

void sample_overflow(struct sample *sample)
{
	for (unsigned i = 0; i < sample->sent; i++) {
		uint8_t bit = (uint8_t)(1U << which_size(i));

		if (!(sample->returned[i / 3] & bit))
			sample->untold[i / 3] |= bit;
	}
}

/* --- counts --- */

bool loss_is_clear(struct loss full, struct loss control)
{
	uint64_t sent = (uint64_t)full.sent + control.sent, lost = (uint64_t)full.lost + control.lost;
	uint64_t a = (uint64_t)full.lost * control.sent, b = (uint64_t)control.lost * full.sent;

	/* a and b are the rates times full.sent * control.sent; their distance, in deviations of one
	 * common rate, squared: no product exceeds 64 bits for counts below 2^10 */
	return full.sent >= LEAST_SENT && control.sent >= LEAST_SENT && a > b &&
	       (a - b) * (a - b) * sent >=
		       CLEAR * full.sent * control.sent * lost * (sent - lost);
}

static void sample_count_one(struct sample_losses *losses, unsigned which, bool lost)
{
	losses->sent += which == 2;
	losses->lost[which] += lost;
}

static void losses_judge(struct sample_losses *losses, unsigned least)
{
	struct loss control = { (uint16_t)losses->sent, (uint16_t)losses->lost[0] };
	struct loss full = { (uint16_t)losses->sent, (uint16_t)losses->lost[2] };

	/* a size that never passes is lost, not lossy */
	losses->lossy = losses->sent >= least && losses->lost[2] < losses->sent &&
			loss_is_clear(full, control);
}

static void sample_count(struct sample *sample)
{
	unsigned least = sample->settings.most < LEAST_THREES ? LEAST_SENT : LEAST_THREES;

	memset(&sample->there, 0, sizeof(sample->there));
	memset(&sample->back, 0, sizeof(sample->back));
	for (unsigned i = 0; i < sample->sent / 3; i++) {
		if (sample->untold[i])
			continue;
		for (unsigned which = 0; which < 3; which++)
			sample_count_one(&sample->there, which, !(sample->arrived[i] & (1U << which)));
		/* the way back is asked by those that all arrived */
		if (sample->settings.kind != PROBE_RESPONDER || sample->arrived[i] != 7)
			continue;
		for (unsigned which = 0; which < 3; which++)
			sample_count_one(&sample->back, which, !(sample->returned[i] & (1U << which)));
	}
	losses_judge(&sample->there, least);
	losses_judge(&sample->back, least);
}

/* --- steps --- */

/* A flow has one half-open connection at most, and some peers answer once a second. */
static unsigned sample_together(const struct sample *sample)
{
	return sample->settings.kind == PROBE_SYN || sample->settings.kind == PROBE_UDP ?
		       1 : 3 * THREES_A_BURST;
}

static uint32_t sample_burst(struct sample *sample, struct burst *ret)
{
	unsigned most = sample_together(sample);
	uint32_t bytes = 0;

	memset(ret, 0, sizeof(*ret));
	ret->kind = sample->settings.kind;
	ret->nonce = sample->settings.nonce;
	ret->first_sequence = (uint16_t)(sample->settings.first_sequence + sample->sent);
	while (ret->count < most && sample->sent < 3 * sample->settings.most) {
		uint32_t size = sample->settings.sizes[which_size(sample->sent++)];

		bytes += size;
		ret->sizes[ret->count++] = size;
	}
	return bytes;
}

/* What was sent one by one need not be waited for once it is answered. */
static bool sample_waits(const struct sample *sample, uint64_t now_usec)
{
	unsigned last = sample->sent - 1;

	if (now_usec >= sample->until_usec)
		return false;
	return sample_together(sample) > 1 || !(sample->arrived[last / 3] & (1U << which_size(last)));
}

/* Where both ways are counted the other one has to be known as well. */
static bool sample_is_clear(const struct sample *sample)
{
	const struct sample_losses *there = &sample->there, *back = &sample->back;

	if (sample->settings.kind != PROBE_RESPONDER || (there->lossy && back->lossy))
		return there->lossy || back->lossy;
	return (there->lossy || back->lossy) && there->sent >= BOTH_WAYS;
}

uint64_t sample_step(struct sample *sample, struct turn *turn, uint64_t now_usec,
		     struct burst *ret_burst)
{
	uint64_t at;

	ret_burst->count = 0;
	if (sample->done)
		return USEC_NEVER;
	if (sample->sent > 0 && sample_waits(sample, now_usec))
		return sample->until_usec;
	if (sample->sent % 3 == 0)
		sample_count(sample);
	if (sample_is_clear(sample) || sample->sent >= 3 * sample->settings.most) {
		sample->done = true;
		return USEC_NEVER;
	}
	if (sample->settings.kind == PROBE_UDP && !sample->booked) {
		sample->send_usec = turn_book_slow(turn, now_usec, 0);
		sample->booked = true;
	}
	if (now_usec < sample->send_usec)
		return sample->send_usec;
	if (sample->settings.kind == PROBE_UDP && !turn_leave_slow(turn, now_usec, &sample->send_usec))
		return sample->send_usec;
	sample->booked = false;
	at = pace_book(turn->pace, now_usec, sample_burst(sample, ret_burst));
	sample->until_usec = at + sample->settings.wait_usec;
	return sample->until_usec;
}
