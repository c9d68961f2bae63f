/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One path's life. A verdict that one round gives is only a candidate: it is announced when
 * enough rounds in a row agree, and until then they follow each other closely.
 */
#include "path.h"

#include "path_inside.h"

#include <errno.h>
#include <string.h>

#define FOLLOW_UP_USEC USEC_PER_SEC
#define URGENT_MOST 12U /* one that never says the same twice must not hold up all others */
#define YOUNG_USEC USEC_PER_SEC
#define RESTART_GAP_LEAST_USEC (20 * USEC_PER_MSEC)
#define RESTART_GAP_MOST_USEC USEC_PER_SEC
#define RESTART_QUIET_USEC (5 * USEC_PER_SEC)
#define UNREST_MOST_USEC (10 * USEC_PER_SEC)

/* --- when --- */

static void path_forget_candidate(struct path *path)
{
	path->streak = 0;
	path->differing = 0;
	path->undecided = 0;
}

bool path_endures(struct path *path, uint64_t now_usec)
{
	if (now_usec > path->restart_usec + RESTART_QUIET_USEC) {
		path->restart_gap_usec = 0;
		path->unrest_usec = now_usec;
	}
	if (!path->check || now_usec - path->unrest_usec <= UNREST_MOST_USEC)
		return false;
	path->outdated = true;
	return true;
}

struct check *path_restart(struct path *path, uint64_t now_usec)
{
	struct check *check = path->check;
	bool over = check && check->done;

