/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One path's life. A verdict that one round gives is only a candidate: it is announced when
 * enough rounds in a row agree, and until then they follow each other closely.
 */
#include "path.h"

#include <string.h>

#define FOLLOW_UP_USEC USEC_PER_SEC
#define YOUNG_USEC USEC_PER_SEC
#define UNDECIDED_MOST 5U
#define RESTART_GAP_LEAST_USEC (20 * USEC_PER_MSEC)
#define RESTART_GAP_MOST_USEC USEC_PER_SEC
#define RESTART_QUIET_USEC (5 * USEC_PER_SEC)

/* --- facts --- */

static uint32_t link_capacity(const struct path *path, const struct link *link)
{
	uint32_t capacity = link->mtu;

	if (path->address.family == ADDRESS_IPV6 && link->ipv6_mtu && link->ipv6_mtu < capacity)
		capacity = link->ipv6_mtu;
	return capacity < SIZE_LARGEST ? capacity : SIZE_LARGEST;
}

static enum reason facts_trouble(const struct path *path, const struct surroundings *around)
{
	bool wanted = path->wanted_link[0] != '\0';

	if (path->address.family == ADDRESS_NONE)
		return REASON_NO_ADDRESS;
	if (around->route->local)
		return REASON_OWN_ADDRESS;
	if (wanted && !around->wanted)
		return REASON_NO_LINK;
	if (wanted && (!around->wanted->up || !around->wanted->carrier))
		return REASON_LINK_DOWN;
	if (around->route->error)
		return REASON_NO_ROUTE;
	if (!around->link)
		return REASON_NO_LINK;
	if (!around->link->up || !around->link->carrier)
		return REASON_LINK_DOWN;
	return REASON_NONE;
}

static void facts_sizes(const struct path *path, const struct surroundings *around,
			struct path_facts *facts)
{
	uint32_t link = link_capacity(path, around->link);
	uint32_t route = around->route->mtu;
	uint32_t asked = path->settings->expect_mtu;

	if (asked == 0)
		asked = around->link_expected;
	facts->capacity = route && route < link ? route : link;
	facts->expect_configured = asked != 0;
	facts->expected = asked;
	if (asked == 0)
		facts->expected = around->wrong_link ? link_capacity(path, around->wanted) :
						       facts->capacity;
	if (around->wrong_link)
		facts->narrow = REASON_WRONG_LINK;
	else if (facts->expected > link)
		facts->narrow = REASON_LINK_SMALLER;
	else if (facts->expected > facts->capacity)
		facts->narrow = REASON_ROUTE_SMALLER;
}

static bool facts_differ(const struct path_facts *a, const struct path_facts *b)
{
	return a->trouble != b->trouble || a->narrow != b->narrow || a->expected != b->expected ||
	       a->capacity != b->capacity;
}

static bool route_differs(const struct route *a, const struct route *b)
{
	return a->link != b->link || a->error != b->error ||
	       !address_equal(&a->source, &b->source) || !address_equal(&a->gateway, &b->gateway);
}

bool path_on_surroundings(struct path *path, const struct surroundings *around)
{
	struct path_facts facts = {
		.trouble = facts_trouble(path, around),
		.discovered = path->discovered,
		.ever_answered = path->facts.ever_answered,
		.on_link = around->route->gateway.family == ADDRESS_NONE,
	};
	uint32_t link_mtu = around->link ? around->link->mtu : 0;
	bool differs;

	if (facts.trouble == REASON_NONE) {
		facts_sizes(path, around, &facts);
		facts.kernel_mtu = around->route->kernel_mtu ? around->route->kernel_mtu :
							      facts.capacity;
	}
	differs = facts_differ(&path->facts, &facts) || route_differs(&path->route, around->route) ||
		  link_mtu != path->link_mtu;
	path->facts = facts;
	path->route = *around->route;
	path->link_mtu = link_mtu;
	memset(path->link_name, 0, sizeof(path->link_name));
	if (around->link)
		memcpy(path->link_name, around->link->name, sizeof(path->link_name));
	return differs;
}

