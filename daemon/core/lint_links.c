/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is wrong with this host's links, from facts alone. Compares a link only with what is
 * expected of it, with what lies on it, and with what belongs to it; links of different networks
 * are strangers to each other.
 */
#include "lint_links.h"

#include <string.h>

/* Loopback and links that are down do nobody harm. */
static bool link_is_used(const struct link *link)
{
	return link->up && !link->loopback;
}

static void finding_against(struct finding *finding, const struct link *other)
{
	memcpy(finding->other, other->name, sizeof(finding->other));
}

static void add(struct link_state *state, struct finding finding, uint32_t is, uint32_t should)
{
	finding.is = is;
	finding.should = should;
	findings_add(&state->findings, &finding);
}

/* --- what belongs together --- */

static bool type_has_members(enum link_type type)
{
	return type == LINK_BRIDGE || type == LINK_BOND || type == LINK_TEAM;
}

static void members_add(struct link_state *master, const struct link_state *member)
{
	struct link_members *members = &master->members;
	const struct link *link = &member->link;

	if (!members->smallest || link->mtu < members->smallest->mtu)
		members->smallest = link;
	if (!members->largest || link->mtu > members->largest->mtu)
		members->largest = link;
	if (!link_is_used(link) || member->ignored)
		return;
	if (!members->low || link->mtu < members->low->mtu)
		members->low = link;
	if (!members->high || link->mtu > members->high->mtu)
		members->high = link;
	members->below += link->mtu < master->link.mtu;
	members->above += link->mtu > master->link.mtu;
}

static void members_gather(const struct roster *roster)
{
	for (unsigned i = 0; i < roster->link_count; i++)
		roster->links[i]->members = (struct link_members){0};
	for (unsigned i = 0; i < roster->link_count; i++) {
		const struct link_state *state = roster->links[i];
		struct link_state *master =
			state->link.master ? roster_link_at(roster, state->link.master) : NULL;

		if (master && type_has_members(master->link.type))
			members_add(master, state);
	}
}

/* A port of less than its bridge drops what the bridge sends. One of more does no harm: a bridge
 * takes what its ports take. */
static void lint_members(struct link_state *state)
{
	const struct link_members *members = &state->members;
	struct finding finding =
		finding_make(FINDING_MEMBER_DIFFERS, SEVERITY_WARNING, &state->link);

	if (members->below) {
		finding_against(&finding, members->low);
		finding.number = (uint16_t)members->below;
		add(state, finding, members->low->mtu, state->link.mtu);
	} else if (members->above && state->link.type != LINK_BRIDGE) {
		finding_against(&finding, members->high);
		finding.number = (uint16_t)members->above;
		finding.severity = SEVERITY_NOTICE;
		add(state, finding, members->high->mtu, state->link.mtu);
	}
}

/* --- what lies below --- */

static bool type_lies_on_parent(enum link_type type)
{
	return type == LINK_VLAN || type == LINK_MACVLAN || type == LINK_IPVLAN;
}

static const struct link *parent_of(const struct roster *roster, const struct link *link)
{
	const struct link_state *parent =
		link->parent ? roster_link_at(roster, link->parent) : NULL;

	return parent ? &parent->link : NULL;
}

/* A tag does not count: whoever carries VLANs has room for it beside the MTU, and of two tags each
 * is its own link's matter. So a link may use all of the one that it lies on, and no more. */
static void lint_parent(const struct roster *roster, struct link_state *state)
{
	struct finding finding =
		finding_make(FINDING_VLAN_ABOVE_PARENT, SEVERITY_WARNING, &state->link);
	const struct link *parent = parent_of(roster, &state->link);

	if (!type_lies_on_parent(state->link.type) || !parent || !parent->up ||
	    state->link.mtu <= parent->mtu)
		return;
	finding_against(&finding, parent);
	add(state, finding, state->link.mtu, parent->mtu);
}

/* What comes out of one end of a pair has to fit into the other. */
static void lint_pair(const struct roster *roster, struct link_state *state)
{
	struct finding finding = finding_make(FINDING_PAIR_DIFFERS, SEVERITY_WARNING, &state->link);
	const struct link_state *pair =
		state->link.pair ? roster_link_at(roster, state->link.pair) : NULL;

	if (!pair || pair->ignored || pair->link.pair != state->link.index || !pair->link.up ||
	    pair->link.mtu >= state->link.mtu)
		return;
	finding_against(&finding, &pair->link);
	add(state, finding, pair->link.mtu, state->link.mtu);
}

/* --- tunnels --- */

static uint32_t mtu_for(const struct link *link, bool ipv6)
{
	return ipv6 && link->ipv6_mtu && link->ipv6_mtu < link->mtu ? link->ipv6_mtu : link->mtu;
}

/* A tunnel that hides its other end uses the hardware of this host, if there is any. */
static const struct link *largest_hardware(const struct roster *roster)
{
	const struct link *largest = NULL;

	for (unsigned i = 0; i < roster->link_count; i++) {
		const struct link *link = &roster->links[i]->link;

		if (link_is_used(link) && link->kind[0] == '\0' &&
		    (!largest || link->mtu > largest->mtu))
			largest = link;
	}
	return largest;
}

static const struct link *underlay_of(const struct roster *roster, const struct link_state *state)
{
	const struct link *parent = parent_of(roster, &state->link);
	const struct link_state *under =
		state->underlay ? roster_link_at(roster, state->underlay) : NULL;

	if (state->link.foreign || (state->link.tunnel & WRAP_EXTERNAL))
		return NULL;
	if (!parent && under && under != state)
		parent = &under->link;
	if (!parent && state->link.type == LINK_WIREGUARD)
		parent = largest_hardware(roster);
	return parent && parent->up && !parent->loopback ? parent : NULL;
}

