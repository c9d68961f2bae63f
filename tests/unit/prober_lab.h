/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The prober against real kernels: hosts are network namespaces, each held by a child process,
 * and this process is the host that probes. Nothing leaves them, and they end with it.
 */
#pragma once

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/world/prober.h"

#define PATIENCE_USEC (10 * USEC_PER_SEC)
#define ANSWERS_LARGEST 20000

/* What came, in the order it came. */
struct lab {
	sd_event *event;
	struct prober *prober;
	struct answer *answers;
	unsigned count, batches, overflows, open; /* open: answers without their batch_end */
	uint16_t sequence;
};

static inline void lab_on_answer(const struct answer *answer, uint64_t now_usec, void *userdata)
{
	struct lab *lab = userdata;

	ck_assert_uint_lt(lab->count, ANSWERS_LARGEST);
	lab->answers[lab->count++] = *answer;
	lab->open++;
}

static inline void lab_on_batch_end(uint64_t now_usec, void *userdata)
{
	struct lab *lab = userdata;

	lab->batches++;
	lab->open = 0;
}

static inline void lab_on_overflow(uint64_t now_usec, void *userdata)
{
	struct lab *lab = userdata;

	ck_assert_uint_eq(lab->open, 0); /* before the answers that were read with it */
	lab->overflows++;
}

/* Runs a shell line in the namespace of `host` (0: here). */
__attribute__((format(printf, 2, 3))) static inline int host_try(pid_t host, const char *format,
								 ...)
{
	char line[1024], command[1200];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	ck_assert_ptr_null(strchr(line, '\''));
	if (host == 0)
		snprintf(command, sizeof(command), "set -e; %s", line);
	else
		snprintf(command, sizeof(command), "nsenter -t %d -n sh -ec '%s'", (int)host, line);
	return system(command);
}
#define host_run(...) ck_assert_int_eq(host_try(__VA_ARGS__), 0)

static inline void namespace_enter(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	/* a small namespace of its own: addresses at once usable, bridges that only bridge */
	host_run(0, "ip link set lo up");
	host_try(0, "sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0");
}

