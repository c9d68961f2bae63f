/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What evidence means. Says nothing to anybody and remembers nothing.
 */
#include "verdict.h"

#include <errno.h>
#include <string.h>

#define SIZE_EVERYWHERE 576U

bool verdict_is_fault(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_UNKNOWN:
	case VERDICT_CONSISTENT:
	case VERDICT_UNVERIFIABLE:
		return false;
	case VERDICT_REDUCED:
	case VERDICT_BLACK_HOLE:
	case VERDICT_PARTIAL:
	case VERDICT_LOSSY:
	case VERDICT_MISCONFIGURED:
	case VERDICT_UNREACHABLE:
		return true;
	}
	return false;
}

/* What was not measured must not hide behind what is good, nor hide what is bad. */
int verdict_rank(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_CONSISTENT:
		return 0;
	case VERDICT_UNVERIFIABLE:
		return 1;
	case VERDICT_UNKNOWN:
		return 2;
	case VERDICT_REDUCED:
		return 3;
	case VERDICT_LOSSY:
		return 4;
	case VERDICT_MISCONFIGURED:
		return 5;
	case VERDICT_UNREACHABLE:
		return 6;
	case VERDICT_PARTIAL:
		return 7;
	case VERDICT_BLACK_HOLE:
		return 8;
	}
	return 0;
}

enum severity verdict_severity(enum verdict verdict, const struct path_facts *facts, bool confirmed)
{
	switch (verdict) {
	case VERDICT_UNKNOWN:
		return SEVERITY_NONE;
	case VERDICT_CONSISTENT:
		return SEVERITY_OK;
	case VERDICT_UNVERIFIABLE:
		return SEVERITY_NOTICE;
	case VERDICT_REDUCED:
		return facts->expect_configured ? SEVERITY_WARNING : SEVERITY_NOTICE;
	case VERDICT_LOSSY:
	case VERDICT_MISCONFIGURED:
	case VERDICT_UNREACHABLE:
		return SEVERITY_WARNING;
	case VERDICT_BLACK_HOLE:
	case VERDICT_PARTIAL:
		/* routers drop large pings for reasons of their own */
		return confirmed && !facts->gateway ? SEVERITY_CRITICAL : SEVERITY_WARNING;
	}
	return SEVERITY_NONE;
}

static enum reason reason_of_silence(const struct evidence *evidence)
{
	bool from_router = evidence->error_from.family != ADDRESS_NONE && !evidence->error_is_own;

	if (error_is_shortage(evidence->error))
		return REASON_HOST_SHORT;
	switch (evidence->error) {
	case 0:
		return REASON_SILENT;
	case -EPERM:
		return REASON_SEND_REFUSED;
	case -ENETDOWN:
	case -ENODEV:
		return REASON_LINK_DOWN;
	case -EHOSTUNREACH:
		return from_router ? REASON_HOST_UNREACHABLE : REASON_NO_NEIGHBOUR;
	default: /* -ENETUNREACH and the like */
		return from_router ? REASON_HOST_UNREACHABLE : REASON_NO_ROUTE;
	}
}

static void judge_nothing(const struct path_facts *facts, const struct evidence *evidence,
			  struct judgement *ret)
{
	bool stranger = facts->discovered && !facts->ever_answered;

	ret->reason = reason_of_silence(evidence);
	ret->verdict = stranger || evidence->connects ? VERDICT_UNVERIFIABLE : VERDICT_UNREACHABLE;
	if (evidence->connects)
		ret->reason = REASON_NO_SIZES;
	if (evidence->kind == PROBE_RESPONDER && evidence->refused_by_peer) {
		ret->verdict = VERDICT_UNVERIFIABLE;
		ret->reason = REASON_NO_RESPONDER;
	}
}

