/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clamping a link touches everybody who uses it, so everybody who is watched has a say.
 */
#include "clamp.h"

void link_votes_add(struct link_votes *votes, const struct judgement *announced,
		    const struct clamp_settings *settings, uint32_t size)
{
	uint32_t fault = clamp_size(announced);

	votes->peers++;
	if (settings->floor > votes->floor)
		votes->floor = settings->floor;
	switch (announced->verdict) {
	case VERDICT_BLACK_HOLE:
	case VERDICT_PARTIAL:
		votes->better |= fault > size;
		votes->faulty += fault == size && announced->confirmed;
		break;
	case VERDICT_CONSISTENT:
	case VERDICT_REDUCED:
	case VERDICT_LOSSY:
	case VERDICT_MISCONFIGURED:
		votes->better |= announced->path_mtu > size;
		break;
	case VERDICT_UNKNOWN:
		votes->open = true;
		break;
	case VERDICT_UNREACHABLE:
	case VERDICT_UNVERIFIABLE:
		break;
	}
}

void link_votes_add_above(struct link_votes *votes, const struct judgement *announced, uint32_t size)
{
	struct link_votes above = {0};
	const struct clamp_settings nothing = {0};

	link_votes_add(&above, announced, &nothing, size);
	votes->open |= above.open;
	votes->better |= above.better;
}

enum clamp_refusal link_votes_decide(const struct link_votes *votes, const struct link *link,
				     uint32_t size)
{
	if (votes->better)
		return REFUSAL_BETTER;
	if (2 * votes->faulty <= votes->peers)
		return REFUSAL_QUORUM;
	/* RFC 8200 section 5; below it the kernel takes all of IPv6 off the link without a word */
	if (link->ipv6_mtu != 0 && size < IPV6_SMALLEST_MTU)
		return REFUSAL_IPV6;
	if (size < votes->floor)
		return REFUSAL_FLOOR;
	return REFUSAL_NONE;
}

void clamp_hold_verdict(const struct path_facts *facts, const struct judgement *announced,
			struct judgement *now)
{
	bool passes = now->verdict == VERDICT_CONSISTENT || now->verdict == VERDICT_LOSSY ||
		      (now->verdict == VERDICT_MISCONFIGURED && now->reason == REASON_LINK_SMALLER);
	uint32_t size = clamp_size(announced);

	if (!facts->link_clamped || !passes || facts->expected <= facts->clamp_mtu)
		return;
	if (size != 0 && size <= facts->clamp_mtu) {
		*now = *announced;
		return;
	}
	/* taken over from an earlier life, which had seen it */
	*now = (struct judgement){
		.verdict = VERDICT_BLACK_HOLE,
		.severity = verdict_severity(VERDICT_BLACK_HOLE, facts, true),
		.direction = DIRECTION_UNKNOWN,
		.path_mtu = facts->clamp_mtu,
		.confirmed = true,
	};
}
