/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Live connections of a real kernel, in a network namespace of our own, and messages that no kernel
 * sends.
 */
#include "netns.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>

#include "../../daemon/world/connection_message.h"
#include "../../daemon/world/connections.h"

#define SHORTLY (20 * USEC_PER_SEC)
#define MOST 64

struct scene {
	sd_event *event;
	struct connections *connections;
	struct connection list[MOST];
	unsigned count, ended;
	int error;
	uint64_t cost_usec;
};

static struct scene scene;

static void on_connection(const struct connection *connection, void *userdata)
{
	ck_assert_ptr_eq(userdata, &scene);
	if (scene.count < MOST)
		scene.list[scene.count] = *connection;
	scene.count++;
}

static void on_done(int error, uint64_t cost_usec, void *userdata)
{
	scene.ended++;
	scene.error = error;
	scene.cost_usec = cost_usec;
}

static const struct connections_handlers handlers = {.connection = on_connection, .done = on_done};

static void setup(void)
{
	memset(&scene, 0, sizeof(scene));
	netns_enter();
	run("ip addr add 192.0.2.1/24 dev lo && ip addr add 192.0.2.2/24 dev lo");
	run("ip -6 addr add 2001:db8::1/64 dev lo nodad && "
	    "ip -6 addr add 2001:db8::2/64 dev lo nodad");
	ck_assert_int_ge(sd_event_new(&scene.event), 0);
	ck_assert_int_eq(connections_new(&scene.connections, scene.event, &handlers, &scene), 0);
}

static void teardown(void)
{
	scene.connections = connections_free(scene.connections);
	scene.event = sd_event_unref(scene.event);
}

static bool has_ended(void *userdata)
{
	return scene.ended > 0;
}

static void look(const struct address *addresses, unsigned count)
{
	scene.count = scene.ended = 0;
	ck_assert_int_eq(connections_look(scene.connections, addresses, count), 0);
	ck_assert(holds_within(scene.event, SHORTLY, has_ended, NULL));
	ck_assert_int_eq(scene.error, 0);
	ck_assert_uint_eq(scene.ended, 1);
}

/* A mapped address is written as such. */
static struct sockaddr_in6 socket_address(const char *text, uint16_t port, socklen_t *ret_length)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(port)};

	*ret_length = sizeof(address);
	if (inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
		return address;
	ck_assert_int_eq(inet_pton(AF_INET, text, &ipv4.sin_addr), 1);
	memcpy(&address, &ipv4, sizeof(ipv4));
	*ret_length = sizeof(ipv4);
	return address;
}

