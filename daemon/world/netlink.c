/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one seam at the netlink socket. Datagrams are read into one buffer that is used again, so
 * that neither an event nor a request allocates. What a message means is the rooms' matter.
 */
#include "netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/idiag/idiagnl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

/* A dump comes in pieces of at most 32 KiB; one message of a link is a few KiB. */
#define BUFFER_SIZE (64 * 1024)
#define EVENT_BUFFER_SIZE (8 * 1024 * 1024)
#define ANSWER_TIMEOUT_SEC 1
#define ERRNO_LARGEST 4095 /* the kernel's MAX_ERRNO */

static int option_on(int fd, int option)
{
	int on = 1;

	return setsockopt(fd, SOL_NETLINK, option, &on, sizeof(on)) < 0 ? -errno : 0;
}

/* The default buffer overflows after about ninety link messages. */
static void buffer_enlarge(int fd)
{
	int size = EVENT_BUFFER_SIZE;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static int prepare_events(struct netlink *netlink, const int *groups)
{
	buffer_enlarge(netlink->fd);
	for (; *groups != 0; groups++)
		/* a group that this kernel has not has no news either */
		if (setsockopt(netlink->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, groups,
			       sizeof(*groups)) < 0 &&
		    errno != EINVAL)
			return -errno;
	return nl_socket_set_nonblocking(netlink->socket) < 0 ? -EBADF : 0;
}

static int prepare_patience(struct netlink *netlink)
{
	struct timeval timeout = {.tv_sec = ANSWER_TIMEOUT_SEC};

	if (setsockopt(netlink->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    setsockopt(netlink->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
		return -errno;
	return 0;
}

static int prepare_requests(struct netlink *netlink)
{
	int r = prepare_patience(netlink);

	if (r < 0)
		return r;
	/* without strict checking the kernel ignores what a dump asks for (dumps exceptions too) */
	return option_on(netlink->fd, NETLINK_GET_STRICT_CHK);
}

static int netlink_connect(struct netlink *ret, int (*connect_to)(struct nl_sock *))
{
	struct netlink netlink = {.fd = -1};
	int r = -ENOMEM;

	netlink.buffer = malloc(BUFFER_SIZE);
	netlink.socket = nl_socket_alloc();
	if (netlink.buffer == NULL || netlink.socket == NULL)
		goto fail;
	errno = 0;
	if (connect_to(netlink.socket) < 0) {
		r = errno != 0 ? -errno : -EPROTONOSUPPORT;
		goto fail;
	}
	netlink.fd = nl_socket_get_fd(netlink.socket);
	*ret = netlink;
	return 0;
fail:
	netlink_close(&netlink);
	return r;
}

static int connect_routes(struct nl_sock *socket)
{
	return nl_connect(socket, NETLINK_ROUTE);
}

int netlink_open(struct netlink *ret, const int *groups)
{
	struct netlink netlink = {.fd = -1};
	int r = netlink_connect(&netlink, connect_routes);

	if (r < 0)
		return r;
	r = groups != NULL ? prepare_events(&netlink, groups) : prepare_requests(&netlink);
	if (r < 0)
		netlink_close(&netlink);
	else
		*ret = netlink;
	return r;
}

int netlink_open_connections(struct netlink *ret, bool events)
{
	struct netlink netlink = {.fd = -1};
	int r = netlink_connect(&netlink, idiagnl_connect);

	if (r < 0)
		return r;
	if (!events)
		r = prepare_patience(&netlink);
	else
		r = nl_socket_set_nonblocking(netlink.socket) < 0 ? -EBADF : 0;
	if (r < 0)
		netlink_close(&netlink);
	else
		*ret = netlink;
	return r;
}

void netlink_close(struct netlink *netlink)
{
	nl_socket_free(netlink->socket);
	free(netlink->buffer);
	*netlink = (struct netlink){.fd = -1};
}

/* Bytes of the next datagram; 0: there was one, but nothing for us in it. */
static ssize_t datagram_read(struct netlink *netlink)
{
	struct sockaddr_nl sender = {0};
	struct iovec iov = {.iov_base = netlink->buffer, .iov_len = BUFFER_SIZE};
	struct msghdr header = {
		.msg_name = &sender,
		.msg_namelen = sizeof(sender),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t n;

	do
		n = recvmsg(netlink->fd, &header, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	/* any process may send to us; only the kernel has port 0 */
	if (header.msg_namelen != sizeof(sender) || sender.nl_pid != 0)
		return 0;
	/* cut off: the same to us as a message that was dropped */
	if ((header.msg_flags & MSG_TRUNC) != 0)
		return -ENOBUFS;
	return n;
}

int netlink_receive(struct netlink *netlink, netlink_handler_t handler, void *userdata)
{
	struct nlmsghdr *message = netlink->buffer;
	ssize_t n = datagram_read(netlink);
	int left;

	if (n < 0)
		return (int)n;
	for (left = (int)n; nlmsg_ok(message, left); message = nlmsg_next(message, &left)) {
		int r = handler(message, userdata);

		if (r < 0)
			return r;
	}
	return 1;
}

void netlink_discard(struct netlink *netlink)
{
	ssize_t n;

	/* Bounded: a storm may fill as fast as this empties. An error (an overrun again) takes
	 * one turn and is cleared by it. */
	for (unsigned i = 0; i < 100000; i++) {
		n = recv(netlink->fd, netlink->buffer, BUFFER_SIZE, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && errno != EINTR && errno != ENOBUFS)
			return;
	}
}

struct asking {
	uint32_t sequence;
	bool dump;
	bool silence; /* is an answer: to a dump, or to an order */
	bool done;
	bool interrupted;
	int error; /* the kernel's */
	int handler_error;
	netlink_handler_t handler;
	void *userdata;
};

int netlink_error(struct nlmsghdr *message)
{
	int error;

	/* NLMSG_ERROR and, since dumps may fail midway, NLMSG_DONE begin with it */
	if (nlmsg_datalen(message) < (int)sizeof(error))
		return message->nlmsg_type == NLMSG_ERROR ? -EBADMSG : 0;
	memcpy(&error, nlmsg_data(message), sizeof(error));
	if (error < -ERRNO_LARGEST)
		return -EBADMSG;
	return error < 0 ? error : 0;
}

static int on_answer(struct nlmsghdr *message, void *userdata)
{
	struct asking *asking = userdata;

	/* the late answer to a request that timed out */
	if (message->nlmsg_seq != asking->sequence || asking->done)
		return 0;
	if ((message->nlmsg_flags & NLM_F_DUMP_INTR) != 0)
		asking->interrupted = true;
	if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_type == NLMSG_DONE) {
		asking->error = netlink_error(message);
		asking->done = true;
		if (asking->error == 0 && !asking->silence)
			asking->error = -EBADMSG;
		return 0;
	}
	if (asking->handler_error == 0) {
		int r = asking->handler(message, asking->userdata);

		asking->handler_error = r < 0 ? r : 0;
	}
	asking->done = !asking->dump;
	return 0;
}

int netlink_send(struct netlink *netlink, struct nlmsghdr *request)
{
	static const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t n;

	request->nlmsg_flags |= NLM_F_REQUEST;
	request->nlmsg_seq = ++netlink->sequence;
	request->nlmsg_pid = 0;
	do
		n = sendto(netlink->fd, request, request->nlmsg_len, 0,
			   (const struct sockaddr *)&kernel, sizeof(kernel));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int netlink_ask(struct netlink *netlink, struct nlmsghdr *request, netlink_handler_t handler,
		void *userdata)
{
	struct asking asking = {
		.dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP,
		.silence = (request->nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK)) != 0,
		.handler = handler,
		.userdata = userdata,
	};
	int r = netlink_send(netlink, request);

	if (r < 0)
		return r;
	asking.sequence = netlink->sequence;
	while (!asking.done) {
		r = netlink_receive(netlink, on_answer, &asking);
		if (r < 0)
			return r == -EAGAIN ? -ETIMEDOUT : r;
	}
	if (asking.error < 0)
		return asking.error;
	if (asking.handler_error < 0)
		return asking.handler_error;
	return asking.interrupted ? -EINTR : 0;
}

void netlink_put(struct nlmsghdr *request, uint16_t type, const void *data, size_t length)
{
	struct nlattr *attribute = (void *)((char *)request + NLMSG_ALIGN(request->nlmsg_len));

	attribute->nla_type = type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + length);
	memcpy((char *)attribute + NLA_HDRLEN, data, length);
	request->nlmsg_len =
		NLMSG_ALIGN(request->nlmsg_len) + (uint32_t)NLA_ALIGN(attribute->nla_len);
}
