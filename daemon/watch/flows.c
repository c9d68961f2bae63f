/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a flow holds: its identifier, and while its path is asked by it the port of that number.
 */
#include "state.h"

#include <errno.h>
#include <sys/random.h>

#define PORTS_TRIED 256 /* of them few are free where services have most */

/* Source ports below are other people's. */
#define IDENT_LEAST 16384U
#define IDENT_TRIES 16U

static bool ident_is_taken(struct watch *watch, uint16_t ident)
{
	const struct flow *flow = *ident_row(watch, ident);

	while (flow && flow->ident != ident)
		flow = flow->next_in_row;
	return flow != NULL;
}

/* One that is taken does as well, and with more flows than there are identifiers it has to: it is
 * the address, too, that tells whose an answer is. One question to the kernel is enough. */
void watch_flow_choose_ident(struct watch *watch, struct flow *flow)
{
	uint16_t idents[IDENT_TRIES], ident = IDENT_LEAST;
	ssize_t got = getrandom(idents, sizeof(idents), 0);

	for (unsigned i = 0; i < IDENT_TRIES; i++) {
		ident = (ssize_t)((i + 1) * sizeof(ident)) <= got ? idents[i] : (uint16_t)(ident + 1);
		if (ident < IDENT_LEAST)
			ident |= 0x8000;
		if (!ident_is_taken(watch, ident))
			break;
	}
	flow->ident = ident;
	flow->next_in_row = *ident_row(watch, ident);
	*ident_row(watch, ident) = flow;
}

void watch_flow_release_ports(struct watch *watch, struct flow *flow, enum probe_kind but)
{
	for (unsigned kind = PROBE_SYN; kind <= PROBE_RESPONDER; kind++) {
		uint8_t bit = (uint8_t)(1U << kind);

		if (kind == but || !(flow->kept_ports & bit))
			continue;
		prober_release_port(watch->prober, (enum probe_kind)kind,
				    flow->path->address.family, flow->ident);
		flow->kept_ports &= (uint8_t)~bit;
		watch->ports_kept--;
		watch->port_free = true;
	}
}

void watch_flow_release(struct watch *watch, struct flow *flow)
{
	struct flow **next = ident_row(watch, flow->ident);

	watch_flow_release_ports(watch, flow, PROBE_ECHO);
	while (*next && *next != flow)
		next = &(*next)->next_in_row;
	if (*next)
		*next = flow->next_in_row;
}

/* What rests between two rounds gives its ports back: they are taken again when they are wanted.
 * False: there was none. */
static bool flows_make_room(struct watch *watch)
{
	bool made = false;

	WATCH_PATHS(watch, path) {
		if (path->check)
			continue;
		for (unsigned i = 0; i < path->flow_count; i++) {
			made |= path->flows[i].kept_ports != 0;
			watch_flow_release_ports(watch, &path->flows[i], PROBE_ECHO);
		}
	}
	return made;
}

int watch_flow_keep_port(struct watch *watch, struct flow *flow, enum probe_kind kind)
{
	uint8_t bit = (uint8_t)(1U << kind);
	int r = 0;

	if (kind == PROBE_ECHO || (flow->kept_ports & bit))
		return 0;
	for (unsigned tries = 0; tries < PORTS_TRIED; tries++) {
		r = prober_keep_port(watch->prober, kind, flow->path->address.family, flow->ident);
		if (r >= 0) {
			flow->kept_ports |= bit;
			watch->ports_kept++;
			return 0;
		}
		if (r == -EADDRINUSE) {
			watch_flow_release(watch, flow);
			watch_flow_choose_ident(watch, flow);
		} else if (!error_is_shortage(r) || !flows_make_room(watch)) {
			break;
		}
	}
	return r;
}
