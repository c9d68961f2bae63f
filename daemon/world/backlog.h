/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probes that wait for their turn: a growing array, taken from the front. Sends nothing. */
#pragma once

#include <stddef.h>

#include "../core/facts.h"

/* All zeroes is an empty one. `list` belongs to it. */
struct backlog {
	struct probe *list;
	size_t first, count, room;
};

void backlog_done(struct backlog *backlog);
int backlog_push(struct backlog *backlog, const struct probe *probe); /* -ENOMEM */
void backlog_pop(struct backlog *backlog, size_t count);
const struct probe *backlog_front(const struct backlog *backlog);
