/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Links of a real kernel, in a network namespace of our own.
 */
#include "netns.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "../../daemon/world/links.h"

#define SHORTLY (5 * USEC_PER_SEC)
#define CHANGES_LARGEST 4096

struct change {
	enum link_change kind;
	struct link before, now;
};

struct scene {
	sd_event *event;
	struct links *links;
	struct change changes[CHANGES_LARGEST];
	unsigned count;
	bool broken; /* two links of one name, or a change of nothing */
};

static struct scene scene;

static void on_link(enum link_change kind, const struct link *before, const struct link *now,
		    void *userdata)
{
	struct change change = {.kind = kind};

	ck_assert_ptr_eq(userdata, &scene);
	ck_assert((before == NULL) == (kind == LINK_APPEARED));
	ck_assert((now == NULL) == (kind == LINK_GONE));
	if (before != NULL)
		change.before = *before;
	if (now != NULL)
		change.now = *now;
	if (kind == LINK_APPEARED && links_by_name(scene.links, now->name) != now)
		scene.broken = true;
	if (scene.count < CHANGES_LARGEST)
		scene.changes[scene.count] = change;
	scene.count++;
}

static void setup(void)
{
	netns_enter();
	ck_assert_int_ge(sd_event_new(&scene.event), 0);
}

static void watch(void)
{
	ck_assert_int_eq(links_new(&scene.links, scene.event, on_link, &scene), 0);
	ck_assert_uint_eq(scene.count, 0);
}

static void teardown(void)
{
	ck_assert(!scene.broken);
	scene.links = links_free(scene.links);
	scene.event = sd_event_unref(scene.event);
}

struct wanted {
	const char *name;
	uint32_t mtu;
	uint32_t ipv6_mtu; /* UINT32_MAX: any */
};

static bool is_wanted(void *userdata)
{
	const struct wanted *wanted = userdata;
	const struct link *link = links_by_name(scene.links, wanted->name);

	if (wanted->mtu == 0)
		return link == NULL;
	return link != NULL && link->mtu == wanted->mtu &&
	       (wanted->ipv6_mtu == UINT32_MAX || link->ipv6_mtu == wanted->ipv6_mtu);
}

static void expect(const char *name, uint32_t mtu)
{
	struct wanted wanted = {name, mtu, UINT32_MAX};

	ck_assert_msg(holds_within(scene.event, SHORTLY, is_wanted, &wanted), "%s has not %u", name,
		      mtu);
}

static void expect_ipv6(const char *name, uint32_t mtu, uint32_t ipv6_mtu)
{
	struct wanted wanted = {name, mtu, ipv6_mtu};
	const struct link *link;

	if (holds_within(scene.event, SHORTLY, is_wanted, &wanted))
		return;
	link = links_by_name(scene.links, name);
	ck_abort_msg("%s: %u/%u instead of %u/%u", name, link ? link->mtu : 0,
		     link ? link->ipv6_mtu : 0, mtu, ipv6_mtu);
}

static unsigned count_of(enum link_change kind, const char *name)
{
	unsigned count = 0;

	ck_assert_uint_le(scene.count, CHANGES_LARGEST);
	for (unsigned i = 0; i < scene.count; i++) {
		const struct change *change = &scene.changes[i];
		const struct link *link = kind == LINK_GONE ? &change->before : &change->now;

		count += change->kind == kind && strcmp(link->name, name) == 0;
	}
	return count;
}

START_TEST(first_dump)
{
	const struct link *link;

	run("ip link add v0 mtu 7950 type veth peer name v1");
	run("ip link add br0 type bridge && ip link set v0 master br0 && ip link set br0 up");
	run("ip link add mv0 link v1 type macvlan");
	watch();
	ck_assert_uint_eq(links_count(scene.links), 5);
	for (unsigned i = 1; i < links_count(scene.links); i++)
		ck_assert_int_lt(links_at(scene.links, i - 1)->index,
				 links_at(scene.links, i)->index);
	ck_assert_ptr_null(links_at(scene.links, 5));
	ck_assert(links_by_name(scene.links, "lo")->loopback);
	link = links_by_name(scene.links, "v0");
	ck_assert_str_eq(link->kind, "veth");
	ck_assert_uint_eq(link->mtu, 7950);
	ck_assert_uint_eq(link->min_mtu, 68);
	ck_assert_uint_eq(link->max_mtu, 65535);
	ck_assert_int_eq(link->parent, 0);
	ck_assert_int_eq(link->master, links_by_name(scene.links, "br0")->index);
	ck_assert(!link->up && !link->carrier);
	/* the other end keeps the default */
	ck_assert_uint_eq(links_by_name(scene.links, "v1")->mtu, 1500);
	ck_assert_int_eq(links_by_name(scene.links, "mv0")->parent,
			 links_by_name(scene.links, "v1")->index);
	ck_assert_ptr_eq(links_by_index(scene.links, link->index), link);
	ck_assert_ptr_null(links_by_index(scene.links, 4711));
	/* a zone: a name, or an index, but not a name that begins like one */
	ck_assert_ptr_eq(links_by_zone(scene.links, "v0"), link);
	ck_assert_str_eq(links_by_zone(scene.links, "1")->name, "lo");
	ck_assert_ptr_null(links_by_zone(scene.links, "1g-modem"));
	ck_assert_ptr_null(links_by_zone(scene.links, "gone"));
	ck_assert_ptr_null(links_by_zone(scene.links, ""));
	ck_assert_ptr_null(links_by_zone(scene.links, "4294967297"));
}
END_TEST

