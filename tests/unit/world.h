/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small world around one path: what it carries each way and on each flow, routers that report
 * honestly, wrongly or not at all, loss, late and doubled answers, and a clock that we turn; and a
 * path's life in it.
 *
 * WORLD_SEED=n runs with other dice; a failure prints the seed of its world. In what runs a
 * million times there is no ck_assert: each one that holds costs a write to a pipe.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/core/path.h"
#include "tap.h"

enum router {
	ROUTER_NONE, /* too big packets vanish */
	ROUTER_HONEST,
	ROUTER_ZERO,
	ROUTER_TOO_MUCH,
	ROUTER_TOO_LITTLE,
	ROUTER_LIMITED, /* one report a second */
	ROUTER_CHAIN,   /* two honest ones, the nearer carries more */
	ROUTER_COUNT,
	ROUTER_VALUE,   /* reports what the test says */
};

#define FLOWS_MOST 8

struct world {
	uint64_t seed, dice;
	uint64_t now;
	uint64_t delay_usec;          /* there and back */
	uint8_t family;
	unsigned fail_after;
	uint32_t link_mtu;
	uint32_t limit;               /* of the way there */
	uint32_t limit_back;          /* of the way back */
	uint32_t limit_echo;          /* larger echo requests are dropped by the peer itself */
	uint32_t limit_flow[FLOWS_MOST]; /* of the way there, by one flow; 0: as the others */
	unsigned flows_dead;          /* bits: of these flows nothing arrives */
	unsigned flows_untold;        /* bits: on the way of these no router reports */
	bool echo_apart;              /* echoes go where there is no limit */
	unsigned lost_first[PROBE_RESPONDER + 1]; /* so many of a kind get lost, before any arrives */
	uint32_t lost_from, lost_to;  /* sizes that get lost besides; 0 none */
	uint32_t value;               /* ROUTER_VALUE */
	unsigned kinds;               /* bits of enum probe_kind: what the peer answers */
	bool port_closed;
	bool fragments_back;          /* a way back that is smaller takes echoes apart */
	bool firewall;                /* the first router answers SYNs in the peer's name */
	unsigned hops;                /* routers between; the limit is behind router number `narrow` */
	unsigned narrow;
	unsigned loss_percent;
	unsigned loss_full_percent;   /* of packets above half the link's MTU, besides */
	unsigned loss_back_percent;   /* of answers as large */
	bool unreachables_limited;    /* six port unreachables at once, then one a second */
	uint64_t unreachables_usec;
	unsigned answers_per_sec;     /* the peer answers no more, 0: as many as are asked */
	uint64_t answers_free_usec;
	uint64_t cookie;              /* of the peer's responder */
	enum router router;
	bool unruly; /* late and doubled answers */
	uint64_t reported_usec;
	uint64_t packets;
	uint64_t late_usec;           /* we come so much too late at most, each time */
	uint64_t sent_usec, least_gap_usec; /* between bursts */
	unsigned pending_count;
	uint64_t arrival[512];
	unsigned flow[512];
	struct answer pending[512];
};

static uint64_t world_dice(struct world *world)
{
	return dice_roll(&world->dice);
}

static bool world_chance(struct world *world, unsigned percent)
{
	return world_dice(world) % 100 < percent;
}

static void world_deliver(struct world *world, const struct answer *answer, unsigned flow)
{
	uint64_t delay = world->delay_usec + world_dice(world) % 2000;

	if (world->unruly && world_chance(world, 5))
		delay += world_dice(world) % 200000;
	if (world->pending_count == 512)
		ck_abort_msg("seed %lu: more answers than a world holds", world->seed);
	world->pending[world->pending_count] = *answer;
	world->flow[world->pending_count] = flow;
	world->arrival[world->pending_count++] = world->now + delay;
}

static uint32_t world_least(const struct world *world)
{
	return world->family == ADDRESS_IPV6 ? IPV6_SMALLEST_MTU : CONTROL_IPV4;
}

