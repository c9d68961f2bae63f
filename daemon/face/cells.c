/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What stands in the cells of a table of paths. Draws nothing.
 */
#include "cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *const column_titles[COLUMN_COUNT] = {"PEER",    "ADDRESS", "LINK", "PASSES/OF",
						 "VERDICT", "SINCE",   "NOTE"};

void cell_since(char cell[static CELL_SIZE], uint64_t since_usec)
{
	struct timespec now;
	uint64_t sec;

	cell[0] = '\0';
	if (since_usec == 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	sec = since_usec / USEC_PER_SEC;
	sec = (uint64_t)now.tv_sec > sec ? (uint64_t)now.tv_sec - sec : 0;
	if (sec < 60)
		snprintf(cell, CELL_SIZE, "%" PRIu64 "s", sec);
	else if (sec < 3600)
		snprintf(cell, CELL_SIZE, "%" PRIu64 "min", sec / 60);
	else if (sec < 48 * 3600)
		snprintf(cell, CELL_SIZE, "%" PRIu64 "h", sec / 3600);
	else
		snprintf(cell, CELL_SIZE, "%" PRIu64 "d", sec / 86400);
}

void cell_sizes(char cell[static CELL_SIZE], uint32_t mtu, uint32_t expected)
{
	cell[0] = '\0';
	if (mtu && expected)
		snprintf(cell, CELL_SIZE, "%u/%u", mtu, expected);
	else if (mtu)
		snprintf(cell, CELL_SIZE, "%u", mtu);
	else if (expected)
		snprintf(cell, CELL_SIZE, "-/%u", expected);
}

void cell_note(char cell[static CELL_SIZE], const struct note *note)
{
	if (note->place[0])
		snprintf(cell, CELL_SIZE, "%s", note->place);
	else if (note->router[0])
		snprintf(cell, CELL_SIZE, "%s", note->router);
	else
		snprintf(cell, CELL_SIZE, "%s", note->told ? "" : note->reason);
}
