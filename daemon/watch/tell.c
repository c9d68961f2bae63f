/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of links: findings that stand, and MTUs that changed, each once and those that are
 * alike together. Whether a finding is told by itself the core decides.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <systemd/sd-daemon.h>

#include "../core/tower.h"

/* A link whose MTU changes again and again is told of more and more seldom, and then as it is. */
#define SAY_AGAIN_USEC USEC_PER_SEC
#define SAY_AGAIN_MOST_USEC (64 * USEC_PER_SEC)
#define RENEWED_USEC (600 * USEC_PER_SEC) /* back within that time: it comes and goes */
#define RECORDS_MOST 4U			  /* at once, of each kind; the rest is counted */

static const char *link_name(const struct watch *watch, int index)
{
	const struct link_state *state = roster_link_at(&watch->roster, index);

	return state ? state->link.name : "";
}

/* --- the findings that stand --- */

static struct standing *standing_find(const struct watch *watch, int link, enum finding_id id)
{
	for (unsigned i = 0; i < watch->standing_count; i++)
		if (watch->standings[i].link == link && watch->standings[i].finding.id == id)
			return &watch->standings[i];
	return NULL;
}

/* Paths over the link are asked at once whether they suffer from it. */
static void standing_ask(struct watch *watch, const struct standing *standing, uint64_t now_usec)
{
	explain_mark(&watch->roster, standing);
	WATCH_PATHS(watch, path)
	{
		if (!explain_concerns(&watch->roster, standing, path))
			continue;
		/* a check from before, or none soon */
		if (path->check || path->due_usec > now_usec + USEC_PER_SEC)
			watch_path_restart(watch, path, now_usec);
	}
}

/* What comes and goes all the time is told of more and more seldom. */
static void standing_ended(struct watch *watch, int index, uint64_t now_usec)
{
	struct watched_link *link = watch_link(watch, index);

	if (!link)
		return;
	if (!link->ended_usec || now_usec - link->ended_usec > RENEWED_USEC)
		link->ended_gap_usec = SAY_AGAIN_USEC;
	else if (link->ended_gap_usec < SAY_AGAIN_MOST_USEC)
		link->ended_gap_usec *= 2;
	link->ended_usec = now_usec;
}

static uint64_t standing_not_before(const struct watch *watch, int index)
{
	const struct watched_link *link = watch_link(watch, index);

	return link && link->ended_usec ? link->ended_usec + link->ended_gap_usec : 0;
}

static void standing_begin(struct watch *watch, struct standing *standing, int link,
			   const struct finding *finding, uint64_t now_usec)
{
	struct standing *known = standing_find(watch, link, finding->id);

	if (known && finding->severity <= known->finding.severity) {
		*standing = *known;
		standing->finding = *finding;
	} else {
		/* a worse one is another */
		if (known && known->told)
			standing_ended(watch, link, now_usec);
		*standing = (struct standing){.finding = *finding,
					      .link = link,
					      .since_usec = now_usec,
					      .not_before_usec = standing_not_before(watch, link)};
		standing_ask(watch, standing, now_usec);
	}
	if (known)
		known->link = 0; /* taken over */
}

static unsigned findings_count(const struct watch *watch)
{
	unsigned count = 0;

	for (unsigned i = 0; i < watch->roster.link_count; i++)
		count += watch->roster.links[i]->findings.count;
	return count;
}

/* --- what is alike is told together --- */

static void names_add(struct link_names *names, const char *name)
{
	if (names->count < LINK_NAMES_MOST)
		memcpy(names->list[names->count], name, strnlen(name, LINK_NAME_SIZE - 1) + 1);
	names->count++;
}

static bool findings_alike(const struct finding *a, const struct finding *b)
{
	return a->id == b->id && a->severity == b->severity && a->is == b->is &&
	       a->should == b->should && a->type == b->type && a->number == b->number &&
	       strcmp(finding_other(a), finding_other(b)) == 0;
}

/* Tells of list[0], and of those after it that are alike; these have their link set to 0. */
static void standings_tell_gone(struct watch *watch, struct standing *list, unsigned count,
				uint64_t now_usec)
{
	struct finding_news news = {.finding = &list[0].finding, .severity = SEVERITY_OK};

	for (unsigned i = 0; i < count; i++) {
		struct standing *one = &list[i];

		if (one->link == 0 || !one->told || !findings_alike(&one->finding, news.finding))
			continue;
		names_add(&news.links, finding_link(&one->finding));
		standing_ended(watch, one->link, now_usec);
		one->link = 0;
	}
	journal_link_finding(&watch->journal, &news);
}

/* Once there were enough records: how many more, and of which links. */
static void more_add(struct finding_news *more, struct finding *counter, const struct finding *one)
{
	if (more->links.count == 0)
		*counter = finding_make(FINDING_MORE, one->severity, NULL);
	more->finding = counter;
	counter->is++;
	if (one->severity > counter->severity)
		counter->severity = one->severity;
	names_add(&more->links, finding_link(one));
}

