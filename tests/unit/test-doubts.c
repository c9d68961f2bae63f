/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In a simulated world: what one witness alone would get wrong. Loss of large packets by every
 * method and on one way, flows that are dead or too many, a walk on a flow's own way, reports of
 * every value, and what other paths prove.
 */
#include "../../daemon/core/witness.h"
#include "world.h"

#define ECHO (1U << PROBE_ECHO)
#define SYN (1U << PROBE_SYN)
#define UDP (1U << PROBE_UDP)
#define RESPONDER (1U << PROBE_RESPONDER)

static void world_clean(struct world *world, uint64_t seed)
{
	world_init(world, seed);
	world->link_mtu = 9000;
	world->limit = 9000;
	world->unreachables_limited = true;
}

/* --- loss of large packets --- */

static const struct lossy_row {
	enum method method;
	unsigned kinds, there, back; /* percent of the large ones, each way */
	enum direction direction;
} lossy_rows[] = {
	{METHOD_TCP, SYN, 20, 0, DIRECTION_FORWARD},
	{METHOD_TCP, SYN, 40, 0, DIRECTION_FORWARD},
	{METHOD_TCP, SYN, 60, 0, DIRECTION_FORWARD},
	{METHOD_UDP, UDP, 40, 0, DIRECTION_FORWARD},
	{METHOD_UDP, UDP, 60, 0, DIRECTION_FORWARD},
	{METHOD_RESPONDER, RESPONDER, 20, 0, DIRECTION_FORWARD},
	{METHOD_RESPONDER, RESPONDER, 40, 0, DIRECTION_FORWARD},
	{METHOD_RESPONDER, RESPONDER, 0, 20, DIRECTION_RETURN},
	{METHOD_RESPONDER, RESPONDER, 0, 40, DIRECTION_RETURN},
	{METHOD_RESPONDER, RESPONDER, 40, 40, DIRECTION_BOTH},
	{METHOD_AUTO, ECHO, 0, 40, DIRECTION_UNKNOWN},
	{METHOD_AUTO, SYN, 40, 0, DIRECTION_FORWARD},
	{METHOD_AUTO, RESPONDER, 0, 40, DIRECTION_RETURN},
};

START_TEST(lossy_by_every_method)
{
	const struct lossy_row *row = &lossy_rows[_i];

	for (unsigned i = 0; i < 10; i++) {
		bool right = false;
		struct world world;
		struct life life;

		world_clean(&world, first_seed() * 61 + i);
		world.kinds = row->kinds;
		world.loss_full_percent = row->there;
		world.loss_back_percent = row->back;
		life_init(&life, &world);
		life.settings.method = row->method;
		for (uint64_t rounds = 1; rounds <= 200 && !right; rounds++) {
			life_run(&life, &world, rounds);
			right = life.path.announced.verdict == VERDICT_LOSSY &&
				life.path.announced.direction == row->direction;
		}
		ck_assert_msg(right, "row %d, seed %lu: never seen, verdict %d direction %d", _i,
			      world.seed, life.path.announced.verdict, life.path.announced.direction);
		ck_assert_uint_eq(life.path.announced.path_mtu, 9000);
		ck_assert_msg(!life.said[VERDICT_BLACK_HOLE] && !life.said[VERDICT_REDUCED] &&
				      !life.said[VERDICT_PARTIAL],
			      "row %d, seed %lu: the size is blamed", _i, world.seed);
	}
}
END_TEST

static const enum method all_methods[] = {METHOD_ICMP, METHOD_TCP, METHOD_UDP, METHOD_RESPONDER};

START_TEST(plain_loss_by_every_method)
{
	for (unsigned i = 0; i < 20; i++) {
		struct world world;
		struct life life;

		world_clean(&world, first_seed() * 67 + i);
		world.kinds = ECHO | SYN | UDP | RESPONDER;
		world.loss_percent = 5 + 10 * (i % 3);
		life_init(&life, &world);
		life.settings.method = all_methods[_i];
		life_run(&life, &world, 150);
		for (unsigned v = VERDICT_REDUCED; v <= VERDICT_UNREACHABLE; v++)
			ck_assert_msg(!life.said[v], "method %d, seed %lu, loss %u%%: verdict %u", _i,
				      world.seed, world.loss_percent, v);
	}
}
END_TEST

