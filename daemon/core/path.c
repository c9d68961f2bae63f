/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One path's life. A verdict that one round gives is only a candidate: it is announced when
 * enough rounds in a row agree, and until then they follow each other closely.
 */
#include "path.h"

#include <string.h>

#define FOLLOW_UP_USEC USEC_PER_SEC
#define YOUNG_USEC USEC_PER_SEC
#define UNDECIDED_MOST 8U
#define RESTART_GAP_LEAST_USEC (20 * USEC_PER_MSEC)
#define RESTART_GAP_MOST_USEC USEC_PER_SEC
#define RESTART_QUIET_USEC (5 * USEC_PER_SEC)
#define UNREST_MOST_USEC (10 * USEC_PER_SEC)
#define GENTLE_ROUNDS 16U /* after so many the peer is trusted with bursts again */

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
		.ipv6 = path->address.family == ADDRESS_IPV6,
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

/* Changes without end: better a check of one of the ways than none at all. */
static bool path_endures(struct path *path, uint64_t now_usec)
{
	if (now_usec > path->restart_usec + RESTART_QUIET_USEC) {
		path->restart_gap_usec = 0;
		path->unrest_usec = now_usec;
	}
	return path->check && now_usec - path->unrest_usec > UNREST_MOST_USEC;
}

struct check *path_restart(struct path *path, uint64_t now_usec)
{
	struct check *check = path->check;

	if (path_endures(path, now_usec))
		return NULL;
	path->check = NULL;
	path_forget_candidate(path);
	path->due_usec = now_usec > path->restart_usec ? now_usec : path->restart_usec;
	path->wake_usec = path->due_usec;
	if (path->due_usec > now_usec)
		return check;
	path->restart_gap_usec = path->restart_gap_usec ? 2 * path->restart_gap_usec :
							  RESTART_GAP_LEAST_USEC;
	if (path->restart_gap_usec > RESTART_GAP_MOST_USEC)
		path->restart_gap_usec = RESTART_GAP_MOST_USEC;
	path->restart_usec = now_usec + path->restart_gap_usec;
	return check;
}

bool path_on_request(struct path *path, uint64_t now_usec)
{
	if (path->check)
		return true;
	if (path->ended_usec && now_usec - path->ended_usec < YOUNG_USEC && path_is_settled(path))
		return false;
	path->due_usec = now_usec;
	path->wake_usec = now_usec;
	return true;
}

bool path_is_due(const struct path *path, uint64_t now_usec)
{
	return !path->check && now_usec >= path->due_usec;
}

bool path_is_settled(const struct path *path)
{
	return !path->check && path->streak == 0 &&
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

/* --- a check --- */

#define PORT_SYN 7U        /* closed nearly everywhere, and a closed port answers just as well */
#define PORT_UDP 33434U
#define PORT_RESPONDER 8899U
#define FIRST_SIGN_TRIES 2U /* times Tries= before a path counts as dead */
#define ASK_ANEW_ROUNDS 16U /* then the first method, or the second one, is asked once more */

uint16_t path_port(const struct path *path, enum probe_kind kind)
{
	/* with Method=auto Port= is a storage port, where no responder listens */
	bool own = path->port != 0 && path->settings->method != METHOD_AUTO;

	switch (kind) {
	case PROBE_ECHO:
		return 0;
	case PROBE_SYN:
		return path->port ? path->port : PORT_SYN;
	case PROBE_UDP:
		return own ? path->port : PORT_UDP;
	case PROBE_RESPONDER:
		return own ? path->port : PORT_RESPONDER;
	}
	return 0;
}

size_t path_check_size(const struct path *path)
{
	return CHECK_SIZE(path->flow_count);
}

static enum probe_kind kind_of(enum method method, enum probe_kind in_use)
{
	switch (method) {
	case METHOD_AUTO:
		return in_use;
	case METHOD_ICMP:
		return PROBE_ECHO;
	case METHOD_TCP:
		return PROBE_SYN;
	case METHOD_UDP:
		return PROBE_UDP;
	case METHOD_RESPONDER:
		return PROBE_RESPONDER;
	}
	return PROBE_ECHO;
}

/* The first method, and with Method=auto the others, best informed first. */
static void path_choose_kinds(const struct path *path, struct check_settings *settings)
{
	static const enum probe_kind order[] = { PROBE_ECHO, PROBE_RESPONDER, PROBE_SYN, PROBE_UDP };
	enum probe_kind in_use = path->rounds % ASK_ANEW_ROUNDS == 0 ? PROBE_ECHO : path->kind;

	settings->round.kind = kind_of(path->settings->method, in_use);
	if (path->settings->method != METHOD_AUTO)
		return;
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i] != settings->round.kind)
			settings->others[settings->other_count++] = order[i];
}

