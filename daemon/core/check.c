/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of things within one check. What each part finds is its own matter; what all of it
 * means is the verdict's.
 */
#include "check.h"

#include "check_inside.h"
#include "round_plan.h"

#include <string.h>

#define SECOND_FIRST_SIGN 2U
#define CONFIRM_TRIES 2U
#define PEACE_USEC USEC_PER_SEC
#define GUESSES_MOST 16U /* then one in several thousand that fits was guessed */

/* Parts must not take each other's answers: each has a nonce and a sequence of its own. */
uint64_t check_random(struct check *check)
{
	/* splitmix64: as hard to guess as what it began with, which is what the kernel gave */
	uint64_t x = check->settings.random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

bool check_asks(const struct check *check, unsigned flow)
{
	return check->settings.asked >> flow & 1;
}

void check_begin(struct check *check, const struct check_settings *settings, uint64_t now_usec)
{
	memset(check, 0, sizeof(*check));
	check->settings = *settings;
	for (unsigned i = 0; i < settings->flow_count; i++) {
		struct round_settings round = settings->round;

		if (i > 0) {
			round.nonce = check_random(check);
			round.first_sequence = (uint16_t)check_random(check);
		}
		round_begin(&check->rounds[i], &round, now_usec);
		check->rounds[i].done = !check_asks(check, i);
	}
}

/* It knows of our packet no more than its sixteen bits of sequence. A SYN's number is longer, and
 * always quoted in full. */
static bool answer_is_guessable(const struct answer *answer)
{
	return !answer->has_nonce && answer->probe != PROBE_SYN;
}

bool check_answer(struct check *check, unsigned flow, const struct answer *answer, uint64_t now_usec)
{
	bool mine = false, guessable = answer_is_guessable(answer);

	/* somebody tries all numbers */
	if (guessable && check->guesses >= GUESSES_MOST)
		return false;
	/* a report on a UDP datagram does not always show which of the two kinds it was */
	if (flow < check->settings.flow_count)
		mine = round_answer(&check->rounds[flow], answer, now_usec);
	if (!mine && check->second_running && flow == check->result.flow)
		mine = round_answer(&check->second, answer, now_usec);
	if (!mine && check->walking)
		mine = walk_answer(&check->walk, answer);
	if (!mine && check->sampling)
		mine = sample_answer(&check->sample, answer);
	check->guesses += guessable && !mine;
	return mine;
}

void check_overflow(struct check *check)
{
	for (unsigned i = 0; i < check->settings.flow_count; i++)
		round_overflow(&check->rounds[i]);
	if (check->second_running)
		round_overflow(&check->second);
	if (check->sampling)
		sample_overflow(&check->sample);
}

/* --- the second method --- */

static enum second check_second_purpose(const struct check *check)
{
	const struct evidence *main = &check->result.main;
	const struct round *round = &check->rounds[check->result.flow];

	/* somebody already said why nothing comes back */
	if (round->done ? main->outcome == OUTCOME_NOTHING : search_floor(&round->tries) == 0)
		return round->evidence.error == 0 && check->settings.fall_back ? SECOND_LIFE :
										  SECOND_NONE;
	if (!check->settings.confirm)
		return SECOND_NONE;
	if (round->done && evidence_lost_return(main))
		return SECOND_CONFIRM;
	/* what other packets than echoes say needs no other witness */
	if (check->settings.round.kind != PROBE_ECHO)
		return SECOND_NONE;
	if (round->done ? evidence_is_silent(check, main) : round->settling && round->report_count == 0)
		return SECOND_CONFIRM;
	return SECOND_NONE;
}

/* A search at one packet a second would hold up the verdict for longer than it is worth. */
static bool check_skip_slow(struct check *check, enum second purpose)
{
	while (purpose == SECOND_CONFIRM && check->others_asked < check->settings.other_count &&
	       check->settings.others[check->others_asked] == PROBE_UDP)
		check->others_asked++;
	return check->others_asked < check->settings.other_count;
}

static void check_second_begin(struct check *check, enum second purpose, uint64_t now_usec)
{
	struct round_settings settings = check->settings.round;
	const struct round *main = &check->rounds[check->result.flow];

	settings.kind = check->settings.others[check->others_asked++];
	settings.nonce = check_random(check);
	settings.first_sequence = (uint16_t)check_random(check);
	settings.first_sign = SECOND_FIRST_SIGN;
	settings.followed_up = true;
	settings.cautious = true;
	settings.repeats = purpose == SECOND_CONFIRM;
	settings.plain_too = purpose == SECOND_LIFE;
	if (purpose == SECOND_LIFE && check->settings.only_life)
		settings.full = settings.control;
	if (purpose == SECOND_CONFIRM) {
		/* the fault itself is proven already */
		settings.tries = CONFIRM_TRIES;
		settings.rtt_usec = main->rtt_usec;
		loss_add(&settings.loss, search_loss(&main->tries));
		settings.hint = search_floor(&main->tries);
		/* the path is known to live, and how long it takes */
		settings.timeout_usec = 2 * round_wait(main);
		settings.proven = 0;
		/* where there is no responder often nothing says so */
		if (settings.kind == PROBE_RESPONDER)
			settings.timeout_usec /= 2;
	}
	if (settings.timeout_usec > check->settings.round.timeout_usec)
		settings.timeout_usec = check->settings.round.timeout_usec;
	round_begin(&check->second, &settings, now_usec);
	check->second_purpose = purpose;
	check->second_running = true;
}

/* Takes what the second method says, or turns to the next one when it says nothing. */
static void check_second_end(struct check *check)
{
	const struct evidence *said = &check->second.evidence;
	struct check_result *result = &check->result;

	check->second_running = false;
	if (check->second.oversize_usec > result->oversize_usec)
		result->oversize_usec = check->second.oversize_usec;
	if (said->outcome == OUTCOME_UNDECIDED || (said->outcome == OUTCOME_NOTHING && !said->connects))
		return;
	result->second = *said;
	result->has_second = check->second_purpose;
	check->others_asked = check->settings.other_count;
}

/* It looked for a sign of life, and now the first one is answered: what it says of sizes is another
 * witness's word, and where it says nothing of them the others are asked anew. */
static void check_second_review(struct check *check)
{
	struct check_result *result = &check->result;
	enum round_outcome said = result->second.outcome;
	bool of_sizes = said == OUTCOME_FULL || said == OUTCOME_LESS;

	if (check->second_purpose != SECOND_LIFE ||
	    search_floor(&check->rounds[result->flow].tries) == 0)
		return;
	check->second_purpose = SECOND_CONFIRM;
	if (result->has_second && of_sizes && !check->settings.only_life) {
		result->has_second = SECOND_CONFIRM;
		return;
	}
	result->has_second = SECOND_NONE;
	check->others_asked = 0;
}

/* --- steps --- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* One that got nothing more when it was asked alone has not lost to the others: the rest need not wait
 * for each other. */
static bool check_has_faulty(const struct check *check)
{
	for (unsigned i = 0; i < check->settings.flow_count; i++) {
		const struct round *round = &check->rounds[i];

		if (check_asks(check, i) && round->done && !round->evidence.reported &&
		    (round->evidence.outcome == OUTCOME_LESS ||
		     round->evidence.outcome == OUTCOME_NOTHING))
			return true;
	}
	return false;
}

/* When the next flow may begin: routers that limit their reports (RFC 1812 section 4.3.2.8) have had a
 * second of peace since the last one that was told something. */
static uint64_t turn_begins(const struct check *check, unsigned flow)
{
	uint64_t begins = 0;

	for (unsigned i = 0; i < flow; i++) {
		const struct round *round = &check->rounds[i];

		if (check_asks(check, i) && round->evidence.reported &&
		    round->oversize_usec + PEACE_USEC > begins)
			begins = round->oversize_usec + PEACE_USEC;
	}
	return begins;
}

static uint64_t step_rounds(struct check *check, struct turn *turn, uint64_t now_usec,
			    struct burst *ret)
{
	uint64_t next = USEC_NEVER;

	check->main_over = true;
	for (unsigned i = 0; i < check->settings.flow_count; i++) {
		struct round *round = &check->rounds[i];
		uint64_t begins, again;

		if (round->done)
			continue;
		begins = check->settings.in_turn && round->tries.count == 0 ? turn_begins(check, i) : 0;
		if (begins > now_usec) {
			check->main_over = false;
			return sooner(next, begins);
		}
		again = round_step(round, turn, now_usec, ret);
		check->main_over = check->main_over && round->done;
		ret->flow = i;
		if (ret->count > 0)
			return now_usec;
		next = sooner(next, again);
		if (check->settings.in_turn && !round->done && !check_has_faulty(check))
			break;
	}
	return next;
}

static bool check_is_doubtful(const struct check *check)
{
	for (unsigned i = 0; i < check->settings.flow_count; i++) {
		const struct round *round = &check->rounds[i];

		if (!round->done && !round_is_doubtful(round))
			return false;
	}
	return true;
}

static uint64_t step_second(struct check *check, struct turn *turn, uint64_t now_usec,
			    struct burst *ret)
{
	uint64_t next;

	if (!check->second_running && check_is_doubtful(check)) {
		enum second purpose;

		check_collect(check);
		check_second_review(check);
		purpose = check->result.has_second ? SECOND_NONE : check_second_purpose(check);
		if (purpose != SECOND_NONE && check_skip_slow(check, purpose))
			check_second_begin(check, purpose, now_usec);
	}
	if (!check->second_running)
		return USEC_NEVER;
	next = round_step(&check->second, turn, now_usec, ret);
	ret->flow = check->result.flow;
	if (!check->second.done)
		return ret->count > 0 ? now_usec : next;
	check_second_end(check);
	/* at once: there may be another to turn to */
	return now_usec;
}

static bool check_may_sample(const struct check *check, bool silent)
{
	const struct evidence *main = &check->result.main;

	switch (main->outcome) {
	case OUTCOME_FULL:
		return true;
	case OUTCOME_LESS:
		return silent;
	case OUTCOME_UNDECIDED:
		/* large ones that come and go may be why; first of all a limit on answers may */
		return main->passes > 0 && (!main->dried_up || check->settings.round.gentle);
	case OUTCOME_NOTHING:
		break;
	}
	return false;
}

/* The rounds are over: is something left to find out? */
static void check_follow(struct check *check)
{
	const struct evidence *main = &check->result.main;
	bool silent;

	check_collect(check);
	check_collect_loss(check);
	check->part_flow = check->result.flow;
	silent = evidence_is_silent(check, main);
	if (check->settings.walk && !check->settings.sample && silent)
		check_walk_begin(check);
	else if (check->settings.sample && check_may_sample(check, silent))
		check_sample_begin(check);
	else
		check->done = true;
}

uint64_t check_step(struct check *check, struct turn *turn, uint64_t now_usec,
		    struct burst *ret_burst)
{
	uint64_t next = USEC_NEVER;

	ret_burst->count = 0;
	if (!check->walking && !check->sampling && !check->done) {
		if (!check->main_over)
			next = step_rounds(check, turn, now_usec, ret_burst);
		if (ret_burst->count == 0)
			next = sooner(next, step_second(check, turn, now_usec, ret_burst));
		if (ret_burst->count > 0 || !check->main_over || check->second_running ||
		    next <= now_usec)
			return next;
		check_follow(check);
	}
	if (check->walking)
		return check_step_walk(check, turn, now_usec, ret_burst);
	if (check->sampling)
		return check_step_sample(check, turn, now_usec, ret_burst);
	return USEC_NEVER;
}

bool check_was_silent(const struct check *check)
{
	const struct evidence *main = &check->result.main;

	return main->outcome != OUTCOME_FULL ||
	       (main->kind == PROBE_RESPONDER && main->return_passes < main->full) || check->result.lossy_there ||
	       check->result.lossy_back;
}
