/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Draws the line on stderr, so that what is printed stays clean.
 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "../core/facts.h"

#define PATIENCE_USEC (500 * USEC_PER_MSEC)
#define REDRAW_USEC (200 * USEC_PER_MSEC)

uint64_t progress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

void progress_begin(struct progress *progress)
{
	*progress = (struct progress){
		.wanted = isatty(STDERR_FILENO) && isatty(STDOUT_FILENO),
		.begun_usec = progress_now(),
	};
}

void progress_show(struct progress *progress, const char *what, unsigned done, unsigned of)
{
	uint64_t now = progress_now(), spent = now - progress->begun_usec;

	if (!progress->wanted || spent < PATIENCE_USEC || now - progress->drawn_usec < REDRAW_USEC)
		return;
	progress->drawn_usec = now;
	progress->shown = true;
	fprintf(stderr, "\r\033[K%s", what);
	if (of > 0)
		fprintf(stderr, ": %u of %u", done, of);
	fprintf(stderr, " (%" PRIu64 " s)", (uint64_t)(spent / USEC_PER_SEC));
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
