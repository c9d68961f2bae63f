/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a round asks next. The pattern is RFC 4821's and RFC 8899's: an acknowledged probe is the
 * only proof, a report (RFC 1191, RFC 8201) only suggests what to ask next. Sends nothing.
 */
#include "round_plan.h"

#define SEARCH_SIZES 4U            /* in one burst, beside the control and the full size */
#define SEARCH_BYTES (64U * 1024U) /* a shallow switch buffer holds it */
#define QUIET_USEC USEC_PER_SEC    /* RFC 1812 section 4.3.2.8: routers limit their reports */
#define QUIET_REPORTED 5U          /* quiet tries for a router that was heard, but not of this size */
#define SETTLE_LEAST_USEC (500 * USEC_PER_MSEC)
#define BURSTS_MOST 250U           /* their numbers have 8 bits */
#define MORE_UNREPORTED 2U         /* failures, of a size that a router should have reported, too */
#define DEAD_BURSTS 6U             /* that many in a row: the path died under the round */

uint64_t round_wait(const struct round *round)
{
	const struct round_settings *settings = &round->settings;
	uint64_t rtt = round->rtt_usec > settings->rtt_usec ? round->rtt_usec : settings->rtt_usec;
	uint64_t wait = 2 * rtt + 20 * USEC_PER_MSEC;

	/* an answer later than this still counts, it only no longer holds up the next burst */
	if (rtt == 0)
		return settings->timeout_usec / 2;
	return wait < settings->timeout_usec ? wait : settings->timeout_usec;
}

/* The longer wait before anything bad is concluded from a silence. */
static uint64_t round_settle(const struct round *round)
{
	uint64_t settle = 8 * round->rtt_usec;

	if (settle < SETTLE_LEAST_USEC)
		settle = SETTLE_LEAST_USEC;
	return settle < round->settings.timeout_usec ? settle : round->settings.timeout_usec;
}

bool round_is_serial(const struct round *round)
{
	return round->settings.kind == PROBE_SYN || round->settings.kind == PROBE_UDP ||
	       round->settings.gentle;
}

static struct loss round_loss(const struct round *round)
{
	struct loss loss = round->settings.loss;

	loss_add(&loss, search_loss(&round->tries));
	return loss;
}

static unsigned round_needed(const struct round *round)
{
	return search_needed(round_loss(round), round->settings.tries);
}

bool round_tried(const struct round *round, uint32_t size)
{
	for (unsigned i = 0; i < round->tries.count; i++)
		if (round->tries.list[i].size == size)
			return true;
	return false;
}

unsigned round_count(const struct round *round, uint32_t size, enum try_state state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < round->tries.count; i++)
		if (round->tries.list[i].size == size && round->tries.list[i].state == state)
			count++;
	return count;
}

static unsigned round_tries_of(const struct round *round, uint32_t size)
{
	unsigned count = 0;

	for (unsigned i = 0; i < round->tries.count; i++)
		count += round->tries.list[i].size == size;
	return count;
}

/* Trailing bursts of which nothing was heard. */
static unsigned round_dead_bursts(const struct round *round)
{
	for (unsigned i = round->tries.count; i > 0; i--) {
		const struct try *try = &round->tries.list[i - 1];

		if (try->state != TRY_SILENT && try->state != TRY_VOID && try->state != TRY_REFUSED)
			return round->bursts - 1U - try->burst;
	}
	return round->bursts;
}

/* --- the end --- */

static uint64_t round_close(struct round *round)
{
	round->plan_count = 0;
	round->done = true;
	return USEC_NEVER;
}

/* Half of the path is not known to be good. Somebody who answers now and then keeps the search for a hole
 * going without end: without bursts it finds one. */
static void round_doubt_return(struct evidence *evidence)
{
	evidence->outcome = OUTCOME_UNDECIDED;
	evidence->dried_up = true;
}

/* The way there is known; where the peer answers each way by itself, so the way back next. */
static uint64_t round_finish(struct round *round, enum round_outcome outcome)
{
	struct evidence *evidence = &round->evidence;

	if (round->tries.view == VIEW_RETURN) {
		if (outcome != OUTCOME_UNDECIDED)
			evidence->return_passes = search_floor(&round->tries);
		else if (evidence->outcome == OUTCOME_FULL)
			round_doubt_return(evidence);
		return round_close(round);
	}
	evidence->outcome = outcome;
	evidence->passes = search_floor(&round->tries);
	evidence->fails_below = outcome == OUTCOME_LESS ?
					search_exception(&round->tries, round->settings.control) : 0;
	evidence->refused = outcome == OUTCOME_LESS &&
			    round_count(round, evidence->full, TRY_REFUSED) > 0;
	if (outcome == OUTCOME_LESS || outcome == OUTCOME_FULL)
		round_judge_reports(round);
	if (round->settings.kind != PROBE_RESPONDER || evidence->passes == 0)
		return round_close(round);
	round->tries.view = VIEW_RETURN;
	round->goal = evidence->passes;
	round->plan_count = 0;
	return round->now_usec;
}

/* --- planning --- */