START_TEST(without_loop)
{
	ck_assert_int_eq(links_new(&scene.links, NULL, NULL, NULL), 0);
	ck_assert_ptr_nonnull(links_by_name(scene.links, "lo"));
}
END_TEST

START_TEST(appears_and_changes)
{
	watch();
	run("ip link add v0 type veth peer name v1");
	expect("v1", 1500);
	ck_assert_uint_eq(count_of(LINK_APPEARED, "v0"), 1);
	run("ip link set v0 mtu 9000");
	expect("v0", 9000);
	scene.count = 0;
	run("ip link set v0 mtu 9000"); /* no change, no event */
	run("ip link set v0 name w0");
	expect("w0", 9000);
	ck_assert_ptr_null(links_by_name(scene.links, "v0"));
	ck_assert_uint_eq(scene.count, 1);
	ck_assert_int_eq(scene.changes[0].kind, LINK_CHANGED);
	ck_assert_str_eq(scene.changes[0].before.name, "v0");
	ck_assert_int_eq(scene.changes[0].before.index, scene.changes[0].now.index);
	run("ip link del w0");
	expect("w0", 0);
	ck_assert_uint_eq(count_of(LINK_GONE, "w0"), 1);
}
END_TEST

static bool has_carrier(void *userdata)
{
	const struct link *link = links_by_name(scene.links, "v0");

	return link->carrier == *(bool *)userdata;
}

START_TEST(carrier)
{
	bool wanted = true;

	run("ip link add v0 type veth peer name v1 && ip link set v0 up");
	watch();
	ck_assert(links_by_name(scene.links, "v0")->up);
	ck_assert(!links_by_name(scene.links, "v0")->carrier);
	run("ip link set v1 up");
	ck_assert(holds_within(scene.event, SHORTLY, has_carrier, &wanted));
	wanted = false;
	run("ip link set v1 down");
	ck_assert(holds_within(scene.event, SHORTLY, has_carrier, &wanted));
}
END_TEST

START_TEST(replaced)
{
	int index;

	run("ip link add v0 mtu 9000 type veth peer name v1");
	watch();
	index = links_by_name(scene.links, "v0")->index;
	run("ip link del v0 && ip link add v0 type veth peer name v1");
	expect("v0", 1500);
	ck_assert_int_ne(links_by_name(scene.links, "v0")->index, index);
	ck_assert_uint_eq(count_of(LINK_GONE, "v0"), 1);
	ck_assert_uint_eq(count_of(LINK_APPEARED, "v0"), 1);
}
END_TEST

static bool has_no_master(void *userdata)
{
	return links_by_name(scene.links, "v0")->master == 0;
}

START_TEST(leaves_bridge)
{
	run("ip link add v0 type veth peer name v1 && ip link add br0 type bridge");
	run("ip link set v0 up master br0");
	watch();
	ck_assert_int_ne(links_by_name(scene.links, "v0")->master, 0);
	run("ip link set v0 nomaster && ip link set v1 mtu 1400");
	expect("v1", 1400);
	ck_assert(holds_within(scene.event, SHORTLY, has_no_master, NULL));
	ck_assert_uint_eq(count_of(LINK_GONE, "v0"), 0);
}
END_TEST

START_TEST(moves_away)
{
	pid_t other = netns_other();

	run("ip link add v0 type veth peer name v1");
	watch();
	run("ip link set v0 netns %d", other);
	expect("v0", 0);
	ck_assert_uint_eq(count_of(LINK_GONE, "v0"), 1);
	run("nsenter -t %d -n ip link set v0 netns %d mtu 1300", other, getpid());
	expect("v0", 1300);
	ck_assert_uint_eq(count_of(LINK_APPEARED, "v0"), 1);
	netns_end(other);
}
END_TEST