/* A host of its own; it ends with this process. */
static inline pid_t host_new(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		namespace_enter();
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* Link `here` in namespace `a` (0: this one) to `there` in `b`. */
static inline void link_new(pid_t a, const char *here, pid_t b, const char *there, unsigned mtu)
{
	host_run(a,
		 "ip link add %s mtu %u type veth peer name %s mtu %u netns %d; ip link set %s up",
		 here, mtu, there, mtu, (int)b, here);
	host_run(b, "ip link set %s up", there);
}

static inline void lab_open(struct lab *lab)
{
	static const struct prober_handlers handlers = {
		.answer = lab_on_answer,
		.batch_end = lab_on_batch_end,
		.overflow = lab_on_overflow,
	};

	memset(lab, 0, sizeof(*lab));
	lab->answers = calloc(ANSWERS_LARGEST, sizeof(*lab->answers));
	ck_assert_ptr_nonnull(lab->answers);
	ck_assert_int_ge(sd_event_new(&lab->event), 0);
	ck_assert_int_eq(prober_new(&lab->prober, lab->event, &handlers, lab), 0);
}

static inline void lab_close(struct lab *lab)
{
	ck_assert_uint_eq(lab->open, 0);
	ck_assert_ptr_null(prober_free(lab->prober));
	sd_event_unref(lab->event);
	free(lab->answers);
}

/* This host and one peer, 192.0.2.1/2001:db8::1 and .2, over one link. */
static inline pid_t lab_pair(struct lab *lab, unsigned mtu)
{
	pid_t peer;

	namespace_enter();
	peer = host_new();
	link_new(0, "a0", peer, "b0", mtu);
	host_run(0,
		 "ip address add 192.0.2.1/24 dev a0; ip address add 2001:db8::1/64 dev a0 nodad");
	host_run(peer,
		 "ip address add 192.0.2.2/24 dev b0; ip address add 2001:db8::2/64 dev b0 nodad");
	/* until both ends know the other's hardware address, only a few packets wait for it */
	host_run(0, "ping -qc1 -w5 192.0.2.2 >/dev/null; ping -qc1 -w5 2001:db8::2 >/dev/null");
	lab_open(lab);
	return peer;
}

/* This host, a router with a larger link here and a smaller one there, and a peer behind it. */
static inline pid_t lab_routed(struct lab *lab, pid_t *ret_router)
{
	pid_t router, peer;

	namespace_enter();
	router = host_new();
	peer = host_new();
	link_new(0, "a0", router, "r0", 9000);
	link_new(router, "r1", peer, "b0", 1500);
	host_run(router,
		 "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1;"
		 "ip address add 192.0.2.254/24 dev r0; ip address add 198.51.100.254/24 dev r1;"
		 "ip address add 2001:db8:1::fe/64 dev r0 nodad; ip address add 2001:db8:2::fe/64 "
		 "dev r1 nodad");
	host_run(0,
		 "ip address add 192.0.2.1/24 dev a0; ip address add 2001:db8:1::1/64 dev a0 nodad;"
		 "ip route add default via 192.0.2.254; ip route add default via 2001:db8:1::fe");
	host_run(
		peer,
		"ip address add 198.51.100.2/24 dev b0; ip address add 2001:db8:2::2/64 dev b0 "
		"nodad;"
		"ip route add default via 198.51.100.254; ip route add default via 2001:db8:2::fe");
	host_run(0,
		 "ping -qc1 -w5 198.51.100.2 >/dev/null; ping -qc1 -w5 2001:db8:2::2 >/dev/null");
	lab_open(lab);
	*ret_router = router;
	return peer;
}

static inline struct address address_of(const char *text)
{
	struct address address = {.family = ADDRESS_IPV4};

	if (inet_pton(AF_INET, text, address.bytes) == 1)
		return address;
	address.family = ADDRESS_IPV6;
	ck_assert_int_eq(inet_pton(AF_INET6, text, address.bytes), 1);
	return address;
}

static inline struct probe probe_of(struct lab *lab, const char *to, uint32_t size)
{
	return (struct probe){.nonce = 0x8000000000000001ULL + size,
			      .to = address_of(to),
			      .size = size,
			      .ident = 0xfffe,
			      .sequence = lab->sequence++};
}

static inline struct probe lab_send(struct lab *lab, const char *to, uint32_t size)
{
	struct probe probe = probe_of(lab, to, size);

	prober_send(lab->prober, &probe);
	return probe;
}

static inline uint64_t now_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Until `count` answers have come in all, or patience ends. */
static inline void lab_wait(struct lab *lab, unsigned count)
{
	uint64_t end = now_monotonic() + PATIENCE_USEC;

	prober_flush(lab->prober);
	while (lab->count < count && now_monotonic() < end)
		sd_event_run(lab->event, 100 * USEC_PER_MSEC);
	ck_assert_uint_eq(lab->count, count);
}

static const struct answer *lab_answer(const struct lab *lab, uint16_t sequence)
{
	for (unsigned i = 0; i < lab->count; i++) {
		if (lab->answers[i].sequence == sequence)
			return &lab->answers[i];
	}
	ck_abort_msg("no answer to %u", sequence);
}

static inline void assert_answers(const struct lab *lab, const struct probe *probe,
				  enum answer_kind kind)
{
	const struct answer *answer = lab_answer(lab, probe->sequence);

	ck_assert_int_eq(answer->kind, kind);
	ck_assert(address_equal(&answer->to, &probe->to));
	ck_assert_uint_eq(answer->ident, probe->ident);
	ck_assert(answer->has_nonce);
	ck_assert(answer->nonce == probe->nonce);
	ck_assert_uint_eq(answer->size, probe->size);
	if (kind == ANSWER_ECHO) {
		ck_assert(address_equal(&answer->from, &probe->to));
		ck_assert_uint_eq(answer->fragment, 0);
	}
}

static inline void assert_refused(const struct lab *lab, const struct probe *probe, int error)
{
	const struct answer *answer = lab_answer(lab, probe->sequence);

	assert_answers(lab, probe, ANSWER_REFUSED);
	ck_assert_int_eq(answer->from.family, ADDRESS_NONE);
	ck_assert_int_eq(answer->error, error);
}

static inline void assert_from(const struct lab *lab, const struct probe *probe, const char *from)
{
	struct address address = address_of(from);

	ck_assert(address_equal(&lab_answer(lab, probe->sequence)->from, &address));
}

/* A socket that sees what arrives at the peer's link. */
static inline int tap_open(pid_t host, const char *link, uint16_t protocol)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol)};
	char path[64];
	int here, there, fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)host);
	here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	there = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(setns(there, CLONE_NEWNET), 0);
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	address.sll_ifindex = (int)if_nametoindex(link);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(setns(here, CLONE_NEWNET), 0);
	close(here);
	close(there);
	return fd;
}

static inline void tap_read(int fd, uint8_t packet[static 64], size_t length)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	ck_assert_int_eq(poll(&ready, 1, 10000), 1);
	ck_assert_int_eq(recv(fd, packet, 64, MSG_TRUNC), (ssize_t)length);
}

/* Why the tests cannot run here, NULL when they can. */
static const char *reason_to_skip(void)
{
	if (geteuid() != 0)
		return "needs root";
	if (system("unshare -n ip link add type veth 2>/dev/null") != 0)
		return "needs network namespaces, ip and veth";
	if (system("unshare -n nft list tables >/dev/null 2>&1") != 0)
		return "needs nft";
	return NULL;
}
