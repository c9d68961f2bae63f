/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Batches of messages. Of a packet that came only the head is read, the kernel tells how long it
 * was. Does not ask whose port or probe an answer is about.
 */
#include "batch.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "decode.h"
#include "encode.h"

#define CAPTURE 256 /* outer header, report, quoted headers and nonce, with room for options */
#define CONTROL_OUT (CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)))
#define CONTROL_IN (CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)))

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

struct outbox {
	struct mmsghdr messages[BATCH];
	struct outgoing packets[BATCH];
	uint8_t pattern[SIZE_LARGEST + 1]; /* the same bytes behind every header */
};

struct incoming {
	uint8_t data[CAPTURE];
	union socket_address from;
	struct iovec part;
	_Alignas(struct cmsghdr) uint8_t control[CONTROL_IN];
};

struct inbox {
	struct mmsghdr messages[BATCH];
	struct incoming packets[BATCH];
};

struct outbox *outbox_new(void)
{
	struct outbox *outbox = calloc(1, sizeof(*outbox));

	if (outbox == NULL)
		return NULL;
	for (unsigned i = 0; i < SIZE_LARGEST; i += 2) {
		outbox->pattern[i] = ENCODE_PATTERN >> 8;
		outbox->pattern[i + 1] = ENCODE_PATTERN & 0xff;
	}
	for (unsigned i = 0; i < BATCH; i++) {
		struct outgoing *packet = &outbox->packets[i];

		packet->parts[0].iov_base = packet->header;
		packet->parts[1].iov_base = outbox->pattern;
		outbox->messages[i].msg_hdr.msg_iov = packet->parts;
		outbox->messages[i].msg_hdr.msg_iovlen = 2;
	}
	return outbox;
}

struct outbox *outbox_free(struct outbox *outbox)
{
	free(outbox);
	return NULL;
}

struct inbox *inbox_new(void)
{
	return calloc(1, sizeof(struct inbox));
}

struct inbox *inbox_free(struct inbox *inbox)
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

/* Returns the length of what comes before the pattern; *ret_payload: of what the socket is given.
 */
static unsigned outgoing_encode(struct outgoing *packet, const struct raw *raw,
				const struct probe *probe, uint32_t *ret_payload)
{
	if (raw->family == ADDRESS_IPV6 && raw->kind == RAW_ICMP) {
		*ret_payload = probe->size - 40; /* the kernel adds the header */
		return encode_icmpv6(probe, packet->header);
	}
	*ret_payload = probe->size;
	return encode_packet(probe, raw->ttl, packet->header);
}

static void outgoing_address(struct outgoing *packet, struct msghdr *message,
			     const struct probe *probe)
{
	message->msg_name = &packet->to;
	message->msg_control = NULL;
	message->msg_controllen = 0;
	if (probe->to.family == ADDRESS_IPV4)
		outgoing_put_ipv4(packet, message, probe);
	else
		outgoing_put_ipv6(packet, message, probe);
}

void outbox_put(struct outbox *outbox, unsigned position, const struct raw *raw,
		const struct probe *probe)
{
	struct outgoing *packet = &outbox->packets[position];
	uint32_t payload;
	unsigned header = outgoing_encode(packet, raw, probe, &payload);

	outgoing_address(packet, &outbox->messages[position].msg_hdr, probe);
	packet->parts[0].iov_len = header;
	packet->parts[1].iov_len = payload - header;
}

