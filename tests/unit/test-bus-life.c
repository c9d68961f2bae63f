/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the bus tells by itself, its objects, and that it may come and go. */
#include "../../daemon/face/bus_private.h"
#include "bus_world.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/mman.h>

static struct world world;
static unsigned attaches_failing;

/* sd-bus's own one, which may be short of memory or of epoll's watches. */
int sd_bus_attach_event(sd_bus *bus, sd_event *event, int priority)
{
	int (*attach)(sd_bus *, sd_event *, int) =
		(int (*)(sd_bus *, sd_event *, int))dlsym(RTLD_NEXT, "sd_bus_attach_event");

	if (attaches_failing == 0)
		return attach(bus, event, priority);
	attaches_failing--;
	return -ENOMEM;
}

static void open_world(void)
{
	world_open(&world);
}

static void close_world(void)
{
	world_close(&world);
}

/* What a listener hears of one signal. */
struct ear {
	unsigned heard;
	sd_bus_message *last;
};

static int ear_on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct ear *ear = userdata;

	ear->heard++;
	sd_bus_message_unref(ear->last);
	ear->last = sd_bus_message_ref(message);
	return 0;
}

static int ear_on_installed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct ear *ear = userdata;

	ear->heard = 0;
	return 0;
}

static void ear_open(struct ear *ear, const char *interface, const char *member)
{
	*ear = (struct ear){.heard = UINT32_MAX};
	ck_assert_int_ge(sd_bus_match_signal_async(world.client, NULL, "org.mtuwatch1", NULL,
						   interface, member, ear_on_signal,
						   ear_on_installed, ear),
			 0);
	WORLD_UNTIL(&world, ear->heard == 0);
}

START_TEST(peer_change_is_signalled)
{
	struct ear ear;
	const char *interface;
	unsigned entries;

	ear_open(&ear, "org.freedesktop.DBus.Properties", "PropertiesChanged");
	bus_peer_changed(world.bus, &world.sample.peer[2]);
	WORLD_UNTIL(&world, ear.heard == 1);
	ck_assert_str_eq(sd_bus_message_get_path(ear.last), "/org/mtuwatch1/peer/san_2da");
	ck_assert_int_gt(sd_bus_message_read(ear.last, "s", &interface), 0);
	ck_assert_str_eq(interface, "org.mtuwatch1.Peer");
	ck_assert_uint_eq(dictionary_u32(ear.last, "PathMTU", &entries), 1500);
	ck_assert_uint_eq(entries, peer_field_count(true, false));
	/* nothing is only invalidated */
	ck_assert_int_eq(sd_bus_message_enter_container(ear.last, 'a', "s"), 1);
	ck_assert_int_eq(sd_bus_message_at_end(ear.last, false), 1);
	bus_link_changed(world.bus, &world.sample.link[1]);
	WORLD_UNTIL(&world, ear.heard == 2);
	ck_assert_str_eq(sd_bus_message_get_path(ear.last), "/org/mtuwatch1/link/_312");
	sd_bus_message_unref(ear.last);
}
END_TEST

START_TEST(verdict_is_signalled)
{
	struct ear ear;
	struct judgement before = {.verdict = VERDICT_CONSISTENT};
	const char *peer, *object, *was, *is;
	unsigned entries;

	ear_open(&ear, MANAGER, "VerdictChanged");
	bus_verdict_changed(world.bus, &world.sample.peer[2], &world.sample.paths[3], &before);
	WORLD_UNTIL(&world, ear.heard == 1);
	ck_assert_int_gt(sd_bus_message_read(ear.last, "soss", &peer, &object, &was, &is), 0);
	ck_assert_str_eq(peer, "san-a");
	ck_assert_str_eq(object, "/org/mtuwatch1/peer/san_2da");
	ck_assert_str_eq(was, "consistent");
	ck_assert_str_eq(is, "black-hole");
	ck_assert_uint_eq(dictionary_u32(ear.last, "PathMTU", &entries), 1500);
	ck_assert_uint_eq(entries, peer_field_count(false, true));
	sd_bus_message_unref(ear.last);
}
END_TEST

