/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Socket options and control messages of the responder.
 *
 * IP_PMTUDISC_INTERFACE on all of them: with it the kernel neither looks at what it believes of a
 * path when we send nor believes a report about what we sent, forged or not.
 */
#include "responder_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "responder_datagram.h"

#define BUFFER_BYTES (4 << 20)
#define DISCARD_PORT 9 /* RFC 863; nothing is sent there, connect(2) wants one */
#define CONTROL (CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)))

union socket_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

struct incoming {
	uint8_t data[RESPONDER_MESSAGE_SIZE];
	union socket_address from;
	struct iovec part;
	_Alignas(struct cmsghdr) uint8_t control[CONTROL];
};

struct responder_batch {
	struct mmsghdr messages[RESPONDER_BATCH];
	struct incoming packets[RESPONDER_BATCH];
	uint8_t pattern[SIZE_LARGEST + 1];
};

struct option {
	int level, name, value;
};

static int options_set(int fd, const struct option *options, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) < 0)
			return -errno;
	return 0;
}
#define OPTIONS_SET(fd, options) options_set(fd, options, sizeof(options) / sizeof((options)[0]))

/* As much as we may get: what does not fit would look like a path that swallows packets. */
static void buffer_enlarge(int fd)
{
	int bytes = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static int ipv4_setup(struct responder_socket *opened)
{
	static const struct option in[] = {
		{IPPROTO_IP, IP_PKTINFO, 1},
		{IPPROTO_IP, IP_RECVFRAGSIZE, 1},
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE},
	};
	static const struct option out[] = {
		{IPPROTO_IP, IP_HDRINCL, 1},
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE},
		/* what arrives under its protocol number is not for us */
		{SOL_SOCKET, SO_RCVBUF, 0},
	};
	int ttl, r = OPTIONS_SET(opened->fd, in);
	socklen_t length = sizeof(ttl);

	if (r < 0)
		return r;
	opened->other = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW);
	if (opened->other < 0 || getsockopt(opened->other, IPPROTO_IP, IP_TTL, &ttl, &length) < 0)
		return -errno;
	opened->ttl = (uint8_t)ttl;
	return OPTIONS_SET(opened->other, out);
}

static int ipv6_setup(struct responder_socket *opened)
{
	static const struct option options[] = {
		{IPPROTO_IPV6, IPV6_V6ONLY, 1},
		{IPPROTO_IPV6, IPV6_RECVPKTINFO, 1},
		{IPPROTO_IPV6, IPV6_RECVFRAGSIZE, 1},
		{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_INTERFACE},
		{IPPROTO_IPV6, IPV6_DONTFRAG, 1},
	};

	opened->other = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return opened->other < 0 ? -errno : OPTIONS_SET(opened->fd, options);
}

static int port_bind(const struct responder_socket *opened)
{
	union socket_address here = {.any.sa_family = AF_INET6};
	socklen_t length = sizeof(here.ipv6);

	if (opened->family == ADDRESS_IPV4) {
		here.ipv4 = (struct sockaddr_in){.sin_family = AF_INET,
						 .sin_port = htons(opened->port)};
		length = sizeof(here.ipv4);
	} else {
		here.ipv6.sin6_port = htons(opened->port);
	}
	return bind(opened->fd, &here.any, length) < 0 ? -errno : 0;
}

int responder_socket_open(struct responder_socket *ret, uint8_t family, uint16_t port)
{
	struct responder_socket opened = {family, -1, -1, port, 0};
	int r;

	opened.fd = socket(family == ADDRESS_IPV4 ? AF_INET : AF_INET6,
			   SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (opened.fd < 0 && errno == EAFNOSUPPORT) {
		*ret = (struct responder_socket){ADDRESS_NONE, -1, -1, port, 0};
		return 0;
	}
	if (opened.fd < 0)
		return -errno;
	r = family == ADDRESS_IPV4 ? ipv4_setup(&opened) : ipv6_setup(&opened);
	if (r == 0)
		r = port_bind(&opened);
	if (r < 0) {
		responder_socket_close(&opened);
		return r;
	}
	buffer_enlarge(opened.fd);
	*ret = opened;
	return 0;
}

void responder_socket_close(struct responder_socket *socket)
{
	if (socket->fd >= 0)
		close(socket->fd);
	if (socket->other >= 0)
		close(socket->other);
	socket->fd = socket->other = -1;
}

struct responder_batch *responder_batch_new(void)
{
	struct responder_batch *batch = calloc(1, sizeof(*batch));

	if (batch == NULL)
		return NULL;
	for (unsigned i = 0; i < SIZE_LARGEST; i += 2) {
		batch->pattern[i] = DATAGRAM_PATTERN >> 8;
		batch->pattern[i + 1] = DATAGRAM_PATTERN & 0xff;
	}
	return batch;
}

struct responder_batch *responder_batch_free(struct responder_batch *batch)
{
	free(batch);
	return NULL;
}

/* The kernel changes the lengths with every call. */
static void batch_reset(struct responder_batch *batch)
{
	for (unsigned i = 0; i < RESPONDER_BATCH; i++) {
		struct incoming *packet = &batch->packets[i];

		packet->part = (struct iovec){packet->data, sizeof(packet->data)};
		batch->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &packet->from,
			.msg_namelen = sizeof(packet->from),
			.msg_iov = &packet->part,
			.msg_iovlen = 1,
			.msg_control = packet->control,
			.msg_controllen = sizeof(packet->control),
		};
	}
}