static void plan_add(struct round *round, uint32_t size)
{
	if (round->plan_count < BURST_LARGEST)
		round->plan[round->plan_count++] = size;
}

/* The small packet whose answer shows that the burst was not lost as a whole. */
static void plan_control(struct round *round)
{
	plan_add(round, round->settings.control);
}

/* Nothing answered in this round, so only earlier ones can tell how much the path loses. */
static unsigned first_sign_tries(const struct round *round)
{
	unsigned tries = round->settings.first_sign;

	return round->settings.loss.lost ? search_needed(round->settings.loss, tries) : tries;
}

static uint64_t round_last_sent(const struct round *round)
{
	return round->began_usec + round->tries.list[round->tries.count - 1].sent_usec;
}

/* Data in a SYN is dropped by some firewalls that let a plain one pass. */
static bool plan_plain_syn(struct round *round)
{
	if (round->settings.kind != PROBE_SYN || round_tried(round, round->settings.plain) ||
	    !round->settings.plain_too)
		return false;
	plan_add(round, round->settings.plain);
	return true;
}

/* A SYN without data is answered. The one with data may only have been lost, as any packet. */
static uint64_t plan_connected(struct round *round)
{
	uint32_t control = round->settings.control;

	if (search_failures(&round->tries, control) < round_needed(round)) {
		plan_add(round, round->settings.plain);
		plan_add(round, control);
		return 0;
	}
	round->evidence.connects = true;
	return round_finish(round, OUTCOME_NOTHING);
}

/* Nothing was answered yet. */
static uint64_t plan_first_sign(struct round *round, uint64_t now_usec)
{
	unsigned silent = round_count(round, round->settings.control, TRY_SILENT);
	uint64_t end;

	if (round->hopeless || round_count(round, round->settings.control, TRY_REFUSED) > 0)
		return round_finish(round, OUTCOME_NOTHING);
	if (silent >= first_sign_tries(round)) {
		if (plan_plain_syn(round))
			return 0;
		end = round_last_sent(round) + round->settings.timeout_usec;
		return now_usec < end ? end : round_finish(round, OUTCOME_NOTHING);
	}
	plan_control(round);
	/* later the control alone will do, unless what was sent went for a cookie */
	if (round_tries_of(round, round->goal) == round_count(round, round->goal, TRY_ASKED_AGAIN) &&
	    round->goal > round->settings.control && !round->settings.cautious)
		plan_add(round, round->goal);
	return 0;
}

/* Ask what was suggested and the size above it. */
static bool plan_suggested(struct round *round, uint32_t floor, uint32_t suspect)
{
	uint32_t size = round->suggested;
	bool worth_it = size >= floor && size < suspect &&
			(!round_tried(round, size) || !round_tried(round, size + 1));

	round->suggested = 0;
	if (!worth_it)
		return false;
	/* no control: an honest router needs four packets altogether */
	plan_add(round, size);
	if (size + 1 < round->goal)
		plan_add(round, size + 1);
	return true;
}

static void plan_narrow(struct round *round, uint32_t floor, uint32_t suspect, bool goal_too)
{
	uint32_t sizes[SEARCH_SIZES];
	struct search_limit limit = { SEARCH_SIZES, SEARCH_BYTES };
	unsigned count;

	if (limit.bytes < 2 * round->goal)
		limit.bytes = 2 * round->goal;
	if (goal_too)
		limit.bytes -= round->goal;
	/* one by one a burst is no faster than halving */
	if (round_is_serial(round))
		limit.sizes = 1;
	count = search_next(floor, suspect, limit, sizes);
	plan_control(round);
	for (unsigned i = 0; i < count; i++)
		plan_add(round, sizes[i]);
	if (goal_too)
		plan_add(round, round->goal);
}

/* How many tries of the full size have to fall into a silent second before `nobody says so`. */
static unsigned quiet_needed(const struct round *round, unsigned needed)
{
	unsigned least = round->settings.followed_up ? 1 : 2;

	if (round->report_count > 0)
		least = QUIET_REPORTED;
	return round_loss(round).lost > 0 && needed > least ? needed : least;
}

/* Reports alone decide, without waiting, on a path that loses nothing: full, passes, passes + 1. */
static bool boundary_reported(const struct round *round, uint32_t passes)
{
	return round->tries.view == VIEW_FORWARD && round_loss(round).lost == 0 &&
	       round_report_of(round, round->goal) && round_report_of(round, passes + 1);
}

/* A size that a report named and that does not pass, though no router was heard of it; 0 none. */
static uint32_t chain_gap(const struct round *round, uint32_t passes)
{
	uint32_t size = round->settings.full;

	for (unsigned i = 0; i < REPORTS_LARGEST; i++) {
		const struct round_report *report = round_report_of(round, size);

		if (!report)
			return size < round->settings.full ? size : 0;
		if (report->mtu <= passes || report->mtu >= size)
			return 0;
		size = report->mtu;
	}
	return 0;
}

