/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In a simulated world the number has to be exact and the verdict right, for every path MTU, with
 * routers that report honestly, wrongly or not at all, and with heavy loss.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "world.h"

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

static enum verdict world_truth(const struct world *world)
{
	if (world->limit >= world->link_mtu)
		return VERDICT_CONSISTENT;
	switch (world->router) {
	case ROUTER_TOO_LITTLE:
		/* a host makes 552 of less, and then sends what it likes in pieces */
		if (world->family == ADDRESS_IPV4 && world->limit > CONTROL_IPV4 &&
		    world_reported_mtu(world, world->link_mtu) < 552)
			return VERDICT_BLACK_HOLE;
		return VERDICT_REDUCED;
	case ROUTER_HONEST:
	case ROUTER_LIMITED:
	case ROUTER_CHAIN:
		return VERDICT_REDUCED;
	case ROUTER_NONE:
	case ROUTER_ZERO:
	case ROUTER_TOO_MUCH:
	case ROUTER_COUNT:
	case ROUTER_VALUE:
		break;
	}
	return VERDICT_BLACK_HOLE;
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

/* Worlds where a report that is too low and bad luck agreed. */
static const struct {
	unsigned seed;
	uint32_t limit;
} unlucky[] = { { 7, 5843 }, { 9, 1287 } };

START_TEST(report_and_bad_luck)
{
	const uint64_t prime = 1000003;
	const int number = 3 * ROUTER_TOO_LITTLE + 2;
	struct world world;
	struct life life;

	world_make(&world, unlucky[_i].limit, number, prime);
	world.seed = world.dice = unlucky[_i].seed * prime + unlucky[_i].limit * 64 + (unsigned)number;
	world.link_mtu = 9216;
	world_run(&world, &life);
	world_check(&world, &life);
}
END_TEST

START_TEST(every_seventh_of_ipv6)
{
	for (uint32_t limit = 1280; limit <= 9216; limit += 7 * MTU_STEP) {
		struct world world;
		struct life life;
		const struct check *check = (const void *)life.memory;

		world_make(&world, limit, _i, 1000039);
		world.family = ADDRESS_IPV6;
		world.link_mtu = 9216;
		world_run(&world, &life);
		world_check(&world, &life);
		if (check->settings.round.control != CONTROL_IPV6)
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
		/* a router that was heard, whatever it said, is not short of reports */
		if (world.router == ROUTER_NONE && world.limit < world.link_mtu &&
		    world.now - began < USEC_PER_SEC)
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
	tcase_add_loop_test(many, report_and_bad_luck, 0, sizeof(unlucky) / sizeof(unlucky[0]));
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