/* However often it changed before it was told: once, and as it is then. */
START_TEST(changes_come_together)
{
	struct ear ear;
	const char *interface;
	unsigned entries;

	ear_open(&ear, "org.freedesktop.DBus.Properties", "PropertiesChanged");
	for (unsigned i = 1; i <= 50; i++) {
		world.sample.paths[3].announced.path_mtu = 1000 + i;
		bus_peer_changed(world.bus, &world.sample.peer[2]);
	}
	WORLD_UNTIL(&world, ear.heard == 1);
	world_settle(&world);
	ck_assert_uint_eq(ear.heard, 1);
	ck_assert_int_gt(sd_bus_message_read(ear.last, "s", &interface), 0);
	ck_assert_uint_eq(dictionary_u32(ear.last, "PathMTU", &entries), 1050);
	/* and once more when it changes once more */
	bus_peer_changed(world.bus, &world.sample.peer[2]);
	WORLD_UNTIL(&world, ear.heard == 2);
	sd_bus_message_unref(ear.last);
}
END_TEST

static int on_verdict(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *peer, *object, *was, *is;
	char *story = userdata;
	unsigned entries;

	ck_assert_int_gt(sd_bus_message_read(message, "soss", &peer, &object, &was, &is), 0);
	sprintf(story + strlen(story), "%s>%s %u, ", was, is,
		dictionary_u32(message, "PathMTU", &entries));
	return 0;
}

/* Each change of a verdict is told, in its order, with what it was announced with. */
START_TEST(no_verdict_is_left_out)
{
	struct path *path = &world.sample.paths[3];
	char story[512] = "";

	ck_assert_int_ge(sd_bus_match_signal(world.client, NULL, NULL, "/org/mtuwatch1", MANAGER,
					     "VerdictChanged", on_verdict, story), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct judgement before = path->announced;

		path->announced.verdict = i == 1 ? VERDICT_CONSISTENT : VERDICT_BLACK_HOLE;
		path->announced.path_mtu = 1400 + i;
		before.verdict = i == 1 ? VERDICT_BLACK_HOLE : VERDICT_CONSISTENT;
		bus_verdict_changed(world.bus, &world.sample.peer[2], path, &before);
		bus_peer_changed(world.bus, &world.sample.peer[2]);
	}
	WORLD_UNTIL(&world, strstr(story, "1402"));
	ck_assert_str_eq(story, "consistent>black-hole 1400, black-hole>consistent 1401, "
				"consistent>black-hole 1402, ");
	ck_assert_uint_eq(path->announced.path_mtu, 1402);
}
END_TEST

/* Who was never told of a peer is not told that it went; its memory may go at once. */
START_TEST(gone_before_it_was_told)
{
	struct ear added, removed;
	struct peer *guest = malloc(sizeof(*guest));

	ear_open(&added, "org.freedesktop.DBus.ObjectManager", "InterfacesAdded");
	ear_open(&removed, "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved");
	ck_assert_ptr_nonnull(guest);
	*guest = world.sample.peer[2];
	snprintf(guest->name, sizeof(guest->name), "guest");
	bus_peer_added(world.bus, guest);
	bus_peer_changed(world.bus, guest);
	bus_peer_removed(world.bus, guest);
	free(guest);
	bus_peer_added(world.bus, &world.sample.peer[2]);
	WORLD_UNTIL(&world, added.heard == 1);
	world_settle(&world);
	ck_assert_uint_eq(added.heard, 1);
	ck_assert_uint_eq(removed.heard, 0);
	sd_bus_message_unref(added.last);
}
END_TEST

