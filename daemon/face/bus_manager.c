/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * org.mtuwatch1.Manager: lists, checks, reload, and the state of the whole. Measures nothing
 * itself: a check is handed to the owner of the rounds and answered when it is done.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "report.h"
#include "sentence.h"
#include "words.h"

static inline void message_free(sd_bus_message **message)
{
	sd_bus_message_unref(*message);
}
#define _free_message_ __attribute__((cleanup(message_free)))

#define NAME_DISTANCE_LARGEST 3

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters have to be typed differently (Levenshtein). */
static unsigned name_distance(const char *a, const char *b)
{
	unsigned row[PEER_NAME_LONGEST + 2], length = (unsigned)strlen(b);

	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (unsigned j = 0; j < length; j++) {
			unsigned cost = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = least(cost, least(row[j], row[j + 1]) + 1);
		}
	}
	return row[length];
}

static const struct peer *peer_nearest(const struct roster *roster, const char *name)
{
	const struct peer *nearest = NULL;
	size_t length = strlen(name);
	unsigned best;

	if (length > PEER_NAME_LONGEST)
		return NULL;
	/* a name of which half is different is another one */
	best = least(NAME_DISTANCE_LARGEST, (unsigned)length / 2) + 1;
	for (unsigned i = 0; i < roster->peer_count; i++) {
		size_t other = strlen(roster->peers[i]->name);
		unsigned distance;

		if (other + NAME_DISTANCE_LARGEST < length ||
		    length + NAME_DISTANCE_LARGEST < other)
			continue;
		distance = name_distance(name, roster->peers[i]->name);
		if (distance >= best)
			continue;
		best = distance;
		nearest = roster->peers[i];
	}
	return nearest;
}

static int no_such_peer(const struct bus *bus, const char *name, sd_bus_error *error)
{
	const struct peer *nearest = peer_nearest(bus->roster, name);

	if (nearest)
		return sd_bus_error_setf(error, BUS_NAME ".NoSuchPeer",
					 "There is no peer \"%s\"; did you mean \"%s\"?", name,
					 nearest->name);
	return sd_bus_error_setf(error, BUS_NAME ".NoSuchPeer", "There is no peer \"%s\"", name);
}

/* The peer's name in a call of Check, "" in one of CheckAll. */
static const char *check_peer_name(struct bus_check *check)
{
	const char *name = "";

	sd_bus_message_rewind(check->call, true);
	if (!sd_bus_message_has_signature(check->call, "s") ||
	    sd_bus_message_read(check->call, "s", &name) < 0)
		return "";
	return name;
}

int bus_check_wait(struct bus_check *check, sd_bus_error *error)
{
	struct bus *bus = check->bus;

	if (bus->waiting >= (check->caller->uid == 0 ? BUS_WAITING_LARGEST : BUS_WAITING_OTHERS))
		return sd_bus_error_setf(error, BUS_NAME ".Busy",
					 "%u checks are waiting already; try again later",
					 bus->waiting);
	check->stage = CHECK_WAITING;
	bus->waiting++;
	return 0;
}

static int bus_check_begin(struct bus_check *check, struct peer *peer, sd_bus_error *error)
{
	struct bus *bus = check->bus;
	int r = bus_check_wait(check, error);

	if (r < 0)
		return r;
	bus->handlers.check(check, peer, bus->userdata); /* may have ended the check */
	return 1;
}

static int check_allowed(struct bus_check *check, sd_bus_error *error)
{
	const char *name = check_peer_name(check);
	struct peer *peer = roster_peer(check->bus->roster, name);

	if (!peer)
		return no_such_peer(check->bus, name, error);
	return bus_check_begin(check, peer, error);
}

static int check_all_allowed(struct bus_check *check, sd_bus_error *error)
{
	return bus_check_begin(check, NULL, error);
}

static int bus_check_answer(struct bus_check *check, const struct peer *peer)
{
	_free_message_ sd_bus_message *reply = NULL;
	int r;

	r = sd_bus_message_new_method_return(check->call, &reply);
	if (r < 0)
		return r;
	r = bus_append_peer(reply, peer);
	if (r < 0)
		return r;
	return sd_bus_message_send(reply);
}

/* The peer may have gone while it was checked. */
static int bus_check_finish(struct bus_check *check, sd_bus_error *error)
{
	const struct roster *roster = check->bus->roster;
	const char *name = check_peer_name(check);
	const struct peer *peer = roster_peer(roster, name);

	if (sd_bus_message_is_method_call(check->call, BUS_MANAGER, "CheckAll") > 0)
		return bus_whole_checked(check->bus, check->call, error);
	return peer ? bus_check_answer(check, peer) : no_such_peer(check->bus, name, error);
}