/* Nearly everything large gets lost: whatever it is called, it is not good for long. */
START_TEST(nearly_all_large_lost)
{
	static const unsigned rates[] = {90, 95, 99};

	for (unsigned i = 0; i < 30; i++) {
		unsigned good = 0;
		struct world world;
		struct life life;

		world_clean(&world, first_seed() * 71 + i);
		world.kinds = ECHO | SYN | RESPONDER;
		world.loss_full_percent = rates[_i];
		life_init(&life, &world);
		life.settings.method = (enum method[]){METHOD_AUTO, METHOD_TCP, METHOD_RESPONDER}[i % 3];
		life_run(&life, &world, 3);
		for (uint64_t rounds = 4; rounds <= 60; rounds++) {
			life_run(&life, &world, rounds);
			good += life.path.announced.verdict == VERDICT_CONSISTENT ||
				life.path.announced.verdict == VERDICT_UNKNOWN;
		}
		ck_assert_msg(good <= 6, "%u%% lost, seed %lu: good in %u rounds of 57", rates[_i],
			      world.seed, good);
		ck_assert_msg(life.announcements <= 8, "%u%% lost, seed %lu: announced %u times",
			      rates[_i], world.seed, life.announcements);
	}
}
END_TEST

/* --- flows --- */

/* A dead member of a bundle is a fault of no size, and does not make the peer unreachable. */
START_TEST(dead_flows)
{
	static const enum method methods[] = {METHOD_TCP, METHOD_AUTO, METHOD_RESPONDER, METHOD_UDP};
	const struct judgement *said;
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 73);
	world.kinds = SYN | RESPONDER | UDP;
	world.flows_dead = 0x15;
	life_init(&life, &world);
	life.settings.method = methods[_i];
	life.path.flow_count = FLOWS_MOST;
	life_run(&life, &world, _i == 3 ? 20 : 6);
	said = &life.path.announced;
	ck_assert_int_eq(said->verdict, VERDICT_PARTIAL);
	ck_assert_int_eq(said->reason, REASON_FLOWS_DEAD);
	ck_assert_int_eq(said->severity, SEVERITY_WARNING);
	ck_assert_uint_eq(said->path_mtu, 9000);
	ck_assert(!said->confirmed);
	if (_i < 3)
		ck_assert_uint_eq(life.path.flows_faulty, 3);
	ck_assert(!life.said[VERDICT_UNREACHABLE] && !life.said[VERDICT_BLACK_HOLE]);
	world.flows_dead = 0;
	life_run(&life, &world, _i == 3 ? 40 : 12);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	world.flows_dead = 0xff;
	life_run(&life, &world, _i == 3 ? 60 : 18);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_UNREACHABLE);
}
END_TEST

/* Flows take turns before one of them is blamed; the first that fails alone ends that. */
START_TEST(many_bad_flows_are_soon_told)
{
	struct world world;
	struct life life;
	uint64_t began;

	world_clean(&world, first_seed() * 79);
	world.kinds = SYN;
	life_init(&life, &world);
	life.settings.method = METHOD_TCP;
	life.path.flow_count = FLOWS_MOST;
	life_run(&life, &world, 3);
	began = world.now;
	for (unsigned flow = 1; flow < FLOWS_MOST; flow++)
		world.limit_flow[flow] = _i == 0 ? 1500 : 0;
	world.flows_dead = _i == 0 ? 0 : 0xfe;
	while (life.path.announced.verdict != VERDICT_PARTIAL && life.path.rounds < 20)
		life_run(&life, &world, life.path.rounds + 1);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_PARTIAL);
	ck_assert_uint_eq(life.path.flows_faulty, FLOWS_MOST - 1);
	ck_assert_msg(world.now - began < life.settings.interval_usec + 20 * USEC_PER_SEC,
		      "%lu ms", (world.now - began) / 1000);
}
END_TEST

