/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Receive counters against the real kernel: what is read is what /sys shows, and a driver's
 * statistics are found by their names.
 */
#include <net/if.h>
#include <sys/socket.h>

#include "../../daemon/world/receive.h"
#include "../../daemon/world/receive_driver.h"
#include "netns.h"

static struct link link_of(const char *name)
{
	struct link link = {
		.index = (int)if_nametoindex(name), .up = true, .carrier = true, .mtu = 1500};

	ck_assert_int_gt(link.index, 0);
	snprintf(link.name, sizeof(link.name), "%s", name);
	return link;
}

static void setup(void)
{
	netns_enter();
	ck_assert_int_eq(mount("sysfs", "/sys", "sysfs", 0, NULL), 0);
	run("ip link add va type veth peer name vb");
	run("ip address add 192.0.2.1/24 dev va && ip link set va up && ip link set vb up");
}

static uint64_t shown(const char *link, const char *counter)
{
	char path[128];
	unsigned long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", link, counter);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%llu", &value), 1);
	fclose(file);
	return value;
}

START_TEST(standard)
{
	struct link link = link_of("vb");
	struct receive_source source = {0};
	struct counters_reading before, after;
	struct receive *receive = NULL;

	ck_assert_int_eq(receive_new(&receive), 0);
	receive_open(receive, &link, &source);
	ck_assert_uint_eq(source.count, 2);
	ck_assert_uint_eq(source.total, 0);
	ck_assert_int_eq(receive_read(receive, &link, &source, &before), 0);
	/* a datagram to an address that nobody has: ARP requests arrive at the other end */
	run("bash -c 'for i in 1 2 3; do echo x >/dev/udp/192.0.2.2/9; done' 2>/dev/null || true");
	for (unsigned i = 0; i < 5000 && shown("vb", "rx_packets") <= before.packets; i++)
		usleep(1000);
	ck_assert_uint_gt(shown("vb", "rx_packets"), before.packets);
	ck_assert_int_eq(receive_read(receive, &link, &source, &after), 0);
	ck_assert_uint_gt(after.packets, before.packets);
	ck_assert_uint_le(after.packets, shown("vb", "rx_packets"));
	ck_assert_uint_eq(after.count, 2);
	ck_assert_uint_eq(after.list[0].counter, COUNTER_LENGTH_ERRORS);
	ck_assert_uint_eq(after.list[0].value, shown("vb", "rx_length_errors"));
	ck_assert_uint_eq(after.list[1].counter, COUNTER_OVER_ERRORS);
	ck_assert_uint_eq(after.list[1].value, shown("vb", "rx_over_errors"));
	ck_assert_uint_eq(after.overruns,
			  shown("vb", "rx_fifo_errors") + shown("vb", "rx_missed_errors"));
	receive_free(receive);
}
END_TEST

START_TEST(a_link_that_is_gone)
{
	struct link link = link_of("vb");
	struct receive_source source = {0};
	struct counters_reading reading;
	struct receive *receive = NULL;

	ck_assert_int_eq(receive_new(&receive), 0);
	receive_open(receive, &link, &source);
	run("ip link del vb");
	ck_assert_int_eq(receive_read(receive, &link, &source, &reading), -ENODEV);
	receive_open(receive, &link, &source);
	ck_assert_uint_eq(source.count, 2);
	receive_free(receive);
}
END_TEST

/* veth has statistics, and the first of them is known: where its peer is. */
START_TEST(drivers)
{
	static const char *const names[] = {"rx_no_such_thing", "peer_ifindex", NULL};
	static const char *const none[] = {"rx_no_such_thing", NULL};
	struct driver_statistics statistics;
	uint64_t value = 0;
	unsigned which = 0;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), position;

	ck_assert_int_eq(driver_statistics_get(fd, "va", &statistics), 0);
	ck_assert_str_eq(statistics.driver, "veth");
	ck_assert_uint_gt(statistics.count, 0);
	position = driver_statistics_find(fd, "va", statistics.count, names, &which);
	ck_assert_int_ge(position, 0);
	ck_assert_uint_eq(which, 1);
	ck_assert_int_eq(
		driver_statistics_read(fd, "va", statistics.count, (unsigned)position, &value), 0);
	ck_assert_uint_eq(value, if_nametoindex("vb"));

	ck_assert_int_eq(driver_statistics_find(fd, "va", statistics.count, none, &which), -ENOENT);
	/* another number of queues, another number of statistics */
	ck_assert_int_eq(driver_statistics_find(fd, "va", statistics.count + 1, names, &which),
			 -EAGAIN);
	ck_assert_int_eq(driver_statistics_read(fd, "va", statistics.count + 1, 0, &value),
			 -EAGAIN);
	ck_assert_int_eq(
		driver_statistics_read(fd, "va", statistics.count, statistics.count, &value),
		-EAGAIN);
	ck_assert_int_eq(driver_statistics_get(fd, "none", &statistics), -ENODEV);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("receive");
	TCase *tcase = tcase_create("receive");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, standard);
	tcase_add_test(tcase, a_link_that_is_gone);
	tcase_add_test(tcase, drivers);
	suite_add_tcase(suite, tcase);
	return netns_main(suite);
}
