/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bytes of an INET_DIAG message to a connection. Believes no length and keeps nothing.
 * libnl-idiag's own parser allocates objects for each message and knows an older struct tcp_info.
 */
#include "connection_message.h"

#include <string.h>
#include <sys/socket.h>

#include <linux/inet_diag.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "diag_message.h"

bool connection_message_parse(struct nlmsghdr *message, struct connection *ret)
{
	struct nlattr *attributes[INET_DIAG_MAX + 1];
	struct connection connection = {0};
	struct diag_socket socket;

	if (message->nlmsg_type != TCPDIAG_GETSOCK || !diag_message_parse(message, &socket) ||
	    nlmsg_parse(message, sizeof(struct inet_diag_msg), attributes, INET_DIAG_MAX, NULL) <
		    0 ||
	    attributes[INET_DIAG_INFO] == NULL)
		return false;
	connection.to = socket.to;
	connection.from = socket.from;
	connection.link = socket.link;
	connection.in_flight = socket.queued;
	if (!connection_info_read(nla_data(attributes[INET_DIAG_INFO]),
				  (size_t)nla_len(attributes[INET_DIAG_INFO]), &connection))
		return false;
	*ret = connection;
	return true;
}

/* --- what is asked for --- */

/* One address: a condition, and a jump to the end where it holds. Where it does not, over the jump
 * to the next address; of the last one past the end, which is how a program says no. */
static size_t condition_write(const struct address *address, size_t left, uint8_t *at)
{
	size_t bytes = address->family == ADDRESS_IPV4 ? 4 : 16;
	size_t length = sizeof(struct inet_diag_bc_op) + sizeof(struct inet_diag_hostcond) + bytes;
	struct inet_diag_bc_op op = {
		.code = INET_DIAG_BC_D_COND,
		.yes = (uint8_t)length,
		.no = (uint16_t)(length + sizeof(op)),
	};
	struct inet_diag_bc_op jump = {
		.code = INET_DIAG_BC_JMP,
		.yes = sizeof(jump),
		.no = (uint16_t)(left - length),
	};
	struct inet_diag_hostcond condition;

	/* what lies between its fields is sent too */
	memset(&condition, 0, sizeof(condition));
	condition.family = address->family == ADDRESS_IPV4 ? AF_INET : AF_INET6;
	condition.prefix_len = (uint8_t)(8 * bytes);
	condition.port = -1;
	memcpy(at, &op, sizeof(op));
	memcpy(at + sizeof(op), &condition, sizeof(condition));
	memcpy(at + sizeof(op) + sizeof(condition), address->bytes, bytes);
	if (left > length)
		memcpy(at + length, &jump, sizeof(jump));
	return length + sizeof(jump);
}

static size_t condition_length(const struct address *address)
{
	return 2 * sizeof(struct inet_diag_bc_op) + sizeof(struct inet_diag_hostcond) +
	       (address->family == ADDRESS_IPV4 ? 4 : 16);
}

size_t connection_filter_write(const struct address *addresses, unsigned count, void *buffer)
{
	size_t total = 0, done = 0;

	for (unsigned i = 0; i < count; i++)
		total += condition_length(&addresses[i]);
	/* where the last condition holds the end is next: it needs no jump */
	if (count > 0)
		total -= sizeof(struct inet_diag_bc_op);
	for (unsigned i = 0; i < count; i++)
		done += condition_write(&addresses[i], total - done, (uint8_t *)buffer + done);
	return total;
}
