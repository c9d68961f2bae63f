/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one message of an INET_DIAG dump says, and what such a dump is asked for. No socket of its
 * own.
 */
#include "storage_socket.h"

#include <string.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

#include "diag_message.h"
#include "storage_device.h"

/*
 * Anybody may connect to any address at such a port, and must not have this host probe it. The
 * kernel's own sockets and root's belong to user 0; so does every socket, on older kernels, that
 * its process has closed, but such a one has no inode any more.
 */
static bool socket_is_roots(const struct diag_socket *socket)
{
	return socket->user == 0 && socket->inode != 0;
}

bool storage_from_socket(struct nlmsghdr *message, struct storage_socket *ret)
{
	struct storage_socket socket = {.storage.passing = true};
	struct storage *storage = &socket.storage;
	struct diag_socket diag;
	enum storage_kind ours;

	if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY || !diag_message_parse(message, &diag) ||
	    !socket_is_roots(&diag))
		return false;
	storage->port = diag.to_port;
	/* where our end has such a port too, we are the server */
	if (!storage_from_port(storage->port, &storage->kind) ||
	    storage_from_port(diag.from_port, &ours))
		return false;
	socket.link = diag.link;
	storage->address = diag.to;
	if (!storage_address_is_elsewhere(&storage->address) || socket.link < 0 ||
	    (address_is_link_local(&storage->address) && socket.link == 0))
		return false;
	*ret = socket;
	return true;
}

/* --- the kernel's filter --- */

static size_t put(void *buffer, size_t at, struct inet_diag_bc_op op)
{
	memcpy((char *)buffer + at, &op, sizeof(op));
	return at + sizeof(op);
}

#define PORT_TEST                                                                                  \
	(2 * sizeof(struct inet_diag_bc_op)) /* the port is in an operation of its own             \
					      */
#define RANGE (2 * PORT_TEST + sizeof(struct inet_diag_bc_op))

/*
 * For each range: port >= first, else on to the next range; port <= last, else on to the next
 * range; a jump to the end, where what arrives exactly passes, and what comes 4 bytes further does
 * not.
 */
size_t sockets_filter_write(void *buffer)
{
	size_t at = 0, count = storage_port_ranges(), size = count * RANGE;

	for (size_t i = 0; i < count; i++) {
		struct storage_ports ports = storage_port_range((unsigned)i);
		/* past the last range is past the end */
		uint16_t next = i + 1 < count ? RANGE : RANGE + sizeof(struct inet_diag_bc_op);

		at = put(buffer, at, (struct inet_diag_bc_op){INET_DIAG_BC_D_GE, PORT_TEST, next});
		at = put(buffer, at, (struct inet_diag_bc_op){.no = ports.first});
		at = put(buffer, at,
			 (struct inet_diag_bc_op){INET_DIAG_BC_D_LE, PORT_TEST,
						  (uint16_t)(next - PORT_TEST)});
		at = put(buffer, at, (struct inet_diag_bc_op){.no = ports.last});
		at = put(buffer, at,
			 (struct inet_diag_bc_op){INET_DIAG_BC_JMP, sizeof(uint32_t),
						  (uint16_t)(size - at)});
	}
	return at;
}
