/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One record on its way to journald, in its native protocol. Never waits: a journald that hangs
 * must not hang the daemon, which sd_journal_sendv() would let it.
 */
#pragma once

#include <sys/un.h>

#include "journal.h"

#define RECORD_FIELDS 24

struct record {
	char *fields[RECORD_FIELDS]; /* "NAME=value" */
	unsigned count;
	int priority;
};

#define RECORD_INIT(_priority) {.priority = (_priority)}

void record_done(struct record *record);
#define _done_record_ __attribute__((cleanup(record_done)))

/* An empty value, a NULL or a 0 adds nothing: a field without a value is left out. */
void record_add(struct record *record, const char *name, const char *value);
void record_add_number(struct record *record, const char *name, uint32_t value);

/* Which path of which peer, and what is expected of it. */
void record_add_path(struct record *record, const struct peer *peer, const struct path *path);

/* Sends what was gathered with `message` as its sentence, or writes the sentence to stderr. */
void record_send(struct record *record, struct journal *journal, const char *message);

extern const struct sockaddr_un journal_address;

/* The sentence on stderr. */
void record_say(const struct journal *journal, int priority, const char *message);
/* Once records are taken again. */
void journal_tell_lost(struct journal *journal);
