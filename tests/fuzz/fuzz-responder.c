/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all through the decoder of what two daemons say to each other, what it takes it also
 * writes; and as datagrams to the responder, true and false cookies among them: it says no more to
 * anybody than a forged sender may be sent, and nothing to this host itself.
 */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netinet/in.h>

#include "../../daemon/world/responder.h"
#include "../../daemon/world/responder_datagram.h"
#include "../../daemon/world/responder_socket.h"
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags);
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		    struct timespec *timeout);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_responder_socket_open(struct responder_socket *ret, uint8_t family, uint16_t port);
bool __wrap_responder_socket_owns(const struct responder_socket *socket,
				  const struct address *address);
struct responder_batch *__real_responder_batch_new(void);
struct responder_batch *__wrap_responder_batch_new(void);
struct responder_batch *__wrap_responder_batch_free(struct responder_batch *batch);

#define TURNS 32
#define OWN_BYTE 200 /* last of an address that is this host's */

static struct bytes said;
static int ipv4_fd;
static uint64_t received, sent; /* bytes of whole packets */
static uint64_t cookie;		/* that was sent last, and to which port; 0 none */
static uint16_t cookie_port;

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags)
{
	memset(buffer, 7, size);
	return (ssize_t)size;
}

int __wrap_responder_socket_open(struct responder_socket *ret, uint8_t family, uint16_t port)
{
	*ret = (struct responder_socket){family, eventfd(1, EFD_CLOEXEC), -1, port, 64};
	if (ret->fd < 0)
		abort();
	if (family == ADDRESS_IPV4)
		ipv4_fd = ret->fd;
	return 0;
}

bool __wrap_responder_socket_owns(const struct responder_socket *socket,
				  const struct address *address)
{
	return address->bytes[address->family == ADDRESS_IPV4 ? 3 : 15] == OWN_BYTE;
}

/* Large, and what is left in it of one input does not get into the next. */
struct responder_batch *__wrap_responder_batch_new(void)
{
	static struct responder_batch *batch;

	if (!batch)
		batch = __real_responder_batch_new();
	return batch;
}

struct responder_batch *__wrap_responder_batch_free(struct responder_batch *batch)
{
	return NULL;
}

/* --- what comes in --- */

static uint16_t from_say(struct msghdr *head, bool ipv4)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	uint8_t which = bytes_u8(&said);
	uint16_t port = which & 1 ? cookie_port : bytes_u16(&said);

	in.sin_addr.s_addr = htonl(which < 0x40 ? 0xc0000209 : 0xc0000200 + bytes_u8(&said));
	in6.sin6_addr = (struct in6_addr){{{0x20, 1, 0xd, 0xb8, [15] = 9}}};
	if (which >= 0x80)
		bytes_take(&said, &in6.sin6_addr, 16);
	in.sin_port = in6.sin6_port = htons(port);
	head->msg_namelen = ipv4 ? sizeof(in) : sizeof(in6);
	memcpy(head->msg_name, ipv4 ? (void *)&in : (void *)&in6, head->msg_namelen);
	return port;
}

static void note_say(struct msghdr *head, bool ipv4)
{
	struct in_pktinfo info = {.ipi_addr = {htonl(0xc0000201)}, .ipi_spec_dst = {htonl(0xc0000201)}};
	struct in6_pktinfo info6 = {.ipi6_addr = {{{0x20, 1, 0xd, 0xb8, [15] = 1}}}};
	struct cmsghdr *control = head->msg_control;

	if (bytes_u8(&said) >= 0xe0) {
		bytes_take(&said, &info.ipi_addr, 4);
		bytes_take(&said, &info6.ipi6_addr, 16);
	}
	control->cmsg_level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	control->cmsg_type = ipv4 ? IP_PKTINFO : IPV6_PKTINFO;
	control->cmsg_len = CMSG_LEN(ipv4 ? sizeof(info) : sizeof(info6));
	memcpy(CMSG_DATA(control), ipv4 ? (void *)&info : (void *)&info6,
	       ipv4 ? sizeof(info) : sizeof(info6));
	head->msg_controllen = CMSG_SPACE(ipv4 ? sizeof(info) : sizeof(info6));
}

