/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each part of the world is opened, and each clamp put on and off, while one call of the kernel or of a
 * library after the other fails: an error leaves no descriptor, no memory and no clamp behind. In a
 * network namespace of its own.
 */
#include "shortage.h"

#include "netns.h"

#include <fcntl.h>
#include <net/if.h>
#include <sys/stat.h>

#include "../../daemon/world/clamp_record.h"
#include "../../daemon/world/clamps.h"
#include "../../daemon/world/connections.h"
#include "../../daemon/world/link_clamps.h"
#include "../../daemon/world/links.h"
#include "../../daemon/world/names.h"
#include "../../daemon/world/neighbours.h"
#include "../../daemon/world/prober.h"
#include "../../daemon/world/receive.h"
#include "../../daemon/world/responder.h"
#include "../../daemon/world/routes.h"
#include "../../daemon/world/storage.h"

static char folder[64];

static void scene_make(void)
{
	netns_enter();
	run("ip link add eth0 mtu 9000 type veth peer name p0 mtu 9000");
	run("ip link set eth0 up; ip link set p0 up");
	run("ip address add 192.0.2.1/24 dev eth0");
	run("ip address add 2001:db8::1/64 dev eth0 nodad");
	run("ip route add default via 192.0.2.254");
	run("ip nexthop add id 7 via 192.0.2.253 dev eth0");
	run("ip route add default nhid 7 metric 9");
	strcpy(folder, "/tmp/mtuwatchd-openings-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void scene_end(void)
{
	ck_assert_int_eq(rmdir(folder), 0);
}

/* --- openings --- */

static sd_event *event_make(void)
{
	sd_event *event = NULL;

	return sd_event_new(&event) < 0 ? NULL : event;
}

#define OPENING(type, call)                                                                        \
	static int type##_opens(void *about)                                                       \
	{                                                                                          \
		sd_event *event = event_make();                                                    \
		struct type *opened = NULL;                                                        \
		int r = call;                                                                      \
                                                                                                   \
		shortage_over();                                                                   \
		ck_assert_msg((r < 0) == !opened, "%s: %d", shortage.failed, r);                   \
		type##_free(opened);                                                               \
		sd_event_unref(event);                                                             \
		return r;                                                                          \
	}

static void on_answer(const struct answer *answer, uint64_t now_usec, void *userdata)
{
}

static void on_prober(uint64_t now_usec, void *userdata)
{
}

static const struct prober_handlers prober_handlers = {on_answer, on_prober, on_prober};

static void on_connection(const struct connection *connection, void *userdata)
{
}

static void on_done(int error, uint64_t cost_usec, void *userdata)
{
}

static const struct connections_handlers connections_handlers = {on_connection, on_done};

static void on_link(enum link_change change, const struct link *before, const struct link *now,
		    void *userdata)
{
}

static void on_route(const struct address *prefix, unsigned length, void *userdata)
{
}

static void on_neighbours(void *userdata)
{
}

#define NOWHERE &(struct neighbours_places){folder, "/nonexistent"}

OPENING(responder, responder_new(&opened, event, 4700, 1000000))
OPENING(prober, prober_new(&opened, event, &prober_handlers, NULL))
OPENING(connections, connections_new(&opened, event, &connections_handlers, NULL))
OPENING(links, links_new(&opened, event, on_link, NULL))
OPENING(routes, routes_new(&opened, event, on_route, NULL))
OPENING(names, names_new(&opened, event))
OPENING(neighbours, neighbours_new(&opened, event, NOWHERE, on_neighbours, NULL))
OPENING(receive, receive_new(&opened))
OPENING(clamps, clamps_new(&opened))
OPENING(link_clamps, link_clamps_new(&opened, folder))

static unsigned stored; /* how often storage was handed over */

static void on_storage(const struct storage_list *list, void *userdata)
{
	stored++;
}

static int storage_opens(void *about)
{
	sd_event *event = event_make();
	struct storage_room *room = NULL;
	int r;

	stored = 0;
	r = storage_new(&room, event, on_storage, NULL);
	if (r >= 0)
		r = storage_collect(room);
	shortage_over();
	ck_assert(r < 0 || stored == 1);
	storage_free(room);
	sd_event_unref(event);
	return r;
}

static int gateways_found(void *about)
{
	struct gateway *gateways = NULL;
	unsigned count = 0;
	int r = routes_gateways(about, &gateways, &count);

	shortage_over();
	if (r < 0)
		ck_assert_ptr_null(gateways);
	else if (!shortage.failed)
		ck_assert_uint_eq(count, 2);
	free(gateways);
	return r;
}

static int (*const openings[])(void *about) = {
	responder_opens, prober_opens, connections_opens, links_opens,	 routes_opens,	    names_opens,
	neighbours_opens, receive_opens, clamps_opens,	  storage_opens, link_clamps_opens,
};
#define OPENING_COUNT (sizeof(openings) / sizeof(openings[0]))

START_TEST(opens_or_leaves_nothing)
{
	shortage_in_turn(openings[_i], NULL);
}
END_TEST

START_TEST(gateways_or_nothing)
{
	struct routes *routes = NULL;

	ck_assert_int_eq(routes_new(&routes, NULL, NULL, NULL), 0);
	shortage_in_turn(gateways_found, routes);
	routes_free(routes);
}
END_TEST

/* A port is kept, with what hears its segments, or it is not. */
static int port_kept(void *about)
{
	int r = prober_keep_port(about, PROBE_SYN, ADDRESS_IPV4, 4711);

	if (r >= 0)
		prober_release_port(about, PROBE_SYN, ADDRESS_IPV4, 4711);
	shortage_over();
	return r;
}

START_TEST(ports_or_nothing)
{
	struct prober *prober = NULL;
	sd_event *event = event_make();

	ck_assert_int_eq(prober_new(&prober, event, &prober_handlers, NULL), 0);
	/* what hears all segments stays once it is there */
	ck_assert_int_eq(prober_keep_port(prober, PROBE_SYN, ADDRESS_IPV4, 4710), 0);
	shortage_in_turn(port_kept, prober);
	prober_free(prober);
	sd_event_unref(event);
}
END_TEST

/* --- records --- */

static struct stack stack_of(const char *name)
{
	struct stack stack = {.count = 1, .list = {{.before = 9000, .after = 1500}}};

	stack.list[0].index = (int)if_nametoindex(name);
	snprintf(stack.list[0].name, sizeof(stack.list[0].name), "%s", name);
	return stack;
}

static int on_record(const struct stack *stack, void *userdata)
{
	unsigned *count = userdata;

	*count += stack->list[0].before == 9000;
	return 0;
}

/* How many there are that say what they should. */
static unsigned records(void)
{
	unsigned count = 0;

	ck_assert_int_eq(clamp_records_read(folder, on_record, &count), 0);
	return count;
}

static void folder_empty(void)
{
	DIR *list = __real_opendir(folder);

	ck_assert_ptr_nonnull(list);
	for (struct dirent *entry; (entry = readdir(list));)
		if (entry->d_name[0] != '.')
			ck_assert_int_eq(unlinkat(dirfd(list), entry->d_name, 0), 0);
	closedir(list);
}

/* Said to be written: it is there, whole. */
static int record_written(void *about)
{
	struct stack stack = stack_of("eth0");
	int r = clamp_record_write(folder, &stack);

	shortage_over();
	ck_assert_uint_le(records(), 1);
	ck_assert(r < 0 || records() == 1);
	folder_empty();
	return r;
}

static int record_removed(void *about)
{
	struct stack stack = stack_of("eth0");
	bool armed = shortage.armed;
	int r;

	shortage.armed = false;
	ck_assert_int_eq(clamp_record_write(folder, &stack), 0);
	shortage.armed = armed;
	r = clamp_record_remove(folder, stack.list[0].index);
	shortage_over();
	ck_assert(r < 0 || records() == 0);
	folder_empty();
	return r;
}

static int records_read(void *about)
{
	unsigned count = 0;
	int r = clamp_records_read(folder, on_record, &count);

	shortage_over();
	/* one that cannot be read is told of */
	ck_assert(r < 0 || count + (unsigned)r == 1);
	return r > 0 ? -EBADMSG : r;
}

START_TEST(records_are_whole)
{
	struct stack stack = stack_of("eth0");

	shortage_in_turn(record_written, NULL);
	shortage_in_turn(record_removed, NULL);
	ck_assert_int_eq(clamp_record_write(folder, &stack), 0);
	shortage_in_turn(records_read, NULL);
	folder_empty();
}
END_TEST

/* --- clamps --- */

static const struct address far = {.family = ADDRESS_IPV4, .bytes = {198, 51, 100, 1}};

static uint32_t used(void)
{
	struct clamp_way way = {&far, NULL, 0};
	uint32_t mtu = 0;

	ck_assert_int_eq(clamps_socket_mtu(&way, &mtu), 0);
	return mtu;
}

static int route_clamped(void *about)
{
	struct clamp_way way = {&far, NULL, 0};
	struct clamps *clamps = about;
	int r = clamps_put(clamps, &way, 1500);

	shortage_over();
	if (r >= 0)
		ck_assert_uint_eq(used(), 1500);
	/* where nothing works any more the kernel keeps it, and so does the list */
	if (r < 0 && !shortage.lasts)
		ck_assert_msg(used() == 9000, "%s: %u", shortage.failed, used());
	ck_assert(r < 0 || clamps_find(clamps, &far));
	if (clamps_find(clamps, &far))
		ck_assert_int_eq(clamps_take_off(clamps, &far), 0);
	ck_assert_uint_eq(used(), 9000);
	return r;
}

START_TEST(routes_are_as_before)
{
	struct clamps *clamps = NULL;

	ck_assert_int_eq(clamps_new(&clamps), 0);
	ck_assert_uint_eq(used(), 9000);
	shortage_in_turn(route_clamped, clamps);
	ck_assert_uint_eq(used(), 9000);
	clamps_free(clamps);
}
END_TEST

static int link_clamped(void *about)
{
	struct link_clamps *clamps = about;
	struct stack stack = stack_of("eth0");
	int index = stack.list[0].index, r = link_clamps_put(clamps, &stack);
	uint32_t mtu = 0;

	shortage_over();
	ck_assert_int_eq(link_clamps_mtu(clamps, index, &mtu), 0);
	ck_assert_msg(r < 0 || mtu == 1500, "%s: %u", shortage.failed, mtu);
	if (r < 0 && !shortage.lasts)
		ck_assert_msg(mtu == 9000, "%s: %u", shortage.failed, mtu);
	/* whatever is changed is on a record */
	ck_assert(mtu == 9000 || records() == 1);
	if (link_clamps_find(clamps, index))
		ck_assert_int_eq(link_clamps_lift(clamps, index), 0);
	ck_assert_int_eq(link_clamps_mtu(clamps, index, &mtu), 0);
	ck_assert_uint_eq(mtu, 9000);
	folder_empty();
	return r;
}

static int link_lifted(void *about)
{
	struct link_clamps *clamps = about;
	struct stack stack = stack_of("eth0");
	int index = stack.list[0].index, r;
	bool armed = shortage.armed;
	uint32_t mtu = 0;

	shortage.armed = false;
	if (!link_clamps_find(clamps, index))
		ck_assert_int_eq(link_clamps_put(clamps, &stack), 0);
	shortage.armed = armed;
	r = link_clamps_lift(clamps, index);
	shortage_over();
	ck_assert_int_eq(link_clamps_mtu(clamps, index, &mtu), 0);
	ck_assert_msg(r < 0 || (mtu == 9000 && records() == 0), "%s: %u", shortage.failed, mtu);
	/* on an error it stays in the list, and on its record as long as it is small */
	ck_assert(r >= 0 || link_clamps_find(clamps, index));
	ck_assert(mtu == 9000 || records() == 1);
	return r;
}

START_TEST(links_are_as_before)
{
	struct link_clamps *clamps = NULL;

	ck_assert_int_eq(link_clamps_new(&clamps, folder), 0);
	shortage_in_turn(link_clamped, clamps);
	shortage_in_turn(link_lifted, clamps);
	link_clamps_free(clamps);
	folder_empty();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("openings");
	TCase *tests = tcase_create("openings");

	tcase_add_checked_fixture(tests, scene_make, scene_end);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, opens_or_leaves_nothing, 0, OPENING_COUNT);
	tcase_add_test(tests, gateways_or_nothing);
	tcase_add_test(tests, ports_or_nothing);
	tcase_add_test(tests, records_are_whole);
	tcase_add_test(tests, routes_are_as_before);
	tcase_add_test(tests, links_are_as_before);
	suite_add_tcase(suite, tests);
	return netns_main(suite);
}
