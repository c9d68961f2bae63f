/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a look at the live connections means for a path: what becomes a finding and when it goes,
 * and when a stall is worth a round at once. The connections themselves are in connections.c.
 */
#include "path_inside.h"

#include <string.h>

#define LOOKS_TO_TELL 2U                     /* in a row: not what is just being settled */
#define GONE_USEC (10 * USEC_PER_SEC)        /* without one below; longer where they come and go */
#define RENEWED_USEC (600 * USEC_PER_SEC)    /* back within that time: they come and go */
#define RENEWALS_MOST 7U
#define RESTLESS_USEC (15 * USEC_PER_SEC)    /* a stall that lasts is no news */
#define ASK_GAP_LEAST_USEC (2 * USEC_PER_SEC)

static bool path_cache_is_below(const struct path *path)
{
	return path->facts.trouble == REASON_NONE && path->route.exception_sec > 0 &&
	       path->route.kernel_mtu < path->known_mtu;
}

bool path_cache_is_stale(const struct path *path)
{
	return path_cache_is_below(path) && path->route.kernel_mtu == path->measured_beside;
}

bool path_cache_is_news(const struct path *path)
{
	return path_cache_is_below(path) && path->route.kernel_mtu != path->measured_beside;
}

/* So much plain loss may look like anything. */
static bool path_is_lossy(const struct path *path)
{
	return path->loss.lost > 3 && path->loss.lost > path->loss.sent / 5;
}

/* A dead peer or a dead flow is no matter of size: either a round since then has shown that small
 * ones pass and these do not, or the connection itself hears from the peer. */
bool path_sockets_are_stalled(const struct path *path)
{
	const struct path_sockets *sockets = &path->sockets;
	const struct evidence *evidence = &path->evidence;

	if (sockets->stalled == 0 || path->facts.trouble)
		return false;
	/* the verdict that is on its way says it too: one fault, one alarm */
	if (path->streak > 0)
		return findings_find(&path_dossier(path)->findings, FINDING_CONNECTIONS_STALLED) != NULL;
	if (path->undecided == 0 && path->ended_usec > sockets->slow_usec &&
	    evidence->outcome == OUTCOME_LESS && sockets->stalled_size > evidence->passes)
		return true;
	return sockets->stalled_alive && !path_is_lossy(path);
}

/* A connection that has nothing to send still shows what the kernel has forgotten since; what the
 * route's own MTU explains is a finding about the route. */
static bool cause_holds(const struct path *path, enum socket_cause cause)
{
	return cause != SOCKET_CAUSE_CACHE || path_cache_is_stale(path);
}

static enum socket_cause cause_exactly(const struct path *path, enum socket_cause cause,
				       const struct socket_below *below)
{
	uint32_t back = path->announced.return_mtu;

	if (cause != SOCKET_CAUSE_PEER || back == 0)
		return cause;
	if (back > below->size + SOCKET_SLACK)
		return SOCKET_CAUSE_REWRITTEN;
	return SOCKET_CAUSE_PEER_SMALL;
}

/* How many there are moves all the time: it is what it was when the finding began. */
static void sockets_take(struct path *path, enum socket_cause cause, const struct socket_below *below)
{
	struct path_sockets *sockets = &path->sockets;
	uint32_t count = below->count;

	if (sockets->told && sockets->cause == cause && sockets->below.size == below->size)
		count = sockets->below.count;
	sockets->below = *below;
	sockets->below.count = count;
	sockets->cause = (uint8_t)cause;
	sockets->should = path->announced.path_mtu;
}

/* In the order of enum socket_cause: what is at hand first. */
static bool sockets_choose(struct path *path, const struct tally *tally)
{
	for (unsigned i = 0; i < SOCKET_CAUSE_COUNT; i++) {
		const struct socket_below *below = &tally->below[i];

		if (below->count == 0 || !cause_holds(path, (enum socket_cause)i))
			continue;
		sockets_take(path, cause_exactly(path, (enum socket_cause)i, below), below);
		return true;
	}
	return false;
}