/* A probe with the cookie that this very port was given, or without; or just bytes. */
static void payload_say(const struct iovec *part, uint16_t port)
{
	uint8_t how = bytes_u8(&said);
	struct responder_message probe = {
		.kind = RESPONDER_PROBE,
		.sequence = how,
		.nonce = 42,
		.cookie = how & 1 && port == cookie_port ? cookie : 0,
	};

	memset(part->iov_base, 0, part->iov_len);
	if (how & 0x80)
		bytes_take(&said, part->iov_base, bytes_u8(&said) % part->iov_len);
	else
		responder_message_encode(&probe, part->iov_base);
}

int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		    struct timespec *timeout)
{
	unsigned wanted = bytes_u8(&said) % 5;

	for (unsigned i = 0; i < wanted; i++) {
		struct msghdr *head = &messages[i].msg_hdr;
		uint32_t length = bytes_u16(&said);

		payload_say(head->msg_iov, from_say(head, fd == ipv4_fd));
		note_say(head, fd == ipv4_fd);
		messages[i].msg_len = length;
		received += length + (fd == ipv4_fd ? DATAGRAM_HEADERS_IPV4 : DATAGRAM_HEADERS_IPV6);
	}
	return (int)wanted;
}

/* --- what goes out --- */

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	const struct sockaddr_in6 *in6 = message->msg_name;
	bool ipv4 = in6->sin6_family == AF_INET;
	size_t length = message->msg_iov[0].iov_len + message->msg_iov[1].iov_len;
	const uint8_t *payload =
		(const uint8_t *)message->msg_iov[0].iov_base + (ipv4 ? DATAGRAM_HEADERS_IPV4 : 0);
	const uint8_t *udp = payload - 8;
	struct responder_message answer;

	if (!responder_message_decode(payload, RESPONDER_MESSAGE_SIZE, &answer) ||
	    answer.kind == RESPONDER_PROBE || length > SIZE_LARGEST)
		abort();
	if (answer.kind == RESPONDER_COOKIE) {
		cookie = answer.cookie;
		cookie_port = ipv4 ? (uint16_t)(udp[2] << 8 | udp[3]) : ntohs(in6->sin6_port);
	}
	if (ipv4 ? ((const uint8_t *)message->msg_name)[7] == OWN_BYTE
		 : in6->sin6_addr.s6_addr[15] == OWN_BYTE)
		abort();
	sent += length + (ipv4 ? 0 : DATAGRAM_HEADERS_IPV6);
	/* a stranger no more than it sent, who has a cookie twice that at most */
	if (sent > received * (cookie != 0 ? 2 : 1))
		abort();
	return (ssize_t)length;
}

static void answer_all(const uint8_t *data, size_t size)
{
	struct responder *responder = NULL;
	sd_event *event = NULL;

	said = (struct bytes){data, size};
	received = sent = cookie = 0;
	cookie_port = 0;
	/* the loop has its time from its first turn on */
	if (sd_event_new(&event) < 0 || sd_event_run(event, 0) < 0 ||
	    responder_new(&responder, event, 8899, 1000000000) < 0)
		abort();
	for (unsigned i = 0; i < TURNS && said.left > 0; i++)
		sd_event_run(event, 0);
	responder_free(responder);
	sd_event_unref(event);
}

static void decode(const uint8_t *data, size_t size)
{
	struct responder_message message;
	uint8_t bytes[RESPONDER_MESSAGE_SIZE];

	if (!responder_message_decode(data, size, &message))
		return;
	if (size < RESPONDER_MESSAGE_SIZE || message.kind < RESPONDER_PROBE ||
	    message.kind > RESPONDER_COOKIE)
		abort();
	/* the last two bytes mean nothing */
	responder_message_encode(&message, bytes);
	if (memcmp(bytes, data, RESPONDER_MESSAGE_SIZE - 2) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	answer_all(data, size);
	return 0;
}
