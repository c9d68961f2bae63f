/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The floor that probing is held against: one raw socket, sendmmsg and recvmmsg, one DF echo to
 * each of N addresses and its replies read. No matching, no clock, no retry: what the kernel alone
 * costs.
 *
 * limit FIRST COUNT [SIZE [BURST]]: FIRST an IPv4 address, COUNT addresses from it on, BURST of
 * them outstanding at once (the receive buffer holds no more). Prints wall and CPU time a peer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 64
#define HEADER 28

static uint8_t headers[BATCH][HEADER], heads[BATCH][256], payload[65536];
static struct sockaddr_in to[BATCH];
static struct iovec parts[BATCH][2], reads[BATCH];
static struct mmsghdr out[BATCH], in[BATCH];

static int socket_open(void)
{
	int fd = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_ICMP);
	int on = 1, interface = IP_PMTUDISC_INTERFACE, bytes = 32 << 20;
	uint32_t filter = ~(1U << ICMP_ECHOREPLY);

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &interface, sizeof(interface)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0 ||
	    setsockopt(fd, SOL_RAW, 1 /* ICMP_FILTER */, &filter, sizeof(filter)) < 0) {
		perror("limit");
		exit(1);
	}
	return fd;
}

static void packet_put(unsigned at, uint32_t address, unsigned number, unsigned size)
{
	struct iphdr ip = {.version = 4,
			   .ihl = 5,
			   .tot_len = htons((uint16_t)size),
			   .frag_off = htons(IP_DF),
			   .ttl = 64,
			   .protocol = IPPROTO_ICMP,
			   .daddr = htonl(address)};
	struct icmphdr echo = {.type = ICMP_ECHO};

	echo.un.echo.sequence = htons((uint16_t)number);
	/* the payload is all zero */
	echo.checksum = htons((uint16_t) ~((ICMP_ECHO << 8) + (uint16_t)number +
					   ((ICMP_ECHO << 8) + (uint16_t)number > 0xffff)));
	memcpy(headers[at], &ip, sizeof(ip));
	memcpy(headers[at] + sizeof(ip), &echo, sizeof(echo));
	to[at] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	parts[at][0] = (struct iovec){headers[at], HEADER};
	parts[at][1] = (struct iovec){payload, size - HEADER};
	out[at].msg_hdr = (struct msghdr){&to[at], sizeof(to[at]), parts[at], 2, NULL, 0, 0};
}

static void burst_send(int fd, uint32_t first, unsigned from, unsigned count, unsigned size)
{
	while (count > 0) {
		unsigned batch = count < BATCH ? count : BATCH, done = 0;

		for (unsigned i = 0; i < batch; i++)
			packet_put(i, first + from + i, from + i, size);
		while (done < batch) {
			int r = sendmmsg(fd, out + done, batch - done, 0);

			if (r < 0 && errno != EAGAIN) {
				perror("sendmmsg");
				exit(1);
			}
			done += r < 0 ? 0 : (unsigned)r;
		}
		from += batch;
		count -= batch;
	}
}

/* Reads until `count` replies are in or a second passes without any. */
static unsigned burst_receive(int fd, unsigned count)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	unsigned got = 0;

	while (got < count && poll(&ready, 1, 1000) > 0) {
		int r;

		for (unsigned i = 0; i < BATCH; i++) {
			reads[i] = (struct iovec){heads[i], sizeof(heads[i])};
			in[i].msg_hdr = (struct msghdr){.msg_iov = &reads[i], .msg_iovlen = 1};
		}
		r = recvmmsg(fd, in, BATCH, MSG_TRUNC, NULL);
		got += r < 0 ? 0 : (unsigned)r;
	}
	return got;
}

static double usec_since(const struct timespec *begin, const struct timespec *end)
{
	return (double)(end->tv_sec - begin->tv_sec) * 1e6 +
	       (double)(end->tv_nsec - begin->tv_nsec) / 1e3;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	unsigned size = argc > 3 ? (unsigned)atoi(argv[3]) : 9000;
	unsigned burst = argc > 4 ? (unsigned)atoi(argv[4]) : 1000, got = 0;
	struct timespec begin, end, cpu_begin, cpu_end;
	struct in_addr first;
	int fd;

	if (count == 0 || burst == 0 || size < HEADER || size > 65535 ||
	    inet_pton(AF_INET, argv[1], &first) != 1) {
		fprintf(stderr, "usage: limit FIRST COUNT [SIZE [BURST]]\n");
		return 64;
	}
	fd = socket_open();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_begin);
	for (unsigned from = 0; from < count; from += burst) {
		unsigned now = count - from < burst ? count - from : burst;

		burst_send(fd, ntohl(first.s_addr), from, now, size);
		got += burst_receive(fd, now);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_end);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("limit   peers %u answered %u wall_us_a_peer %.2f cpu_us_a_peer %.2f\n", count, got,
	       usec_since(&begin, &end) / count, usec_since(&cpu_begin, &cpu_end) / count);
	return got == count ? 0 : 1;
}
