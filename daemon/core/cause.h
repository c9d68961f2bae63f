/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who changed a link's MTU, where that can be told from what else changed together with it.
 */
#pragma once

#include "roster.h"

enum cause_kind {
	CAUSE_UNKNOWN,
	CAUSE_OWN,	   /* this daemon */
	CAUSE_REPLACED,	   /* another link of the same name */
	CAUSE_PORT_JOINED, /* a bridge follows its smallest port */
	CAUSE_PORT_LEFT,
	CAUSE_PORT_CHANGED,
	CAUSE_PARENT,  /* the kernel lowers what lies on a link that is lowered */
	CAUSE_JOINED,  /* it became a member of a bond, which gives it its own MTU */
	CAUSE_MASTER,  /* the bond that it belongs to was changed */
	CAUSE_CAME_UP, /* whatever sets it up did */
	CAUSE_ROUTER,  /* the IPv6 MTU: a router advertisement */
	CAUSE_SYSCTL,  /* the IPv6 MTU: a sysctl */
};

struct cause {
	enum cause_kind kind;
	bool ipv6_reset;	   /* the link's own IPv6 MTU went with the change */
	uint32_t ipv6_mtu;	   /* what it was */
	char link[LINK_NAME_SIZE]; /* the port, parent or master; "" none */
};

/* Links that are gone, as they were. */
struct gone {
	const struct link *list;
	unsigned count;
};

/* Why state->link differs from state->before; `before` of a replaced link is its predecessor. */
void cause_find(const struct roster *roster, const struct gone *gone,
		const struct link_state *state, struct cause *ret);
