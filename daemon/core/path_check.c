/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a path's next check is to find out, and what the last one found. When it begins, and what
 * is announced of it, is in path.c.
 */
#include "path_inside.h"

#include <errno.h>
#include <string.h>

#define LONGEST_USEC (300 * USEC_PER_SEC) /* of a round; the budget may hold it up */
#define GENTLE_ROUNDS 16U /* after so many the peer is trusted with bursts again */
#define SLOW_SAMPLES_MOST 64U
#define SANE_IPV4 552U /* Linux takes what is below for this, without DF */
#define PORT_SYN 7U        /* closed nearly everywhere, and a closed port answers just as well */
#define PORT_UDP 33434U
#define PORT_RESPONDER 8899U
#define FIRST_SIGN_TRIES 2U /* times Tries= before a path counts as dead */
#define WITNESS_ROUNDS 4U   /* an unconfirmed fault asks for another method so often */
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

/* What is lost on the way back only echoes and responders see: one that answers in their place while they
 * are not heard must not call the path good. */
static bool path_needs_echo(const struct path *path)
{
	return path->announced.verdict == VERDICT_BLACK_HOLE &&
	       path->announced.direction == DIRECTION_RETURN && path->flow_count == 1;
}

/* The first method, and with Method=auto the others, best informed first. */
static void path_choose_kinds(const struct path *path, struct check_settings *settings)
{
	static const enum probe_kind order[] = { PROBE_ECHO, PROBE_RESPONDER, PROBE_SYN, PROBE_UDP };
	/* the hash of a bundle takes ports, and seldom an echo's identifier */
	enum probe_kind first = path->flow_count > 1 ? PROBE_SYN : PROBE_ECHO;
	bool anew = path->rounds % ASK_ANEW_ROUNDS == 0 || path_needs_echo(path);
	enum probe_kind in_use = anew ? first : path->kind;

	settings->round.kind = kind_of(path->settings->method, in_use);
	settings->fall_back = path->settings->method == METHOD_AUTO ||
			      path->settings->method == METHOD_RESPONDER;
	settings->only_life = path->settings->method == METHOD_RESPONDER;
	/* an echo tells whether a way back that is smaller says so; it or a port, whether the peer lives */
	if (path->settings->method == METHOD_RESPONDER) {
		settings->others[settings->other_count++] = PROBE_ECHO;
		settings->others[settings->other_count++] = PROBE_SYN;
	}
	if (path->settings->method != METHOD_AUTO)
		return;
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i] != settings->round.kind)
			settings->others[settings->other_count++] = order[i];
}

static uint32_t facts_full(const struct path_facts *facts)
{
	return facts->expected < facts->capacity ? facts->expected : facts->capacity;
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
	ret->full = facts_full(facts);
	ret->control = facts->ipv6 ? CONTROL_IPV6 : CONTROL_IPV4;
	/* RFC 791 section 3.2, RFC 8200 section 5 */
	ret->least = facts->ipv6 ? IPV6_SMALLEST_MTU : CONTROL_IPV4;
	ret->sane = facts->ipv6 ? IPV6_SMALLEST_MTU : SANE_IPV4;
	ret->plain = facts->ipv6 ? 60 : 40;
	ret->tries = settings->tries;
	ret->plain_too = true;
	ret->longest_usec = LONGEST_USEC * path->flow_count;
	ret->first_sign = FIRST_SIGN_TRIES * settings->tries;
	ret->followed_up = settings->fail_after > 1;
	ret->hint = path->hint;
	if (path->streak > 0 && path->evidence.outcome == OUTCOME_LESS && path->evidence.passes == path->hint &&
	    !path->evidence.reported)
		ret->proven = path->hint;
	ret->gentle = path->gentle_rounds > 0;
	if (ret->control > ret->full)
		ret->control = ret->full;
}

/* Would one more round like the last one be announced? */
static bool path_is_near_hole(const struct path *path)
{
	const struct judgement *said = &path_dossier(path)->candidate;
	bool candidate = said->verdict == VERDICT_BLACK_HOLE || said->verdict == VERDICT_PARTIAL;

	if (path->settings->fail_after == 1)
		return true;
	return path->streak > 0 && candidate &&
	       path->streak + 1 >= path_rounds_wanted(path, said);
}

