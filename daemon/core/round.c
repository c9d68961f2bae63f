/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One check of one path. Sends nothing and waits for nothing itself: it says which sizes should
 * leave now and when it wants to be asked again.
 *
 * The pattern is RFC 4821's and RFC 8899's: an acknowledged probe is the only proof, a report
 * (RFC 1191, RFC 8201) only suggests what to ask next.
 */
#include "round.h"

#include <errno.h>
#include <string.h>

#define SEARCH_SIZES 7U              /* in one burst, beside the control and the full size */
#define SEARCH_BYTES (64U * 1024U)   /* a shallow switch buffer holds it */
#define FIRST_SIGN_TRIES 2U          /* times Tries= before a path counts as dead */
#define QUIET_USEC USEC_PER_SEC      /* RFC 1812 section 4.3.2.8: routers limit their reports */
#define QUIET_REPORTED 5U            /* quiet tries for a router that was heard, but not of this size */
#define SETTLE_LEAST_USEC (500 * USEC_PER_MSEC)
#define LONGEST_USEC (60 * USEC_PER_SEC)
#define DEAD_BURSTS 6U               /* that many in a row: the path died under the round */

void round_begin(struct round *round, const struct round_settings *settings, uint64_t now_usec)
{
	memset(round, 0, sizeof(*round));
	round->settings = *settings;
	round->began_usec = now_usec;
	round->suggested = settings->hint;
	round->evidence.full = settings->full;
}

/* How long an answer of this path takes at most, as far as known. */
static uint64_t round_wait(const struct round *round)
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

/* --- answers --- */

static struct try *round_try(struct round *round, uint16_t sequence)
{
	uint16_t position = sequence - round->settings.first_sequence;

	return position < round->tries.count ? &round->tries.list[position] : NULL;
}

/* A quote may be too short to hold the nonce; its length then has to be right. Some routers
 * alter the quoted length (they subtract the header), so with the nonce it may differ. */
static bool answer_fits(const struct round *round, const struct answer *answer,
			const struct try *try)
{
	bool same_size = answer->kind == ANSWER_REFUSED || answer->size == try->size;
	bool same_nonce = answer->nonce == round->settings.nonce;

	/* errors come late, and may be another packet's */
	if (answer->kind == ANSWER_REFUSED && try->state == TRY_ANSWERED)
		return false;
	if (answer->kind == ANSWER_ECHO)
		return same_size && answer->has_nonce && same_nonce;
	return answer->has_nonce ? same_nonce : same_size;
}

static void round_report(struct round *round, const struct answer *answer, const struct try *try)
{
	unsigned place = 0;

	if (round->report_count == 0)
		round->report_count = 1;
	if (try->size != round->settings.full) {
		for (place = 1; place < round->report_count; place++)
			if (round->reports[place].size == try->size)
				break;
		if (place == REPORTS_LARGEST)
			place = REPORTS_LARGEST - 1;
		else if (place == round->report_count)
			round->report_count++;
	}
	round->reports[place] = (struct round_report){
		.size = try->size,
		.mtu = answer->mtu,
		.from = answer->from,
	};
	if (answer->mtu >= round->settings.least && answer->mtu < try->size)
		round->suggested = answer->mtu;
}

static void round_echo(struct round *round, const struct answer *answer, struct try *try,
		       uint64_t now_usec)
{
	uint64_t rtt = now_usec - round->began_usec - try->sent_usec;

	if (try->state == TRY_ANSWERED)
		return;
	try->state = TRY_ANSWERED;
	if (rtt == 0)
		rtt = 1;
	if (rtt > round->rtt_usec)
		round->rtt_usec = rtt;
	if (round->evidence.rtt_usec == 0 || rtt < round->evidence.rtt_usec)
		round->evidence.rtt_usec = rtt;
	if (try->size == round->settings.full)
		round->evidence.fragment = answer->fragment;
}

static void round_refused(struct round *round, const struct answer *answer, struct try *try)
{
	bool about_size = answer->error == -EMSGSIZE || answer->error == -EPERM;

	/* a full queue on this host says nothing about the path */
	try->state = TRY_VOID;
	if (answer->error == -ENOBUFS)
		return;
	if (try->size == round->settings.control) {
		round->evidence.error = answer->error;
		round->evidence.error_from = answer->from;
	}
	if (about_size || try->size == round->settings.control)
		try->state = TRY_REFUSED;
}

