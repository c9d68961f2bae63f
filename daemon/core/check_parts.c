/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What may follow the rounds of a check: a walk to the place of a fault, a sample of losses. When
 * they are wanted is check.c's matter.
 */
#include "check_inside.h"

#include "round_plan.h"

#define WALK_WAIT_LEAST_USEC (60 * USEC_PER_MSEC)
#define WALK_PASSES 3U
#define SAMPLE_SHORT 48U /* threes, where the peer may only be short of answers */
#define SAMPLE_SLOW 8U /* threes of a kind that goes once a second: a sample takes several checks */

static uint64_t part_wait(const struct check *check)
{
	uint64_t wait = round_wait(&check->rounds[check->result.flow]);

	return wait > WALK_WAIT_LEAST_USEC ? wait : WALK_WAIT_LEAST_USEC;
}

void check_walk_begin(struct check *check)
{
	const struct check_result *result = &check->result;
	bool alone = result->main.kind == PROBE_ECHO && result->has_second != SECOND_CONFIRM;
	const struct walk_settings settings = {
		.kind = result->main.kind,
		.nonce = check_random(check),
		.first_sequence = (uint16_t)check_random(check),
		.wait_usec = part_wait(check),
		.full = check->settings.round.full,
		.control = check->settings.round.control,
		.plain = check->settings.round.plain,
		.distance = result->main.distance,
		.passes = alone || result->loss.lost > 0 ? WALK_PASSES : WALK_PASSES - 1,
		/* only where its word is needed is it worth the time */
		.patient = alone && check->settings.confirm,
	};

	walk_begin(&check->walk, &settings);
	check->walking = true;
}

static unsigned round_full_lost(const struct round *round)
{
	return round_count(round, round->settings.full, TRY_SILENT);
}

/* The flow that lost the full size most often; where all look alike, any of them. */
static unsigned check_flow_to_sample(struct check *check)
{
	unsigned count = check->settings.flow_count;
	unsigned first = (unsigned)(check_random(check) % count);
	unsigned flow = check->result.flow;

	for (unsigned i = 0; i < count; i++) {
		unsigned other = (first + i) % count;

		if (check_asks(check, other) && flow_carries(&check->rounds[other]) &&
		    round_full_lost(&check->rounds[other]) >= round_full_lost(&check->rounds[flow]))
			flow = other;
	}
	return flow;
}

static unsigned sample_most(const struct evidence *main)
{
	if (main->kind == PROBE_UDP)
		return SAMPLE_SLOW;
	return main->outcome == OUTCOME_UNDECIDED ? SAMPLE_SHORT : SAMPLE_LARGEST;
}

void check_sample_begin(struct check *check)
{
	const struct round_settings *round = &check->settings.round;
	const struct sample_settings settings = {
		.kind = check->result.main.kind,
		.nonce = check_random(check),
		.first_sequence = (uint16_t)check_random(check),
		.wait_usec = part_wait(check),
		.sizes = { round->control, (round->control + round->full) / 2, round->full },
		.plain = round->plain,
		.most = sample_most(&check->result.main),
	};

	check->part_flow = check_flow_to_sample(check);
	sample_begin(&check->sample, &settings);
	check->sampling = true;
}

uint64_t check_step_walk(struct check *check, struct turn *turn, uint64_t now_usec,
			 struct burst *ret)
{
	uint64_t next = walk_step(&check->walk, turn, now_usec, ret);

	ret->flow = check->part_flow;
	if (ret->count > 0)
		check->result.oversize_usec = now_usec;
	if (!check->walk.done)
		return ret->count > 0 ? now_usec : next;
	check->result.locus = walk_result(&check->walk, &check->result.hop);
	check->result.router_fails = walk_router_fails(&check->walk);
	check->walking = false;
	check->done = true;
	return USEC_NEVER;
}

static void check_take_sample(struct check *check)
{
	const struct sample_losses *there = &check->sample.there, *back = &check->sample.back;
	struct check_result *result = &check->result;

	result->sampled = true;
	result->lossy_there = there->lossy;
	result->lossy_back = back->lossy;
	result->control = (struct loss){ (uint16_t)there->sent, (uint16_t)there->lost[0] };
	result->full = (struct loss){ (uint16_t)there->sent, (uint16_t)there->lost[2] };
}

uint64_t check_step_sample(struct check *check, struct turn *turn, uint64_t now_usec,
			   struct burst *ret)
{
	uint64_t next = sample_step(&check->sample, turn, now_usec, ret);

	ret->flow = check->part_flow;
	if (!check->sample.done)
		return ret->count > 0 ? now_usec : next;
	check_take_sample(check);
	check->sampling = false;
	check->done = true;
	return USEC_NEVER;
}