/* One packet a second for all flows: the first ones are soon known, the others come in turn. */
START_TEST(many_flows_by_udp)
{
	unsigned faulty = (unsigned)_i;
	uint64_t began;
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 79);
	world.kinds = UDP;
	life_init(&life, &world);
	life.settings.method = METHOD_UDP;
	life.path.flow_count = FLOWS_MOST;
	for (unsigned i = 0; i < faulty; i++)
		world.limit_flow[FLOWS_MOST - 1 - i] = 1500 + 100 * i;
	began = world.now;
	life_run(&life, &world, 1);
	ck_assert_uint_lt(world.now - began, 60 * USEC_PER_SEC);
	for (uint64_t rounds = 2; rounds <= 30; rounds++)
		life_run(&life, &world, rounds);
	ck_assert_msg(life.path.announced.verdict == (faulty ? VERDICT_PARTIAL : VERDICT_CONSISTENT),
		      "%u faulty: verdict %d", faulty, life.path.announced.verdict);
	ck_assert_uint_eq(life.path.announced.path_mtu, faulty ? 1500 : 9000);
	ck_assert_uint_eq(life.path.flows_faulty, faulty);
	ck_assert_uint_le(life.announcements, 2);
	memset(world.limit_flow, 0, sizeof(world.limit_flow));
	life_run(&life, &world, 50);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	ck_assert_uint_eq(life.path.flows_faulty, 0);
}
END_TEST

/* Flows that only echoes can ask may all go one way: that is said. */
START_TEST(flows_by_echo_prove_little)
{
	struct findings findings;
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 83);
	world.kinds = _i ? SYN : ECHO;
	life_init(&life, &world);
	life.path.flow_count = FLOWS_MOST;
	life_run(&life, &world, 3);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	lint_path(&life.path.facts, &life.link, &life.route, &life.path.evidence, &findings);
	ck_assert_int_eq(findings_find(&findings, FINDING_FLOWS_UNPROVEN) != NULL, !_i);
}
END_TEST

/* A router of few words tells of some flow only: the sender has heard it all the same. */
START_TEST(flows_share_a_report)
{
	static const enum method methods[] = {METHOD_TCP, METHOD_AUTO, METHOD_RESPONDER, METHOD_ICMP};

	for (unsigned flows = 2; flows <= FLOWS_MOST; flows++) {
		struct world world;
		struct life life;

		world_clean(&world, first_seed() * 113 + flows);
		world.kinds = _i == 3 ? ECHO : SYN | RESPONDER;
		world.limit = 1500;
		world.hops = 3;
		world.narrow = 2;
		world.router = ROUTER_LIMITED;
		life_init(&life, &world);
		life.settings.method = methods[_i];
		life.path.flow_count = flows;
		for (uint64_t rounds = 1; rounds <= 20; rounds++)
			life_run(&life, &world, rounds);
		ck_assert_msg(life.path.announced.verdict == VERDICT_REDUCED && life.announcements == 1 &&
				      life.path.announced.path_mtu == 1500 &&
				      life.path.announced.router.bytes[3] == 253,
			      "%u flows: verdict %d, %u, announced %u times", flows,
			      life.path.announced.verdict, life.path.announced.path_mtu,
			      life.announcements);
		ck_assert_uint_eq(life.path.flows_faulty, 0);
	}
}
END_TEST

/* A leg that is silent at the size of which another one's router tells: who goes by it is not told. */
START_TEST(a_silent_leg_beside_an_honest_one)
{
	static const enum router routers[] = {ROUTER_HONEST, ROUTER_LIMITED};

	for (unsigned flows = 2; flows <= FLOWS_MOST; flows++) {
		struct world world;
		struct life life;

		world_clean(&world, first_seed() * 131 + flows);
		world.kinds = SYN;
		world.limit = 1500;
		world.hops = 3;
		world.narrow = 2;
		world.router = routers[_i];
		world.flows_untold = 1U << (flows - 1);
		life_init(&life, &world);
		life.settings.method = METHOD_TCP;
		life.path.flow_count = flows;
		for (uint64_t rounds = 1; rounds <= 20; rounds++)
			life_run(&life, &world, rounds);
		ck_assert_msg(!life.said[VERDICT_REDUCED] && life.announcements == 1 &&
				      verdict_is_fault(life.path.announced.verdict) &&
				      life.path.announced.severity == SEVERITY_CRITICAL &&
				      life.path.announced.path_mtu == 1500,
			      "%u flows: verdict %d, %u, announced %u times", flows,
			      life.path.announced.verdict, life.path.announced.path_mtu,
			      life.announcements);
		ck_assert_uint_eq(life.path.flows_faulty, 1);
	}
}
END_TEST