bool round_answer(struct round *round, const struct answer *answer, uint64_t now_usec)
{
	struct try *try = round_try(round, answer->sequence);

	if (round->done || !try || !answer_fits(round, answer, try))
		return false;
	switch (answer->kind) {
	case ANSWER_ECHO:
		round_echo(round, answer, try, now_usec);
		break;
	case ANSWER_TOO_BIG:
		if (try->state == TRY_ANSWERED)
			break;
		try->state = TRY_REPORTED;
		round_report(round, answer, try);
		break;
	case ANSWER_REFUSED:
		round_refused(round, answer, try);
		break;
	case ANSWER_UNREACHABLE:
		round->evidence.error = answer->error;
		round->evidence.error_from = answer->from;
		break;
	case ANSWER_TIME_EXCEEDED:
		break;
	}
	return true;
}

void round_overflow(struct round *round)
{
	for (unsigned i = 0; i < round->tries.count; i++) {
		struct try *try = &round->tries.list[i];

		if (try->state == TRY_WAITING || try->state == TRY_SILENT)
			try->state = TRY_VOID;
	}
}

/* --- time --- */

/* The end of the wait for what is still out, 0 when all is decided. */
static uint64_t round_expire(struct round *round, uint64_t now_usec)
{
	uint64_t wait = round_wait(round);
	uint64_t latest = 0;

	for (unsigned i = 0; i < round->tries.count; i++) {
		struct try *try = &round->tries.list[i];

		if (try->state != TRY_WAITING && try->state != TRY_VOID)
			continue;
		if (round->began_usec + try->sent_usec + wait > now_usec)
			latest = round->began_usec + try->sent_usec + wait;
		else if (try->state == TRY_WAITING)
			try->state = TRY_SILENT;
	}
	return latest;
}

/* Trailing bursts of which nothing was answered, reported or refused. */
static unsigned round_dead_bursts(const struct round *round)
{
	for (unsigned i = round->tries.count; i > 0; i--) {
		const struct try *try = &round->tries.list[i - 1];

		if (try->state == TRY_ANSWERED || try->state == TRY_REPORTED)
			return round->bursts - 1U - try->burst;
	}
	return round->bursts;
}

static unsigned round_count(const struct round *round, uint32_t size, enum try_state state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < round->tries.count; i++)
		if (round->tries.list[i].size == size && round->tries.list[i].state == state)
			count++;
	return count;
}

/* --- the end --- */

static bool try_exists(const struct round *round, uint32_t size)
{
	for (unsigned i = 0; i < round->tries.count; i++)
		if (round->tries.list[i].size == size)
			return true;
	return false;
}

static const struct round_report *report_of(const struct round *round, uint32_t size)
{
	for (unsigned i = 0; i < round->report_count; i++)
		if (round->reports[i].size == size && size != 0)
			return &round->reports[i];
	return NULL;
}

/* RFC 1191 section 3, RFC 8201 section 4: a value is wrong when it is no size at all, not below
 * the probe, less than what passes, or a size that gets lost without a further report. */
static bool report_wrong(const struct round *round, const struct round_report *report)
{
	uint32_t passes = round->evidence.passes;

	if (report->size == 0 || report->mtu == passes)
		return false;
	if (report->mtu < passes || report->mtu >= report->size)
		return true;
	return try_exists(round, report->mtu) && !report_of(round, report->mtu);
}

/*
 * Would path MTU discovery find its way by the reports alone? Follows them down from the full
 * size, as a sender does, until one names a size that passes.
 */
static const struct round_report *report_chain(const struct round *round)
{
	const struct round_report *report = report_of(round, round->settings.full);

	for (unsigned i = 0; report && i < REPORTS_LARGEST; i++) {
		if (report->mtu < round->settings.least || report->mtu >= report->size)
			return NULL;
		if (report->mtu <= round->evidence.passes)
			return report;
		report = report_of(round, report->mtu);
	}
	return NULL;
}

static void round_judge_reports(struct round *round)
{
	struct evidence *evidence = &round->evidence;
	const struct round_report *right = report_chain(round);

	evidence->reported = right != NULL;
	if (right)
		evidence->router = right->from;
	for (unsigned i = 0; i < round->report_count; i++) {
		if (!report_wrong(round, &round->reports[i]))
			continue;
		evidence->has_wrong_report = true;
		evidence->wrong_mtu = round->reports[i].mtu;
		evidence->wrong_router = round->reports[i].from;
		break;
	}
}

static uint64_t round_finish(struct round *round, enum round_outcome outcome)
{
	struct evidence *evidence = &round->evidence;

	evidence->outcome = outcome;
	evidence->passes = search_floor(&round->tries);
	evidence->refused = outcome == OUTCOME_LESS &&
			    round_count(round, evidence->full, TRY_REFUSED) > 0;
	if (outcome == OUTCOME_LESS || outcome == OUTCOME_FULL)
		round_judge_reports(round);
	round->plan_count = 0;
	round->done = true;
	return USEC_NEVER;
}