static void standings_end(struct watch *watch, struct standing *old, unsigned count,
			  uint64_t now_usec)
{
	struct finding_news more = {.severity = SEVERITY_OK};
	struct finding counter;
	unsigned records = 0;

	for (unsigned i = 0; i < count; i++) {
		if (old[i].link == 0 || !old[i].told || old[i].finding.id == FINDING_MORE)
			continue;
		if (records++ < RECORDS_MOST) {
			standings_tell_gone(watch, &old[i], count - i, now_usec);
			continue;
		}
		more_add(&more, &counter, &old[i].finding);
		standing_ended(watch, old[i].link, now_usec);
	}
	if (more.links.count > 0)
		journal_link_finding(&watch->journal, &more);
}

/* Those that are gone are left in the old list. */
static void standings_renew(struct watch *watch, uint64_t now_usec)
{
	unsigned count = findings_count(watch), total = 0;
	struct standing *list = calloc(count + 1, sizeof(*list)), *old = watch->standings;

	/* without memory they are looked at again with the next change */
	if (!list)
		return;
	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		const struct link_state *state = watch->roster.links[i];

		for (unsigned j = 0; j < state->findings.count; j++)
			standing_begin(watch, &list[total++], state->link.index,
				       &state->findings.list[j], now_usec);
	}
	standings_end(watch, old, watch->standing_count, now_usec);
	watch->standings = list;
	watch->standing_count = count;
	free(old);
}

/* --- findings that are due --- */

static void standings_tell_alike(struct watch *watch, unsigned first, enum telling telling)
{
	struct standing *list = watch->standings;
	struct finding_news news = {
		.finding = &list[first].finding,
		.appeared = true,
		.severity = list[first].finding.severity,
	};

	if (telling == TELL_ASIDE && news.severity > SEVERITY_NOTICE)
		news.severity = SEVERITY_NOTICE;
	for (unsigned i = first; i < watch->standing_count; i++) {
		if (!list[i].due || list[i].due != list[first].due ||
		    !findings_alike(&list[i].finding, news.finding))
			continue;
		names_add(&news.links, finding_link(&list[i].finding));
		list[i].told = true;
		list[i].alarmed = news.severity >= SEVERITY_WARNING;
		if (i != first)
			list[i].due = 0;
	}
	list[first].due = 0;
	journal_link_finding(&watch->journal, &news);
}

static void standings_tell_due(struct watch *watch)
{
	struct finding_news more = {.appeared = true};
	struct finding counter;
	unsigned records = 0;

	for (unsigned i = 0; i < watch->standing_count; i++) {
		struct standing *one = &watch->standings[i];

		if (!one->due)
			continue;
		if (records++ < RECORDS_MOST) {
			standings_tell_alike(watch, i, (enum telling)one->due);
			continue;
		}
		more_add(&more, &counter, &one->finding);
		one->told = true;
		one->alarmed = one->finding.severity >= SEVERITY_WARNING;
		one->due = 0;
	}
	if (more.links.count == 0)
		return;
	more.severity = counter.severity;
	journal_link_finding(&watch->journal, &more);
}

/* Returns when to come again, USEC_NEVER not at all. */
static uint64_t standings_tell(struct watch *watch, uint64_t now_usec)
{
	uint64_t next = USEC_NEVER;
	bool counted = false;

	for (unsigned i = 0; i < watch->standing_count; i++) {
		struct standing *one = &watch->standings[i];
		uint64_t again = USEC_NEVER;
		enum telling telling = TELL_NOT;

		if (!one->told && one->finding.id != FINDING_MORE) {
			if (!counted)
				tower_count_paths(&watch->roster);
			counted = true;
			telling = explain_telling(&watch->roster, one, now_usec, &again);
		}
		one->told |= telling == TELL_NOT;
		one->due = telling == TELL_ALONE || telling == TELL_ASIDE ? (uint8_t)telling : 0;
		if (telling == TELL_LATER && again < next)
			next = again;
	}
	standings_tell_due(watch);
	return next;
}

bool watch_tell_alarmed(const struct watch *watch, const struct finding *finding)
{
	for (unsigned i = 0; i < watch->standing_count; i++) {
		const struct standing *one = &watch->standings[i];

		if (one->alarmed && one->finding.id == finding->id &&
		    strcmp(one->finding.link, finding->link) == 0)
			return true;
	}
	return false;
}

/* --- changed MTUs --- */

static bool changes_alike(const struct watched_link *a, const struct watched_link *b)
{
	const struct link *a_now = &a->state.link, *b_now = &b->state.link;

	return a_now->mtu == b_now->mtu && a->said.mtu == b->said.mtu &&
	       a_now->ipv6_mtu == b_now->ipv6_mtu && a->said.ipv6_mtu == b->said.ipv6_mtu &&
	       a->cause.kind == b->cause.kind && a->cause.ipv6_reset == b->cause.ipv6_reset &&
	       strcmp(a->cause.link, b->cause.link) == 0;
}