static void path_set_round(const struct path *path, const struct moment *moment,
			   struct round_settings *ret)
{
	const struct peer_settings *settings = path->settings;
	const struct path_facts *facts = &path->facts;

	ret->nonce = moment->random[0];
	ret->first_sequence = (uint16_t)moment->random[1];
	ret->timeout_usec = settings->timeout_usec;
	ret->rtt_usec = path->rtt_usec;
	ret->loss = path->loss;
	ret->full = facts->expected < facts->capacity ? facts->expected : facts->capacity;
	ret->control = facts->ipv6 ? CONTROL_IPV6 : CONTROL_IPV4;
	/* RFC 791 section 3.2, RFC 8200 section 5 */
	ret->least = facts->ipv6 ? IPV6_SMALLEST_MTU : CONTROL_IPV4;
	ret->plain = facts->ipv6 ? 60 : 40;
	ret->tries = settings->tries;
	ret->plain_too = true;
	ret->first_sign = FIRST_SIGN_TRIES * settings->tries;
	ret->followed_up = settings->fail_after > 1;
	ret->hint = path->hint;
	ret->gentle = path->gentle_rounds > 0;
	if (ret->control > ret->full)
		ret->control = ret->full;
}

static unsigned path_rounds_wanted(const struct path *path, const struct judgement *now);

/* Would one more round like the last one be announced? */
static bool path_is_near_hole(const struct path *path)
{
	bool candidate = path->candidate.verdict == VERDICT_BLACK_HOLE ||
			 path->candidate.verdict == VERDICT_PARTIAL;

	if (path->settings->fail_after == 1)
		return true;
	return path->streak > 0 && candidate &&
	       path->streak + 1 >= path_rounds_wanted(path, &path->candidate);
}

static bool path_suspects_loss(const struct path *path)
{
	if (path->announced.verdict == VERDICT_LOSSY || path->candidate.verdict == VERDICT_LOSSY)
		return true;
	/* numbers that never agree: luck has a hand in what passes */
	if (path->differing >= 2 && path->streak <= 1)
		return true;
	return path->full_loss.lost >= 3 && path->full_loss.lost > 3 * path->control_loss.lost + 2;
}

void path_begin(struct path *path, struct check *check, const struct moment *moment)
{
	bool near = path_is_near_hole(path);
	bool stale = path->rounds - path->second_rounds >= ASK_ANEW_ROUNDS;
	struct check_settings settings = {
		.flow_count = path->flow_count,
		.known_mtu = path->facts.kernel_mtu,
		.confirm = near || (path->second_passes != 0 && stale),
		.walk = near && !path->facts.on_link,
		.sample = path_suspects_loss(path),
		.random = moment->random[0] ^ moment->random[1],
	};

	path_set_round(path, moment, &settings.round);
	path_choose_kinds(path, &settings);
	path->check = check;
	check_begin(check, &settings, moment->now_usec);
}

static bool path_is_control(const struct path *path, uint32_t size)
{
	return size <= path->check->settings.round.control;
}

static void path_count_refused(struct path *path, const struct answer *answer)
{
	if (path_is_control(path, answer->size))
		path->control_sent--;
	else
		path->full_sent--;
}

bool path_on_answer(struct path *path, struct flow *flow, const struct answer *answer,
		    uint64_t now_usec)
{
	if (!path->check || !address_equal(&answer->to, &path->address))
		return false;
	if (!check_answer(path->check, (unsigned)(flow - path->flows), answer, now_usec))
		return false;
	if (answer->kind == ANSWER_COOKIE)
		flow->cookie = answer->cookie;
	if (answer->kind == ANSWER_DELIVERED && answer->probe == PROBE_SYN)
		flow->syn_open = false;
	if (answer->kind == ANSWER_REFUSED)
		path_count_refused(path, answer);
	return true;
}

void path_on_overflow(struct path *path)
{
	if (path->check)
		check_overflow(path->check);
}