/* What is known of the way back when the full size arrived. */
static uint32_t return_of_full(const struct evidence *evidence)
{
	switch (evidence->kind) {
	case PROBE_ECHO:
		if (evidence->cut_short)
			return 0;
		return evidence->fragment ? evidence->fragment : evidence->full;
	case PROBE_RESPONDER:
		return evidence->return_passes;
	case PROBE_SYN:
	case PROBE_UDP:
		break;
	}
	return 0;
}

static void judge_return(const struct path_facts *facts, const struct evidence *evidence,
			 struct judgement *ret)
{
	bool less = ret->return_mtu != 0 && ret->return_mtu < evidence->full;

	if (!less)
		return;
	if (evidence->kind == PROBE_RESPONDER) {
		ret->verdict = VERDICT_BLACK_HOLE;
		ret->direction = DIRECTION_RETURN;
		ret->confirmed = true;
	} else if (facts->ipv6) {
		/* RFC 8200 section 4.5: only the peer itself fragments, and only what it was told */
		ret->verdict = VERDICT_REDUCED;
		ret->direction = DIRECTION_RETURN;
	}
}

static void judge_full(const struct path_facts *facts, const struct evidence *evidence,
		       struct judgement *ret)
{
	ret->path_mtu = evidence->full;
	ret->return_mtu = return_of_full(evidence);
	ret->confirmed = evidence->kind != PROBE_ECHO;
	ret->verdict = VERDICT_CONSISTENT;
	judge_return(facts, evidence, ret);
	if (facts->narrow != REASON_NONE && ret->verdict == VERDICT_CONSISTENT) {
		ret->verdict = VERDICT_MISCONFIGURED;
		ret->reason = facts->narrow;
		ret->locus = LOCUS_LOCAL;
		ret->direction = DIRECTION_FORWARD;
	}
}

static void judge_reduced(const struct evidence *evidence, struct judgement *ret)
{
	ret->verdict = VERDICT_REDUCED;
	ret->direction = DIRECTION_FORWARD;
	if (!evidence->reported)
		return;
	ret->router = evidence->router;
	ret->locus = LOCUS_AT;
	ret->locus_address = evidence->router;
}

/* Only an echo mixes both directions, and only an echo may be dropped for being one. */
static void judge_hole_direction(const struct evidence *evidence, struct judgement *ret)
{
	/* below what every path carries it is a filter rather than a path: RFC 791 section 3.1 */
	ret->confirmed = evidence->kind != PROBE_ECHO && evidence->passes >= SIZE_EVERYWHERE;
	ret->direction = evidence->kind == PROBE_ECHO ? DIRECTION_UNKNOWN : DIRECTION_FORWARD;
	if (evidence->kind != PROBE_RESPONDER)
		return;
	/* no answer is larger than what arrived: then nothing is known of the way back */
	if (evidence->return_passes < evidence->passes)
		ret->return_mtu = evidence->return_passes;
	if (evidence->return_passes != 0 && evidence->return_passes < evidence->passes)
		ret->direction = DIRECTION_BOTH;
}

/* Its own tunnel told it; a clamp of ours did not come from the path. */
static bool kernel_knows(const struct path_facts *facts, uint32_t size)
{
	return facts->kernel_mtu == size && facts->clamp_mtu == 0;
}

static void judge_less(const struct path_facts *facts, const struct evidence *evidence,
		       struct judgement *ret)
{
	ret->path_mtu = evidence->passes;
	if (evidence->refused) {
		ret->verdict = VERDICT_MISCONFIGURED;
		ret->reason = REASON_SEND_REFUSED;
		ret->locus = LOCUS_LOCAL;
		ret->direction = DIRECTION_FORWARD;
	} else if (evidence->reported || kernel_knows(facts, evidence->passes)) {
		judge_reduced(evidence, ret);
	} else {
		ret->verdict = VERDICT_BLACK_HOLE;
		ret->locus = facts->on_link ? LOCUS_ON_LINK : LOCUS_NONE;
		judge_hole_direction(evidence, ret);
	}
}

