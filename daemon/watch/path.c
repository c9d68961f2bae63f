/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One path's turn: asks the core, and does what it says. The only place with effects: probes,
 * journal, bus. Decides nothing itself.
 */
#include "state.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/random.h>

#define LOOK_ROUNDS 4

/* --- memory of checks: only as many as run at once --- */

#define CROWD 256U /* checks at once, more than ordinary work has */

static struct check *check_take(struct watch *watch, const struct path *path)
{
	struct check *check;

	if (path->flow_count == 1 && watch->spare_count > 0)
		check = watch->spare_checks[--watch->spare_count];
	else
		check = malloc(path_check_size(path));
	watch->check_count += check != NULL;
	if (watch->check_count > watch->checks_most)
		watch->checks_most = watch->check_count;
	return check;
}

/* What a crowd needed lies between what stays, and does not go back by itself. */
static void checks_trim(struct watch *watch)
{
	if (watch->check_count > 0 || watch->checks_most <= CROWD)
		return;
	watch->checks_most = 0;
	malloc_trim(0);
}

void watch_check_give_back(struct watch *watch, struct check *check)
{
	const unsigned most = sizeof(watch->spare_checks) / sizeof(watch->spare_checks[0]);

	if (!check)
		return;
	watch->check_count--;
	if (check->settings.flow_count == 1 && watch->spare_count < most)
		watch->spare_checks[watch->spare_count++] = check;
	else
		free(check);
	checks_trim(watch);
}

/* --- memory of what is kept of paths that are not simply good --- */

static bool dossier_lend(struct watch *watch, struct path *path)
{
	if (path->dossier)
		return true;
	path->dossier = watch->spare_dossier ? watch->spare_dossier :
					       calloc(1, sizeof(struct dossier));
	watch->spare_dossier = NULL;
	return path->dossier != NULL;
}

static void dossier_take_back(struct watch *watch, struct path *path)
{
	struct dossier *dossier = path->dossier;

	if (!path_dossier_is_empty(path))
		return;
	path->dossier = NULL;
	if (watch->spare_dossier) {
		free(dossier);
		return;
	}
	*dossier = (struct dossier){ 0 };
	watch->spare_dossier = dossier;
}

/* Whoever can guess these can answer in a peer's name: without them nothing is asked. So few bytes
 * come as a whole (random(7)). */
static bool moment_roll(struct moment *moment)
{
	return getrandom(moment->random, sizeof(moment->random), 0) == sizeof(moment->random);
}

/* --- effects --- */

static struct probe path_probe(const struct path *path, const struct flow *flow, enum probe_kind kind)
{
	struct probe probe = {
		.kind = kind,
		.cookie = flow->cookie,
		.to = path->address,
		.from = path->from,
		.link = path->bound_link,
		.ident = flow->ident,
		.port = path_port(path, kind),
	};

	/* their checksums hold the source */
	if (kind != PROBE_ECHO && probe.from.family == ADDRESS_NONE)
		probe.from = path->route.source;
	return probe;
}

/* A SYN whose answer was lost stands half-open at the peer and would swallow the next one. */
static void flow_end_syn(struct watch *watch, struct flow *flow)
{
	struct probe probe = path_probe(flow->path, flow, PROBE_SYN);

	if (!flow->syn_open)
		return;
	flow->syn_open = false;
	probe.nonce = flow->syn_nonce;
	probe.sequence = flow->syn_sequence;
	probe.size = flow->path->address.family == ADDRESS_IPV6 ? 60 : 40;
	prober_end_syn(watch->prober, &probe);
}

static void flow_begin_syn(struct watch *watch, struct flow *flow, const struct probe *probe)
{
	flow_end_syn(watch, flow);
	flow->syn_open = true;
	flow->syn_nonce = probe->nonce;
	flow->syn_sequence = probe->sequence;
}

static void path_send(struct watch *watch, struct path *path, const struct burst *burst)
{
	struct flow *flow = &path->flows[burst->flow];
	struct probe probe;
	int r = watch_flow_keep_port(watch, flow, burst->kind);

	probe = path_probe(path, flow, burst->kind);
	for (unsigned i = 0; i < burst->count; i++) {
		watch->burst_bytes += burst->sizes[i];
		probe.size = burst->sizes[i];
		probe.ttl = burst->ttls[i];
		probe.sequence = burst->first_sequence + i;
		probe.nonce = probe_nonce(burst->kind, burst->nonce, probe.sequence);
		if (r < 0) {
			prober_refuse(watch->prober, &probe, r);
			continue;
		}
		if (probe.kind == PROBE_SYN)
			flow_begin_syn(watch, flow, &probe);
		prober_send(watch->prober, &probe);
	}
}