void bus_check_done(struct bus_check *check)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	r = bus_check_finish(check, &error);
	if (r < 0 && sd_bus_error_is_set(&error))
		sd_bus_reply_method_error(check->call, &error);
	else if (r < 0)
		sd_bus_reply_method_errno(check->call, r, NULL);
	sd_bus_error_free(&error);
	bus_check_free(check);
}

void bus_check_done_peer(struct bus_check *check, const struct peer *peer)
{
	int r = bus_check_answer(check, peer);

	if (r < 0)
		sd_bus_reply_method_errno(check->call, r, NULL);
	bus_check_free(check);
}

/* A wrong name is told before anybody is asked for a password. */
static int method_check(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	const char *name;
	int r;

	r = sd_bus_message_read(call, "s", &name);
	if (r < 0)
		return r;
	if (!roster_peer(bus->roster, name))
		return no_such_peer(bus, name, error);
	return bus_authorize(bus, call, BUS_NAME ".check", check_allowed, error);
}

static int method_check_all(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	return bus_authorize(userdata, call, BUS_NAME ".check", check_all_allowed, error);
}

static int list_peers(sd_bus_message *reply, const struct roster *roster)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(sos)");
	if (r < 0)
		return r;
	for (unsigned i = 0; i < roster->peer_count; i++) {
		const struct peer *peer = roster->peers[i];
		_free_text_ char *path = bus_peer_path(peer->name);

		if (!path)
			return -ENOMEM;
		r = sd_bus_message_append(reply, "(sos)", peer->name, path,
					  words_verdict(peer_verdict(peer)));
		if (r < 0)
			return r;
	}
	return sd_bus_message_close_container(reply);
}

static int list_links(sd_bus_message *reply, const struct roster *roster)
{
	int r;

	r = sd_bus_message_open_container(reply, 'a', "(suos)");
	if (r < 0)
		return r;
	for (unsigned i = 0; i < roster->link_count; i++) {
		const struct link_state *state = roster->links[i];
		_free_text_ char *path = bus_link_path(state->link.index);

		if (!path)
			return -ENOMEM;
		r = sd_bus_message_append(reply, "(suos)", state->link.name, state->link.mtu, path,
					  words_severity(link_state_severity(state)));
		if (r < 0)
			return r;
	}
	return sd_bus_message_close_container(reply);
}

static int answer_with(sd_bus_message *call, const struct roster *roster,
		       int (*list)(sd_bus_message *reply, const struct roster *roster))
{
	_free_message_ sd_bus_message *reply = NULL;
	int r;

	r = sd_bus_message_new_method_return(call, &reply);
	if (r < 0)
		return r;
	r = list(reply, roster);
	if (r < 0)
		return r;
	return sd_bus_message_send(reply);
}

static int method_list_peers(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	const struct bus *bus = userdata;

	return answer_with(call, bus->roster, list_peers);
}

static int method_list_links(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	const struct bus *bus = userdata;

	return answer_with(call, bus->roster, list_links);
}

static int reload_allowed(struct bus_check *check, sd_bus_error *error)
{
	struct bus *bus = check->bus;
	_free_text_ char *complaint = NULL;
	int r;

	r = bus->handlers.reload(&complaint, bus->userdata);
	if (r < 0)
		return sd_bus_error_set(error, BUS_NAME ".BadConfig",
					complaint ? complaint : strerror(-r));
	sd_bus_reply_method_return(check->call, NULL);
	return 0;
}

static int release_allowed(struct bus_check *check, sd_bus_error *error)
{
	struct bus *bus = check->bus;
	const char *name;
	int r;

	r = sd_bus_message_rewind(check->call, true);
	if (r >= 0)
		r = sd_bus_message_read(check->call, "s", &name);
	if (r < 0)
		return r;
	r = bus->handlers.release(name, bus->userdata);
	if (r == -ENOENT)
		return sd_bus_error_setf(error, BUS_NAME ".NoSuchPeer",
					 "there is no peer and no link \"%s\"", name);
	if (r < 0)
		return r;
	sd_bus_reply_method_return(check->call, NULL);
	return 0;
}

static int method_release(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	const char *name;
	int r = sd_bus_message_read(call, "s", &name);

	if (r < 0)
		return r;
	/* the call is kept while it waits */
	if (strlen(name) > PEER_NAME_LONGEST)
		return sd_bus_error_set(error, BUS_NAME ".NoSuchPeer",
					"no peer and no link has so long a name");
	return bus_authorize(userdata, call, BUS_NAME ".manage", release_allowed, error);
}

static int method_reload(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	return bus_authorize(userdata, call, BUS_NAME ".manage", reload_allowed, error);
}

struct bus_totals bus_totals_now(const struct bus *bus)
{
	const struct roster *roster = bus->roster;

	return (struct bus_totals){
		.verdict = roster_verdict(roster),
		.severity = roster_severity(roster),
		.peers = roster->peer_count,
		.peers_faulty = roster_peers_faulty(roster),
		.links = roster->link_count,
		.clamped = roster_clamped(roster),
		.links_faulty = roster_links_faulty(roster),
	};
}

