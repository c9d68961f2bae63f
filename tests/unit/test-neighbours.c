/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sources of neighbours with real files and a real socket: records that come, change and go, a
 * folder at rest, and an lldpd that takes a connection and never answers.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "../../daemon/world/neighbours.h"
#include "netns.h"
#include "tap.h"

#define SOON (10 * USEC_PER_SEC)

static struct world {
	char folder[64], socket[80];
	sd_event *event;
	struct neighbours *neighbours;
	unsigned told;
} world;

static void on_change(void *userdata)
{
	world.told++;
}

static void setup(void)
{
	memset(&world, 0, sizeof(world));
	strcpy(world.folder, "/tmp/neighbours-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(world.folder));
	snprintf(world.socket, sizeof(world.socket), "%s/socket", world.folder);
	ck_assert_int_ge(sd_event_new(&world.event), 0);
}

static void teardown(void)
{
	neighbours_free(world.neighbours);
	sd_event_unref(world.event);
	run("rm -rf %s", world.folder);
}

static void start(void)
{
	struct neighbours_places places = {.folder = world.folder, .socket = world.socket};

	ck_assert_int_eq(neighbours_new(&world.neighbours, world.event, &places, on_change, &world),
			 0);
}

/* As networkd writes it: beside, then moved into place. */
static void record_write(const char *name, const char *system, uint8_t ttl)
{
	uint8_t frame[] = {0x01, 0x80, 0xc2, 0, 0,   0x0e, 2, 0, 0,   0,  0,
			   1,	 0x88, 0xcc, 2, 7,   4,	   2, 0, 0,   0,  0,
			   1,	 4,    2,    7, '7', 6,	   2, 0, ttl, 10, (uint8_t)strlen(system)};
	uint8_t length[8] = {(uint8_t)(sizeof(frame) + strlen(system))};
	char beside[128], path[128];
	FILE *file;

	snprintf(beside, sizeof(beside), "%s/.#%s", world.folder, name);
	snprintf(path, sizeof(path), "%s/%s", world.folder, name);
	file = fopen(beside, "w");
	ck_assert_ptr_nonnull(file);
	fwrite(length, 1, sizeof(length), file);
	fwrite(frame, 1, sizeof(frame), file);
	fputs(system, file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(rename(beside, path), 0);
}

static const char *system_of(int link)
{
	const struct neighbour *neighbour = neighbours_of(world.neighbours, link);

	return neighbour ? neighbour->system : "";
}

struct wanted {
	int link;
	const char *system;
};

static bool is_so(void *userdata)
{
	const struct wanted *wanted = userdata;

	return strcmp(system_of(wanted->link), wanted->system) == 0;
}

static void becomes(int link, const char *system)
{
	struct wanted wanted = {link, system};

	ck_assert_msg(holds_within(world.event, SOON, is_so, &wanted), "link %d: %s, not %s", link,
		      system_of(link), system);
}

START_TEST(records_come_and_go)
{
	char path[128];

	record_write("7", "sw1", 120);
	start();
	/* what was there is no change */
	ck_assert_str_eq(system_of(7), "sw1");
	ck_assert_str_eq(system_of(8), "");
	ck_assert_uint_eq(world.told, 0);

	record_write("8", "sw2", 120);
	becomes(8, "sw2");
	ck_assert_uint_eq(world.told, 1);
	ck_assert_str_eq(neighbours_of(world.neighbours, 8)->port, "7");
	record_write("7", "sw3", 120);
	becomes(7, "sw3");
	ck_assert_uint_eq(world.told, 2);

	/* the same once more, and strangers' files: no news */
	record_write("7", "sw3", 120);
	record_write("no-number", "sw9", 120);
	snprintf(path, sizeof(path), "%s/8", world.folder);
	ck_assert_int_eq(unlink(path), 0);
	becomes(8, "");
	ck_assert_uint_eq(world.told, 3);
}
END_TEST

/* networkd says by itself when a neighbour is gone; if it ended without a word, nothing touches the
 * folder any more. */
START_TEST(a_folder_at_rest)
{
	struct timespec long_ago[2] = {{.tv_sec = time(NULL) - 300}, {.tv_sec = time(NULL) - 300}};

	record_write("7", "sw1", 255);
	record_write("8", "sw2", 20);
	ck_assert_int_eq(utimensat(AT_FDCWD, world.folder, long_ago, 0), 0);
	start();
	ck_assert_str_eq(system_of(7), "");
	ck_assert_str_eq(system_of(8), "");
	/* it lives: both count again */
	record_write("7", "sw1", 255);
	becomes(7, "sw1");
	ck_assert_str_eq(system_of(8), "sw2");
}
END_TEST

START_TEST(clock_that_was_wrong)
{
	struct timespec to_come[2] = {{.tv_sec = time(NULL) + 9999}, {.tv_sec = time(NULL) + 9999}};

	record_write("7", "sw1", 20);
	ck_assert_int_eq(utimensat(AT_FDCWD, world.folder, to_come, 0), 0);
	start();
	ck_assert_str_eq(system_of(7), "sw1");
}
END_TEST

START_TEST(nobody_listens_to_lldp)
{
	run("rmdir %s", world.folder);
	start();
	ck_assert_str_eq(system_of(1), "");
	ck_assert_int_ne(neighbours_lldpd_error(world.neighbours), 0);
	ck_assert_int_ne(neighbours_lldpd_error(world.neighbours), -EACCES);
}
END_TEST

START_TEST(goodbye_is_no_neighbour)
{
	record_write("7", "sw1", 0);
	start();
	ck_assert_str_eq(system_of(7), "");
}
END_TEST

static int listener;

static bool was_called(void *userdata)
{
	int *ret = userdata;

	*ret = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	if (*ret < 0)
		usleep(1000);
	return *ret >= 0;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	return sd_event_source_set_time(source, now_usec() + 1000);
}

static bool has_ended(void *userdata)
{
	char byte[256];
	int *fd = userdata;

	return recv(*fd, byte, sizeof(byte), MSG_DONTWAIT) == 0;
}

/* It may be stopped, or hang: the loop goes on, and the connection is given up. */
START_TEST(an_lldpd_that_hangs)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	sd_event_source *ticks = NULL;
	uint64_t began;
	int fd;

	strcpy(address.sun_path, world.socket);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_ge(
		sd_event_add_time(world.event, &ticks, CLOCK_MONOTONIC, 0, 1, on_time, NULL), 0);
	sd_event_source_set_enabled(ticks, SD_EVENT_ON);
	record_write("7", "sw1", 120);
	began = now_usec();
	start();
	ck_assert_uint_lt(now_usec() - began, USEC_PER_SEC);
	if (neighbours_lldpd_error(world.neighbours) != 0) {
		/* built without it, or liblldpctl is not here: nothing must have been asked */
		ck_assert_int_ne(neighbours_lldpd_error(world.neighbours), -EACCES);
	} else {
		ck_assert(holds_within(world.event, SOON, was_called, &fd));
		ck_assert(holds_within(world.event, 3 * SOON, has_ended, &fd));
		close(fd);
	}
	ck_assert_str_eq(system_of(7), "sw1");
	sd_event_source_unref(ticks);
	close(listener);
}
END_TEST

START_TEST(a_closed_socket)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (geteuid() != 0)
		return;
	strcpy(address.sun_path, world.socket);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(chmod(world.socket, 0700), 0);
	ck_assert_int_eq(chmod(world.folder, 0755), 0);
	ck_assert_int_eq(seteuid(65534), 0);
	start();
	ck_assert(neighbours_lldpd_error(world.neighbours) == -EACCES ||
		  neighbours_lldpd_error(world.neighbours) == -EOPNOTSUPP);
	ck_assert_int_eq(seteuid(0), 0);
	close(listener);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("neighbours");
	TCase *tcase = tcase_create("neighbours");

	tcase_set_timeout(tcase, 90);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, records_come_and_go);
	tcase_add_test(tcase, a_folder_at_rest);
	tcase_add_test(tcase, clock_that_was_wrong);
	tcase_add_test(tcase, nobody_listens_to_lldp);
	tcase_add_test(tcase, goodbye_is_no_neighbour);
	tcase_add_test(tcase, an_lldpd_that_hangs);
	tcase_add_test(tcase, a_closed_socket);
	suite_add_tcase(suite, tcase);
	return tap_run(suite);
}
