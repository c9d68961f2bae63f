/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flows of a path that are not all asked in one check: which ones are, and what is remembered
 * of the others. A peer that answers once a second would keep a check of many flows going for
 * minutes, and hide what was found meanwhile.
 */
#include "path_inside.h"

static bool path_is_slow(const struct path *path, enum probe_kind kind)
{
	return kind == PROBE_UDP && path->flow_count > FLOWS_SLOW;
}

static bool flow_is_faulty(const struct flow *flow, uint32_t full)
{
	return flow->passes != 0 && flow->passes < full;
}

/* Of a fault that nobody tells of nothing else is heard, however small it is. */
static bool flow_is_worse(const struct flow *a, const struct flow *b)
{
	return a->told != b->told ? b->told : a->passes < b->passes;
}

/* The worst of those not chosen yet; FLOWS_LARGEST none. */
static unsigned flows_worst(const struct path *path, uint64_t chosen, uint32_t full)
{
	unsigned worst = FLOWS_LARGEST;

	for (unsigned i = 0; i < path->flow_count; i++)
		if (!(chosen >> i & 1) && flow_is_faulty(&path->flows[i], full) &&
		    (worst == FLOWS_LARGEST || flow_is_worse(&path->flows[i], &path->flows[worst])))
			worst = i;
	return worst;
}

/* The next one in turn, those first of which nothing is known. */
static unsigned flows_next(const struct path *path, uint64_t chosen, unsigned first)
{
	unsigned next = FLOWS_LARGEST;

	for (unsigned i = 0; i < path->flow_count; i++) {
		unsigned flow = (first + i) % path->flow_count;

		if (chosen >> flow & 1)
			continue;
		if (path->flows[flow].passes == 0)
			return flow;
		if (next == FLOWS_LARGEST)
			next = flow;
	}
	return next;
}

uint64_t path_flows_to_ask(const struct path *path, enum probe_kind kind, uint32_t full)
{
	/* one further each time around: where faults leave room for one alone it is each flow's in turn */
	uint64_t turns = path->rounds * FLOWS_SLOW;
	unsigned first = (unsigned)((turns + turns / path->flow_count) % path->flow_count);
	uint64_t chosen = 0;

	if (!path_is_slow(path, kind))
		return UINT64_MAX;
	/* a fault is looked at every time; one of the others is, too */
	for (unsigned i = 0; i < FLOWS_SLOW; i++) {
		unsigned flow = i + 1 < FLOWS_SLOW ? flows_worst(path, chosen, full) : FLOWS_LARGEST;

		if (flow == FLOWS_LARGEST)
			flow = flows_next(path, chosen, first);
		chosen |= 1ULL << flow;
	}
	return chosen;
}

void path_flows_forget(struct path *path)
{
	for (unsigned i = 0; i < path->flow_count; i++)
		path->flows[i].passes = 0;
}

void path_flows_learn(struct path *path, const struct check *check, struct check_result *result)
{
	uint32_t full = check->settings.round.full;

	if (!path_is_slow(path, check->settings.round.kind))
		return;
	for (unsigned i = 0; i < path->flow_count; i++) {
		struct flow *flow = &path->flows[i];
		const struct evidence *said = &check->rounds[i].evidence;
		bool asked = check->settings.asked >> i & 1;

		if (asked && said->outcome != OUTCOME_UNDECIDED) {
			flow->passes = (uint16_t)said->passes;
			flow->told = said->reported;
		}
		if (asked || flow->passes == 0)
			continue;
		result->flows_known++;
		result->flows_full += flow->passes >= full;
		result->flows_faulty += flow->passes < full;
	}
	/* those that were faulty are good again, but not all of them were asked */
	if (result->main.outcome == OUTCOME_FULL && result->flows_full < result->flows_known &&
	    result->flows_dead == 0)
		result->main.outcome = OUTCOME_UNDECIDED;
}

bool path_flows_pending(const struct path *path)
{
	if (!path_is_slow(path, path->evidence.kind) || path->rounds >= path->flow_count ||
	    path->announced.verdict == VERDICT_UNREACHABLE)
		return false;
	for (unsigned i = 0; i < path->flow_count; i++)
		if (path->flows[i].passes == 0)
			return true;
	return false;
}
