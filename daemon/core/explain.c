/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A finding about a link is held back while the paths over that link are being measured. Where one
 * of them fails just as the finding predicts, its verdict carries the finding and is the only
 * alert; else the finding is told alone. Whichever comes second is told without alarm.
 */
#include "explain.h"

#include "lint_links.h"

#define DEPTH_MOST 6
#define VLAN_ROOM 4U /* many links take a VLAN's tag more than their MTU, used or not */
#define STAND_USEC (USEC_PER_SEC / 2) /* what is gone at once was a change on its way */
#define HOLD_USEC (60 * USEC_PER_SEC)

static bool stands_on(const struct roster *roster, int upper, int lower, unsigned depth)
{
	const struct link_state *state = roster_link_at(roster, upper);

	if (upper == lower)
		return true;
	if (!state || depth == 0)
		return false;
	if (state->link.parent && stands_on(roster, state->link.parent, lower, depth - 1))
		return true;
	if (!state->members.smallest)
		return false;
	for (unsigned i = 0; i < roster->link_count; i++)
		if (roster->links[i]->link.master == upper &&
		    stands_on(roster, roster->links[i]->link.index, lower, depth - 1))
			return true;
	return false;
}

bool link_stands_on(const struct roster *roster, int upper, int lower)
{
	return upper != 0 && stands_on(roster, upper, lower, DEPTH_MOST);
}

static bool size_is_about(uint32_t size, uint32_t limit)
{
	return size >= limit && size <= limit + VLAN_ROOM;
}

/* A packet of more than what the finding names gets lost, or is refused where it says so. */
static bool judgement_is_loss(const struct judgement *judgement)
{
	return judgement->verdict == VERDICT_BLACK_HOLE || judgement->verdict == VERDICT_PARTIAL ||
	       judgement->verdict == VERDICT_REDUCED;
}

static uint32_t judgement_size(const struct judgement *judgement)
{
	return judgement->direction == DIRECTION_RETURN ? judgement->return_mtu
							: judgement->path_mtu;
}

static bool finding_explains(const struct finding *finding, const struct path *path)
{
	const struct judgement *judgement = &path->announced;
	bool narrow = judgement->verdict == VERDICT_MISCONFIGURED &&
		      judgement->reason == REASON_LINK_SMALLER;
	bool loss = judgement_is_loss(judgement);
	uint32_t size = judgement_size(judgement);

	switch (finding->id) {
	case FINDING_LINK_BELOW_EXPECTED:
	case FINDING_BRIDGE_LOWERED_BY_PORT:
	case FINDING_IPV6_MTU_BELOW_LINK:
		return narrow && path->facts.capacity == finding->is;
	case FINDING_MEMBER_DIFFERS:
	case FINDING_PAIR_DIFFERS:
		return loss && finding->is < finding->should && size_is_about(size, finding->is);
	case FINDING_VLAN_ABOVE_PARENT:
		return loss && size_is_about(size, finding->should);
	case FINDING_TUNNEL_TOO_LARGE:
		return loss && size == finding->should;
	case FINDING_ROUTE_MTU_BELOW_LINK:
	case FINDING_ROUTE_MTU_ABOVE_LINK:
	case FINDING_MTU_ABOVE_DRIVER_MAX:
	case FINDING_PTB_WRONG:
	case FINDING_RETURN_SMALLER:
	case FINDING_WRONG_LINK:
	case FINDING_ECHO_LIMITED:
	case FINDING_INBOUND_OVERSIZE:
	case FINDING_NEIGHBOUR_FRAME_SMALLER:
	case FINDING_CACHED_PMTU_STALE:
	case FINDING_SOCKET_MSS_BELOW_PATH:
	case FINDING_CONNECTIONS_STALLED:
	case FINDING_FLOWS_UNPROVEN:
	case FINDING_IPV6_LOST:
	case FINDING_MORE:
		return false;
	}
	return false;
}

/* What is said of a link itself holds only for paths that leave by just that one; what gets lost
 * below does so for all that lies above. */
static bool finding_is_below(enum finding_id id)
{
	return id == FINDING_MEMBER_DIFFERS || id == FINDING_PAIR_DIFFERS ||
	       id == FINDING_VLAN_ABOVE_PARENT || id == FINDING_TUNNEL_TOO_LARGE;
}