/* --- when --- */

static void path_forget_candidate(struct path *path)
{
	path->streak = 0;
	path->differing = 0;
	path->undecided = 0;
}

struct round *path_restart(struct path *path, uint64_t now_usec)
{
	struct round *round = path->round;

	if (now_usec > path->restart_usec + RESTART_QUIET_USEC)
		path->restart_gap_usec = 0;
	path->round = NULL;
	path_forget_candidate(path);
	path->due_usec = now_usec > path->restart_usec ? now_usec : path->restart_usec;
	path->wake_usec = path->due_usec;
	if (path->due_usec > now_usec)
		return round;
	path->restart_gap_usec = path->restart_gap_usec ? 2 * path->restart_gap_usec :
							  RESTART_GAP_LEAST_USEC;
	if (path->restart_gap_usec > RESTART_GAP_MOST_USEC)
		path->restart_gap_usec = RESTART_GAP_MOST_USEC;
	path->restart_usec = now_usec + path->restart_gap_usec;
	return round;
}

bool path_on_request(struct path *path, uint64_t now_usec)
{
	if (path->round)
		return true;
	if (path->ended_usec && now_usec - path->ended_usec < YOUNG_USEC && path_is_settled(path))
		return false;
	path->due_usec = now_usec;
	path->wake_usec = now_usec;
	return true;
}

bool path_is_due(const struct path *path, uint64_t now_usec)
{
	return !path->round && now_usec >= path->due_usec;
}

bool path_is_settled(const struct path *path)
{
	return !path->round && path->streak == 0 &&
	       (path->undecided == 0 || path->undecided > UNDECIDED_MOST) && path->ended_usec != 0;
}

static void path_schedule(struct path *path, const struct pace *pace, uint64_t now_usec,
			  uint64_t oversize_usec)
{
	bool open = path->streak > 0 ||
		    (path->undecided > 0 && path->undecided <= UNDECIDED_MOST);
	uint64_t interval = pace_interval(pace, path->settings->interval_usec);

	/* a router that limits its reports must have had a second of peace */
	if (open && oversize_usec)
		path->due_usec = oversize_usec + FOLLOW_UP_USEC;
	else if (open)
		path->due_usec = now_usec + FOLLOW_UP_USEC;
	else
		path->due_usec = pace_next(now_usec, interval, path->phase_usec);
	if (path->due_usec < now_usec)
		path->due_usec = now_usec;
	path->wake_usec = path->due_usec;
	path->ended_usec = now_usec;
}

/* --- a round --- */

void path_begin(struct path *path, struct round *round, const struct moment *moment)
{
	const struct peer_settings *settings = path->settings;
	const struct path_facts *facts = &path->facts;
	bool ipv6 = path->address.family == ADDRESS_IPV6;
	struct round_settings round_settings = {
		.nonce = moment->random[0],
		.first_sequence = (uint16_t)moment->random[1],
		.timeout_usec = settings->timeout_usec,
		.rtt_usec = path->rtt_usec,
		.loss = path->loss,
		.full = facts->expected < facts->capacity ? facts->expected : facts->capacity,
		/* RFC 791 section 3.2, RFC 8200 section 5 */
		.least = ipv6 ? IPV6_SMALLEST_MTU : CONTROL_IPV4,
		.control = ipv6 ? CONTROL_IPV6 : CONTROL_IPV4,
		.tries = settings->tries,
		.followed_up = settings->fail_after > 1,
	};

	if (path->evidence.outcome == OUTCOME_LESS)
		round_settings.hint = path->evidence.passes;
	if (round_settings.control > round_settings.full)
		round_settings.control = round_settings.full;
	path->round = round;
	round_begin(round, &round_settings, moment->now_usec);
}

