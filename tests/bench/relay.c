/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cable with a delay: every frame of one device goes out of the other one so many microseconds
 * later, whole and in order, both ways. It is for benchmarks on kernels without netem; it drops
 * nothing knowingly and says at its end how much it had no room for.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME_LARGEST 65600U
#define BUFFER_BYTES (64U << 20)
#define NSEC_PER_SEC 1000000000ULL

struct frame {
	uint64_t due_nsec;
	uint32_t size;
};

/* Frames on their way in one direction, the oldest at `first`. */
struct way {
	int in, out;
	uint8_t *bytes;
	size_t first, last; /* last == first: empty */
	uint64_t carried, dropped;
};

static volatile sig_atomic_t ending;

static void on_signal(int number)
{
	ending = number;
}

static uint64_t now_nsec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * NSEC_PER_SEC + (uint64_t) ts.tv_nsec;
}

static int device_open(const char *name)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int) if_nametoindex(name),
	};
	struct packet_mreq promiscuous = {
		.mr_ifindex = address.sll_ifindex,
		.mr_type = PACKET_MR_PROMISC,
	};
	int one = 1, size = BUFFER_BYTES;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous)) < 0 ||
	    bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

/* Where the next frame may be written, NULL while there is no room for a whole one: a ring that
 * starts over only when it has run empty keeps every frame in one piece. */
static uint8_t *way_room(struct way *way)
{
	if (way->first == way->last)
		way->first = way->last = 0;
	if (way->last + sizeof(struct frame) + FRAME_LARGEST > BUFFER_BYTES)
		return NULL;
	return way->bytes + way->last;
}

static void way_read(struct way *way, uint64_t delay_nsec)
{
	for (;;) {
		uint8_t *room = way_room(way);
		uint8_t spare[1];
		struct frame frame;
		ssize_t size;

		if (room)
			size = recv(way->in, room + sizeof(frame), FRAME_LARGEST, 0);
		else
			size = recv(way->in, spare, sizeof(spare), 0);
		if (size < 0)
			return;
		if (!room) {
			way->dropped++;
			continue;
		}
		frame = (struct frame){ .due_nsec = now_nsec() + delay_nsec, .size = (uint32_t) size };
		memcpy(room, &frame, sizeof(frame));
		way->last += sizeof(frame) + (((size_t) size + 7) & ~(size_t) 7);
	}
}

/* Sends what is due; returns when the next one is, UINT64_MAX none. */
static uint64_t way_write(struct way *way)
{
	while (way->first != way->last) {
		struct frame frame;

		memcpy(&frame, way->bytes + way->first, sizeof(frame));
		if (frame.due_nsec > now_nsec())
			return frame.due_nsec;
		if (send(way->out, way->bytes + way->first + sizeof(frame), frame.size, 0) < 0)
			way->dropped++;
		else
			way->carried++;
		way->first += sizeof(frame) + (((size_t) frame.size + 7) & ~(size_t) 7);
	}
	return UINT64_MAX;
}

static void relay(struct way ways[static 2], uint64_t delay_nsec)
{
	struct pollfd fds[2] = {
		{ .fd = ways[0].in, .events = POLLIN },
		{ .fd = ways[1].in, .events = POLLIN },
	};

	while (!ending) {
		uint64_t due = UINT64_MAX, now;
		struct timespec wait;

		for (int i = 0; i < 2; i++) {
			uint64_t next;

			way_read(&ways[i], delay_nsec);
			next = way_write(&ways[i]);
			due = next < due ? next : due;
		}
		now = now_nsec();
		due = due > now + NSEC_PER_SEC ? NSEC_PER_SEC : due > now ? due - now : 0;
		wait.tv_sec = (time_t) (due / NSEC_PER_SEC);
		wait.tv_nsec = (long) (due % NSEC_PER_SEC);
		if (ppoll(fds, 2, &wait, NULL) < 0 && errno != EINTR)
			return;
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct way ways[2] = { 0 };
	int fds[2];

	if (argc != 4) {
		fprintf(stderr, "usage: relay DEVICE DEVICE DELAY-USEC\n");
		return 64;
	}
	for (int i = 0; i < 2; i++) {
		fds[i] = device_open(argv[1 + i]);
		if (fds[i] < 0) {
			fprintf(stderr, "relay: %s: %s\n", argv[1 + i], strerror(-fds[i]));
			return 1;
		}
	}
	for (int i = 0; i < 2; i++) {
		ways[i] = (struct way){ .in = fds[i], .out = fds[1 - i], .bytes = malloc(BUFFER_BYTES) };
		if (!ways[i].bytes)
			return 1;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1000UL);
	printf("relaying\n");
	fflush(stdout);
	relay(ways, strtoull(argv[3], NULL, 10) * 1000);
	printf("%llu carried, %llu dropped\n",
	       (unsigned long long) (ways[0].carried + ways[1].carried),
	       (unsigned long long) (ways[0].dropped + ways[1].dropped));
	for (int i = 0; i < 2; i++)
		free(ways[i].bytes);
	return 0;
}
