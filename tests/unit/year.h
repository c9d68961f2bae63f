/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What can be wrong between this host and a peer in the course of a year, how it is brought about
 * in a world, and what has to be said of it: the truth that a verdict is held against.
 */
#pragma once

#include "world.h"

#define ECHO (1U << PROBE_ECHO)
#define SYN (1U << PROBE_SYN)
#define UDP (1U << PROBE_UDP)
#define RESPONDER (1U << PROBE_RESPONDER)

/* How a peer is asked, and what it answers. */
struct habit {
	const char *name;
	enum method method;
	unsigned kinds, flows;
};

static const struct habit habits[] = {
	{ "echo alone", METHOD_AUTO, ECHO, 1 },
	{ "echo, a port", METHOD_AUTO, ECHO | SYN, 1 },
	{ "echo, a responder", METHOD_AUTO, ECHO | RESPONDER, 1 },
	{ "a port alone", METHOD_AUTO, SYN, 1 },
	{ "everything", METHOD_AUTO, ECHO | SYN | UDP | RESPONDER, 1 },
	{ "datagrams alone", METHOD_AUTO, UDP, 1 },
	{ "icmp", METHOD_ICMP, ECHO | SYN, 1 },
	{ "tcp", METHOD_TCP, ECHO | SYN, 1 },
	{ "udp", METHOD_UDP, ECHO | UDP, 1 },
	{ "responder", METHOD_RESPONDER, ECHO | RESPONDER, 1 },
	{ "bundle, echo and a port", METHOD_AUTO, ECHO | SYN, 4 },
	{ "bundle, tcp", METHOD_TCP, SYN, 8 },
	{ "bundle, udp", METHOD_UDP, UDP, 4 },
	{ "bundle, responder", METHOD_RESPONDER, ECHO | RESPONDER, 4 },
};
#define HABITS (sizeof(habits) / sizeof(habits[0]))

enum trouble {
	TROUBLE_NONE,
	TROUBLE_HOLE,
	TROUBLE_HONEST,
	TROUBLE_LIMITED,
	TROUBLE_CHAIN,
	TROUBLE_ZERO,
	TROUBLE_TOO_MUCH,
	TROUBLE_TOO_LITTLE,
	TROUBLE_OUT_OF_ORDER, /* some sizes below the limit get lost too */
	TROUBLE_BACK,
	TROUBLE_BOTH,
	TROUBLE_FLOW,
	TROUBLE_FLOW_DEAD,
	TROUBLE_LARGE_LOST,   /* often, not always */
	TROUBLE_DEAD,
	TROUBLE_REBOOT,       /* dead for a while, and it has forgotten its cookies */
	TROUBLE_NO_ECHO,
	TROUBLE_ECHO_LIMIT,
	TROUBLE_FEW_ANSWERS,
	TROUBLE_ROUTE,
	TROUBLE_LINK,
	TROUBLE_COUNT,
};

static const char *const trouble_names[TROUBLE_COUNT] = {
	"none", "hole", "honest router", "router of few words", "two routers", "report of 0",
	"report too high", "report too low", "sizes out of order", "hole on the way back",
	"holes both ways", "hole on one flow", "dead flow", "large ones often lost", "dead", "reboot",
	"no echo", "large echoes dropped", "few answers", "route change", "link MTU change",
};

/* What may be said; the first number is what the verdict is to name. */
struct truth {
	unsigned verdicts;      /* bits of enum verdict */
	uint32_t path_mtu, or;  /* `or`: another number that is right too, 0 none */
	uint32_t return_mtu;    /* 0: no matter */
	unsigned directions;    /* bits of enum direction, where it is a fault */
	bool critical, not_critical; /* it has to be, it must not be */
	bool may_be_good;       /* cannot be told from a peer that drops large echoes */
	bool slow;              /* it takes many rounds to see it */
};

#define FAULT(_verdict) (1U << VERDICT_##_verdict)
#define WAY(_direction) (1U << DIRECTION_##_direction)

static bool habit_is_asked(const struct habit *habit, enum probe_kind kind)
{
	static const enum probe_kind own[] = { PROBE_ECHO, PROBE_ECHO, PROBE_SYN, PROBE_UDP,
					       PROBE_RESPONDER };

	if (!(habit->kinds >> kind & 1))
		return false;
	return habit->method == METHOD_AUTO || own[habit->method] == kind;
}

/* Something is answered by less than it was: that proves the way there. */
static bool habit_proves_forward(const struct habit *habit)
{
	return habit_is_asked(habit, PROBE_SYN) || habit_is_asked(habit, PROBE_UDP) ||
	       habit_is_asked(habit, PROBE_RESPONDER);
}