/* What a peer that answers a few packets a second gives to one flow it cannot give to another. */
START_TEST(flows_share_few_answers)
{
	static const struct {
		enum method method;
		unsigned kinds;
	} rows[] = {{METHOD_TCP, SYN}, {METHOD_AUTO, ECHO | SYN}, {METHOD_RESPONDER, ECHO | RESPONDER},
		    {METHOD_AUTO, ECHO}};
	static const unsigned rates[] = {1, 2, 3, 5, 8, 12, 20};

	for (unsigned number = 0; number < 7 * FLOWS_MOST; number++) {
		struct world world;
		struct life life;

		world_clean(&world, first_seed() * 127 + number);
		world.kinds = rows[_i].kinds;
		life_init(&life, &world);
		life.settings.method = rows[_i].method;
		life.path.flow_count = 1 + number % FLOWS_MOST;
		life_run(&life, &world, 3);
		world.answers_per_sec = rates[number / FLOWS_MOST];
		life_run(&life, &world, 40);
		for (unsigned v = VERDICT_REDUCED; v <= VERDICT_UNREACHABLE; v++)
			ck_assert_msg(!life.said[v], "%u flows, %u answers a second: verdict %u",
				      life.path.flow_count, world.answers_per_sec, v);
	}
}
END_TEST

/* Every now and then the first method is tried again. Where it stays silent another one asks one flow
 * whether the peer lives: that one is well, and another still is not. */
START_TEST(one_flow_does_not_speak_for_all)
{
	static const unsigned kinds[] = {ECHO, RESPONDER, UDP, ECHO | RESPONDER};
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 131 + (unsigned)_i);
	world.kinds = kinds[_i];
	world.limit_flow[2] = 1500;
	life_init(&life, &world);
	life.settings.recover_after = 1;
	life.path.flow_count = 3;
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_PARTIAL);
	for (unsigned rounds = 9; rounds < 40; rounds++) {
		life_run(&life, &world, rounds);
		ck_assert_int_eq(life.path.announced.verdict, VERDICT_PARTIAL);
	}
}
END_TEST

/* Now and then echo is asked again where it was no measure. What another method has proven stays so. */
START_TEST(proof_outlives_an_echo)
{
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 137 + (unsigned)_i);
	world.kinds = ECHO | (_i ? RESPONDER : SYN);
	world.limit_echo = 1029;
	life_init(&life, &world);
	life_run(&life, &world, 5);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	world.limit_echo = SIZE_LARGEST;
	world.limit = 1496;
	life_run(&life, &world, 8);
	for (unsigned rounds = 9; rounds < 40; rounds++) {
		life_run(&life, &world, rounds);
		ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
		ck_assert_int_eq(life.path.announced.severity, SEVERITY_CRITICAL);
	}
}
END_TEST

/* --- where --- */

/* Echoes go another way: the walk goes by what the fault was found with. */
START_TEST(walk_on_the_flow)
{
	static const enum method methods[] = {METHOD_TCP, METHOD_RESPONDER, METHOD_UDP, METHOD_AUTO};
	const struct judgement *said;
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 89);
	world.kinds = ECHO | SYN | RESPONDER | UDP;
	world.hops = 4;
	world.narrow = 2;
	world.echo_apart = true;
	life_init(&life, &world);
	life.settings.method = methods[_i];
	if (methods[_i] == METHOD_AUTO || methods[_i] == METHOD_TCP) {
		life.path.flow_count = FLOWS_MOST;
		world.limit_flow[3] = 1500;
	} else {
		world.limit = 1500;
	}
	life_run(&life, &world, 6);
	said = &life.path.announced;
	ck_assert_int_eq(said->verdict, life.path.flow_count > 1 ? VERDICT_PARTIAL : VERDICT_BLACK_HOLE);
	ck_assert_int_eq(said->locus, LOCUS_AFTER);
	ck_assert_uint_eq(said->locus_address.bytes[3], 102);
}
END_TEST

