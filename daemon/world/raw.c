/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Socket options and filters. Reads and writes no packet.
 *
 * No IP_RECVERR: a report comes as an ordinary packet, with the sender's address, once. Every
 * IPv4 socket has IP_PMTUDISC_INTERFACE, those that only hear too: the kernel offers a report to
 * each socket of the quoted protocol, and what any of them accepts goes to the route cache.
 */
#include "raw.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "encode.h"

#define BUFFER_BYTES (16 << 20)
#define ICMP_FILTER_OPTION 1 /* ICMP_FILTER of linux/icmp.h, which glibc's headers do not bear */

struct option {
	int level, name, value;
};

#define OPTIONS(list) list, sizeof(list) / sizeof((list)[0])

static int socket_set(int fd, const struct option *options, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) < 0)
			return -errno;
	}
	return 0;
}

/* As much as we may get: an overflow would look like a path that swallows packets. */
static void socket_set_buffers(int fd)
{
	const struct option options[] = {
		{SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES},
		{SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES},
		{SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES},
		{SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES},
	};

	if (socket_set(fd, &options[0], 1) < 0)
		socket_set(fd, &options[1], 1);
	if (socket_set(fd, &options[2], 1) < 0)
		socket_set(fd, &options[3], 1);
}

static uint32_t socket_room(int fd)
{
	int bytes;
	socklen_t length = sizeof(bytes);

	return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length) < 0 ? 0 : (uint32_t)bytes;
}

static int socket_filter(int fd, struct sock_filter *filter, size_t count)
{
	struct sock_fprog program = {(unsigned short)count, filter};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

static int socket_hear_nothing(int fd)
{
	struct sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};

	return socket_filter(fd, nothing, 1);
}

/*
 * The replies to other programs' pings wake nobody: RFC 792 has a reply return the data as they
 * came, and ours are the pattern behind the nonce. What is too short to show it comes in, and so
 * does every report. A raw IPv4 socket shows the filter the IP header, a raw IPv6 one what follows
 * it.
 */
static int icmp_filter(const struct raw *raw)
{
	bool ipv4 = raw->family == ADDRESS_IPV4;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ipv4 ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ENCODE_ECHO_HEADER + 4, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_IND, ENCODE_ECHO_HEADER),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ENCODE_PATTERN << 16 | ENCODE_PATTERN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	if (ipv4)
		filter[0] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0);
	return socket_filter(raw->fd, filter, sizeof(filter) / sizeof(filter[0]));
}

static int icmp_setup_ipv4(struct raw *raw)
{
	static const struct option options[] = {
		{IPPROTO_IP, IP_HDRINCL, 1},
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE},
		{IPPROTO_IP, IP_PKTINFO, 1},
		{IPPROTO_IP, IP_RECVTTL, 1},
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
	return socket_set(raw->fd, OPTIONS(options));
}

