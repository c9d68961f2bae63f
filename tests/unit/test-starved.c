/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In a simulated world: a peer that answers a few packets a second has none left for the large ones
 * of a burst, for its answers' way back, or for the next flow. That is no fault, and hides none.
 */
#include "../../daemon/core/path_inside.h"
#include "world.h"

#define ECHO (1U << PROBE_ECHO)
#define SYN (1U << PROBE_SYN)
#define RESPONDER (1U << PROBE_RESPONDER)
#define SEEDS 12U

static const unsigned rates[] = { 1, 2, 5, 20 };
#define RATES (sizeof(rates) / sizeof(rates[0]))

static void starved_init(struct world *world, struct life *life, unsigned rate, uint64_t seed)
{
	world_init(world, first_seed() * 1009 + seed);
	world->link_mtu = 9000;
	world->limit = 9000;
	world->answers_per_sec = rate;
	world->late_usec = seed % 2 ? 200 * USEC_PER_MSEC : 0;
	world->unruly = seed % 3 == 0;
	life_init(life, world);
}

/* The way back is not known to be good because the search for its hole had no end. */
START_TEST(hole_on_the_way_back)
{
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct world world;
		struct life life;

		starved_init(&world, &life, rates[_i], seed);
		world.kinds = RESPONDER;
		life.settings.method = METHOD_RESPONDER;
		world.limit_back = 853 + 631 * seed;
		life_run(&life, &world, 40);
		ck_assert_msg(!life.said[VERDICT_CONSISTENT], "%u a second, seed %u", rates[_i], seed);
		ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
		ck_assert_uint_eq(life.path.announced.return_mtu, world.limit_back);
	}
}
END_TEST

/* The small one goes first, and takes the one answer there is. */
START_TEST(small_ones_go_first)
{
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct world world;
		struct life life;

		starved_init(&world, &life, rates[_i], seed);
		world.kinds = seed % 2 ? RESPONDER : ECHO;
		world.delay_usec = 200 * USEC_PER_MSEC; /* so far that bursts are as far apart as answers */
		world.fail_after = 1 + seed % 3;
		life_init(&life, &world);
		life_run(&life, &world, 30);
		ck_assert_msg(!life.said[VERDICT_BLACK_HOLE] && !life.said[VERDICT_REDUCED],
			      "%u a second, seed %u: %u bytes", rates[_i], seed,
			      life.path.announced.path_mtu);
	}
}
END_TEST

/* One flow got all the answers, and shows that there is a router which tells. */
START_TEST(flows_beside_a_router)
{
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct world world;
		struct life life;

		starved_init(&world, &life, rates[_i], seed);
		world.kinds = ECHO;
		world.hops = 1;
		world.router = seed % 2 ? ROUTER_HONEST : ROUTER_LIMITED;
		life.path.flow_count = 3 + seed % 3;
		life_run(&life, &world, 5);
		world.limit = 3934;
		life_run(&life, &world, 50);
		ck_assert_msg(!life.said[VERDICT_BLACK_HOLE] && !life.said[VERDICT_PARTIAL],
			      "%u a second, seed %u: verdict %d, %u bytes", rates[_i], seed,
			      life.path.announced.verdict, life.path.announced.path_mtu);
		ck_assert_int_eq(life.path.announced.verdict, VERDICT_REDUCED);
	}
}
END_TEST

/* The flow that is asked first gets all the answers. When they are asked one by
 * one nothing is wrong, and so they are the second time. */
START_TEST(leg_mended)
{
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct world world;
		struct life life;

		starved_init(&world, &life, rates[_i], seed);
		world.kinds = SYN;
		life.path.flow_count = 8;
		life_run(&life, &world, 5);
		life.path.announced.verdict = VERDICT_PARTIAL;
		life.path.announced.path_mtu = 6868;
		life_run(&life, &world, 40);
		ck_assert_msg(life.path.announced.verdict == VERDICT_CONSISTENT,
			      "%u a second, seed %u: verdict %d, %u bytes", rates[_i], seed,
			      life.path.announced.verdict, life.path.announced.path_mtu);
	}
}
END_TEST

/* Nothing could be said of some flows, and a sign of life by another method is one flow's. */
START_TEST(life_is_no_proof)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed() * 13 + (unsigned)_i);
	world.link_mtu = 9000;
	world.limit = 9000;
	world.kinds = _i ? RESPONDER : ECHO;
	world.limit_flow[1] = 8209;
	life_init(&life, &world);
	life.settings.recover_after = 1;
	life.path.flow_count = 2;
	life.path.rounds = 16; /* the first method is asked anew */
	life.path.announced.verdict = VERDICT_UNVERIFIABLE;
	life.path.announced.reason = REASON_IRREGULAR;
	life.path.undecided = UNDECIDED_MOST + 1;
	life_run(&life, &world, 20);
	ck_assert(!life.said[VERDICT_CONSISTENT]);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_PARTIAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("starved");
	TCase *all = tcase_create("all");

	tcase_set_timeout(all, 280);
	tcase_add_loop_test(all, hole_on_the_way_back, 0, RATES);
	tcase_add_loop_test(all, small_ones_go_first, 0, RATES);
	tcase_add_loop_test(all, flows_beside_a_router, 0, RATES);
	tcase_add_loop_test(all, leg_mended, 0, RATES);
	tcase_add_loop_test(all, life_is_no_proof, 0, 2);
	suite_add_tcase(suite, all);
	return tap_run(suite);
}
