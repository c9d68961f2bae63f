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
#include "words.h"

static inline void string_free(char **text)
{
	free(*text);
}
#define _free_text_ __attribute__((cleanup(string_free)))

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

	if (verdict_is_fault(judgement->verdict) && findings->count > 0)
		record_add(record, "MTUWATCH_FINDING", words_finding(findings->list[0].id));
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

void journal_verdict(struct journal *journal, const struct peer *peer, const struct path *path,
		     const struct judgement *before, const struct judgement *after)
{
	_done_record_ struct record record = RECORD_INIT(words_priority(after->severity));
	_free_text_ char *sentence = words_verdict_sentence(peer, path, after);
	_free_text_ char *text = sentence ? change_sentence(sentence, before, after) : NULL;

	record_add(&record, "MESSAGE_ID",
		   judgement_is_better(before, after) ? MESSAGE_VERDICT_RECOVERED
						      : MESSAGE_VERDICT_WORSENED);
	record_add_path(&record, peer, path);
	record_add_judgement(&record, after);
	record_add(&record, "MTUWATCH_VERDICT_BEFORE", words_verdict(before->verdict));
	record_add_explanation(&record, path, after);
	record_send(&record, journal, text ? text : words_verdict(after->verdict));
}

void journal_reminder(struct journal *journal, const struct peer *peer, const struct path *path)
{
	const struct judgement *judgement = &path->announced;
	_done_record_ struct record record = RECORD_INIT(words_priority(judgement->severity));
	_free_text_ char *sentence = words_verdict_sentence(peer, path, judgement), *text = NULL;

	if (sentence && asprintf(&text, "still: %s", sentence) < 0)
		text = NULL;
	record_add(&record, "MESSAGE_ID", MESSAGE_REMINDER);
	record_add_path(&record, peer, path);
	record_add_judgement(&record, judgement);
	record_add_explanation(&record, path, judgement);
	record_send(&record, journal, text ? text : words_verdict(judgement->verdict));
}

void journal_link_mtu(struct journal *journal, const struct link *before, const struct link *now)
{
	_done_record_ struct record record = RECORD_INIT(LOG_INFO);
	char text[128];

	if (before->mtu != now->mtu)
		snprintf(text, sizeof(text), "link %s: MTU %u, was %u", now->name, now->mtu,
			 before->mtu);
	else
		snprintf(text, sizeof(text), "link %s: IPv6 MTU %u, was %u", now->name,
			 now->ipv6_mtu, before->ipv6_mtu);
	record_add(&record, "MESSAGE_ID", MESSAGE_LINK_MTU_CHANGED);
	record_add(&record, "MTUWATCH_LINK", now->name);
	record_add_number(&record, "MTUWATCH_LINK_MTU", now->mtu);
	record_send(&record, journal, text);
}

void journal_finding(struct journal *journal, const struct peer *peer, const struct path *path,
		     const struct finding *finding, bool appeared, enum severity severity)
{
	_done_record_ struct record record =
		RECORD_INIT(appeared ? words_priority(severity) : LOG_INFO);
	_free_text_ char *what = words_finding_text(finding), *text = NULL;
	int n;

	if (peer)
		n = asprintf(&text, "peer %s: %s%s", peer->name,
			     appeared ? "" : "no longer: ", what ? what : "");
	else
		n = asprintf(&text, "%s%s", appeared ? "" : "no longer: ", what ? what : "");
	if (n < 0)
		text = NULL;
	record_add(&record, "MESSAGE_ID",
		   appeared ? MESSAGE_FINDING_APPEARED : MESSAGE_FINDING_GONE);
	record_add(&record, "MTUWATCH_FINDING", words_finding(finding->id));
	record_add(&record, "MTUWATCH_SEVERITY", words_severity(appeared ? severity : SEVERITY_OK));
	if (peer && path)
		record_add_path(&record, peer, path);
	else
		record_add(&record, "MTUWATCH_LINK", finding_link(finding));
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
