/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small world around one path: a path MTU, routers that report honestly, wrongly or not at
 * all, loss, late and doubled answers, and a clock that we turn. In it the number has to be
 * exact and the verdict right, for every path MTU.
 *
 * WORLD_SEED=n runs with other dice; a failure prints the seed of its world. In what runs a
 * million times there is no ck_assert: each one that holds costs a write to a pipe.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../../daemon/core/path.h"
#include "tap.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SANITIZED)
#define MTU_STEP 3U
#else
#define MTU_STEP 1U
#endif

enum router {
	ROUTER_NONE, /* too big packets vanish */
	ROUTER_HONEST,
	ROUTER_ZERO,
	ROUTER_TOO_MUCH,
	ROUTER_TOO_LITTLE,
	ROUTER_LIMITED, /* one report a second */
	ROUTER_CHAIN,   /* two honest ones, the nearer carries more */
	ROUTER_COUNT,
};

struct world {
	uint64_t seed, dice;
	uint64_t now;
	uint8_t family;
	uint32_t link_mtu, limit;
	unsigned loss_percent;
	enum router router;
	unsigned fail_after;
	bool unruly; /* late and doubled answers */
	uint64_t reported_usec;
	uint64_t packets;
	unsigned pending_count;
	uint64_t arrival[512];
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

static void world_deliver(struct world *world, const struct answer *answer)
{
	uint64_t delay = 10000 + world_dice(world) % 2000;

	if (world->unruly && world_chance(world, 5))
		delay += world_dice(world) % 300000;
	if (world->pending_count == 512)
		ck_abort_msg("seed %lu: too much is under way", world->seed);
	world->pending[world->pending_count] = *answer;
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

		if (burst->sizes[i] > world->link_mtu)
			ck_abort_msg("seed %lu: %u is more than the link", world->seed,
				     burst->sizes[i]);
		world->packets++;
		if (world_chance(world, world->loss_percent))
			continue;
		if (burst->sizes[i] > world->limit) {
			if (!world_reports(world))
				continue;
			answer.kind = ANSWER_TOO_BIG;
			answer.from.bytes[3] = burst->sizes[i] > world_near(world) ? 253 : 254;
			answer.mtu = world_reported_mtu(world, burst->sizes[i]);
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

static const struct address addresses[] = {
	{.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 2}},
	{.family = ADDRESS_IPV6, .bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 2}},
};

static void life_init(struct life *life, const struct world *world)
{
	struct surroundings around = { .route = &life->route, .link = &life->link };

	memset(life, 0, sizeof(*life));
	life->settings = (struct peer_settings){
		.interval_usec = 30 * USEC_PER_SEC,
		.timeout_usec = USEC_PER_SEC,
		.tries = 3,
		.fail_after = world->fail_after,
		.recover_after = 2,
	};
	pace_init(&life->pace, 1000000000);
	life->link = (struct link){ .index = 2, .mtu = world->link_mtu, .up = true, .carrier = true };
	life->route.link = 2;
	life->route.gateway.family = world->family;
	life->path.address = addresses[world->family == ADDRESS_IPV6];
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

		if (steps++ == 100000)
			ck_abort_msg("seed %lu: never ends", world->seed);
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
	case ROUTER_CHAIN:
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
	world->family = ADDRESS_IPV4;
	world->fail_after = 2;
}

/* Worlds that were run; shared with the processes that check starts for its tests. */
static uint64_t *world_count;

/* Until something is announced; on a path that loses much a round may end undecided. */
static void world_run(struct world *world, struct life *life)
{
	uint64_t rounds = 0;

	__atomic_add_fetch(world_count, 1, __ATOMIC_RELAXED);
	life_init(life, world);
	do
		life_run(life, world, ++rounds);
	while (life->path.announced.verdict == VERDICT_UNKNOWN && rounds < 12);
}

static void world_fail(const struct world *world, const struct life *life, const char *what)
{
	ck_abort_msg("seed %lu: IPv%u link %u limit %u router %d loss %u%%: %s: verdict %d number %u "
		     "after %lu rounds, %lu packets",
		     world->seed, world->family, world->link_mtu, world->limit, world->router,
		     world->loss_percent, what, life->path.announced.verdict,
		     life->path.announced.path_mtu, life->path.rounds, world->packets);
}

static void world_check(const struct world *world, const struct life *life)
{
	const struct judgement *said = &life->path.announced;
	uint32_t right = world->limit < world->link_mtu ? world->limit : world->link_mtu;
	uint8_t router = world->router == ROUTER_CHAIN && world_near(world) > right ? 254 : 253;

	if (said->verdict != world_truth(world) || said->path_mtu != right)
		world_fail(world, life, "not what it is");
	if (world->router == ROUTER_CHAIN && said->verdict == VERDICT_REDUCED &&
	    said->router.bytes[3] != router)
		world_fail(world, life, "the wrong router");
}

static uint64_t first_seed(void)
{
	const char *text = getenv("WORLD_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}

static const unsigned losses[] = { 0, 13, 30 };

/* World number `number` of a test: its router and loss from that number, its dice from all. */
static void world_make(struct world *world, uint32_t limit, int number, uint64_t prime)
{
	world_init(world, first_seed() * prime + limit * 64 + (unsigned)number);
	world->limit = limit;
	world->router = (enum router)(number / 3);
	world->loss_percent = losses[number % 3];
	world->unruly = world->loss_percent > 0;
}

START_TEST(every_path_mtu)
{
	for (uint32_t limit = 68; limit <= 9216; limit += MTU_STEP) {
		struct world world;
		struct life life;

		world_make(&world, limit, _i, 1000003);
		world.link_mtu = 9216;
		world_run(&world, &life);
		world_check(&world, &life);
		if (world.loss_percent > 0)
			continue;
		if (world.router == ROUTER_NONE && world.packets > (limit < 1280 ? 80 : 60))
			world_fail(&world, &life, "too many packets");
		if (world.router == ROUTER_HONEST && limit < 9215 && world.packets > 8)
			world_fail(&world, &life, "too many packets");
	}
}
END_TEST

START_TEST(every_seventh_of_ipv6)
{
	for (uint32_t limit = 1280; limit <= 9216; limit += 7 * MTU_STEP) {
		struct world world;
		struct life life;

		world_make(&world, limit, _i, 1000039);
		world.family = ADDRESS_IPV6;
		world.link_mtu = 9216;
		world_run(&world, &life);
		world_check(&world, &life);
		if (life.round.settings.control != CONTROL_IPV6)
			world_fail(&world, &life, "not IPv6's control");
	}
}
END_TEST

START_TEST(largest_links)
{
	for (uint32_t limit = 68; limit <= 65535; limit += 131 * MTU_STEP) {
		struct world world;
		struct life life;

		world_make(&world, limit, _i, 1000033);
		world.link_mtu = 65520;
		world_run(&world, &life);
		world_check(&world, &life);
	}
}
END_TEST

/* The first bad round is believed: it waits itself for a second of peace before it blames. */
START_TEST(one_round_is_enough)
{
	for (uint32_t limit = 68; limit < 9216; limit += 7 * MTU_STEP) {
		struct world world;
		struct life life;
		uint64_t began;

		/* without loss: who believes one round believes its bad luck */
		world_make(&world, limit, 3 * _i, 1000081);
		world.link_mtu = 9216;
		world.fail_after = 1;
		began = world.now;
		world_run(&world, &life);
		world_check(&world, &life);
		if (life.path.rounds != 1)
			world_fail(&world, &life, "more than one round");
		if (world_truth(&world) == VERDICT_BLACK_HOLE && world.now - began < USEC_PER_SEC)
			world_fail(&world, &life, "blamed in a hurry");
	}
}
END_TEST

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
			if (life.path.announced.verdict == VERDICT_BLACK_HOLE ||
			    life.path.announced.verdict == VERDICT_REDUCED)
				world_fail(&world, &life, "the size is blamed");
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

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
	Suite *suite = suite_create("world");
	TCase *many = tcase_create("many");
	TCase *few = tcase_create("few");
	double began = seconds();
	int result;

	world_count = mmap(NULL, sizeof(*world_count), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (world_count == MAP_FAILED)
		return EXIT_FAILURE;
	if (MTU_STEP > 1)
		printf("# sanitized: only one path MTU of %u\n", MTU_STEP);
	fflush(stdout);
	tcase_set_timeout(many, 280);
	tcase_add_loop_test(many, every_path_mtu, 0, 3 * ROUTER_COUNT);
	tcase_add_loop_test(many, every_seventh_of_ipv6, 0, 3 * ROUTER_COUNT);
	tcase_add_loop_test(many, largest_links, 0, 3 * ROUTER_COUNT);
	tcase_add_loop_test(many, one_round_is_enough, 0, ROUTER_COUNT);
	tcase_add_loop_test(many, loss_is_no_limit, 0, 4);
	tcase_add_test(few, hole_comes_and_goes);
	tcase_add_test(few, peer_dies_and_returns);
	suite_add_tcase(suite, many);
	suite_add_tcase(suite, few);
	result = tap_run(suite);
	printf("# %lu worlds, %.0f a second\n", *world_count,
	       (double)*world_count / (seconds() - began));
	munmap(world_count, sizeof(*world_count));
	return result;
}
