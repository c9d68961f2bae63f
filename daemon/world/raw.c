/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Socket options, control messages and vectors of the raw ICMP sockets.
 *
 * No IP_RECVERR: a report comes as an ordinary packet, with the sender's address, once.
 */
#include "raw.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "decode.h"
#include "encode.h"

#define BUFFER_BYTES (16 << 20)
#define CAPTURE 256 /* outer header, report, quoted headers and nonce, with room for options */
#define ICMP_FILTER_OPTION 1 /* ICMP_FILTER of linux/icmp.h, which glibc's headers do not bear */
#define CONTROL_OUT (CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)))
#define CONTROL_IN (CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)))

union socket_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

struct outgoing {
	uint8_t header[ENCODE_HEADER_LARGEST];
	union socket_address to;
	struct iovec parts[2];
	_Alignas(struct cmsghdr) uint8_t control[CONTROL_OUT];
};

struct raw_outbox {
	struct mmsghdr messages[RAW_BATCH];
	struct outgoing packets[RAW_BATCH];
	uint8_t pattern[SIZE_LARGEST + 1]; /* the same bytes behind every header */
};

struct incoming {
	uint8_t data[CAPTURE];
	union socket_address from;
	struct iovec part;
	_Alignas(struct cmsghdr) uint8_t control[CONTROL_IN];
};

struct raw_inbox {
	struct mmsghdr messages[RAW_BATCH];
	struct incoming packets[RAW_BATCH];
};

static int raw_set(const struct raw *raw, int level, int option, int value)
{
	return setsockopt(raw->fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* As much as we may get: an overflow would look like a path that swallows packets. */
static void raw_set_buffers(const struct raw *raw)
{
	if (raw_set(raw, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) < 0)
		raw_set(raw, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
	if (raw_set(raw, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES) < 0)
		raw_set(raw, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
}

struct option {
	int level, name, value;
};

static int raw_set_all(const struct raw *raw, const struct option *options, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		int r = raw_set(raw, options[i].level, options[i].name, options[i].value);

		if (r < 0)
			return r;
	}
	return 0;
}

static int raw_setup_ipv4(struct raw *raw)
{
	static const struct option options[] = {
		{IPPROTO_IP, IP_HDRINCL, 1},
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE},
		{IPPROTO_IP, IP_PKTINFO, 1},
		{IPPROTO_IP, IP_RECVFRAGSIZE, 1},
		/* the bits are the types to leave out */
		{SOL_RAW, ICMP_FILTER_OPTION,
		 (int)~(1U << ICMP_ECHOREPLY | 1U << ICMP_DEST_UNREACH | 1U << ICMP_TIME_EXCEEDED)},
	};
	int ttl;
	socklen_t length = sizeof(ttl);

	if (getsockopt(raw->fd, IPPROTO_IP, IP_TTL, &ttl, &length) < 0)
		return -errno;
	raw->ttl = (uint8_t)ttl;
	return raw_set_all(raw, options, sizeof(options) / sizeof(options[0]));
}

static int raw_setup_ipv6(struct raw *raw)
{
	static const struct option options[] = {
		{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE},
		{IPPROTO_IPV6, IPV6_DONTFRAG, 1},
		{IPPROTO_IPV6, IPV6_RECVPKTINFO, 1},
		{IPPROTO_IPV6, IPV6_RECVFRAGSIZE, 1},
	};
	struct icmp6_filter filter;

	ICMP6_FILTER_SETBLOCKALL(&filter);
	ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
	ICMP6_FILTER_SETPASS(ICMP6_DST_UNREACH, &filter);
	ICMP6_FILTER_SETPASS(ICMP6_PACKET_TOO_BIG, &filter);
	ICMP6_FILTER_SETPASS(ICMP6_TIME_EXCEEDED, &filter);
	if (setsockopt(raw->fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter)) < 0)
		return -errno;
	return raw_set_all(raw, options, sizeof(options) / sizeof(options[0]));
}

int raw_open(struct raw *ret, uint8_t family)
{
	struct raw raw = {.family = family};
	int r;

	raw.fd =
		family == ADDRESS_IPV4
			? socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP)
			: socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMPV6);
	if (raw.fd < 0)
		return -errno;
	r = family == ADDRESS_IPV4 ? raw_setup_ipv4(&raw) : raw_setup_ipv6(&raw);
	if (r < 0) {
		close(raw.fd);
		return r;
	}
	raw_set_buffers(&raw);
	*ret = raw;
	return 0;
}