/*
 * Without DF around it a packet that does not fit leaves in fragments: slow, and lost wherever
 * fragments are, but not lost here.
 */
static void lint_tunnel(const struct roster *roster, struct link_state *state)
{
	bool fragments = (state->link.tunnel & WRAP_FRAGMENTS) != 0;
	struct finding finding =
		finding_make(FINDING_TUNNEL_TOO_LARGE,
			     fragments ? SEVERITY_NOTICE : SEVERITY_WARNING, &state->link);
	uint32_t overhead = link_overhead(&state->link), room;
	const struct link *under = overhead ? underlay_of(roster, state) : NULL;

	if (!under)
		return;
	room = mtu_for(under, (state->link.tunnel & WRAP_IPV6) != 0);
	if (state->underlay == under->index && state->underlay_mtu && state->underlay_mtu < room)
		room = state->underlay_mtu;
	if (room <= overhead || state->link.mtu <= room - overhead)
		return;
	finding_against(&finding, under);
	finding.number = (uint16_t)overhead;
	add(state, finding, state->link.mtu, room - overhead);
}

/* --- the link itself --- */

/* The kernel lets a bridge follow its smallest port until somebody sets it. */
static bool bridge_follows(const struct link_state *state)
{
	return state->link.type == LINK_BRIDGE && state->members.smallest &&
	       state->members.smallest->mtu == state->link.mtu;
}

static struct finding bridge_lowered(const struct link_state *state, enum severity severity,
				     uint32_t should)
{
	struct finding finding =
		finding_make(FINDING_BRIDGE_LOWERED_BY_PORT, severity, &state->link);

	finding_against(&finding, state->members.smallest);
	finding.is = state->link.mtu;
	finding.should = should;
	return finding;
}

/* What has to be raised first, or instead: the parent, or the bond that it belongs to. */
static void below_because(const struct roster *roster, const struct link_state *state,
			  struct finding *finding)
{
	const struct link *parent = parent_of(roster, &state->link);
	const struct link_state *master =
		state->link.master ? roster_link_at(roster, state->link.master) : NULL;

	if (type_lies_on_parent(state->link.type) && parent && parent->mtu < finding->should)
		finding_against(finding, parent);
	else if (master && (master->link.type == LINK_BOND || master->link.type == LINK_TEAM))
		finding_against(finding, &master->link);
}

struct finding lint_below(const struct roster *roster, const struct link_state *state,
			  uint32_t expected)
{
	struct finding finding =
		finding_make(FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, &state->link);

	if (bridge_follows(state))
		return bridge_lowered(state, SEVERITY_WARNING, expected);
	finding.is = state->link.mtu;
	finding.should = expected;
	below_because(roster, state, &finding);
	return finding;
}

static void lint_expected(const struct roster *roster, struct link_state *state)
{
	const struct link *link = &state->link;
	struct finding finding;

	if (state->expected_mtu > link->mtu) {
		finding = lint_below(roster, state, state->expected_mtu);
		findings_add(&state->findings, &finding);
	} else if (bridge_follows(state) && state->members.largest->mtu > link->mtu) {
		finding = bridge_lowered(state, SEVERITY_NOTICE, state->members.largest->mtu);
		findings_add(&state->findings, &finding);
	}
	if (link->max_mtu && state->expected_mtu > link->max_mtu)
		add(state, finding_make(FINDING_MTU_ABOVE_DRIVER_MAX, SEVERITY_WARNING, link),
		    link->max_mtu, state->expected_mtu);
}

static void lint_ipv6(struct link_state *state)
{
	const struct link *link = &state->link;
	struct finding below = finding_make(FINDING_IPV6_MTU_BELOW_LINK, SEVERITY_NOTICE, link);

	below.origin = link->ipv6_origin;
	if (link->ipv6_mtu && link->ipv6_mtu < link->mtu)
		add(state, below, link->ipv6_mtu, link->mtu);
	if (state->ipv6_lost)
		add(state, finding_make(FINDING_IPV6_LOST, SEVERITY_WARNING, link), link->mtu,
		    IPV6_SMALLEST_MTU);
}

/* What a clamp of ours did to a link is no finding: it is judged as it was before. Done twice, all
 * is as it is. */
static void clamps_swap(const struct roster *roster)
{
	for (unsigned i = 0; i < roster->link_count; i++) {
		struct link_state *state = roster->links[i];
		uint32_t mtu = state->link.mtu;

		if (!state->original_mtu)
			continue;
		state->link.mtu = state->original_mtu;
		if (state->link.ipv6_mtu == mtu)
			state->link.ipv6_mtu = state->original_mtu;
		state->original_mtu = mtu;
	}
}

static void lint_state(const struct roster *roster, struct link_state *state)
{
	memset(&state->findings, 0, sizeof(state->findings));
	if (!link_is_used(&state->link) || state->ignored)
		return;
	lint_expected(roster, state);
	lint_ipv6(state);
	lint_parent(roster, state);
	lint_members(state);
	lint_pair(roster, state);
	lint_tunnel(roster, state);
	far_end_lint(&state->far, &state->link, &state->findings);
}

void lint_one(const struct roster *roster, struct link_state *state)
{
	clamps_swap(roster);
	lint_state(roster, state);
	clamps_swap(roster);
}

void lint_links(const struct roster *roster)
{
	clamps_swap(roster);
	members_gather(roster);
	for (unsigned i = 0; i < roster->link_count; i++)
		lint_state(roster, roster->links[i]);
	clamps_swap(roster);
}
