/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Peers of every kind through a stretch of time under a turned clock, with faults of every kind
 * whose truth is known, plain loss, standstills and restarts of the daemon: no false alarm, no missed
 * fault, each begin with its end, and nothing that grows.
 *
 * Ten days of a few peers; YEAR_DAYS= and YEAR_PEERS= make it longer (./run test --year), WORLD_SEED=
 * another one, and YEAR_WATCH=n prints each round of peer n.
 */
#include <stdio.h>

#include "../../daemon/core/queue.h"
#include "../../daemon/core/witness.h"
#include "year.h"

#define HOUR (3600 * USEC_PER_SEC)
#define DAY (24 * HOUR)
#define COMPLAINTS_MOST 50U

/* A peer with all around it. */
struct resident {
	struct house house;
	struct world world;
	struct life life;
	struct path turn;          /* its place in the queue: its next event */
	struct truth now, before;
	uint64_t began_usec;       /* since when `now` is true, as the daemon could see it */
	uint64_t change_usec;      /* the trouble begins or ends */
	uint64_t burst_usec;       /* a burst of loss begins or ends */
	bool burst;
	bool missed, right, wrong; /* said of the present truth */
	unsigned number;
};

struct year {
	struct resident *residents;
	unsigned count, days;
	uint64_t now, until;
	uint64_t dice;
	uint64_t awake_usec;       /* it stands still until then */
	uint64_t restart_usec, still_usec; /* when the daemon restarts, stands still next */
	uint64_t clock_step_usec;  /* of the wall clock, all together */
	struct queue queue;
	struct witnesses witnesses;
	struct pace pace;
	/* the ledger */
	uint64_t rounds, restarts, stills;
	uint64_t begun[TROUBLE_COUNT], lasting[TROUBLE_COUNT], found[TROUBLE_COUNT];
	uint64_t latest[TROUBLE_COUNT], second[TROUBLE_COUNT];
	uint64_t alarms, ends, findings_begun, findings_ended;
	unsigned wrong, missed, dossiers, dossiers_most;
	unsigned watched;          /* the peer whose every round is printed */
};

/* How long a change takes at most until it is announced. */
static uint64_t resident_notice(const struct resident *resident)
{
	const struct habit *habit = resident->house.habit;
	const struct peer_settings *settings = &resident->life.settings;
	uint64_t round = 4 * USEC_PER_SEC;

	/* flows take turns before one is blamed */
	if (habit->flows > 1)
		round += habit->flows * USEC_PER_SEC;
	/* one packet a second, on each flow */
	if (habit->method == METHOD_UDP || habit->kinds == UDP)
		round = 60 * USEC_PER_SEC * habit->flows;
	if (resident->house.loss)
		round *= 6;
	return settings->interval_usec + settings->fail_after * round;
}

static uint64_t resident_patience(const struct resident *resident)
{
	unsigned rounds = resident->now.slow ? 250 : resident->before.slow ? 20 : 1;

	return rounds * resident_notice(resident);
}

