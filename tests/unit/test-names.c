/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host names through the C library's own resolver: files, nothing there, and a name server that
 * never answers, in namespaces of our own.
 */
#include "netns.h"

#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../../daemon/world/names.h"

#define ANSWERS_LARGEST 64

struct answer_of_name {
	bool told;
	int error;
	unsigned count;
	struct address addresses[8];
	struct name_query *query;
};

static struct {
	sd_event *event;
	struct names *names;
	unsigned threads; /* before there were names */
	struct answer_of_name answers[ANSWERS_LARGEST];
	unsigned asked;
} scene;

static void on_name(int error, const struct address *addresses, unsigned count, void *userdata)
{
	struct answer_of_name *answer = userdata;

	ck_assert(!answer->told);
	ck_assert_uint_le(count, 8);
	answer->told = true;
	answer->error = error;
	answer->count = count;
	if (count > 0)
		memcpy(answer->addresses, addresses, count * sizeof(*addresses));
	/* over: this must do nothing */
	names_cancel(scene.names, answer->query);
}

/* A file of ours in the place of the system's. */
static void put_file(const char *place, const char *text)
{
	char path[] = "/tmp/mtuwatchd-names-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(mount(path, place, NULL, MS_BIND, NULL), 0);
	unlink(path);
}

static unsigned threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned count = 0;

	ck_assert_ptr_nonnull(tasks);
	for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

static void setup(void)
{
	netns_enter();
	put_file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"
			       "192.0.2.10 san-a\n2001:db8::10 san-a\n192.0.2.10 san-a\n"
			       "fe80::1 nowhere\n192.0.2.11 san-b\n");
	put_file("/etc/nsswitch.conf", "hosts: files dns\n");
	put_file("/etc/resolv.conf", "nameserver 127.0.0.1\n");
	scene.threads = threads();
	ck_assert_int_ge(sd_event_new(&scene.event), 0);
	ck_assert_int_eq(names_new(&scene.names, scene.event), 0);
}

/* A thread that is still in the C library holds memory that is nobody's when the process ends. */
static void teardown(void)
{
	uint64_t end = now_usec() + 40 * USEC_PER_SEC;

	scene.names = names_free(scene.names);
	scene.event = sd_event_unref(scene.event);
	while (threads() > scene.threads && now_usec() < end)
		poll(NULL, 0, 5);
	ck_assert_uint_le(threads(), scene.threads);
}

static struct answer_of_name *ask(const char *host, enum address_family family)
{
	struct answer_of_name *answer = &scene.answers[scene.asked++];

	ck_assert_uint_le(scene.asked, ANSWERS_LARGEST);
	ck_assert_int_eq(names_resolve(scene.names, host, family, on_name, answer, &answer->query),
			 0);
	ck_assert(!answer->told);
	return answer;
}

static bool is_told(void *userdata)
{
	return ((struct answer_of_name *)userdata)->told;
}

static void wait_for(struct answer_of_name *answer, uint64_t usec)
{
	ck_assert(holds_within(scene.event, usec, is_told, answer));
}

static bool has(const struct answer_of_name *answer, const char *text)
{
	struct address wanted = address(text);
	unsigned found = 0;

	for (unsigned i = 0; i < answer->count; i++)
		found += address_equal(&answer->addresses[i], &wanted);
	return found == 1;
}

START_TEST(from_files)
{
	struct answer_of_name *local = ask("localhost", ADDRESS_NONE);
	struct answer_of_name *both = ask("san-a", ADDRESS_NONE);
	struct answer_of_name *four = ask("san-a", ADDRESS_IPV4);
	struct answer_of_name *six = ask("san-a", ADDRESS_IPV6);
	struct answer_of_name *none = ask("san-b", ADDRESS_IPV6);

	for (unsigned i = 0; i < scene.asked; i++)
		wait_for(&scene.answers[i], 5 * USEC_PER_SEC);
	ck_assert_int_eq(local->error, 0);
	ck_assert(has(local, "127.0.0.1") && has(local, "::1"));
	/* both families although there is no address of either but the loopback's */
	ck_assert_uint_eq(both->count, 2);
	ck_assert(has(both, "192.0.2.10") && has(both, "2001:db8::10"));
	ck_assert_uint_eq(four->count, 1);
	ck_assert(has(four, "192.0.2.10"));
	ck_assert_uint_eq(six->count, 1);
	ck_assert(has(six, "2001:db8::10"));
	ck_assert_int_lt(none->error, 0);
	ck_assert_uint_eq(none->count, 0);
}
END_TEST

START_TEST(numeric)
{
	struct answer_of_name *four = ask("192.0.2.77", ADDRESS_NONE);
	struct answer_of_name *zone = ask("fe80::7%lo", ADDRESS_NONE);

	wait_for(four, 5 * USEC_PER_SEC);
	wait_for(zone, 5 * USEC_PER_SEC);
	ck_assert(has(four, "192.0.2.77"));
	ck_assert_uint_eq(zone->count, 1);
	ck_assert_int_eq(zone->addresses[0].zone, 1);
}
END_TEST

