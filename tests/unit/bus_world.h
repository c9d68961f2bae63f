/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A private bus with a real dbus-daemon, our side of it on the sample's roster, and a client, all
 * on one event loop.
 */
#pragma once

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/face/bus.h"
#include "../../daemon/face/report.h"
#include "example.h"

#define HELD_LARGEST 80
#define NOBODY 65534
#define MANAGER "org.mtuwatch1.Manager"

struct world {
	char folder[64];
	char address[96];
	pid_t daemon;
	sd_event *event;
	struct example sample;
	struct journal journal;
	struct bus *bus;
	sd_bus *client;

	/* what the bus asked of us */
	bool hold; /* checks are kept in `held` instead of being answered at once */
	struct bus_check *held[HELD_LARGEST];
	unsigned held_count, gone_count, check_count, reload_count, release_count;
	char released[64];
	struct peer *asked;
	struct config_peer probed; /* what was asked for; its host is only whether there is one */
	unsigned probe_count;
	int probe_error;           /* what the next probe is answered by; 0 it is measured */
	const char *complaint; /* NULL: reload succeeds */
};

static inline uint64_t world_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Turns the loop until the condition holds; fails the test after a minute. */
#define WORLD_UNTIL(world, condition)                                                              \
	do {                                                                                       \
		uint64_t _end = world_now() + 60 * USEC_PER_SEC;                                   \
		while (!(condition)) {                                                             \
			ck_assert_msg(world_now() < _end, "waited in vain for %s", #condition);    \
			ck_assert_int_ge(sd_event_run((world)->event, 20000), 0);                  \
		}                                                                                  \
	} while (0)

/* `own`: who may have a name there, "*" everybody. */
static inline void world_config(const struct world *world, const char *own)
{
	char path[96];
	FILE *out;

	snprintf(path, sizeof(path), "%s/bus.conf", world->folder);
	out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	fprintf(out,
		"<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\""
		" \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
		"<busconfig><type>system</type><listen>%s</listen><auth>EXTERNAL</auth>"
				"<policy context=\"default\"><allow user=\"*\"/><allow own=\"%s\"/>"
		"<allow send_destination=\"*\"/><allow "
		"receive_sender=\"*\"/></policy></busconfig>\n",
		world->address, own);
	fclose(out);
}

/* Returns when it answers. */
static inline void world_daemon_start(struct world *world)
{
	char option[128], line[16];
	int ready[2];

	ck_assert_int_eq(pipe2(ready, 0), 0);
	world->daemon = fork();
	ck_assert_int_ge(world->daemon, 0);
	if (world->daemon == 0) {
		char print[32];

		snprintf(option, sizeof(option), "--config-file=%s/bus.conf", world->folder);
		snprintf(print, sizeof(print), "--print-pid=%d", ready[1]);
		close(ready[0]);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile", print,
		       NULL);
		_exit(127);
	}
	close(ready[1]);
	ck_assert_msg(read(ready[0], line, sizeof(line)) > 0, "dbus-daemon did not start");
	close(ready[0]);
}

static inline void world_daemon_stop(struct world *world)
{
	kill(world->daemon, SIGKILL);
	waitpid(world->daemon, NULL, 0);
	unlink(world->address + strlen("unix:path="));
	world->daemon = 0;
}

static inline void world_on_check(struct bus_check *check, struct peer *peer, void *userdata)
{
	struct world *world = userdata;

	world->asked = peer;
	world->check_count++;
	if (!world->hold)
		bus_check_done(check);
	else
		world->held[world->held_count++] = check;
}

/* A peer that the roster does not have. */
static inline void world_answer_probe(struct world *world, struct bus_check *check)
{
	struct path path =
		example_path("198.51.100.7", "eth1", world->probed.settings.expect_mtu,
			     VERDICT_CONSISTENT);
	struct peer peer = {
		.name = "198.51.100.7", .origin = ORIGIN_REQUEST, .paths = &path, .path_count = 1};

	bus_check_done_peer(check, &peer);
}

static inline int world_on_probe(struct bus_check *check, const struct config_peer *request,
				 void *userdata)
{
	struct world *world = userdata;

	world->probed = *request;
	world->probe_count++;
	if (world->probe_error)
		return world->probe_error;
	if (world->hold)
		world->held[world->held_count++] = check;
	else
		world_answer_probe(world, check);
	return 0;
}

