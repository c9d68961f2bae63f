/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a clamp means to ordinary programs: asks a socket of the most ordinary kind, and sends nothing.
 */
#include "clamps.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netinet/in.h>

union socket_address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static socklen_t socket_address_fill(union socket_address *ret, const struct address *address,
				     uint16_t port)
{
	memset(ret, 0, sizeof(*ret));
	if (address->family == ADDRESS_IPV4) {
		ret->ipv4.sin_family = AF_INET;
		ret->ipv4.sin_port = htons(port);
		memcpy(&ret->ipv4.sin_addr, address->bytes, sizeof(ret->ipv4.sin_addr));
		return sizeof(ret->ipv4);
	}
	ret->ipv6.sin6_family = AF_INET6;
	ret->ipv6.sin6_port = htons(port);
	ret->ipv6.sin6_scope_id = (uint32_t)address->zone;
	memcpy(&ret->ipv6.sin6_addr, address->bytes, sizeof(ret->ipv6.sin6_addr));
	return sizeof(ret->ipv6);
}

static int socket_aim(int fd, const struct clamp_way *way)
{
	union socket_address address;
	socklen_t length;

	if (way->link != 0 && setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &way->link,
					 sizeof(way->link)) < 0)
		return -errno;
	if (way->from != NULL && way->from->family == way->to->family) {
		length = socket_address_fill(&address, way->from, 0);
		if (bind(fd, &address.any, length) < 0)
			return -errno;
	}
	length = socket_address_fill(&address, way->to, 9);
	return connect(fd, &address.any, length) < 0 ? -errno : 0;
}

int clamps_socket_mtu(const struct clamp_way *way, uint32_t *ret)
{
	bool ipv4 = way->to->family == ADDRESS_IPV4;
	int fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(int);
	int mtu, r;

	if (fd < 0)
		return -errno;
	r = socket_aim(fd, way);
	if (r >= 0 && getsockopt(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU : IPV6_MTU,
				 &mtu, &length) < 0)
		r = -errno;
	if (r >= 0)
		*ret = (uint32_t)mtu;
	close(fd);
	return r;
}
