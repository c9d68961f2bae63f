/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the answers to our probes, and the reports that quote one. Looks at no byte that was not
 * captured; does not ask whose probe it was, and verifies no checksum.
 */
#include "decode.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <string.h>

#include "responder_message.h"

#define IPV4_HEADER 20U
#define IPV6_HEADER 40U
#define ICMP_HEADER 8U
#define NONCE_END (ICMP_HEADER + sizeof(uint64_t))
#define QUOTE_LEAST 8U /* RFC 792: 64 bits of what follows the IP header */
#define TCP_HEADER 20U
#define UDP_HEADER 8U
#define EXTENSIONS_MOST 8 /* of a quoted packet; ours has none, routers may add a few */

/* What is left to read of the captured bytes. */
struct view {
	const uint8_t *at;
	size_t left;
};

static uint16_t view_u16(const struct view *view, size_t offset)
{
	return (uint16_t)(view->at[offset] << 8 | view->at[offset + 1]);
}

static uint32_t view_u32(const struct view *view, size_t offset)
{
	return (uint32_t)view_u16(view, offset) << 16 | view_u16(view, offset + 2);
}

static bool view_skip(struct view *view, size_t length)
{
	if (view->left < length)
		return false;
	view->at += length;
	view->left -= length;
	return true;
}

/* Moves from the IPv4 header to what follows it. */
static bool view_enter_ipv4(struct view *view, uint8_t *ret_protocol)
{
	size_t header;

	if (view->left < IPV4_HEADER || view->at[0] >> 4 != IPVERSION)
		return false;
	header = (view->at[0] & 0xfU) * 4U;
	if (header < IPV4_HEADER || (view_u16(view, 6) & IP_OFFMASK) != 0)
		return false;
	*ret_protocol = view->at[9];
	return view_skip(view, header) && view->left >= QUOTE_LEAST;
}