static void path_count_refused(struct path *path, const struct answer *answer)
{
	if (answer->size > path->round->settings.control)
		path->full_sent--;
	else
		path->control_sent--;
}

bool path_on_answer(struct path *path, const struct answer *answer, uint64_t now_usec)
{
	bool wrong_link = path->wanted_link[0] && path->route.link && answer->link &&
			  answer->link != path->route.link;

	if (!path->round || !address_equal(&answer->to, &path->address))
		return false;
	/* the way back by another link says nothing of the link that was asked for */
	if (answer->kind == ANSWER_ECHO && wrong_link && path->facts.narrow != REASON_WRONG_LINK)
		return false;
	if (!round_answer(path->round, answer, now_usec))
		return false;
	if (answer->kind == ANSWER_REFUSED)
		path_count_refused(path, answer);
	return true;
}

void path_on_overflow(struct path *path)
{
	if (path->round)
		round_overflow(path->round);
}

void path_on_time(struct path *path, struct pace *pace, uint64_t now_usec, struct todo *todo)
{
	struct round *round = path->round;

	todo->burst.count = 0;
	if (!round) {
		path->wake_usec = path->due_usec;
		return;
	}
	path->wake_usec = round_step(round, pace, now_usec, &todo->burst);
	todo->judge = round->done;
	for (unsigned i = 0; i < todo->burst.count; i++) {
		if (todo->burst.sizes[i] > round->settings.control)
			path->full_sent++;
		else
			path->control_sent++;
	}
}

/* --- the verdict --- */

static void path_count_lost(struct path *path, const struct round *round)
{
	for (unsigned i = 0; i < round->tries.count; i++) {
		const struct try *try = &round->tries.list[i];

		if (try->state != TRY_SILENT && try->state != TRY_REPORTED)
			continue;
		if (try->size > round->settings.control)
			path->full_lost++;
		else
			path->control_lost++;
	}
}

static void path_learn(struct path *path, const struct round *round)
{
	const struct evidence *evidence = &round->evidence;

	path_count_lost(path, round);
	if (evidence->outcome == OUTCOME_UNDECIDED || evidence->outcome == OUTCOME_NOTHING)
		return;
	path->facts.ever_answered = true;
	path->known_mtu = evidence->passes;
	loss_add(&path->loss, search_loss(&round->tries));
	if (evidence->rtt_usec)
		path->rtt_usec = path->rtt_usec ? (7 * path->rtt_usec + evidence->rtt_usec) / 8 :
						  evidence->rtt_usec;
}

static bool judgement_same(const struct judgement *a, const struct judgement *b)
{
	return a->verdict == b->verdict && a->path_mtu == b->path_mtu;
}

static bool judgement_details_differ(const struct judgement *a, const struct judgement *b)
{
	return a->reason != b->reason || a->direction != b->direction || a->locus != b->locus ||
	       a->severity != b->severity || a->return_mtu != b->return_mtu ||
	       a->confirmed != b->confirmed || !address_equal(&a->router, &b->router) ||
	       !address_equal(&a->locus_address, &b->locus_address);
}

/* Known from this host's own data, and no matter of luck with packets. */
static bool judgement_is_plain(const struct judgement *judgement)
{
	return judgement->verdict == VERDICT_MISCONFIGURED &&
	       (judgement->reason == REASON_LINK_SMALLER || judgement->reason == REASON_ROUTE_SMALLER ||
		judgement->reason == REASON_WRONG_LINK || judgement->reason == REASON_OWN_ADDRESS);
}

/* How many rounds in a row have to say so before it is announced. */
static unsigned path_rounds_wanted(const struct path *path, const struct judgement *now)
{
	const struct judgement *was = &path->announced;
	bool same = now->verdict == was->verdict;
	bool worse = same ? now->path_mtu < was->path_mtu :
			    verdict_rank(now->verdict) > verdict_rank(was->verdict);

	if (judgement_is_plain(now))
		return 1;
	if (!verdict_is_fault(now->verdict) &&
	    (same || was->verdict == VERDICT_UNKNOWN || judgement_is_plain(was)))
		return 1;
	if (!worse)
		return path->settings->recover_after;
	/* a router that spoke before may only be short of reports */
	if (was->verdict == VERDICT_REDUCED && now->verdict == VERDICT_BLACK_HOLE &&
	    now->path_mtu == was->path_mtu)
		return path->settings->fail_after + 2;
	return path->settings->fail_after;
}

