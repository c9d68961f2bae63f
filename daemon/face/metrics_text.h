/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What metrics.c writes, a piece at a time.
 */
#pragma once

#include <stdio.h>

#include "../core/roster.h"

/* How far the text is. Begins empty. */
struct metrics_place {
	unsigned family;
	bool begun;			   /* the family's HELP and TYPE are there */
	char after[PEER_NAME_LONGEST + 1]; /* the last peer of it that is done, "" none */
};

/*
 * Writes on for at most `most` peers. Returns true at the end. Peers may come and go between two
 * pieces: each is told once or not at all.
 */
bool metrics_write(const struct roster *roster, struct metrics_place *place, unsigned most,
		   FILE *out);
