/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the order, and the memory only of a short queue. Does not look at the probes. */
#include "backlog.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 64

void backlog_done(struct backlog *backlog)
{
	free(backlog->list);
	*backlog = (struct backlog){.list = NULL};
}

int backlog_push(struct backlog *backlog, const struct probe *probe)
{
	size_t end = backlog->first + backlog->count;
	size_t wanted = backlog->room == 0 ? ROOM_FIRST : backlog->room * 2;
	struct probe *larger;

	if (end == backlog->room) {
		larger = reallocarray(backlog->list, wanted, sizeof(*backlog->list));
		if (larger == NULL)
			return -ENOMEM;
		backlog->list = larger;
		backlog->room = wanted;
	}
	backlog->list[end] = *probe;
	backlog->count++;
	return 0;
}

/* Gives the memory of a long queue back once it is through. */
void backlog_pop(struct backlog *backlog, size_t count)
{
	backlog->first += count;
	backlog->count -= count;
	if (backlog->count > 0)
		return;
	if (backlog->room > ROOM_FIRST)
		backlog_done(backlog);
	else
		backlog->first = 0;
}

const struct probe *backlog_front(const struct backlog *backlog)
{
	return backlog->list + backlog->first;
}