struct raw_outbox *raw_outbox_new(void)
{
	struct raw_outbox *outbox = calloc(1, sizeof(*outbox));

	if (outbox == NULL)
		return NULL;
	for (unsigned i = 0; i < SIZE_LARGEST; i += 2) {
		outbox->pattern[i] = ENCODE_PATTERN >> 8;
		outbox->pattern[i + 1] = ENCODE_PATTERN & 0xff;
	}
	for (unsigned i = 0; i < RAW_BATCH; i++) {
		struct outgoing *packet = &outbox->packets[i];

		packet->parts[0].iov_base = packet->header;
		packet->parts[1].iov_base = outbox->pattern;
		outbox->messages[i].msg_hdr.msg_name = &packet->to;
		outbox->messages[i].msg_hdr.msg_iov = packet->parts;
		outbox->messages[i].msg_hdr.msg_iovlen = 2;
	}
	return outbox;
}

struct raw_outbox *raw_outbox_free(struct raw_outbox *outbox)
{
	free(outbox);
	return NULL;
}

struct raw_inbox *raw_inbox_new(void)
{
	return calloc(1, sizeof(struct raw_inbox));
}

struct raw_inbox *raw_inbox_free(struct raw_inbox *inbox)
{
	free(inbox);
	return NULL;
}

/* Adds a control message behind what is there; the buffer was made for all that we add. */
static void control_add(struct msghdr *message, uint8_t *buffer, const struct cmsghdr *head,
			const void *data)
{
	size_t length = head->cmsg_len;
	struct cmsghdr *control = (void *)(buffer + message->msg_controllen);

	control->cmsg_level = head->cmsg_level;
	control->cmsg_type = head->cmsg_type;
	control->cmsg_len = CMSG_LEN(length);
	memcpy(CMSG_DATA(control), data, length);
	message->msg_control = buffer;
	message->msg_controllen += CMSG_SPACE(length);
}

static void outgoing_put_ipv4(struct outgoing *packet, struct msghdr *message,
			      const struct probe *probe)
{
	struct in_pktinfo info = {.ipi_ifindex = probe->link};
	struct cmsghdr head = {sizeof(info), IPPROTO_IP, IP_PKTINFO};

	packet->to.ipv4 = (struct sockaddr_in){.sin_family = AF_INET};
	memcpy(&packet->to.ipv4.sin_addr, probe->to.bytes, 4);
	message->msg_namelen = sizeof(packet->to.ipv4);
	memcpy(&info.ipi_spec_dst, probe->from.bytes, 4);
	if (probe->link != 0 || probe->from.family != ADDRESS_NONE)
		control_add(message, packet->control, &head, &info);
}

static void outgoing_put_ipv6(struct outgoing *packet, struct msghdr *message,
			      const struct probe *probe)
{
	struct in6_pktinfo info = {.ipi6_ifindex = (unsigned)probe->link};
	struct cmsghdr info_head = {sizeof(info), IPPROTO_IPV6, IPV6_PKTINFO};
	int hops = probe->ttl;
	struct cmsghdr hops_head = {sizeof(hops), IPPROTO_IPV6, IPV6_HOPLIMIT};

	packet->to.ipv6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
	memcpy(&packet->to.ipv6.sin6_addr, probe->to.bytes, 16);
	if (address_is_link_local(&probe->to))
		packet->to.ipv6.sin6_scope_id = (uint32_t)probe->to.zone;
	message->msg_namelen = sizeof(packet->to.ipv6);
	memcpy(&info.ipi6_addr, probe->from.bytes, 16);
	if (probe->link != 0 || probe->from.family != ADDRESS_NONE)
		control_add(message, packet->control, &info_head, &info);
	if (hops != 0)
		control_add(message, packet->control, &hops_head, &hops);
}

void raw_outbox_put(struct raw_outbox *outbox, unsigned position, const struct raw *raw,
		    const struct probe *probe)
{
	struct outgoing *packet = &outbox->packets[position];
	struct msghdr *message = &outbox->messages[position].msg_hdr;
	uint32_t payload = probe->size; /* of the socket: IPv6 adds its header itself */
	unsigned header;

	message->msg_control = NULL;
	message->msg_controllen = 0;
	if (raw->family == ADDRESS_IPV4) {
		header = encode_icmp(probe, raw->ttl, packet->header);
		outgoing_put_ipv4(packet, message, probe);
	} else {
		header = encode_icmpv6(probe, packet->header);
		payload -= 40;
		outgoing_put_ipv6(packet, message, probe);
	}
	packet->parts[0].iov_len = header;
	packet->parts[1].iov_len = payload - header;
}