START_TEST(totals_only_when_they_differ)
{
	struct ear ear;
	const char *interface;
	unsigned entries;

	ear_open(&ear, "org.freedesktop.DBus.Properties", "PropertiesChanged");
	bus_totals_changed(world.bus);
	world_settle(&world);
	ck_assert_uint_eq(ear.heard, 0);
	world.sample.paths[3].announced = world.sample.paths[2].announced;
	for (unsigned i = 0; i < 100; i++)
		bus_totals_changed(world.bus);
	WORLD_UNTIL(&world, ear.heard == 1);
	world_settle(&world);
	ck_assert_uint_eq(ear.heard, 1);
	ck_assert_int_gt(sd_bus_message_read(ear.last, "s", &interface), 0);
	ck_assert_str_eq(interface, MANAGER);
	ck_assert_uint_eq(dictionary_u32(ear.last, "PeersFaulty", &entries), 0);
	ck_assert_uint_eq(entries, 3); /* with Verdict and Severity */
	sd_bus_message_unref(ear.last);
}
END_TEST

START_TEST(objects_come_and_go)
{
	struct ear added, removed;
	const char *path, *name, *interface = "";
	bool found = false;

	ear_open(&added, "org.freedesktop.DBus.ObjectManager", "InterfacesAdded");
	ear_open(&removed, "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved");
	bus_peer_added(world.bus, &world.sample.peer[2]);
	WORLD_UNTIL(&world, added.heard == 1);
	ck_assert_int_gt(sd_bus_message_read(added.last, "o", &path), 0);
	ck_assert_str_eq(path, "/org/mtuwatch1/peer/san_2da");
	world.sample.roster.peer_count = 2;
	bus_peer_removed(world.bus, &world.sample.peer[2]);
	WORLD_UNTIL(&world, removed.heard == 1);
	ck_assert_int_gt(sd_bus_message_read(removed.last, "o", &path), 0);
	ck_assert_str_eq(path, "/org/mtuwatch1/peer/san_2da");
	ck_assert_int_gt(sd_bus_message_enter_container(removed.last, 'a', "s"), 0);
	while (sd_bus_message_read(removed.last, "s", &name) > 0) {
		interface = name;
		found = found || strcmp(interface, "org.mtuwatch1.Peer") == 0;
	}
	ck_assert(found);
	bus_link_added(world.bus, &world.sample.link[1]);
	WORLD_UNTIL(&world, added.heard == 2);
	bus_link_removed(world.bus, 12);
	WORLD_UNTIL(&world, removed.heard == 2);
	ck_assert_int_gt(sd_bus_message_read(removed.last, "o", &path), 0);
	ck_assert_str_eq(path, "/org/mtuwatch1/link/_312");
	sd_bus_message_unref(added.last);
	sd_bus_message_unref(removed.last);
}
END_TEST

static unsigned link_field_count(void)
{
	unsigned count = 0;

	while (report_link_fields[count].name)
		count++;
	return count;
}

/* What sd-bus puts in for an object that is registered, and all of our own. */
static void assert_interfaces(sd_bus_message *reply, bool peer)
{
	static const char *const plain[] = {"org.freedesktop.DBus.Peer",
					    "org.freedesktop.DBus.Introspectable",
					    "org.freedesktop.DBus.Properties"};
	const char *name;
	unsigned count = 0, entries;

	ck_assert_int_gt(sd_bus_message_enter_container(reply, 'a', "{sa{sv}}"), 0);
	while (sd_bus_message_enter_container(reply, 'e', "sa{sv}") > 0) {
		ck_assert_int_gt(sd_bus_message_read(reply, "s", &name), 0);
		ck_assert_str_eq(name, count < 3 ? plain[count]
				       : peer    ? "org.mtuwatch1.Peer"
						 : "org.mtuwatch1.Link");
		dictionary_u32(reply, "", &entries);
		ck_assert_uint_eq(entries, count < 3 ? 0
					   : peer    ? peer_field_count(false, false)
						     : link_field_count());
		count++;
		ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
	}
	ck_assert_uint_eq(count, 4);
	ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
}

