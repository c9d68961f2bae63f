/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The other nodes of a corosync cluster. They speak UDP without connections, so that their
 * configuration is the only place where they can be seen. Reads the addresses of its nodes and
 * nothing else; whether such a file means anything is not this file's to judge.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage_sources.h"

#define NODES_MOST 256

static bool character_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span span_trim(struct span span)
{
	while (span.length > 0 && character_is_blank(span.text[0])) {
		span.text++;
		span.length--;
	}
	while (span.length > 0 && character_is_blank(span.text[span.length - 1]))
		span.length--;
	return span;
}

/* "ring0_addr: 192.0.2.1": corosync.conf(5), ring0_addr to ring7_addr. */
bool storage_from_corosync(struct span line, struct storage *ret)
{
	struct storage storage = {.kind = STORAGE_COROSYNC};
	struct span value = line, key = span_trim(span_take(&value, ":"));

	if (key.length != strlen("ringN_addr") || memcmp(key.text, "ring", 4) != 0 ||
	    key.text[4] < '0' || key.text[4] > '7' || memcmp(key.text + 5, "_addr", 5) != 0)
		return false;
	value = span_trim(value);
	/* no port belongs to it: "a:1" is neither an address nor a name */
	if (!storage_text_server(value, &storage) || storage.port != 0)
		return false;
	*ret = storage;
	return true;
}

int corosync_collect(const char *path, struct storage_list *list)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	unsigned nodes = 0;
	int r = 0;

	if (!file)
		return 0;
	while (r >= 0 && nodes < NODES_MOST && (length = getline(&line, &room, file)) > 0) {
		struct storage storage;

		if (!storage_from_corosync((struct span){line, (size_t)length}, &storage))
			continue;
		nodes++;
		r = storage_list_add(list, &storage);
	}
	free(line);
	fclose(file);
	return r;
}
