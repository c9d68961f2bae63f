/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said once, when it changes: structured records for journald, the same sentences on
 * stderr where there is no journald.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/cause.h"
#include "../core/roster.h"

struct waiting_record;

/* Records that journald had no room for yet, see journal_waiting.h. */
struct journal_waiting {
	struct waiting_record *first, *last;
	size_t bytes;
	uint64_t gap_usec;      /* until they are offered again */
	sd_event_source *retry; /* NULL: they are offered with the next record */
};

/* How much is said: LOG_ERR 3 ... LOG_DEBUG 7; INFO 6 by default. to_stderr: no journald. */
struct journal {
	int level;
	bool to_stderr;
	bool prefixed;   /* stderr leads to the journal too: it wants "<3>" before each line */
	int fd;          /* towards journald, negative none */
	uint64_t lost;   /* records that found no room here either, and nobody was told of */
	struct journal_waiting waiting;
};

#define LINK_NAMES_MOST 8U

/* Links that something holds for alike: as many names as there is room for. */
struct link_names {
	char list[LINK_NAMES_MOST][LINK_NAME_SIZE];
	unsigned count; /* of all of them */
};

/* A link's MTU changed, or what IPv6 uses of it; and so did that of others, in the same way. */
struct link_news {
	const struct link *before, *now;
	const struct cause *cause;
	struct link_names others;
};

/* A finding about links appeared, or is gone. */
struct finding_news {
	const struct finding *finding; /* the first link's */
	struct link_names links;       /* with the first one */
	bool appeared;
	enum severity severity; /* may be below the finding's own where another record alarmed */
};

void journal_init(struct journal *journal);
void journal_done(struct journal *journal);
/* What journald has no room for is offered again from this loop. */
int journal_attach(struct journal *journal, sd_event *event);
/* Chooses anew between journald, where there is one, and stderr. */
void journal_choose(struct journal *journal, bool want_stderr);

/* before == after in the verdict: the number or the router changed. */
void journal_verdict(struct journal *journal, const struct peer *peer, const struct path *path,
		     const struct judgement *before, const struct judgement *after);
/* The same, without alarm: another record raised it already. */
void journal_verdict_aside(struct journal *journal, const struct peer *peer,
			   const struct path *path, const struct judgement *before,
			   const struct judgement *after);
void journal_reminder(struct journal *journal, const struct peer *peer, const struct path *path);
void journal_link_mtu(struct journal *journal, const struct link_news *news);
void journal_link_finding(struct journal *journal, const struct finding_news *news);
/* Of a peer's path. */
void journal_finding(struct journal *journal, const struct peer *peer, const struct path *path,
		     const struct finding *finding, bool appeared, enum severity severity);
void journal_config_rejected(struct journal *journal, const char *complaint);
void journal_started(struct journal *journal, const struct roster *roster);

/* Anything else, without a MESSAGE_ID of its own; level as in syslog(3). */
void journal_plain(struct journal *journal, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
