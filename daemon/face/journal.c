/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which record is written when, with which fields (mtuwatchd(8)). Says what it is told to say;
 * whether a change is worth a record is decided before.
 */
#include "journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "journal_record.h"
#include "messages.h"
#include "sentence.h"
#include "words.h"

static void record_add_address(struct record *record, const char *name,
			       const struct address *address)
{
	char text[ADDRESS_TEXT_SIZE];

	record_add(record, name, words_address(address, text));
}

void record_add_path(struct record *record, const struct peer *peer, const struct path *path)
{
	record_add(record, "MTUWATCH_PEER", peer->name);
	record_add_address(record, "MTUWATCH_ADDRESS", &path->address);
	record_add(record, "MTUWATCH_LINK", words_link(path));
	record_add_number(record, "MTUWATCH_LINK_MTU", path->link_mtu);
	record_add_number(record, "MTUWATCH_EXPECTED_MTU", path->facts.expected);
	record_add(record, "MTUWATCH_METHOD", words_path_method(peer, path));
}

/* Where a finding explains the verdict, its id stands beside it. */
static void record_add_explanation(struct record *record, const struct path *path,
				   const struct judgement *judgement)
{
	const struct findings *findings = &path_dossier(path)->findings;
	const struct finding *why = findings_explaining(findings);

	if (!why && findings->count > 0)
		why = &findings->list[0];
	if (verdict_is_fault(judgement->verdict) && why)
		record_add(record, "MTUWATCH_FINDING", words_finding(why->id));
}

static void record_add_judgement(struct record *record, const struct judgement *judgement)
{
	_free_text_ char *locus = words_locus(judgement);

	record_add(record, "MTUWATCH_VERDICT", words_verdict(judgement->verdict));
	record_add(record, "MTUWATCH_SEVERITY", words_severity(judgement->severity));
	record_add_number(record, "MTUWATCH_PATH_MTU", judgement->path_mtu);
	record_add_number(record, "MTUWATCH_RETURN_MTU", judgement->return_mtu);
	record_add(record, "MTUWATCH_DIRECTION", words_direction(judgement->direction));
	record_add(record, "MTUWATCH_LOCUS", locus);
	record_add(record, "MTUWATCH_CONFIRMED", judgement->confirmed ? "yes" : "no");
	record_add_address(record, "MTUWATCH_ROUTER", &judgement->router);
}

/* The same verdict with another number or router is judged by the number. */
static bool judgement_is_better(const struct judgement *before, const struct judgement *after)
{
	if (after->verdict == VERDICT_CONSISTENT)
		return true;
	if (before->verdict != after->verdict)
		return verdict_rank(after->verdict) < verdict_rank(before->verdict);
	return words_size(after) > words_size(before);
}

static char *change_sentence(const char *sentence, const struct judgement *before,
			     const struct judgement *after)
{
	const char *back = before->direction == DIRECTION_RETURN ? " on the way back" : "";
	uint32_t size = words_size(before);
	char *text;
	int n;

	if (before->verdict == VERDICT_UNKNOWN)
		return strdup(sentence);
	if (before->verdict != after->verdict && size && verdict_is_fault(before->verdict))
		n = asprintf(&text, "%s; was %s at %u bytes%s", sentence,
			     words_verdict(before->verdict), size, back);
	else if (before->verdict != after->verdict)
		n = asprintf(&text, "%s; was %s", sentence, words_verdict(before->verdict));
	else if (size != words_size(after))
		n = asprintf(&text, "%s; was %u bytes%s", sentence, size, back);
	else
		return strdup(sentence);
	return n < 0 ? NULL : text;
}

/* The verdict's own reason names the link already. */
static bool reason_names(const struct finding *why)
{
	return why->id == FINDING_LINK_BELOW_EXPECTED || why->id == FINDING_WRONG_LINK;
}