static void judge_trouble(const struct path_facts *facts, struct judgement *ret)
{
	bool wrong = reason_is_address(facts->trouble);

	ret->verdict = wrong ? VERDICT_MISCONFIGURED : VERDICT_UNREACHABLE;
	ret->reason = facts->trouble;
	ret->locus = facts->trouble == REASON_NO_ADDRESS ? LOCUS_NONE : LOCUS_LOCAL;
}

void verdict_judge(const struct path_facts *facts, const struct evidence *evidence,
		   struct judgement *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (facts->trouble != REASON_NONE) {
		judge_trouble(facts, ret);
	} else {
		switch (evidence->outcome) {
		case OUTCOME_UNDECIDED:
			break;
		case OUTCOME_FULL:
			judge_full(facts, evidence, ret);
			break;
		case OUTCOME_LESS:
			judge_less(facts, evidence, ret);
			break;
		case OUTCOME_NOTHING:
			judge_nothing(facts, evidence, ret);
			break;
		}
	}
	ret->severity = verdict_severity(ret->verdict, facts, ret->confirmed);
}

/* --- all together --- */

/* A peer that always kept large pings from itself never answered one of them: where one came back
 * whole before, it is the way back that changed. Nothing bears that out. */
static bool return_was_lost(const struct path_facts *facts, const struct evidence *main,
			    const struct judgement *other)
{
	return other->verdict == VERDICT_CONSISTENT && other->return_mtu == 0 &&
	       facts->whole_back >= main->full;
}

/* Another method had its say on what echo found. */
static void weigh_second(const struct path_facts *facts, const struct testimony *testimony,
			 struct judgement *ret, uint32_t *ret_echo_limit)
{
	const struct evidence *main = testimony->main, *second = testimony->second;
	struct judgement other;

	verdict_judge(facts, second, &other);
	if (second->outcome == OUTCOME_FULL ||
	    (second->outcome == OUTCOME_LESS && second->passes > main->passes)) {
		/* large echoes are dropped earlier than other packets, or lost on the way back */
		if (return_was_lost(facts, main, &other)) {
			other.verdict = VERDICT_BLACK_HOLE;
			other.direction = DIRECTION_RETURN;
			other.return_mtu = main->passes;
			other.confirmed = false;
			other.reason = REASON_NONE;
		} else if (other.return_mtu != main->passes) {
			*ret_echo_limit = main->passes;
		}
		*ret = other;
	} else if (second->outcome == OUTCOME_LESS) {
		*ret = other;
	}
}

/* An echo of the full size that comes back in fragments shows that the way back is not silent: who
 * takes a packet apart without DF tells the sender of one with it, or is the sender itself. */
static void weigh_return(const struct testimony *testimony, struct judgement *ret)
{
	const struct evidence *echo = testimony->second;

	if (!echo || echo->kind != PROBE_ECHO || echo->outcome != OUTCOME_FULL || !echo->fragment)
		return;
	ret->verdict = VERDICT_REDUCED;
	ret->confirmed = true;
}

static void weigh_hole(const struct path_facts *facts, const struct testimony *testimony,
		       struct judgement *ret, uint32_t *ret_echo_limit)
{
	if (testimony->locus == LOCUS_AFTER &&
		   address_equal(&testimony->hop, &facts->told_by)) {
		/* the last hop it reached told somebody else of the same size: it limits its reports */
		struct evidence told = *testimony->main;

		told.reported = true;
		told.router = facts->told_by;
		verdict_judge(facts, &told, ret);
	} else if (testimony->flows_full > 0 && testimony->flows_full < testimony->flows) {
		/* whoever drops large pings drops them on every flow */
		ret->verdict = VERDICT_PARTIAL;
		ret->confirmed = true;
	} else if (testimony->second && testimony->main->kind == PROBE_ECHO) {
		weigh_second(facts, testimony, ret, ret_echo_limit);
	} else if (facts->refuted && testimony->main->kind == PROBE_ECHO) {
		struct evidence passed = *testimony->main;

		passed.outcome = OUTCOME_FULL;
		passed.kind = PROBE_SYN; /* proven forward only, by other packets than echoes */
		*ret_echo_limit = testimony->main->passes;
		verdict_judge(facts, &passed, ret);
	} else if (facts->borne_out || testimony->router_fails) {
		ret->confirmed = true;
	}
}

