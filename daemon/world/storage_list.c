/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A list of storage. Knows nothing of where it comes from.
 */
#include "storage_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool storage_equal(const struct storage *a, const struct storage *b)
{
	return a->kind == b->kind && a->port == b->port && a->offloaded == b->offloaded &&
	       address_equal(&a->address, &b->address) && address_equal(&a->from, &b->from) &&
	       strcmp(a->link, b->link) == 0 && strcmp(a->host, b->host) == 0;
}

static int list_grow(struct storage_list *list)
{
	unsigned room = list->room ? 2 * list->room : 16;
	struct storage *grown;

	if (list->count < list->room)
		return 0;
	grown = reallocarray(list->list, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->list = grown;
	list->room = room;
	return 0;
}

int storage_list_add(struct storage_list *list, const struct storage *storage)
{
	int r;

	for (unsigned i = 0; i < list->count; i++)
		if (storage_equal(&list->list[i], storage))
			return 0;
	if (list->count == STORAGE_MOST) {
		list->full = true;
		return 0;
	}
	r = list_grow(list);
	if (r < 0)
		return r;
	list->list[list->count++] = *storage;
	return 0;
}

void storage_list_done(struct storage_list *list)
{
	free(list->list);
	*list = (struct storage_list){0};
}