int responder_batch_receive(struct responder_batch *batch, const struct responder_socket *socket)
{
	int r;

	batch_reset(batch);
	do
		r = recvmmsg(socket->fd, batch->messages, RESPONDER_BATCH, MSG_TRUNC, NULL);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static void question_take_control(struct question *question, const struct cmsghdr *control)
{
	const void *data = CMSG_DATA(control);
	struct in_pktinfo ipv4;
	struct in6_pktinfo ipv6;
	int fragment;

	if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
		memcpy(&ipv4, data, sizeof(ipv4));
		/* they differ where it was sent to many (RFC 1122 section 3.3.6) */
		if (ipv4.ipi_addr.s_addr != ipv4.ipi_spec_dst.s_addr)
			return;
		question->asked.family = ADDRESS_IPV4;
		memcpy(question->asked.bytes, &ipv4.ipi_addr, 4);
	} else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
		memcpy(&ipv6, data, sizeof(ipv6));
		question->asked.family = ADDRESS_IPV6;
		memcpy(question->asked.bytes, &ipv6.ipi6_addr, 16);
	} else if ((control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_RECVFRAGSIZE) ||
		   (control->cmsg_level == IPPROTO_IPV6 &&
		    control->cmsg_type == IPV6_RECVFRAGSIZE)) {
		memcpy(&fragment, data, sizeof(fragment));
		question->fragment = (uint16_t)fragment;
	}
}

static void question_take_from(struct question *question, const union socket_address *from)
{
	if (from->any.sa_family == AF_INET) {
		question->from.family = ADDRESS_IPV4;
		memcpy(question->from.bytes, &from->ipv4.sin_addr, 4);
		question->from_port = ntohs(from->ipv4.sin_port);
		return;
	}
	question->from.family = ADDRESS_IPV6;
	memcpy(question->from.bytes, &from->ipv6.sin6_addr, 16);
	question->from_port = ntohs(from->ipv6.sin6_port);
	if (address_is_link_local(&question->from))
		question->from.zone = (int)from->ipv6.sin6_scope_id;
}

/* Multicast, broadcast and unspecified addresses are nobody's (RFC 1122 section 3.2.1.3, RFC 4291
 * section 2.7); the kernel drops most of what claims to come from one. */
static bool address_is_hosts(const struct address *address)
{
	if (address->family == ADDRESS_IPV4)
		return address->bytes[0] != 0 && address->bytes[0] < 224;
	return address->family == ADDRESS_IPV6 && address->bytes[0] != 0xff;
}

bool responder_batch_get(const struct responder_batch *batch, unsigned position,
			 struct question *ret)
{
	const struct incoming *packet = &batch->packets[position];
	uint32_t length = batch->messages[position].msg_len;
	struct msghdr head = batch->messages[position].msg_hdr;
	struct question question = {
		.bytes = packet->data,
		.captured = length < sizeof(packet->data) ? length : sizeof(packet->data),
	};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&head); c != NULL; c = CMSG_NXTHDR(&head, c))
		question_take_control(&question, c);
	question_take_from(&question, &packet->from);
	question.size = length + (question.from.family == ADDRESS_IPV4 ? DATAGRAM_HEADERS_IPV4
								       : DATAGRAM_HEADERS_IPV6);
	if (question.from_port == 0 || question.size > SIZE_LARGEST ||
	    !address_is_hosts(&question.from) || !address_is_hosts(&question.asked))
		return false;
	*ret = question;
	return true;
}

