/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A datagram is up to four messages: type, flags, the fixed part of that type, and attributes, each a
 * type and a length, of which one stands for "the attributes that follow are within this one". All
 * lengths are right, but where a flag asks for a wrong one. The linker puts these functions where
 * the daemon calls the system's.
 */
#include "kernel.h"

#include <errno.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/inet_diag.h>
#include <linux/net_namespace.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

/* Of the byte that is an attribute's length. */
#define NESTED 0xff
#define END 0xfe
#define DEEPEST 4
/* Of a message's flags. */
#define OF_OTHER_REQUEST 1
#define INTERRUPTED 2
#define LENGTH_WRONG 4

static struct bytes said;
static uint32_t sequence; /* of the last request */

struct nl_sock;
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags);
ssize_t __wrap_sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
		      socklen_t length);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int __real_nl_connect(struct nl_sock *socket, int protocol);
int __wrap_nl_connect(struct nl_sock *socket, int protocol);
int __wrap_idiagnl_connect(struct nl_sock *socket);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

void kernel_begin(const uint8_t *data, size_t size)
{
	said = (struct bytes){data, size};
}

bool kernel_is_done(void)
{
	return said.left == 0;
}

struct bytes *kernel_bytes(void)
{
	return &said;
}

/* --- datagrams --- */

struct datagram {
	uint8_t *at;
	size_t length;
	size_t room;
};

static void *datagram_add(struct datagram *datagram, size_t length)
{
	size_t aligned = NLMSG_ALIGN(length);
	void *begin = datagram->at + datagram->length;

	if (datagram->room - datagram->length < aligned)
		return NULL;
	memset(begin, 0, aligned);
	datagram->length += aligned;
	return begin;
}

static void attributes_add(struct datagram *datagram, unsigned depth)
{
	while (said.left > 0) {
		uint8_t type = bytes_u8(&said), length = bytes_u8(&said);
		size_t begin = datagram->length;
		struct nlattr *attribute;

		if (length == END)
			return;
		attribute = datagram_add(datagram, sizeof(*attribute) +
							   (length == NESTED ? 0 : length));
		if (!attribute)
			return;
		if (length != NESTED)
			bytes_take(&said, attribute + 1, length);
		else if (depth < DEEPEST)
			attributes_add(datagram, depth + 1);
		attribute->nla_type = type;
		attribute->nla_len = (uint16_t)(length == NESTED ? datagram->length - begin
								 : sizeof(*attribute) + length);
	}
}

static const struct {
	uint16_t type;
	uint16_t fixed;
} kinds[] = {
	{NLMSG_DONE, sizeof(int)},
	{NLMSG_ERROR, sizeof(struct nlmsgerr)},
	{RTM_NEWLINK, sizeof(struct ifinfomsg)},
	{RTM_DELLINK, sizeof(struct ifinfomsg)},
	{RTM_NEWROUTE, sizeof(struct rtmsg)},
	{RTM_DELROUTE, sizeof(struct rtmsg)},
	{RTM_NEWNEXTHOP, sizeof(struct nhmsg)},
	{RTM_NEWADDR, sizeof(struct ifaddrmsg)},
	{RTM_NEWRULE, sizeof(struct rtmsg)},
	{RTM_NEWNSID, sizeof(struct rtgenmsg)},
	{RTM_NEWSTATS, sizeof(struct if_stats_msg)},
	{TCPDIAG_GETSOCK, sizeof(struct inet_diag_msg)},
	{SOCK_DIAG_BY_FAMILY, sizeof(struct inet_diag_msg)},
	{RTM_NEWLINK, 0},
	{RTM_NEWROUTE, 0},
};