static unsigned managed_objects(void)
{
	sd_bus_message *reply =
		world_ask(&world, world.client,
			  world_message(world.client, "/org/mtuwatch1",
					"org.freedesktop.DBus.ObjectManager", "GetManagedObjects"));
	unsigned count = 0;

	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_int_gt(sd_bus_message_enter_container(reply, 'a', "{oa{sa{sv}}}"), 0);
	while (sd_bus_message_enter_container(reply, 'e', "oa{sa{sv}}") > 0) {
		const char *path;

		ck_assert_int_gt(sd_bus_message_read(reply, "o", &path), 0);
		count += strncmp(path, "/org/mtuwatch1/peer/", 20) == 0 ||
			 strncmp(path, "/org/mtuwatch1/link/", 20) == 0;
		assert_interfaces(reply, strncmp(path, "/org/mtuwatch1/peer/", 20) == 0);
		ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
	}
	sd_bus_message_unref(reply);
	return count;
}

/* So many of the first of the sample. */
static void crowd(struct peer *peers, struct peer **list, unsigned count)
{
	ck_assert(peers && list);
	for (unsigned i = 0; i < count; i++) {
		peers[i] = world.sample.peer[0];
		snprintf(peers[i].name, sizeof(peers[i].name), "peer-%05u", i);
		list[i] = &peers[i];
	}
	world.sample.roster.peers = list;
	world.sample.roster.peer_count = count;
}

static void crowd_end(struct peer *peers, struct peer **list)
{
	world.sample.roster.peer_count = 0;
	free(list);
	free(peers);
}

struct described {
	unsigned good, busy;
	unsigned numbers[4]; /* ReportsIgnored of each answer */
};

static unsigned reports_ignored(sd_bus_message *reply)
{
	const char *text, *at;

	ck_assert_int_gt(sd_bus_message_read(reply, "s", &text), 0);
	at = strstr(text, "\"ReportsIgnored\":");
	ck_assert_ptr_nonnull(at);
	return (unsigned)atoi(at + strlen("\"ReportsIgnored\":"));
}

static int on_described(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct described *described = userdata;

	if (sd_bus_message_is_method_error(reply, "org.mtuwatch1.Busy"))
		described->busy++;
	else
		described->numbers[described->good++ % 4] = reports_ignored(reply);
	return 0;
}

static void call_begin(sd_bus *client, const char *method, sd_bus_message_handler_t on_reply,
		       void *userdata)
{
	ck_assert_int_ge(sd_bus_call_method_async(client, NULL, "org.mtuwatch1",
						  "/org/mtuwatch1", MANAGER, method, on_reply,
						  userdata, NULL),
			 0);
}

static void clients_open(sd_bus *clients[static 4])
{
	for (unsigned i = 0; i < 4; i++)
		clients[i] = world_connect(&world, getuid());
}

static void clients_close(sd_bus *clients[static 4])
{
	for (unsigned i = 0; i < 4; i++)
		sd_bus_close_unref(clients[i]);
}

static int on_listed(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	++*(unsigned *)userdata;
	return 0;
}

#define LISTED 50000

/* Whoever has long work done without end does not have the loop for himself. */
START_TEST(costly_calls_are_spread)
{
	struct peer *peers = calloc(LISTED, sizeof(*peers));
	struct peer **list = calloc(LISTED, sizeof(*list));
	unsigned answered = 0, rests = 0;
	bool resting = false;
	uint64_t rested = 0, began = 0;

	crowd(peers, list, LISTED);
	for (unsigned i = 0; i < 4; i++)
		call_begin(world.client, "ListPeers", on_listed, &answered);
	while (answered < 4) {
		bool now = sd_bus_get_event(world.bus->connection) == NULL;

		if (now && !resting)
			began = world_now();
		if (!now && resting)
			rested += world_now() - began;
		rests += now && !resting;
		resting = now;
		ck_assert_int_ge(sd_event_run(world.event, 20000), 0);
	}
	ck_assert_uint_ge(rests, 3);
	ck_assert_uint_gt(rested, 3 * 10 * USEC_PER_MSEC);
	/* then it is there for everybody at once */
	WORLD_UNTIL(&world, sd_bus_get_event(world.bus->connection) != NULL);
	world.sample.roster.peer_count = 3;
	sd_bus_message_unref(world_check(&world, world.client, "peer-00001"));
	ck_assert_uint_eq(world.check_count, 1);
	crowd_end(peers, list);
}
END_TEST

