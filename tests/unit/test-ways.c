/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In a simulated world: directions, methods, flows, hops, and loss that depends on size. Each row
 * says what lies there and what has to be said of it.
 */
#include "world.h"

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
	  1500, 0, DIRECTION_FORWARD, true, SEVERITY_CRITICAL },
	{ "hole back, responder", METHOD_AUTO, ECHO | RESPONDER, 0, 1500, 0, VERDICT_BLACK_HOLE, 9000,
	  1500, DIRECTION_RETURN, true, SEVERITY_CRITICAL },
	{ "holes both ways, responder", METHOD_AUTO, ECHO | RESPONDER, 4000, 1500, 0,
	  VERDICT_BLACK_HOLE, 4000, 1500, DIRECTION_BOTH, true, SEVERITY_CRITICAL },
	{ "hole back, responder alone", METHOD_RESPONDER, RESPONDER, 0, 1443, 0, VERDICT_BLACK_HOLE,
	  9000, 1443, DIRECTION_RETURN, true, SEVERITY_CRITICAL },
	{ "hole there, responder alone", METHOD_RESPONDER, RESPONDER, 4321, 0, 0, VERDICT_BLACK_HOLE,
	  4321, 0, DIRECTION_FORWARD, true, SEVERITY_CRITICAL },
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
	{ "hole of one byte, a port too", METHOD_AUTO, ECHO | SYN, 8999, 0, 0, VERDICT_BLACK_HOLE, 8999,
	  0, DIRECTION_FORWARD, true, SEVERITY_CRITICAL },
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

static void run_row(unsigned number, uint64_t seed)
{
	const struct row *row = &rows[number];

	for (unsigned variant = 0; variant < 4; variant++) {
		unsigned loss = variant & 1 ? 13 : 0;
		const struct judgement *said;
		struct world world;
		struct life life;

		world_of_row(&world, row, seed * 31 + number);
		world.loss_percent = loss;
		world.port_closed = variant & 2;
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

START_TEST(ways_and_methods)
{
	run_row((unsigned)_i, first_seed());
}
END_TEST

/* Dice that once led to a second thought. */
static const struct {
	unsigned row, seed;
} second_thoughts[] = {
	{ 14, 7 },  { 10, 9 },  { 10, 13 }, { 4, 19 },  { 10, 24 }, { 10, 33 },
	{ 4, 34 },  { 5, 35 },  { 10, 36 }, { 10, 40 }, { 4, 41 },  { 19, 41 },
	{ 14, 42 }, { 14, 44 }, { 4, 45 },  { 10, 48 },
};
#define SECOND_THOUGHTS (sizeof(second_thoughts) / sizeof(second_thoughts[0]))

START_TEST(no_second_thoughts)
{
	run_row(second_thoughts[_i].row, second_thoughts[_i].seed);
}
END_TEST

/* The first packets of a method get lost, and then it is answered after all. */
static const struct late_row {
	const char *name;
	enum method method;
	unsigned kinds;
	enum probe_kind late;
	unsigned lost;
	uint32_t limit, limit_back, limit_echo; /* 0: none */
	enum verdict verdict;
	uint32_t path_mtu, return_mtu;
} late_rows[] = {
	/* another one was asked whether the peer lives, and what it said of sizes counts */
	{ "echo", METHOD_AUTO, ECHO | RESPONDER, PROBE_ECHO, 4, 0, 0, 1028, VERDICT_CONSISTENT, 9000,
	  9000 },
	{ "echo, a port", METHOD_AUTO, ECHO | SYN, PROBE_ECHO, 4, 0, 0, 1028, VERDICT_CONSISTENT,
	  9000, 0 },
	{ "echo, hole back", METHOD_AUTO, ECHO | RESPONDER, PROBE_ECHO, 4, 0, 1500, 0,
	  VERDICT_BLACK_HOLE, 9000, 1500 },
	/* it was asked for no more than life, so it is asked again */
	{ "responder", METHOD_RESPONDER, ECHO | RESPONDER, PROBE_RESPONDER, 5, 0, 1500, 0,
	  VERDICT_REDUCED, 9000, 1500 },
	/* the witness itself is heard late */
	{ "witness", METHOD_AUTO, ECHO | RESPONDER, PROBE_RESPONDER, 1, 0, 1500, 0,
	  VERDICT_BLACK_HOLE, 9000, 1500 },
	/* a SYN without data is heard before one with data */
	{ "tcp", METHOD_TCP, SYN, PROBE_SYN, 7, 0, 0, 0, VERDICT_CONSISTENT, 9000, 0 },
	{ "tcp, hole", METHOD_TCP, SYN, PROBE_SYN, 7, 1400, 0, 0, VERDICT_BLACK_HOLE, 1400, 0 },
};

START_TEST(heard_late)
{
	const struct late_row *row = &late_rows[_i];
	const struct judgement *said;
	struct world world;
	struct life life;

	world_init(&world, first_seed() * 73 + (unsigned)_i);
	world.link_mtu = 9000;
	world.limit = row->limit ? row->limit : 9000;
	world.limit_back = row->limit_back ? row->limit_back : SIZE_LARGEST;
	world.limit_echo = row->limit_echo ? row->limit_echo : SIZE_LARGEST;
	world.kinds = row->kinds;
	world.fragments_back = row->verdict == VERDICT_REDUCED;
	world.lost_first[row->late] = row->lost;
	world.fail_after = 1;
	life_init(&life, &world);
	life.settings.method = row->method;
	life_run(&life, &world, 1);
	said = &life.path.announced;
	ck_assert_msg(said->verdict == row->verdict && said->path_mtu == row->path_mtu &&
			      said->return_mtu == row->return_mtu,
		      "%s: verdict %d, %u there, %u back", row->name, said->verdict, said->path_mtu,
		      said->return_mtu);
	life_run(&life, &world, 3);
	ck_assert_uint_eq(life.announcements, 1);
}
END_TEST

/* A size that never passes is lost, not lossy, though smaller ones came and went before. */
START_TEST(hole_is_not_lossy)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed());
	world.link_mtu = 9000;
	world.limit = 1400;
	world.kinds = UDP;
	life_init(&life, &world);
	life.settings.method = METHOD_UDP;
	life.path.full_loss = (struct loss){ 24, 12 };
	life.path.control_loss = (struct loss){ 24, 0 };
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
	ck_assert_uint_eq(life.path.announced.path_mtu, 1400);
	ck_assert_uint_eq(life.announcements, 1);
}
END_TEST