static int listener(const char *text, uint16_t port)
{
	socklen_t length;
	struct sockaddr_in6 address = socket_address(text, port, &length);
	int fd = socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	ck_assert_int_ge(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
	ck_assert_int_eq(listen(fd, 4096), 0);
	return fd;
}

static int client_try(const char *from, const char *to, uint16_t port)
{
	socklen_t length;
	struct sockaddr_in6 address = socket_address(from, 0, &length);
	int fd = socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	ck_assert_int_ge(fd, 0);
	if (bind(fd, (struct sockaddr *)&address, length) == 0) {
		address = socket_address(to, port, &length);
		if (connect(fd, (struct sockaddr *)&address, length) == 0)
			return fd;
	}
	r = -errno;
	close(fd);
	return r;
}

/* The kernel makes the routes of IPv6 addresses in its own time. */
static int client(const char *from, const char *to, uint16_t port)
{
	uint64_t end = now_usec() + SHORTLY;
	int fd;

	do
		fd = client_try(from, to, port);
	while (fd == -ENETUNREACH && now_usec() < end);
	ck_assert_msg(fd >= 0, "%s: %s", to, strerror(-fd));
	return fd;
}

struct row {
	const char *from, *to;
	const char *seen; /* as the core's address */
	uint32_t headers;
};

static const struct row rows[] = {
	{"192.0.2.1", "192.0.2.2", "192.0.2.2", 52},
	{"2001:db8::1", "2001:db8::2", "2001:db8::2", 72},
	{"::ffff:192.0.2.1", "::ffff:192.0.2.2", "192.0.2.2", 52},
};

/* One end has this address, the other one is left out by the kernel; so is a stranger. */
START_TEST(each_family)
{
	const struct row *row = &rows[_i];
	struct address to = address(row->seen);
	int other = listener("127.0.0.1", 4420), stranger = client("127.0.0.1", "127.0.0.1", 4420);
	int listening = listener(row->to, 2049), fd;
	const struct connection *seen = &scene.list[0];

	run("ip link set lo mtu 9000");
	look(&to, 1);
	ck_assert_uint_eq(scene.count, 0);
	fd = client(row->from, row->to, 2049);
	look(&to, 1);
	ck_assert_uint_eq(scene.count, 1);
	ck_assert(address_equal(&seen->to, &to));
	ck_assert_uint_eq(seen->from.family, to.family);
	ck_assert_uint_eq(seen->pmtu, 9000);
	ck_assert(seen->timestamps);
	ck_assert(seen->has_window);
	ck_assert_uint_eq(seen->mss, 9000 - row->headers);
	ck_assert_uint_eq(seen->announced_mss, 9000 - row->headers);
	ck_assert_uint_eq(seen->in_flight, 0);
	ck_assert_uint_eq(seen->retransmits, 0);
	/* without a filter: both ends of both */
	look(NULL, 0);
	ck_assert_uint_ge(scene.count, 3);
	close(fd);
	close(listening);
	close(stranger);
	close(other);
}
END_TEST

/* Filters of every length let the same ones pass. */
START_TEST(filters)
{
	struct address list[CONNECTIONS_FILTER_MOST + 1];
	int fds[4] = {listener("192.0.2.2", 1), listener("2001:db8::2", 1)};

	fds[2] = client("192.0.2.1", "192.0.2.2", 1);
	fds[3] = client("2001:db8::1", "2001:db8::2", 1);
	for (unsigned count = 1; count <= CONNECTIONS_FILTER_MOST; count++) {
		for (unsigned place = 0; place < count; place++)
			list[place] = address(place % 2 ? "198.51.100.7" : "2001:db8:77::7");
		list[count / 3] = address("192.0.2.2");
		look(list, count);
		ck_assert_uint_eq(scene.count, 1);
		list[count - 1] = address("2001:db8::2");
		look(list, count);
		ck_assert_uint_eq(scene.count, count / 3 == count - 1 ? 1 : 2);
	}
	/* more than a filter may hold: everything comes */
	list[CONNECTIONS_FILTER_MOST] = address("198.51.100.7");
	look(list, CONNECTIONS_FILTER_MOST + 1);
	ck_assert_uint_ge(scene.count, 2);
	for (unsigned i = 0; i < 4; i++)
		close(fds[i]);
}
END_TEST

/* The connection that is under way when the next one is asked for has no part in it. */
START_TEST(looked_anew)
{
	struct address to = address("192.0.2.2"), nobody = address("198.51.100.7");
	int listening = listener("192.0.2.2", 1), fd = client("192.0.2.1", "192.0.2.2", 1);

	scene.count = 0;
	ck_assert_int_eq(connections_look(scene.connections, &to, 1), 0);
	look(&nobody, 1);
	ck_assert_uint_eq(scene.count, 0);
	close(fd);
	close(listening);
}
END_TEST

START_TEST(without_a_loop)
{
	struct address to = address("192.0.2.2");
	int listening = listener("192.0.2.2", 1), fd = client("192.0.2.1", "192.0.2.2", 1);
	struct connections *once = NULL;

	ck_assert_int_eq(connections_new(&once, NULL, &handlers, &scene), 0);
	ck_assert_int_eq(connections_look(once, &to, 1), 0);
	ck_assert_uint_eq(scene.ended, 1);
	ck_assert_uint_eq(scene.count, 1);
	ck_assert_int_eq(connections_look(once, &to, 1), 0);
	ck_assert_uint_eq(scene.count, 2);
	connections_free(once);
	close(fd);
	close(listening);
}
END_TEST

START_TEST(probing)
{
	for (int i = 0; i <= 2; i++) {
		run("echo %d >/proc/sys/net/ipv4/tcp_mtu_probing", i);
		ck_assert_int_eq(connections_mtu_probing(), i);
	}
}
END_TEST

#define MANY 10000

static long resident_kilobytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* The far ends belong to a process of their own, so that neither has too many files. */
static pid_t far_ends(int listening)
{
	pid_t child = fork();

	if (child == 0) {
		while (accept(listening, NULL, NULL) >= 0)
			;
		_exit(1);
	}
	ck_assert_int_ge(child, 0);
	return child;
}

static bool all_are_there(void *userdata)
{
	look(NULL, 0);
	return scene.count == 2 * MANY;
}

/* Twice as many sockets, since both ends are on this host. */
START_TEST(ten_thousand)
{
	const struct rlimit limit = {MANY + 100, MANY + 100};
	struct address to = address("192.0.2.2"), nobody = address("198.51.100.7");
	int listening, *fds = calloc(MANY, sizeof(*fds));
	long before;
	pid_t far;

	ck_assert_ptr_nonnull(fds);
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
		printf("# no more than the usual files: fewer connections are not worth a figure\n");
		free(fds);
		return;
	}
	listening = listener("192.0.2.2", 2049);
	far = far_ends(listening);
	for (unsigned i = 0; i < MANY; i++)
		fds[i] = client("192.0.2.1", "192.0.2.2", 2049);
	before = resident_kilobytes();
	ck_assert(holds_within(scene.event, SHORTLY, all_are_there, NULL));
	fprintf(stderr, "# %u connections, all read: %.1f ms of processor time\n", scene.count,
		(double)scene.cost_usec / 1e3);
	look(&to, 1);
	ck_assert_uint_eq(scene.count, MANY);
	fprintf(stderr, "# %u of %u connections, filtered: %.1f ms\n", scene.count, 2 * MANY,
		(double)scene.cost_usec / 1e3);
	look(&nobody, 1);
	ck_assert_uint_eq(scene.count, 0);
	fprintf(stderr, "# none of %u connections, filtered: %.1f ms; memory grew by %ld KiB\n",
		2 * MANY, (double)scene.cost_usec / 1e3, resident_kilobytes() - before);
	ck_assert_uint_lt(scene.cost_usec, USEC_PER_SEC);
	for (unsigned i = 0; i < MANY; i++)
		close(fds[i]);
	close(listening);
	free(fds);
	netns_end(far);
}
END_TEST

