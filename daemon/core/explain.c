/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A finding about a link is held back while the paths over that link are being measured. Where one
 * of them fails just as the finding predicts, its verdict carries the finding and is the only
 * alert; else the finding is told alone. Whichever comes second is told without alarm.
 */
#include "explain.h"

#include "lint_links.h"
#include "tower.h"

#define VLAN_ROOM 4U /* many links take a VLAN's tag more than their MTU, used or not */
#define STAND_USEC (USEC_PER_SEC / 2) /* what is gone at once was a change on its way */
#define HOLD_USEC (60 * USEC_PER_SEC)

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

/* `around`: what tunnels put around the packets before these come to the link it is about. */
static bool finding_explains(const struct finding *finding, const struct path *path,
			     uint32_t around)
{
	const struct judgement *judgement = &path->announced;
	bool narrow = judgement->verdict == VERDICT_MISCONFIGURED &&
		      judgement->reason == REASON_LINK_SMALLER;
	bool loss = judgement_is_loss(judgement);
	uint32_t size = judgement_size(judgement) + around;

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

/* After tower_mark_below() of the path's link. */
static const struct finding *finding_of(const struct link_state *state, const struct path *path)
{
	bool own = path->route.link == state->link.index;

	for (unsigned i = 0; i < state->findings.count; i++) {
		const struct finding *finding = &state->findings.list[i];

		if ((finding_is_below(finding->id) || (own && finding_is_of_link(finding->id))) &&
		    finding_explains(finding, path, state->around))
			return finding;
	}
	return NULL;
}

bool explain_fault(const struct roster *roster, const struct path *path, struct finding *ret)
{
	if (!verdict_is_fault(path->announced.verdict))
		return false;
	tower_mark_below(roster, path->route.link);
	for (unsigned i = 0; i < roster->link_count; i++) {
		const struct link_state *state = roster->links[i];
		const struct finding *finding = state->reached ? finding_of(state, path) : NULL;

		if (!finding)
			continue;
		*ret = *finding;
		return true;
	}
	return explain_narrow(roster, path, ret);
}

void explain_mark(const struct roster *roster, const struct standing *standing)
{
	tower_mark_above(roster, standing->link);
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
	return egress && egress->reached;
}

/* Nothing of it is out of date, and nothing waits to be borne out. */
static bool path_has_spoken(const struct path *path, uint64_t since_usec)
{
	return path->ended_usec > since_usec && path_is_settled(path);
}

static uint32_t path_around(const struct roster *roster, const struct path *path)
{
	const struct link_state *egress = roster_link_at(roster, path->route.link);

	return egress ? egress->around : 0;
}

/* What one path that it concerns means for it: TELL_ALONE where it means nothing. */
static enum telling path_telling(const struct roster *roster, const struct standing *standing,
				 const struct path *path)
{
	if (!explain_concerns(roster, standing, path))
		return TELL_ALONE;
	if (!finding_explains(&standing->finding, path, path_around(roster, path)))
		return path_has_spoken(path, standing->since_usec) ? TELL_ALONE : TELL_LATER;
	if (path->announced.severity < standing->finding.severity)
		return TELL_ALONE; /* a mild verdict is no alert of it */
	return path->told_usec >= standing->since_usec ? TELL_NOT : TELL_ASIDE;
}

static enum telling paths_telling(const struct roster *roster, const struct standing *standing)
{
	bool waits = false, aside = false;

	for (unsigned i = 0; i < roster->peer_count; i++) {
		const struct peer *peer = roster->peers[i];

		for (unsigned j = 0; j < peer->path_count && peer->origin != ORIGIN_REQUEST; j++) {
			enum telling telling = path_telling(roster, standing, &peer->paths[j]);

			if (telling == TELL_NOT)
				return TELL_NOT;
			waits |= telling == TELL_LATER;
			aside |= telling == TELL_ASIDE;
		}
	}
	if (aside)
		return TELL_ASIDE;
	return waits ? TELL_LATER : TELL_ALONE;
}

enum telling explain_telling(const struct roster *roster, const struct standing *standing,
			     uint64_t now_usec, uint64_t *ret_usec)
{
	enum telling telling = TELL_ALONE;

	explain_mark(roster, standing);
	if (tower_has_paths(roster))
		telling = paths_telling(roster, standing);
	if (telling == TELL_NOT || telling == TELL_ASIDE)
		return telling;
	*ret_usec = standing->since_usec + (telling == TELL_LATER ? HOLD_USEC : STAND_USEC);
	if (*ret_usec < standing->not_before_usec)
		*ret_usec = standing->not_before_usec;
	return now_usec < *ret_usec ? TELL_LATER : TELL_ALONE;
}