/* Its verdict has raised the alarm. */
static enum severity finding_severity(const struct path *path, const struct finding *finding)
{
	bool raised = verdict_is_fault(path->announced.verdict) &&
		      path->announced.severity > SEVERITY_NOTICE;

	return finding->id == FINDING_CONNECTIONS_STALLED && raised ? SEVERITY_NOTICE :
								      finding->severity;
}

static void path_tell_findings(struct watch *watch, const struct path *path, const struct todo *todo)
{
	const struct findings *now = &path_dossier(path)->findings;
	const struct peer *peer = &watched_of(path)->peer;

	for (unsigned i = 0; i < now->count; i++) {
		const struct finding *finding = &now->list[i];

		/* what the verdict's own record says needs no second one */
		if (!findings_find(&todo->findings_before, finding->id) && !finding->explains)
			journal_finding(&watch->journal, peer, path, finding, true,
					finding_severity(path, finding));
	}
	for (unsigned i = 0; i < todo->findings_before.count; i++) {
		const struct finding *finding = &todo->findings_before.list[i];

		if (!findings_find(now, finding->id) && !finding->explains)
			journal_finding(&watch->journal, peer, path, finding, false, SEVERITY_OK);
	}
}

/* Where this host's own fault was told of before, what follows from it is no second alert. */
static void path_tell_verdict(struct watch *watch, const struct path *path,
			      const struct judgement *before)
{
	const struct peer *peer = &watched_of(path)->peer;
	const struct finding *why = findings_explaining(&path_dossier(path)->findings);

	if (why && verdict_is_fault(path->announced.verdict) && watch_tell_alarmed(watch, why))
		journal_verdict_aside(&watch->journal, peer, path, before, &path->announced);
	else
		journal_verdict(&watch->journal, peer, path, before, &path->announced);
}

static void path_tell(struct watch *watch, struct path *path, const struct todo *todo)
{
	struct peer *peer = &watched_of(path)->peer;
	bool first_good = todo->before.verdict == VERDICT_UNKNOWN &&
			  path->announced.verdict == VERDICT_CONSISTENT;

	/* who asked gets the answer; nobody else does */
	if (peer->origin == ORIGIN_REQUEST)
		return;
	if (todo->announced && !first_good)
		path_tell_verdict(watch, path, &todo->before);
	if (todo->findings_changed)
		path_tell_findings(watch, path, todo);
	if (todo->remind)
		journal_reminder(&watch->journal, peer, path);
	if (todo->announced && todo->before.verdict != path->announced.verdict)
		bus_verdict_changed(watch->bus, peer, path, &todo->before);
	if (todo->announced || todo->details || todo->findings_changed)
		bus_peer_changed(watch->bus, peer);
	watch->changed |= todo->announced || todo->details || todo->findings_changed;
}

/* There is no memory for what it says: it will be made again. */
static void path_put_off(struct watch *watch, struct path *path, uint64_t now_usec)
{
	watch_check_give_back(watch, path->check);
	path->check = NULL;
	path->due_usec = path->wake_usec = now_usec + USEC_PER_SEC;
}

static void path_find(struct watch *watch, struct path *path, struct todo *todo)
{
	struct finding why;

	path_lint(path, links_by_index(watch->links, path->route.link),
		  explain_fault(&watch->roster, path, &why) ? &why : NULL, todo);
}

void watch_path_lint(struct watch *watch, struct path *path)
{
	struct todo todo = { 0 };

	/* what it says will be said by the next round */
	if (!dossier_lend(watch, path))
		return;
	path_find(watch, path, &todo);
	path_tell(watch, path, &todo);
	dossier_take_back(watch, path);
}

bool watch_path_look(struct watch *watch, struct path *path, uint64_t now_usec)
{
	struct peer *peer = &watched_of(path)->peer;
	uint32_t before = path->facts.kernel_mtu;
	bool differs = watch_look(watch, path, now_usec);

	if (before != path->facts.kernel_mtu && peer->origin != ORIGIN_REQUEST)
		bus_peer_changed(watch->bus, peer);
	return differs;
}

/* What the kernel learns by itself is in no netlink group. A healthy path is asked about now and
 * then only: it is a question to the kernel for each. */
static bool path_wants_look(const struct path *path)
{
	return path->announced.verdict != VERDICT_CONSISTENT || path->rounds % LOOK_ROUNDS == 0 ||
	       path->route.exception_sec > 0;
}