/* Flows differ only by ports, and echo has none. */
static bool habit_shows_flows(const struct habit *habit)
{
	return habit->flows > 1;
}

static bool trouble_fits(const struct habit *habit, enum trouble trouble)
{
	if (trouble == TROUBLE_FLOW || trouble == TROUBLE_FLOW_DEAD)
		return habit_shows_flows(habit);
	return true;
}

/* A peer's surroundings as they are when nothing is wrong, and what is wrong now. */
struct house {
	const struct habit *habit;
	uint32_t link_mtu;   /* of the link; the way carries as much */
	uint32_t expect;     /* ExpectMTU=, 0 none */
	unsigned loss;       /* percent */
	unsigned hops;
	enum trouble trouble;
	uint32_t size;       /* of the trouble */
	unsigned rate;
	bool new_life;       /* the daemon was restarted since it began */
};

static uint32_t dice_between(uint64_t *dice, uint32_t least, uint32_t most)
{
	return least + (uint32_t)(dice_roll(dice) % (most - least + 1));
}

/* Where holes are, and now and then anywhere at all. */
static uint32_t trouble_size(const struct house *house, uint8_t family, uint64_t *dice)
{
	static const uint32_t usual[] = { 1280, 1400, 1420, 1442, 1450, 1476, 1480, 1492, 1496, 1499,
					  1500, 1501, 4470, 8896, 8950, 8951, 8970, 8996, 8999 };
	uint32_t least = family == ADDRESS_IPV6 ? IPV6_SMALLEST_MTU : 100;
	uint32_t size = usual[dice_roll(dice) % (sizeof(usual) / sizeof(usual[0]))];

	if (size >= house->link_mtu || dice_roll(dice) % 3 == 0)
		size = dice_between(dice, least, house->link_mtu - 1);
	/* odd ones as small as that are kept for rules against pings: nobody bears those out */
	return size < IPV6_SMALLEST_MTU ? size & ~1U : size;
}

static void trouble_choose(struct house *house, uint8_t family, uint64_t *dice)
{
	do
		house->trouble = 1 + (enum trouble)(dice_roll(dice) % (TROUBLE_COUNT - 1));
	while (!trouble_fits(house->habit, house->trouble));
	house->size = trouble_size(house, family, dice);
	house->rate = dice_between(dice, 30, 60);
	house->new_life = false;
	if (house->trouble == TROUBLE_ECHO_LIMIT)
		house->size = dice_between(dice, 300, 639) * 2 + 1;
	else if (house->trouble == TROUBLE_OUT_OF_ORDER)
		house->size = house->link_mtu - dice_between(dice, 1, 100);
	else if (house->trouble == TROUBLE_FEW_ANSWERS)
		house->rate = dice_between(dice, 3, 20);
}

/* --- in the world --- */

/* Nothing is wrong. */
static void world_mend(struct world *world, const struct house *house)
{
	world->limit = world->limit_back = world->limit_echo = SIZE_LARGEST;
	memset(world->limit_flow, 0, sizeof(world->limit_flow));
	world->flows_dead = 0;
	world->lost_from = world->lost_to = 0;
	world->loss_percent = house->loss;
	world->loss_full_percent = world->loss_back_percent = 0;
	world->kinds = house->habit->kinds;
	world->answers_per_sec = 0;
	world->router = ROUTER_NONE;
	world->hops = house->hops;
	world->link_mtu = house->link_mtu;
}

static void world_limit_at(struct world *world, const struct house *house, enum router router)
{
	world->limit = house->size;
	world->router = router;
	world->narrow = house->hops ? house->rate % (house->hops + 1) : 0;
	/* who reports is a router */
	if (router != ROUTER_NONE && house->hops)
		world->narrow = 1 + house->rate % house->hops;
}

