/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probe as its callers see it: what becomes a request, and what is refused before anybody acts. */
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

static sd_bus_message *probe_call(sd_bus *client, const char *address)
{
	sd_bus_message *call = world_message(client, "/org/mtuwatch1", MANAGER, "Probe");

	ck_assert_int_ge(sd_bus_message_append(call, "s", address), 0);
	return call;
}

static sd_bus_message *probe_plain(sd_bus *client, const char *address)
{
	sd_bus_message *call = probe_call(client, address);

	ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 0), 0);
	return call;
}

static sd_bus_message *probe_text(const char *address, const char *option, const char *text)
{
	sd_bus_message *call = probe_call(world.client, address);

	ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 1, option, "s", text), 0);
	return call;
}

static sd_bus_message *probe_number(const char *address, const char *option, uint32_t number)
{
	sd_bus_message *call = probe_call(world.client, address);

	ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 1, option, "u", number), 0);
	return call;
}

/* Takes `call` over. */
static void assert_error(sd_bus_message *call, const char *name, const char *text)
{
	sd_bus_message *reply = world_ask(&world, world.client, call);

	ck_assert_str_eq(error_name(reply), name);
	ck_assert_msg(strstr(error_text(reply), text), "\"%s\" is not in \"%s\"", text,
		      error_text(reply));
	sd_bus_message_unref(reply);
}

START_TEST(all_options)
{
	sd_bus_message *call = probe_call(world.client, "fe80::7"), *reply;
	unsigned entries;

	sd_bus_message_append(call, "a{sv}", 5, "Interface", "s", "eth1", "ExpectMTU", "u", 4000,
			      "Method", "s", "tcp", "Port", "q", 3260, "Flows", "u", 8);
	reply = world_ask(&world, world.client, call);
	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_uint_eq(dictionary_u32(reply, "PathMTU", &entries), 4000);
	/* the same keys as Check's */
	ck_assert_uint_eq(entries, peer_field_count(false, false));
	sd_bus_message_unref(reply);
	ck_assert_uint_eq(world.probed.settings.expect_mtu, 4000);
	ck_assert_uint_eq(world.probed.settings.method, METHOD_TCP);
	ck_assert_uint_eq(world.probed.port, 3260);
	ck_assert_uint_eq(world.probed.flows, 8);
	ck_assert_uint_eq(world.probed.interface_count, 1);
	ck_assert_str_eq(world.probed.zone_link, "eth1");
	ck_assert_uint_eq(world.probed.address.family, ADDRESS_IPV6);
	ck_assert_uint_eq(world.check_count, 0);
}
END_TEST

START_TEST(name_without_options)
{
	sd_bus_message *reply =
		world_ask(&world, world.client, probe_plain(world.client, "nas.example"));

	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_ptr_nonnull(world.probed.host);
	ck_assert_uint_eq(world.probed.settings.expect_mtu, 0);
	ck_assert_uint_eq(world.probed.settings.method, METHOD_AUTO);
	ck_assert_uint_eq(world.probed.port, 0);
	ck_assert_uint_eq(world.probed.flows, 1);
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(no_address)
{
	static const char *const addresses[] = {
		"",		    "192.0.2",	       "not an address",   "0.0.0.0",
		"127.0.0.1",	    "224.0.0.1",       "255.255.255.255", "::",
		"::1",		    "ff02::1",	       "fe80::1",	   "::ffff:192.0.2.1",
		"192.0.2.1%eth0",
	};

	for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		char quoted[64];

		snprintf(quoted, sizeof(quoted), "\"%s\": ", addresses[i]);
		assert_error(probe_plain(world.client, addresses[i]), "org.mtuwatch1.BadAddress",
			     quoted);
	}
	ck_assert_uint_eq(world.probe_count, 0);
}
END_TEST

static const struct {
	const char *address, *option, *text, *error;
} wrong_texts[] = {
	{"192.0.2.1", "Colour", "red", "no option \"Colour\""},
	{"192.0.2.1", "Clamp", "link", "no option \"Clamp\""},
	{"192.0.2.1", "ExpectMTU", "9", "ExpectMTU: expected a value of type u, this one is of type s"},
	{"192.0.2.1", "Method", "smoke", "Method=smoke: expected auto,"},
	{"192.0.2.1", "Method", "", "Method=: expected auto,"},
	{"192.0.2.1", "Interface", "a/b", "Interface=a/b: expected the name of a link"},
	{"192.0.2.1", "Interface", "", "Interface=: expected the name of a link"},
	{"fe80::1", "Interface", "eth0 eth1", "expected one Interface="},
};

static const struct {
	const char *address, *option;
	uint32_t number;
	const char *error;
} wrong_numbers[] = {
	{"192.0.2.1", "Port", 3260, "Port: expected a value of type q, this one is of type u"},
	{"192.0.2.1", "ExpectMTU", 67, "ExpectMTU=67: expected a number from 68 to 65535"},
	{"192.0.2.1", "ExpectMTU", UINT32_MAX, "expected a number from 68 to 65535"},
	{"2001:db8::1", "ExpectMTU", 1279, "ExpectMTU=1279: expected at least 1280 for IPv6"},
	{"192.0.2.1", "Flows", 0, "Flows=0: expected a number from 1 to 64"},
	{"192.0.2.1", "Flows", 65, "Flows=65: expected a number from 1 to 64"},
};

