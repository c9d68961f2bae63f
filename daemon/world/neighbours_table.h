/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one source says of the cables of this host: at most one neighbour a link, in the order of
 * the links. Only memory.
 */
#pragma once

#include "../core/neighbour.h"

struct cable {
	int link;
	uint32_t ttl_sec; /* true for so long after it was last heard */
	struct neighbour neighbour;
};

struct cables {
	struct cable *list;
	unsigned count;
	unsigned room;
};

/* Of two on the same link the one is kept that is to be named. More than a host has are dropped. */
int cables_put(struct cables *cables, const struct cable *cable);
/* Drops what is not true any more after `age_sec` without a word. */
void cables_expire(struct cables *cables, uint64_t age_sec);
const struct cable *cables_find(const struct cables *cables, int link);
bool cables_equal(const struct cables *a, const struct cables *b);
void cables_done(struct cables *cables); /* takes one that is all zero, and leaves it so */
