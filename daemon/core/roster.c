/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the whole looks like from what its parts say: the worst path, the worst peer, the counts.
 * Looks only; whoever owns the roster changes it.
 */
#include "roster.h"

#include <string.h>

static enum severity severity_worse(enum severity a, enum severity b)
{
	return a > b ? a : b;
}

static bool judgement_worse(const struct judgement *a, const struct judgement *b)
{
	int rank_a = verdict_rank(a->verdict), rank_b = verdict_rank(b->verdict);

	return rank_a != rank_b ? rank_a > rank_b : a->severity > b->severity;
}

const struct path *peer_worst_path(const struct peer *peer)
{
	const struct path *worst = NULL;

	for (unsigned i = 0; i < peer->path_count; i++)
		if (!worst || judgement_worse(&peer->paths[i].announced, &worst->announced))
			worst = &peer->paths[i];
	return worst;
}

enum verdict peer_verdict(const struct peer *peer)
{
	const struct path *worst = peer_worst_path(peer);

	return worst ? worst->announced.verdict : VERDICT_UNKNOWN;
}

/* Not always the worst path's: an unconfirmed black hole beside a confirmed lesser fault. */
enum severity peer_severity(const struct peer *peer)
{
	enum severity worst = SEVERITY_NONE;

	for (unsigned i = 0; i < peer->path_count; i++)
		worst = severity_worse(worst, peer->paths[i].announced.severity);
	return worst;
}

enum severity link_state_severity(const struct link_state *state)
{
	enum severity worst = SEVERITY_OK;

	if (state->ignored)
		return SEVERITY_OK;
	for (unsigned i = 0; i < state->findings.count; i++)
		worst = severity_worse(worst, state->findings.list[i].severity);
	return worst;
}

enum verdict roster_verdict(const struct roster *roster)
{
	enum verdict worst = VERDICT_UNKNOWN;

	for (unsigned i = 0; i < roster->peer_count; i++) {
		enum verdict verdict = peer_verdict(roster->peers[i]);

		if (i == 0 || verdict_rank(verdict) > verdict_rank(worst))
			worst = verdict;
	}
	return worst;
}

enum severity roster_severity(const struct roster *roster)
{
	enum severity worst = SEVERITY_NONE;

	for (unsigned i = 0; i < roster->peer_count; i++)
		worst = severity_worse(worst, peer_severity(roster->peers[i]));
	for (unsigned i = 0; i < roster->link_count; i++)
		worst = severity_worse(worst, link_state_severity(roster->links[i]));
	return worst;
}

unsigned roster_peers_faulty(const struct roster *roster)
{
	unsigned count = 0;

	for (unsigned i = 0; i < roster->peer_count; i++)
		count += peer_severity(roster->peers[i]) >= SEVERITY_WARNING;
	return count;
}

unsigned roster_links_faulty(const struct roster *roster)
{
	unsigned count = 0;

	for (unsigned i = 0; i < roster->link_count; i++)
		count += link_state_severity(roster->links[i]) >= SEVERITY_WARNING;
	return count;
}

static bool peer_is_clamped(const struct peer *peer)
{
	for (unsigned i = 0; i < peer->path_count; i++)
		if (peer->paths[i].facts.clamp_mtu != 0)
			return true;
	return false;
}

unsigned roster_clamped(const struct roster *roster)
{
	unsigned count = 0;

	for (unsigned i = 0; i < roster->peer_count; i++)
		count += peer_is_clamped(roster->peers[i]);
	for (unsigned i = 0; i < roster->link_count; i++)
		count += roster->links[i]->original_mtu != 0;
	return count;
}

struct peer *roster_peer(const struct roster *roster, const char *name)
{
	unsigned low = 0, high = roster->peer_count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		int order = strcmp(name, roster->peers[middle]->name);

		if (order == 0)
			return roster->peers[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

struct link_state *roster_link(const struct roster *roster, const char *name)
{
	for (unsigned i = 0; i < roster->link_count; i++)
		if (strcmp(name, roster->links[i]->link.name) == 0)
			return roster->links[i];
	return NULL;
}

struct link_state *roster_link_at(const struct roster *roster, int index)
{
	unsigned low = 0, high = roster->link_count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		struct link_state *state = roster->links[middle];

		if (state->link.index == index)
			return state;
		if (state->link.index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void link_state_update(struct link_state *state, const struct link *now)
{
	if (now->mtu >= IPV6_SMALLEST_MTU)
		state->ipv6_lost = false;
	else if (state->link.ipv6_mtu && !now->ipv6_mtu)
		state->ipv6_lost = true;
	state->link = *now;
}