/* What some flows are denied others may have used up. */
static bool path_asks_in_turn(const struct path *path)
{
	bool partial = path_dossier(path)->candidate.verdict == VERDICT_PARTIAL ||
		       path->announced.verdict == VERDICT_PARTIAL;

	return path->flow_count > 1 &&
	       (path->gentle_rounds > 0 || path->told_elsewhere || (path->streak > 0 && partial));
}

/* Twice the rate, when the small ones are given the benefit of the doubt. */
static bool loss_is_suspicious(struct loss full, struct loss control)
{
	return full.lost >= 3 && control.sent >= 4 &&
	       full.lost * (control.sent + 2U) > 2U * (control.lost + 1U) * full.sent;
}

static bool path_suspects_loss(const struct path *path)
{
	if (path->announced.verdict == VERDICT_LOSSY ||
	    path_dossier(path)->candidate.verdict == VERDICT_LOSSY)
		return true;
	/* numbers that never agree: luck has a hand in what passes */
	if (path->differing >= 2 && path->streak <= 1)
		return true;
	return loss_is_suspicious(path->full_loss, path->control_loss);
}

/* The one that was asked may only have been unlucky, or not there yet. */
static bool path_wants_witness(const struct path *path)
{
	const struct judgement *said = &path->announced;

	if (said->verdict != VERDICT_BLACK_HOLE)
		return false;
	if (!said->confirmed)
		return path->rounds % WITNESS_ROUNDS == 0;
	/* another method found it: an echo that is asked anew knows less of it */
	return path->kind != PROBE_ECHO && path->second_passes == 0 && said->direction != DIRECTION_RETURN;
}

void path_begin(struct path *path, struct check *check, const struct moment *moment)
{
	bool near = path_is_near_hole(path);
	bool stale = path->rounds - path->second_rounds >= ASK_ANEW_ROUNDS;
	struct check_settings settings = {
		.flow_count = path->flow_count,
		.in_turn = path_asks_in_turn(path),
		/* what we told the kernel ourselves is no witness */
		.known_mtu = path->facts.clamp_mtu ? 0 : path->facts.kernel_mtu,
		.confirm = near || (path->second_passes != 0 && stale) || path_wants_witness(path),
		.walk = near && !path->facts.on_link,
		.sample = path_suspects_loss(path),
		.random = moment->random[0] ^ moment->random[1],
	};

	path->check_beside = path->route.exception_sec ? path->route.kernel_mtu : 0;
	path_set_round(path, moment, &settings.round);
	/* no hurry: what was used up comes back with time */
	if (settings.in_turn)
		settings.round.rtt_usec = 0;
	path_choose_kinds(path, &settings);
	settings.asked = path_flows_to_ask(path, settings.round.kind, settings.round.full);
	path->check = check;
	path->outdated = false;
	path->began_usec = moment->now_usec;
	check_begin(check, &settings, moment->now_usec);
}

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

/* Whether it came through, on both ways where both are measured. */
static bool try_is_counted(const struct try *try, enum probe_kind kind, bool *ret_lost)
{
	switch ((enum try_state)try->state) {
	case TRY_SILENT:
		*ret_lost = true;
		return true;
	case TRY_ANSWERED:
		*ret_lost = false;
		return true;
	case TRY_DELIVERED:
		*ret_lost = kind == PROBE_RESPONDER;
		return true;
	case TRY_WAITING:
	case TRY_RECEIPT:
	case TRY_REPORTED:
	case TRY_REFUSED:
	case TRY_ASKED_AGAIN:
	case TRY_VOID:
		break;
	}
	return false;
}

/* How often each size is lost where both pass: the difference is the suspicion. */
static void path_learn_sizes(struct path *path, const struct round *round)
{
	/* of a round that was not decided, every size that once passed */
	uint32_t least = round->evidence.outcome == OUTCOME_FULL ? round->settings.full :
								   round->settings.control + 1;

	for (unsigned i = 0; i < round->tries.count; i++) {
		const struct try *try = &round->tries.list[i];
		bool lost;

		if (!try_is_counted(try, round->settings.kind, &lost))
			continue;
		if (try->size >= least && try->size <= round->evidence.passes)
			loss_add(&path->full_loss, (struct loss){ 1, lost });
		else if (try->size == round->settings.control)
			loss_add(&path->control_loss, (struct loss){ 1, lost });
	}
}