/* --- planning --- */

static void plan_add(struct round *round, uint32_t size)
{
	if (round->plan_count < BURST_LARGEST)
		round->plan[round->plan_count++] = size;
}

static uint32_t plan_bytes(const struct round *round)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < round->plan_count; i++)
		bytes += round->plan[i];
	return bytes;
}

/* The small packet whose answer shows that the burst was not lost as a whole. */
static void plan_control(struct round *round)
{
	plan_add(round, round->settings.control);
}

/* Nothing answered in this round, so only earlier ones can tell how much the path loses. */
static unsigned first_sign_tries(const struct round *round)
{
	unsigned tries = FIRST_SIGN_TRIES * round->settings.tries;

	return round->settings.loss.lost ? search_needed(round->settings.loss, tries) : tries;
}

static uint64_t round_last_sent(const struct round *round)
{
	return round->began_usec + round->tries.list[round->tries.count - 1].sent_usec;
}

/* Nothing was answered yet. Returns when to come again; 0: a burst is planned, go on. */
static uint64_t plan_first_sign(struct round *round, uint64_t now_usec)
{
	unsigned silent = round_count(round, round->settings.control, TRY_SILENT);
	unsigned needed = first_sign_tries(round);

	if (round_count(round, round->settings.control, TRY_REFUSED) > 0)
		return round_finish(round, OUTCOME_NOTHING);
	if (silent >= needed) {
		uint64_t end = round_last_sent(round) + round->settings.timeout_usec;

		return now_usec < end ? end : round_finish(round, OUTCOME_NOTHING);
	}
	plan_control(round);
	if (round->tries.count == 0 && round->settings.full > round->settings.control)
		plan_add(round, round->settings.full);
	return 0;
}

/* Ask what was suggested and the size above it. */
static bool plan_suggested(struct round *round, uint32_t floor, uint32_t suspect)
{
	uint32_t size = round->suggested;
	bool worth_it = size >= floor && size < suspect &&
			(!try_exists(round, size) || !try_exists(round, size + 1));

	round->suggested = 0;
	if (!worth_it)
		return false;
	/* no control: an honest router needs four packets altogether */
	plan_add(round, size);
	if (size + 1 < round->settings.full)
		plan_add(round, size + 1);
	return true;
}

static void plan_narrow(struct round *round, uint32_t floor, uint32_t suspect, bool full_too)
{
	uint32_t sizes[SEARCH_SIZES];
	struct search_limit limit = { SEARCH_SIZES, SEARCH_BYTES };
	unsigned count;

	if (limit.bytes < 2 * round->settings.full)
		limit.bytes = 2 * round->settings.full;
	if (full_too)
		limit.bytes -= round->settings.full;
	count = search_next(floor, suspect, limit, sizes);
	plan_control(round);
	for (unsigned i = 0; i < count; i++)
		plan_add(round, sizes[i]);
	if (full_too)
		plan_add(round, round->settings.full);
}

/* How many tries of the full size have to fall into a silent second before `nobody says so`. */
static unsigned quiet_needed(const struct round *round, unsigned needed)
{
	unsigned least = round->settings.followed_up ? 1 : 2;

	if (round->report_count > 0 && least < QUIET_REPORTED)
		least = QUIET_REPORTED;
	return round_loss(round).lost > 0 && needed > least ? needed : least;
}

/* Reports alone decide, without waiting, on a path that loses nothing: full, passes, passes + 1. */
static bool boundary_reported(const struct round *round, uint32_t passes)
{
	return round_loss(round).lost == 0 && report_of(round, round->settings.full) &&
	       report_of(round, passes + 1);
}

/* A size that a report named and that does not pass, though no router was heard of it; 0 none. */
static uint32_t chain_gap(const struct round *round, uint32_t passes)
{
	uint32_t size = round->settings.full;

	for (unsigned i = 0; i < REPORTS_LARGEST; i++) {
		const struct round_report *report = report_of(round, size);

		if (!report)
			return size < round->settings.full ? size : 0;
		if (report->mtu <= passes || report->mtu >= size)
			return 0;
		size = report->mtu;
	}
	return 0;
}

