/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who may, and that nobody is in another's way, over a real dbus-daemon. */
#include "../../daemon/face/bus_private.h"
#include "bus_world.h"
#include "tap.h"

static struct world world;

static void open_world(void)
{
	world_open(&world);
}

static void close_world(void)
{
	world_close(&world);
}

/* What polkit is asked, and what it shall answer. */
struct polkit {
	int authorized, challenge;
	bool silent; /* does not answer at all */
	unsigned asked;
	char action[64];
	uint32_t flags;
};

static int polkit_check(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	struct polkit *polkit = userdata;
	const char *kind, *key, *name, *action;

	ck_assert_int_gt(
		sd_bus_message_read(call, "(sa{sv})s", &kind, 1, &key, "s", &name, &action), 0);
	ck_assert_str_eq(kind, "system-bus-name");
	ck_assert_str_eq(key, "name");
	ck_assert_int_eq(name[0], ':');
	ck_assert_int_ge(sd_bus_message_skip(call, "a{ss}"), 0);
	ck_assert_int_gt(sd_bus_message_read(call, "u", &polkit->flags), 0);
	snprintf(polkit->action, sizeof(polkit->action), "%s", action);
	polkit->asked++;
	if (polkit->silent)
		return 1;
	return sd_bus_reply_method_return(call, "(bba{ss})", polkit->authorized, polkit->challenge,
					  0);
}

static const sd_bus_vtable polkit_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", polkit_check,
		      SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static int polkit_named(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	*(bool *)userdata = true;
	return 0;
}

static sd_bus *polkit_open(struct polkit *polkit)
{
	sd_bus *connection = world_connect(&world, getuid());
	bool named = false;

	sd_bus_add_object_vtable(connection, NULL, "/org/freedesktop/PolicyKit1/Authority",
				 "org.freedesktop.PolicyKit1.Authority", polkit_vtable, polkit);
	sd_bus_request_name_async(connection, NULL, "org.freedesktop.PolicyKit1", 0, polkit_named,
				  &named);
	WORLD_UNTIL(&world, named);
	return connection;
}

START_TEST(others_may_not_without_polkit)
{
	sd_bus *other = world_connect(&world, NOBODY);
	sd_bus_message *reply = world_check(&world, other, "san-a");

	ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_ACCESS_DENIED);
	sd_bus_message_unref(reply);
	reply = world_ask(&world, other, world_message(other, "/org/mtuwatch1", MANAGER, "Reload"));
	ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_ACCESS_DENIED);
	sd_bus_message_unref(reply);
	ck_assert_uint_eq(world.check_count + world.reload_count, 0);
	/* but reading is for everyone */
	reply = world_ask(&world, other,
			  world_message(other, "/org/mtuwatch1", MANAGER, "ListPeers"));
	ck_assert_str_eq(error_name(reply), "none");
	sd_bus_message_unref(reply);
	sd_bus_close_unref(other);
}
END_TEST

START_TEST(polkit_decides)
{
	struct polkit polkit = {.authorized = 1};
	sd_bus *authority = polkit_open(&polkit), *other = world_connect(&world, NOBODY);
	sd_bus_message *reply = world_check(&world, other, "san-a"), *call;

	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_str_eq(polkit.action, "org.mtuwatch1.check");
	ck_assert_uint_eq(polkit.flags, 0);
	ck_assert_uint_eq(world.check_count, 1);
	sd_bus_message_unref(reply);

	polkit = (struct polkit){.challenge = 1};
	call = world_message(other, "/org/mtuwatch1", MANAGER, "Reload");
	sd_bus_message_set_allow_interactive_authorization(call, 1);
	reply = world_ask(&world, other, call);
	ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED);
	ck_assert_str_eq(polkit.action, "org.mtuwatch1.manage");
	ck_assert_uint_eq(polkit.flags, 1);
	sd_bus_message_unref(reply);

	polkit = (struct polkit){};
	reply = world_check(&world, other, "san-a");
	ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_ACCESS_DENIED);
	sd_bus_message_unref(reply);
	ck_assert_uint_eq(world.check_count, 1);

	/* root is not polkit's matter */
	polkit.asked = 0;
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	ck_assert_uint_eq(polkit.asked, 0);
	sd_bus_close_unref(other);
	sd_bus_close_unref(authority);
}
END_TEST