/* Does silence about the full size still want a quiet second to be believed? */
static bool boundary_wants_quiet(const struct round *round, unsigned needed)
{
	/* the far side's routers report to the far side; one that repeats need not do so as carefully */
	if (round->tries.view == VIEW_RETURN || round->settings.repeats ||
	    round_report_of(round, round->goal) || round_count(round, round->goal, TRY_REFUSED) > 0)
		return false;
	return round->quiet < quiet_needed(round, needed);
}

/* How many failures of the size above the floor prove it. Where the round before did by silence, and
 * nothing was lost in either, half of them. */
static unsigned boundary_needed(const struct round *round, uint32_t floor)
{
	unsigned needed = round_needed(round), half = (round->settings.tries + 1) / 2;

	if (round->tries.view == VIEW_RETURN)
		return needed;
	/* the router that told of the full size says nothing of this one: was it only lost? */
	if (round_report_of(round, round->goal) && !round_report_of(round, floor + 1))
		return needed + MORE_UNREPORTED;
	if (floor != round->settings.proven || round_loss(round).lost > 0)
		return needed;
	return needed < half ? needed : half;
}

/* Of each burst the small one alone was answered: it goes first, and a peer that limits its answers has
 * none left for the others. */
static bool boundary_may_be_starved(const struct round *round, uint32_t floor)
{
	return !round->settings.gentle && floor <= round->settings.control && round->report_count == 0 &&
	       round->tries.view == VIEW_FORWARD;
}

static uint64_t plan_quiet(struct round *round, uint64_t now_usec)
{
	uint64_t again = round->oversize_usec + QUIET_USEC;

	if (now_usec < again)
		return again;
	plan_control(round);
	plan_add(round, round->goal);
	return 0;
}

/* Nothing lies between floor and suspect: prove it. */
static uint64_t plan_boundary(struct round *round, uint32_t floor, uint64_t now_usec)
{
	unsigned needed = round_needed(round), edge = boundary_needed(round, floor);
	unsigned above = search_failures(&round->tries, floor + 1);
	unsigned whole = search_failures(&round->tries, round->goal);
	uint64_t settled = round->oversize_usec + round_settle(round);
	uint32_t gap = round->tries.view == VIEW_FORWARD ? chain_gap(round, floor) : 0;

	round->boundary = round->tries.view == VIEW_FORWARD ? floor : 0;
	if (!gap && boundary_reported(round, floor))
		return round_finish(round, OUTCOME_LESS);
	if (above < edge || whole < needed) {
		plan_add(round, floor);
		if (above < edge && floor + 1 < round->goal)
			plan_add(round, floor + 1);
		if (whole < needed)
			plan_add(round, round->goal);
		return 0;
	}
	/* the next router's report may have been lost as any packet */
	if (gap && search_failures(&round->tries, gap) < needed) {
		plan_add(round, floor);
		plan_add(round, gap);
		return 0;
	}
	if (boundary_may_be_starved(round, floor)) {
		round->settings.gentle = true;
		round->quiet = 0;
	}
	if (boundary_wants_quiet(round, needed))
		return plan_quiet(round, now_usec);
	round->settling = now_usec < settled;
	return round->settling ? settled : round_finish(round, OUTCOME_LESS);
}

/* Nothing failed yet. A cautious round knows where to look from another one. */
static uint64_t plan_goal(struct round *round, uint32_t floor)
{
	uint32_t size = round->suggested;

	if (round->settings.cautious && size > floor && size + 1 < round->goal) {
		plan_add(round, size);
		plan_add(round, size + 1);
		round->suggested = 0;
	} else {
		plan_control(round);
	}
	plan_add(round, round->goal);
	return 0;
}

/* Something passes, the full size has not yet. */
static uint64_t plan_search(struct round *round, uint32_t floor, uint64_t now_usec)
{
	uint32_t suspect = search_suspect(&round->tries);
	bool goal_too = !round_is_serial(round) &&
			search_failures(&round->tries, round->goal) < 2 &&
			!round_report_of(round, round->goal);

	if (suspect == 0)
		return plan_goal(round, floor);
	if (plan_suggested(round, floor, suspect)) {
		if (goal_too)
			plan_add(round, round->goal);
		return 0;
	}
	if (suspect == floor + 1)
		return plan_boundary(round, floor, now_usec);
	plan_narrow(round, floor, suspect, goal_too);
	return 0;
}

uint64_t round_plan(struct round *round, uint64_t now_usec)
{
	uint32_t floor = search_floor(&round->tries);

	round->settling = false;
	round->now_usec = now_usec;
	if (floor >= round->goal)
		return round_finish(round, OUTCOME_FULL);
	round->evidence.dried_up = floor > 0 && round_dead_bursts(round) >= DEAD_BURSTS;
	if (round->tries.count + BURST_LARGEST > TRIES_LARGEST || round->bursts >= BURSTS_MOST ||
	    now_usec - round->began_usec > round->settings.longest_usec || round->evidence.dried_up)
		return round_finish(round, OUTCOME_UNDECIDED);
	if (round->tries.view == VIEW_FORWARD && floor <= round->settings.plain && floor > 0)
		return plan_connected(round);
	if (floor == 0 && round->tries.view == VIEW_FORWARD)
		return plan_first_sign(round, now_usec);
	return plan_search(round, floor, now_usec);
}
