/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of treatment: put on, taken off, not put on, left to somebody else.
 */
#pragma once

#include "journal.h"

struct clamp_word {
	const struct peer *peer;    /* NULL, and path too: nobody watches it any more */
	const struct path *path;
	struct address to;          /* where path is NULL */
	char link[LINK_NAME_SIZE];  /* the link itself is clamped; "" a route */
	uint32_t mtu;
	uint32_t before;            /* of a link */
	uint32_t now;               /* what somebody else set it to */
	bool for_good;              /* not clamped again before the fault has been gone once */
	enum clamp_end end;
	enum clamp_refusal refusal;
	int error;                  /* REFUSAL_KERNEL: what the kernel said */
};

void journal_clamped(struct journal *journal, const struct clamp_word *word);
void journal_released(struct journal *journal, const struct clamp_word *word);
void journal_clamp_refused(struct journal *journal, const struct clamp_word *word);
void journal_clamp_yielded(struct journal *journal, const struct clamp_word *word);
