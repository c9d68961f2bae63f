/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the flows of one check say together: the worst of them speaks for the path. */
#include "check_inside.h"

#include <stddef.h>

#include "round_plan.h"

bool evidence_is_silent(const struct check *check, const struct evidence *evidence)
{
	return evidence->outcome == OUTCOME_LESS && !evidence->reported && !evidence->refused &&
	       evidence->passes != check->settings.known_mtu;
}

bool evidence_lost_return(const struct evidence *evidence)
{
	return evidence->kind == PROBE_RESPONDER && evidence->outcome == OUTCOME_FULL &&
	       evidence->return_passes != 0 && evidence->return_passes < evidence->full;
}

/* The order of badness of what one flow says. A flow that carries nothing, not even the control,
 * while others do is no matter of size. */
static int evidence_rank(const struct check *check, const struct evidence *evidence, bool alive)
{
	switch (evidence->outcome) {
	case OUTCOME_FULL:
		return 1;
	case OUTCOME_UNDECIDED:
		return 2;
	case OUTCOME_NOTHING:
		return alive ? 0 : 3;
	case OUTCOME_LESS:
		return evidence_is_silent(check, evidence) ? 5 : 4;
	}
	return 0;
}

static bool evidence_worse(const struct check *check, bool alive, const struct evidence *a,
			   const struct evidence *b)
{
	int rank_a = evidence_rank(check, a, alive), rank_b = evidence_rank(check, b, alive);

	if (rank_a != rank_b)
		return rank_a > rank_b;
	if (a->outcome == OUTCOME_LESS)
		return a->passes < b->passes;
	return a->outcome == OUTCOME_FULL && a->return_passes < b->return_passes;
}

bool flow_carries(const struct round *round)
{
	return round->evidence.outcome == OUTCOME_FULL || round->evidence.outcome == OUTCOME_LESS;
}

/* Something got through on some flow, if only a control. */
static bool check_is_alive(const struct check *check)
{
	for (unsigned i = 0; i < check->settings.flow_count; i++)
		if (check_asks(check, i) && check->rounds[i].evidence.passes > 0)
			return true;
	return false;
}

static void check_collect_flow(struct check *check, unsigned flow, bool alive)
{
	struct check_result *result = &check->result;
	const struct round *round = &check->rounds[flow];
	bool dead = alive && round->evidence.outcome == OUTCOME_NOTHING;

	result->flows_known += flow_carries(round) || dead;
	result->flows_full += round->evidence.outcome == OUTCOME_FULL;
	result->flows_dead += dead;
	result->flows_faulty += dead || evidence_is_silent(check, &round->evidence);
	if (!check_asks(check, result->flow) ||
	    evidence_worse(check, alive, &round->evidence, &check->rounds[result->flow].evidence))
		result->flow = flow;
	if (round->oversize_usec > result->oversize_usec)
		result->oversize_usec = round->oversize_usec;
}

/* What a router told another flow of the same size; NULL nothing. */
static const struct evidence *told_elsewhere(const struct check *check, const struct evidence *silent)
{
	for (unsigned i = 0; i < check->settings.flow_count; i++) {
		const struct evidence *told = &check->rounds[i].evidence;

		if (told->outcome == OUTCOME_LESS && told->reported && told->passes == silent->passes)
			return told;
	}
	return NULL;
}

/* RFC 1812 section 4.3.2.8: routers limit their reports, so that one may be all that many flows get
 * together. A flow that gets none when it is asked alone goes another way, and is silent there. */
static void check_share_reports(struct check *check)
{
	for (unsigned i = 0; i < check->settings.flow_count; i++) {
		struct evidence *evidence = &check->rounds[i].evidence;
		const struct evidence *told = evidence_is_silent(check, evidence) ?
						      told_elsewhere(check, evidence) : NULL;

		if (!told)
			continue;
		check->result.told_elsewhere = true;
		if (check->settings.in_turn)
			continue;
		evidence->reported = true;
		evidence->router = told->router;
	}
}

/* A peer that limits its answers had none left for this flow, or for no more than the small ones. */
static bool flow_dried_up(const struct check *check, const struct evidence *evidence)
{
	if (evidence->outcome == OUTCOME_UNDECIDED)
		return evidence->dried_up;
	return check->settings.flow_count > 1 && evidence_is_silent(check, evidence) &&
	       evidence->passes <= check->settings.round.control;
}

/* Then what other flows lacked they may have lacked for the same reason. */
static void check_doubt_limited(struct check *check)
{
	struct check_result *result = &check->result;
	bool dried_up = false;

	for (unsigned i = 0; i < check->settings.flow_count; i++)
		dried_up |= check_asks(check, i) && check->rounds[i].done &&
			    flow_dried_up(check, &check->rounds[i].evidence);
	if (!dried_up || check->settings.round.gentle || result->main.outcome != OUTCOME_LESS)
		return;
	result->main.outcome = OUTCOME_UNDECIDED;
	result->main.dried_up = true;
}

void check_collect(struct check *check)
{
	struct check_result *result = &check->result;
	bool alive = check_is_alive(check);

	check_share_reports(check);
	result->flow = 0;
	result->flows_known = 0;
	result->flows_faulty = 0;
	result->flows_full = 0;
	result->flows_dead = 0;
	for (unsigned i = 0; i < check->settings.flow_count; i++)
		if (check_asks(check, i))
			check_collect_flow(check, i, alive);
	result->main = check->rounds[result->flow].evidence;
	check_doubt_limited(check);
}

void check_collect_loss(struct check *check)
{
	for (unsigned i = 0; i < check->settings.flow_count; i++)
		if (check_asks(check, i) && check->rounds[i].evidence.outcome != OUTCOME_NOTHING)
			loss_add(&check->result.loss, search_loss(&check->rounds[i].tries));
}