static bool change_waits(const struct watched_link *link, uint64_t now_usec)
{
	return link->said_usec && now_usec < link->said_usec + link->said_gap_usec;
}

static void change_said(struct watched_link *link, uint64_t now_usec)
{
	uint64_t gap = link->said_gap_usec;

	if (gap == 0 || now_usec - link->said_usec > 2 * gap)
		link->said_gap_usec = SAY_AGAIN_USEC;
	else if (gap < SAY_AGAIN_MOST_USEC)
		link->said_gap_usec = 2 * gap;
	link->said = link->state.link;
	link->said_usec = now_usec;
	link->news = false;
}

/* Tells of the link at `first` and of those after it whose change is alike. */
static void changes_tell_alike(struct watch *watch, unsigned first, uint64_t now_usec)
{
	struct watched_link *link = (void *)watch->roster.links[first];
	const struct link before = link->said;
	struct link_news news = {
		.before = &before, .now = &link->state.link, .cause = &link->cause};

	for (unsigned i = first + 1; i < watch->roster.link_count; i++) {
		struct watched_link *other = (void *)watch->roster.links[i];

		if (!other->news || change_waits(other, now_usec) || !changes_alike(link, other))
			continue;
		names_add(&news.others, link_name(watch, other->state.link.index));
		change_said(other, now_usec);
	}
	change_said(link, now_usec);
	journal_link_mtu(&watch->journal, &news);
}

/* Returns when to come again, USEC_NEVER not at all. */
static uint64_t changes_tell(struct watch *watch, uint64_t now_usec)
{
	unsigned records = 0, more = 0;
	uint64_t next = USEC_NEVER;

	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];

		if (link->news && !watch_link_mtu_differs(&link->said, &link->state.link))
			link->news = false; /* there and back */
		if (!link->news)
			continue;
		/* in a storm all of them together wait as well */
		if (now_usec < watch->changes_usec && watch->changes_usec < next)
			next = watch->changes_usec;
		else if (change_waits(link, now_usec) &&
			 link->said_usec + link->said_gap_usec < next)
			next = link->said_usec + link->said_gap_usec;
		if (now_usec < watch->changes_usec || change_waits(link, now_usec))
			continue;
		if (records++ < RECORDS_MOST) {
			changes_tell_alike(watch, i, now_usec);
		} else {
			change_said(link, now_usec);
			more++;
		}
	}
	if (more > 0) {
		watch->changes_usec = now_usec + SAY_AGAIN_USEC;
		journal_plain(&watch->journal, LOG_INFO, "%u more links changed their MTU", more);
	}
	return next;
}

/* --- when --- */

void watch_links_tell(struct watch *watch, uint64_t now_usec)
{
	uint64_t findings, changes;

	for (unsigned i = 0; i < watch->roster.link_count; i++) {
		struct watched_link *link = (void *)watch->roster.links[i];

		if (link->fresh)
			bus_link_added(watch->bus, &link->state);
		link->fresh = false;
	}
	changes = changes_tell(watch, now_usec);
	standings_renew(watch, now_usec);
	findings = standings_tell(watch, now_usec);
	watch->tell_waits = findings != USEC_NEVER;
	if (changes < findings)
		findings = changes;
	sd_event_source_set_time(watch->tell_source, findings);
	sd_event_source_set_enabled(watch->tell_source,
				    findings == USEC_NEVER ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static int on_tell(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	struct moment moment, after;

	watch_moment(&moment);
	watch_links_tell(watch, moment.now_usec);
	watch_arm(watch);
	watch_moment(&after);
	watch->tell_again_usec = after.now_usec + 20 * (after.now_usec - moment.now_usec);
	return 0;
}

void watch_tell_soon(struct watch *watch)
{
	if (!watch->tell_waits)
		return;
	/* with many paths and findings it must not follow every round */
	sd_event_source_set_time(watch->tell_source, watch->tell_again_usec);
	sd_event_source_set_enabled(watch->tell_source, SD_EVENT_ONESHOT);
}

int watch_tell_init(struct watch *watch)
{
	int r = sd_event_add_time(watch->event, &watch->tell_source, CLOCK_MONOTONIC, UINT64_MAX, 1,
				  on_tell, watch);

	if (r < 0)
		return r;
	sd_event_source_set_priority(watch->tell_source, SD_EVENT_PRIORITY_NORMAL + 2);
	return sd_event_source_set_enabled(watch->tell_source, SD_EVENT_OFF);
}

void watch_tell_status(const struct watch *watch)
{
	const struct roster *roster = &watch->roster;
	char answering[64] = "";

	if (roster->answering_port)
		snprintf(answering, sizeof(answering), "; other hosts are answered on UDP port %u",
			 roster->answering_port);
	sd_notifyf(0, "STATUS=Watching %u peers and %u links: %u peers and %u links with a fault%s",
		   roster->peer_count, roster->link_count, roster_peers_faulty(roster),
		   roster_links_faulty(roster), answering);
}
