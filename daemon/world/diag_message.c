/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From struct inet_diag_msg to what is known of a connection, whichever request it answers.
 */
#include "diag_message.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/inet_diag.h>

#define STATE_ESTABLISHED 1U

/* A socket of IPv6 may talk to IPv4 hosts: RFC 4291 section 2.5.5.2. */
static struct address address_of(uint8_t family, const void *words, int link)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct address address = {.family = ADDRESS_IPV4};
	const uint8_t *bytes = words;

	if (family == AF_INET) {
		memcpy(address.bytes, bytes, 4);
	} else if (memcmp(bytes, mapped, sizeof(mapped)) == 0) {
		memcpy(address.bytes, bytes + sizeof(mapped), 4);
	} else {
		address.family = ADDRESS_IPV6;
		memcpy(address.bytes, bytes, 16);
		if (address_is_link_local(&address))
			address.zone = link;
	}
	return address;
}

bool diag_message_parse(const struct nlmsghdr *message, struct diag_socket *ret)
{
	struct inet_diag_msg head;
	int link;

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(head)))
		return false;
	memcpy(&head, NLMSG_DATA(message), sizeof(head));
	if ((head.idiag_family != AF_INET && head.idiag_family != AF_INET6) ||
	    head.idiag_state != STATE_ESTABLISHED)
		return false;
	link = (int)head.id.idiag_if;
	*ret = (struct diag_socket){
		.to = address_of(head.idiag_family, head.id.idiag_dst, link),
		.from = address_of(head.idiag_family, head.id.idiag_src, link),
		.to_port = ntohs(head.id.idiag_dport),
		.from_port = ntohs(head.id.idiag_sport),
		.link = link,
		.user = head.idiag_uid,
		.inode = head.idiag_inode,
		.queued = head.idiag_wqueue,
	};
	return true;
}
