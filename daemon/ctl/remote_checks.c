/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks over the connection, as many at a time as the daemon takes of one user.
 */
#include "remote_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHECKS_AT_ONCE 32 /* the daemon takes no more of one user */

/* --- checks, many at the same time --- */

struct checking {
	struct remote *remote;
	char *const *names; /* of peers, or where they are only read, of their objects */
	bool reading;
	struct json_object **peers;
	struct checking_slot *slots;
	unsigned begun, done;
	bool asked; /* for a password: once, before all others are sent */
	int error;  /* the first */
};

struct checking_slot {
	struct checking *checking;
	unsigned place;
};

static int on_checked(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct checking_slot *slot = userdata;
	struct checking *checking = slot->checking;
	int r = remote_judge(checking->remote, reply);

	if (r >= 0) {
		r = document_from_message(reply, &checking->peers[slot->place]);
		if (r < 0)
			remote_failed(checking->remote, r, checking->reading ? "GetAll" : "Check");
	} else if (checking->reading && checking->remote->absent) {
		r = 0; /* it went since it was listed */
	}
	if (r < 0 && checking->error == 0)
		checking->error = r;
	checking->done++;
	return 0;
}

/* How long a check may take; not 0, which would mean the library's own default. */
static uint64_t check_usec(const struct remote *remote)
{
	uint64_t now = progress_now();

	if (remote->deadline_usec == 0 || remote->deadline_usec > now + LONG_USEC)
		return LONG_USEC;
	return remote->deadline_usec > now ? remote->deadline_usec - now : 1;
}

static int checking_call(struct checking *checking, const char *name, sd_bus_message **ret)
{
	int r;

	if (!checking->reading) {
		r = remote_new_call(checking->remote, "Check", ret);
		return r < 0 ? r : sd_bus_message_append(*ret, "s", name);
	}
	r = remote_properties_call(checking->remote, name, "GetAll", ret);
	return r < 0 ? r : sd_bus_message_append(*ret, "s", BUS_NAME ".Peer");
}

static int checking_begin(struct checking *checking, unsigned place)
{
	_drop_message_ sd_bus_message *call = NULL;
	struct remote *remote = checking->remote;
	int r = checking_call(checking, checking->names[place], &call);

	checking->slots[place] = (struct checking_slot){checking, place};
	if (r >= 0)
		r = sd_bus_call_async(remote->bus, NULL, call, on_checked, &checking->slots[place],
				      check_usec(remote));
	return r < 0 ? remote_failed(remote, r, checking->reading ? "GetAll" : "Check") : 0;
}

static bool checking_has_room(const struct checking *checking)
{
	unsigned most = checking->asked && checking->done == 0 ? 1 : CHECKS_AT_ONCE;

	return checking->begun - checking->done < most;
}

static int checking_run(struct checking *checking, unsigned count)
{
	int r = 0;

	while (r >= 0 && checking->done < count) {
		while (r >= 0 && checking->begun < count && checking_has_room(checking))
			r = checking_begin(checking, checking->begun++);
		if (r >= 0)
			r = remote_turn(checking->remote);
		progress_show(&checking->remote->progress, "checking", checking->done, count);
	}
	progress_end(&checking->remote->progress);
	return r < 0 ? r : checking->error;
}

static void checking_again(struct checking *checking, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		json_object_put(checking->peers[i]);
		checking->peers[i] = NULL;
	}
	checking->begun = checking->done = 0;
	checking->error = 0;
	checking->asked = true;
}

static int checking_do(struct checking *checking, unsigned count)
{
	struct remote *remote = checking->remote;
	int r;

	memset(checking->peers, 0, count * sizeof(*checking->peers));
	checking->slots = calloc(count, sizeof(*checking->slots));
	if (!checking->slots)
		return remote_failed(remote, -ENOMEM, NULL);
	progress_begin(&remote->progress);
	r = checking_run(checking, count);
	if (r < 0 && checking->done == checking->begun && remote_ask(remote)) {
		checking_again(checking, count);
		r = checking_run(checking, count);
	}
	/* answers that still come have nowhere to go */
	if (checking->done < checking->begun)
		remote->bus = sd_bus_close_unref(remote->bus);
	free(checking->slots);
	return r;
}

int remote_check(struct remote *remote, char *const *names, unsigned count,
		 struct json_object **ret_peers)
{
	struct checking checking = {.remote = remote, .names = names, .peers = ret_peers};

	return checking_do(&checking, count);
}

/* --- checks of all --- */

static int all_read(sd_bus_message *reply, struct json_object *peers)
{
	int r = sd_bus_message_enter_container(reply, 'a', "{sa{sv}}");

	while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sa{sv}")) > 0) {
		struct json_object *peer = NULL;

		r = sd_bus_message_skip(reply, "s");
		if (r >= 0)
			r = document_from_message(reply, &peer);
		if (r >= 0)
			r = document_append(peers, peer);
		if (r >= 0)
			r = sd_bus_message_exit_container(reply);
	}
	return r;
}

static void objects_free(char **objects, unsigned count)
{
	while (count > 0)
		free(objects[--count]);
	free(objects);
}

static int objects_read(sd_bus_message *reply, char ***objects, unsigned *count)
{
	const char *object;
	int r = sd_bus_message_enter_container(reply, 'a', "(sos)");

	while (r >= 0 && (r = sd_bus_message_read(reply, "(sos)", NULL, &object, NULL)) > 0) {
		char **more = reallocarray(*objects, *count + 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		*objects = more;
		more[*count] = strdup(object);
		if (!more[*count])
			return -ENOMEM;
		++*count;
	}
	return r;
}

static int peers_read(struct remote *remote, char *const *objects, unsigned count,
		      struct json_object *peers)
{
	struct checking checking = {.remote = remote, .names = objects, .reading = true};
	int r;

	checking.peers = calloc(count, sizeof(*checking.peers));
	if (!checking.peers)
		return remote_failed(remote, -ENOMEM, NULL);
	r = checking_do(&checking, count);
	for (unsigned i = 0; i < count; i++)
		if (checking.peers[i] && document_append(peers, checking.peers[i]) < 0)
			r = remote_failed(remote, -ENOMEM, NULL);
	free(checking.peers);
	return r;
}

/* They are measured, and no message holds them all. */
static int each_read(struct remote *remote, struct json_object *peers)
{
	_drop_message_ sd_bus_message *reply = NULL;
	unsigned count = 0;
	char **objects = NULL;
	int r = remote_call(remote, "ListPeers", &reply, NULL);

	if (r < 0)
		return r;
	r = objects_read(reply, &objects, &count);
	if (r < 0)
		remote_failed(remote, r, "ListPeers");
	else if (count > 0)
		r = peers_read(remote, objects, count, peers);
	objects_free(objects, count);
	return r;
}

int remote_check_all(struct remote *remote, struct json_object **ret)
{
	_drop_message_ sd_bus_message *reply = NULL;
	_drop_ struct json_object *peers = json_object_new_array();
	int r = peers ? 0 : remote_failed(remote, -ENOMEM, NULL);

	if (r < 0)
		return r;
	r = remote_call(remote, "CheckAll", &reply, NULL);
	if (r < 0 && remote->large) {
		r = each_read(remote, peers);
	} else if (r >= 0) {
		r = all_read(reply, peers);
		if (r < 0)
			remote_failed(remote, r, "CheckAll");
	}
	if (r >= 0)
		*ret = json_object_get(peers);
	return r < 0 ? r : 0;
}