/* Echo alone: a router that fails before the peer bears it out, the peer's own word does not. */
START_TEST(router_bears_out)
{
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 97);
	world.hops = 3;
	if (_i < 3) {
		world.limit = 1500;
		world.narrow = (unsigned)_i;
	} else {
		world.limit_echo = 1500;
	}
	life_init(&life, &world);
	life_run(&life, &world, 6);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
	ck_assert_int_eq(life.path.announced.confirmed, _i < 3);
	ck_assert_int_eq(life.path.announced.severity, _i < 3 ? SEVERITY_CRITICAL : SEVERITY_WARNING);
}
END_TEST

/* --- other paths --- */

static bool heard(bool whole_before, enum probe_kind other_kind, uint32_t other_passes)
{
	static struct witnesses witnesses;
	struct world world;
	struct life life;
	struct path other;
	struct check *check = (void *)life.memory;

	memset(&witnesses, 0, sizeof(witnesses));
	world_clean(&world, 1);
	life_init(&life, &world);
	life.path.check = check;
	memset(check, 0, sizeof(*check));
	check->result.main = (struct evidence){
		.kind = PROBE_ECHO, .outcome = OUTCOME_LESS, .full = 9000, .passes = 1500};
	other = life.path;
	other.address.bytes[3] = 9;
	other.check = NULL;
	other.evidence = check->result.main;
	other.evidence.kind = other_kind;
	other.evidence.passes = other_passes;
	if (whole_before)
		life.path.facts.whole_back = other.facts.whole_back = 9000;
	witness_update(&witnesses, &other);
	witness_compare(&witnesses, &life.path);
	return life.path.facts.borne_out;
}

/* The same rule against large pings on several peers is no path's fault. */
START_TEST(same_rule_on_two_peers)
{
	ck_assert(!heard(false, PROBE_ECHO, 1500));
	ck_assert(heard(true, PROBE_ECHO, 1500));
	ck_assert(heard(false, PROBE_SYN, 1500));
	ck_assert(heard(false, PROBE_RESPONDER, 1500));
	ck_assert(!heard(true, PROBE_ECHO, 1501));
	ck_assert(!heard(false, PROBE_SYN, 1400));
}
END_TEST

/* --- what is asked for and not there --- */

START_TEST(responder_missing)
{
	static const struct {
		unsigned kinds;
		enum verdict verdict;
		enum reason reason;
	} rows[] = {
		{ECHO, VERDICT_UNVERIFIABLE, REASON_NO_RESPONDER},
		{SYN, VERDICT_UNVERIFIABLE, REASON_NO_RESPONDER},
		{ECHO | SYN, VERDICT_UNVERIFIABLE, REASON_NO_RESPONDER},
		{0, VERDICT_UNREACHABLE, REASON_SILENT},
		{UDP, VERDICT_UNREACHABLE, REASON_SILENT},
	};
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 101);
	world.kinds = rows[_i].kinds;
	/* a hole is none of its business */
	world.limit = 1500;
	life_init(&life, &world);
	life.settings.method = METHOD_RESPONDER;
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.verdict, rows[_i].verdict);
	ck_assert_int_eq(life.path.announced.reason, rows[_i].reason);
	ck_assert_uint_eq(life.path.announced.path_mtu, 0);
	ck_assert_uint_eq(life.announcements + (rows[_i].verdict == VERDICT_UNVERIFIABLE), 1 +
			  (rows[_i].verdict == VERDICT_UNVERIFIABLE && life.announcements));
	world.kinds |= RESPONDER;
	world.limit = 9000;
	life_run(&life, &world, 14);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
}
END_TEST

/* --- reports --- */