	if (path_endures(path, now_usec) && !over)
		return NULL;
	path->check = NULL;
	path->outdated = false;
	path_forget_candidate(path);
	path_flows_forget(path);
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

bool path_is_urgent(const struct path *path)
{
	return path->streak > 0 && path->differing <= URGENT_MOST;
}

bool path_is_settled(const struct path *path)
{
	return !path->check && !path->outdated && path->streak == 0 &&
	       (path->undecided == 0 || path->undecided > UNDECIDED_MOST) && path->ended_usec != 0 &&
	       !path_flows_pending(path);
}

static void path_schedule(struct path *path, const struct pace *pace, uint64_t now_usec,
			  uint64_t oversize_usec)
{
	bool open = path->streak > 0 || path->outdated || path_flows_pending(path) ||
		    (path->undecided > 0 && path->undecided <= UNDECIDED_MOST) ||
		    (!path->discovered && clamp_is_near(&path->clamp, &path->settings->clamp));
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

/* --- what is kept --- */

const struct dossier *path_dossier(const struct path *path)
{
	static const struct dossier nothing;

	return path->dossier ? path->dossier : &nothing;
}

bool path_dossier_is_empty(const struct path *path)
{
	return path->streak == 0 && path->second_passes == 0 && path->locus_mtu == 0 &&
	       path_dossier(path)->findings.count == 0;
}

/* --- a check --- */

static bool path_is_control(const struct path *path, uint32_t size)
{
	return size <= path->check->settings.round.control;
}

static void path_count_refused(struct path *path, const struct answer *answer)
{
	if (path_is_control(path, answer->size))
		path->control_sent--;
	else if (answer->error != -ENOBUFS) /* some device took it, and dropped it */
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
	struct turn turn = { pace, path->link_passes, &path->address };

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

static bool judgement_same(const struct judgement *a, const struct judgement *b)
{
	return a->verdict == b->verdict && a->path_mtu == b->path_mtu;
}

/* The size that the fault leaves, whichever way it is on. */
static uint32_t judgement_number(const struct judgement *judgement)
{
	bool back = judgement->direction == DIRECTION_RETURN && judgement->return_mtu != 0;

	return back ? judgement->return_mtu : judgement->path_mtu;
}

/* The same fault, of which one may know more: an echo does not tell the way there from the way back. */
static bool judgement_agrees(const struct judgement *a, const struct judgement *b)
{
	return a->verdict == b->verdict && judgement_number(a) == judgement_number(b);
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
		judgement->reason == REASON_WRONG_LINK || reason_is_address(judgement->reason));
}

unsigned path_rounds_wanted(const struct path *path, const struct judgement *now)
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

/* What was found out about a fault goes with it; what another method said of a peer that keeps large
 * pings from itself stays true while it does. */
static void path_forget_fault(struct path *path)
{
	if (path->echo_limit != 0)
		return;
	path->second_passes = 0;
	path->locus_mtu = 0;
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
	if (now->verdict == VERDICT_CONSISTENT)
		path_forget_fault(path);
	clamp_announced(&path->clamp, now);
	path_forget_candidate(path);
}

/* A round without a report of its own that the kernel's memory of the same size explains: whoever told
 * of it before is the one that the kernel heard. */
static void judgement_keep_router(struct judgement *now, const struct judgement *was)
{
	if (now->verdict != VERDICT_REDUCED || now->router.family != ADDRESS_NONE)
		return;
	now->router = was->router;
	now->locus = was->locus;
	now->locus_address = was->locus_address;
}

/* Nothing new: details are taken over, a standing fault is said again when its time has come. */
static void path_confirm(struct path *path, struct judgement *now, const struct moment *moment,
			 struct todo *todo)
{
	uint64_t remind = path->settings->remind_usec;

	path_forget_candidate(path);
	judgement_keep_router(now, &path->announced);
	if (now->verdict == VERDICT_CONSISTENT)
		path_forget_fault(path);
	todo->details = judgement_details_differ(&path->announced, now);
	path->announced = *now;
	if (remind && now->severity >= SEVERITY_WARNING &&
	    moment->now_usec - path->told_usec >= remind) {
		path->told_usec = moment->now_usec;
		todo->remind = true;
	}
}

static void path_consider(struct path *path, struct judgement *now, const struct moment *moment,
			  struct todo *todo)
{
	unsigned wanted;

	if (judgement_same(now, &path->announced)) {
		path_confirm(path, now, moment, todo);
		return;
	}
	wanted = path_rounds_wanted(path, now);
	if (path->streak && judgement_agrees(now, &path->dossier->candidate)) {
		judgement_keep_router(now, &path->dossier->candidate);
		path->streak++;
	} else {
		path->streak = 1;
	}
	path->differing++;
	path->undecided = 0;
	path->dossier->candidate = *now;
	/* numbers that never agree twice are a fault all the same; flows that never do are luck, and so is
	 * one good round among them */
	if (path->streak >= wanted ||
	    (path->differing >= 3 * wanted && verdict_is_fault(now->verdict) &&
	     now->verdict != VERDICT_PARTIAL))
		path_announce(path, now, moment, todo);
}

struct check *path_judge(struct path *path, const struct pace *pace, const struct moment *moment,
			 struct todo *todo)
{
	struct check *check = path->check;
	struct check_result nothing = { .main = { .outcome = OUTCOME_NOTHING } };
	struct check_result *result = check ? &check->result : &nothing;
	struct judgement now;

	if (check) {
		path_learn(path, check);
		path_flows_learn(path, check, result);
	}
	path->outdated = path->outdated && check;
	path->rounds++;
	path->last_round_usec = moment->real_usec;
	path->check = NULL;
	path_decide(path, result, &now);
	clamp_count(&path->clamp, &now, &path->evidence, path->second_passes ? &path->dossier->second : NULL);
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

/* In place of the path's own word for the same thing, or beside the others. */
static void findings_explain(struct findings *findings, const struct finding *why)
{
	bool link = why->id == FINDING_LINK_BELOW_EXPECTED ||
		    why->id == FINDING_BRIDGE_LOWERED_BY_PORT;
	struct finding *found = NULL;

	for (unsigned i = 0; i < findings->count; i++)
		if (findings->list[i].id == why->id ||
		    (link && findings->list[i].id == FINDING_LINK_BELOW_EXPECTED))
			found = &findings->list[i];
	if (found)
		*found = *why;
	else
		findings_add(findings, why);
}

void path_lint(struct path *path, const struct link *link, const struct finding *why,
	       struct todo *todo)
{
	bool misconfigured = path->announced.verdict == VERDICT_MISCONFIGURED;
	struct findings now;

	lint_path(&path->facts, link, &path->route, path->rounds ? &path->evidence : NULL, &now);
	lint_kernel(path, &now);
	for (unsigned i = 0; i < now.count; i++)
		now.list[i].explains = now.list[i].explains && misconfigured;
	if (why) {
		struct finding explaining = *why;

		explaining.explains = true;
		findings_explain(&now, &explaining);
	}
	if (!findings_equal(&now, &path->dossier->findings)) {
		todo->findings_changed = true;
		todo->findings_before = path->dossier->findings;
	}
	/* a clock that runs is no change, but is to be read as it is */
	path->dossier->findings = now;
}
