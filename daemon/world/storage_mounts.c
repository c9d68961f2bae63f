/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount table by libmount. A container host has thousands of mounts of which none is storage:
 * only lines of a type that counts are handed to the parser, so that the rest costs nothing.
 */
#include <errno.h>
#include <libmount/libmount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage_mount.h"
#include "storage_sources.h"

#define BYTES_MOST (4U << 20) /* of lines that count */

/* Behind " - ", which cannot be before it: blanks in names are escaped (proc_pid_mountinfo(5)). */
static bool line_counts(const char *line)
{
	const char *type = strstr(line, " - ");
	struct span rest = span_of(type ? type + strlen(" - ") : NULL);

	return storage_mount_type(span_take(&rest, " \n"));
}

/* malloc'ed, *ret NULL when there are none. */
static int lines_read(FILE *file, char **ret, size_t *ret_size)
{
	char *lines = NULL, *line = NULL;
	size_t size = 0, room = 0, line_room = 0;
	ssize_t length;
	int r = 0;

	while (r == 0 && (length = getline(&line, &line_room, file)) > 0) {
		char *grown;

		if (!line_counts(line) || size + (size_t)length > BYTES_MOST)
			continue;
		if (!lines || size + (size_t)length > room) {
			room = 2 * (size + (size_t)length);
			grown = realloc(lines, room);
			if (!grown) {
				r = -ENOMEM;
				break;
			}
			lines = grown;
		}
		memcpy(lines + size, line, (size_t)length);
		size += (size_t)length;
	}
	free(line);
	if (r < 0 || size == 0) {
		free(lines);
		lines = NULL;
	}
	*ret = lines;
	*ret_size = size;
	return r;
}

static int table_collect(struct libmnt_table *table, struct storage_list *list)
{
	struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	int r = iterator ? 0 : -ENOMEM;

	while (r >= 0 && mnt_table_next_fs(table, iterator, &fs) == 0) {
		const struct mount_text mount = {
			.type = mnt_fs_get_fstype(fs),
			.source = mnt_fs_get_source(fs),
			.options = mnt_fs_get_fs_options(fs),
		};

		r = storage_from_mount(&mount, list);
	}
	mnt_free_iter(iterator);
	return r;
}

/* A line that cannot be parsed is left out, the others count. */
static int on_parse_error(struct libmnt_table *table, const char *file, int line)
{
	return 1;
}

static int lines_collect(char *lines, size_t size, struct storage_list *list)
{
	struct libmnt_table *table = mnt_new_table();
	FILE *file = fmemopen(lines, size, "r");
	int r = table && file ? 0 : -ENOMEM;

	if (r == 0)
		r = mnt_table_set_parser_errcb(table, on_parse_error);
	if (r == 0 && mnt_table_parse_stream(table, file, "/proc/self/mountinfo") == 0)
		r = table_collect(table, list);
	if (file)
		fclose(file);
	mnt_unref_table(table);
	return r;
}

int mounts_collect(const char *path, struct storage_list *list)
{
	FILE *file = fopen(path, "re");
	char *lines = NULL;
	size_t size = 0;
	int r;

	if (!file)
		return errno == ENOMEM ? -ENOMEM : 0;
	r = lines_read(file, &lines, &size);
	fclose(file);
	if (r == 0 && lines)
		r = lines_collect(lines, size, list);
	free(lines);
	return r;
}