/* What the nearer of two routers carries. */
static uint32_t world_near(const struct world *world)
{
	return world->limit + (world->link_mtu - world->limit) / 2;
}

static uint32_t world_reported_mtu(const struct world *world, uint32_t size)
{
	uint32_t least = world_least(world);

	switch (world->router) {
	case ROUTER_ZERO:
		return 0;
	case ROUTER_TOO_MUCH:
		return world->limit + 20;
	case ROUTER_TOO_LITTLE:
		return world->limit > least + 100 ? world->limit - 100 : least;
	case ROUTER_VALUE:
		return world->value;
	case ROUTER_CHAIN:
		return size > world_near(world) ? world_near(world) : world->limit;
	case ROUTER_NONE:
	case ROUTER_HONEST:
	case ROUTER_LIMITED:
	case ROUTER_COUNT:
		break;
	}
	return world->limit;
}

static bool world_reports(struct world *world)
{
	if (world->router == ROUTER_NONE)
		return false;
	if (world->router != ROUTER_LIMITED)
		return true;
	if (world->reported_usec && world->now - world->reported_usec < USEC_PER_SEC)
		return false;
	world->reported_usec = world->now;
	return true;
}

static uint32_t world_limit(const struct world *world, unsigned flow)
{
	uint32_t own = flow < FLOWS_MOST ? world->limit_flow[flow] : 0;

	return own ? own : world->limit;
}

/* A token bucket of one second's worth. */
static bool world_peer_answers(struct world *world)
{
	uint64_t spacing, earliest = world->now - USEC_PER_SEC;

	if (world->answers_per_sec == 0)
		return true;
	spacing = USEC_PER_SEC / world->answers_per_sec;
	if (world->answers_free_usec < earliest)
		world->answers_free_usec = earliest;
	if (world->answers_free_usec + spacing > world->now)
		return false;
	world->answers_free_usec += spacing;
	return true;
}

static bool world_unreachable(struct world *world)
{
	uint64_t earliest = world->now - 6 * USEC_PER_SEC;

	if (!world->unreachables_limited)
		return true;
	if (world->unreachables_usec < earliest)
		world->unreachables_usec = earliest;
	if (world->unreachables_usec + USEC_PER_SEC > world->now)
		return false;
	world->unreachables_usec += USEC_PER_SEC;
	return true;
}

static bool world_lost_back(struct world *world, uint32_t size)
{
	return size > world->link_mtu / 2 && world_chance(world, world->loss_back_percent);
}

/* The peer got the probe: what it answers, and whether that gets back. */
static void world_peer(struct world *world, struct answer *answer, unsigned flow)
{
	uint32_t size = answer->size;

	if (!(world->kinds & (1U << answer->probe)) || !world_peer_answers(world))
		return;
	switch (answer->probe) {
	case PROBE_ECHO:
		if (size > world->limit_echo || (size > world->limit_back && !world->fragments_back))
			return;
		if (world_lost_back(world, size))
			return;
		if (size > world->limit_back)
			answer->fragment = world->limit_back;
		break;
	case PROBE_SYN:
		answer->kind = ANSWER_DELIVERED;
		/* an open port takes the SYN alone, a closed one refuses its data as well */
		answer->acknowledged = ((uint32_t)(answer->nonce & 0xffff) << 16 | answer->sequence) + 1;
		if (world->port_closed)
			answer->acknowledged += size - (world->family == ADDRESS_IPV6 ? 60 : 40);
		answer->has_nonce = false;
		break;
	case PROBE_UDP:
		if (!world_unreachable(world))
			return;
		answer->kind = ANSWER_DELIVERED;
		break;
	case PROBE_RESPONDER:
		if (answer->cookie != world->cookie) {
			answer->kind = ANSWER_COOKIE;
			answer->cookie = world->cookie;
			break;
		}
		if (size <= world->limit_back && !world_lost_back(world, size))
			world_deliver(world, answer, flow);
		answer->kind = ANSWER_DELIVERED;
		break;
	}
	world_deliver(world, answer, flow);
}