/* What a report for the full size may say where no more than `limit` passes. */
static const struct report_row {
	uint8_t family;
	uint32_t limit, value;
	enum verdict verdict;
	bool wrong;
} report_rows[] = {
	{ADDRESS_IPV4, 1500, 0, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 1500, 67, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 1500, 68, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 1500, 551, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 1500, 552, VERDICT_REDUCED, true},
	{ADDRESS_IPV4, 1500, 1499, VERDICT_REDUCED, true},
	{ADDRESS_IPV4, 1500, 1500, VERDICT_REDUCED, false},
	{ADDRESS_IPV4, 1500, 1501, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 1500, 8999, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 1500, 9000, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 1500, 65535, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV4, 300, 300, VERDICT_REDUCED, false},
	{ADDRESS_IPV4, 300, 299, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV6, 1500, 0, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV6, 1500, 1279, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV6, 1500, 1280, VERDICT_REDUCED, true},
	{ADDRESS_IPV6, 1500, 1499, VERDICT_REDUCED, true},
	{ADDRESS_IPV6, 1500, 1500, VERDICT_REDUCED, false},
	{ADDRESS_IPV6, 1500, 1501, VERDICT_BLACK_HOLE, true},
	{ADDRESS_IPV6, 1500, 65535, VERDICT_BLACK_HOLE, true},
};

START_TEST(reports_of_every_value)
{
	const struct report_row *row = &report_rows[_i];
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 103);
	world.family = row->family;
	world.limit = row->limit;
	world.router = ROUTER_VALUE;
	world.value = row->value;
	life_init(&life, &world);
	life_run(&life, &world, 6);
	ck_assert_msg(life.path.announced.verdict == row->verdict &&
			      life.path.announced.path_mtu == row->limit &&
			      life.path.evidence.has_wrong_report == row->wrong,
		      "%u of %u: verdict %d, number %u, wrong %d", row->value, row->limit,
		      life.path.announced.verdict, life.path.announced.path_mtu,
		      life.path.evidence.has_wrong_report);
	ck_assert(!row->wrong || life.path.evidence.wrong_mtu == row->value);
}
END_TEST

/* Sizes that do not fail in order: what is said is what was seen. */
START_TEST(sizes_out_of_order)
{
	uint32_t from = 1000 + 100 * (unsigned)_i;
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 107);
	world.limit = 8000;
	world.lost_from = _i ? from : 0;
	world.lost_to = _i ? from + 1500 : 0;
	life_init(&life, &world);
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
	ck_assert(life.path.announced.path_mtu == 8000 ||
		  (_i && life.path.announced.path_mtu == from - 1));
	if (life.path.evidence.fails_below)
		ck_assert(_i && life.path.announced.path_mtu == 8000 &&
			  life.path.evidence.fails_below >= from &&
			  life.path.evidence.fails_below < from + 1500);
}
END_TEST

/* --- what it costs --- */

START_TEST(a_hole_is_cheap)
{
	static const uint32_t sizes[] = {1280, 1400, 1443, 1450, 1492, 1500, 4321, 8951};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t began;
		struct world world;
		struct life life;

		world_clean(&world, first_seed() * 109 + i);
		world.limit = sizes[i];
		world.kinds = ECHO | SYN;
		world.delay_usec = 20000;
		world.hops = (unsigned)_i;
		life_init(&life, &world);
		began = world.now;
		for (uint64_t rounds = 1; life.announcements == 0; rounds++)
			life_run(&life, &world, rounds);
		ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
		ck_assert_uint_eq(life.path.announced.path_mtu, sizes[i]);
		ck_assert(life.path.announced.confirmed);
		ck_assert_msg(world.packets <= 60 + 3 * world.hops, "%u: %lu packets", sizes[i], world.packets);
		ck_assert_msg(world.now - began <= 2450 * USEC_PER_MSEC, "%u: %lu us", sizes[i],
			      world.now - began);
	}
}
END_TEST

/* What the second method says of an echo's fault explains it: it is not another one, and needs no
 * further rounds. */
START_TEST(the_way_back_is_known_as_soon)
{
	unsigned fail_after = 2 + (unsigned)_i % 3;
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 131 + (unsigned)_i);
	world.kinds = ECHO | SYN | UDP | (_i < 6 ? RESPONDER : 0);
	world.fail_after = fail_after;
	world.delay_usec = _i % 2 ? 200000 : 500;
	life_init(&life, &world);
	life_run(&life, &world, 5);
	world.limit_back = 4086;
	life_run(&life, &world, 5 + fail_after);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_BLACK_HOLE);
	ck_assert_int_eq(life.path.announced.direction, DIRECTION_RETURN);
	ck_assert_uint_eq(life.path.announced.path_mtu, 9000);
	ck_assert_uint_eq(life.path.announced.return_mtu, 4086);
	life_run(&life, &world, 20);
	ck_assert_uint_eq(life.announcements, 2);
}
END_TEST

