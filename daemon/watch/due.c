/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which path is next, and when the loop wakes for it. One that is due may have to wait: for room in
 * the budget, or for a port where there are no more descriptors.
 */
#include "state.h"

/* Nobody has said so, but one may be free all the same. */
#define PORT_AGAIN_USEC USEC_PER_SEC

static struct queue *queue_of(struct watch *watch, const struct path *path)
{
	switch (path->waits) {
	case WAITS_FOR_TIME:
		return &watch->queue;
	case WAITS_FOR_BUDGET:
		return &watch->held;
	case WAITS_FOR_PORT:
		return &watch->portless;
	}
	return &watch->queue;
}

void watch_path_remove(struct watch *watch, struct path *path)
{
	queue_remove(queue_of(watch, path), path);
	path->waits = WAITS_FOR_TIME;
}

void watch_path_put(struct watch *watch, struct path *path)
{
	if (path->waits != WAITS_FOR_TIME)
		watch_path_remove(watch, path);
	queue_put(&watch->queue, path);
}

/* The first that is due will be the first to begin. */
void watch_path_hold(struct watch *watch, struct path *path, enum path_wait waits)
{
	watch_path_remove(watch, path);
	path->wake_usec = path->due_usec;
	path->waits = waits;
	queue_put(queue_of(watch, path), path);
}

void watch_path_restart(struct watch *watch, struct path *path, uint64_t now_usec)
{
	watch_check_give_back(watch, path_restart(path, now_usec));
	watch_path_put(watch, path);
}

static uint64_t port_usec(const struct watch *watch)
{
	return watch->port_free ? 0 : watch->portless_usec;
}

void watch_arm(struct watch *watch)
{
	const struct path *first = queue_first(&watch->queue);
	uint64_t at = first ? first->wake_usec : USEC_NEVER;

	if (watch->held.count > 0 && pace_room(&watch->pace) < at)
		at = pace_room(&watch->pace);
	if (watch->portless.count > 0 && port_usec(watch) < at)
		at = port_usec(watch);
	if (watch->requests && watch->request_usec < at)
		at = watch->request_usec;
	/* 0 is what is not set */
	if (at == 0)
		at = 1;
	if (at == watch->wake_set_usec)
		return;
	watch->wake_set_usec = at;
	sd_event_source_set_time(watch->wake_source, at);
	sd_event_source_set_enabled(watch->wake_source,
				    at == USEC_NEVER ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static struct path *next_portless(struct watch *watch, uint64_t now_usec)
{
	struct path *path = queue_first(&watch->portless);

	if (!path || port_usec(watch) > now_usec)
		return NULL;
	watch->port_free = false;
	watch->portless_usec = now_usec + PORT_AGAIN_USEC;
	return path;
}

/* Those that wait for the budget come when the others leave room in it. */
struct path *watch_path_next(struct watch *watch, uint64_t now_usec)
{
	struct path *path = queue_first(&watch->queue);

	if (path && path->wake_usec <= now_usec)
		return path;
	path = next_portless(watch, now_usec);
	if (!path && pace_room(&watch->pace) <= now_usec)
		path = queue_first(&watch->held);
	if (!path)
		return NULL;
	path->admitted = true;
	watch_path_put(watch, path);
	return path;
}