static void world_probe(struct world *world, struct answer *answer, unsigned flow, uint8_t ttl)
{
	uint32_t limit = world_limit(world, flow);
	bool dies = ttl != 0 && ttl <= world->hops;

	world->packets++;
	if (world->flows_dead >> flow & 1)
		return;
	if (world->echo_apart && answer->probe == PROBE_ECHO)
		limit = world->link_mtu;
	if (answer->size >= world->lost_from && answer->size < world->lost_to)
		return;
	if (world->lost_first[answer->probe] > 0) {
		world->lost_first[answer->probe]--;
		return;
	}
	answer->ttl = (uint8_t)(64 - world->hops);
	if (world->firewall && answer->probe == PROBE_SYN) {
		answer->ttl = 64;
		world_peer(world, answer, flow);
		return;
	}
	if (world_chance(world, world->loss_percent) ||
	    (answer->size > world->link_mtu / 2 && world_chance(world, world->loss_full_percent)))
		return;
	if (answer->size > limit && !(dies && ttl <= world->narrow)) {
		if ((world->flows_untold >> flow & 1) || !world_reports(world))
			return;
		answer->kind = ANSWER_TOO_BIG;
		answer->from.bytes[3] = answer->size > world_near(world) ? 253 : 254;
		answer->mtu = world_reported_mtu(world, answer->size);
		answer->nonce &= answer->probe == PROBE_SYN ? 0xffff : UINT64_MAX;
		answer->has_nonce = answer->probe != PROBE_SYN;
		world_deliver(world, answer, flow);
		return;
	}
	if (dies) {
		answer->kind = ANSWER_TIME_EXCEEDED;
		answer->from.bytes[3] = (uint8_t)(100 + ttl);
		world_deliver(world, answer, flow);
		return;
	}
	world_peer(world, answer, flow);
}

static void world_send(struct world *world, const struct path *path, const struct burst *burst)
{
	if (burst->count > 0) {
		uint64_t gap = world->sent_usec ? world->now - world->sent_usec : UINT64_MAX;

		world->least_gap_usec = gap < world->least_gap_usec ? gap : world->least_gap_usec;
		world->sent_usec = world->now;
	}
	for (unsigned i = 0; i < burst->count; i++) {
		uint16_t sequence = (uint16_t)(burst->first_sequence + i);
		struct answer answer = {
			.kind = ANSWER_ECHO,
			.probe = burst->kind,
			.to = path->address,
			.from = path->address,
			.sequence = sequence,
			.size = burst->sizes[i],
			.has_nonce = true,
			.nonce = probe_nonce(burst->kind, burst->nonce, sequence),
			.cookie = path->flows[burst->flow].cookie,
		};

		if (burst->sizes[i] > world->link_mtu)
			ck_abort_msg("seed %lu: %u bytes on a link of %u", world->seed,
				     burst->sizes[i], world->link_mtu);
		world_probe(world, &answer, burst->flow, burst->ttls[i]);
	}
}

static int world_next_arrival(const struct world *world)
{
	int next = -1;

	for (unsigned i = 0; i < world->pending_count; i++)
		if (next < 0 || world->arrival[i] < world->arrival[next])
			next = (int)i;
	return next;
}

struct life {
	struct path path;
	struct dossier dossier;
	struct flow flows[FLOWS_MOST];
	_Alignas(struct check) uint8_t memory[CHECK_SIZE(FLOWS_MOST)]; /* of the check */
	struct peer_settings settings;
	struct pace pace;
	struct pace *budget; /* its own pace, or one that it shares */
	struct route route;
	struct link link;
	unsigned announcements;
	bool said[VERDICT_COUNT];
};