/* --- bytes --- */

struct message {
	struct nlmsghdr header;
	struct inet_diag_msg body;
	struct nlattr attribute;
	uint8_t info[600];
};

/* offsets within struct tcp_info, fixed for good */
enum {
	RETRANSMITS = 2, PROBES = 3, BACKOFF = 4, OPTIONS = 5, RTO = 8, SND_MSS = 16, UNACKED = 24,
	DATA_SENT = 44, DATA_RECV = 52, ACK_RECV = 56, PMTU = 60, ADVMSS = 84, TOTAL_RETRANS = 100,
	NOTSENT = 144, SND_WND = 228,
};

static void put(struct message *message, unsigned offset, uint32_t value)
{
	memcpy(message->info + offset, &value, sizeof(value));
}

static struct message message_of(unsigned info_length)
{
	struct message message = {
		.header = {.nlmsg_type = TCPDIAG_GETSOCK},
		.body = {.idiag_family = AF_INET, .idiag_state = 1, .idiag_wqueue = 30000},
		.attribute = {.nla_type = INET_DIAG_INFO,
			      .nla_len = (uint16_t)(NLA_HDRLEN + info_length)},
	};

	message.header.nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(message.body)) + NLA_HDRLEN +
					      info_length);
	message.info[RETRANSMITS] = 4;
	message.info[PROBES] = 1;
	message.info[BACKOFF] = 5;
	message.info[OPTIONS] = 1;
	put(&message, RTO, 408000);
	put(&message, SND_MSS, 1448);
	put(&message, UNACKED, 7);
	put(&message, DATA_SENT, 12);
	put(&message, DATA_RECV, 90);
	put(&message, ACK_RECV, 80);
	put(&message, PMTU, 9000);
	put(&message, ADVMSS, 8948);
	put(&message, TOTAL_RETRANS, 33);
	put(&message, NOTSENT, 10000);
	put(&message, SND_WND, 65535);
	return message;
}

