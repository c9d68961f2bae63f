/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MetricsFile=: a text file for node_exporter's textfile collector, always whole. Reads the roster.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/roster.h"
#include "journal.h"

struct metrics;

struct metrics_options {
	const char *path;	/* absolute; copied */
	uint64_t interval_usec; /* written at least so often */
};

/* `roster` and `journal` must outlive it. A file that cannot be written is complained about in the
 * journal, once, and tried again; it is no error here. */
int metrics_new(struct metrics **ret, sd_event *event, const struct roster *roster,
		struct journal *journal, const struct metrics_options *options);
/* Whether it does what these options want. */
bool metrics_is(const struct metrics *metrics, const struct metrics_options *options);
/* Removes the file. */
struct metrics *metrics_free(struct metrics *metrics);

/* Something that it tells may have changed. Cheap; NULL: nobody wants metrics. */
void metrics_changed(struct metrics *metrics);