/* Of the sizes that are counted each one passes. */
static bool evidence_is_whole(const struct evidence *evidence)
{
	if (evidence->outcome == OUTCOME_UNDECIDED)
		return evidence->passes > 0;
	return evidence->outcome == OUTCOME_FULL &&
	       (evidence->kind != PROBE_RESPONDER || evidence->return_passes >= evidence->full);
}

void path_learn(struct path *path, const struct check *check)
{
	const struct evidence *evidence = &check->result.main;

	path->told_elsewhere = check->result.told_elsewhere;
	for (unsigned i = 0; i < check->settings.flow_count; i++) {
		path_count_lost(path, &check->rounds[i]);
		if (evidence_is_whole(&check->rounds[i].evidence))
			path_learn_sizes(path, &check->rounds[i]);
	}
	if (evidence->outcome == OUTCOME_NOTHING && check->result.has_second == SECOND_LIFE &&
	    !check->settings.only_life)
		evidence = &check->result.second;
	if (evidence->outcome == OUTCOME_UNDECIDED || evidence->outcome == OUTCOME_NOTHING)
		return;
	path->kind = evidence->kind;
	path->facts.ever_answered = true;
	path->known_mtu = evidence->passes;
	path->measured_beside = path->check_beside;
	if (evidence->kind == PROBE_ECHO && evidence->outcome == OUTCOME_FULL && !evidence->fragment &&
	    !evidence->cut_short)
		path->facts.whole_back = evidence->full;
	loss_add(&path->loss, check->result.loss);
	if (evidence->rtt_usec)
		path->rtt_usec = path->rtt_usec ? (7 * path->rtt_usec + evidence->rtt_usec) / 8 :
						  evidence->rtt_usec;
}

static void evidence_complete(struct evidence *evidence, const struct path *path)
{
	struct address source = path->route.source;

	source.zone = evidence->error_from.zone;
	evidence->error_is_own = address_equal(&evidence->error_from, &source);
	evidence->refused_by_peer = evidence->error == -ECONNREFUSED &&
				    address_equal(&evidence->error_from, &path->address);
}

/* A firewall on the way that answers in the peer's name says nothing of what lies behind it. */
static bool second_stands_nearer(const struct check_result *result)
{
	return result->second.distance != 0 && result->main.distance != 0 &&
	       result->second.distance < result->main.distance;
}

/* What the second method and the walk found is kept while the fault stays what it is. */
static void path_keep(struct path *path, const struct check_result *result)
{
	uint32_t passes = result->main.passes;
	bool less = result->main.outcome == OUTCOME_LESS ||
		    (result->main.kind == PROBE_RESPONDER && result->main.return_passes < passes);

	if (less && result->has_second == SECOND_CONFIRM && !second_stands_nearer(result)) {
		path->dossier->second = result->second;
		path->second_passes = passes;
		path->second_rounds = path->rounds;
	} else if (less && passes != path->second_passes) {
		path->second_passes = 0;
	}
	if (less && result->locus != LOCUS_NONE) {
		path->locus = result->locus;
		path->router_fails = result->router_fails;
		path->dossier->hop = result->hop;
		path->locus_mtu = passes;
	} else if (less && passes != path->locus_mtu) {
		path->locus_mtu = 0;
	}
}

static void path_weigh(struct path *path, const struct check_result *result, struct judgement *ret)
{
	bool nothing = result->main.outcome == OUTCOME_NOTHING;
	bool life = result->has_second == SECOND_LIFE && nothing;
	/* what once bore a fault out does not speak for a path where nothing is answered any more */
	bool kept = path->second_passes != 0 && !nothing;
	struct testimony testimony = {
		.main = &result->main,
		.second = life ? &result->second : kept ? &path->dossier->second : NULL,
		.flows = result->flows_known,
		.flows_full = result->flows_full,
		.flows_dead = result->flows_dead,
		.locus = path->locus_mtu ? path->locus : LOCUS_NONE,
		.hop = path->dossier->hop,
		.router_fails = path->locus_mtu && path->router_fails,
		.only_life = life && path->settings->method == METHOD_RESPONDER,
		.lossy_there = result->lossy_there,
		.lossy_back = result->lossy_back,
		.irregular = path->undecided >= UNDECIDED_MOST,
	};

	path->flows_faulty = result->flows_faulty;
	verdict_weigh(&path->facts, &testimony, ret, &path->evidence.echo_limit);
}

