/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules of treatment. A clamp is the one thing here that can break a network, so it takes a
 * fault that was announced, borne out and measured again, and every doubt is a no.
 */
#include "clamp.h"

#include <stddef.h>

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a != 0 && (b == 0 || a < b) ? a : b;
}

static bool is_hole(const struct judgement *judgement)
{
	return judgement->verdict == VERDICT_BLACK_HOLE || judgement->verdict == VERDICT_PARTIAL;
}

uint32_t clamp_size(const struct judgement *judgement)
{
	if (!is_hole(judgement))
		return 0;
	switch (judgement->direction) {
	case DIRECTION_NONE:
	case DIRECTION_UNKNOWN:
	case DIRECTION_FORWARD:
		return judgement->path_mtu;
	case DIRECTION_RETURN:
		/* the route's MTU lowers the MSS that we announce: RFC 9293 section 3.7.1 */
		return judgement->return_mtu;
	case DIRECTION_BOTH:
		return smaller(judgement->path_mtu, judgement->return_mtu);
	}
	return 0;
}

/* `size` was answered and more was lost, by packets and not by hearsay. */
static bool evidence_bears(const struct evidence *evidence, uint32_t size)
{
	if (evidence == NULL)
		return false;
	if (evidence->outcome == OUTCOME_LESS && evidence->passes == size && size < evidence->full)
		return true;
	return evidence->return_passes == size && size < evidence->passes;
}

/* Another method's evidence is kept from an earlier round: it speaks only where this one found a fault
 * too. */
static bool round_bears(const struct evidence *evidence, const struct evidence *second, uint32_t size)
{
	bool less = evidence->outcome == OUTCOME_LESS ||
		    (evidence->return_passes != 0 && evidence->return_passes < evidence->passes);

	return evidence_bears(evidence, size) || (less && evidence_bears(second, size));
}

static void count_faulty(struct clamp_tally *tally, uint32_t size, bool borne)
{
	tally->full = 0;
	if (!borne)
		size = 0;
	if (size == 0 || size != tally->size)
		tally->faulty = 0;
	/* what was said of another size does not hold for this one */
	if (size != 0 && size != tally->size)
		tally->refusal = REFUSAL_NONE;
	tally->size = size;
	if (size != 0)
		tally->faulty++;
}

void clamp_count(struct clamp_tally *tally, const struct judgement *now,
		 const struct evidence *evidence, const struct evidence *second)
{
	uint32_t size = clamp_size(now);

	switch (now->verdict) {
	case VERDICT_UNKNOWN:
		/* nothing was found out */
		return;
	case VERDICT_BLACK_HOLE:
	case VERDICT_PARTIAL:
		count_faulty(tally, size, round_bears(evidence, second, size));
		return;
	case VERDICT_CONSISTENT:
	case VERDICT_REDUCED:
	case VERDICT_LOSSY:
		tally->full++;
		break;
	case VERDICT_MISCONFIGURED:
	case VERDICT_UNREACHABLE:
	case VERDICT_UNVERIFIABLE:
		tally->full = 0;
		break;
	}
	tally->faulty = 0;
	tally->size = 0;
}

void clamp_announced(struct clamp_tally *tally, const struct judgement *now)
{
	if (now->verdict != VERDICT_CONSISTENT && now->verdict != VERDICT_REDUCED &&
	    now->verdict != VERDICT_LOSSY)
		return;
	tally->held = false;
	tally->refusal = REFUSAL_NONE;
}

static enum clamp_refusal objection(const struct clamp_case *about, uint32_t size)
{
	if (!about->announced->confirmed)
		return REFUSAL_UNCONFIRMED;
	/* RFC 8200 section 5; the kernel would take IPv6 from the link or ignore the route's MTU */
	if (about->facts->ipv6 && size < IPV6_SMALLEST_MTU)
		return REFUSAL_IPV6;
	if (size < about->settings->floor)
		return REFUSAL_FLOOR;
	return REFUSAL_NONE;
}

/* A fault that has been announced and has stood long enough: its size, else 0. */
static uint32_t ripe_size(const struct clamp_case *about)
{
	const struct clamp_tally *tally = about->tally;
	uint32_t size = clamp_size(about->announced);

	if (size == 0 || tally->size != size || tally->faulty < about->settings->after)
		return 0;
	return size < about->facts->capacity ? size : 0;
}

static void decide_new(const struct clamp_case *about, uint32_t size, struct clamp_decision *ret)
{
	ret->refusal = about->tally->held ? REFUSAL_TAKEN_OFF : objection(about, size);
	ret->mtu = size;
	ret->action = ret->refusal == REFUSAL_NONE ? CLAMP_PUT : CLAMP_REFUSE;
}

static void lift(struct clamp_decision *ret, enum clamp_end end)
{
	ret->action = CLAMP_LIFT;
	ret->end = end;
}

static void decide_standing(const struct clamp_case *about, uint32_t size,
			    struct clamp_decision *ret)
{
	const struct path_facts *facts = about->facts;

	ret->mtu = about->in_force;
	if (about->kind == CLAMP_OFF)
		lift(ret, CLAMP_END_OFF);
	else if (about->tally->full >= about->recover_after)
		lift(ret, about->announced->verdict == VERDICT_REDUCED ? CLAMP_END_TOLD :
									 CLAMP_END_PASSES);
	else if (facts->trouble == REASON_NONE && facts->capacity != 0 &&
		 facts->capacity <= about->in_force)
		lift(ret, CLAMP_END_SMALLER);
	else if (size == 0 || size == about->in_force)
		return;
	else if (objection(about, size) == REFUSAL_NONE)
		decide_new(about, size, ret);
	else if (size < about->in_force && about->announced->confirmed)
		/* not even that passes, and less is not allowed */
		lift(ret, CLAMP_END_NO_HELP);
}

void clamp_decide(const struct clamp_case *about, struct clamp_decision *ret)
{
	uint32_t size = ripe_size(about);

	*ret = (struct clamp_decision){ .action = CLAMP_LEAVE };
	if (about->in_force != 0)
		decide_standing(about, size, ret);
	else if (about->kind != CLAMP_OFF && size != 0)
		decide_new(about, size, ret);
}

bool clamp_is_near(const struct clamp_tally *tally, const struct clamp_settings *settings)
{
	return settings->kind != CLAMP_OFF && !tally->held && tally->refusal == REFUSAL_NONE &&
	       tally->faulty > 0 && tally->faulty < settings->after;
}