static char *explained_sentence(const struct path *path, const struct judgement *judgement,
				char *sentence)
{
	const struct finding *why = findings_explaining(&path_dossier(path)->findings);
	_free_text_ char *what = NULL;
	char *text;

	if (!sentence || !why || reason_names(why) || !verdict_is_fault(judgement->verdict))
		return sentence;
	what = words_finding_text(why);
	if (!what || asprintf(&text, "%s; explained by this: %s", sentence, what) < 0)
		return sentence;
	free(sentence);
	return text;
}

struct verdict_news {
	const struct peer *peer;
	const struct path *path;
	const struct judgement *before, *after;
};

static void verdict_record(struct journal *journal, const struct verdict_news *news, int priority)
{
	const struct judgement *before = news->before, *after = news->after;
	_done_record_ struct record record = RECORD_INIT(priority);
	_free_text_ char *sentence = words_verdict_sentence(news->peer, news->path, after);
	_free_text_ char *text = sentence ? change_sentence(sentence, before, after) : NULL;

	text = explained_sentence(news->path, after, text);
	record_add(&record, "MESSAGE_ID",
		   judgement_is_better(before, after) ? MESSAGE_VERDICT_RECOVERED
						      : MESSAGE_VERDICT_WORSENED);
	record_add_path(&record, news->peer, news->path);
	record_add_judgement(&record, after);
	record_add(&record, "MTUWATCH_VERDICT_BEFORE", words_verdict(before->verdict));
	record_add_explanation(&record, news->path, after);
	record_send(&record, journal, text ? text : words_verdict(after->verdict));
}

void journal_verdict(struct journal *journal, const struct peer *peer, const struct path *path,
		     const struct judgement *before, const struct judgement *after)
{
	const struct verdict_news news = {peer, path, before, after};

	verdict_record(journal, &news, words_priority(after->severity));
}

void journal_verdict_aside(struct journal *journal, const struct peer *peer,
			   const struct path *path, const struct judgement *before,
			   const struct judgement *after)
{
	const struct verdict_news news = {peer, path, before, after};

	verdict_record(journal, &news, LOG_NOTICE);
}

void journal_reminder(struct journal *journal, const struct peer *peer, const struct path *path)
{
	const struct judgement *judgement = &path->announced;
	_done_record_ struct record record = RECORD_INIT(words_priority(judgement->severity));
	_free_text_ char *sentence = words_verdict_sentence(peer, path, judgement), *text = NULL;

	if (sentence && asprintf(&text, "still: %s", sentence) < 0)
		text = NULL;
	text = explained_sentence(path, judgement, text);
	record_add(&record, "MESSAGE_ID", MESSAGE_REMINDER);
	record_add_path(&record, peer, path);
	record_add_judgement(&record, judgement);
	record_add_explanation(&record, path, judgement);
	record_send(&record, journal, text ? text : words_verdict(judgement->verdict));
}

static void record_add_links(struct record *record, const struct link_names *names)
{
	for (unsigned i = 0; i < names->count && i < LINK_NAMES_MOST; i++)
		record_add(record, "MTUWATCH_LINK", names->list[i]);
}

/* "eth0.2, eth0.3 and 40 more", from the name at `first` on. malloc'ed. */
static char *names_text(const struct link_names *names, unsigned first)
{
	unsigned named = names->count < LINK_NAMES_MOST ? names->count : LINK_NAMES_MOST;
	char text[LINK_NAMES_MOST * (LINK_NAME_SIZE + 2) + 32];
	size_t length = 0;

	text[0] = '\0';
	for (unsigned i = first; i < named; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   i == first ? "" : ", ", names->list[i]);
	if (names->count > named)
		snprintf(text + length, sizeof(text) - length, " and %u more",
			 names->count - named);
	return strdup(text);
}

