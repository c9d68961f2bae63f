/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records that journald had no room for: kept in their order and offered again, as many as fit
 * into a bounded memory. Never waits.
 */
#pragma once

#include "journal.h"

/* One record in the native protocol, and its sentence for stderr. */
struct waiting_record {
	struct waiting_record *next;
	char *bytes;
	size_t length;
	char *message;
	int priority;
};

/* Sends at once, or keeps it behind those that wait. 0: sent or kept; -EAGAIN: there is no room,
 * the record is lost; else there is no journald to send it to. */
int waiting_send(struct journal *journal, const struct waiting_record *record);

/* Offers what waits. The same results; 0: nothing waits any more. */
int waiting_drain(struct journal *journal);
void waiting_done(struct journal *journal);
