/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The record's file: a line for each link, its name, index, MTU before and after. Takes a file whole
 * or not at all.
 */
#include "clamp_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADING "mtuwatchd clamp 1\n"
#define ENDING "end\n"
#define NAME_SIZE 48

const char *clamp_record_folder(void)
{
	const char *folder = getenv("RUNTIME_DIRECTORY");

	return folder && folder[0] == '/' && !strchr(folder, ':') ? folder : "/run/mtuwatchd/clamp";
}

/* What the numbers of links are good for: one network namespace, whose own number none other has until
 * the next start of the host. */
static int space_ask(uint64_t *ret)
{
	socklen_t length = sizeof(*ret);
	struct stat status;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	r = getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, ret, &length) < 0 ? -errno : 0;
	close(fd);
	/* before Linux 5.14; for another error's sake no record gets another name */
	if (r != -ENOPROTOOPT)
		return r;
	if (stat("/proc/self/ns/net", &status) < 0)
		return -errno;
	*ret = status.st_ino;
	return 0;
}

/* The beginning of the names of our records: the folder may be shared with other namespaces. */
static int prefix_make(char ret[static NAME_SIZE])
{
	uint64_t space = 0;
	int r = space_ask(&space);

	return r < 0 ? r : snprintf(ret, NAME_SIZE, "link-%" PRIx64 "-", space);
}

static int name_make(int index, char ret[static NAME_SIZE])
{
	int length = prefix_make(ret);

	if (length >= 0)
		snprintf(ret + length, NAME_SIZE - (size_t)length, "%d", index);
	return length < 0 ? length : 0;
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
	char name[NAME_SIZE];
	int r = name_make(stack->list[0].index, name), fd;

	if (r < 0)
		return r;
	fd = folder_open(folder);
	if (fd < 0)
		return fd;
	r = record_put(fd, name, stack);
	if (r < 0)
		(void)unlinkat(fd, "new", 0);
	close(fd);
	return r;
}

int clamp_record_remove(const char *folder, int index)
{
	char name[NAME_SIZE];
	int r = name_make(index, name), fd;

	if (r < 0)
		return r;
	fd = folder_open(folder);
	if (fd < 0)
		return fd;
	if ((unlinkat(fd, name, 0) < 0 && errno != ENOENT) || fsync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

static bool link_name_is_plain(const char *name)
{
	return name[0] != '\0' && strlen(name) < LINK_NAME_SIZE && strchr(name, '/') == NULL;
}

/* The next word of the line as a number; UINT32_MAX: it is none. */
static uint32_t word_number(char **line)
{
	const char *word = strsep(line, " ");
	unsigned long number;
	char *end;

	if (!word || *word < '0' || *word > '9')
		return UINT32_MAX;
	number = strtoul(word, &end, 10);
	return *end == '\0' && number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static int parse_line(char *line, struct stacked *ret)
{
	const char *name = strsep(&line, " ");
	uint32_t index = word_number(&line);

	*ret = (struct stacked){0};
	ret->before = word_number(&line);
	ret->after = word_number(&line);
	if (line || !link_name_is_plain(name) || index == 0 || index > INT_MAX ||
	    ret->before == UINT32_MAX || ret->before <= ret->after || ret->after < CONTROL_IPV4)
		return -EBADMSG;
	ret->index = (int)index;
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
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[CLAMP_RECORD_SIZE + 1], wanted[NAME_SIZE];
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	close(fd);
	if (n < 0)
		return -errno;
	r = clamp_record_parse(text, (size_t)n, ret);
	if (r >= 0)
		r = name_make(ret->list[0].index, wanted);
	if (r < 0)
		return r;
	return strcmp(name, wanted) != 0 ? -EBADMSG : 0;
}

int clamp_records_read(const char *folder, clamp_record_handler_t handler, void *userdata)
{
	char prefix[NAME_SIZE];
	int length = prefix_make(prefix), r = 0, broken = 0;
	struct dirent *entry;
	struct stack stack;
	DIR *list;

	if (length < 0)
		return length;
	list = opendir(folder);
	if (list == NULL)
		return -errno;
	while (r >= 0 && (entry = readdir(list)) != NULL) {
		if (strncmp(entry->d_name, prefix, (size_t)length) != 0)
			continue;
		if (record_read(dirfd(list), entry->d_name, &stack) >= 0)
			r = handler(&stack, userdata);
		else
			broken++;
	}
	closedir(list);
	return r < 0 ? r : broken;
}
