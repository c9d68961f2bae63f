/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line on the terminal that says what takes so long. Elsewhere nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool wanted;
	bool shown;
	uint64_t begun_usec; /* CLOCK_MONOTONIC */
	uint64_t drawn_usec;
};

void progress_begin(struct progress *progress);
/* "checking: 3 of 10 (2 s)"; `of` 0: without the numbers. */
void progress_show(struct progress *progress, const char *what, unsigned done, unsigned of);
void progress_end(struct progress *progress);
uint64_t progress_now(void);
