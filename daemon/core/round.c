/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One round: takes answers, watches the time, and lets bursts go. What to ask is in round_plan.c,
 * what routers said in round_reports.c. Sends nothing and waits for nothing itself.
 */
#include "round.h"

#include <errno.h>
#include <string.h>

#include "round_plan.h"

#define UDP_SPACING_USEC (1050 * USEC_PER_MSEC) /* hosts limit port unreachable to one a second */
#define UDP_LEAST_USEC USEC_PER_SEC
#define PATIENCE_MOST 3U
#define DOUBTFUL_SILENT 2U
#define COOKIES_MOST 16U
#define GENTLE_USEC (1100 * USEC_PER_MSEC)
#define QUIET_USEC USEC_PER_SEC

void round_begin(struct round *round, const struct round_settings *settings, uint64_t now_usec)
{
	memset(round, 0, sizeof(*round));
	round->settings = *settings;
	round->goal = settings->full;
	round->began_usec = now_usec;
	round->suggested = settings->hint;
	round->evidence.full = settings->full;
	round->evidence.kind = settings->kind;
}

/* --- answers --- */

/* What a SYN's number is made of, the other way round. */
static struct try *round_try_of_syn(struct round *round, const struct answer *answer)
{
	for (unsigned i = 0; i < round->tries.count; i++) {
		struct try *try = &round->tries.list[i];
		uint16_t sequence = (uint16_t)(round->settings.first_sequence + i);
		uint32_t data = try->size - round->settings.plain;

		if (probe_syn_answered(round->settings.nonce, sequence, data, answer->acknowledged))
			return try;
	}
	return NULL;
}

static struct try *round_try(struct round *round, const struct answer *answer)
{
	uint16_t position = answer->sequence - round->settings.first_sequence;

	if (answer->kind == ANSWER_DELIVERED && round->settings.kind == PROBE_SYN)
		return round_try_of_syn(round, answer);
	return position < round->tries.count ? &round->tries.list[position] : NULL;
}

/* A quote may be too short to hold the nonce; its length then has to be right. Some routers
 * alter the quoted length (they subtract the header), so with the nonce it may differ. */
static bool report_fits(const struct round *round, const struct answer *answer, const struct try *try)
{
	uint64_t nonce = probe_nonce(round->settings.kind, round->settings.nonce, answer->sequence);

	if (round->settings.kind == PROBE_SYN && (uint16_t)answer->nonce != (uint16_t)nonce)
		return false;
	if (answer->has_nonce)
		return answer->nonce == nonce;
	return answer->size == try->size;
}

