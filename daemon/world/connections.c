/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The dump of INET_DIAG, read in pieces so that the loop goes on meanwhile. The request is the one
 * that libnl-idiag sends: unlike its successor it has both families in one pass of the kernel's
 * table. Keeps no connection.
 */
#include "connections.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <netlink/idiag/idiagnl.h>
#include <netlink/msg.h>

#include "connection_message.h"
#include "netlink.h"

#define PIECES_PER_TURN 4 /* of at most 32 KiB */

struct connections {
	struct netlink netlink;
	struct connections_handlers handlers;
	void *userdata;
	sd_event *event;
	sd_event_source *source;
	uint64_t cost_usec;
	int error;
	bool running, over;
};

struct connections_request {
	struct nlmsghdr header;
	struct inet_diag_req request;
	uint8_t attributes[NLA_HDRLEN + CONNECTIONS_FILTER_MOST * FILTER_ADDRESS_SIZE];
};

static uint64_t cost_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

static int on_message(struct nlmsghdr *message, void *userdata)
{
	struct connections *connections = userdata;
	struct connection connection;

	/* a look that was given up may still be on its way */
	if (message->nlmsg_seq != connections->netlink.sequence || connections->over)
		return 0;
	if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_type == NLMSG_DONE) {
		connections->error = netlink_error(message);
		connections->over = true;
	} else if (connection_message_parse(message, &connection)) {
		connections->handlers.connection(&connection, connections->userdata);
	}
	return 0;
}

/* 1: to be continued. */
static int read_pieces(struct connections *connections, unsigned most)
{
	uint64_t begun = cost_now();
	int r = 1;

	for (unsigned i = 0; i < most && r > 0 && !connections->over; i++)
		r = netlink_receive(&connections->netlink, on_message, connections);
	connections->cost_usec += cost_now() - begun;
	if (connections->over)
		return 0;
	if (r == -EAGAIN && connections->event == NULL)
		r = -ETIMEDOUT;
	else if (r == -EAGAIN)
		r = 1;
	connections->error = r < 0 ? r : 0;
	return r;
}

static void look_end(struct connections *connections)
{
	if (!connections->running)
		return;
	connections->running = false;
	connections->handlers.done(connections->error, connections->cost_usec,
				   connections->userdata);
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct connections *connections = userdata;

	if (read_pieces(connections, PIECES_PER_TURN) <= 0)
		look_end(connections);
	return 0;
}

static int open_socket(struct connections *connections)
{
	int r = netlink_open_connections(&connections->netlink, connections->event != NULL);

	if (r < 0 || connections->event == NULL)
		return r;
	r = sd_event_add_io(connections->event, &connections->source, connections->netlink.fd,
			    EPOLLIN, on_readable, connections);
	/* probes and their answers go first */
	return r < 0 ? r : sd_event_source_set_priority(connections->source,
							SD_EVENT_PRIORITY_NORMAL + 2);
}

static void close_socket(struct connections *connections)
{
	connections->source = sd_event_source_disable_unref(connections->source);
	netlink_close(&connections->netlink);
}

int connections_new(struct connections **ret, sd_event *event,
		    const struct connections_handlers *handlers, void *userdata)
{
	struct connections *connections = calloc(1, sizeof(*connections));
	int r;

	if (connections == NULL)
		return -ENOMEM;
	connections->handlers = *handlers;
	connections->userdata = userdata;
	connections->event = event;
	r = open_socket(connections);
	if (r < 0) {
		connections_free(connections);
		return r;
	}
	*ret = connections;
	return 0;
}

struct connections *connections_free(struct connections *connections)
{
	if (connections == NULL)
		return NULL;
	close_socket(connections);
	free(connections);
	return NULL;
}

/* The kernel takes no second request while it still answers one: a new socket is a fresh start. */
static int give_up(struct connections *connections)
{
	if (!connections->running)
		return 0;
	connections->running = false;
	close_socket(connections);
	return open_socket(connections);
}

static void request_fill(struct connections_request *request, const struct address *addresses,
			 unsigned count)
{
	uint8_t filter[CONNECTIONS_FILTER_MOST * FILTER_ADDRESS_SIZE];
	size_t length = 0;

	memset(request, 0, sizeof(*request));
	if (count <= CONNECTIONS_FILTER_MOST)
		length = connection_filter_write(addresses, count, filter);
	request->header.nlmsg_len = NLMSG_LENGTH(sizeof(request->request));
	request->header.nlmsg_type = TCPDIAG_GETSOCK;
	request->header.nlmsg_flags = NLM_F_DUMP;
	request->request.idiag_family = AF_INET; /* and AF_INET6: it is not looked at */
	request->request.idiag_states = 1U << IDIAG_SS_ESTABLISHED;
	request->request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
	if (length > 0)
		netlink_put(&request->header, INET_DIAG_REQ_BYTECODE, filter, length);
}

int connections_look(struct connections *connections, const struct address *addresses,
		     unsigned count)
{
	struct connections_request request;
	uint64_t begun = cost_now();
	int r = give_up(connections);

	if (r < 0)
		return r;
	request_fill(&request, addresses, count);
	r = netlink_send(&connections->netlink, &request.header);
	if (r < 0)
		return r;
	connections->running = true;
	connections->over = false;
	connections->error = 0;
	connections->cost_usec = cost_now() - begun;
	if (connections->event != NULL)
		return 0;
	while (read_pieces(connections, PIECES_PER_TURN) > 0)
		;
	look_end(connections);
	return 0;
}

int connections_mtu_probing(void)
{
	int fd = open("/proc/sys/net/ipv4/tcp_mtu_probing", O_RDONLY | O_CLOEXEC);
	char digit = '0';
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, &digit, 1);
	close(fd);
	return n == 1 && digit > '0' && digit <= '2' ? digit - '0' : 0;
}
