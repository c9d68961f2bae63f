/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The records and sentences of treatment. Says what was done; whether it was right is decided
 * elsewhere.
 */
#include "journal_clamp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "journal_record.h"
#include "messages.h"
#include "sentence.h"
#include "words.h"

const char *words_refusal(enum clamp_refusal refusal)
{
	switch (refusal) {
	case REFUSAL_NONE:
		return "";
	case REFUSAL_UNCONFIRMED:
		return "nothing but ping bears the fault out";
	case REFUSAL_FLOOR:
		return "that is below ClampFloor=";
	case REFUSAL_IPV6:
		return "IPv6 needs 1280";
	case REFUSAL_HOST_ROUTE:
		return "there is a host route to it that is not ours: give that one the smaller mtu";
	case REFUSAL_OTHER_LINK:
		return "other packets to it take another link, and a host route would draw them off it";
	case REFUSAL_PRIVILEGE:
		return "CAP_NET_ADMIN is missing, see PRIVILEGES in mtuwatchd(8)";
	case REFUSAL_KERNEL:
		return "the kernel does not take the route";
	case REFUSAL_NO_HELP:
		return "it does not help";
	case REFUSAL_BETTER:
		return "another peer by the link is good at more";
	case REFUSAL_QUORUM:
		return "too few of the link's peers have the fault";
	case REFUSAL_STACK:
		return "what stands on the link, or an MTU that IPv6 or a route by it has, could not be put "
		       "back";
	case REFUSAL_RECORD:
		return "what the link was cannot be kept in the runtime directory; the service has it by "
		       "clamp.conf, without the service make /run/mtuwatchd";
	case REFUSAL_TAKEN_OFF:
		return "it was taken off, and the fault has not been gone since";
	}
	return "";
}

static const char *words_end(enum clamp_end end)
{
	switch (end) {
	case CLAMP_END_PASSES:
		return "the full size passes again";
	case CLAMP_END_TOLD:
		return "a router tells of the smaller size now, so that connections adapt by themselves";
	case CLAMP_END_SMALLER:
		return "the link takes no more than that itself";
	case CLAMP_END_OFF:
		return "Clamp= does not ask for it any more";
	case CLAMP_END_UNWATCHED:
		return "nothing is watched there any more";
	case CLAMP_END_REQUEST:
		return "as requested";
	case CLAMP_END_ROUTE:
		return "the route that it was a copy of has gone or changed";
	case CLAMP_END_NO_HELP:
		return "it does not help";
	}
	return "";
}

/* "peer san-a (192.0.2.10) by eth1", without the link when no route leads there, or the address
 * alone */
static char *subject(const struct clamp_word *word)
{
	const char *by = word->path ? words_link(word->path) : "";
	char address[ADDRESS_TEXT_SIZE];
	char *text;
	int n;

	words_address(&word->to, address);
	if (word->link[0])
		n = asprintf(&text, "link %s", word->link);
	else if (word->path)
		n = asprintf(&text, "peer %s (%s)%s%s", word->peer->name, address,
			     by[0] ? " by " : "", by);
	else
		n = asprintf(&text, "%s", address);
	return n < 0 ? NULL : text;
}

struct notice {
	const char *id;
	int priority;
};

__attribute__((format(printf, 4, 5))) static void
tell(struct journal *journal, const struct notice *notice, const struct clamp_word *word,
     const char *format, ...)
{
	_done_record_ struct record record = RECORD_INIT(notice->priority);
	_free_text_ char *who = subject(word), *what = NULL, *text = NULL;
	char address[ADDRESS_TEXT_SIZE];
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	if (asprintf(&text, "%s: %s", who ? who : "", what ? what : "") < 0)
		text = NULL;
	record_add(&record, "MESSAGE_ID", notice->id);
	if (word->link[0])
		record_add(&record, "MTUWATCH_LINK", word->link);
	else if (word->path)
		record_add_path(&record, word->peer, word->path);
	else
		record_add(&record, "MTUWATCH_ADDRESS", words_address(&word->to, address));
	record_add_number(&record, "MTUWATCH_CLAMP_MTU", word->mtu);
	record_send(&record, journal, text ? text : "clamp");
}

void journal_clamped(struct journal *journal, const struct clamp_word *word)
{
	static const struct notice notice = {MESSAGE_CLAMPED, LOG_NOTICE};

	if (word->link[0]) {
		tell(journal, &notice, word,
		     "clamped to %u bytes, was %u: most of its watched peers have the fault, and none is good "
		     "at more; whether it can come off is tried every ClampRetry=",
		     word->mtu, word->before);
		return;
	}
	tell(journal, &notice, word,
	     "clamped to %u bytes: a host route keeps packets to it at that size, and by the MSS that "
	     "this host announces those from it, until the full size passes again",
	     word->mtu);
}

void journal_released(struct journal *journal, const struct clamp_word *word)
{
	static const struct notice notice = {MESSAGE_RELEASED, LOG_NOTICE};

	/* a link is a copy of nothing */
	tell(journal, &notice, word, "clamp of %u bytes taken off: %s", word->mtu,
	     word->link[0] && word->end == CLAMP_END_ROUTE
		     ? "the link has gone, and has that MTU wherever it is"
		     : words_end(word->end));
}

void journal_clamp_refused(struct journal *journal, const struct clamp_word *word)
{
	static const struct notice notice = {MESSAGE_CLAMP_REFUSED, LOG_NOTICE};
	bool kernel = word->refusal == REFUSAL_KERNEL && word->error < 0;

	tell(journal, &notice, word, "not clamped to %u bytes: %s%s%s", word->mtu,
	     words_refusal(word->refusal), kernel ? ": " : "", kernel ? strerror(-word->error) : "");
}

void journal_clamp_yielded(struct journal *journal, const struct clamp_word *word)
{
	static const struct notice notice = {MESSAGE_CLAMP_YIELDED, LOG_WARNING};

	if (word->link[0]) {
		tell(journal, &notice, word,
		     "somebody else set its MTU to %u, it was clamped to %u: left at that%s", word->now,
		     word->mtu, word->for_good ? " until the fault has been gone once" : "");
		return;
	}
	tell(journal, &notice, word,
	     "somebody took the clamp of %u bytes off: left at that until the fault has been gone once",
	     word->mtu);
}