/* Echoes alone see what is lost on the way back: that they are not heard for a moment does not mend it. */
START_TEST(the_way_back_is_not_forgotten)
{
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 139);
	world.kinds = ECHO | SYN | (_i ? RESPONDER : 0);
	life_init(&life, &world);
	life_run(&life, &world, 3);
	world.limit_back = 4086;
	life_run(&life, &world, 8);
	ck_assert_int_eq(life.path.announced.direction, DIRECTION_RETURN);
	/* a round in which nothing but the port is heard */
	world.kinds = SYN;
	life_run(&life, &world, 9);
	world.kinds = ECHO | SYN | (_i ? RESPONDER : 0);
	for (uint64_t rounds = 10; rounds <= 40; rounds++) {
		life_run(&life, &world, rounds);
		ck_assert_msg(life.path.announced.verdict == VERDICT_BLACK_HOLE &&
				      life.path.announced.direction == DIRECTION_RETURN,
			      "round %lu: verdict %d", rounds, life.path.announced.verdict);
	}
	world.limit_back = SIZE_LARGEST;
	life_run(&life, &world, 50);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
}
END_TEST

/* A rule against large pings comes and goes; the path itself was never bad. */
START_TEST(what_is_over_is_not_kept)
{
	struct world world;
	struct life life;

	world_clean(&world, first_seed() * 137 + (unsigned)_i);
	world.kinds = ECHO | SYN | (_i & 1 ? RESPONDER : 0);
	world.hops = (unsigned)_i;
	life_init(&life, &world);
	life_run(&life, &world, 3);
	world.limit_echo = 1028;
	life_run(&life, &world, 30);
	world.limit_echo = SIZE_LARGEST;
	life_run(&life, &world, 70);
	ck_assert_int_eq(life.path.announced.verdict, VERDICT_CONSISTENT);
	ck_assert_uint_eq(life.path.echo_limit, 0);
	ck_assert_ptr_null(life.path.dossier);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("doubts");
	TCase *all = tcase_create("all");

	tcase_set_timeout(all, 280);
	tcase_add_loop_test(all, lossy_by_every_method, 0, sizeof(lossy_rows) / sizeof(lossy_rows[0]));
	tcase_add_loop_test(all, plain_loss_by_every_method, 0, 4);
	tcase_add_loop_test(all, nearly_all_large_lost, 0, 3);
	tcase_add_loop_test(all, dead_flows, 0, 4);
	tcase_add_loop_test(all, many_flows_by_udp, 0, 4);
	tcase_add_loop_test(all, flows_by_echo_prove_little, 0, 2);
	tcase_add_loop_test(all, many_bad_flows_are_soon_told, 0, 2);
	tcase_add_loop_test(all, flows_share_a_report, 0, 4);
	tcase_add_loop_test(all, a_silent_leg_beside_an_honest_one, 0, 2);
	tcase_add_loop_test(all, flows_share_few_answers, 0, 4);
	tcase_add_loop_test(all, one_flow_does_not_speak_for_all, 0, 4);
	tcase_add_loop_test(all, proof_outlives_an_echo, 0, 2);
	tcase_add_loop_test(all, walk_on_the_flow, 0, 4);
	tcase_add_loop_test(all, router_bears_out, 0, 4);
	tcase_add_test(all, same_rule_on_two_peers);
	tcase_add_loop_test(all, responder_missing, 0, 5);
	tcase_add_loop_test(all, reports_of_every_value, 0,
			    sizeof(report_rows) / sizeof(report_rows[0]));
	tcase_add_loop_test(all, sizes_out_of_order, 0, 60);
	tcase_add_loop_test(all, a_hole_is_cheap, 0, 3);
	tcase_add_loop_test(all, the_way_back_is_not_forgotten, 0, 2);
	tcase_add_loop_test(all, what_is_over_is_not_kept, 0, 4);
	tcase_add_loop_test(all, the_way_back_is_known_as_soon, 0, 12);
	suite_add_tcase(suite, all);
	return tap_run(suite);
}