/* The rest is over while there is no memory to read the bus again: it is read once there is. */
START_TEST(rest_ends_without_memory)
{
	struct peer *peers = calloc(LISTED, sizeof(*peers));
	struct peer **list = calloc(LISTED, sizeof(*list));
	unsigned answered = 0;

	crowd(peers, list, LISTED);
	call_begin(world.client, "ListPeers", on_listed, &answered);
	WORLD_UNTIL(&world, sd_bus_get_event(world.bus->connection) == NULL);
	attaches_failing = 2;
	WORLD_UNTIL(&world, attaches_failing == 0);
	WORLD_UNTIL(&world, answered == 1 && sd_bus_get_event(world.bus->connection) != NULL);
	sd_bus_message_unref(world_check(&world, world.client, "peer-00001"));
	ck_assert_uint_eq(world.check_count, 1);
	crowd_end(peers, list);
}
END_TEST

/* Of checks of all peers that end together. */
START_TEST(results_are_shared)
{
	static struct peer peers[3000];
	static struct peer *list[3000];
	unsigned answered = 0;
	uint64_t queued = 0;
	sd_bus *clients[4];

	crowd(peers, list, 3000);
	clients_open(clients);
	world.hold = true;
	for (unsigned i = 0; i < 4; i++)
		call_begin(clients[i], "CheckAll", on_listed, &answered);
	WORLD_UNTIL(&world, world.held_count == 4);
	while (world.held_count > 0)
		bus_check_done(world.held[--world.held_count]);
	/* one was made, and what it takes is known */
	ck_assert_int_ge(sd_bus_get_n_queued_write(world.bus->connection, &queued), 0);
	ck_assert_uint_le(queued, 1);
	WORLD_UNTIL(&world, answered == 4);
	clients_close(clients);
}
END_TEST

/* Who asks for everything without end shares one answer with whoever else does, and others' short
 * calls do not wait for his. */
START_TEST(costly_answers_are_shared)
{
	static struct peer peers[3000];
	static struct peer *list[3000];
	struct described described = {};
	unsigned checked = 0;
	sd_bus *clients[4];

	crowd(peers, list, 3000);
	clients_open(clients);
	call_begin(world.client, "Describe", on_described, &described);
	WORLD_UNTIL(&world, described.good == 1);
	/* how long that took is known from now on */
	described.good = 0;
	sd_bus_detach_event(world.bus->connection);
	for (unsigned i = 0; i < 4; i++)
		call_begin(clients[i], "Describe", on_described, &described);
	call_begin(clients[0], "Describe", on_described, &described);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_ge(sd_bus_flush(clients[i]), 0);
	ck_assert_int_ge(sd_bus_call_method_async(world.client, NULL, "org.mtuwatch1",
						  "/org/mtuwatch1", MANAGER, "Check", on_listed,
						  &checked, "s", "peer-00001"), 0);
	ck_assert_int_ge(sd_bus_flush(world.client), 0);
	/* what is short is done at once */
	while (world.check_count == 0)
		if (sd_bus_process(world.bus->connection, NULL) == 0)
			ck_assert_int_ge(sd_bus_wait(world.bus->connection, 20000), 0);
	sd_bus_attach_event(world.bus->connection, world.event, SD_EVENT_PRIORITY_NORMAL);
	while (described.good < 4 || described.busy < 1) {
		ck_assert_int_ge(sd_event_run(world.event, 20000), 0);
		world.sample.roster.reports_ignored++;
	}
	ck_assert_uint_eq(described.good, 4);
	ck_assert_uint_eq(described.busy, 1);
	ck_assert_uint_eq(checked, 1);
	for (unsigned i = 1; i < 4; i++)
		ck_assert_uint_eq(described.numbers[i], described.numbers[0]);
	/* nothing is kept: who asks afterwards hears how it is now */
	described.good = 0;
	call_begin(world.client, "Describe", on_described, &described);
	WORLD_UNTIL(&world, described.good == 1);
	ck_assert_uint_eq(described.numbers[0], world.sample.roster.reports_ignored);
	clients_close(clients);
}
END_TEST