START_TEST(whole_message)
{
	struct message message = message_of(248);
	struct connection is;

	ck_assert(connection_message_parse(&message.header, &is));
	ck_assert_uint_eq(is.retransmits, 4);
	ck_assert_uint_eq(is.window_probes, 1);
	ck_assert_uint_eq(is.backoff, 5);
	ck_assert(is.timestamps);
	ck_assert_uint_eq(is.timeout_usec, 408000);
	ck_assert_uint_eq(is.mss, 1448);
	ck_assert_uint_eq(is.segments, 7);
	ck_assert_uint_eq(is.in_flight, 20000);
	ck_assert_uint_eq(is.sent_usec, 12000);
	ck_assert_uint_eq(is.heard_usec, 80000);
	ck_assert_uint_eq(is.pmtu, 9000);
	ck_assert_uint_eq(is.announced_mss, 8948);
	ck_assert_uint_eq(is.lost_before, 33);
	ck_assert(is.has_window);
	ck_assert_uint_eq(is.window, 65535);
	put(&message, NOTSENT, 40000);
	ck_assert(connection_message_parse(&message.header, &is));
	ck_assert_uint_eq(is.in_flight, 0);
}
END_TEST

/* Kernels older than this program, and newer ones. */
START_TEST(lengths)
{
	for (unsigned length = 0; length <= 600; length++) {
		struct message message = message_of(length);
		struct connection is = {.mss = 77};
		bool whole = length >= TOTAL_RETRANS + 4;

		ck_assert(connection_message_parse(&message.header, &is) == whole);
		ck_assert_uint_eq(is.mss, whole ? 1448 : 77);
		if (whole)
			ck_assert(is.has_window == (length >= SND_WND + 4));
	}
}
END_TEST

__attribute__((noinline)) static void stack_fill(uint8_t with)
{
	volatile uint8_t bytes[2048];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = with;
}

/* What is sent says the same whatever was in memory before. */
START_TEST(nothing_of_ours_is_sent)
{
	const struct address addresses[2] = {
		{.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 1}},
		{.family = ADDRESS_IPV6, .bytes = {0x20, 0x01, 0x0d, 0xb8}},
	};
	uint8_t sent[2][256] = {{0}};
	size_t length = 0;

	for (unsigned i = 0; i < 2; i++) {
		stack_fill(i ? 0xa5 : 0x5a);
		length = connection_filter_write(addresses, 2, sent[i]);
	}
	ck_assert_uint_le(length, sizeof(sent[0]));
	ck_assert_mem_eq(sent[0], sent[1], length);
}
END_TEST

START_TEST(refused)
{
	struct connection is = {.mss = 77};
	struct message message = message_of(248);

	message.body.idiag_state = 2;
	ck_assert(!connection_message_parse(&message.header, &is));
	message = message_of(248);
	message.body.idiag_family = AF_UNIX;
	ck_assert(!connection_message_parse(&message.header, &is));
	message = message_of(248);
	message.header.nlmsg_type = 20;
	ck_assert(!connection_message_parse(&message.header, &is));
	message = message_of(248);
	message.attribute.nla_type = INET_DIAG_MEMINFO;
	ck_assert(!connection_message_parse(&message.header, &is));
	message = message_of(248);
	message.header.nlmsg_len = NLMSG_LENGTH(sizeof(message.body));
	ck_assert(!connection_message_parse(&message.header, &is));
	message.header.nlmsg_len = 20;
	ck_assert(!connection_message_parse(&message.header, &is));
	message = message_of(248);
	put(&message, SND_MSS, 0);
	ck_assert(!connection_message_parse(&message.header, &is));
	put(&message, SND_MSS, 0x80000000U);
	ck_assert(!connection_message_parse(&message.header, &is));
	ck_assert_uint_eq(is.mss, 77);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sockets");
	TCase *tests = tcase_create("sockets");

	tcase_set_timeout(tests, 100);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, each_family, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(tests, filters);
	tcase_add_test(tests, looked_anew);
	tcase_add_test(tests, without_a_loop);
	tcase_add_test(tests, probing);
	tcase_add_test(tests, ten_thousand);
	tcase_add_test(tests, whole_message);
	tcase_add_test(tests, lengths);
	tcase_add_test(tests, nothing_of_ours_is_sent);
	tcase_add_test(tests, refused);
	suite_add_tcase(suite, tests);
	return netns_main(suite);
}
