/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFS, SMB, CephFS and GlusterFS as they stand in a mount table. The first three can be mounted by
 * root alone, and the kernel itself writes their addresses. A FUSE file system can be mounted by
 * anybody, under any type and any source: only the kernel's own word that root has done it counts.
 */
#include "storage_mount.h"

#include <errno.h>
#include <string.h>

#define PORT_NFS 2049
#define PORT_SMB 445
#define PORT_CEPH 6789
#define PORT_GLUSTERFS 24007

static bool option_is_there(struct span options, const char *word)
{
	struct span one;

	while (!span_is_empty(options) && span_take_option(&options, &one))
		if (span_is(one, word))
			return true;
	return false;
}

/* Another port only where it is said: NFS shows port=0 for "ask the port mapper". */
static void take_port(struct span options, struct storage *storage)
{
	storage_text_port(span_value(options, "port="), &storage->port);
}

static int from_nfs(struct span options, struct storage_list *list)
{
	struct storage storage = {.kind = STORAGE_NFS, .port = PORT_NFS};
	struct span protocol = span_value(options, "proto=");

	storage.offloaded = span_is(protocol, "rdma") || span_is(protocol, "rdma6");
	if (!storage_text_address(span_value(options, "addr="), &storage))
		return 0;
	take_port(options, &storage);
	return storage_list_add(list, &storage);
}

static int from_smb(struct span options, struct storage_list *list)
{
	struct storage storage = {.kind = STORAGE_SMB, .port = PORT_SMB};
	struct storage from = {0};

	storage.offloaded = option_is_there(options, "rdma");
	if (!storage_text_address(span_value(options, "addr="), &storage))
		return 0;
	take_port(options, &storage);
	if (storage_text_address(span_value(options, "srcaddr="), &from))
		storage.from = from.address;
	return storage_list_add(list, &storage);
}

/* "10.0.0.1:6789", "[2001:db8::1]:6789", "v2:10.0.0.1:3300/0", and what is left of a vector of
 * both,
 * "[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0]", where it was cut at its commas. */
static bool ceph_address(struct span text, struct storage *ret)
{
	static const char *const prefixes[] = {"v1:", "v2:", "any:"};
	struct span whole = text;

	if (text.length > 1 && text.text[0] == '[' &&
	    (text.text[1] == 'v' || text.text[1] == 'a')) {
		text.text++;
		text.length--;
	}
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (text.length > length && memcmp(text.text, prefixes[i], length) == 0) {
			text.text += length;
			text.length -= length;
			break;
		}
	}
	/* the closing bracket of the vector, not of an address */
	if (text.length > 0 && text.text[text.length - 1] == ']' &&
	    !memchr(text.text, '[', text.length))
		text.length--;
	return storage_text_server(text, ret) || storage_text_server(whole, ret);
}

/* Monitors divided by commas (the source) or slashes (mon_addr=); a number alone is a nonce. */
static int ceph_monitors(struct span text, struct storage_list *list)
{
	int r = 0;

	while (!span_is_empty(text) && r >= 0) {
		struct storage storage = {.kind = STORAGE_CEPH, .port = PORT_CEPH};

		if (ceph_address(span_take(&text, ",/"), &storage))
			r = storage_list_add(list, &storage);
	}
	return r;
}

/* What is before ":/"; empty when there is none. */
static struct span source_servers(struct span source)
{
	for (size_t i = 0; i + 1 < source.length; i++)
		if (source.text[i] == ':' && source.text[i + 1] == '/')
			return (struct span){source.text, i};
	return (struct span){NULL, 0};
}

/* Before Linux 5.17 the monitors are the source, since then "name@fsid.fs=/path" is. */
static int from_ceph(struct span source, struct span options, struct storage_list *list)
{
	int r = ceph_monitors(source_servers(source), list);

	return r < 0 ? r : ceph_monitors(span_value(options, "mon_addr="), list);
}

static int from_glusterfs(struct span source, struct span options, struct storage_list *list)
{
	struct span servers = source_servers(source);
	int r = 0;

	if (!span_is(span_value(options, "user_id="), "0"))
		return 0;
	while (!span_is_empty(servers) && r >= 0) {
		struct storage storage = {.kind = STORAGE_GLUSTERFS, .port = PORT_GLUSTERFS};

		if (storage_text_server(span_take(&servers, ","), &storage))
			r = storage_list_add(list, &storage);
	}
	return r;
}

static const struct {
	const char *type;
	enum storage_kind kind;
} types[] = {
	{"nfs", STORAGE_NFS},  {"nfs4", STORAGE_NFS},  {"cifs", STORAGE_SMB},
	{"smb3", STORAGE_SMB}, {"ceph", STORAGE_CEPH}, {"fuse.glusterfs", STORAGE_GLUSTERFS},
};
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

static unsigned type_find(struct span type)
{
	unsigned i = 0;

	while (i < TYPE_COUNT && !span_is(type, types[i].type))
		i++;
	return i;
}

bool storage_mount_type(struct span type)
{
	return type_find(type) < TYPE_COUNT;
}

int storage_from_mount(const struct mount_text *mount, struct storage_list *list)
{
	struct span source = span_of(mount->source), options = span_of(mount->options);
	unsigned type = type_find(span_of(mount->type));

	if (type == TYPE_COUNT)
		return 0;
	switch (types[type].kind) {
	case STORAGE_NFS:
		return from_nfs(options, list);
	case STORAGE_SMB:
		return from_smb(options, list);
	case STORAGE_CEPH:
		return from_ceph(source, options, list);
	case STORAGE_GLUSTERFS:
		return from_glusterfs(source, options, list);
	case STORAGE_ISCSI:
	case STORAGE_NVME:
	case STORAGE_DRBD:
	case STORAGE_COROSYNC:
		return 0;
	}
	return 0;
}