/* dbus-daemon ends the connection of who sends it more. */
START_TEST(too_much_for_one_message)
{
	static const char *const calls[][2] = {
		{MANAGER, "Describe"},
		{MANAGER, "CheckAll"},
		{"org.freedesktop.DBus.ObjectManager", "GetManagedObjects"},
	};
	static struct peer peers[100];
	static struct peer *list[100];

	crowd(peers, list, 100);
	world.bus->message_largest = 100000;
	for (unsigned i = 0; i < 3; i++) {
		sd_bus_message *reply = world_ask(
			&world, world.client,
			world_message(world.client, "/org/mtuwatch1", calls[i][0], calls[i][1]));

		ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_LIMITS_EXCEEDED);
		ck_assert_ptr_nonnull(strstr(error_text(reply), "one by one"));
		sd_bus_message_unref(reply);
	}
	world.sample.roster.peer_count = 3;
	ck_assert_uint_eq(managed_objects(), 5);
}
END_TEST

/* What the build made, beside this test. */
static void exec_ctl(int out)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *end;

	path[length > 0 ? length : 0] = '\0';
	for (unsigned i = 0; i < 3 && (end = strrchr(path, '/')); i++)
		*end = '\0';
	strcat(path, "/daemon/mtuwatchctl");
	dup2(out, STDOUT_FILENO);
	execl(path, "mtuwatchctl", "--json=short", "check", NULL);
	_exit(127);
}