int raw_send(const struct raw *raw, struct raw_outbox *outbox, unsigned first, unsigned count)
{
	int r;

	do
		r = sendmmsg(raw->fd, outbox->messages + first, count, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

/* The kernel changes the lengths with every call. */
static void raw_inbox_reset(struct raw_inbox *inbox)
{
	for (unsigned i = 0; i < RAW_BATCH; i++) {
		struct incoming *packet = &inbox->packets[i];

		packet->part = (struct iovec){packet->data, sizeof(packet->data)};
		inbox->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &packet->from,
			.msg_namelen = sizeof(packet->from),
			.msg_iov = &packet->part,
			.msg_iovlen = 1,
			.msg_control = packet->control,
			.msg_controllen = sizeof(packet->control),
		};
	}
}

/* An error that is not about emptiness was an earlier packet's and is gone once it was told. */
int raw_receive(const struct raw *raw, struct raw_inbox *inbox)
{
	int r;

	raw_inbox_reset(inbox);
	for (unsigned tries = 0; tries < 4; tries++) {
		r = recvmmsg(raw->fd, inbox->messages, RAW_BATCH, MSG_TRUNC, NULL);
		if (r >= 0)
			return r;
		if (errno == EAGAIN)
			break;
	}
	return -errno;
}

static void answer_take_control(struct answer *answer, const struct cmsghdr *control)
{
	struct in_pktinfo ipv4;
	struct in6_pktinfo ipv6;
	int value;

	if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
		memcpy(&ipv4, CMSG_DATA(control), sizeof(ipv4));
		answer->link = ipv4.ipi_ifindex;
	} else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
		memcpy(&ipv6, CMSG_DATA(control), sizeof(ipv6));
		answer->link = (int)ipv6.ipi6_ifindex;
	} else if ((control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_RECVFRAGSIZE) ||
		   (control->cmsg_level == IPPROTO_IPV6 &&
		    control->cmsg_type == IPV6_RECVFRAGSIZE)) {
		memcpy(&value, CMSG_DATA(control), sizeof(value));
		answer->fragment = (uint32_t)value;
	}
}

static void answer_take_from(struct answer *answer, const union socket_address *from)
{
	answer->from.family = from->any.sa_family == AF_INET ? ADDRESS_IPV4 : ADDRESS_IPV6;
	if (from->any.sa_family == AF_INET)
		memcpy(answer->from.bytes, &from->ipv4.sin_addr, 4);
	else
		memcpy(answer->from.bytes, &from->ipv6.sin6_addr, 16);
}

/* A quoted link-local address says no zone: it is that of the link which the report came by. */
static void answer_finish(struct answer *answer)
{
	if (answer->kind == ANSWER_ECHO)
		answer->to = answer->from;
	else
		answer->fragment = 0;
	if (address_is_link_local(&answer->from))
		answer->from.zone = answer->link;
	if (address_is_link_local(&answer->to))
		answer->to.zone = answer->link;
}

bool raw_inbox_get(const struct raw_inbox *inbox, unsigned position, const struct raw *raw,
		   struct answer *ret)
{
	const struct incoming *packet = &inbox->packets[position];
	const struct mmsghdr *message = &inbox->messages[position];
	struct msghdr head = message->msg_hdr;
	struct answer answer;
	bool valid;

	valid = raw->family == ADDRESS_IPV4
			? decode_icmp(packet->data, CAPTURE, message->msg_len, &answer)
			: decode_icmpv6(packet->data, CAPTURE, message->msg_len, &answer);
	if (!valid)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&head); c != NULL; c = CMSG_NXTHDR(&head, c))
		answer_take_control(&answer, c);
	answer_take_from(&answer, &packet->from);
	answer_finish(&answer);
	*ret = answer;
	return true;
}

uint32_t raw_drops(const struct raw *raw, uint32_t otherwise)
{
	uint32_t info[SK_MEMINFO_VARS];
	socklen_t length = sizeof(info);

	if (getsockopt(raw->fd, SOL_SOCKET, SO_MEMINFO, info, &length) < 0 ||
	    length < (SK_MEMINFO_DROPS + 1) * sizeof(info[0]))
		return otherwise;
	return info[SK_MEMINFO_DROPS];
}

uint32_t raw_receive_buffer(const struct raw *raw)
{
	int bytes;
	socklen_t length = sizeof(bytes);

	if (raw->fd < 0 || getsockopt(raw->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length) < 0)
		return 0;
	return (uint32_t)bytes;
}