static bool protocol_is_ours(uint8_t protocol)
{
	return protocol == IPPROTO_ICMPV6 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

/* Moves over one extension header; false when it does not lead to the begin of what we sent.
 * RFC 8200 section 4: the length of all but the fragment header counts 8 bytes beyond the first. */
static bool view_skip_extension(struct view *view, uint8_t *next)
{
	uint8_t type = *next;
	size_t length = 8;

	if (view->left < length)
		return false;
	if (type == IPPROTO_FRAGMENT) {
		if ((view_u16(view, 2) & 0xfff8) != 0)
			return false;
	} else if (type == IPPROTO_HOPOPTS || type == IPPROTO_DSTOPTS) {
		length += view->at[1] * 8U;
	} else {
		return false;
	}
	*next = view->at[0];
	return view_skip(view, length);
}

static bool view_enter_ipv6(struct view *view, uint8_t *ret_protocol)
{
	uint8_t next;

	if (view->left < IPV6_HEADER || view->at[0] >> 4 != 6)
		return false;
	next = view->at[6];
	view_skip(view, IPV6_HEADER);
	for (unsigned i = 0; !protocol_is_ours(next); i++) {
		if (i == EXTENSIONS_MOST || !view_skip_extension(view, &next))
			return false;
	}
	*ret_protocol = next;
	return view->left >= QUOTE_LEAST;
}

static void answer_take_echo(struct answer *answer, const struct view *icmp)
{
	answer->ident = view_u16(icmp, 4);
	answer->sequence = view_u16(icmp, 6);
	answer->has_nonce = icmp->left >= NONCE_END;
	if (answer->has_nonce)
		memcpy(&answer->nonce, icmp->at + ICMP_HEADER, sizeof(answer->nonce));
}

static bool answer_take_quoted_echo(struct answer *answer, const struct view *icmp, uint8_t type)
{
	if (icmp->at[0] != type || icmp->at[1] != 0)
		return false;
	answer_take_echo(answer, icmp);
	return true;
}

/* The number is in the first 8 bytes, so that the shortest quote tells it. We send SYN alone. */
static bool answer_take_quoted_tcp(struct answer *answer, const struct view *tcp)
{
	if (tcp->left > 13 && tcp->at[13] != TH_SYN)
		return false;
	answer->probe = PROBE_SYN;
	answer->ident = view_u16(tcp, 0);
	answer->nonce = view_u16(tcp, 4);
	answer->sequence = view_u16(tcp, 6);
	return true;
}

/* The payload tells once as much of it is quoted as the smallest probe has; without it only
 * IPv4's identification does. */
static bool answer_take_quoted_udp(struct answer *answer, struct view udp, bool has_sequence)
{
	struct responder_message message;

	answer->probe = PROBE_UDP;
	answer->ident = view_u16(&udp, 0);
	view_skip(&udp, UDP_HEADER);
	if (udp.left < RESPONDER_MESSAGE_SIZE)
		return has_sequence;
	answer->has_nonce = true;
	if (!responder_message_decode(udp.at, udp.left, &message)) {
		memcpy(&answer->nonce, udp.at, sizeof(answer->nonce));
		answer->sequence = view_u16(&udp, sizeof(answer->nonce));
		return true;
	}
	answer->probe = PROBE_RESPONDER;
	answer->nonce = message.nonce;
	answer->sequence = message.sequence;
	return message.kind == RESPONDER_PROBE;
}

/* `quote` is what follows the header of a report. */
static bool answer_take_quote_ipv4(struct answer *answer, struct view quote)
{
	struct view ip = quote;
	uint8_t protocol;

	if (!view_enter_ipv4(&quote, &protocol))
		return false;
	answer->to.family = ADDRESS_IPV4;
	memcpy(answer->to.bytes, ip.at + 16, 4);
	answer->size = view_u16(&ip, 2);
	answer->sequence = view_u16(&ip, 4);
	if (protocol == IPPROTO_ICMP)
		return answer_take_quoted_echo(answer, &quote, ICMP_ECHO);
	if (protocol == IPPROTO_TCP)
		return answer_take_quoted_tcp(answer, &quote);
	return protocol == IPPROTO_UDP && answer_take_quoted_udp(answer, quote, true);
}

static bool answer_take_quote_ipv6(struct answer *answer, struct view quote)
{
	struct view ip = quote;
	uint8_t protocol;

	if (!view_enter_ipv6(&quote, &protocol))
		return false;
	answer->to.family = ADDRESS_IPV6;
	memcpy(answer->to.bytes, ip.at + 24, 16);
	answer->size = IPV6_HEADER + view_u16(&ip, 4);
	if (protocol == IPPROTO_ICMPV6)
		return answer_take_quoted_echo(answer, &quote, ICMP6_ECHO_REQUEST);
	if (protocol == IPPROTO_TCP)
		return answer_take_quoted_tcp(answer, &quote);
	return answer_take_quoted_udp(answer, quote, false);
}

static int unreachable_error_ipv4(uint8_t code)
{
	switch (code) {
	case ICMP_NET_UNREACH:
		return -ENETUNREACH;
	case ICMP_PROT_UNREACH:
		return -ENOPROTOOPT;
	case ICMP_PORT_UNREACH:
		return -ECONNREFUSED;
	case ICMP_NET_ANO:
	case ICMP_HOST_ANO:
	case ICMP_PKT_FILTERED:
		return -EACCES;
	default:
		return -EHOSTUNREACH;
	}
}

static int unreachable_error_ipv6(uint8_t code)
{
	switch (code) {
	case ICMP6_DST_UNREACH_NOROUTE:
		return -ENETUNREACH;
	case ICMP6_DST_UNREACH_NOPORT:
		return -ECONNREFUSED;
	case ICMP6_DST_UNREACH_ADMIN:
	case 5: /* RFC 4443 section 3.1: source address failed policy */
	case 6: /* reject route to destination */
		return -EACCES;
	default:
		return -EHOSTUNREACH;
	}
}

/* RFC 792; the other code of time exceeded is about reassembly and no hop's doing. */
static bool answer_take_report_ipv4(struct answer *answer, const struct view *icmp)
{
	uint8_t type = icmp->at[0], code = icmp->at[1];

	if (type == ICMP_DEST_UNREACH && code == ICMP_FRAG_NEEDED) {
		answer->kind = ANSWER_TOO_BIG;
		answer->mtu = view_u16(icmp, 6); /* RFC 1191 section 4 */
	} else if (type == ICMP_DEST_UNREACH) {
		answer->kind = ANSWER_UNREACHABLE;
		answer->error = unreachable_error_ipv4(code);
	} else if (type == ICMP_TIME_EXCEEDED && code == ICMP_EXC_TTL) {
		answer->kind = ANSWER_TIME_EXCEEDED;
	} else {
		return false;
	}
	return true;
}

/* RFC 4443 section 3. The code of Packet Too Big is to be ignored (section 3.2). */
static bool answer_take_report_ipv6(struct answer *answer, const struct view *icmp)
{
	uint8_t type = icmp->at[0], code = icmp->at[1];

	if (type == ICMP6_PACKET_TOO_BIG) {
		answer->kind = ANSWER_TOO_BIG;
		answer->mtu = view_u32(icmp, 4);
	} else if (type == ICMP6_DST_UNREACH) {
		answer->kind = ANSWER_UNREACHABLE;
		answer->error = unreachable_error_ipv6(code);
	} else if (type == ICMP6_TIME_EXCEEDED && code == ICMP6_TIME_EXCEED_TRANSIT) {
		answer->kind = ANSWER_TIME_EXCEEDED;
	} else {
		return false;
	}
	return true;
}

bool decode_icmp(const uint8_t *packet, size_t captured, size_t length, struct answer *ret)
{
	struct view view = {packet, captured < length ? captured : length};
	struct answer answer = {.kind = ANSWER_ECHO};
	uint8_t protocol;

	if (!view_enter_ipv4(&view, &protocol) || protocol != IPPROTO_ICMP)
		return false;
	if (view.at[0] == ICMP_ECHOREPLY) {
		answer.size = (uint32_t)length;
		answer_take_echo(&answer, &view);
	} else {
		struct view quote = {view.at + ICMP_HEADER, view.left - ICMP_HEADER};

		if (!answer_take_report_ipv4(&answer, &view) ||
		    !answer_take_quote_ipv4(&answer, quote))
			return false;
	}
	*ret = answer;
	return true;
}

bool decode_icmpv6(const uint8_t *packet, size_t captured, size_t length, struct answer *ret)
{
	struct view view = {packet, captured < length ? captured : length};
	struct answer answer = {.kind = ANSWER_ECHO};

	if (view.left < ICMP_HEADER)
		return false;
	if (view.at[0] == ICMP6_ECHO_REPLY) {
		answer.size = IPV6_HEADER + (uint32_t)length;
		answer_take_echo(&answer, &view);
	} else {
		struct view quote = {view.at + ICMP_HEADER, view.left - ICMP_HEADER};

		if (!answer_take_report_ipv6(&answer, &view) ||
		    !answer_take_quote_ipv6(&answer, quote))
			return false;
	}
	*ret = answer;
	return true;
}

/* RFC 9293 section 3.5.2: only with ACK does it say which SYN it answers. */
bool decode_segment(uint8_t family, const uint8_t *packet, size_t captured, struct segment *ret)
{
	struct view view = {packet, captured};
	uint8_t protocol = IPPROTO_TCP, flags;

	if (family == ADDRESS_IPV4 && !view_enter_ipv4(&view, &protocol))
		return false;
	if (protocol != IPPROTO_TCP || view.left < TCP_HEADER)
		return false;
	flags = view.at[13] & (TH_SYN | TH_RST | TH_ACK);
	if (flags != (TH_SYN | TH_ACK) && flags != (TH_RST | TH_ACK))
		return false;
	*ret = (struct segment){
		.from_port = view_u16(&view, 0),
		.to_port = view_u16(&view, 2),
		.acknowledged = view_u32(&view, 8),
		.opened = (flags & TH_SYN) != 0,
	};
	return true;
}

static bool answer_take_message(struct answer *answer, const struct responder_message *message)
{
	switch (message->kind) {
	case RESPONDER_PROBE:
		return false;
	case RESPONDER_RECEIPT:
		answer->kind = ANSWER_DELIVERED;
		answer->size = message->size;
		answer->fragment = message->fragment;
		return true;
	case RESPONDER_ANSWER:
		answer->kind = ANSWER_ECHO;
		return true;
	case RESPONDER_COOKIE:
		answer->kind = ANSWER_COOKIE;
		answer->cookie = message->cookie;
		return true;
	}
	return false;
}

bool decode_datagram(uint8_t family, const uint8_t *payload, size_t captured, size_t length,
		     struct answer *ret)
{
	struct responder_message message;
	struct answer answer = {.probe = PROBE_RESPONDER, .has_nonce = true};

	if (!responder_message_decode(payload, captured < length ? captured : length, &message))
		return false;
	answer.sequence = message.sequence;
	answer.nonce = message.nonce;
	answer.size = (uint32_t)length + UDP_HEADER +
		      (family == ADDRESS_IPV4 ? IPV4_HEADER : IPV6_HEADER);
	if (!answer_take_message(&answer, &message))
		return false;
	*ret = answer;
	return true;
}