/* The tool finds out by itself what then still tells everything. */
START_TEST(tool_reads_one_by_one)
{
	static struct peer peers[100];
	static struct peer *list[100];
	int out = memfd_create("checked", MFD_CLOEXEC), status = 0;
	unsigned count = 0;
	char *text;
	pid_t pid;

	crowd(peers, list, 100);
	world.bus->message_largest = 100000;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		exec_ctl(out);
	WORLD_UNTIL(&world, waitpid(pid, &status, WNOHANG) == pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_le(WEXITSTATUS(status), 3);
	text = calloc(1, (size_t)lseek(out, 0, SEEK_END) + 1);
	ck_assert_ptr_nonnull(text);
	ck_assert_int_gt(pread(out, text, (size_t)lseek(out, 0, SEEK_END), 0), 0);
	for (const char *at = text; (at = strstr(at, "\"Name\":\"peer-")); at++)
		count++;
	ck_assert_uint_eq(count, 100);
	ck_assert_uint_eq(world.check_count, 1);
	free(text);
	close(out);
	world.sample.roster.peer_count = 3;
}
END_TEST

START_TEST(managed)
{
	ck_assert_uint_eq(managed_objects(), 5);
}
END_TEST

#define MANY 10000

/* Every peer as an object, and a single one found among them. */
START_TEST(ten_thousand_peers)
{
	struct peer *peers = calloc(MANY, sizeof(*peers));
	struct peer **list = calloc(MANY, sizeof(*list));
	uint64_t begin, queued = 0;

	crowd(peers, list, MANY);
	/* a burst of news does not pile up on the way to the bus */
	for (unsigned i = 0; i < MANY; i++)
		bus_peer_changed(world.bus, &peers[i]);
	ck_assert_int_ge(sd_bus_get_n_queued_write(world.bus->connection, &queued), 0);
	ck_assert_uint_le(queued, 64);
	WORLD_UNTIL(&world, peers[0].untold == 0);
	ck_assert_uint_ne(peers[MANY - 1].untold, 0);
	assert_property_text(&world, "/org/mtuwatch1/peer/peer_2d07777", "org.mtuwatch1.Peer",
			     "Name", "peer-07777");
	begin = world_now();
	ck_assert_uint_eq(managed_objects(), MANY + 2);
	printf("# GetManagedObjects of %u peers took %llu ms\n", MANY,
	       (unsigned long long)(world_now() - begin) / 1000);
	begin = world_now();
	sd_bus_message_unref(world_check(&world, world.client, "peer-04242"));
	printf("# Check among %u peers took %llu us\n", MANY,
	       (unsigned long long)(world_now() - begin));
	world.sample.roster.peer_count = 0;
	free(list);
	WORLD_UNTIL(&world, peers[MANY - 1].untold == 0);
	free(peers);
}
END_TEST

/* The interface alone, without white space, so that layout does not matter. */
static char *interface_text(const char *text, const char *interface)
{
	char begin[96], *out, *end;
	const char *from, *to;

	snprintf(begin, sizeof(begin), "<interface name=\"%s\">", interface);
	from = strstr(text, begin);
	ck_assert_msg(from, "no %s", begin);
	to = strstr(from, "</interface>");
	ck_assert_ptr_nonnull(to);
	out = end = calloc(1, (size_t)(to - from) + 1);
	ck_assert_ptr_nonnull(out);
	for (; from < to; from++)
		if (*from != ' ' && *from != '\n')
			*end++ = *from;
	return out;
}

static char *file_text(const char *interface)
{
	char path[512], *text = calloc(1, 65536);
	FILE *in;

	snprintf(path, sizeof(path), "%s/conf/%s.xml", SOURCE_FOLDER, interface);
	in = fopen(path, "re");
	ck_assert_msg(in, "%s: %s", path, strerror(errno));
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_gt(fread(text, 1, 65535, in), 0);
	fclose(in);
	return text;
}

static void assert_documented(const char *path, const char *interface)
{
	sd_bus_message *reply =
		world_ask(&world, world.client,
			  world_message(world.client, path, "org.freedesktop.DBus.Introspectable",
					"Introspect"));
	char *file = file_text(interface), *documented = interface_text(file, interface), *lives;
	const char *text;

	ck_assert_int_gt(sd_bus_message_read(reply, "s", &text), 0);
	lives = interface_text(text, interface);
	ck_assert_str_eq(lives, documented);
	free(lives);
	free(documented);
	free(file);
	sd_bus_message_unref(reply);
}

START_TEST(introspection_is_documented)
{
	assert_documented("/org/mtuwatch1", MANAGER);
	assert_documented("/org/mtuwatch1/peer/san_2da", "org.mtuwatch1.Peer");
	assert_documented("/org/mtuwatch1/link/_312", "org.mtuwatch1.Link");
}
END_TEST

/* stderr into memory, for what the journal says where there is none. */
static int stderr_catch(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC);

	ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
	return fd;
}

static bool stderr_has(int fd, const char *text)
{
	char caught[8192];
	ssize_t n = pread(fd, caught, sizeof(caught) - 1, 0);

	caught[n > 0 ? n : 0] = '\0';
	return strstr(caught, text);
}

START_TEST(second_daemon_goes_on_without_the_name)
{
	int caught = stderr_catch();
	struct bus *second;

	ck_assert_int_eq(bus_new(&second, world.event, &world.sample.roster, &world.journal,
				 world_handlers(), &world),
			 0);
	WORLD_UNTIL(&world, stderr_has(caught, "another program has the name org.mtuwatch1"));
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	ck_assert_uint_eq(world.check_count, 1);
	/* and takes it when it is free */
	world.bus = bus_free(world.bus);
	WORLD_UNTIL(&world, world_has_name(&world, world.client));
	world.bus = second;
}
END_TEST

/* A package's policy is read some time after its daemon was started. */
START_TEST(policy_that_comes_later)
{
	int caught = stderr_catch();

	world_begin(&world);
	world_config(&world, "org.example.Other");
	world_daemon_start(&world);
	world_serve(&world);
	world.client = world_connect(&world, getuid());
	WORLD_UNTIL(&world, stderr_has(caught, "refuses us the name org.mtuwatch1"));
	world_config(&world, "*");
	kill(world.daemon, SIGHUP);
	WORLD_UNTIL(&world, world_has_name(&world, world.client));
	WORLD_UNTIL(&world, stderr_has(caught, "on the system bus as org.mtuwatch1 again"));
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	ck_assert_uint_eq(world.check_count, 1);
	world_close(&world);
}
END_TEST

