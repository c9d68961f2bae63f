/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bus as its callers see it, over a real dbus-daemon. */
#include "bus_world.h"

static struct world world;

static void open_world(void)
{
	world_open(&world);
}

static void close_world(void)
{
	world_close(&world);
}

START_TEST(check_gives_everything)
{
	sd_bus_message *reply = world_check(&world, world.client, "san-a");
	unsigned entries;

	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_uint_eq(dictionary_u32(reply, "PathMTU", &entries), 1500);
	ck_assert_uint_eq(entries, peer_field_count(false, false));
	ck_assert_ptr_eq(world.asked, &world.sample.peer[2]);
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(check_all)
{
	sd_bus_message *reply =
		world_ask(&world, world.client,
			  world_message(world.client, "/org/mtuwatch1", MANAGER, "CheckAll"));
	const char *name;
	unsigned entries, peers = 0;

	ck_assert_ptr_null(world.asked);
	ck_assert_uint_eq(world.check_count, 1);
	ck_assert_int_gt(sd_bus_message_enter_container(reply, 'a', "{sa{sv}}"), 0);
	while (sd_bus_message_enter_container(reply, 'e', "sa{sv}") > 0) {
		ck_assert_int_gt(sd_bus_message_read(reply, "s", &name), 0);
		ck_assert_str_eq(name, world.sample.peer[peers++].name);
		dictionary_u32(reply, "PathMTU", &entries);
		ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
	}
	ck_assert_uint_eq(peers, 3);
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(wrong_name_suggests)
{
	sd_bus_message *reply = world_check(&world, world.client, "sna-a");

	ck_assert_str_eq(error_name(reply), "org.mtuwatch1.NoSuchPeer");
	ck_assert_ptr_nonnull(strstr(error_text(reply), "did you mean \"san-a\""));
	sd_bus_message_unref(reply);
	reply = world_check(&world, world.client, "something-else-entirely");
	ck_assert_str_eq(error_name(reply), "org.mtuwatch1.NoSuchPeer");
	ck_assert_ptr_null(strstr(error_text(reply), "mean"));
	ck_assert_uint_eq(world.check_count, 0);
	sd_bus_message_unref(reply);
}
END_TEST

static int count_answers(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	unsigned *counts = userdata;
	bool busy = sd_bus_message_is_method_error(reply, "org.mtuwatch1.Busy");

	ck_assert(busy || !sd_bus_message_is_method_error(reply, NULL));
	counts[busy]++;
	return 0;
}

START_TEST(busy_after_64)
{
	unsigned counts[2] = {};

	world.hold = true;
	for (unsigned i = 0; i < 64; i++) {
		sd_bus_call_method_async(world.client, NULL, "org.mtuwatch1", "/org/mtuwatch1",
					 MANAGER, "Check", count_answers, counts, "s", "san-a");
		WORLD_UNTIL(&world, world.held_count == i + 1);
	}
	sd_bus_call_method_async(world.client, NULL, "org.mtuwatch1", "/org/mtuwatch1", MANAGER,
				 "Check", count_answers, counts, "s", "db");
	WORLD_UNTIL(&world, counts[true] == 1);
	while (world.held_count > 0)
		bus_check_done(world.held[--world.held_count]);
	WORLD_UNTIL(&world, counts[false] == 64);
	ck_assert_uint_eq(world.gone_count, 0);
	/* and there is room again */
	world.hold = false;
	sd_bus_message_unref(world_check(&world, world.client, "db"));
	ck_assert_uint_eq(world.check_count, 65);
}
END_TEST

START_TEST(caller_that_leaves_is_dropped)
{
	unsigned counts[2] = {};
	sd_bus *leaving = world_connect(&world, getuid());

	world.hold = true;
	sd_bus_call_method_async(leaving, NULL, "org.mtuwatch1", "/org/mtuwatch1", MANAGER, "Check",
				 count_answers, counts, "s", "san-a");
	WORLD_UNTIL(&world, world.held_count == 1);
	sd_bus_detach_event(leaving);
	sd_bus_close_unref(leaving);
	WORLD_UNTIL(&world, world.gone_count == 1);
	ck_assert_uint_eq(world.held_count, 0);
}
END_TEST

START_TEST(peer_gone_while_checked)
{
	struct answer_box box = {};

	world.hold = true;
	sd_bus_call_method_async(world.client, NULL, "org.mtuwatch1", "/org/mtuwatch1", MANAGER,
				 "Check", world_on_answer, &box, "s", "san-a");
	WORLD_UNTIL(&world, world.held_count == 1);
	world.sample.roster.peer_count = 2;
	bus_check_done(world.held[0]);
	WORLD_UNTIL(&world, box.message);
	ck_assert_str_eq(error_name(box.message), "org.mtuwatch1.NoSuchPeer");
	sd_bus_message_unref(box.message);
}
END_TEST

START_TEST(reload)
{
	sd_bus_message *reply;

	world.complaint = "/etc/mtuwatchd/mtuwatchd.conf:3: \"Intervall\" is no key of [Daemon]";
	reply = world_ask(&world, world.client,
			  world_message(world.client, "/org/mtuwatch1", MANAGER, "Reload"));
	ck_assert_str_eq(error_name(reply), "org.mtuwatch1.BadConfig");
	ck_assert_str_eq(error_text(reply), world.complaint);
	sd_bus_message_unref(reply);
	world.complaint = NULL;
	reply = world_ask(&world, world.client,
			  world_message(world.client, "/org/mtuwatch1", MANAGER, "Reload"));
	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_uint_eq(world.reload_count, 2);
	sd_bus_message_unref(reply);
}
END_TEST

static sd_bus_message *ask_release(const char *name)
{
	sd_bus_message *call = world_message(world.client, "/org/mtuwatch1", MANAGER, "Release");

	sd_bus_message_append(call, "s", name);
	return world_ask(&world, world.client, call);
}

START_TEST(release)
{
	sd_bus_message *reply = ask_release("san-a");

	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_str_eq(world.released, "san-a");
	sd_bus_message_unref(reply);
	sd_bus_message_unref(ask_release(""));
	ck_assert_str_eq(world.released, "");
	ck_assert_uint_eq(world.release_count, 2);
	reply = ask_release("nobody");
	ck_assert_str_eq(error_name(reply), "org.mtuwatch1.NoSuchPeer");
	sd_bus_message_unref(reply);
	reply = ask_release("stuck");
	ck_assert_str_ne(error_name(reply), "none");
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(lists)
{
	sd_bus_message *reply =
		world_ask(&world, world.client,
			  world_message(world.client, "/org/mtuwatch1", MANAGER, "ListPeers"));
	const char *name, *object, *word;
	uint32_t mtu;

	ck_assert_int_gt(sd_bus_message_enter_container(reply, 'a', "(sos)"), 0);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_gt(sd_bus_message_read(reply, "(sos)", &name, &object, &word), 0);
	ck_assert_str_eq(name, "san-a");
	ck_assert_str_eq(object, "/org/mtuwatch1/peer/san_2da");
	ck_assert_str_eq(word, "black-hole");
	ck_assert_int_eq(sd_bus_message_at_end(reply, false), 1);
	sd_bus_message_unref(reply);
	reply = world_ask(&world, world.client,
			  world_message(world.client, "/org/mtuwatch1", MANAGER, "ListLinks"));
	ck_assert_int_gt(sd_bus_message_enter_container(reply, 'a', "(suos)"), 0);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_gt(sd_bus_message_read(reply, "(suos)", &name, &mtu, &object, &word),
				 0);
	ck_assert_str_eq(name, "eth1");
	ck_assert_uint_eq(mtu, 9000);
	ck_assert_str_eq(object, "/org/mtuwatch1/link/_312");
	ck_assert_str_eq(word, "ok");
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(describe_is_the_document)
{
	sd_bus_message *reply =
		world_ask(&world, world.client,
			  world_message(world.client, "/org/mtuwatch1", MANAGER, "Describe"));
	char *expected = report_json(&world.sample.roster, false);
	const char *text;

	ck_assert_int_gt(sd_bus_message_read(reply, "s", &text), 0);
	ck_assert_str_eq(text, expected);
	free(expected);
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(properties)
{
	sd_bus_message *reply;

	assert_property_text(&world, "/org/mtuwatch1", MANAGER, "Version", VERSION);
	assert_property_text(&world, "/org/mtuwatch1", MANAGER, "Verdict", "black-hole");
	assert_property_text(&world, "/org/mtuwatch1", MANAGER, "Severity", "critical");
	assert_property_text(&world, "/org/mtuwatch1/peer/db", "org.mtuwatch1.Peer", "Address",
			     "2001:db8::2");
	assert_property_text(&world, "/org/mtuwatch1/link/_312", "org.mtuwatch1.Link", "Kind",
			     "veth");
	reply = world_get(&world, "/org/mtuwatch1/peer/nobody", "org.mtuwatch1.Peer", "Address");
	ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_UNKNOWN_OBJECT);
	sd_bus_message_unref(reply);
	reply = world_get(&world, "/org/mtuwatch1/link/_30_312", "org.mtuwatch1.Link", "Kind");
	ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_UNKNOWN_OBJECT);
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(log_control)
{
	sd_bus_message *call;

	assert_property_text(&world, "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1",
			     "LogLevel", "info");
	assert_property_text(&world, "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1",
			     "SyslogIdentifier", "mtuwatchd");
	assert_property_text(&world, "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1",
			     "LogTarget", "console");
	for (unsigned i = 0; i < 2; i++) {
		sd_bus_message *reply;

		call = world_message(world.client, "/org/freedesktop/LogControl1",
				     "org.freedesktop.DBus.Properties", "Set");
		sd_bus_message_append(call, "ssv", "org.freedesktop.LogControl1", "LogLevel", "s",
				      i ? "debug" : "loud");
		/* sd-bus asks who the caller is and waits for it, so the client must not be it */
		reply = world_ask(&world, world.client, call);
		ck_assert_str_eq(error_name(reply), i ? "none" : SD_BUS_ERROR_INVALID_ARGS);
		sd_bus_message_unref(reply);
	}
	ck_assert_int_eq(world.journal.level, 7);
}
END_TEST

static void add_all(TCase *test)
{
	tcase_add_test(test, check_gives_everything);
	tcase_add_test(test, check_all);
	tcase_add_test(test, wrong_name_suggests);
	tcase_add_test(test, busy_after_64);
	tcase_add_test(test, caller_that_leaves_is_dropped);
	tcase_add_test(test, peer_gone_while_checked);
	tcase_add_test(test, reload);
	tcase_add_test(test, release);
	tcase_add_test(test, lists);
	tcase_add_test(test, describe_is_the_document);
	tcase_add_test(test, properties);
	tcase_add_test(test, log_control);
}

int main(void)
{
	Suite *suite = suite_create("bus");
	TCase *served = tcase_create("served");
	SRunner *runner;
	int failed;

	if (getuid() != 0) {
		puts("1..0 # SKIP must be root: who a caller is decides what it may");
		return EXIT_SUCCESS;
	}
	tcase_add_checked_fixture(served, open_world, close_world);
	tcase_set_timeout(served, 100);
	add_all(served);
	suite_add_tcase(suite, served);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