static bool answer_fits(const struct round *round, const struct answer *answer,
			const struct try *try)
{
	uint64_t nonce = probe_nonce(round->settings.kind, round->settings.nonce, answer->sequence);
	bool same_nonce = answer->has_nonce && answer->nonce == nonce;

	switch (answer->kind) {
	case ANSWER_ECHO:
		return same_nonce && answer->size <= try->size;
	case ANSWER_DELIVERED:
		if (round->settings.kind == PROBE_SYN)
			return true; /* its number fits: that is how it was found */
		if (round->settings.kind == PROBE_RESPONDER)
			return same_nonce && answer->size == try->size;
		return report_fits(round, answer, try);
	case ANSWER_COOKIE:
		return same_nonce;
	case ANSWER_REFUSED:
		/* errors come late, and may be another packet's */
		return same_nonce && try->state == TRY_WAITING;
	case ANSWER_TOO_BIG:
	case ANSWER_UNREACHABLE:
	case ANSWER_TIME_EXCEEDED:
		return report_fits(round, answer, try);
	}
	return false;
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

/* Hosts begin with 64, 128 or 255: what is missing is the way back. */
static uint8_t distance_of(uint8_t ttl)
{
	uint8_t begin = ttl <= 64 ? 64 : ttl <= 128 ? 128 : 255;

	return ttl == 0 ? 0 : (uint8_t)(begin - ttl + 1);
}

static void round_learn_rtt(struct round *round, const struct try *try, uint64_t now_usec)
{
	uint64_t rtt = now_usec - round->began_usec - try->sent_usec;

	if (rtt == 0)
		rtt = 1;
	if (rtt > round->rtt_usec)
		round->rtt_usec = rtt;
	if (round->evidence.rtt_usec == 0 || rtt < round->evidence.rtt_usec)
		round->evidence.rtt_usec = rtt;
}

static void round_delivered(struct round *round, const struct answer *answer, struct try *try,
			    uint64_t now_usec)
{
	bool more_comes = round->settings.kind == PROBE_RESPONDER;

	if (try->state == TRY_ANSWERED || try->state == TRY_DELIVERED || try->state == TRY_RECEIPT)
		return;
	/* somebody took it apart on the way, against its DF: it did not pass */
	if (answer->fragment != 0)
		return;
	round_learn_rtt(round, try, now_usec);
	round->evidence.distance = distance_of(answer->ttl);
	try->state = more_comes ? TRY_RECEIPT : TRY_DELIVERED;
}

static void round_echo(struct round *round, const struct answer *answer, struct try *try,
		       uint64_t now_usec)
{
	if (try->state == TRY_ANSWERED)
		return;
	/* some hosts cut their replies short: it arrived, and nothing is known of the way back */
	if (answer->size < try->size) {
		round_delivered(round, answer, try, now_usec);
		round->evidence.cut_short |= try->size == round->settings.full;
		return;
	}
	if (try->state != TRY_RECEIPT)
		round_learn_rtt(round, try, now_usec);
	round->evidence.distance = distance_of(answer->ttl);
	try->state = TRY_ANSWERED;
	if (try->size == round->settings.full)
		round->evidence.fragment = answer->fragment;
}

/* Every time so far, and more than once. */
static bool round_was_dropped(const struct round *round, const struct try *now)
{
	unsigned before = 0;

	if (now->size <= round->settings.control)
		return false;
	for (const struct try *try = round->tries.list; try < now; try++) {
		if (try->size != now->size || try->burst == now->burst)
			continue;
		if (try->state == TRY_ANSWERED || try->state == TRY_DELIVERED ||
		    try->state == TRY_RECEIPT)
			return false;
		before += try->state == TRY_VOID || try->state == TRY_SILENT;
	}
	return before > 0;
}

#define SHORT_MOST 4U /* controls */

static void round_refused(struct round *round, const struct answer *answer, struct try *try)
{
	bool about_size = answer->error == -EMSGSIZE || answer->error == -EPERM;
	bool control = try->size == round->settings.control;
	bool passing = error_is_shortage(answer->error);

	/* a full queue on this host says nothing about the path, but does not meet one size again and
	 * again: a veth drops so what its other end is too small for, and it is lost like any other */
	if (answer->error == -ENOBUFS && round_was_dropped(round, try))
		return;
	try->state = TRY_VOID;
	if (answer->error == -ENOBUFS)
		return;
	if (control) {
		round->evidence.error = answer->error;
		round->evidence.error_from = answer->from;
	}
	/* a shortage that does not pass leaves nothing to ask with */
	if (passing)
		passing = round_count(round, round->settings.control, TRY_VOID) < SHORT_MOST;
	if (about_size || (control && !passing))
		try->state = TRY_REFUSED;
}

static void round_unreachable(struct round *round, const struct answer *answer)
{
	round->evidence.error = answer->error;
	round->evidence.error_from = answer->from;
	/* no responder there */
	if (round->settings.kind == PROBE_RESPONDER && answer->error == -ECONNREFUSED)
		round->hopeless = true;
}

bool round_answer(struct round *round, const struct answer *answer, uint64_t now_usec)
{
	struct try *try;

	if (round->done || !probe_kind_fits(round->settings.kind, answer))
		return false;
	try = round_try(round, answer);
	if (!try || !answer_fits(round, answer, try))
		return false;
	switch (answer->kind) {
	case ANSWER_ECHO:
		round_echo(round, answer, try, now_usec);
		break;
	case ANSWER_DELIVERED:
		round_delivered(round, answer, try, now_usec);
		break;
	case ANSWER_COOKIE:
		try->state = TRY_ASKED_AGAIN;
		/* one that never takes its own cookies is no responder */
		round->hopeless = ++round->cookies > COOKIES_MOST;
		break;
	case ANSWER_TOO_BIG:
		if (try->state != TRY_WAITING && try->state != TRY_SILENT)
			break;
		try->state = TRY_REPORTED;
		round_report(round, answer, try);
		break;
	case ANSWER_REFUSED:
		round_refused(round, answer, try);
		break;
	case ANSWER_UNREACHABLE:
		round_unreachable(round, answer);
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
		/* the receipt was read, the answer may have been what was dropped */
		if (try->state == TRY_RECEIPT || (try->state == TRY_DELIVERED &&
						  round->settings.kind == PROBE_RESPONDER))
			try->state = TRY_ASKED_AGAIN;
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
		uint64_t until = round->began_usec + try->sent_usec + wait;
		bool back = round->tries.view == VIEW_RETURN && try->state == TRY_RECEIPT;

		if (try->state != TRY_WAITING && try->state != TRY_VOID && !back)
			continue;
		if (until > now_usec)
			latest = until > latest ? until : latest;
		else if (try->state == TRY_WAITING)
			try->state = TRY_SILENT;
		else if (back)
			try->state = TRY_DELIVERED;
	}
	return latest;
}

bool round_is_doubtful(const struct round *round)
{
	return !round->done &&
	       (round->settling ||
		(search_floor(&round->tries) == 0 &&
		 round_count(round, round->settings.control, TRY_SILENT) >= DOUBTFUL_SILENT));
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

static void round_note_oversize(struct round *round, uint64_t now_usec, unsigned end)
{
	uint32_t largest = round->plan[end - 1];

	if (end == round->plan_count && plan_is_quiet(round, now_usec))
		round->quiet++;
	if (largest > round->settings.control && largest > search_floor(&round->tries))
		round->oversize_usec = now_usec;
}

static void round_send(struct round *round, uint64_t now_usec, struct burst *ret)
{
	unsigned first = round->plan_sent;
	unsigned end = round_is_serial(round) ? first + 1 : round->plan_count;

	round_note_oversize(round, now_usec, end);
	ret->kind = round->settings.kind;
	ret->nonce = round->settings.nonce;
	ret->count = end - first;
	ret->first_sequence = round->settings.first_sequence + round->tries.count;
	for (unsigned i = first; i < end; i++) {
		ret->sizes[i - first] = round->plan[i];
		ret->ttls[i - first] = 0;
		round->tries.list[round->tries.count++] = (struct try){
			.sent_usec = (uint32_t)(now_usec - round->began_usec),
			.size = (uint16_t)round->plan[i],
			.burst = (uint8_t)round->bursts,
			.state = TRY_WAITING,
		};
	}
	round->plan_sent = end;
	round->send_usec = 0;
	if (end < round->plan_count)
		return;
	round->bursts++;
	round->plan_count = 0;
	round->plan_sent = 0;
}

/* What was planned is known by now. */
static void round_drop_plan(struct round *round)
{
	if (round->plan_sent > 0)
		round->bursts++;
	round->plan_count = 0;
	round->plan_sent = 0;
	round->send_usec = 0;
}

static uint32_t plan_bytes(const struct round *round)
{
	uint32_t bytes = 0;

	for (unsigned i = round->plan_sent; i < round->plan_count; i++) {
		bytes += round->plan[i];
		if (round_is_serial(round))
			break;
	}
	return bytes;
}

uint64_t turn_book_slow(const struct turn *turn, uint64_t at_usec, unsigned patience)
{
	return turns_book(&turn->pace->turns, turn->to, at_usec, UDP_SPACING_USEC << patience);
}

bool turn_leave_slow(const struct turn *turn, uint64_t now_usec, uint64_t *ret_again_usec)
{
	return turns_leave(&turn->pace->turns, turn->to, now_usec, UDP_LEAST_USEC, ret_again_usec);
}

/* A host whose other addresses are asked too, or that others ask, answers us less often. */
static unsigned round_patience(const struct round *round)
{
	unsigned silent = round_count(round, round->settings.control, TRY_SILENT);
	unsigned most = search_floor(&round->tries) > 0 ? PATIENCE_MOST : 1;

	return silent < most ? silent : most;
}

static uint64_t round_book(struct round *round, struct turn *turn, uint64_t now_usec)
{
	uint64_t at = pace_book(turn->pace, now_usec, plan_bytes(round));

	if (round->settings.gentle) {
		at = at > round->gentle_usec ? at : round->gentle_usec;
		round->gentle_usec = at + GENTLE_USEC;
	}
	if (round->settings.kind != PROBE_UDP)
		return at;
	return turn_book_slow(turn, at, round_patience(round));
}

/* Many paths often lead through one bottleneck. It is a suggestion, as a report is. */
static uint64_t round_plan_with_others(struct round *round, const struct turn *turn,
				       uint64_t now_usec)
{
	uint64_t again;

	if (!round->heard_others && turn->passes && *turn->passes && round->suggested == 0) {
		round->heard_others = true;
		round->suggested = *turn->passes;
	}
	again = round_plan(round, now_usec);
	if (turn->passes && round->boundary)
		*turn->passes = round->boundary;
	return again;
}

uint64_t round_step(struct round *round, struct turn *turn, uint64_t now_usec,
		    struct burst *ret_burst)
{
	uint64_t again = 0;

	ret_burst->count = 0;
	while (!round->done && again <= now_usec) {
		uint64_t waiting = round_expire(round, now_usec);
		bool enough = search_floor(&round->tries) >= round->goal;

		if (enough)
			round_drop_plan(round);
		if (round->send_usec == 0 && waiting > now_usec && !enough)
			return waiting;
		if (round->plan_count == 0)
			again = round_plan_with_others(round, turn, now_usec);
		if (round->plan_count == 0)
			continue;
		if (round->send_usec == 0)
			round->send_usec = round_book(round, turn, now_usec);
		if (now_usec < round->send_usec)
			return round->send_usec;
		if (round->settings.kind == PROBE_UDP &&
		    !turn_leave_slow(turn, now_usec, &round->send_usec))
			return round->send_usec;
		round_send(round, now_usec, ret_burst);
		return now_usec + round_wait(round);
	}
	return round->done ? USEC_NEVER : again;
}
