/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The likely cause of a changed MTU, out of the links as they were and as they are. What cannot be
 * told is not guessed: then somebody set it.
 */
#include "cause.h"

#include <string.h>

static void cause_set(struct cause *cause, enum cause_kind kind, const struct link *link)
{
	cause->kind = kind;
	if (link)
		memcpy(cause->link, link->name, sizeof(cause->link));
}

/* --- a bridge and its ports --- */

/* A port that was of this size, or is, and is now not what it was. */
static enum cause_kind port_cause(const struct link_state *bridge, const struct link_state *port)
{
	int index = bridge->link.index;
	bool was = port->before.index && port->before.master == index;
	bool is = port->link.master == index;
	bool fits = port->link.mtu == bridge->link.mtu;
	bool fitted = port->before.mtu == bridge->before.mtu;

	if (is && !was && fits)
		return CAUSE_PORT_JOINED;
	if (was && !is && fitted)
		return CAUSE_PORT_LEFT;
	if (was && is && port->before.mtu != port->link.mtu && (fits || fitted))
		return CAUSE_PORT_CHANGED;
	return CAUSE_UNKNOWN;
}

static void find_port(const struct roster *roster, const struct gone *gone,
		      const struct link_state *bridge, struct cause *ret)
{
	for (unsigned i = 0; i < roster->link_count && ret->kind == CAUSE_UNKNOWN; i++) {
		enum cause_kind kind = port_cause(bridge, roster->links[i]);

		if (kind != CAUSE_UNKNOWN)
			cause_set(ret, kind, &roster->links[i]->link);
	}
	for (unsigned i = 0; i < gone->count && ret->kind == CAUSE_UNKNOWN; i++)
		if (gone->list[i].master == bridge->link.index &&
		    gone->list[i].mtu == bridge->before.mtu)
			cause_set(ret, CAUSE_PORT_LEFT, &gone->list[i]);
}

/* --- parents and masters --- */

static bool was_changed_to(const struct link_state *state, uint32_t mtu)
{
	return state && state->before.index && state->before.mtu != state->link.mtu &&
	       state->link.mtu == mtu;
}

static void find_parent(const struct roster *roster, const struct link_state *state,
			struct cause *ret)
{
	const struct link_state *parent =
		state->link.parent ? roster_link_at(roster, state->link.parent) : NULL;

	if (!link_type_is_tunnel(state->link.type) && was_changed_to(parent, state->link.mtu))
		cause_set(ret, CAUSE_PARENT, &parent->link);
}

static void find_master(const struct roster *roster, const struct link_state *state,
			struct cause *ret)
{
	const struct link_state *master =
		state->link.master ? roster_link_at(roster, state->link.master) : NULL;

	if (!master || (master->link.type != LINK_BOND && master->link.type != LINK_TEAM))
		return;
	if (state->before.master != state->link.master && master->link.mtu == state->link.mtu)
		cause_set(ret, CAUSE_JOINED, &master->link);
	else if (was_changed_to(master, state->link.mtu))
		cause_set(ret, CAUSE_MASTER, &master->link);
}

/* --- IPv6 --- */

/* The kernel gives IPv6 the link's whole MTU whenever that is set. */
static void find_reset(const struct link_state *state, struct cause *ret)
{
	const struct link *before = &state->before, *now = &state->link;

	if (before->ipv6_mtu == 0 || before->ipv6_mtu >= before->mtu || now->ipv6_mtu != now->mtu)
		return;
	ret->ipv6_reset = true;
	ret->ipv6_mtu = before->ipv6_mtu;
}

static void find_ipv6(const struct link_state *state, struct cause *ret)
{
	switch ((enum ipv6_origin)state->link.ipv6_origin) {
	case IPV6_ORIGIN_ROUTER:
		cause_set(ret, CAUSE_ROUTER, NULL);
		break;
	case IPV6_ORIGIN_SYSCTL:
		cause_set(ret, CAUSE_SYSCTL, NULL);
		break;
	case IPV6_ORIGIN_UNKNOWN:
		break;
	}
}

void cause_find(const struct roster *roster, const struct gone *gone,
		const struct link_state *state, struct cause *ret)
{
	const struct link *before = &state->before, *now = &state->link;

	memset(ret, 0, sizeof(*ret));
	if (before->mtu == now->mtu && before->index == now->index) {
		find_ipv6(state, ret);
		return;
	}
	find_reset(state, ret);
	if (state->own_mtu && state->own_mtu == now->mtu)
		cause_set(ret, CAUSE_OWN, NULL);
	else if (before->index != now->index)
		cause_set(ret, CAUSE_REPLACED, NULL);
	else if (now->type == LINK_BRIDGE)
		find_port(roster, gone, state, ret);
	if (ret->kind == CAUSE_UNKNOWN)
		find_parent(roster, state, ret);
	if (ret->kind == CAUSE_UNKNOWN)
		find_master(roster, state, ret);
	if (ret->kind == CAUSE_UNKNOWN &&
	    ((!before->up && now->up) || (!before->carrier && now->carrier)))
		cause_set(ret, CAUSE_CAME_UP, NULL);
}