static int icmp_setup_ipv6(const struct raw *raw)
{
	static const struct option options[] = {
		{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE},
		{IPPROTO_IPV6, IPV6_DONTFRAG, 1},
		{IPPROTO_IPV6, IPV6_RECVPKTINFO, 1},
		{IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1},
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
	return socket_set(raw->fd, OPTIONS(options));
}

/* A socket of IPPROTO_RAW sends packets with their own header without being asked. */
static int header_setup(struct raw *raw)
{
	int hops, probe = IPV6_PMTUDISC_PROBE;
	socklen_t length = sizeof(hops);

	if (getsockopt(raw->fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, &length) < 0)
		return -errno;
	raw->ttl = (uint8_t)hops;
	/* else what the kernel once learned of a destination refuses the probe */
	if (setsockopt(raw->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof(probe)) < 0)
		return -errno;
	return socket_hear_nothing(raw->fd);
}

static const struct option hear_ipv4[] = {
	{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_INTERFACE},
	{IPPROTO_IP, IP_PKTINFO, 1},
	{IPPROTO_IP, IP_RECVTTL, 1},
	{IPPROTO_IP, IP_RECVFRAGSIZE, 1},
};

static const struct option hear_ipv6[] = {
	{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_INTERFACE},
	{IPPROTO_IPV6, IPV6_RECVPKTINFO, 1},
	{IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1},
	{IPPROTO_IPV6, IPV6_RECVFRAGSIZE, 1},
};

static int socket_setup_hearing(int fd, uint8_t family)
{
	return family == ADDRESS_IPV4 ? socket_set(fd, OPTIONS(hear_ipv4))
				      : socket_set(fd, OPTIONS(hear_ipv6));
}

static int raw_setup(struct raw *raw)
{
	int r;

	switch (raw->kind) {
	case RAW_ICMP:
		r = raw->family == ADDRESS_IPV4 ? icmp_setup_ipv4(raw) : icmp_setup_ipv6(raw);
		return r < 0 ? r : icmp_filter(raw);
	case RAW_HEADER:
		return header_setup(raw);
	case RAW_SEGMENT:
	case RAW_DATAGRAM:
		return socket_setup_hearing(raw->fd, raw->family);
	}
	return -EINVAL;
}

static int raw_protocol(enum raw_kind kind, uint8_t family)
{
	switch (kind) {
	case RAW_ICMP:
		return family == ADDRESS_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	case RAW_HEADER:
		return IPPROTO_RAW;
	case RAW_SEGMENT:
		return IPPROTO_TCP;
	case RAW_DATAGRAM:
		return IPPROTO_UDP;
	}
	return -1;
}

int raw_open(struct raw *ret, enum raw_kind kind, uint8_t family)
{
	struct raw raw = {.kind = kind, .family = family};
	int r;

	raw.fd = socket(family == ADDRESS_IPV4 ? AF_INET : AF_INET6,
			SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, raw_protocol(kind, family));
	if (raw.fd < 0)
		return -errno;
	r = raw_setup(&raw);
	if (r < 0) {
		close(raw.fd);
		return r;
	}
	socket_set_buffers(raw.fd);
	raw.room = socket_room(raw.fd);
	*ret = raw;
	return 0;
}

/* The filter sees the same as icmp_filter(). */
int raw_filter_ports(const struct raw *raw, uint16_t first, uint16_t last)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TH_SYN | TH_RST | TH_ACK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_SYN | TH_ACK, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_RST | TH_ACK, 0, 4),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	if (raw->family == ADDRESS_IPV4)
		filter[0] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0);
	return socket_filter(raw->fd, filter, sizeof(filter) / sizeof(filter[0]));
}

static int port_bind_ipv4(int fd, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

/* The IPv4 port of that number may be somebody else's. */
static int port_bind_ipv6(int fd, uint16_t port)
{
	static const struct option only[] = {{IPPROTO_IPV6, IPV6_V6ONLY, 1}};
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int r;

	r = socket_set(fd, only, 1);
	if (r < 0)
		return r;
	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

/* What must be set before the first packet can come is set before it is bound. To a TCP socket that
 * does not listen comes nothing. */
static int port_setup(int fd, int type, uint8_t family, bool hear)
{
	int r;

	if (type == SOCK_STREAM)
		return 0;
	r = socket_setup_hearing(fd, family);
	if (r < 0 || !hear)
		return r < 0 ? r : socket_hear_nothing(fd);
	socket_set_buffers(fd);
	return 0;
}

static int port_open(int type, uint8_t family, uint16_t port, bool hear)
{
	int r, fd;

	fd = socket(family == ADDRESS_IPV4 ? AF_INET : AF_INET6,
		    type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = port_setup(fd, type, family, hear);
	if (r == 0)
		r = family == ADDRESS_IPV4 ? port_bind_ipv4(fd, port) : port_bind_ipv6(fd, port);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int raw_open_port(struct raw *ret, uint8_t family, uint16_t port)
{
	int fd = port_open(SOCK_DGRAM, family, port, true);

	if (fd < 0)
		return fd;
	*ret = (struct raw){.fd = fd, .kind = RAW_DATAGRAM, .family = family, .port = port};
	return 0;
}

int raw_hold_port(int type, uint8_t family, uint16_t port)
{
	return port_open(type, family, port, false);
}

bool raw_fill(const struct raw *raw, struct raw_fill *ret)
{
	uint32_t info[SK_MEMINFO_VARS];
	socklen_t length = sizeof(info);

	if (raw->fd < 0 || getsockopt(raw->fd, SOL_SOCKET, SO_MEMINFO, info, &length) < 0 ||
	    length < (SK_MEMINFO_DROPS + 1) * sizeof(info[0]))
		return false;
	*ret = (struct raw_fill){
		.drops = info[SK_MEMINFO_DROPS],
		.waiting = info[SK_MEMINFO_RMEM_ALLOC],
		.room = info[SK_MEMINFO_RCVBUF],
	};
	return true;
}