START_TEST(link_local_without_zone)
{
	struct answer_of_name *answer = ask("nowhere", ADDRESS_IPV6);

	wait_for(answer, 5 * USEC_PER_SEC);
	ck_assert_int_eq(answer->error, -ENOENT);
}
END_TEST

/* Nobody listens on the name server's port: it fails for now. */
START_TEST(no_server)
{
	struct answer_of_name *answer = ask("nobody.invalid", ADDRESS_NONE);

	wait_for(answer, 9 * USEC_PER_SEC);
	ck_assert_int_eq(answer->error, -EAGAIN);
}
END_TEST

/* The header of the question with the answer bit and NXDOMAIN set (RFC 1035 section 4.1.1). */
static int on_question(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	uint8_t packet[512];
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	ssize_t n = recvfrom(fd, packet, sizeof(packet), 0, (void *)&from, &length);

	if (n >= 12) {
		packet[2] |= 0x80;
		packet[3] = 0x83;
		(void)!sendto(fd, packet, (size_t)n, 0, (void *)&from, length);
	}
	return 0;
}

static int server_open(void)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(53),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (void *)&in, sizeof(in)), 0);
	return fd;
}

START_TEST(no_such_name)
{
	int server = server_open();
	sd_event_source *source = NULL;
	struct answer_of_name *answer;

	ck_assert_int_ge(sd_event_add_io(scene.event, &source, server, 1, on_question, NULL), 0);
	answer = ask("nobody.invalid", ADDRESS_NONE);
	wait_for(answer, 9 * USEC_PER_SEC);
	ck_assert_int_eq(answer->error, -ENOENT);
	sd_event_source_disable_unref(source);
	close(server);
}
END_TEST

/* Reads no question, answers none. More names than threads: those are all stuck. */
START_TEST(hanging_server_does_not_block)
{
	int server = server_open();
	unsigned before = threads();
	uint64_t begun;
	char host[32];

	for (unsigned i = 0; i < 20; i++) {
		snprintf(host, sizeof(host), "slow%u.invalid", i);
		ask(host, ADDRESS_NONE);
	}
	ck_assert_uint_le(threads(), before + 4);
	begun = now_usec();
	scene.answers[0].query = names_cancel(scene.names, scene.answers[0].query);
	scene.names = names_free(scene.names);
	ck_assert_uint_lt(now_usec() - begun, 100 * USEC_PER_MSEC);
	/* and what still hangs lets a new one work */
	ck_assert_int_eq(names_new(&scene.names, scene.event), 0);
	wait_for(ask("san-b", ADDRESS_NONE), 5 * USEC_PER_SEC);
	for (unsigned i = 0; i < 20; i++)
		ck_assert(!scene.answers[i].told);
	close(server);
}
END_TEST

/* The deadline holds for what hangs and for what waits behind it; late answers are not told. */
START_TEST(hanging_server_times_out)
{
	int server = server_open();
	uint64_t begun = now_usec();
	char host[32];

	for (unsigned i = 0; i < 8; i++) {
		snprintf(host, sizeof(host), "slow%u.invalid", i);
		ask(host, ADDRESS_NONE);
	}
	for (unsigned i = 0; i < 8; i++) {
		wait_for(&scene.answers[i], 15 * USEC_PER_SEC);
		ck_assert_int_eq(scene.answers[i].error,
				 i < 4 ? scene.answers[i].error : -ETIMEDOUT);
		ck_assert_int_lt(scene.answers[i].error, 0);
	}
	ck_assert_uint_lt(now_usec() - begun, 12 * USEC_PER_SEC);
	close(server);
	/* the threads find the port closed now, and come free one after the other */
	wait_for(ask("san-b", ADDRESS_NONE), 30 * USEC_PER_SEC);
}
END_TEST

/* Asks again and cancels another from within. */
static void on_chain(int error, const struct address *addresses, unsigned count, void *userdata)
{
	struct answer_of_name *answer = userdata;

	ck_assert_int_eq(error, 0);
	scene.answers[0].query = names_cancel(scene.names, scene.answers[0].query);
	ask("san-a", ADDRESS_IPV4);
	answer->told = true;
}

START_TEST(from_within)
{
	int server = server_open();
	struct answer_of_name *slow = ask("slow.invalid", ADDRESS_NONE);
	struct answer_of_name *chain = &scene.answers[scene.asked++];

	ck_assert_int_eq(names_resolve(scene.names, "localhost", ADDRESS_NONE, on_chain, chain,
				       &chain->query),
			 0);
	wait_for(chain, 5 * USEC_PER_SEC);
	wait_for(&scene.answers[2], 5 * USEC_PER_SEC);
	ck_assert(has(&scene.answers[2], "192.0.2.10"));
	ck_assert(!slow->told);
	close(server);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("names");
	TCase *tests = tcase_create("names");

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, from_files);
	tcase_add_test(tests, numeric);
	tcase_add_test(tests, link_local_without_zone);
	tcase_add_test(tests, no_server);
	tcase_add_test(tests, no_such_name);
	tcase_add_test(tests, hanging_server_does_not_block);
	tcase_add_test(tests, hanging_server_times_out);
	tcase_add_test(tests, from_within);
	suite_add_tcase(suite, tests);
	return netns_main(suite);
}
