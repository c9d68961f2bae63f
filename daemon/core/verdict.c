/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What evidence means. Says nothing to anybody and remembers nothing.
 */
#include "verdict.h"

#include <errno.h>
#include <string.h>

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
		return confirmed && !facts->discovered ? SEVERITY_CRITICAL : SEVERITY_WARNING;
	}
	return SEVERITY_NONE;
}

static enum reason reason_of_silence(const struct evidence *evidence)
{
	bool from_router = evidence->error_from.family != ADDRESS_NONE && !evidence->error_is_own;

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
	case -ENETUNREACH:
		return from_router ? REASON_HOST_UNREACHABLE : REASON_NO_ROUTE;
	default:
		return from_router ? REASON_HOST_UNREACHABLE : REASON_NO_ROUTE;
	}
}

static void judge_nothing(const struct path_facts *facts, const struct evidence *evidence,
			  struct judgement *ret)
{
	bool stranger = facts->discovered && !facts->ever_answered;

	ret->reason = reason_of_silence(evidence);
	ret->verdict = stranger ? VERDICT_UNVERIFIABLE : VERDICT_UNREACHABLE;
}

static void judge_full(const struct path_facts *facts, const struct evidence *evidence,
		       struct judgement *ret)
{
	ret->path_mtu = evidence->full;
	ret->return_mtu = evidence->fragment ? evidence->fragment : evidence->full;
	ret->verdict = VERDICT_CONSISTENT;
	if (facts->narrow != REASON_NONE) {
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

static void judge_less(const struct path_facts *facts, const struct evidence *evidence,
		       struct judgement *ret)
{
	ret->path_mtu = evidence->passes;
	if (evidence->refused) {
		ret->verdict = VERDICT_MISCONFIGURED;
		ret->reason = REASON_SEND_REFUSED;
		ret->locus = LOCUS_LOCAL;
		ret->direction = DIRECTION_FORWARD;
	} else if (evidence->reported || facts->kernel_mtu == evidence->passes) {
		judge_reduced(evidence, ret);
	} else {
		ret->verdict = VERDICT_BLACK_HOLE;
		ret->direction = DIRECTION_UNKNOWN;
		ret->locus = facts->on_link ? LOCUS_ON_LINK : LOCUS_NONE;
	}
}

static void judge_trouble(const struct path_facts *facts, struct judgement *ret)
{
	bool own = facts->trouble == REASON_OWN_ADDRESS;

	ret->verdict = own ? VERDICT_MISCONFIGURED : VERDICT_UNREACHABLE;
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