static inline void world_on_gone(struct bus_check *check, void *userdata)
{
	struct world *world = userdata;

	for (unsigned i = 0; i < world->held_count; i++)
		if (world->held[i] == check) {
			world->held[i] = world->held[--world->held_count];
			world->gone_count++;
			return;
		}
	ck_abort_msg("a check went that was never handed to us");
}

static inline int world_on_release(const char *name, void *userdata)
{
	struct world *world = userdata;

	if (strcmp(name, "nobody") == 0)
		return -ENOENT;
	if (strcmp(name, "stuck") == 0)
		return -ENOBUFS;
	world->release_count++;
	snprintf(world->released, sizeof(world->released), "%s", name);
	return 0;
}

static inline int world_on_reload(char **ret_error, void *userdata)
{
	struct world *world = userdata;

	world->reload_count++;
	if (!world->complaint)
		return 0;
	*ret_error = strdup(world->complaint);
	return -EINVAL;
}

static inline const struct bus_handlers *world_handlers(void)
{
	static const struct bus_handlers handlers = {
		.check = world_on_check,
		.probe = world_on_probe,
		.check_gone = world_on_gone,
		.reload = world_on_reload,
		.release = world_on_release};

	return &handlers;
}

static inline sd_bus *world_connect(struct world *world, uid_t uid)
{
	sd_bus *client;

	ck_assert_int_ge(sd_bus_new(&client), 0);
	ck_assert_int_ge(sd_bus_set_address(client, world->address), 0);
	ck_assert_int_ge(sd_bus_set_bus_client(client, 1), 0);
	/* how long a test may take is check's to say, also on a machine that is busy elsewhere */
	ck_assert_int_ge(sd_bus_set_method_call_timeout(client, 3600 * USEC_PER_SEC), 0);
	/* who a caller is, is settled at connect(2) */
	ck_assert_int_eq(seteuid(uid), 0);
	ck_assert_int_ge(sd_bus_start(client), 0);
	ck_assert_int_eq(seteuid(getuid()), 0);
	ck_assert_int_ge(sd_bus_attach_event(client, world->event, 0), 0);
	WORLD_UNTIL(world, sd_bus_is_ready(client) > 0);
	return client;
}

struct answer_box {
	sd_bus_message *message;
};

static inline int world_on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct answer_box *box = userdata;

	box->message = sd_bus_message_ref(message);
	return 0;
}

/* Sends the call (which it takes over) and turns the loop until its answer is there. */
static inline sd_bus_message *world_ask(struct world *world, sd_bus *client, sd_bus_message *call)
{
	struct answer_box box = {};

	ck_assert_int_ge(
		sd_bus_call_async(client, NULL, call, world_on_answer, &box, 60 * USEC_PER_SEC), 0);
	sd_bus_message_unref(call);
	WORLD_UNTIL(world, box.message);
	return box.message;
}

static inline sd_bus_message *world_message(sd_bus *client, const char *path, const char *interface,
					    const char *member)
{
	sd_bus_message *call;

	ck_assert_int_ge(sd_bus_message_new_method_call(client, &call, "org.mtuwatch1", path,
							interface, member),
			 0);
	return call;
}

static inline sd_bus_message *world_check(struct world *world, sd_bus *client, const char *peer)
{
	sd_bus_message *call = world_message(client, "/org/mtuwatch1", MANAGER, "Check");

	ck_assert_int_ge(sd_bus_message_append(call, "s", peer), 0);
	return world_ask(world, client, call);
}

static inline bool world_has_name(struct world *world, sd_bus *client)
{
	struct answer_box box = {};
	bool has;

	ck_assert_int_ge(sd_bus_call_method_async(client, NULL, "org.freedesktop.DBus",
						  "/org/freedesktop/DBus", "org.freedesktop.DBus",
						  "GetNameOwner", world_on_answer, &box, "s",
						  "org.mtuwatch1"),
			 0);
	WORLD_UNTIL(world, box.message);
	has = !sd_bus_message_is_method_error(box.message, NULL);
	sd_bus_message_unref(box.message);
	return has;
}