START_TEST(wrong_options)
{
	char large[400];

	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	for (unsigned i = 0; i < sizeof(wrong_texts) / sizeof(wrong_texts[0]); i++)
		assert_error(probe_text(wrong_texts[i].address, wrong_texts[i].option,
					wrong_texts[i].text),
			     SD_BUS_ERROR_INVALID_ARGS, wrong_texts[i].error);
	for (unsigned i = 0; i < sizeof(wrong_numbers) / sizeof(wrong_numbers[0]); i++)
		assert_error(probe_number(wrong_numbers[i].address, wrong_numbers[i].option,
					  wrong_numbers[i].number),
			     SD_BUS_ERROR_INVALID_ARGS, wrong_numbers[i].error);
	assert_error(probe_text("192.0.2.1", "Interface", large), SD_BUS_ERROR_INVALID_ARGS,
		     "expected the name of a link");
	ck_assert_uint_eq(world.probe_count, 0);
}
END_TEST

/* A call is kept while somebody is asked for a password: no user fills the daemon's memory by it. */
START_TEST(endless_texts)
{
	const size_t length = 1 << 20;
	char *blanks = malloc(length + 1);
	sd_bus_message *call;

	ck_assert_ptr_nonnull(blanks);
	memset(blanks, ' ', length);
	blanks[length] = '\0';
	assert_error(probe_plain(world.client, blanks), "org.mtuwatch1.BadAddress", "1024 bytes");
	memcpy(blanks, "eth0", 4);
	assert_error(probe_text("192.0.2.1", "Interface", blanks), SD_BUS_ERROR_INVALID_ARGS,
		     "Interface: expected no more than 1024 bytes");
	call = probe_call(world.client, "192.0.2.1");
	ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 2, "Flows", "u", 2U, "Flows", "u", 2U), 0);
	assert_error(call, SD_BUS_ERROR_INVALID_ARGS, "Flows is given twice");
	call = world_message(world.client, "/org/mtuwatch1", MANAGER, "Release");
	ck_assert_int_ge(sd_bus_message_append(call, "s", blanks), 0);
	assert_error(call, "org.mtuwatch1.NoSuchPeer", "so long a name");
	ck_assert_uint_eq(world.probe_count, 0);
	free(blanks);
}
END_TEST

START_TEST(refused)
{
	sd_bus_message *reply;

	world.probe_error = -EBUSY;
	assert_error(probe_plain(world.client, "192.0.2.1"), "org.mtuwatch1.RateLimited", "later");
	world.probe_error = -EADDRINUSE;
	assert_error(probe_plain(world.client, "192.0.2.1"), "org.mtuwatch1.BadAddress",
		     "this host's own");
	world.probe_error = -EADDRNOTAVAIL;
	assert_error(probe_plain(world.client, "192.0.2.255"), "org.mtuwatch1.BadAddress",
		     "this one is broadcast");
	world.probe_error = 0;
	reply = world_ask(&world, world.client, probe_plain(world.client, "192.0.2.1"));
	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_uint_eq(world.probe_count, 4);
	sd_bus_message_unref(reply);
}
END_TEST

START_TEST(others_may_not)
{
	sd_bus *other = world_connect(&world, NOBODY);
	sd_bus_message *reply = world_ask(&world, other, probe_plain(other, "192.0.2.1"));

	ck_assert_str_eq(error_name(reply), SD_BUS_ERROR_ACCESS_DENIED);
	ck_assert_ptr_nonnull(strstr(error_text(reply), "org.mtuwatch1.probe"));
	sd_bus_message_unref(reply);
	/* a slip is told to everybody, and nobody is asked for a password */
	reply = world_ask(&world, other, probe_plain(other, "224.0.0.1"));
	ck_assert_str_eq(error_name(reply), "org.mtuwatch1.BadAddress");
	sd_bus_message_unref(reply);
	ck_assert_uint_eq(world.probe_count, 0);
	sd_bus_close_unref(other);
}
END_TEST

static int answer_ignored(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	return 0;
}

START_TEST(caller_that_leaves)
{
	sd_bus *leaving = world_connect(&world, getuid());
	sd_bus_message *call = probe_plain(leaving, "192.0.2.1");

	world.hold = true;
	ck_assert_int_ge(sd_bus_call_async(leaving, NULL, call, answer_ignored, NULL, 0), 0);
	sd_bus_message_unref(call);
	WORLD_UNTIL(&world, world.held_count == 1);
	sd_bus_detach_event(leaving);
	sd_bus_close_unref(leaving);
	WORLD_UNTIL(&world, world.gone_count == 1);
	ck_assert_uint_eq(world.held_count, 0);
}
END_TEST

START_TEST(answered_later)
{
	struct answer_box box = {};
	sd_bus_message *call = probe_number("198.51.100.7", "ExpectMTU", 3000);
	unsigned entries;

	world.hold = true;
	ck_assert_int_ge(sd_bus_call_async(world.client, NULL, call, world_on_answer, &box, 0), 0);
	sd_bus_message_unref(call);
	WORLD_UNTIL(&world, world.held_count == 1);
	ck_assert_ptr_null(box.message);
	world_answer_probe(&world, world.held[--world.held_count]);
	WORLD_UNTIL(&world, box.message);
	ck_assert_uint_eq(dictionary_u32(box.message, "ReturnMTU", &entries), 3000);
	sd_bus_message_unref(box.message);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-probe");
	TCase *served = tcase_create("served");
	SRunner *runner;
	int failed;

	if (getuid() != 0) {
		puts("1..0 # SKIP must be root: who a caller is decides what it may");
		return EXIT_SUCCESS;
	}
	tcase_add_checked_fixture(served, open_world, close_world);
	tcase_set_timeout(served, 100);
	tcase_add_test(served, all_options);
	tcase_add_test(served, name_without_options);
	tcase_add_test(served, no_address);
	tcase_add_test(served, wrong_options);
	tcase_add_test(served, endless_texts);
	tcase_add_test(served, refused);
	tcase_add_test(served, others_may_not);
	tcase_add_test(served, caller_that_leaves);
	tcase_add_test(served, answered_later);
	suite_add_tcase(suite, served);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
