/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The addresses by which an NFS mount is trunked: a mount names one, the others are transports of
 * the same switch. Transports of other programs, and those a server has towards its clients, share
 * no switch with a mount and are left alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "storage_sources.h"

#define TRANSPORTS_MOST 64 /* of one switch: nconnect= and max_connect= end at 16 */
#define SWITCHES_MOST 4096

struct trunk {
	struct storage list[TRANSPORTS_MOST];
	unsigned count;
};

static DIR *folder_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder && fd >= 0)
		close(fd);
	return folder;
}

/* "xprt-1-tcp", "xprt-2-tcp-tls": not udp, local, rdma, nor the way back of another connection. */
static bool transport_is_tcp(const char *name)
{
	const char *kind = strncmp(name, "xprt-", 5) == 0 ? strchr(name + 5, '-') : NULL;

	return kind && (strcmp(kind, "-tcp") == 0 || strcmp(kind, "-tcp-tls") == 0);
}

static bool transport_read(int at, const char *name, struct storage *ret)
{
	char text[128];
	struct span rest = {text, 0};
	ssize_t length;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int file = fd < 0 ? -1 : openat(fd, "dstaddr", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	if (file < 0)
		return false;
	length = read(file, text, sizeof(text));
	close(file);
	if (length <= 0)
		return false;
	rest.length = (size_t)length;
	return storage_text_address(span_take(&rest, "\n"), ret);
}

static void trunk_read(DIR *folder, struct trunk *trunk)
{
	struct dirent *entry;

	while (trunk->count < TRANSPORTS_MOST && (entry = readdir(folder))) {
		struct storage storage = {.kind = STORAGE_NFS};

		if (transport_is_tcp(entry->d_name) &&
		    transport_read(dirfd(folder), entry->d_name, &storage))
			trunk->list[trunk->count++] = storage;
	}
}

/* The mount that this is a trunk of; NULL none. */
static const struct storage *trunk_mount(const struct trunk *trunk, const struct storage_list *list)
{
	for (unsigned i = 0; i < list->count; i++)
		for (unsigned j = 0; j < trunk->count; j++)
			if (list->list[i].kind == STORAGE_NFS && !list->list[i].offloaded &&
			    address_equal(&list->list[i].address, &trunk->list[j].address))
				return &list->list[i];
	return NULL;
}

static int switch_collect(int at, const char *name, struct storage_list *list)
{
	DIR *folder = folder_open(at, name);
	struct trunk trunk = {.count = 0};
	const struct storage *mount;
	uint16_t port;
	int r = 0;

	if (!folder)
		return 0;
	trunk_read(folder, &trunk);
	closedir(folder);
	mount = trunk_mount(&trunk, list);
	port = mount ? mount->port : 0;
	for (unsigned i = 0; mount && i < trunk.count && r >= 0; i++) {
		trunk.list[i].port = port;
		r = storage_list_add(list, &trunk.list[i]);
	}
	return r;
}

static bool list_has_nfs(const struct storage_list *list)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->list[i].kind == STORAGE_NFS)
			return true;
	return false;
}

int sunrpc_collect(const char *path, struct storage_list *list)
{
	DIR *folder = list_has_nfs(list) ? folder_open(AT_FDCWD, path) : NULL;
	unsigned switches = 0;
	struct dirent *entry;
	int r = 0;

	if (!folder)
		return 0;
	while (r >= 0 && switches < SWITCHES_MOST && (entry = readdir(folder)))
		if (strncmp(entry->d_name, "switch-", 7) == 0) {
			switches++;
			r = switch_collect(dirfd(folder), entry->d_name, list);
		}
	closedir(folder);
	return r;
}