static inline void world_begin(struct world *world)
{
	memset(world, 0, sizeof(*world));
	strcpy(world->folder, "/tmp/mtuwatchd-bus-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(world->folder));
	ck_assert_int_eq(chmod(world->folder, 0755), 0);
	snprintf(world->address, sizeof(world->address), "unix:path=%s/bus", world->folder);
	world_config(world, "*");
	setenv("DBUS_SYSTEM_BUS_ADDRESS", world->address, 1);
	example_init(&world->sample);
	journal_init(&world->journal);
	journal_choose(&world->journal, true);
	ck_assert_int_ge(sd_event_new(&world->event), 0);
}

static inline void world_serve(struct world *world)
{
	ck_assert_int_eq(bus_new(&world->bus, world->event, &world->sample.roster, &world->journal,
				 world_handlers(), world),
			 0);
}

/* Returns when our side has seen all that came before: it answers in order. */
static inline void world_settle(struct world *world)
{
	sd_bus_message_unref(world_ask(world, world->client,
				       world_message(world->client, "/org/mtuwatch1",
						     "org.freedesktop.DBus.Peer", "Ping")));
}

static inline void world_open(struct world *world)
{
	world_begin(world);
	world_daemon_start(world);
	world_serve(world);
	world->client = world_connect(world, getuid());
	WORLD_UNTIL(world, world_has_name(world, world->client));
	world_settle(world);
}

static inline void world_close(struct world *world)
{
	char path[96];

	sd_bus_close_unref(world->client);
	bus_free(world->bus);
	sd_event_unref(world->event);
	journal_done(&world->journal);
	if (world->daemon > 0)
		world_daemon_stop(world);
	snprintf(path, sizeof(path), "%s/bus.conf", world->folder);
	unlink(path);
	rmdir(world->folder);
}

static inline const char *error_name(sd_bus_message *reply)
{
	const sd_bus_error *error = sd_bus_message_get_error(reply);

	return error ? error->name : "none";
}

static inline const char *error_text(sd_bus_message *reply)
{
	const sd_bus_error *error = sd_bus_message_get_error(reply);

	return error ? error->message : "";
}

/* The value of `key` in a dictionary a{sv} that the message stands before. */
static inline uint32_t dictionary_u32(sd_bus_message *message, const char *key,
				      unsigned *ret_entries)
{
	uint32_t found = UINT32_MAX;
	const char *name;

	*ret_entries = 0;
	ck_assert_int_gt(sd_bus_message_enter_container(message, 'a', "{sv}"), 0);
	while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
		ck_assert_int_gt(sd_bus_message_read(message, "s", &name), 0);
		if (strcmp(name, key) == 0)
			ck_assert_int_gt(sd_bus_message_read(message, "v", "u", &found), 0);
		else
			ck_assert_int_gt(sd_bus_message_skip(message, "v"), 0);
		ck_assert_int_ge(sd_bus_message_exit_container(message), 0);
		++*ret_entries;
	}
	ck_assert_int_ge(sd_bus_message_exit_container(message), 0);
	return found;
}

static inline unsigned peer_field_count(bool signalled, bool of_path)
{
	unsigned count = 0;

	for (const struct peer_field *field = report_peer_fields; field->name; field++)
		count += (!signalled || field->signalled) && (!of_path || field->of_path);
	return count;
}

static inline sd_bus_message *world_get(struct world *world, const char *path,
					const char *interface, const char *property)
{
	sd_bus_message *call =
		world_message(world->client, path, "org.freedesktop.DBus.Properties", "Get");

	ck_assert_int_ge(sd_bus_message_append(call, "ss", interface, property), 0);
	return world_ask(world, world->client, call);
}

static inline void assert_property_text(struct world *world, const char *path,
					const char *interface, const char *property,
					const char *expected)
{
	sd_bus_message *reply = world_get(world, path, interface, property);
	const char *text = NULL;

	ck_assert_str_eq(error_name(reply), "none");
	ck_assert_int_gt(sd_bus_message_read(reply, "v", "s", &text), 0);
	ck_assert_str_eq(text, expected);
	sd_bus_message_unref(reply);
}
