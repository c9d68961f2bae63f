/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one message of an INET_DIAG dump says, and what such a dump is asked for. No socket of its
 * own.
 */
#include "storage_socket.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

#include "storage_device.h"

/*
 * Anybody may connect to any address at such a port, and must not have this host probe it. The
 * kernel's own sockets and root's belong to user 0; so does every socket, on older kernels, that
 * its process has closed, but such a one has no inode any more.
 */
static bool message_is_roots(const struct inet_diag_msg *message)
{
	return message->idiag_uid == 0 && message->idiag_inode != 0;
}

bool storage_from_socket(struct nlmsghdr *message, struct storage_socket *ret)
{
	struct storage_socket socket = {.storage.passing = true};
	struct storage *storage = &socket.storage;
	struct inet_diag_msg body;
	enum storage_kind ours;

	if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(body)))
		return false;
	memcpy(&body, NLMSG_DATA(message), sizeof(body));
	if ((body.idiag_family != AF_INET && body.idiag_family != AF_INET6) ||
	    body.idiag_state != TCP_ESTABLISHED || !message_is_roots(&body))
		return false;
	storage->port = ntohs(body.id.idiag_dport);
	/* where our end has such a port too, we are the server */
	if (!storage_from_port(storage->port, &storage->kind) ||
	    storage_from_port(ntohs(body.id.idiag_sport), &ours))
		return false;
	socket.link = (int)body.id.idiag_if;
	storage->address.family = body.idiag_family == AF_INET ? ADDRESS_IPV4 : ADDRESS_IPV6;
	memcpy(storage->address.bytes, body.id.idiag_dst,
	       body.idiag_family == AF_INET ? 4 : sizeof(storage->address.bytes));
	storage_address_unmap(&storage->address);
	if (address_is_link_local(&storage->address))
		storage->address.zone = socket.link;
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

#define PORT_TEST (2 * sizeof(struct inet_diag_bc_op)) /* the port is in an operation of its own   \
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