static void message_add(struct datagram *datagram)
{
	uint8_t kind = bytes_u8(&said) % (sizeof(kinds) / sizeof(kinds[0]));
	uint8_t flags = bytes_u8(&said), wrong = flags & LENGTH_WRONG ? bytes_u8(&said) : 0;
	size_t begin = datagram->length;
	struct nlmsghdr *head = datagram_add(datagram, sizeof(*head) + kinds[kind].fixed);

	if (!head)
		return;
	bytes_take(&said, head + 1, kinds[kind].fixed);
	if (kind > 1)
		attributes_add(datagram, 0);
	*head = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)(datagram->length - begin) + wrong,
		.nlmsg_type = kinds[kind].type,
		.nlmsg_flags = flags & INTERRUPTED ? NLM_F_DUMP_INTR : 0,
		.nlmsg_seq = sequence + (flags & OF_OTHER_REQUEST),
	};
}

/* What is behind the datagram's end is none of its reader's business. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
	struct datagram datagram = {message->msg_iov->iov_base, 0, message->msg_iov->iov_len};
	uint8_t how = bytes_u8(&said);

	__asan_unpoison_memory_region(datagram.at, datagram.room);
	if (said.left == 0 || how >= 0xf0) {
		errno = how == 0xff ? ENOBUFS : how == 0xfe && said.left > 0 ? EINTR : EAGAIN;
		return -1;
	}
	for (unsigned i = 0; i <= (how & 3U); i++)
		message_add(&datagram);
	if (how & 4 && datagram.length > 0)
		datagram.length -= bytes_u8(&said) % datagram.length;
	memset(message->msg_name, 0, message->msg_namelen);
	message->msg_flags = how & 8 ? MSG_TRUNC : 0;
	__asan_poison_memory_region(datagram.at + datagram.length, datagram.room - datagram.length);
	return (ssize_t)datagram.length;
}

ssize_t __wrap_recv(int fd, void *buffer, size_t size, int flags)
{
	errno = EAGAIN;
	return -1;
}

ssize_t __wrap_sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
		      socklen_t length)
{
	const struct nlmsghdr *request = data;

	if (size < sizeof(*request) || request->nlmsg_len != size)
		abort();
	sequence = request->nlmsg_seq;
	return (ssize_t)size;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	return 0;
}

/* Always readable, for the event loop to ask. */
int __wrap_nl_connect(struct nl_sock *socket, int protocol)
{
	int r = __real_nl_connect(socket, NETLINK_ROUTE);
	int readable = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	if (r >= 0 && dup2(readable, nl_socket_get_fd(socket)) < 0)
		abort();
	close(readable);
	return r;
}

int __wrap_idiagnl_connect(struct nl_sock *socket)
{
	return __wrap_nl_connect(socket, NETLINK_SOCK_DIAG);
}

/* --- ethtool --- */

static void driver_say(struct ethtool_drvinfo *info)
{
	static const char *const drivers[] = {"mlx5_core", "igb", "e1000e", "ixgbe", "i40e", "bnxt_en"};
	uint8_t which = bytes_u8(&said);

	if (which < sizeof(drivers) / sizeof(drivers[0]))
		strcpy(info->driver, drivers[which]);
	else
		bytes_take(&said, info->driver, sizeof(info->driver));
	info->n_stats = bytes_u8(&said) == 0xff ? UINT32_MAX : bytes_u8(&said);
}

/* Queues may have come since it was asked: it writes as many as there are now. */
static uint32_t count_now(uint32_t asked)
{
	uint8_t more = bytes_u8(&said);

	return more < 0x80 ? asked : asked + more;
}

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	void *command = ((struct ifreq *)argument)->ifr_data;
	struct ethtool_gstrings *strings = command;
	struct ethtool_stats *values = command;

	if (bytes_u8(&said) == 0xff) {
		errno = EOPNOTSUPP;
		return -1;
	}
	switch (*(uint32_t *)command) {
	case ETHTOOL_GDRVINFO:
		driver_say(command);
		return 0;
	case ETHTOOL_GSTRINGS:
		strings->len = count_now(strings->len);
		bytes_take(&said, strings->data, (size_t)strings->len * ETH_GSTRING_LEN);
		return 0;
	case ETHTOOL_GSTATS:
		values->n_stats = count_now(values->n_stats);
		bytes_take(&said, values->data, values->n_stats * sizeof(values->data[0]));
		return 0;
	}
	abort();
}