/* Which way it is lost too often: only a responder tells the two apart. */
static void weigh_lossy(const struct testimony *testimony, struct judgement *ret)
{
	bool there = testimony->lossy_there, back = testimony->lossy_back;

	ret->verdict = VERDICT_LOSSY;
	ret->path_mtu = testimony->main->full;
	ret->locus = LOCUS_NONE;
	ret->direction = testimony->main->kind == PROBE_ECHO ? DIRECTION_UNKNOWN :
			 there && back ? DIRECTION_BOTH : back ? DIRECTION_RETURN : DIRECTION_FORWARD;
	if (back)
		ret->return_mtu = testimony->main->full;
}

/* Large and small alike get lost on some flows: a fault, but none of a size. */
static void weigh_dead_flows(struct judgement *ret)
{
	ret->verdict = VERDICT_PARTIAL;
	ret->reason = REASON_FLOWS_DEAD;
	ret->direction = DIRECTION_UNKNOWN;
	ret->confirmed = false;
}

/* The method that was asked for is not answered. */
static void weigh_silence(const struct path_facts *facts, const struct testimony *testimony,
			  struct judgement *ret)
{
	if (!testimony->only_life) {
		verdict_judge(facts, testimony->second, ret);
		return;
	}
	ret->verdict = VERDICT_UNVERIFIABLE;
	ret->reason = REASON_NO_RESPONDER;
}

static void weigh_locus(const struct testimony *testimony, struct judgement *ret)
{
	bool hole = ret->verdict == VERDICT_BLACK_HOLE ||
		    (ret->verdict == VERDICT_PARTIAL && ret->reason != REASON_FLOWS_DEAD);

	if (hole && ret->direction == DIRECTION_RETURN)
		ret->locus = LOCUS_NONE;
	else if (hole && testimony->locus != LOCUS_NONE) {
		ret->locus = testimony->locus;
		ret->locus_address = testimony->hop;
	}
}

void verdict_weigh(const struct path_facts *facts, const struct testimony *testimony,
		   struct judgement *ret, uint32_t *ret_echo_limit)
{
	*ret_echo_limit = 0;
	verdict_judge(facts, testimony->main, ret);
	/* where the first method is deaf the second speaks for the path */
	if (testimony->main->outcome == OUTCOME_NOTHING && testimony->second &&
	    facts->trouble == REASON_NONE)
		weigh_silence(facts, testimony, ret);
	else if ((ret->verdict == VERDICT_BLACK_HOLE || ret->verdict == VERDICT_CONSISTENT ||
		  ret->verdict == VERDICT_UNKNOWN) &&
		 (testimony->lossy_there || testimony->lossy_back))
		weigh_lossy(testimony, ret);
	else if (ret->verdict == VERDICT_BLACK_HOLE && ret->direction == DIRECTION_RETURN)
		weigh_return(testimony, ret);
	else if (ret->verdict == VERDICT_BLACK_HOLE)
		weigh_hole(facts, testimony, ret, ret_echo_limit);
	else if (ret->verdict == VERDICT_CONSISTENT && testimony->flows_dead > 0)
		weigh_dead_flows(ret);
	else if (ret->verdict == VERDICT_UNKNOWN && testimony->irregular) {
		/* what was true before is not shown to be true now */
		ret->verdict = VERDICT_UNVERIFIABLE;
		ret->reason = REASON_IRREGULAR;
	}
	weigh_locus(testimony, ret);
	ret->severity = verdict_severity(ret->verdict, facts, ret->confirmed);
}
