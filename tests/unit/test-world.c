/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small world around one path: a path MTU, routers that report honestly, wrongly or not at
 * all, loss, late and doubled answers, and a clock that we turn. In it the number has to be
 * exact and the verdict right, for every path MTU.
 *
 * WORLD_SEED=n runs with other dice; a failure prints the seed of its world.
 */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/core/path.h"

enum router {
	ROUTER_NONE, /* too big packets vanish */
	ROUTER_HONEST,
	ROUTER_ZERO,
	ROUTER_TOO_MUCH,
	ROUTER_TOO_LITTLE,
	ROUTER_LIMITED, /* one report a second */
	ROUTER_COUNT,
};

#define FLOWS_MOST 8

struct world {
	uint64_t seed, dice;
	uint64_t now;
	uint32_t link_mtu;
	uint32_t limit;               /* of the way there */
	uint32_t limit_back;          /* of the way back */
	uint32_t limit_echo;          /* larger echo requests are dropped by the peer itself */
	uint32_t limit_flow[FLOWS_MOST]; /* of the way there, by one flow; 0: as the others */
	unsigned kinds;               /* bits of enum probe_kind: what the peer answers */
	unsigned hops;                /* routers between; the limit is behind router number `narrow` */
	unsigned narrow;
	unsigned loss_percent;
	unsigned loss_full_percent;   /* of packets above half the link's MTU, besides */
	enum router router;
	bool unruly; /* late and doubled answers */
	uint64_t reported_usec;
	uint64_t packets;
	unsigned pending_count;
	uint64_t arrival[512];
	unsigned flow[512];
	struct answer pending[512];
};