static int socket_send(int fd, const struct msghdr *message)
{
	ssize_t r;

	do
		r = sendmsg(fd, message, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/*
 * The control message says the source to the choice of the route, which does not look into our
 * header. It names no link: the route that everything else takes from this address to that one is
 * what is to be measured, and where it leaves by another link than the question came in by, a
 * bound answer would tell of a path that is not used.
 */
static int ipv4_send(const struct responder_batch *batch, const struct responder_socket *socket,
		     const struct question *to, const struct responder_message *message,
		     uint32_t size)
{
	struct datagram datagram = {to->asked,	   to->from,	socket->port,
				    to->from_port, socket->ttl, size};
	struct sockaddr_in there = {.sin_family = AF_INET};
	struct in_pktinfo info = {0};
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(info))] = {0};
	struct cmsghdr head = {CMSG_LEN(sizeof(info)), IPPROTO_IP, IP_PKTINFO};
	uint8_t bytes[DATAGRAM_HEAD];
	struct iovec parts[2] = {{bytes, sizeof(bytes)},
				 {(void *)(uintptr_t)batch->pattern, size - sizeof(bytes)}};
	struct msghdr packet = {&there, sizeof(there), parts, 2, control, sizeof(control), 0};

	datagram_encode(&datagram, message, bytes);
	memcpy(&there.sin_addr, to->from.bytes, 4);
	memcpy(&info.ipi_spec_dst, to->asked.bytes, 4);
	memcpy(control, &head, sizeof(head));
	memcpy(CMSG_DATA((struct cmsghdr *)(void *)control), &info, sizeof(info));
	return socket_send(socket->other, &packet);
}

/* A link-local address is one of a link alone: that of the question. */
static int ipv6_send(const struct responder_batch *batch, const struct responder_socket *socket,
		     const struct question *to, const struct responder_message *message,
		     uint32_t size)
{
	struct sockaddr_in6 there = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(to->from_port),
		.sin6_scope_id = (uint32_t)to->from.zone,
	};
	struct in6_pktinfo info = {.ipi6_ifindex = (unsigned)to->from.zone};
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(info))] = {0};
	struct cmsghdr head = {CMSG_LEN(sizeof(info)), IPPROTO_IPV6, IPV6_PKTINFO};
	uint8_t bytes[RESPONDER_MESSAGE_SIZE];
	struct iovec parts[2] = {
		{bytes, sizeof(bytes)},
		{(void *)(uintptr_t)batch->pattern, size - DATAGRAM_HEADERS_IPV6 - sizeof(bytes)}};
	struct msghdr packet = {&there, sizeof(there), parts, 2, control, sizeof(control), 0};

	responder_message_encode(message, bytes);
	memcpy(&there.sin6_addr, to->from.bytes, 16);
	memcpy(&info.ipi6_addr, to->asked.bytes, 16);
	memcpy(control, &head, sizeof(head));
	memcpy(CMSG_DATA((struct cmsghdr *)(void *)control), &info, sizeof(info));
	return socket_send(socket->fd, &packet);
}

int responder_batch_send(const struct responder_batch *batch, const struct responder_socket *socket,
			 const struct question *to, const struct responder_message *message,
			 uint32_t size)
{
	return socket->family == ADDRESS_IPV4 ? ipv4_send(batch, socket, to, message, size)
					      : ipv6_send(batch, socket, to, message, size);
}

/* Choosing a link for multicast by its address is where the kernel says whether it is ours, also
 * where net.ipv4.ip_nonlocal_bind lets bind(2) take any. We never send multicast. */
static bool ipv4_owns(int fd, const struct address *address)
{
	struct in_addr link;

	memcpy(&link, address->bytes, sizeof(link));
	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &link, sizeof(link)) == 0;
}

/* RFC 6724 section 5 rule 1: to an address of its own a host sends from that same address. The
 * last one's source would stay without the disconnecting. */
static bool ipv6_owns(int fd, const struct address *address)
{
	static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	struct sockaddr_in6 there = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(DISCARD_PORT),
		.sin6_scope_id = (uint32_t)address->zone,
	};
	struct sockaddr_in6 here;
	socklen_t length = sizeof(here);

	memcpy(&there.sin6_addr, address->bytes, sizeof(there.sin6_addr));
	return connect(fd, &nobody, sizeof(nobody)) == 0 &&
	       connect(fd, (const struct sockaddr *)&there, sizeof(there)) == 0 &&
	       getsockname(fd, (struct sockaddr *)&here, &length) == 0 &&
	       memcmp(&here.sin6_addr, &there.sin6_addr, sizeof(here.sin6_addr)) == 0;
}

bool responder_socket_owns(const struct responder_socket *socket, const struct address *address)
{
	return address->family == ADDRESS_IPV4 ? ipv4_owns(socket->other, address)
					       : ipv6_owns(socket->other, address);
}

uint32_t responder_smallest(uint8_t family)
{
	return RESPONDER_MESSAGE_SIZE +
	       (family == ADDRESS_IPV4 ? DATAGRAM_HEADERS_IPV4 : DATAGRAM_HEADERS_IPV6);
}
