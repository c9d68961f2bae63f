/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A binary heap of paths, the earliest on top; each knows its own place. */
#include "queue.h"

#include <stddef.h>

static void queue_set(struct queue *queue, unsigned place, struct path *path)
{
	queue->list[place] = path;
	path->queue_place = place;
}

static void queue_up(struct queue *queue, unsigned place, struct path *path)
{
	while (place > 0) {
		unsigned above = (place - 1) / 2;

		if (queue->list[above]->wake_usec <= path->wake_usec)
			break;
		queue_set(queue, place, queue->list[above]);
		place = above;
	}
	queue_set(queue, place, path);
}

static void queue_down(struct queue *queue, unsigned place, struct path *path)
{
	for (;;) {
		unsigned below = 2 * place + 1;

		if (below + 1 < queue->count &&
		    queue->list[below + 1]->wake_usec < queue->list[below]->wake_usec)
			below++;
		if (below >= queue->count || queue->list[below]->wake_usec >= path->wake_usec)
			break;
		queue_set(queue, place, queue->list[below]);
		place = below;
	}
	queue_set(queue, place, path);
}

void queue_put(struct queue *queue, struct path *path)
{
	unsigned place = path->queue_place;

	if (place == QUEUE_NOWHERE) {
		queue_up(queue, queue->count++, path);
		return;
	}
	if (place > 0 && queue->list[(place - 1) / 2]->wake_usec > path->wake_usec)
		queue_up(queue, place, path);
	else
		queue_down(queue, place, path);
}

void queue_remove(struct queue *queue, struct path *path)
{
	unsigned place = path->queue_place;
	struct path *last;

	if (place == QUEUE_NOWHERE)
		return;
	path->queue_place = QUEUE_NOWHERE;
	last = queue->list[--queue->count];
	if (last == path)
		return;
	last->queue_place = place;
	queue->list[place] = last;
	queue_put(queue, last);
}

struct path *queue_first(const struct queue *queue)
{
	return queue->count ? queue->list[0] : NULL;
}