static uint64_t world_dice(struct world *world)
{
	/* splitmix64 */
	uint64_t x = world->dice += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static bool world_chance(struct world *world, unsigned percent)
{
	return world_dice(world) % 100 < percent;
}

static void world_deliver(struct world *world, const struct answer *answer, unsigned flow)
{
	uint64_t delay = 10000 + world_dice(world) % 2000;

	if (world->unruly && world_chance(world, 5))
		delay += world_dice(world) % 200000;
	if (world->pending_count == 512)
		ck_abort_msg("seed %lu: more answers than a world holds", world->seed);
	world->pending[world->pending_count] = *answer;
	world->flow[world->pending_count] = flow;
	world->arrival[world->pending_count++] = world->now + delay;
}

static uint32_t world_reported_mtu(const struct world *world)
{
	switch (world->router) {
	case ROUTER_ZERO:
		return 0;
	case ROUTER_TOO_MUCH:
		return world->limit + 20;
	case ROUTER_TOO_LITTLE:
		return world->limit > 168 ? world->limit - 100 : 68;
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

/* The peer got the probe: what it answers, and whether that gets back. */
static void world_peer(struct world *world, struct answer *answer, unsigned flow)
{
	uint32_t size = answer->size;

	if (!(world->kinds & (1U << answer->probe)))
		return;
	switch (answer->probe) {
	case PROBE_ECHO:
		if (size > world->limit_echo || size > world->limit_back)
			return;
		break;
	case PROBE_SYN:
		answer->kind = ANSWER_DELIVERED;
		answer->acknowledged = ((uint32_t)(answer->nonce & 0xffff) << 16 | answer->sequence) + 1;
		answer->has_nonce = false;
		break;
	case PROBE_UDP:
		answer->kind = ANSWER_DELIVERED;
		break;
	case PROBE_RESPONDER:
		if (answer->cookie != 77) {
			answer->kind = ANSWER_COOKIE;
			answer->cookie = 77;
			break;
		}
		if (size <= world->limit_back)
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
	if (world_chance(world, world->loss_percent) ||
	    (answer->size > world->link_mtu / 2 && world_chance(world, world->loss_full_percent)))
		return;
	if (answer->size > limit && !(dies && ttl <= world->narrow)) {
		if (!world_reports(world))
			return;
		answer->kind = ANSWER_TOO_BIG;
		answer->from.bytes[3] = 254;
		answer->mtu = world_reported_mtu(world);
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
	for (unsigned i = 0; i < burst->count; i++) {
		struct answer answer = {
			.kind = ANSWER_ECHO,
			.probe = burst->kind,
			.to = path->address,
			.from = path->address,
			.sequence = burst->first_sequence + i,
			.size = burst->sizes[i],
			.has_nonce = true,
			.nonce = burst->nonce,
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
	struct flow flows[FLOWS_MOST];
	union {
		struct check check;
		uint8_t bytes[CHECK_SIZE(FLOWS_MOST)];
	} memory;
	struct peer_settings settings;
	struct pace pace;
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

static void life_init(struct life *life, const struct world *world)
{
	memset(life, 0, sizeof(*life));
	life->settings = (struct peer_settings){
		.interval_usec = 30 * USEC_PER_SEC,
		.timeout_usec = USEC_PER_SEC,
		.tries = 3,
		.fail_after = 2,
		.recover_after = 2,
	};
	pace_init(&life->pace, 1000000000);
	life->link = (struct link){ .index = 2, .mtu = world->link_mtu, .up = true, .carrier = true };
	life->route.link = 2;
	life->route.gateway.family = world->hops ? ADDRESS_IPV4 : ADDRESS_NONE;
	life->path.address = (struct address){ .family = ADDRESS_IPV4, .bytes = { 192, 0, 2, 2 } };
	life->path.settings = &life->settings;
	life->path.flows = life->flows;
	life->path.flow_count = 1;
	life_look(life);
}

static void life_step(struct life *life, struct world *world)
{
	struct moment moment = {
		.now_usec = world->now,
		.random = { world_dice(world), world_dice(world) },
	};
	struct todo todo = { 0 };

	if (path_is_due(&life->path, world->now))
		path_begin(&life->path, &life->memory.check, &moment);
	do {
		path_on_time(&life->path, &life->pace, world->now, &todo);
		world_send(world, &life->path, &todo.burst);
	} while (todo.burst.count > 0 && !todo.judge);
	if (todo.judge)
		path_judge(&life->path, &life->pace, &moment, &todo);
	if (todo.announced) {
		life->announcements++;
		life->said[life->path.announced.verdict] = true;
	}
}

/* Turns the clock until `rounds` are over. */
static void life_run(struct life *life, struct world *world, uint64_t rounds)
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
		}
		life_step(life, world);
	}
}

static enum verdict world_truth(const struct world *world)
{
	if (world->limit >= world->link_mtu)
		return VERDICT_CONSISTENT;
	switch (world->router) {
	case ROUTER_HONEST:
	case ROUTER_TOO_LITTLE:
	case ROUTER_LIMITED:
		return VERDICT_REDUCED;
	case ROUTER_NONE:
	case ROUTER_ZERO:
	case ROUTER_TOO_MUCH:
	case ROUTER_COUNT:
		break;
	}
	return VERDICT_BLACK_HOLE;
}

static void world_init(struct world *world, uint64_t seed)
{
	memset(world, 0, offsetof(struct world, arrival));
	world->seed = world->dice = seed;
	world->now = 1000 * USEC_PER_SEC;
	world->limit_back = SIZE_LARGEST;
	world->limit_echo = SIZE_LARGEST;
	world->kinds = 1U << PROBE_ECHO;
}

/* Until something is announced; on a path that loses much a round may end undecided. */
static void world_run(struct world *world, struct life *life)
{
	uint64_t rounds = 0;

	life_init(life, world);
	do
		life_run(life, world, ++rounds);
	while (life->path.announced.verdict == VERDICT_UNKNOWN && rounds < 12);
}

static void world_check(const struct world *world, const struct life *life)
{
	const struct judgement *said = &life->path.announced;
	uint32_t right = world->limit < world->link_mtu ? world->limit : world->link_mtu;

	ck_assert_msg(said->verdict == world_truth(world) && said->path_mtu == right,
		      "seed %lu: link %u limit %u router %d loss %u%%: verdict %d number %u",
		      world->seed, world->link_mtu, world->limit, world->router, world->loss_percent,
		      said->verdict, said->path_mtu);
}

static uint64_t first_seed(void)
{
	const char *text = getenv("WORLD_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}

static const unsigned losses[] = { 0, 13, 30 };

START_TEST(every_path_mtu)
{
	enum router router = (enum router)(_i / 3);
	unsigned loss = losses[_i % 3];

	for (uint32_t limit = 68; limit <= 9216; limit++) {
		struct world world;
		struct life life;

		world_init(&world, first_seed() * 1000003 + limit * 64 + (unsigned)_i);
		world.link_mtu = 9216;
		world.limit = limit;
		world.router = router;
		world.loss_percent = loss;
		world.unruly = loss > 0;
		world_run(&world, &life);
		world_check(&world, &life);
		if (loss == 0 && router == ROUTER_NONE)
			ck_assert_uint_le(world.packets, limit < 1280 ? 80 : 60);
		if (loss == 0 && router == ROUTER_HONEST && limit < 9215)
			ck_assert_uint_le(world.packets, 8);
	}
}
END_TEST

START_TEST(largest_links)
{
	enum router router = (enum router)(_i / 3);

	for (uint32_t limit = 68; limit <= 65535; limit += 131) {
		struct world world;
		struct life life;

		world_init(&world, first_seed() * 1000033 + limit * 64 + (unsigned)_i);
		world.link_mtu = 65520;
		world.limit = limit;
		world.router = router;
		world.loss_percent = losses[_i % 3];
		world.unruly = world.loss_percent > 0;
		world_run(&world, &life);
		world_check(&world, &life);
	}
}
END_TEST

/* Nothing but loss: no round of a long life may blame the size. */
START_TEST(loss_is_no_limit)
{
	static const unsigned heavy[] = { 5, 13, 30, 50 };

	for (unsigned i = 0; i < 500; i++) {
		struct world world;
		struct life life;

		world_init(&world, first_seed() * 1000037 + i * 64 + (unsigned)_i);
		world.link_mtu = 9000;
		world.limit = 9000;
		world.loss_percent = heavy[_i];
		world.unruly = true;
		life_init(&life, &world);
		for (uint64_t rounds = 1; rounds <= 40; rounds++) {
			life_run(&life, &world, rounds);
			ck_assert_msg(life.path.announced.verdict != VERDICT_BLACK_HOLE &&
					      life.path.announced.verdict != VERDICT_REDUCED,
				      "seed %lu: verdict %d after %lu rounds", world.seed,
				      life.path.announced.verdict, rounds);
		}
	}
}
END_TEST

/* A hole that comes and goes is announced once each way. */
START_TEST(hole_comes_and_goes)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed());
	world.link_mtu = 9000;
	world.limit = 9000;
	life_init(&life, &world);
	life_run(&life, &world, 5);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	world.limit = 1500;
	life_run(&life, &world, 10);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
	ck_assert_uint_eq(life.path.announced.path_mtu, 1500);
	world.limit = 9000;
	life_run(&life, &world, 15);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	ck_assert_uint_eq(life.announcements, 3);
}
END_TEST

/* Dead, then back: never a word about sizes. */
START_TEST(peer_dies_and_returns)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed());
	world.link_mtu = 9000;
	world.limit = 9000;
	life_init(&life, &world);
	life_run(&life, &world, 3);
	world.loss_percent = 100;
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_UNREACHABLE);
	ck_assert_uint_eq(life.path.announced.path_mtu, 0);
	ck_assert_uint_eq(life.path.known_mtu, 9000);
	world.loss_percent = 0;
	life_run(&life, &world, 12);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	ck_assert_uint_eq(life.announcements, 3);
}
END_TEST

/* --- ways, flows, hops, methods --- */

#define ECHO (1U << PROBE_ECHO)
#define SYN (1U << PROBE_SYN)
#define UDP (1U << PROBE_UDP)
#define RESPONDER (1U << PROBE_RESPONDER)

/* One world a row: what lies there, and what has to be said of it. */
struct row {
	const char *name;
	enum method method;
	unsigned kinds;
	uint32_t limit, limit_back, limit_echo; /* 0: none */
	enum verdict verdict;
	uint32_t path_mtu, return_mtu;
	enum direction direction;
	bool confirmed;
	enum severity severity;
};

static const struct row rows[] = {
	{ "clean", METHOD_AUTO, ECHO, 0, 0, 0, VERDICT_CONSISTENT, 9000, 9000, DIRECTION_NONE, false,
	  SEVERITY_OK },
	{ "hole, echo alone", METHOD_AUTO, ECHO, 1500, 0, 0, VERDICT_BLACK_HOLE, 1500, 0,
	  DIRECTION_UNKNOWN, false, SEVERITY_WARNING },
	{ "hole, a port too", METHOD_AUTO, ECHO | SYN, 1500, 0, 0, VERDICT_BLACK_HOLE, 1500, 0,
	  DIRECTION_FORWARD, true, SEVERITY_CRITICAL },
	{ "hole there, responder", METHOD_AUTO, ECHO | RESPONDER, 1500, 0, 0, VERDICT_BLACK_HOLE,
	  1500, 1500, DIRECTION_FORWARD, true, SEVERITY_CRITICAL },
	{ "hole back, responder", METHOD_AUTO, ECHO | RESPONDER, 0, 1500, 0, VERDICT_BLACK_HOLE, 9000,
	  1500, DIRECTION_RETURN, true, SEVERITY_CRITICAL },
	{ "holes both ways, responder", METHOD_AUTO, ECHO | RESPONDER, 4000, 1500, 0,
	  VERDICT_BLACK_HOLE, 4000, 1500, DIRECTION_BOTH, true, SEVERITY_CRITICAL },
	{ "hole back, responder alone", METHOD_RESPONDER, RESPONDER, 0, 1443, 0, VERDICT_BLACK_HOLE,
	  9000, 1443, DIRECTION_RETURN, true, SEVERITY_CRITICAL },
	{ "hole there, responder alone", METHOD_RESPONDER, RESPONDER, 4321, 0, 0, VERDICT_BLACK_HOLE,
	  4321, 4321, DIRECTION_FORWARD, true, SEVERITY_CRITICAL },
	{ "clean, responder alone", METHOD_RESPONDER, RESPONDER, 0, 0, 0, VERDICT_CONSISTENT, 9000,
	  9000, DIRECTION_NONE, true, SEVERITY_OK },
	{ "large echoes unwelcome", METHOD_AUTO, ECHO | SYN, 0, 0, 1028, VERDICT_CONSISTENT, 9000, 0,
	  DIRECTION_NONE, true, SEVERITY_OK },
	{ "large echoes unwelcome, responder", METHOD_AUTO, ECHO | RESPONDER, 0, 0, 1028,
	  VERDICT_CONSISTENT, 9000, 9000, DIRECTION_NONE, true, SEVERITY_OK },
	{ "large echoes unwelcome, nothing else", METHOD_AUTO, ECHO, 0, 0, 1028, VERDICT_BLACK_HOLE,
	  1028, 0, DIRECTION_UNKNOWN, false, SEVERITY_WARNING },
	{ "large echoes unwelcome, icmp", METHOD_ICMP, ECHO | SYN, 0, 0, 1028, VERDICT_BLACK_HOLE, 1028,
	  0, DIRECTION_UNKNOWN, false, SEVERITY_WARNING },
	{ "no echo, a port", METHOD_AUTO, SYN, 0, 0, 0, VERDICT_CONSISTENT, 9000, 0, DIRECTION_NONE,
	  true, SEVERITY_OK },
	{ "no echo, a port, hole", METHOD_AUTO, SYN, 1442, 0, 0, VERDICT_BLACK_HOLE, 1442, 0,
	  DIRECTION_FORWARD, true, SEVERITY_CRITICAL },
	{ "no echo, udp", METHOD_AUTO, UDP, 0, 0, 0, VERDICT_CONSISTENT, 9000, 0, DIRECTION_NONE, true,
	  SEVERITY_OK },
	{ "tcp", METHOD_TCP, SYN, 0, 0, 0, VERDICT_CONSISTENT, 9000, 0, DIRECTION_NONE, true,
	  SEVERITY_OK },
	{ "tcp, hole", METHOD_TCP, SYN, 8951, 0, 0, VERDICT_BLACK_HOLE, 8951, 0, DIRECTION_FORWARD, true,
	  SEVERITY_CRITICAL },
	{ "udp, hole", METHOD_UDP, UDP, 1400, 0, 0, VERDICT_BLACK_HOLE, 1400, 0, DIRECTION_FORWARD, true,
	  SEVERITY_CRITICAL },
	{ "dead", METHOD_AUTO, 0, 0, 0, 0, VERDICT_UNREACHABLE, 0, 0, DIRECTION_NONE, false,
	  SEVERITY_WARNING },
	{ "tcp only, dead", METHOD_TCP, ECHO, 0, 0, 0, VERDICT_UNREACHABLE, 0, 0, DIRECTION_NONE, false,
	  SEVERITY_WARNING },
};

static void world_of_row(struct world *world, const struct row *row, uint64_t seed)
{
	world_init(world, seed);
	world->link_mtu = 9000;
	world->limit = row->limit ? row->limit : SIZE_LARGEST;
	world->limit_back = row->limit_back ? row->limit_back : SIZE_LARGEST;
	world->limit_echo = row->limit_echo ? row->limit_echo : SIZE_LARGEST;
	world->kinds = row->kinds;
}

START_TEST(ways_and_methods)
{
	const struct row *row = &rows[_i];

	for (unsigned loss = 0; loss <= 13; loss += 13) {
		const struct judgement *said;
		struct world world;
		struct life life;

		world_of_row(&world, row, first_seed() * 31 + (unsigned)_i);
		world.loss_percent = loss;
		life_init(&life, &world);
		life.settings.method = row->method;
		for (uint64_t rounds = 1; rounds <= 12; rounds++)
			life_run(&life, &world, rounds);
		said = &life.path.announced;
		ck_assert_msg(said->verdict == row->verdict && said->path_mtu == row->path_mtu &&
				      said->return_mtu == row->return_mtu &&
				      said->direction == row->direction &&
				      said->confirmed == row->confirmed &&
				      said->severity == row->severity,
			      "%s, loss %u%%, seed %lu: verdict %d, %u there, %u back, direction %d, "
			      "confirmed %d, severity %d",
			      row->name, loss, world.seed, said->verdict, said->path_mtu,
			      said->return_mtu, said->direction, said->confirmed, said->severity);
		ck_assert_msg(life.announcements == 1, "%s, loss %u%%: announced %u times", row->name,
			      loss, life.announcements);
	}
}
END_TEST

/* Some flows of a bundle are bad: the number is the smallest one's, and it does not flip. */
START_TEST(flows_differ)
{
	unsigned faulty = (unsigned)_i;
	struct world world;
	struct life life;

	world_init(&world, first_seed() * 37 + faulty);
	world.link_mtu = 9000;
	world.limit = 9000;
	for (unsigned i = 0; i < faulty; i++)
		world.limit_flow[i] = 1500 + 100 * i;
	life_init(&life, &world);
	life.path.flow_count = FLOWS_MOST;
	for (uint64_t rounds = 1; rounds <= 8; rounds++)
		life_run(&life, &world, rounds);
	ck_assert_int_eq(life.path.announced.verdict, faulty == 0 ? VERDICT_CONSISTENT :
						      faulty == FLOWS_MOST ? VERDICT_BLACK_HOLE :
									     VERDICT_PARTIAL);
	ck_assert_uint_eq(life.path.announced.path_mtu, faulty ? 1500 : 9000);
	ck_assert_uint_eq(life.path.flows_faulty, faulty);
	ck_assert_uint_eq(life.announcements, 1);
	if (faulty > 0 && faulty < FLOWS_MOST)
		ck_assert(life.path.announced.confirmed);
}
END_TEST

/* The walk finds the hop, wherever the hole is. */
START_TEST(walk_finds_the_hop)
{
	unsigned hops = 1 + (unsigned)_i / 8, narrow = (unsigned)_i % 8;
	const struct judgement *said;
	struct world world;
	struct life life;

	if (narrow > hops)
		return;
	world_init(&world, first_seed() * 41 + (unsigned)_i);
	world.link_mtu = 9000;
	world.limit = 1500;
	world.hops = hops;
	world.narrow = narrow;
	life_init(&life, &world);
	life_run(&life, &world, 6);
	said = &life.path.announced;
	ck_assert_int_eq(said->verdict, VERDICT_BLACK_HOLE);
	ck_assert_uint_eq(said->path_mtu, 1500);
	ck_assert_int_eq(said->locus, narrow == 0 ? LOCUS_ON_LINK : LOCUS_AFTER);
	if (narrow > 0)
		ck_assert_uint_eq(said->locus_address.bytes[3], 100 + narrow);
	ck_assert_uint_eq(life.announcements, 1);
}
END_TEST

/* Large packets are lost more often than small ones: that is lossy, and nothing else. */
START_TEST(loss_of_large_ones)
{
	static const unsigned rates[] = { 10, 20, 40 };

	for (unsigned i = 0; i < 20; i++) {
		struct world world;
		struct life life;

		world_init(&world, first_seed() * 43 + i);
		world.link_mtu = 9000;
		world.limit = 9000;
		world.loss_full_percent = rates[_i];
		life_init(&life, &world);
		life_run(&life, &world, 200);
		ck_assert_msg(life.said[VERDICT_LOSSY], "seed %lu: %u%% of the large ones lost, and "
			      "not seen", world.seed, rates[_i]);
		ck_assert(!life.said[VERDICT_BLACK_HOLE] && !life.said[VERDICT_REDUCED]);
	}
}
END_TEST

/* Plain loss is no matter of size. */
START_TEST(plain_loss_is_not_lossy)
{
	for (unsigned i = 0; i < 50; i++) {
		struct world world;
		struct life life;

		world_init(&world, first_seed() * 47 + i);
		world.link_mtu = 9000;
		world.limit = 9000;
		world.loss_percent = 5 + 5 * (unsigned)_i;
		life_init(&life, &world);
		life_run(&life, &world, 300);
		ck_assert_msg(!life.said[VERDICT_LOSSY], "seed %lu", world.seed);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("world");
	TCase *many = tcase_create("many");
	TCase *few = tcase_create("few");
	SRunner *runner;
	int failed;

	tcase_set_timeout(many, 280);
	tcase_set_timeout(few, 120);
	tcase_add_loop_test(many, every_path_mtu, 0, 3 * ROUTER_COUNT);
	tcase_add_loop_test(many, largest_links, 0, 3 * ROUTER_COUNT);
	tcase_add_loop_test(many, loss_is_no_limit, 0, 4);
	tcase_add_loop_test(few, ways_and_methods, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(few, flows_differ, 0, FLOWS_MOST + 1);
	tcase_add_loop_test(few, walk_finds_the_hop, 0, 64);
	tcase_add_loop_test(few, loss_of_large_ones, 0, 3);
	tcase_add_loop_test(few, plain_loss_is_not_lossy, 0, 5);
	tcase_add_test(few, hole_comes_and_goes);
	tcase_add_test(few, peer_dies_and_returns);
	suite_add_tcase(suite, many);
	suite_add_tcase(suite, few);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
