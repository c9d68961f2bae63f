/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of systemd-networkd to neighbours. A record is a row of frames as they came in, each after
 * its length as a little-endian 64 bit number. Whatever does not fit ends the reading.
 */
#include "networkd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lldp.h"

#define RECORD_LARGEST 65536

static uint64_t le64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (unsigned i = 8; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

bool networkd_parse(const uint8_t *bytes, size_t length, int link, struct cable *ret)
{
	bool any = false;

	while (length >= 8) {
		uint64_t size = le64(bytes);
		struct cable cable = {.link = link};
		uint16_t ttl;

		if (size > length - 8)
			break;
		if (lldp_decode(bytes + 8, (size_t)size, &cable.neighbour, &ttl) && ttl &&
		    (!any || neighbour_precedes(&cable.neighbour, &ret->neighbour))) {
			cable.ttl_sec = ttl;
			*ret = cable;
			any = true;
		}
		bytes += 8 + size;
		length -= 8 + size;
	}
	return any;
}

/* The index that the name is; 0: it is none. */
static int index_of(const char *name)
{
	char *end;
	long index;

	if (name[0] < '1' || name[0] > '9')
		return 0;
	errno = 0;
	index = strtol(name, &end, 10);
	return *end || errno || index > INT32_MAX ? 0 : (int)index;
}

bool networkd_is_record(const char *name)
{
	return index_of(name) != 0;
}

/* What is not a file of its kind is no error: nothing is known of that link then. */
static int record_read(int folder, const char *name, uint8_t *buffer, struct cables *cables)
{
	struct cable cable;
	struct stat what;
	size_t length = 0;
	ssize_t n = 0;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return 0;
	if (fstat(fd, &what) == 0 && S_ISREG(what.st_mode))
		while (length < RECORD_LARGEST &&
		       (n = read(fd, buffer + length, RECORD_LARGEST - length)) > 0)
			length += (size_t)n;
	close(fd);
	if (n < 0 || !networkd_parse(buffer, length, index_of(name), &cable))
		return 0;
	return cables_put(cables, &cable);
}

static int folder_read(DIR *folder, struct cables *cables)
{
	uint8_t *buffer = malloc(RECORD_LARGEST);
	struct dirent *entry;
	int r = 0;

	if (!buffer)
		return -ENOMEM;
	while (r >= 0 && (entry = readdir(folder)))
		if (networkd_is_record(entry->d_name))
			r = record_read(dirfd(folder), entry->d_name, buffer, cables);
	free(buffer);
	return r;
}

int networkd_read(const char *path, struct cables *ret)
{
	struct cables cables = {0};
	DIR *folder = opendir(path);
	int r;

	if (!folder)
		return -errno;
	r = folder_read(folder, &cables);
	closedir(folder);
	if (r < 0)
		cables_done(&cables);
	else
		*ret = cables;
	return r;
}
