/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which path is due next: a heap over wake_usec. The memory is the owner's.
 */
#pragma once

#include "path.h"

struct queue {
	struct path **list; /* room for every path that may be put in */
	unsigned count;
};

#define QUEUE_NOWHERE (~0U) /* queue_place of a path that is not in */

/* Puts the path in, or moves it to where its wake_usec now belongs. */
void queue_put(struct queue *queue, struct path *path);
void queue_remove(struct queue *queue, struct path *path);
/* The path with the earliest wake_usec; NULL when there is none. */
struct path *queue_first(const struct queue *queue);