void path_on_time(struct path *path, struct pace *pace, uint64_t now_usec, struct todo *todo)
{
	struct turn turn = { .pace = pace, .udp_usec = &path->udp_usec };

	todo->burst.count = 0;
	if (!path->check) {
		path->wake_usec = path->due_usec;
		return;
	}
	path->wake_usec = check_step(path->check, &turn, now_usec, &todo->burst);
	todo->judge = path->check->done;
	for (unsigned i = 0; i < todo->burst.count; i++) {
		if (path_is_control(path, todo->burst.sizes[i]))
			path->control_sent++;
		else
			path->full_sent++;
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

/* How often each size is lost where both pass: the difference is the suspicion. */
static void path_learn_sizes(struct path *path, const struct round *round)
{
	for (unsigned i = 0; i < round->tries.count; i++) {
		const struct try *try = &round->tries.list[i];
		struct loss one = { 1, try->state == TRY_SILENT };

		if (try->state != TRY_SILENT && try->state != TRY_ANSWERED)
			continue;
		if (try->size == round->settings.full)
			loss_add(&path->full_loss, one);
		else if (try->size == round->settings.control)
			loss_add(&path->control_loss, one);
	}
}

static void path_learn(struct path *path, const struct check *check)
{
	const struct evidence *evidence = &check->result.main;

	for (unsigned i = 0; i < check->settings.flow_count; i++) {
		path_count_lost(path, &check->rounds[i]);
		if (check->rounds[i].evidence.outcome == OUTCOME_FULL)
			path_learn_sizes(path, &check->rounds[i]);
	}
	if (evidence->outcome == OUTCOME_NOTHING && check->result.has_second == SECOND_LIFE)
		evidence = &check->result.second;
	if (evidence->outcome == OUTCOME_UNDECIDED || evidence->outcome == OUTCOME_NOTHING)
		return;
	path->kind = evidence->kind;
	path->facts.ever_answered = true;
	path->known_mtu = evidence->passes;
	loss_add(&path->loss, check->result.loss);
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

/* What the second method and the walk found is kept while the fault stays what it is. */
static void path_keep(struct path *path, const struct check_result *result)
{
	uint32_t passes = result->main.passes;
	bool less = result->main.outcome == OUTCOME_LESS;

	if (less && result->has_second == SECOND_CONFIRM) {
		path->second = result->second;
		path->second_passes = passes;
		path->second_rounds = path->rounds;
	} else if (!less || passes != path->second_passes) {
		path->second_passes = 0;
	}
	if (less && result->locus != LOCUS_NONE) {
		path->locus = result->locus;
		path->hop = result->hop;
		path->locus_mtu = passes;
	} else if (!less || passes != path->locus_mtu) {
		path->locus_mtu = 0;
	}
}

static void path_weigh(struct path *path, const struct check_result *result, struct judgement *ret)
{
	bool life = result->has_second == SECOND_LIFE && result->main.outcome == OUTCOME_NOTHING;
	struct testimony testimony = {
		.main = &result->main,
		.second = life ? &result->second : path->second_passes ? &path->second : NULL,
		.flows = path->flow_count,
		.flows_full = result->flows_full,
		.locus = path->locus_mtu ? path->locus : LOCUS_NONE,
		.hop = path->hop,
		.lossy = result->lossy,
		.irregular = path->undecided >= UNDECIDED_MOST,
	};

	path->flows_faulty = result->flows_faulty;
	verdict_weigh(&path->facts, &testimony, ret, &path->evidence.echo_limit);
}

/* The verdict of the check, or of the trouble that forbids one. */
static void path_decide(struct path *path, struct check_result *result, struct judgement *ret)
{
	uint32_t limit;

	evidence_complete(&result->main, path);
	if (result->has_second)
		evidence_complete(&result->second, path);
	if (result->main.outcome == OUTCOME_UNDECIDED && result->main.dried_up)
		path->gentle_rounds = GENTLE_ROUNDS;
	else if (path->gentle_rounds > 0)
		path->gentle_rounds--;
	/* also where too much loss left it undecided: the next one goes on from there */
	path->hint = result->main.outcome == OUTCOME_LESS || result->main.outcome == OUTCOME_UNDECIDED ?
			     result->main.passes : 0;
	path_keep(path, result);
	if (result->sampled && !result->lossy) {
		/* it was looked into: suspicion begins anew */
		path->full_loss = (struct loss){ 0, 0 };
		path->control_loss = (struct loss){ 0, 0 };
	}
	path_weigh(path, result, ret);
	if (ret->verdict == VERDICT_UNKNOWN)
		return;
	limit = path->evidence.echo_limit;
	path->evidence = result->main.outcome == OUTCOME_NOTHING && result->has_second ?
				 result->second : result->main;
	path->evidence.echo_limit = limit;
}

struct check *path_judge(struct path *path, const struct pace *pace, const struct moment *moment,
			 struct todo *todo)
{
	struct check *check = path->check;
	struct check_result nothing = { .main = { .outcome = OUTCOME_NOTHING } };
	struct check_result *result = check ? &check->result : &nothing;
	struct judgement now;

	if (check)
		path_learn(path, check);
	path->rounds++;
	path->last_round_usec = moment->real_usec;
	path->check = NULL;
	path_decide(path, result, &now);
	if (now.verdict == VERDICT_UNKNOWN) {
		path->undecided++;
	} else {
		path_consider(path, &now, moment, todo);
		path->undecided = now.reason == REASON_IRREGULAR ? UNDECIDED_MOST + 1 : 0;
	}
	path_schedule(path, pace, moment->now_usec,
		      result->main.outcome == OUTCOME_LESS ? result->oversize_usec : 0);
	return check;
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
