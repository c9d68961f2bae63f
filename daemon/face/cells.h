/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cells that a path has in every table of ours, whoever draws it.
 */
#pragma once

#include "../core/roster.h"

enum column {
	COLUMN_PEER,
	COLUMN_ADDRESS,
	COLUMN_LINK,
	COLUMN_SIZES,
	COLUMN_VERDICT,
	COLUMN_SINCE,
	COLUMN_NOTE,
};
#define COLUMN_COUNT 7
#define CELL_SIZE 128

extern const char *const column_titles[COLUMN_COUNT];

/* The age of a point in time of CLOCK_REALTIME: "5min". 0: "". */
void cell_since(char cell[static CELL_SIZE], uint64_t since_usec);
/* What passes of what is expected: "1500/9000"; 0 unknown. */
void cell_sizes(char cell[static CELL_SIZE], uint32_t mtu, uint32_t expected);

/* Where it is; and why it is so, where no sentence says it. All texts may be empty. */
struct note {
	const char *place;
	const char *router;
	const char *reason;
	bool told; /* by a sentence below */
};
void cell_note(char cell[static CELL_SIZE], const struct note *note);