static void sockets_appear(struct path_sockets *sockets, uint64_t now_usec)
{
	if (!sockets->told && sockets->seen_usec && now_usec - sockets->seen_usec < RENEWED_USEC) {
		if (sockets->renewals < RENEWALS_MOST)
			sockets->renewals++;
	} else if (!sockets->told) {
		sockets->renewals = 0;
	}
	sockets->told = true;
}

/* Connections come and go; the finding about them is said once. */
static void sockets_below(struct path *path, const struct tally *tally, uint64_t now_usec,
			  struct sockets_news *news)
{
	struct path_sockets *sockets = &path->sockets;

	/* what the kernel has learned just now is to be held against a round */
	news->ask = tally->below[SOCKET_CAUSE_CACHE].count > 0 && path_cache_is_news(path);
	if (sockets_choose(path, tally)) {
		if (sockets->below_looks < LOOKS_TO_TELL && !sockets->told)
			sockets->below_looks++;
		if (sockets->below_looks >= LOOKS_TO_TELL)
			sockets_appear(sockets, now_usec);
		if (sockets->told)
			sockets->seen_usec = now_usec;
		news->restless |= !sockets->told;
		return;
	}
	sockets->below_looks = 0;
	if (sockets->told && now_usec - sockets->seen_usec >= GONE_USEC << sockets->renewals)
		sockets->told = false;
}

/* A stall that has ended where there is a fault: the path may be whole. A round that was under way
 * then, or had just ended, saw the time before: the wish stands until one has begun since. */
static bool path_owes_round(struct path *path)
{
	struct path_sockets *sockets = &path->sockets;

	if (path->began_usec >= sockets->moved_usec || path->facts.trouble != REASON_NONE ||
	    !verdict_is_fault(path->announced.verdict))
		sockets->moved_usec = 0;
	return sockets->moved_usec != 0;
}

/* Real traffic found it first: a round tells what it is. A standing stall is asked about again, at
 * growing intervals, and one that has ended once more. */
static void sockets_stall(struct path *path, const struct tally *tally, uint64_t now_usec,
			  struct sockets_news *news)
{
	struct path_sockets *sockets = &path->sockets;
	bool was = sockets->slow_usec != 0;

	sockets->stalled = tally->stalled < UINT16_MAX ? (uint16_t)tally->stalled : UINT16_MAX;
	sockets->stalled_size = tally->stalled_size;
	sockets->stalled_alive = tally->stalled_alive;
	if (tally->slow == 0) {
		if (was)
			sockets->moved_usec = now_usec;
		sockets->slow_usec = 0;
		if (path_owes_round(path))
			news->ask = news->restless = true;
		return;
	}
	sockets->moved_usec = 0;
	if (!was)
		sockets->slow_usec = now_usec;
	news->restless |= now_usec - sockets->slow_usec < RESTLESS_USEC;
	if (was && now_usec - sockets->asked_usec < sockets->ask_gap_usec)
		return;
	sockets->ask_gap_usec = was ? 2 * sockets->ask_gap_usec : ASK_GAP_LEAST_USEC;
	if (sockets->ask_gap_usec > path->settings->interval_usec)
		sockets->ask_gap_usec = path->settings->interval_usec;
	sockets->asked_usec = now_usec;
	news->ask = true;
}

void path_on_connections(struct path *path, const struct tally *tally, uint64_t now_usec,
			 struct sockets_news *ret)
{
	struct path_sockets before = path->sockets;

	memset(ret, 0, sizeof(*ret));
	path->sockets.mss = tally->mss;
	sockets_below(path, tally, now_usec, ret);
	sockets_stall(path, tally, now_usec, ret);
	ret->mss_changed = before.mss != path->sockets.mss;
	ret->lint = path->sockets.told || path->sockets.told != before.told ||
		    path->sockets.stalled != before.stalled ||
		    path->sockets.stalled_alive != before.stalled_alive;
}