static unsigned wanted(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void complain(const struct year *year, const struct resident *resident, const char *what)
{
	const struct judgement *said = &resident->life.path.announced;
	const struct house *house = &resident->house;

	printf("# seed %lu, peer %u (%s, IPv%u, loss %u%%, link %u, %u hops, every %lu s, fail after %u): "
	       "%s: day %.4f, %.1f s into \"%s\" of %u: verdict %d, %u there, %u back, direction %d, severity %d\n",
	       first_seed(), resident->number, house->habit->name, resident->world.family, house->loss,
	       resident->world.link_mtu, resident->world.hops,
	       (unsigned long)(resident->life.settings.interval_usec / USEC_PER_SEC),
	       resident->life.settings.fail_after, what, (double)year->now / (double)DAY,
	       ((double)year->now - (double)resident->began_usec) / 1e6, trouble_names[house->trouble],
	       house->size, said->verdict, said->path_mtu, said->return_mtu, said->direction,
	       said->severity);
}

/* --- the ledger --- */

static void ledger_said(struct year *year, struct resident *resident, const struct todo *todo)
{
	bool was = verdict_is_fault(todo->before.verdict);
	bool is = verdict_is_fault(resident->life.path.announced.verdict);

	if (todo->announced) {
		year->alarms += is && !was;
		year->ends += was && !is;
	}
	if (!todo->findings_changed)
		return;
	for (unsigned i = 0; i < todo->findings_before.count; i++)
		year->findings_ended++;
	year->findings_begun += path_dossier(&resident->life.path)->findings.count;
}

/* It ended in the midst of a round: echoes had met it, and what was asked after them had not. */
static bool ledger_straddles(const struct resident *resident, uint64_t since)
{
	const struct judgement *said = &resident->life.path.announced;

	return since < 10 * USEC_PER_SEC && said->severity < SEVERITY_CRITICAL &&
	       (resident->before.verdicts >> said->verdict & 1) &&
	       said->direction == DIRECTION_RETURN && said->return_mtu == resident->before.path_mtu;
}

/* What is announced after a round is held against what is true. */
static void ledger_check(struct year *year, struct resident *resident, bool announced)
{
	const struct judgement *said = &resident->life.path.announced;
	uint64_t since = year->now > resident->began_usec ? year->now - resident->began_usec : 0;
	uint32_t full = resident->world.link_mtu;
	bool late = since > resident_patience(resident);
	bool right = truth_allows(&resident->now, said, full);
	bool young = said->verdict == VERDICT_UNKNOWN || truth_allows(&resident->before, said, full) ||
		     ledger_straddles(resident, since);

	if (right && !resident->right) {
		resident->right = true;
		year->found[resident->house.trouble]++;
		if (since > year->latest[resident->house.trouble])
			year->latest[resident->house.trouble] = since;
		return;
	}
	if (right)
		return;
	if (announced && resident->right && young)
		year->second[resident->house.trouble]++;
	if (!young && !resident->wrong && (announced || said->severity == SEVERITY_CRITICAL)) {
		resident->wrong = true;
		if (year->wrong++ < COMPLAINTS_MOST)
			complain(year, resident, "wrong");
	}
	if (late && !resident->missed) {
		resident->missed = true;
		if (year->missed++ < COMPLAINTS_MOST)
			complain(year, resident, "missed");
	}
}

/* --- a peer's turn --- */

static uint64_t resident_next(const struct year *year, const struct resident *resident)
{
	const struct world *world = &resident->world;
	int arrival = world_next_arrival(world);
	uint64_t at = resident->life.path.wake_usec;

	if (arrival >= 0 && world->arrival[arrival] < at)
		at = world->arrival[arrival];
	if (at < year->awake_usec)
		at = year->awake_usec;
	if (resident->change_usec < at)
		at = resident->change_usec;
	return resident->burst_usec < at ? resident->burst_usec : at;
}

static void resident_queue(struct year *year, struct resident *resident)
{
	resident->turn.wake_usec = resident_next(year, resident);
	queue_put(&year->queue, &resident->turn);
}

static void resident_judge(struct year *year, struct resident *resident,
			   const struct moment *moment, struct todo *todo)
{
	struct path *path = &resident->life.path;

	witness_compare(&year->witnesses, path);
	if (!path->dossier)
		year->dossiers++;
	if (year->dossiers > year->dossiers_most)
		year->dossiers_most = year->dossiers;
	path->dossier = &resident->life.dossier;
	path_judge(path, &year->pace, moment, todo);
	witness_update(&year->witnesses, path);
	path_lint(path, &resident->life.link, NULL, todo);
	year->rounds++;
	if (resident->number == year->watched)
		complain(year, resident, "round");
	ledger_said(year, resident, todo);
	ledger_check(year, resident, todo->announced);
	if (!path_dossier_is_empty(path))
		return;
	resident->life.dossier = (struct dossier){ 0 };
	path->dossier = NULL;
	year->dossiers--;
}

static void resident_step(struct year *year, struct resident *resident)
{
	struct world *world = &resident->world;
	struct life *life = &resident->life;
	struct moment moment = {
		.now_usec = year->now,
		.real_usec = year->now + year->clock_step_usec,
	};
	struct todo todo = { 0 };

	for (unsigned i = 0; i < 2; i++)
		moment.random[i] = world_dice(world);

	if (path_is_due(&life->path, year->now))
		path_begin(&life->path, (void *)life->memory, &moment);
	do {
		path_on_time(&life->path, &year->pace, year->now, &todo);
		world_send(world, &life->path, &todo.burst);
	} while (todo.burst.count > 0 && !todo.judge);
	if (todo.judge)
		resident_judge(year, resident, &moment, &todo);
}

static void resident_hear(struct year *year, struct resident *resident, unsigned arrival)
{
	struct world *world = &resident->world;
	struct answer answer = world->pending[arrival];
	struct flow *flow = &resident->life.flows[world->flow[arrival]];

	world->pending_count--;
	world->pending[arrival] = world->pending[world->pending_count];
	world->flow[arrival] = world->flow[world->pending_count];
	world->arrival[arrival] = world->arrival[world->pending_count];
	path_on_answer(&resident->life.path, flow, &answer, year->now);
}

/* --- what happens to it --- */

/* The kernel's view of route and link is another one. */
static void resident_look(struct year *year, struct resident *resident)
{
	struct life *life = &resident->life;
	struct surroundings around = { .route = &life->route, .link = &life->link };

	life->link.mtu = resident->world.link_mtu;
	life->route.gateway.family = resident->world.hops ? resident->world.family : ADDRESS_NONE;
	life->route.gateway.bytes[0] = (uint8_t)resident->world.hops;
	if (path_on_surroundings(&life->path, &around))
		path_restart(&life->path, year->now);
	life->path.link_passes = witness_passes(&year->witnesses, &life->path);
	witness_update(&year->witnesses, &life->path);
}

static void resident_truth(struct year *year, struct resident *resident)
{
	resident->before = resident->now;
	resident->now = truth_of(&resident->world, &resident->house);
	resident->began_usec = year->now > year->awake_usec ? year->now : year->awake_usec;
	resident->right = resident->missed = resident->wrong = false;
}

static void resident_begin_trouble(struct year *year, struct resident *resident)
{
	struct house *house = &resident->house;
	uint64_t lasts = 5 * USEC_PER_SEC + dice_roll(&year->dice) % (60 * USEC_PER_SEC);

	trouble_choose(house, resident->world.family, &year->dice);
	year->begun[house->trouble]++;
	world_harm(&resident->world, house);
	resident_truth(year, resident);
	/* most are there to stay for hours, some are gone before anybody could be sure */
	if (dice_roll(&year->dice) % 4 != 0) {
		lasts = resident_patience(resident) + dice_roll(&year->dice) % (6 * HOUR);
		year->lasting[house->trouble]++;
	}
	/* the last day is a quiet one */
	if (year->now + lasts + DAY > year->until)
		lasts = year->until - DAY - year->now;
	resident->change_usec = year->now + lasts;
}

static void resident_end_trouble(struct year *year, struct resident *resident)
{
	resident->house.trouble = TROUBLE_NONE;
	world_mend(&resident->world, &resident->house);
	year->begun[TROUBLE_NONE]++;
	year->lasting[TROUBLE_NONE]++;
	resident_truth(year, resident);
	resident->change_usec = year->now + resident_patience(resident) + dice_roll(&year->dice) % (2 * DAY);
	if (resident->change_usec + 2 * DAY > year->until)
		resident->change_usec = USEC_NEVER;
}

static void resident_change(struct year *year, struct resident *resident)
{
	if (resident->house.trouble == TROUBLE_NONE)
		resident_begin_trouble(year, resident);
	else
		resident_end_trouble(year, resident);
	resident_look(year, resident);
}

/* Everything gets lost for a moment, on lines that lose something at all. */
static void resident_burst(struct year *year, struct resident *resident)
{
	struct world *world = &resident->world;

	resident->burst = !resident->burst;
	if (resident->burst && world->loss_percent < 100) {
		world->loss_percent = 100;
		resident->burst_usec = year->now + dice_roll(&year->dice) % (1500 * USEC_PER_MSEC);
		return;
	}
	resident->burst = false;
	if (resident->house.trouble != TROUBLE_DEAD && resident->house.trouble != TROUBLE_REBOOT)
		world->loss_percent = resident->house.loss;
	resident->burst_usec = year->now + dice_roll(&year->dice) % (2 * HOUR);
}

static void resident_turn(struct year *year, struct resident *resident)
{
	struct world *world = &resident->world;
	int arrival = world_next_arrival(world);

	world->now = year->now;
	if (resident->change_usec <= year->now) {
		resident_change(year, resident);
	} else if (resident->burst_usec <= year->now) {
		resident_burst(year, resident);
	} else {
		if (arrival >= 0 && world->arrival[arrival] <= year->now)
			resident_hear(year, resident, (unsigned)arrival);
		resident_step(year, resident);
	}
	resident_queue(year, resident);
}

/* --- the daemon --- */

/* All that it knew is gone. */
static void resident_start(struct year *year, struct resident *resident)
{
	static const uint64_t intervals[] = { 30, 60, 120, 300, 600 };
	struct world *world = &resident->world;
	struct life *life = &resident->life;
	unsigned number = resident->number;

	witness_remove(&life->path);
	world->now = year->now;
	life_init(life, world);
	life->settings.method = resident->house.habit->method;
	life->settings.expect_mtu = resident->house.expect;
	life->settings.interval_usec = intervals[number % 5] * USEC_PER_SEC;
	life->path.flow_count = resident->house.habit->flows;
	life->path.address.bytes[2] = (uint8_t)(number >> 8);
	life->path.address.bytes[14] = (uint8_t)(number >> 8);
	life->path.address.bytes[world->family == ADDRESS_IPV6 ? 15 : 3] = (uint8_t)number;
	life->path.phase_usec = pace_phase(life->settings.interval_usec, number, year->count);
	life->path.due_usec = life->path.wake_usec = year->now + number * USEC_PER_MSEC;
	for (unsigned i = 0; i < FLOWS_MOST; i++)
		life->flows[i].path = &life->path;
	resident_look(year, resident);
	resident->house.new_life = true;
	resident_truth(year, resident);
	resident->before = resident->now;
}

static void year_restart(struct year *year)
{
	for (unsigned i = 0; i < year->count; i++) {
		struct resident *resident = &year->residents[i];

		/* what it announced is said again by the next life */
		year->ends += verdict_is_fault(resident->life.path.announced.verdict);
		year->findings_ended += path_dossier(&resident->life.path)->findings.count;
		resident_start(year, resident);
		resident_queue(year, resident);
	}
	year->dossiers = 0;
	year->restarts++;
	year->restart_usec = year->now + dice_roll(&year->dice) % (20 * DAY);
	if (year->restart_usec + 2 * DAY > year->until)
		year->restart_usec = USEC_NEVER;
}

/* It is stopped for a while, and what was answered meanwhile is lost; the wall clock is set. */
static void year_stand_still(struct year *year)
{
	/* mostly seconds, now and then hours; one roll after the other, whatever the compiler */
	uint64_t often = 1 + dice_roll(&year->dice) % 1000;

	year->awake_usec = year->now + dice_roll(&year->dice) % (2 * HOUR) / often;
	year->clock_step_usec += dice_roll(&year->dice) % (2 * DAY) - DAY;
	for (unsigned i = 0; i < year->count; i++) {
		struct resident *resident = &year->residents[i];

		resident->world.pending_count = 0;
		if (resident->began_usec + resident_patience(resident) > year->now)
			resident->began_usec = year->awake_usec;
		resident_queue(year, resident);
	}
	year->stills++;
	year->still_usec = year->awake_usec + dice_roll(&year->dice) % (4 * DAY);
}

static void resident_init(struct year *year, unsigned number)
{
	static const uint32_t mtus[] = { 9000, 1500, 9000, 9216, 9000 };
	static const unsigned losses[] = { 0, 0, 1, 0, 3 };
	struct resident *resident = &year->residents[number];
	struct house *house = &resident->house;
	uint64_t dice = year->dice + number * 977;

	resident->number = number;
	house->habit = &habits[number % HABITS];
	house->link_mtu = mtus[dice_roll(&dice) % 5];
	house->expect = dice_roll(&dice) % 4 == 0 ? house->link_mtu : 0;
	house->loss = losses[dice_roll(&dice) % 5];
	house->hops = (unsigned)(dice_roll(&dice) % 6);
	world_init(&resident->world, dice_roll(&dice));
	resident->world.family = dice_roll(&dice) % 3 == 0 ? ADDRESS_IPV6 : ADDRESS_IPV4;
	resident->world.delay_usec = 200 << dice_roll(&dice) % 11;
	resident->world.fail_after = 2 + dice_roll(&dice) % 2;
	resident->world.unreachables_limited = true;
	world_mend(&resident->world, house);
	resident->turn.owner = resident;
	resident->turn.queue_place = QUEUE_NOWHERE;
	resident->change_usec = year->now + HOUR + dice_roll(&dice) % DAY;
	resident->burst_usec = house->loss ? year->now + dice_roll(&dice) % HOUR : USEC_NEVER;
	resident_start(year, resident);
	resident_queue(year, resident);
}

static void year_init(struct year *year, unsigned count, unsigned days)
{
	memset(year, 0, sizeof(*year));
	year->count = count;
	year->days = days;
	year->watched = wanted("YEAR_WATCH", ~0U);
	year->now = 1000 * USEC_PER_SEC;
	year->until = year->now + days * DAY;
	year->dice = first_seed();
	year->restart_usec = year->now + DAY + dice_roll(&year->dice) % DAY;
	year->still_usec = year->now + DAY / 2;
	year->residents = calloc(count, sizeof(*year->residents));
	year->queue.list = calloc(count, sizeof(*year->queue.list));
	ck_assert(year->residents && year->queue.list);
	pace_init(&year->pace, 1000000000);
	for (unsigned i = 0; i < count; i++)
		resident_init(year, i);
}

static void year_run(struct year *year)
{
	while (year->now < year->until) {
		struct path *next = queue_first(&year->queue);

		if (year->restart_usec < next->wake_usec) {
			year->now = year->restart_usec;
			year_restart(year);
		} else if (year->still_usec < next->wake_usec) {
			year->now = year->still_usec;
			year_stand_still(year);
		} else {
			/* several may be due at once, some since a standstill */
			if (next->wake_usec > year->now)
				year->now = next->wake_usec;
			resident_turn(year, next->owner);
		}
	}
}

static void year_print(const struct year *year)
{
	printf("# %u peers, %u days, %lu rounds, %lu restarts, %lu standstills; %u wrong, %u missed; "
	       "%lu alarms, %lu ends; %lu findings, %lu ends; %u dossiers at most, %u left\n",
	       year->count, year->days, year->rounds, year->restarts, year->stills, year->wrong,
	       year->missed, year->alarms, year->ends, year->findings_begun, year->findings_ended,
	       year->dossiers_most, year->dossiers);
	for (unsigned i = 0; i < TROUBLE_COUNT; i++)
		printf("# %-22s %6lu times, %6lu long enough, said %6lu, the latest after %8.1f s, "
		       "second thoughts %lu\n",
		       trouble_names[i], year->begun[i], year->lasting[i], year->found[i],
		       (double)year->latest[i] / 1e6, year->second[i]);
}

START_TEST(through_the_year)
{
	struct year year;

	year_init(&year, wanted("YEAR_PEERS", 28), wanted("YEAR_DAYS", 10));
	year_run(&year);
	year_print(&year);
	fflush(stdout);
	ck_assert_uint_eq(year.wrong, 0);
	ck_assert_uint_eq(year.missed, 0);
	for (unsigned i = 0; i < year.count; i++)
		ck_assert_int_eq(year.residents[i].life.path.announced.verdict, VERDICT_CONSISTENT);
	ck_assert_uint_eq(year.alarms, year.ends);
	ck_assert_uint_eq(year.findings_begun, year.findings_ended);
	ck_assert_uint_eq(year.dossiers, 0);
	free(year.queue.list);
	free(year.residents);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("year");
	TCase *all = tcase_create("all");

	tcase_set_timeout(all, getenv("YEAR_DAYS") ? 0 : 110);
	tcase_add_test(all, through_the_year);
	suite_add_tcase(suite, all);
	return tap_run(suite);
}