static int count_busy(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	*(unsigned *)userdata += sd_bus_message_is_method_error(reply, "org.mtuwatch1.Busy");
	return 0;
}

static void checks_begin(sd_bus *client, unsigned count, unsigned *busy)
{
	while (count-- > 0)
		ck_assert_int_ge(sd_bus_call_method_async(client, NULL, "org.mtuwatch1",
							  "/org/mtuwatch1", MANAGER, "Check",
							  count_busy, busy, "s", "san-a"),
				 0);
}

static void connections_end(sd_bus **connections, unsigned count)
{
	while (count > 0)
		sd_bus_close_unref(connections[--count]);
}

/* Who calls without end, on as many connections as he likes, is in nobody's way but his own. */
START_TEST(no_user_takes_all_the_room)
{
	struct polkit polkit = {.silent = true};
	sd_bus *authority = polkit_open(&polkit), *flooding[4], *other = world_connect(&world, 1);
	unsigned busy = 0;

	for (unsigned i = 0; i < 4; i++) {
		flooding[i] = world_connect(&world, NOBODY);
		checks_begin(flooding[i], 64, &busy);
	}
	WORLD_UNTIL(&world, busy == 4 * 64 - 32);
	checks_begin(other, 1, &busy);
	polkit.asked = 0;
	WORLD_UNTIL(&world, polkit.asked == 1);
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	ck_assert_uint_eq(world.check_count, 1);
	ck_assert_uint_eq(busy, 4 * 64 - 32);
	connections_end(flooding, 4);
	sd_bus_close_unref(other);
	sd_bus_close_unref(authority);
}
END_TEST

/* Nor while the bus has yet to tell who he is: all of his calls are there before that. */
START_TEST(no_user_takes_all_places)
{
	struct polkit polkit = {.authorized = 1};
	sd_bus *authority = polkit_open(&polkit), *flooding[20], *other = world_connect(&world, 1);
	unsigned busy = 0, refused = 0;

	for (unsigned i = 0; i < 20; i++)
		flooding[i] = world_connect(&world, NOBODY);
	world_settle(&world);
	world.hold = true;
	sd_bus_detach_event(world.bus->connection);
	for (unsigned i = 0; i < 20; i++) {
		checks_begin(flooding[i], 32, &busy);
		ck_assert_int_ge(sd_bus_flush(flooding[i]), 0);
	}
	checks_begin(other, 1, &refused);
	ck_assert_int_ge(sd_bus_flush(other), 0);
	sd_bus_attach_event(world.bus->connection, world.event, SD_EVENT_PRIORITY_NORMAL);
	WORLD_UNTIL(&world, world.held_count == 33 && busy == 20 * 32 - 32);
	ck_assert_uint_eq(refused, 0);
	while (world.held_count > 0)
		bus_check_done(world.held[--world.held_count]);
	connections_end(flooding, 20);
	sd_bus_close_unref(other);
	sd_bus_close_unref(authority);
}
END_TEST

/* The calls of a connection that wait for the same decision, unless a person may be asked for each. */
START_TEST(polkit_is_asked_once)
{
	struct polkit polkit = {.silent = true};
	sd_bus *authority = polkit_open(&polkit), *other = world_connect(&world, NOBODY);
	unsigned busy = 0;

	checks_begin(other, 32, &busy);
	WORLD_UNTIL(&world, polkit.asked == 1);
	checks_begin(other, 1, &busy);
	WORLD_UNTIL(&world, busy == 1);
	ck_assert_uint_eq(polkit.asked, 1);
	/* without polkit its question is answered, for all of them */
	sd_bus_close_unref(authority);
	world_settle(&world);
	ck_assert_uint_eq(world.check_count, 0);
	polkit = (struct polkit){.authorized = 1};
	authority = polkit_open(&polkit);
	WORLD_UNTIL(&world, !world.bus->checks);
	checks_begin(other, 32, &busy);
	WORLD_UNTIL(&world, world.check_count == 32);
	ck_assert_uint_ge(polkit.asked, 1);
	ck_assert_uint_le(polkit.asked, 32);
	ck_assert_uint_eq(busy, 1);
	sd_bus_close_unref(other);
	sd_bus_close_unref(authority);
}
END_TEST

