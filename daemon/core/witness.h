/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What paths say of each other: which others fail at the same size, and which pass through a peer
 * that seems not to let large packets pass. Found without walking all of them.
 */
#pragma once

#include "path.h"

#define WITNESS_ROWS 1024U
#define WITNESS_LINKS 64U

struct witnesses {
	struct path *rows[WITNESS_ROWS]; /* chained by path.next_witness */
	uint32_t passes[WITNESS_LINKS]; /* see struct turn; links may share one, it only suggests */
};

/* Where paths by the same link leave each other word of what passes. */
uint32_t *witness_passes(struct witnesses *witnesses, const struct path *path);

/* The path found something out, or is reached another way: to be called after either. */
void witness_update(struct witnesses *witnesses, struct path *path);
/* Before the path's memory goes. */
void witness_remove(struct path *path);

/*
 * Sets borne_out, refuted and told_by of the path's facts by what all others say. One that fails at
 * the same size on the same link bears a fault out, unless both may only share a rule against pings; one that passes through this peer refutes it,
 * since the peer only keeps large pings from itself.
 */
void witness_compare(const struct witnesses *witnesses, struct path *path);
