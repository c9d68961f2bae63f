/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as a mount table, a cluster's configuration and the kernel's list of reserved
 * ports, read as files: what comes out is an address that another host may have, or a host name.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../daemon/world/reserved.h"
#include "../../daemon/world/storage_sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void collect(int (*from)(const char *path, struct storage_list *list), const char *path)
{
	struct storage_list list = {0};

	if (from(path, &list) < 0)
		abort();
	if (list.count > STORAGE_MOST)
		abort();
	for (unsigned i = 0; i < list.count; i++) {
		const struct storage *storage = &list.list[i];

		if ((storage->address.family == ADDRESS_NONE) != (storage->host[0] != '\0') ||
		    !memchr(storage->host, '\0', STORAGE_HOST_SIZE) ||
		    strpbrk(storage->host, "/% \t\n\033"))
			abort();
	}
	storage_list_done(&list);
}

static void ports(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	for (unsigned port = 1; text && port < 65536; port += 7919)
		reserved_holds(text, (uint16_t)port);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	collect(mounts_collect, path);
	collect(corosync_collect, path);
	close(fd);
	ports(data, size);
	return 0;
}