int outbox_send(struct outbox *outbox, const struct raw *raw, unsigned first, unsigned count)
{
	int r;

	do
		r = sendmmsg(raw->fd, outbox->messages + first, count, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

/* The kernel changes the lengths with every call. */
static void inbox_reset(struct inbox *inbox)
{
	for (unsigned i = 0; i < BATCH; i++) {
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
int inbox_receive(struct inbox *inbox, const struct raw *raw)
{
	int r;

	inbox_reset(inbox);
	for (unsigned tries = 0; tries < 4; tries++) {
		r = recvmmsg(raw->fd, inbox->messages, BATCH, MSG_TRUNC, NULL);
		if (r >= 0)
			return r;
		if (errno == EAGAIN)
			break;
	}
	return -errno;
}

/* The kernel's own words beside a packet. */
struct note {
	struct address local; /* that it came to */
	int link;
	uint32_t fragment; /* the largest that it came in, 0 whole */
	uint8_t ttl;
};

static void note_take(struct note *note, const struct cmsghdr *control)
{
	struct in_pktinfo ipv4;
	struct in6_pktinfo ipv6;
	int value;

	if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
		memcpy(&ipv4, CMSG_DATA(control), sizeof(ipv4));
		note->link = ipv4.ipi_ifindex;
		note->local.family = ADDRESS_IPV4;
		memcpy(note->local.bytes, &ipv4.ipi_addr, 4);
	} else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
		memcpy(&ipv6, CMSG_DATA(control), sizeof(ipv6));
		note->link = (int)ipv6.ipi6_ifindex;
		note->local.family = ADDRESS_IPV6;
		memcpy(note->local.bytes, &ipv6.ipi6_addr, 16);
	} else if ((control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_RECVFRAGSIZE) ||
		   (control->cmsg_level == IPPROTO_IPV6 &&
		    control->cmsg_type == IPV6_RECVFRAGSIZE)) {
		memcpy(&value, CMSG_DATA(control), sizeof(value));
		note->fragment = (uint32_t)value;
	} else if ((control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_TTL) ||
		   (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_HOPLIMIT)) {
		memcpy(&value, CMSG_DATA(control), sizeof(value));
		note->ttl = (uint8_t)value;
	}
}

static struct note inbox_note(const struct inbox *inbox, unsigned position)
{
	struct msghdr head = inbox->messages[position].msg_hdr;
	struct note note = {.link = 0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&head); c != NULL; c = CMSG_NXTHDR(&head, c))
		note_take(&note, c);
	return note;
}

static struct address address_from(const union socket_address *from)
{
	struct address address = {.family = ADDRESS_IPV6};

	if (from->any.sa_family == AF_INET) {
		address.family = ADDRESS_IPV4;
		memcpy(address.bytes, &from->ipv4.sin_addr, 4);
	} else {
		memcpy(address.bytes, &from->ipv6.sin6_addr, 16);
	}
	return address;
}

static void address_set_zone(struct address *address, int link)
{
	if (address_is_link_local(address))
		address->zone = link;
}

static bool incoming_decode_segment(const struct incoming *packet, size_t captured, uint8_t family,
				    struct answer *ret)
{
	struct segment segment;

	if (!decode_segment(family, packet->data, captured, &segment))
		return false;
	*ret = (struct answer){
		.kind = ANSWER_DELIVERED,
		.probe = PROBE_SYN,
		.ident = segment.to_port,
		.acknowledged = segment.acknowledged,
	};
	return true;
}

static bool incoming_decode(const struct incoming *packet, size_t length, const struct raw *raw,
			    struct answer *ret)
{
	size_t captured = length < CAPTURE ? length : CAPTURE;

	switch (raw->kind) {
	case RAW_ICMP:
		return raw->family == ADDRESS_IPV4
			       ? decode_icmp(packet->data, captured, length, ret)
			       : decode_icmpv6(packet->data, captured, length, ret);
	case RAW_HEADER:
		return false;
	case RAW_SEGMENT:
		return incoming_decode_segment(packet, captured, raw->family, ret);
	case RAW_DATAGRAM:
		if (!decode_datagram(raw->family, packet->data, captured, length, ret))
			return false;
		ret->ident = raw->port;
		return true;
	}
	return false;
}

/* A quoted link-local address says no zone: it is that of the link which the report came by. */
bool inbox_get(const struct inbox *inbox, unsigned position, const struct raw *raw,
	       struct answer *ret)
{
	const struct incoming *packet = &inbox->packets[position];
	struct note note = inbox_note(inbox, position);
	struct answer answer;

	if (!incoming_decode(packet, inbox->messages[position].msg_len, raw, &answer))
		return false;
	answer.link = note.link;
	answer.ttl = note.ttl;
	answer.from = address_from(&packet->from);
	if (answer.to.family == ADDRESS_NONE)
		answer.to = answer.from;
	if (answer.kind == ANSWER_ECHO)
		answer.fragment = note.fragment;
	address_set_zone(&answer.from, note.link);
	address_set_zone(&answer.to, note.link);
	*ret = answer;
	return true;
}

bool inbox_get_reset(const struct inbox *inbox, unsigned position, const struct raw *raw,
		     struct reset *ret)
{
	const struct incoming *packet = &inbox->packets[position];
	size_t captured = inbox->messages[position].msg_len;
	struct note note = inbox_note(inbox, position);
	struct segment segment;

	if (raw->kind != RAW_SEGMENT || note.local.family != raw->family ||
	    !decode_segment(raw->family, packet->data, captured < CAPTURE ? captured : CAPTURE,
			    &segment) ||
	    !segment.opened)
		return false;
	*ret = (struct reset){
		.probe = {.kind = PROBE_SYN,
			  .to = address_from(&packet->from),
			  .from = note.local,
			  .link = note.link,
			  .ident = segment.to_port,
			  .port = segment.from_port},
		.number = segment.acknowledged,
	};
	address_set_zone(&ret->probe.to, note.link);
	return true;
}

bool reset_send(const struct reset *reset, const struct raw *raw)
{
	struct outgoing packet = {.header = {0}};
	struct msghdr message = {.msg_iov = packet.parts, .msg_iovlen = 1};

	packet.parts[0].iov_base = packet.header;
	packet.parts[0].iov_len =
		encode_reset(&reset->probe, reset->number, raw->ttl, packet.header);
	outgoing_address(&packet, &message, &reset->probe);
	return sendmsg(raw->fd, &message, 0) >= 0;
}