static int get_text(sd_bus *connection, const char *path, const char *interface,
		    const char *property, sd_bus_message *reply, void *userdata,
		    sd_bus_error *error)
{
	const struct roster *roster = ((const struct bus *)userdata)->roster;
	const char *text = VERSION;

	if (strcmp(property, "Verdict") == 0)
		text = words_verdict(roster_verdict(roster));
	else if (strcmp(property, "Severity") == 0)
		text = words_severity(roster_severity(roster));
	return sd_bus_message_append(reply, "s", text);
}

static int get_count(sd_bus *connection, const char *path, const char *interface,
		     const char *property, sd_bus_message *reply, void *userdata,
		     sd_bus_error *error)
{
	const struct roster *roster = ((const struct bus *)userdata)->roster;
	unsigned count = 0;

	if (strcmp(property, "Peers") == 0)
		count = roster->peer_count;
	else if (strcmp(property, "PeersFaulty") == 0)
		count = roster_peers_faulty(roster);
	else if (strcmp(property, "Links") == 0)
		count = roster->link_count;
	else if (strcmp(property, "LinksFaulty") == 0)
		count = roster_links_faulty(roster);
	else if (strcmp(property, "Clamped") == 0)
		count = roster_clamped(roster);
	return sd_bus_message_append(reply, "u", count);
}

#define SIGNALLED SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
/* who may is our own question to polkit, not sd-bus's */
#define EVERYBODY SD_BUS_VTABLE_UNPRIVILEGED

static const sd_bus_vtable manager_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD_WITH_ARGS("Check", SD_BUS_ARGS("s", peer), SD_BUS_RESULT("a{sv}", result),
				method_check, EVERYBODY),
	SD_BUS_METHOD_WITH_ARGS("CheckAll", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sa{sv}}", results),
				method_check_all, EVERYBODY),
	SD_BUS_METHOD_WITH_ARGS("Probe", SD_BUS_ARGS("s", address, "a{sv}", options),
				SD_BUS_RESULT("a{sv}", result), bus_method_probe, EVERYBODY),
	SD_BUS_METHOD_WITH_ARGS("ListPeers", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(sos)", peers),
				method_list_peers, EVERYBODY),
	SD_BUS_METHOD_WITH_ARGS("ListLinks", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(suos)", links),
				method_list_links, EVERYBODY),
	SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_ARGS("s", peer_or_link), SD_BUS_NO_RESULT,
				method_release, EVERYBODY),
	SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_reload,
				EVERYBODY),
	SD_BUS_METHOD_WITH_ARGS("Describe", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", json),
				bus_method_describe, EVERYBODY),
	SD_BUS_SIGNAL_WITH_ARGS(
		"VerdictChanged",
		SD_BUS_ARGS("s", peer, "o", object, "s", before, "s", after, "a{sv}", details), 0),
	SD_BUS_PROPERTY("Version", "s", get_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_PROPERTY("Verdict", "s", get_text, 0, SIGNALLED),
	SD_BUS_PROPERTY("Severity", "s", get_text, 0, SIGNALLED),
	SD_BUS_PROPERTY("Peers", "u", get_count, 0, SIGNALLED),
	SD_BUS_PROPERTY("PeersFaulty", "u", get_count, 0, SIGNALLED),
	SD_BUS_PROPERTY("Links", "u", get_count, 0, SIGNALLED),
	SD_BUS_PROPERTY("LinksFaulty", "u", get_count, 0, SIGNALLED),
	SD_BUS_PROPERTY("Clamped", "u", get_count, 0, SIGNALLED),
	SD_BUS_VTABLE_END,
};

int bus_manager_add(struct bus *bus)
{
	int r;

	r = sd_bus_add_object_vtable(bus->connection, NULL, BUS_ROOT, BUS_MANAGER, manager_vtable,
				     bus);
	if (r < 0)
		return r;
	return sd_bus_add_object_manager(bus->connection, NULL, BUS_ROOT);
}

int bus_send_verdict(struct bus *bus, const struct peer *peer, const struct path *path,
		     enum verdict before)
{
	_free_message_ sd_bus_message *message = NULL;
	_free_text_ char *object = bus_peer_path(peer->name);
	int r;

	if (!object)
		return -ENOMEM;
	r = sd_bus_message_new_signal(bus->connection, &message, BUS_ROOT, BUS_MANAGER,
				      "VerdictChanged");
	if (r < 0)
		return r;
	r = sd_bus_message_append(message, "soss", peer->name, object, words_verdict(before),
				  words_verdict(path->announced.verdict));
	if (r < 0)
		return r;
	r = bus_append_path(message, peer, path);
	if (r < 0)
		return r;
	return sd_bus_message_send(message);
}