/* Datagrams leave once a second, also when we come late: measured where they leave. */
START_TEST(datagrams_keep_their_distance)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed() * 79 + (unsigned)_i);
	world.link_mtu = 9000;
	world.limit = _i & 1 ? 1400 : 9000;
	world.kinds = UDP;
	world.late_usec = 400 * USEC_PER_MSEC;
	life_init(&life, &world);
	life.settings.method = METHOD_UDP;
	/* a sample is taken too */
	if (_i & 2) {
		life.path.full_loss = (struct loss){ 24, 12 };
		life.path.control_loss = (struct loss){ 24, 0 };
	}
	life.path.flow_count = _i & 4 ? 4 : 1;
	life_run(&life, &world, 6);
	ck_assert_int_eq(life.path.announced.verdict,
			 _i & 1 ? VERDICT_BLACK_HOLE : VERDICT_CONSISTENT);
	ck_assert_uint_ge(world.least_gap_usec, USEC_PER_SEC);
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

/* A way back that is smaller and not silent is no black hole, also for a responder's answers with DF. */
START_TEST(way_back_is_told)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed());
	world.link_mtu = 9000;
	world.limit = 9000;
	world.limit_back = 1500;
	world.fragments_back = true;
	world.kinds = ECHO | RESPONDER;
	life_init(&life, &world);
	life.settings.method = METHOD_RESPONDER;
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_REDUCED);
	ck_assert_int_eq(life.path.announced.direction, DIRECTION_RETURN);
	ck_assert_uint_eq(life.path.announced.path_mtu, 9000);
	ck_assert_uint_eq(life.path.announced.return_mtu, 1500);
	ck_assert_uint_eq(life.announcements, 1);
}
END_TEST

/* Who answers nearer than the peer did does not speak for it. */
START_TEST(firewall_in_between)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed());
	world.link_mtu = 9000;
	world.limit = 1500;
	world.hops = 2;
	world.narrow = 2;
	world.kinds = ECHO | SYN;
	world.firewall = _i;
	life_init(&life, &world);
	life_run(&life, &world, 6);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
	ck_assert_uint_eq(life.path.announced.path_mtu, 1500);
	ck_assert_int_eq(life.path.announced.confirmed, !_i);
}
END_TEST