/* Nothing lies between floor and suspect: prove it. Returns as plan_first_sign(). */
static uint64_t plan_boundary(struct round *round, uint32_t floor, uint64_t now_usec)
{
	uint32_t full = round->settings.full;
	unsigned needed = round_needed(round);
	unsigned above = search_failures(&round->tries, floor + 1);
	unsigned whole = search_failures(&round->tries, full);
	bool told = report_of(round, full) || round_count(round, full, TRY_REFUSED) > 0;
	bool quiet = !told && round->quiet < quiet_needed(round, needed);
	uint32_t gap = chain_gap(round, floor);

	if (!gap && boundary_reported(round, floor))
		return round_finish(round, OUTCOME_LESS);
	if (above < needed || whole < needed) {
		plan_add(round, floor);
		if (above < needed && floor + 1 < full)
			plan_add(round, floor + 1);
		if (whole < needed)
			plan_add(round, full);
		return 0;
	}
	/* the next router's report may have been lost as any packet */
	if (gap && search_failures(&round->tries, gap) < needed) {
		plan_add(round, floor);
		plan_add(round, gap);
		return 0;
	}
	if (quiet) {
		uint64_t again = round->oversize_usec + QUIET_USEC;

		if (now_usec < again)
			return again;
		plan_control(round);
		plan_add(round, full);
		return 0;
	}
	if (now_usec < round->oversize_usec + round_settle(round))
		return round->oversize_usec + round_settle(round);
	return round_finish(round, OUTCOME_LESS);
}

/* Something passes, the full size has not yet. Returns as plan_first_sign(). */
static uint64_t plan_search(struct round *round, uint32_t floor, uint64_t now_usec)
{
	uint32_t suspect = search_suspect(&round->tries);
	bool full_too = search_failures(&round->tries, round->settings.full) < 2 &&
			!report_of(round, round->settings.full);

	if (suspect == 0) {
		plan_control(round);
		plan_add(round, round->settings.full);
		return 0;
	}
	if (plan_suggested(round, floor, suspect)) {
		if (full_too)
			plan_add(round, round->settings.full);
		return 0;
	}
	if (suspect == floor + 1)
		return plan_boundary(round, floor, now_usec);
	plan_narrow(round, floor, suspect, full_too);
	return 0;
}

/* Plans a burst, ends the round, or tells when to come again. */
static uint64_t round_plan(struct round *round, uint64_t now_usec)
{
	uint32_t floor = search_floor(&round->tries);

	if (floor >= round->settings.full)
		return round_finish(round, OUTCOME_FULL);
	if (round->tries.count + BURST_LARGEST > TRIES_LARGEST ||
	    now_usec - round->began_usec > LONGEST_USEC ||
	    (floor > 0 && round_dead_bursts(round) >= DEAD_BURSTS))
		return round_finish(round, OUTCOME_UNDECIDED);
	if (floor == 0)
		return plan_first_sign(round, now_usec);
	return plan_search(round, floor, now_usec);
}

/* --- sending --- */

/* A full-size probe after a second without any other that a router could have reported. */
static bool plan_is_quiet(const struct round *round, uint64_t now_usec)
{
	bool after_quiet = round->oversize_usec == 0 ||
			   now_usec - round->oversize_usec >= QUIET_USEC;

	return after_quiet && round->plan_count <= 2 &&
	       round->plan[round->plan_count - 1] == round->settings.full;
}

static void round_send(struct round *round, uint64_t now_usec, struct burst *ret)
{
	uint32_t largest = round->plan[round->plan_count - 1];

	if (plan_is_quiet(round, now_usec))
		round->quiet++;
	if (largest > round->settings.control && largest > search_floor(&round->tries))
		round->oversize_usec = now_usec;
	ret->count = round->plan_count;
	ret->first_sequence = round->settings.first_sequence + round->tries.count;
	for (unsigned i = 0; i < round->plan_count; i++) {
		ret->sizes[i] = round->plan[i];
		round->tries.list[round->tries.count++] = (struct try){
			.sent_usec = (uint32_t)(now_usec - round->began_usec),
			.size = (uint16_t)round->plan[i],
			.burst = (uint8_t)round->bursts,
			.state = TRY_WAITING,
		};
	}
	round->bursts++;
	round->plan_count = 0;
}

uint64_t round_step(struct round *round, struct pace *pace, uint64_t now_usec,
		    struct burst *ret_burst)
{
	uint64_t waiting = round_expire(round, now_usec);
	uint64_t again;

	ret_burst->count = 0;
	if (round->done)
		return USEC_NEVER;
	if (search_floor(&round->tries) >= round->settings.full)
		return round_finish(round, OUTCOME_FULL);
	if (round->plan_count == 0) {
		if (waiting > now_usec)
			return waiting;
		again = round_plan(round, now_usec);
		if (again != 0)
			return again;
		round->send_usec = pace_book(pace, now_usec, plan_bytes(round));
	}
	if (now_usec < round->send_usec)
		return round->send_usec;
	round_send(round, now_usec, ret_burst);
	return now_usec + round_wait(round);
}