static void world_harm(struct world *world, const struct house *house)
{
	static const enum router routers[] = {
		[TROUBLE_HOLE] = ROUTER_NONE,         [TROUBLE_HONEST] = ROUTER_HONEST,
		[TROUBLE_LIMITED] = ROUTER_LIMITED,   [TROUBLE_CHAIN] = ROUTER_CHAIN,
		[TROUBLE_ZERO] = ROUTER_ZERO,         [TROUBLE_TOO_MUCH] = ROUTER_TOO_MUCH,
		[TROUBLE_TOO_LITTLE] = ROUTER_TOO_LITTLE, [TROUBLE_OUT_OF_ORDER] = ROUTER_NONE,
	};
	unsigned one = house->size % house->habit->flows;

	world_mend(world, house);
	switch (house->trouble) {
	case TROUBLE_OUT_OF_ORDER:
		world->lost_from = house->size / 2;
		world->lost_to = house->size / 2 + house->size / 8;
		world_limit_at(world, house, ROUTER_NONE);
		break;
	case TROUBLE_HOLE:
	case TROUBLE_HONEST:
	case TROUBLE_LIMITED:
	case TROUBLE_CHAIN:
	case TROUBLE_ZERO:
	case TROUBLE_TOO_MUCH:
	case TROUBLE_TOO_LITTLE:
		world_limit_at(world, house, routers[house->trouble]);
		break;
	case TROUBLE_BOTH:
		world_limit_at(world, house, ROUTER_NONE);
		world->limit_back = house->size;
		break;
	case TROUBLE_BACK:
		world->limit_back = house->size;
		break;
	case TROUBLE_FLOW:
		world->limit_flow[one] = house->size;
		break;
	case TROUBLE_FLOW_DEAD:
		world->flows_dead = 1U << one;
		break;
	case TROUBLE_LARGE_LOST:
		world->loss_full_percent = house->rate;
		break;
	case TROUBLE_REBOOT:
		world->cookie++;
		world->loss_percent = 100;
		break;
	case TROUBLE_DEAD:
		world->loss_percent = 100;
		break;
	case TROUBLE_NO_ECHO:
		world->kinds &= ~ECHO;
		break;
	case TROUBLE_ECHO_LIMIT:
		world->limit_echo = house->size;
		break;
	case TROUBLE_FEW_ANSWERS:
		world->answers_per_sec = house->rate;
		break;
	case TROUBLE_ROUTE:
		world->hops = house->hops + house->rate % 3;
		break;
	case TROUBLE_LINK:
		world->link_mtu = house->size < IPV6_SMALLEST_MTU ? IPV6_SMALLEST_MTU : house->size;
		break;
	case TROUBLE_NONE:
	case TROUBLE_COUNT:
		break;
	}
}

/* --- what is true of it --- */

static struct truth truth_good(uint32_t mtu)
{
	return (struct truth){ .verdicts = FAULT(CONSISTENT), .path_mtu = mtu, .not_critical = true };
}

/* Whatever goes there and is larger gets lost, without a word that helps. */
static struct truth truth_hole(const struct house *house)
{
	bool proven = habit_proves_forward(house->habit);

	return (struct truth){
		.verdicts = FAULT(BLACK_HOLE),
		.path_mtu = house->size,
		.directions = proven ? WAY(FORWARD) : WAY(UNKNOWN) | WAY(FORWARD),
		/* below what every host takes a filter is more likely: see the verdicts */
		.critical = proven && house->size >= 576,
	};
}

static struct truth truth_told(const struct house *house)
{
	return (struct truth){ .verdicts = FAULT(REDUCED), .path_mtu = house->size,
			       .directions = WAY(FORWARD), .not_critical = true };
}

/* A report below what passes is taken for the router's word, unless no host would. */
static struct truth truth_too_little(const struct world *world, const struct house *house)
{
	if (world->family == ADDRESS_IPV4 && world->limit > CONTROL_IPV4 &&
	    world_reported_mtu(world, world->link_mtu) < 552)
		return truth_hole(house);
	return truth_told(house);
}

static struct truth truth_back(const struct house *house)
{
	const struct habit *habit = house->habit;
	struct truth hole = { .verdicts = FAULT(BLACK_HOLE), .path_mtu = house->link_mtu,
			      .return_mtu = house->size, .directions = WAY(RETURN) };

	if (habit_is_asked(habit, PROBE_RESPONDER)) {
		hole.critical = true;
		return hole;
	}
	if (!habit_is_asked(habit, PROBE_ECHO))
		return truth_good(house->link_mtu);
	hole.not_critical = true;
	/* nothing measures the way back alone: what is known is that echoes once came back */
	if (habit_proves_forward(habit)) {
		hole.may_be_good = house->new_life || habit->flows > 1;
		return hole;
	}
	hole.path_mtu = house->size;
	hole.return_mtu = 0;
	hole.directions = WAY(UNKNOWN);
	hole.not_critical = false; /* others may bear it out */
	return hole;
}

static struct truth truth_both(const struct house *house)
{
	struct truth hole = truth_hole(house);

	if (habit_is_asked(house->habit, PROBE_RESPONDER))
		hole.directions |= WAY(BOTH);
	return hole;
}

static struct truth truth_echo_limit(const struct house *house)
{
	const struct habit *habit = house->habit;
	struct truth hole = { .verdicts = FAULT(BLACK_HOLE), .path_mtu = house->size,
			      .directions = WAY(UNKNOWN), .not_critical = true };