/* The round is over. False when it turned out to be worth nothing. */
static bool path_close(struct watch *watch, struct path *path, const struct moment *moment,
		       struct todo *todo)
{
	bool good = path->check && !check_was_silent(path->check);
	bool news = watch->links_dirty || watch->hints.count > 0 || watch->hints.all;

	if (!dossier_lend(watch, path)) {
		path_put_off(watch, path, moment->now_usec);
		return false;
	}
	if ((!good || news) && watch_look(watch, path, moment->now_usec) &&
	    !path_endures(path, moment->now_usec)) {
		watch_path_restart(watch, path, moment->now_usec);
		return false;
	}
	witness_compare(&watch->witnesses, path);
	for (unsigned i = 0; i < path->flow_count; i++)
		flow_end_syn(watch, &path->flows[i]);
	watch_check_give_back(watch, path_judge(path, &watch->pace, moment, todo));
	witness_update(&watch->witnesses, path);
	for (unsigned i = 0; i < path->flow_count; i++)
		watch_flow_release_ports(watch, &path->flows[i],
					 watch->portless.count > 0 ? PROBE_ECHO : path->kind);
	path_find(watch, path, todo);
	return true;
}

void watch_paths_overflow(struct watch *watch)
{
	WATCH_PATHS(watch, path)
		path_on_overflow(path);
	watch_requests_overflow(watch);
}

/* Asks again later where the kernel lost packets: the silence may be of its making. */
static bool path_lost_by_kernel(struct watch *watch, const struct path *path)
{
	if (!path->check || !check_was_silent(path->check) || !prober_check_overflow(watch->prober))
		return false;
	watch_paths_overflow(watch);
	return true;
}

static void path_do(struct watch *watch, struct path *path, const struct moment *moment,
		    struct todo *todo)
{
	if (todo->judge && path_lost_by_kernel(watch, path))
		watch_path_restart(watch, path, moment->now_usec);
	else if (todo->judge && path_close(watch, path, moment, todo)) {
		path_tell(watch, path, todo);
		watch_clamp_path(watch, path);
		dossier_take_back(watch, path);
		watch_tell_soon(watch);
		/* a name that leads nowhere may lead elsewhere by now */
		if (verdict_is_fault(path->announced.verdict) || path->facts.trouble)
			watch_peer_resolve(watch, watched_of(path));
	}
	watch_path_put(watch, path);
}

/* False when it is to come again later. */
static bool path_admit(struct watch *watch, struct path *path, uint64_t now_usec)
{
	uint64_t at;

	if (!path->admitted && !path_is_urgent(path) && pace_room(&watch->pace) > now_usec) {
		watch_path_hold(watch, path, WAITS_FOR_BUDGET);
		return false;
	}
	at = path->admitted ? now_usec : pace_admit(&watch->pace, now_usec);
	path->admitted = at > now_usec;
	if (path->admitted) {
		path->wake_usec = at;
		watch_path_put(watch, path);
	}
	return !path->admitted;
}

/* False: it is to wait for one that others have now. */
static bool path_has_port(struct watch *watch, struct path *path)
{
	int r = watch_flow_keep_port(watch, &path->flows[0], path->check->settings.round.kind);

	if (r >= 0 || !error_is_shortage(r) || watch->ports_kept == 0)
		return true;
	watch_check_give_back(watch, path->check);
	path->check = NULL;
	watch_path_hold(watch, path, WAITS_FOR_PORT);
	return false;
}

void watch_path_run(struct watch *watch, struct path *path, struct moment *moment)
{
	struct todo todo = { 0 };

	if (path_is_due(path, moment->now_usec)) {
		struct check *check;

		if (!path_admit(watch, path, moment->now_usec))
			return;
		if (path_wants_look(path))
			watch_path_look(watch, path, moment->now_usec);
		else if (path->address.family == ADDRESS_IPV6)
			watch_look_ipv6(watch, path->route.link, moment->now_usec);
		if (!path->facts.trouble && !moment_roll(moment)) {
			path_put_off(watch, path, moment->now_usec);
			watch_path_put(watch, path);
			return;
		}
		check = path->facts.trouble ? NULL : check_take(watch, path);
		if (check) {
			path_begin(path, check, moment);
			if (!path_has_port(watch, path))
				return;
		} else {
			todo.judge = true;
		}
	}
	while (!todo.judge) {
		path_on_time(path, &watch->pace, moment->now_usec, &todo);
		if (todo.burst.count == 0)
			break;
		path_send(watch, path, &todo.burst);
	}
	path_do(watch, path, moment, &todo);
}
