/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The receive counters of a link: the kernel's own, and those of drivers that count frames too long
 * for the link by a name that is known. Reads when asked, a few microseconds a link.
 */
#pragma once

#include "../core/counters.h"

struct receive;

/* What is to be read of a link. */
struct receive_source {
	unsigned count; /* 0: not found out yet */
	uint8_t counters[COUNTERS_LARGEST];
	unsigned position; /* of a driver's counter among its statistics */
	unsigned total;	   /* of these */
};

int receive_new(struct receive **ret);
struct receive *receive_free(struct receive *receive);

/* Finds out what this link's driver counts. */
void receive_open(struct receive *receive, const struct link *link, struct receive_source *ret);

/* -EAGAIN: the driver's statistics are others now: receive_open() again. ret->usec is left 0. */
int receive_read(struct receive *receive, const struct link *link,
		 const struct receive_source *source, struct counters_reading *ret);