START_TEST(ipv6_mtu)
{
	bool wanted = true;
	int index;

	run("ip link add v0 mtu 9000 type veth peer name v1");
	run("ip link set v0 up && ip link set v1 up");
	watch();
	/* IPv6 takes the device's MTU again when the carrier comes, which is a moment later */
	ck_assert(holds_within(scene.event, SHORTLY, has_carrier, &wanted));
	expect_ipv6("v0", 9000, 9000);
	index = links_by_name(scene.links, "v0")->index;
	run("echo 1400 >/proc/sys/net/ipv6/conf/v0/mtu");
	links_refresh_ipv6_mtu(scene.links, index);
	ck_assert_uint_eq(links_by_name(scene.links, "v0")->ipv6_mtu, 1400);
	ck_assert_uint_eq(scene.changes[scene.count - 1].before.ipv6_mtu, 9000);
	scene.count = 0;
	links_refresh_ipv6_mtu(scene.links, index);
	links_refresh_ipv6_mtu(scene.links, 4711);
	ck_assert_uint_eq(scene.count, 0);
	/* any change of the device's MTU takes the lower value away */
	run("ip link set v0 mtu 8000");
	expect_ipv6("v0", 8000, 8000);
	/* IPv6 leaves a link that is too small for it, and the link is still there */
	run("ip link set v0 mtu 1279");
	expect_ipv6("v0", 1279, 0);
	run("ip link set v0 mtu 9000");
	expect_ipv6("v0", 9000, 9000);
	run("echo 1 >/proc/sys/net/ipv6/conf/v0/disable_ipv6");
	links_refresh_ipv6_mtu(scene.links, index);
	expect_ipv6("v0", 9000, 0);
	ck_assert_uint_eq(count_of(LINK_GONE, "v0"), 0);
}
END_TEST

/* RFC 4861 sections 4.2 and 4.6.4: a router advertisement with an MTU option, again and again. */
static pid_t advertise(pid_t other, uint32_t mtu)
{
	uint8_t packet[16 + 8] = {134, [16] = 5, 1, 0, 0, 0, 0, (uint8_t)(mtu >> 8), (uint8_t)mtu};
	struct sockaddr_in6 all = {.sin6_family = AF_INET6};
	char path[64];
	int hops = 255, fd;
	pid_t child = fork();

	if (child != 0)
		return child;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", other);
	if (setns(open(path, O_RDONLY | O_CLOEXEC), CLONE_NEWNET) < 0)
		_exit(1);
	fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6);
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops));
	inet_pton(AF_INET6, "ff02::1", &all.sin6_addr);
	all.sin6_scope_id = if_nametoindex("v1");
	for (unsigned i = 0; i < 100; i++) {
		(void)!sendto(fd, packet, sizeof(packet), 0, (void *)&all, sizeof(all));
		poll(NULL, 0, 50);
	}
	_exit(0);
}

START_TEST(ipv6_mtu_advertised)
{
	pid_t other = netns_other(), router;

	run("ip link add v0 type veth peer name v1 && ip link set v1 netns %d", other);
	run("echo 1 >/proc/sys/net/ipv6/conf/v0/accept_ra");
	run("nsenter -t %d -n sh -c 'echo 0 >/proc/sys/net/ipv6/conf/v1/accept_dad && "
	    "ip link set v1 up'",
	    other);
	run("echo 0 >/proc/sys/net/ipv6/conf/v0/accept_dad && ip link set v0 up");
	watch();
	router = advertise(other, 1400);
	expect_ipv6("v0", 1500, 1400);
	netns_end(router);
	netns_end(other);
}
END_TEST

/* The old way to set an MTU, which tells its events in another order than netlink's. */
START_TEST(mtu_by_ioctl)
{
	struct ifreq request = {.ifr_name = "v0", .ifr_mtu = 1600};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	run("ip link add v0 mtu 9000 type veth peer name v1");
	run("ip link set v0 up && ip link set v1 up");
	watch();
	ck_assert_int_eq(ioctl(fd, SIOCSIFMTU, &request), 0);
	close(fd);
	expect_ipv6("v0", 1600, 1600);
}
END_TEST

