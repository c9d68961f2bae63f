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

struct world {
	uint64_t seed, dice;
	uint64_t now;
	uint32_t link_mtu, limit;
	unsigned loss_percent;
	enum router router;
	bool unruly; /* late and doubled answers */
	uint64_t reported_usec;
	uint64_t packets;
	unsigned pending_count;
	uint64_t arrival[512];
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

static void world_deliver(struct world *world, const struct answer *answer)
{
	uint64_t delay = 10000 + world_dice(world) % 2000;

	if (world->unruly && world_chance(world, 5))
		delay += world_dice(world) % 300000;
	ck_assert_uint_lt(world->pending_count, 512);
	world->pending[world->pending_count] = *answer;
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

static void world_send(struct world *world, const struct path *path, const struct burst *burst)
{
	for (unsigned i = 0; i < burst->count; i++) {
		struct answer answer = {
			.kind = ANSWER_ECHO,
			.to = path->address,
			.from = path->address,
			.sequence = burst->first_sequence + i,
			.size = burst->sizes[i],
			.has_nonce = true,
			.nonce = path->round->settings.nonce,
		};

		ck_assert_uint_le(burst->sizes[i], world->link_mtu);
		world->packets++;
		if (world_chance(world, world->loss_percent))
			continue;
		if (burst->sizes[i] > world->limit) {
			if (!world_reports(world))
				continue;
			answer.kind = ANSWER_TOO_BIG;
			answer.from.bytes[3] = 254;
			answer.mtu = world_reported_mtu(world);
		}
		world_deliver(world, &answer);
		if (world->unruly && world_chance(world, 5))
			world_deliver(world, &answer);
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
	struct round round;
	struct peer_settings settings;
	struct pace pace;
	struct route route;
	struct link link;
	unsigned announcements;
};

static void life_init(struct life *life, const struct world *world)
{
	struct surroundings around = { .route = &life->route, .link = &life->link };

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
	life->route.gateway.family = ADDRESS_IPV4;
	life->path.address = (struct address){ .family = ADDRESS_IPV4, .bytes = { 192, 0, 2, 2 } };
	life->path.settings = &life->settings;
	path_on_surroundings(&life->path, &around);
}

static void life_step(struct life *life, struct world *world)
{
	struct moment moment = {
		.now_usec = world->now,
		.random = { world_dice(world), world_dice(world) },
	};
	struct todo todo = { 0 };

	if (path_is_due(&life->path, world->now))
		path_begin(&life->path, &life->round, &moment);
	path_on_time(&life->path, &life->pace, world->now, &todo);
	world_send(world, &life->path, &todo.burst);
	if (todo.judge)
		path_judge(&life->path, &life->pace, &moment, &todo);
	if (todo.announced)
		life->announcements++;
}

/* Turns the clock until `rounds` are over. */
static void life_run(struct life *life, struct world *world, uint64_t rounds)
{
	unsigned steps = 0;

	while (life->path.rounds < rounds) {
		int next = world_next_arrival(world);

		ck_assert_msg(steps++ < 100000, "seed %lu: never ends", world->seed);
		if (next >= 0 && world->arrival[next] <= life->path.wake_usec) {
			struct answer answer = world->pending[next];

			world->now = world->arrival[next];
			world->pending_count--;
			world->pending[next] = world->pending[world->pending_count];
			world->arrival[next] = world->arrival[world->pending_count];
			path_on_answer(&life->path, &answer, world->now);
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

int main(void)
{
	Suite *suite = suite_create("world");
	TCase *many = tcase_create("many");
	TCase *few = tcase_create("few");
	SRunner *runner;
	int failed;

	tcase_set_timeout(many, 280);
	tcase_add_loop_test(many, every_path_mtu, 0, 3 * ROUTER_COUNT);
	tcase_add_loop_test(many, largest_links, 0, 3 * ROUTER_COUNT);
	tcase_add_loop_test(many, loss_is_no_limit, 0, 4);
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
