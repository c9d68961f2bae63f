/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all through the decoders of mounts, devices and cluster files. What comes out is an
 * address that another host may have, or a plain host name, and never anything else.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/world/storage_device.h"
#include "../../daemon/world/storage_mount.h"
#include "../../daemon/world/storage_socket.h"
#include "../../daemon/world/storage_sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char host_characters[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

static void storage_expect(const struct storage *storage)
{
	if (storage->address.family == ADDRESS_NONE) {
		if (storage->host[0] == '\0' || strlen(storage->host) >= STORAGE_HOST_SIZE ||
		    storage->host[strspn(storage->host, host_characters)] != '\0')
			abort();
	} else if (storage->host[0] != '\0' || !storage_address_is_elsewhere(&storage->address)) {
		abort();
	}
	if (memchr(storage->link, '\0', sizeof(storage->link)) == NULL ||
	    strpbrk(storage->link, "/% \n\t\033"))
		abort();
	if (storage->address.family != ADDRESS_NONE && address_is_link_local(&storage->address) &&
	    storage->address.zone == 0 && storage->link[0] == '\0')
		abort();
}

static void list_expect(struct storage_list *list)
{
	if (list->count > STORAGE_MOST)
		abort();
	for (unsigned i = 0; i < list->count; i++)
		storage_expect(&list->list[i]);
	storage_list_done(list);
}

/* Lines of the input, each a text of its own; NULL where there is none. */
struct lines {
	char *text;
	char *next;
};

static char *line_take(struct lines *lines)
{
	char *line = lines->next;
	char *end = line ? strchr(line, '\n') : NULL;

	lines->next = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return line;
}

static void fuzz_mount(struct lines lines)
{
	struct storage_list list = {0};
	struct mount_text mount = {.type = line_take(&lines)};

	mount.source = line_take(&lines);
	mount.options = line_take(&lines);
	storage_from_mount(&mount, &list);
	list_expect(&list);
}

static void fuzz_iscsi(struct lines lines)
{
	struct iscsi_text text = {.address = line_take(&lines)};
	struct storage storage;

	text.port = line_take(&lines);
	text.persistent_address = line_take(&lines);
	text.persistent_port = line_take(&lines);
	text.driver = line_take(&lines);
	text.link = line_take(&lines);
	if (storage_from_iscsi(&text, &storage))
		storage_expect(&storage);
}

static void fuzz_nvme(struct lines lines)
{
	struct nvme_text text = {.transport = line_take(&lines)};
	struct storage storage;

	text.address = line_take(&lines);
	text.state = line_take(&lines);
	if (storage_from_nvme(&text, &storage))
		storage_expect(&storage);
}

/* Spans have no end of their own: the bytes as they are. */
static void fuzz_spans(const uint8_t *data, size_t size)
{
	const struct span span = {(const char *)data, size};
	struct storage storage = {0};

	if (storage_text_address(span, &storage))
		storage_expect(&storage);
	storage = (struct storage){0};
	if (storage_text_server(span, &storage))
		storage_expect(&storage);
	if (storage_from_corosync(span, &storage))
		storage_expect(&storage);
}

static void fuzz_socket(const uint8_t *data, size_t size)
{
	union {
		struct nlmsghdr header;
		uint8_t bytes[512];
	} message = {0};
	struct storage_socket socket;

	if (size > sizeof(message))
		size = sizeof(message);
	memcpy(message.bytes, data, size);
	if (size < sizeof(message.header) || message.header.nlmsg_len > size)
		message.header.nlmsg_len = (uint32_t)size;
	if (storage_from_socket(&message.header, &socket))
		storage_expect(&socket.storage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines lines;

	if (size == 0)
		return 0;
	fuzz_spans(data + 1, size - 1);
	fuzz_socket(data, size);
	lines.text = lines.next = strndup((const char *)data + 1, size - 1);
	if (!lines.text)
		return 0;
	switch (data[0] % 3) {
	case 0:
		fuzz_mount(lines);
		break;
	case 1:
		fuzz_iscsi(lines);
		break;
	case 2:
		fuzz_nvme(lines);
		break;
	}
	free(lines.text);
	return 0;
}