/* Large echoes that once came back and no longer do: the way back changed, though nothing measures it. */
START_TEST(way_back_lost_later)
{
	struct world world;
	struct life life;

	world_init(&world, first_seed());
	world.link_mtu = 9000;
	world.limit = 9000;
	world.kinds = ECHO | SYN;
	life_init(&life, &world);
	life_run(&life, &world, 3);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	world.limit_back = 1500;
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
	ck_assert_int_eq(life.path.announced.direction, DIRECTION_RETURN);
	ck_assert_uint_eq(life.path.announced.path_mtu, 9000);
	ck_assert_uint_eq(life.path.announced.return_mtu, 1500);
	ck_assert(!life.path.announced.confirmed);
	world.limit_back = SIZE_LARGEST;
	life_run(&life, &world, 12);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	ck_assert_uint_eq(life.announcements, 3);
}
END_TEST

/* A peer that answers so many packets a second, with a burst of as many, hides no hole. */
START_TEST(limited_answers)
{
	static const unsigned rates[] = { 1, 3, 5, 10, 20 };

	for (unsigned hole = 0; hole < 2; hole++) {
		struct world world;
		struct life life;

		world_init(&world, first_seed() * 53 + (unsigned)_i);
		world.link_mtu = 9000;
		world.limit = 9000;
		world.answers_per_sec = rates[_i];
		life_init(&life, &world);
		life_run(&life, &world, 3);
		ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
		if (hole)
			world.limit = 1500;
		life_run(&life, &world, 20);
		ck_assert_msg(life.path.announced.verdict ==
				      (hole ? VERDICT_BLACK_HOLE : VERDICT_CONSISTENT),
			      "%u answers a second, hole %u: verdict %d", rates[_i], hole,
			      life.path.announced.verdict);
		if (hole)
			ck_assert_uint_eq(life.path.announced.path_mtu, 1500);
	}
}
END_TEST

/* Nearly all large ones get lost: that is loss, and the number does not jump about. */
START_TEST(heavy_loss_of_large_ones)
{
	static const unsigned rates[] = { 60, 80, 90 };

	for (unsigned i = 0; i < 20; i++) {
		struct world world;
		struct life life;

		world_init(&world, first_seed() * 59 + i);
		world.link_mtu = 9000;
		world.limit = 9000;
		world.loss_full_percent = rates[_i];
		life_init(&life, &world);
		life_run(&life, &world, 60);
		ck_assert_msg(life.said[VERDICT_LOSSY], "seed %lu: %u%% of the large ones lost, and "
			      "not seen: %d", world.seed, rates[_i], life.path.announced.verdict);
		ck_assert_msg(!life.said[VERDICT_REDUCED] && life.announcements < 8,
			      "seed %lu: %u announcements", world.seed, life.announcements);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ways");
	TCase *all = tcase_create("all");

	tcase_set_timeout(all, 280);
	tcase_add_loop_test(all, ways_and_methods, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(all, no_second_thoughts, 0, SECOND_THOUGHTS);
	tcase_add_loop_test(all, heard_late, 0, sizeof(late_rows) / sizeof(late_rows[0]));
	tcase_add_test(all, hole_is_not_lossy);
	tcase_add_loop_test(all, datagrams_keep_their_distance, 0, 8);
	tcase_add_loop_test(all, flows_differ, 0, FLOWS_MOST + 1);
	tcase_add_loop_test(all, walk_finds_the_hop, 0, 64);
	tcase_add_loop_test(all, loss_of_large_ones, 0, 3);
	tcase_add_loop_test(all, plain_loss_is_not_lossy, 0, 5);
	tcase_add_test(all, way_back_is_told);
	tcase_add_loop_test(all, firewall_in_between, 0, 2);
	tcase_add_test(all, way_back_lost_later);
	tcase_add_loop_test(all, limited_answers, 0, 5);
	tcase_add_loop_test(all, heavy_loss_of_large_ones, 0, 3);
	suite_add_tcase(suite, all);
	return tap_run(suite);
}