static void checks_begin_asking(sd_bus *client, unsigned count, unsigned *busy)
{
	sd_bus_set_allow_interactive_authorization(client, true);
	checks_begin(client, count, busy);
}

/* The bus lets us wait for 128 answers, and polkit may wait for people. */
START_TEST(passwords_are_in_nobodys_way)
{
	struct polkit polkit = {.silent = true};
	sd_bus *authority = polkit_open(&polkit), *asking[9], *other = world_connect(&world, 1);
	unsigned busy = 0, refused = 0;

	for (unsigned i = 0; i < 9; i++) {
		asking[i] = world_connect(&world, 2 + i);
		checks_begin_asking(asking[i], 32, &busy);
	}
	WORLD_UNTIL(&world, busy == 9 * 32 - 64);
	WORLD_UNTIL(&world, polkit.asked == 64);
	/* who leaves has asked all the same, as long as polkit waits for a person */
	sd_bus_close_unref(asking[0]);
	asking[0] = world_connect(&world, 2);
	busy = 0;
	checks_begin_asking(asking[0], 8, &busy);
	WORLD_UNTIL(&world, busy == 8);
	polkit.silent = false;
	polkit.authorized = 1;
	checks_begin(other, 1, &refused);
	WORLD_UNTIL(&world, world.check_count == 1);
	ck_assert_uint_eq(refused, 0);
	for (unsigned i = 0; i < 9; i++)
		sd_bus_close_unref(asking[i]);
	sd_bus_close_unref(other);
	sd_bus_close_unref(authority);
}
END_TEST

static unsigned asked_who(void)
{
	unsigned count = 0;

	for (struct bus_caller *caller = world.bus->callers; caller; caller = caller->next)
		count++;
	return count;
}

/* Who calls again is known; who left is forgotten. */
START_TEST(callers_are_known)
{
	sd_bus *other = world_connect(&world, NOBODY);

	sd_bus_message_unref(world_check(&world, other, "san-a"));
	sd_bus_message_unref(world_check(&world, world.client, "san-a"));
	sd_bus_message_unref(world_check(&world, other, "san-a"));
	ck_assert_uint_eq(asked_who(), 2);
	sd_bus_close_unref(other);
	WORLD_UNTIL(&world, asked_who() == 1);
	ck_assert_uint_eq(world.check_count, 1);
}
END_TEST

/* Users who may, together. */
START_TEST(root_finds_room)
{
	struct polkit polkit = {.authorized = 1};
	sd_bus *authority = polkit_open(&polkit), *others[2];
	unsigned busy = 0;

	world.hold = true;
	for (unsigned i = 0; i < 2; i++) {
		others[i] = world_connect(&world, 1 + i);
		checks_begin(others[i], 32, &busy);
	}
	WORLD_UNTIL(&world, world.held_count == 48 && busy == 16);
	checks_begin(world.client, 1, &busy);
	WORLD_UNTIL(&world, world.held_count == 49);
	ck_assert_uint_eq(busy, 16);
	while (world.held_count > 0)
		bus_check_done(world.held[--world.held_count]);
	for (unsigned i = 0; i < 2; i++)
		sd_bus_close_unref(others[i]);
	sd_bus_close_unref(authority);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-callers");
	TCase *test = tcase_create("callers");

	if (getuid() != 0) {
		puts("1..0 # SKIP must be root: who a caller is decides what it may");
		return EXIT_SUCCESS;
	}
	tcase_set_timeout(test, 100);
	tcase_add_checked_fixture(test, open_world, close_world);
	tcase_add_test(test, others_may_not_without_polkit);
	tcase_add_test(test, polkit_decides);
	tcase_add_test(test, no_user_takes_all_the_room);
	tcase_add_test(test, no_user_takes_all_places);
	tcase_add_test(test, polkit_is_asked_once);
	tcase_add_test(test, passwords_are_in_nobodys_way);
	tcase_add_test(test, callers_are_known);
	tcase_add_test(test, root_finds_room);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
