/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every method and property called with whatever types, sizes and paths chance brings: each call is
 * answered, the bus goes on, and who may nothing has nothing done.
 */
#include "bus_world.h"
#include "tap.h"

#define CALLS 4000
#define AT_A_TIME 32
#define LONGEST 200000

static struct world world;

static void open_world(void)
{
	world_open(&world);
}

static void close_world(void)
{
	world_close(&world);
}

static unsigned dice(unsigned sides)
{
	static uint64_t rolled = 1;

	return (unsigned)(dice_roll(&rolled) % sides);
}

static const char *const paths[] = {
	"/org/mtuwatch1", "/org/mtuwatch1", "/org/mtuwatch1", "/org/mtuwatch1/peer/san_2da",
	"/org/mtuwatch1/peer/san_2da", "/org/mtuwatch1/link/_312", "/org/mtuwatch1/link/_312",
	"/org/freedesktop/LogControl1", "/", "/org", "/org/mtuwatch1/peer", "/org/mtuwatch1/link",
	"/org/mtuwatch1/peer/_", "/org/mtuwatch1/peer/__", "/org/mtuwatch1/peer/_2", "/org/mtuwatch1/peer/_zz",
	"/org/mtuwatch1/peer/_00", "/org/mtuwatch1/peer/san_2da/x", "/org/mtuwatch1/link/_30_312",
	"/org/mtuwatch1/link/_399999999999999999999", "/org/mtuwatch1/link/_2d1", "/a/b/c",
};

static const char *const methods[][2] = {
	{MANAGER, "Check"},
	{MANAGER, "CheckAll"},
	{MANAGER, "Probe"},
	{MANAGER, "ListPeers"},
	{MANAGER, "ListLinks"},
	{MANAGER, "Release"},
	{MANAGER, "Reload"},
	{MANAGER, "Describe"},
	{MANAGER, "NoSuchMethod"},
	{"org.mtuwatch1.Peer", "Check"},
	{"org.freedesktop.DBus.Properties", "Get"},
	{"org.freedesktop.DBus.Properties", "Get"},
	{"org.freedesktop.DBus.Properties", "Set"},
	{"org.freedesktop.DBus.Properties", "Set"},
	{"org.freedesktop.DBus.Properties", "GetAll"},
	{"org.freedesktop.DBus.ObjectManager", "GetManagedObjects"},
	{"org.freedesktop.DBus.Introspectable", "Introspect"},
	{"org.freedesktop.DBus.Peer", "Ping"},
	{"org.freedesktop.DBus.Peer", "GetMachineId"},
};

static const char *const words[] = {
	"", "san-a", "db", "192.0.2.7", "2001:db8::1%eth1", "Interface", "ExpectMTU", "Method", "Port", "Flows",
	"org.mtuwatch1.Manager", "org.mtuwatch1.Peer", "org.mtuwatch1.Link", "org.freedesktop.LogControl1",
	"Verdict", "PathMTU", "Findings", "Paths", "LogLevel", "LogTarget", "SyslogIdentifier", "debug", "\n",
	"%s%n", "../../etc/passwd", "\xc3\xa4\xf0\x9f\x90\x9f", "tcp", "0", "-1", "4294967296",
};

static const char *word(void)
{
	static char text[LONGEST + 1];
	unsigned length;

	if (dice(20) > 0)
		return words[dice(sizeof(words) / sizeof(words[0]))];
	length = 1 + dice(dice(4) > 0 ? 300 : LONGEST);
	memset(text, 'a' + (int)dice(26), length);
	text[length] = '\0';
	return text;
}

static void append_any(sd_bus_message *call, unsigned depth);

static void append_options(sd_bus_message *call)
{
	sd_bus_message_open_container(call, 'a', "{sv}");
	for (unsigned i = dice(6); i > 0; i--) {
		sd_bus_message_open_container(call, 'e', "sv");
		sd_bus_message_append(call, "s", word());
		if (dice(2))
			sd_bus_message_append(call, "v", "u", dice(100000));
		else if (dice(2))
			sd_bus_message_append(call, "v", "q", dice(65536));
		else
			sd_bus_message_append(call, "v", "s", word());
		sd_bus_message_close_container(call);
	}
	sd_bus_message_close_container(call);
}

