/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The record's file: a line for each link, its name, index, MTU before and after. Takes a file whole
 * or not at all.
 */
#include "clamp_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADING "mtuwatchd clamp 1\n"
#define ENDING "end\n"
#define NAME_SIZE 32

const char *clamp_record_folder(void)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");

	return folder && folder[0] == '/' && !strchr(folder, ':') ? folder : "/run/mtuwatchd";
}

static int file_name(int index, char ret[static NAME_SIZE])
{
	return snprintf(ret, NAME_SIZE, "link-%d", index);
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		length -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int record_format(const struct stack *stack, char ret[static CLAMP_RECORD_SIZE])
{
	size_t at = (size_t)snprintf(ret, CLAMP_RECORD_SIZE, "%s", HEADING);

	for (unsigned i = 0; i < stack->count && at < CLAMP_RECORD_SIZE; i++)
		at += (size_t)snprintf(ret + at, CLAMP_RECORD_SIZE - at, "%s %d %u %u\n",
				       stack->list[i].name, stack->list[i].index,
				       stack->list[i].before, stack->list[i].after);
	if (at + sizeof(ENDING) > CLAMP_RECORD_SIZE)
		return -EMSGSIZE;
	memcpy(ret + at, ENDING, sizeof(ENDING));
	return (int)(at + strlen(ENDING));
}

static int record_put(int folder, const char *name, const struct stack *stack)
{
	char text[CLAMP_RECORD_SIZE];
	int length = record_format(stack, text), fd, r;

	if (length < 0)
		return length;
	/* a name that is no record's until it is whole */
	fd = openat(folder, "new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, (size_t)length);
	close(fd);
	if (r >= 0 && renameat(folder, "new", folder, name) < 0)
		r = -errno;
	if (r >= 0 && fsync(folder) < 0)
		r = -errno;
	return r;
}

static int folder_open(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int clamp_record_write(const char *folder, const struct stack *stack)
{
	int fd = folder_open(folder), r;
	char name[NAME_SIZE];

	if (fd < 0)
		return fd;
	file_name(stack->list[0].index, name);
	r = record_put(fd, name, stack);
	if (r < 0)
		(void)unlinkat(fd, "new", 0);
	close(fd);
	return r;
}

int clamp_record_remove(const char *folder, int index)
{
	int fd = folder_open(folder), r = 0;
	char name[NAME_SIZE];

	if (fd < 0)
		return fd;
	file_name(index, name);
	if ((unlinkat(fd, name, 0) < 0 && errno != ENOENT) || fsync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

static bool link_name_is_plain(const char *name)
{
	return name[0] != '\0' && strlen(name) < LINK_NAME_SIZE && strchr(name, '/') == NULL;
}

static int parse_line(char *line, struct stacked *ret)
{
	char name[32] = "", rest;

	*ret = (struct stacked){0};
	if (sscanf(line, "%31s %d %u %u%c", name, &ret->index, &ret->before, &ret->after, &rest) != 4)
		return -EBADMSG;
	if (!link_name_is_plain(name) || ret->index <= 0 || ret->before <= ret->after ||
	    ret->after < CONTROL_IPV4)
		return -EBADMSG;
	memcpy(ret->name, name, strlen(name) + 1);
	return 0;
}

int clamp_record_parse(const char *text, size_t length, struct stack *ret)
{
	char copy[CLAMP_RECORD_SIZE + 1], *rest = copy, *line;
	struct stack stack = {0};

	if (length > CLAMP_RECORD_SIZE || memchr(text, '\0', length) != NULL)
		return -EBADMSG;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (strncmp(copy, HEADING, strlen(HEADING)) != 0)
		return -EBADMSG;
	rest += strlen(HEADING);
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
		if (strcmp(line, "end") == 0 && *rest == '\0' && stack.count > 0) {
			*ret = stack;
			return 0;
		}
		if (stack.count == STACK_LARGEST || parse_line(line, &stack.list[stack.count++]) < 0)
			return -EBADMSG;
	}
	return -EBADMSG;
}

static int record_read(int folder, const char *name, struct stack *ret)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), index;
	char text[CLAMP_RECORD_SIZE + 1];
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	close(fd);
	if (n < 0)
		return -errno;
	r = clamp_record_parse(text, (size_t)n, ret);
	if (r >= 0 && (sscanf(name, "link-%d", &index) != 1 || index != ret->list[0].index))
		r = -EBADMSG;
	return r;
}

int clamp_records_read(const char *folder, clamp_record_handler_t handler, void *userdata)
{
	DIR *list = opendir(folder);
	struct dirent *entry;
	struct stack stack;
	int r = 0;

	if (list == NULL)
		return -errno;
	while (r >= 0 && (entry = readdir(list)) != NULL)
		if (strncmp(entry->d_name, "link-", 5) == 0 &&
		    record_read(dirfd(list), entry->d_name, &stack) >= 0)
			r = handler(&stack, userdata);
	closedir(list);
	return r;
}