static void life_look(struct life *life)
{
	struct surroundings around = { .route = &life->route, .link = &life->link };

	path_on_surroundings(&life->path, &around);
}

static const struct address addresses[] = {
	{.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 2}},
	{.family = ADDRESS_IPV6, .bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 2}},
};

static void life_init(struct life *life, const struct world *world)
{
	memset(life, 0, sizeof(*life));
	life->settings = (struct peer_settings){
		.interval_usec = 30 * USEC_PER_SEC,
		.timeout_usec = USEC_PER_SEC,
		.tries = 3,
		.fail_after = world->fail_after,
		.recover_after = 2,
	};
	pace_init(&life->pace, 1000000000);
	life->budget = &life->pace;
	life->link = (struct link){ .index = 2, .mtu = world->link_mtu, .up = true, .carrier = true };
	life->route.link = 2;
	life->route.gateway.family = world->hops ? world->family : ADDRESS_NONE;
	life->path.address = addresses[world->family == ADDRESS_IPV6];
	life->path.settings = &life->settings;
	life->path.flows = life->flows;
	life->path.flow_count = 1;
	life->path.due_usec = life->path.wake_usec = world->now;
	life_look(life);
}

/* What the path says it needs no more is gone. */
static void life_judge(struct life *life, const struct moment *moment, struct todo *todo)
{
	life->path.dossier = &life->dossier;
	path_judge(&life->path, life->budget, moment, todo);
	if (!path_dossier_is_empty(&life->path))
		return;
	life->dossier = (struct dossier){ 0 };
	life->path.dossier = NULL;
}

static void life_step(struct life *life, struct world *world)
{
	struct moment moment = {
		.now_usec = world->now,
		.random = { world_dice(world), world_dice(world) },
	};
	struct todo todo = { 0 };

	if (path_is_due(&life->path, world->now))
		path_begin(&life->path, (void *)life->memory, &moment);
	do {
		path_on_time(&life->path, life->budget, world->now, &todo);
		world_send(world, &life->path, &todo.burst);
	} while (todo.burst.count > 0 && !todo.judge);
	if (todo.judge)
		life_judge(life, &moment, &todo);
	if (todo.announced) {
		life->announcements++;
		life->said[life->path.announced.verdict] = true;
	}
}

/* Turns the clock until `rounds` are over. */
static inline void life_run(struct life *life, struct world *world, uint64_t rounds)
{
	unsigned steps = 0;

	while (life->path.rounds < rounds) {
		int next = world_next_arrival(world);

		if (steps++ > 1000000)
			ck_abort_msg("seed %lu: never ends", world->seed);
		if (next >= 0 && world->arrival[next] <= life->path.wake_usec) {
			struct answer answer = world->pending[next];
			struct flow *flow = &life->flows[world->flow[next]];

			world->now = world->arrival[next];
			world->pending_count--;
			world->pending[next] = world->pending[world->pending_count];
			world->flow[next] = world->flow[world->pending_count];
			world->arrival[next] = world->arrival[world->pending_count];
			path_on_answer(&life->path, flow, &answer, world->now);
		} else {
			world->now = life->path.wake_usec;
			if (world->late_usec)
				world->now += world_dice(world) % world->late_usec;
		}
		life_step(life, world);
	}
}

static void world_init(struct world *world, uint64_t seed)
{
	memset(world, 0, offsetof(struct world, arrival));
	world->seed = world->dice = seed;
	world->now = 1000 * USEC_PER_SEC;
	world->family = ADDRESS_IPV4;
	world->fail_after = 2;
	world->delay_usec = 10000;
	world->least_gap_usec = UINT64_MAX;
	world->limit_back = SIZE_LARGEST;
	world->limit_echo = SIZE_LARGEST;
	world->kinds = 1U << PROBE_ECHO;
	world->cookie = 77;
}

static uint64_t first_seed(void)
{
	const char *text = getenv("WORLD_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}