/* A message that another process sends to our socket is not the kernel's. */
START_TEST(forged_sender)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} forged = {
		.header.nlmsg_len = sizeof(forged),
		.header.nlmsg_type = RTM_DELLINK,
		.info.ifi_index = 1,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	unsigned sent = 0;

	watch();
	/* both sockets of ours, whatever their ports are: libnl makes them of the process id */
	for (uint32_t slot = 0; slot < 1024; slot++) {
		struct sockaddr_nl to = {
			.nl_family = AF_NETLINK,
			.nl_pid = (uint32_t)getpid() + (slot << 22),
		};

		sent += sendto(fd, &forged, sizeof(forged), 0, (void *)&to, sizeof(to)) > 0;
	}
	close(fd);
	ck_assert_uint_ge(sent, 1);
	run("ip link add v0 type veth peer name v1");
	expect("v1", 1500);
	ck_assert_ptr_nonnull(links_by_name(scene.links, "lo"));
	ck_assert_uint_eq(count_of(LINK_GONE, "lo"), 0);
}
END_TEST

START_TEST(overrun)
{
	char path[] = "/tmp/mtuwatchd-batch-XXXXXX";
	FILE *batch = fdopen(mkstemp(path), "w");

	ck_assert_ptr_nonnull(batch);
	for (unsigned i = 0; i < 9000; i++)
		fprintf(batch, "link set v0 mtu %u\n", 1500 + i % 1000);
	fprintf(batch, "link del gone0\nlink add same0 mtu 1700 type veth peer name same1\n");
	fprintf(batch, "link set ren0 name ren1\nlink set v0 mtu 1777\n");
	fclose(batch);
	run("ip link add v0 type veth peer name v1 && ip link add gone0 type bridge");
	run("ip link add same0 type bridge && ip link add ren0 type bridge");
	watch();
	run("ip link del same0 && ip -batch %s", path);
	unlink(path);
	expect("v0", 1777);
	expect("gone0", 0);
	expect("same0", 1700);
	ck_assert_ptr_null(links_by_name(scene.links, "ren0"));
	ck_assert_ptr_nonnull(links_by_name(scene.links, "ren1"));
	/* the difference, and not a tale of old times */
	while (sd_event_run(scene.event, 0) > 0)
		;
	ck_assert_uint_le(count_of(LINK_CHANGED, "v0"), 1);
	ck_assert_uint_eq(count_of(LINK_GONE, "same0"), 1);
	ck_assert_uint_eq(count_of(LINK_APPEARED, "same0"), 1);
	ck_assert_uint_eq(count_of(LINK_APPEARED, "ren1"), 0);
	for (unsigned i = 0; i < scene.count; i++)
		if (scene.changes[i].kind == LINK_GONE)
			ck_assert_uint_lt(i, 2);
}
END_TEST

/* A thousand links made and changed while the loop keeps up or not: the end is what counts. */
START_TEST(storm)
{
	char path[] = "/tmp/mtuwatchd-batch-XXXXXX";
	FILE *batch = fdopen(mkstemp(path), "w");
	uint64_t begun;

	ck_assert_ptr_nonnull(batch);
	for (unsigned i = 0; i < 500; i++)
		fprintf(batch, "link add a%u type veth peer name b%u\n", i, i);
	for (unsigned i = 0; i < 20000; i++)
		fprintf(batch, "link set a%u mtu %u\n", i % 500, 1500 + i / 500);
	fprintf(batch, "link set lo mtu 60000\n");
	fclose(batch);
	watch();
	begun = now_usec();
	run("ip -batch %s &", path);
	for (unsigned mtu = 0; mtu != 60000; mtu = links_by_name(scene.links, "lo")->mtu) {
		ck_assert_uint_lt(now_usec() - begun, 60 * USEC_PER_SEC);
		ck_assert_int_ge(sd_event_run(scene.event, SHORTLY), 0);
	}
	unlink(path);
	ck_assert_uint_eq(links_count(scene.links), 1001);
	for (unsigned i = 0; i < 500; i++) {
		char name[LINK_NAME_SIZE];

		snprintf(name, sizeof(name), "a%u", i);
		ck_assert_uint_eq(links_by_name(scene.links, name)->mtu, 1539);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("netlink");
	TCase *tests = tcase_create("links");

	tcase_set_timeout(tests, 100);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, first_dump);
	tcase_add_test(tests, without_loop);
	tcase_add_test(tests, appears_and_changes);
	tcase_add_test(tests, carrier);
	tcase_add_test(tests, replaced);
	tcase_add_test(tests, leaves_bridge);
	tcase_add_test(tests, moves_away);
	tcase_add_test(tests, ipv6_mtu);
	tcase_add_test(tests, ipv6_mtu_advertised);
	tcase_add_test(tests, mtu_by_ioctl);
	tcase_add_test(tests, forged_sender);
	tcase_add_test(tests, overrun);
	tcase_add_test(tests, storm);
	suite_add_tcase(suite, tests);
	return netns_main(suite);
}