void journal_link_mtu(struct journal *journal, const struct link_news *news)
{
	_done_record_ struct record record = RECORD_INIT(LOG_INFO);
	_free_text_ char *what = words_link_change(news->before, news->now, news->cause);
	_free_text_ char *others = names_text(&news->others, 0), *text = NULL;
	bool several = news->others.count > 0;

	if (what && others &&
	    asprintf(&text, "link%s %s%s%s: %s", several ? "s" : "", news->now->name,
		     several ? ", " : "", others, what) < 0)
		text = NULL;
	record_add(&record, "MESSAGE_ID", MESSAGE_LINK_MTU_CHANGED);
	record_add(&record, "MTUWATCH_LINK", news->now->name);
	record_add_links(&record, &news->others);
	record_add_number(&record, "MTUWATCH_LINK_MTU", news->now->mtu);
	record_send(&record, journal, text ? text : news->now->name);
}

static void finding_record_begin(struct record *record, const struct finding *finding,
				 bool appeared, enum severity severity)
{
	record_add(record, "MESSAGE_ID",
		   appeared ? MESSAGE_FINDING_APPEARED : MESSAGE_FINDING_GONE);
	record_add(record, "MTUWATCH_FINDING", words_finding(finding->id));
	record_add(record, "MTUWATCH_SEVERITY", words_severity(appeared ? severity : SEVERITY_OK));
}

void journal_link_finding(struct journal *journal, const struct finding_news *news)
{
	_done_record_ struct record record =
		RECORD_INIT(news->appeared ? words_priority(news->severity) : LOG_INFO);
	_free_text_ char *what = words_finding_text(news->finding), *text = NULL;
	bool more = news->finding->id == FINDING_MORE, several = news->links.count > 1;
	_free_text_ char *others = names_text(&news->links, more ? 0 : 1);

	if (what && others &&
	    asprintf(&text, "%s%s%s%s", news->appeared ? "" : "no longer: ", what,
		     more      ? ": "
		     : several ? "; likewise "
			       : "",
		     others) < 0)
		text = NULL;
	finding_record_begin(&record, news->finding, news->appeared, news->severity);
	record_add_links(&record, &news->links);
	record_send(&record, journal, text ? text : words_finding(news->finding->id));
}

void journal_finding(struct journal *journal, const struct peer *peer, const struct path *path,
		     const struct finding *finding, bool appeared, enum severity severity)
{
	_done_record_ struct record record =
		RECORD_INIT(appeared ? words_priority(severity) : LOG_INFO);
	_free_text_ char *what = words_finding_text(finding), *text = NULL;

	if (asprintf(&text, "peer %s: %s%s", peer->name,
		     appeared ? "" : "no longer: ", what ? what : "") < 0)
		text = NULL;
	finding_record_begin(&record, finding, appeared, severity);
	record_add_path(&record, peer, path);
	if (finding->id == FINDING_PTB_WRONG)
		record_add_address(&record, "MTUWATCH_ROUTER", &finding->from);
	record_send(&record, journal, text ? text : words_finding(finding->id));
}

void journal_config_rejected(struct journal *journal, const char *complaint)
{
	_done_record_ struct record record = RECORD_INIT(LOG_ERR);
	_free_text_ char *text = NULL;
	size_t length = strlen(complaint);

	while (length > 0 && complaint[length - 1] == '\n')
		length--;
	if (asprintf(&text, "configuration rejected: %.*s", (int)length, complaint) < 0)
		text = NULL;
	record_add(&record, "MESSAGE_ID", MESSAGE_CONFIG_REJECTED);
	record_send(&record, journal, text ? text : "configuration rejected");
}

void journal_started(struct journal *journal, const struct roster *roster)
{
	_done_record_ struct record record = RECORD_INIT(LOG_INFO);
	char text[96];

	snprintf(text, sizeof(text), "started, version " VERSION ": %u peer%s on %u link%s",
		 roster->peer_count, roster->peer_count == 1 ? "" : "s", roster->link_count,
		 roster->link_count == 1 ? "" : "s");
	record_add(&record, "MESSAGE_ID", MESSAGE_STARTED);
	record_send(&record, journal, text);
}

void journal_plain(struct journal *journal, int level, const char *format, ...)
{
	_done_record_ struct record record = RECORD_INIT(level);
	_free_text_ char *text = NULL;
	va_list args;
	int n;

	if (level > journal->level)
		return;
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	else
		record_send(&record, journal, text);
}