START_TEST(bus_that_comes_later)
{
	world_begin(&world);
	world_serve(&world);
	/* signals into the void do no harm */
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_ge(sd_event_run(world.event, 1000), 0);
		bus_peer_changed(world.bus, &world.sample.peer[2]);
		bus_totals_changed(world.bus);
	}
	world_daemon_start(&world);
	world.client = world_connect(&world, getuid());
	WORLD_UNTIL(&world, world_has_name(&world, world.client));
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	ck_assert_uint_eq(world.check_count, 1);
	world_close(&world);
}
END_TEST

START_TEST(bus_that_goes_and_comes_again)
{
	unsigned counts[2] = {};
	int caught = stderr_catch();

	for (unsigned i = 0; i < 3; i++) {
		world.hold = true;
		sd_bus_call_method_async(world.client, NULL, "org.mtuwatch1", "/org/mtuwatch1",
					 MANAGER, "CheckAll", NULL, counts, NULL);
		WORLD_UNTIL(&world, world.held_count == 1);
		world_daemon_stop(&world);
		world.client = sd_bus_close_unref(world.client);
		WORLD_UNTIL(&world, world.gone_count == i + 1);
		bus_peer_changed(world.bus, &world.sample.peer[2]);
		world_daemon_start(&world);
		world.client = world_connect(&world, getuid());
		WORLD_UNTIL(&world, world_has_name(&world, world.client));
	}
	world.hold = false;
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	ck_assert_uint_eq(world.check_count, 4);
	ck_assert(stderr_has(caught, "the system bus went away"));
	ck_assert(stderr_has(caught, "on the system bus as org.mtuwatch1 again"));
}
END_TEST

/* That it is lost was not told, for lack of memory; and nothing of note happens. */
START_TEST(loss_that_is_not_told)
{
	WORLD_UNTIL(&world, world_has_name(&world, world.client));
	sd_bus_close(world.bus->connection);
	WORLD_UNTIL(&world, !world_has_name(&world, world.client));
	WORLD_UNTIL(&world, world_has_name(&world, world.client));
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
}
END_TEST

static void add_all(TCase *test)
{
	tcase_add_test(test, peer_change_is_signalled);
	tcase_add_test(test, verdict_is_signalled);
	tcase_add_test(test, changes_come_together);
	tcase_add_test(test, no_verdict_is_left_out);
	tcase_add_test(test, gone_before_it_was_told);
	tcase_add_test(test, totals_only_when_they_differ);
	tcase_add_test(test, objects_come_and_go);
	tcase_add_test(test, managed);
	tcase_add_test(test, costly_calls_are_spread);
	tcase_add_test(test, rest_ends_without_memory);
	tcase_add_test(test, results_are_shared);
	tcase_add_test(test, costly_answers_are_shared);
	tcase_add_test(test, too_much_for_one_message);
	tcase_add_test(test, tool_reads_one_by_one);
	tcase_add_test(test, ten_thousand_peers);
	tcase_add_test(test, introspection_is_documented);
	tcase_add_test(test, second_daemon_goes_on_without_the_name);
	tcase_add_test(test, bus_that_goes_and_comes_again);
	tcase_add_test(test, loss_that_is_not_told);
}

int main(void)
{
	Suite *suite = suite_create("bus-life");
	TCase *served = tcase_create("served"), *alone = tcase_create("alone");
	SRunner *runner;
	int failed;

	if (getuid() != 0) {
		puts("1..0 # SKIP must be root: who a caller is decides what it may");
		return EXIT_SUCCESS;
	}
	tcase_add_checked_fixture(served, open_world, close_world);
	tcase_set_timeout(served, 100);
	tcase_set_timeout(alone, 100);
	add_all(served);
	tcase_add_test(alone, bus_that_comes_later);
	tcase_add_test(alone, policy_that_comes_later);
	suite_add_tcase(suite, served);
	suite_add_tcase(suite, alone);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