static bool finding_is_of_link(enum finding_id id)
{
	return id == FINDING_LINK_BELOW_EXPECTED || id == FINDING_BRIDGE_LOWERED_BY_PORT ||
	       id == FINDING_IPV6_MTU_BELOW_LINK;
}

static bool finding_reaches(const struct roster *roster, const struct finding *finding, int link,
			    const struct path *path)
{
	if (finding_is_of_link(finding->id))
		return path->route.link == link;
	return finding_is_below(finding->id) && link_stands_on(roster, path->route.link, link);
}

/* The peer expects more than its link was ever meant to have. */
static bool explain_narrow(const struct roster *roster, const struct path *path,
			   struct finding *ret)
{
	const struct link_state *state = roster_link_at(roster, path->route.link);
	bool narrow = path->announced.verdict == VERDICT_MISCONFIGURED &&
		      path->announced.reason == REASON_LINK_SMALLER;

	if (!narrow || !state || state->link.mtu >= path->facts.expected)
		return false;
	*ret = lint_below(roster, state, path->facts.expected);
	return true;
}

bool explain_fault(const struct roster *roster, const struct path *path, struct finding *ret)
{
	if (!verdict_is_fault(path->announced.verdict))
		return false;
	for (unsigned i = 0; i < roster->link_count; i++) {
		const struct link_state *state = roster->links[i];

		for (unsigned j = 0; j < state->findings.count; j++) {
			const struct finding *finding = &state->findings.list[j];

			if (!finding_explains(finding, path) ||
			    !finding_reaches(roster, finding, state->link.index, path))
				continue;
			*ret = *finding;
			return true;
		}
	}
	return explain_narrow(roster, path, ret);
}

/* One step up from what is marked. False: there is nothing more above. */
static bool mark_above(const struct roster *roster)
{
	bool more = false;

	for (unsigned i = 0; i < roster->link_count; i++) {
		struct link_state *state = roster->links[i], *other;

		other = state->above || !state->link.parent
				? NULL
				: roster_link_at(roster, state->link.parent);
		if (other && other->above)
			more = state->above = true;
		other = state->above && state->link.master
				? roster_link_at(roster, state->link.master)
				: NULL;
		if (other && other->members.smallest && !other->above)
			more = other->above = true;
	}
	return more;
}

void explain_mark(const struct roster *roster, const struct standing *standing)
{
	bool more = finding_is_below(standing->finding.id);

	for (unsigned i = 0; i < roster->link_count; i++)
		roster->links[i]->above = roster->links[i]->link.index == standing->link;
	for (unsigned depth = 0; depth < DEPTH_MOST && more; depth++)
		more = mark_above(roster);
}

bool explain_concerns(const struct roster *roster, const struct standing *standing,
		      const struct path *path)
{
	const struct link_state *egress;

	if (path->due_usec == USEC_NEVER || path->facts.trouble != REASON_NONE)
		return false;
	if (finding_is_of_link(standing->finding.id))
		return path->route.link == standing->link;
	if (!finding_is_below(standing->finding.id))
		return false;
	egress = roster_link_at(roster, path->route.link);
	return egress && egress->above;
}

/* Nothing of it is out of date, and nothing waits to be borne out. */
static bool path_has_spoken(const struct path *path, uint64_t since_usec)
{
	return path->ended_usec > since_usec && path_is_settled(path);
}

enum telling explain_telling(const struct roster *roster, const struct standing *standing,
			     uint64_t now_usec, uint64_t *ret_usec)
{
	bool waits = false, aside = false;

	explain_mark(roster, standing);
	for (unsigned i = 0; i < roster->peer_count; i++) {
		const struct peer *peer = roster->peers[i];

		for (unsigned j = 0; j < peer->path_count && peer->origin != ORIGIN_REQUEST; j++) {
			const struct path *path = &peer->paths[j];

			if (!explain_concerns(roster, standing, path))
				continue;
			if (!finding_explains(&standing->finding, path))
				waits = waits || !path_has_spoken(path, standing->since_usec);
			else if (path->announced.severity < standing->finding.severity)
				continue; /* a mild verdict is no alert of it */
			else if (path->told_usec >= standing->since_usec)
				return TELL_NOT;
			else
				aside = true;
		}
	}
	if (aside)
		return TELL_ASIDE;
	*ret_usec = standing->since_usec + (waits ? HOLD_USEC : STAND_USEC);
	return now_usec < *ret_usec ? TELL_LATER : TELL_ALONE;
}