static void append_texts(sd_bus_message *call)
{
	unsigned count = dice(10) ? dice(5) : 5000;

	sd_bus_message_open_container(call, 'a', "s");
	while (count-- > 0)
		sd_bus_message_append(call, "s", words[dice(10)]);
	sd_bus_message_close_container(call);
}

static void append_any(sd_bus_message *call, unsigned depth)
{
	switch (dice(12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		sd_bus_message_append(call, "s", word());
		break;
	case 4:
		sd_bus_message_append(call, "u", dice(UINT32_MAX));
		break;
	case 5:
		sd_bus_message_append(call, "o", paths[dice(sizeof(paths) / sizeof(paths[0]))]);
		break;
	case 6:
		sd_bus_message_append(call, "v", "s", word());
		break;
	case 7:
		sd_bus_message_append(call, "v", "v", "(sd)", word(), 1.5);
		break;
	case 8:
		append_options(call);
		break;
	case 9:
		append_texts(call);
		break;
	case 10:
		sd_bus_message_append(call, "tb(yqn)", (uint64_t)dice(1000), (int)dice(2), 1, 2, -3);
		break;
	case 11:
		sd_bus_message_append(call, "h", STDIN_FILENO);
		break;
	}
	if (depth > 0)
		append_any(call, depth - 1);
}

/* Every third as it should be, as far as types go. */
static void append_right(sd_bus_message *call, const char *method)
{
	if (strcmp(method, "Probe") == 0) {
		sd_bus_message_append(call, "s", dice(2) ? "192.0.2.7" : word());
		if (dice(2))
			append_options(call);
		else
			sd_bus_message_append(call, "a{sv}", 0);
	} else if (strcmp(method, "Get") == 0) {
		sd_bus_message_append(call, "ss", word(), word());
	} else if (strcmp(method, "Set") == 0) {
		sd_bus_message_append(call, "ssv", word(), word(), "s", word());
	} else if (strcmp(method, "Check") == 0 || strcmp(method, "Release") == 0 ||
		   strcmp(method, "GetAll") == 0) {
		sd_bus_message_append(call, "s", word());
	}
}

static int on_answered(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	ck_assert_str_ne(error_name(reply), SD_BUS_ERROR_NO_REPLY);
	ck_assert_str_ne(error_name(reply), SD_BUS_ERROR_DISCONNECTED);
	++*(unsigned *)userdata;
	return 0;
}

static void call_anything(sd_bus *client, unsigned *answered)
{
	unsigned which = dice(sizeof(methods) / sizeof(methods[0]));
	sd_bus_message *call = world_message(client, paths[dice(sizeof(paths) / sizeof(paths[0]))],
					     methods[which][0], methods[which][1]);

	if (dice(3) == 0)
		append_right(call, methods[which][1]);
	else if (dice(5) > 0)
		append_any(call, dice(4));
	ck_assert_int_ge(sd_bus_call_async(client, NULL, call, on_answered, answered,
					   60 * USEC_PER_SEC),
			 0);
	sd_bus_message_unref(call);
}

static void fuzz(sd_bus *client)
{
	unsigned answered = 0;

	for (unsigned asked = 0; asked < CALLS; asked++) {
		call_anything(client, &answered);
		WORLD_UNTIL(&world, asked - answered < AT_A_TIME || asked < answered);
	}
	WORLD_UNTIL(&world, answered == CALLS);
}

START_TEST(who_may_nothing)
{
	sd_bus *client = world_connect(&world, NOBODY);
	int level = world.journal.level;

	fuzz(client);
	ck_assert_uint_eq(world.check_count + world.probe_count + world.reload_count +
				  world.release_count, 0);
	ck_assert_int_eq(world.journal.level, level);
	sd_bus_close_unref(client);
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	ck_assert_uint_eq(world.check_count, 1);
}
END_TEST

START_TEST(who_may_everything)
{
	fuzz(world.client);
	ck_assert_uint_gt(world.check_count, 0);
	ck_assert_uint_gt(world.probe_count, 0);
	ck_assert_uint_gt(world.reload_count, 0);
	ck_assert_uint_gt(world.release_count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-fuzz");
	TCase *test = tcase_create("fuzz");

	if (getuid() != 0) {
		puts("1..0 # SKIP must be root: who a caller is decides what it may");
		return EXIT_SUCCESS;
	}
	tcase_set_timeout(test, 240);
	tcase_add_checked_fixture(test, open_world, close_world);
	tcase_add_test(test, who_may_nothing);
	tcase_add_test(test, who_may_everything);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