	if (house->size >= house->link_mtu || !habit_is_asked(habit, PROBE_ECHO) ||
	    habit_is_asked(habit, PROBE_RESPONDER))
		return truth_good(house->link_mtu);
	if (!habit_proves_forward(habit))
		return hole;
	/* large echoes came back before: it may as well be the way back */
	hole.path_mtu = house->link_mtu;
	hole.directions = WAY(RETURN);
	hole.may_be_good = true;
	return hole;
}

static struct truth truth_unreachable(void)
{
	return (struct truth){ .verdicts = FAULT(UNREACHABLE), .not_critical = true };
}

static struct truth truth_partial(const struct house *house, bool dead)
{
	return (struct truth){
		.verdicts = FAULT(PARTIAL),
		.path_mtu = dead ? house->link_mtu : house->size,
		.directions = dead ? WAY(UNKNOWN) : WAY(FORWARD) | WAY(UNKNOWN),
		.critical = !dead,
		.not_critical = dead,
		.may_be_good = habit_is_asked(house->habit, PROBE_ECHO) &&
			       !habit_proves_forward(house->habit),
	};
}

static struct truth truth_lossy(const struct house *house)
{
	struct truth lossy = truth_good(house->link_mtu);

	lossy.verdicts |= FAULT(LOSSY);
	lossy.directions = WAY(UNKNOWN) | WAY(FORWARD) | WAY(BOTH);
	lossy.slow = true;
	return lossy;
}

static struct truth truth_of_link(const struct world *world, const struct house *house)
{
	struct truth smaller = truth_good(world->link_mtu);

	if (house->expect == 0)
		return smaller;
	smaller.verdicts = FAULT(MISCONFIGURED);
	smaller.directions = WAY(FORWARD);
	return smaller;
}

static struct truth truth_of(const struct world *world, const struct house *house)
{
	struct truth truth = truth_good(house->link_mtu);

	switch (house->trouble) {
	case TROUBLE_HOLE:
	case TROUBLE_ZERO:
	case TROUBLE_TOO_MUCH:
		return truth_hole(house);
	case TROUBLE_HONEST:
	case TROUBLE_LIMITED:
	case TROUBLE_CHAIN:
		return truth_told(house);
	case TROUBLE_TOO_LITTLE:
		return truth_too_little(world, house);
	case TROUBLE_OUT_OF_ORDER:
		truth = truth_hole(house);
		truth.or = world->lost_from - 1;
		return truth;
	case TROUBLE_BACK:
		return truth_back(house);
	case TROUBLE_BOTH:
		return truth_both(house);
	case TROUBLE_FLOW:
		return truth_partial(house, false);
	case TROUBLE_FLOW_DEAD:
		return truth_partial(house, true);
	case TROUBLE_LARGE_LOST:
		return truth_lossy(house);
	case TROUBLE_DEAD:
	case TROUBLE_REBOOT:
		return truth_unreachable();
	case TROUBLE_NO_ECHO:
		return house->habit->method == METHOD_ICMP || house->habit->kinds == ECHO ?
			       truth_unreachable() : truth;
	case TROUBLE_ECHO_LIMIT:
		return truth_echo_limit(house);
	case TROUBLE_LINK:
		return truth_of_link(world, house);
	case TROUBLE_FEW_ANSWERS:
		/* too irregular to say: no claim is no false one */
		truth.verdicts |= FAULT(UNVERIFIABLE);
		return truth;
	case TROUBLE_NONE:
	case TROUBLE_ROUTE:
	case TROUBLE_COUNT:
		break;
	}
	return truth;
}

static bool truth_number_is_right(const struct truth *truth, const struct judgement *said)
{
	if (said->verdict == VERDICT_UNREACHABLE || said->verdict == VERDICT_UNVERIFIABLE)
		return true;
	return (said->path_mtu == truth->path_mtu || (truth->or && said->path_mtu == truth->or)) &&
	       (truth->return_mtu == 0 || said->return_mtu == truth->return_mtu);
}

/* What is announced holds. */
static bool truth_allows(const struct truth *truth, const struct judgement *said, uint32_t full)
{
	bool critical = said->severity == SEVERITY_CRITICAL;

	if (truth->may_be_good && said->verdict == VERDICT_CONSISTENT && said->path_mtu == full)
		return true;
	if (!(truth->verdicts >> said->verdict & 1) || !truth_number_is_right(truth, said))
		return false;
	if (verdict_is_fault(said->verdict) && truth->directions &&
	    !(truth->directions >> said->direction & 1))
		return false;
	return !(truth->not_critical && critical) && !(truth->critical && !critical);
}