/* Where a sample is small several of them are weighed together. */
static void path_take_sample(struct path *path, struct check_result *result)
{
	bool slow = result->main.kind == PROBE_UDP;
	/* of other checks smaller sizes may be counted too */
	bool passed = result->main.outcome == OUTCOME_FULL || result->full.lost < result->full.sent;

	if (!result->sampled || result->lossy_there || result->lossy_back)
		return;
	if (slow) {
		loss_add(&path->full_loss, result->full);
		loss_add(&path->control_loss, result->control);
		result->lossy_there = passed && loss_is_clear(path->full_loss, path->control_loss);
	}
	/* it was looked into: suspicion begins anew */
	if (!slow || path->full_loss.sent > SLOW_SAMPLES_MOST) {
		path->full_loss = (struct loss){ 0, 0 };
		path->control_loss = (struct loss){ 0, 0 };
	}
}

/* What a set of flows shows: the hash of a bundle takes ports, and seldom an echo's identifier. */
static void path_show_flows(const struct path *path, const struct check_result *result,
			    struct evidence *evidence)
{
	unsigned shown = path->flow_count;

	if (evidence->kind == PROBE_ECHO)
		shown = 1;
	else if (evidence->kind == PROBE_UDP && shown > FLOWS_SLOW)
		shown = result->flows_known;
	evidence->flows = (uint8_t)path->flow_count;
	evidence->flows_shown = (uint8_t)shown;
}

/* A sign of life by another method is one flow's, and no word for the others: the next round asks all of
 * them by it. */
static bool path_heard_one_flow(const struct path *path, const struct check_result *result)
{
	enum verdict was = path->announced.verdict;

	bool irregular = was == VERDICT_UNVERIFIABLE && path->announced.reason == REASON_IRREGULAR;
	/* once: the round after it is believed, whatever it asks */
	bool first = path->undecided == 0 || (irregular && path->undecided == UNDECIDED_MOST + 1);

	return path->flow_count > 1 && path->settings->method == METHOD_AUTO && first &&
	       result->main.outcome == OUTCOME_NOTHING && result->has_second == SECOND_LIFE &&
	       (was == VERDICT_PARTIAL || was == VERDICT_BLACK_HOLE || was == VERDICT_LOSSY || irregular);
}

/* What it asked for is not what this host sends now, or was refused while this host's own links changed:
 * no word of the path. */
static bool path_changed_under(const struct path *path, const struct check_result *result)
{
	return path->outdated &&
	       (result->main.refused || result->main.full != facts_full(&path->facts));
}

void path_decide(struct path *path, struct check_result *result, struct judgement *ret)
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
	path_take_sample(path, result);
	path_weigh(path, result, ret);
	clamp_hold_verdict(&path->facts, &path->announced, ret);
	if (path_heard_one_flow(path, result) &&
	    verdict_rank(ret->verdict) < verdict_rank(path->announced.verdict))
		ret->verdict = VERDICT_UNKNOWN;
	if (path_changed_under(path, result))
		ret->verdict = VERDICT_UNKNOWN;
	if (ret->verdict == VERDICT_UNKNOWN)
		return;
	limit = path->evidence.echo_limit;
	path->evidence = result->main.outcome == OUTCOME_NOTHING && result->has_second ?
				 result->second : result->main;
	path->evidence.echo_limit = limit;
	path_show_flows(path, result, &path->evidence);
	/* where echo is no measure of the path the other method takes its place */
	if (limit && path->second_passes)
		path->kind = path->dossier->second.kind;
	if (result->main.kind == PROBE_ECHO)
		path->echo_limit = limit;
	else if (result->main.outcome == OUTCOME_FULL)
		path->evidence.echo_limit = path->echo_limit;
}