static void path_announce(struct path *path, const struct judgement *now,
			  const struct moment *moment, struct todo *todo)
{
	todo->before = path->announced;
	todo->announced = now->verdict != path->announced.verdict || verdict_is_fault(now->verdict);
	todo->details = !todo->announced;
	if (now->verdict != path->announced.verdict)
		path->since_usec = moment->real_usec;
	path->announced = *now;
	path->told_usec = moment->now_usec;
	path_forget_candidate(path);
}

/* Nothing new: details are taken over, a standing fault is said again when its time has come. */
static void path_confirm(struct path *path, const struct judgement *now,
			 const struct moment *moment, struct todo *todo)
{
	uint64_t remind = path->settings->remind_usec;

	path_forget_candidate(path);
	todo->details = judgement_details_differ(&path->announced, now);
	path->announced = *now;
	if (remind && now->severity >= SEVERITY_WARNING &&
	    moment->now_usec - path->told_usec >= remind) {
		path->told_usec = moment->now_usec;
		todo->remind = true;
	}
}

static void path_consider(struct path *path, const struct judgement *now,
			  const struct moment *moment, struct todo *todo)
{
	unsigned wanted;

	if (judgement_same(now, &path->announced)) {
		path_confirm(path, now, moment, todo);
		return;
	}
	wanted = path_rounds_wanted(path, now);
	path->streak = path->streak && judgement_same(now, &path->candidate) ? path->streak + 1 : 1;
	path->differing++;
	path->undecided = 0;
	path->candidate = *now;
	/* numbers that never agree twice are a fault all the same */
	if (path->streak >= wanted || path->differing >= 3 * wanted)
		path_announce(path, now, moment, todo);
}

static void evidence_complete(struct evidence *evidence, const struct path *path)
{
	struct address source = path->route.source;

	source.zone = evidence->error_from.zone;
	evidence->error_is_own = address_equal(&evidence->error_from, &source);
}

struct round *path_judge(struct path *path, const struct pace *pace, const struct moment *moment,
			 struct todo *todo)
{
	struct round *round = path->round;
	struct evidence evidence = { .outcome = OUTCOME_NOTHING };
	struct judgement now;
	uint64_t oversize_usec = 0;

	if (round) {
		path_learn(path, round);
		evidence = round->evidence;
		evidence_complete(&evidence, path);
		if (evidence.outcome == OUTCOME_LESS)
			oversize_usec = round->oversize_usec;
	}
	path->rounds++;
	path->last_round_usec = moment->real_usec;
	path->round = NULL;
	verdict_judge(&path->facts, &evidence, &now);
	if (now.verdict == VERDICT_UNKNOWN) {
		/* what was seen once, and then never again, waits for nothing any more */
		if (++path->undecided > UNDECIDED_MOST)
			path->streak = 0;
	} else {
		path->evidence = evidence;
		path_consider(path, &now, moment, todo);
	}
	path_schedule(path, pace, moment->now_usec, oversize_usec);
	return round;
}

void path_lint(struct path *path, const struct link *link, struct todo *todo)
{
	struct findings now;
	bool same;

	lint_path(&path->facts, link, &path->route, path->rounds ? &path->evidence : NULL, &now);
	same = now.count == path->findings.count;
	for (unsigned i = 0; same && i < now.count; i++)
		same = finding_equal(&now.list[i], &path->findings.list[i]);
	if (same)
		return;
	todo->findings_changed = true;
	todo->findings_before = path->findings;
	path->findings = now;
}
