/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection and calls over it. Why a call failed is turned into words in complaint.c.
 */
#include "remote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define LONG_USEC (120 * USEC_PER_SEC) /* the daemon answers a check within 100 s */
#define TURN_USEC (200 * USEC_PER_MSEC)

#define CHECKS_AT_ONCE 32 /* the daemon has room for 64 callers */

int remote_open(struct remote *ret, const struct command *command)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->at_other_host = command->host != NULL;
	r = command->host ? sd_bus_open_system_remote(&ret->bus, command->host)
			  : sd_bus_open_system(&ret->bus);
	if (r < 0) {
		ret->broken = true;
		return remote_failed(ret, r, NULL);
	}
	ret->may_ask = command->verb->asks && !command->no_ask_password && isatty(STDIN_FILENO);
	progress_begin(&ret->progress);
	return 0;
}

void remote_done(struct remote *remote)
{
	progress_end(&remote->progress);
	agent_close(remote->agent);
	remote->agent = 0;
	remote->bus = sd_bus_flush_close_unref(remote->bus);
	free(remote->words);
	remote->words = NULL;
}

/* Whether it is worth another try: somebody can be asked for the password that the last call failed
 * for. Whether there is one who asks is not known before. */
static bool remote_ask(struct remote *remote)
{
	if (!remote->may_ask || !remote->locked)
		return false;
	remote->may_ask = false;
	/* the other host's polkit asks there */
	if (!remote->at_other_host)
		remote->agent = agent_open();
	sd_bus_set_allow_interactive_authorization(remote->bus, true);
	/* the question stands on the same line */
	remote->progress.wanted = false;
	return true;
}

int remote_new_call(struct remote *remote, const char *member, sd_bus_message **ret)
{
	int r = sd_bus_message_new_method_call(remote->bus, ret, BUS_NAME, BUS_ROOT, BUS_MANAGER,
					       member);

	return r < 0 ? remote_failed(remote, r, member) : 0;
}

int remote_call(struct remote *remote, const char *member, sd_bus_message **ret_reply,
		const char *types, ...)
{
	_drop_message_ sd_bus_message *call = NULL;
	va_list arguments;
	int r = remote_new_call(remote, member, &call);

	if (r < 0)
		return r;
	va_start(arguments, types);
	r = types ? sd_bus_message_appendv(call, types, arguments) : 0;
	va_end(arguments);
	return r < 0 ? remote_failed(remote, r, member) : remote_send(remote, call, ret_reply);
}

/* --- calls that take their time --- */

struct waiting {
	struct remote *remote;
	sd_bus_message *reply;
	bool over;
};

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct waiting *waiting = userdata;

	waiting->reply = sd_bus_message_ref(reply);
	waiting->over = true;
	return 0;
}

/* One turn of the connection. */
static int remote_turn(struct remote *remote)
{
	int r = sd_bus_process(remote->bus, NULL);

	if (r == 0)
		r = sd_bus_wait(remote->bus, TURN_USEC);
	if (r == -EINTR)
		r = 0;
	if (r < 0) {
		remote->broken = true;
		remote_failed(remote, r, NULL);
	}
	return r;
}

static int reply_judge(struct remote *remote, sd_bus_message *reply)
{
	if (!sd_bus_message_is_method_error(reply, NULL)) {
		remote->answered = true;
		return 0;
	}
	remote_explain(remote, sd_bus_message_get_error(reply), sd_bus_message_get_sender(reply),
		       -sd_bus_message_get_errno(reply));
	return -sd_bus_message_get_errno(reply);
}

static int send_once(struct remote *remote, sd_bus_message *call, sd_bus_message **ret_reply)
{
	struct waiting waiting = {.remote = remote};
	sd_bus_slot *slot = NULL;
	const char *member = sd_bus_message_get_member(call);
	int r = sd_bus_call_async(remote->bus, &slot, call, on_reply, &waiting, LONG_USEC);

	if (r < 0)
		remote_failed(remote, r, member);
	while (r >= 0 && !waiting.over) {
		progress_show(&remote->progress, "waiting for the answer", 0, 0);
		r = remote_turn(remote);
	}
	sd_bus_slot_unref(slot);
	progress_end(&remote->progress);
	if (r >= 0)
		r = reply_judge(remote, waiting.reply);
	if (r >= 0 && ret_reply)
		*ret_reply = sd_bus_message_ref(waiting.reply);
	sd_bus_message_unref(waiting.reply);
	return r < 0 ? r : 0;
}

/* A message that was sent cannot be sent again. */
static int message_copy(sd_bus *bus, sd_bus_message *call, sd_bus_message **ret)
{
	int r = sd_bus_message_new_method_call(bus, ret, sd_bus_message_get_destination(call),
					       sd_bus_message_get_path(call),
					       sd_bus_message_get_interface(call),
					       sd_bus_message_get_member(call));

	if (r >= 0)
		r = sd_bus_message_rewind(call, true);
	return r < 0 ? r : sd_bus_message_copy(*ret, call, true);
}

int remote_send(struct remote *remote, sd_bus_message *call, sd_bus_message **ret_reply)
{
	_drop_message_ sd_bus_message *again = NULL;
	int r = send_once(remote, call, ret_reply);

	if (r >= 0 || !remote_ask(remote))
		return r;
	r = message_copy(remote->bus, call, &again);
	if (r < 0)
		return remote_failed(remote, r, sd_bus_message_get_member(call));
	return send_once(remote, again, ret_reply);
}

/* --- questions --- */

int remote_describe(struct remote *remote, struct json_object **ret)
{
	_drop_message_ sd_bus_message *reply = NULL;
	const char *text;
	int r = remote_call(remote, "Describe", &reply, NULL);

	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "s", &text);
	if (r < 0)
		return remote_failed(remote, r, "Describe");
	r = document_from_text(text, ret);
	return r < 0 ? remote_failed(remote, r, "Describe") : 0;
}

static int properties_call(struct remote *remote, const char *path, const char *member,
			   sd_bus_message **ret)
{
	int r = sd_bus_message_new_method_call(remote->bus, ret, BUS_NAME, path,
					       "org.freedesktop.DBus.Properties", member);

	return r < 0 ? remote_failed(remote, r, member) : 0;
}

int remote_version(struct remote *remote, char **ret)
{
	_drop_message_ sd_bus_message *call = NULL, *reply = NULL;
	const char *version;
	int r = properties_call(remote, BUS_ROOT, "Get", &call);

	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "ss", BUS_MANAGER, "Version");
	if (r < 0)
		return remote_failed(remote, r, "Version");
	r = remote_send(remote, call, &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "v", "s", &version);
	if (r >= 0 && !(*ret = strdup(version)))
		r = -ENOMEM;
	return r < 0 ? remote_failed(remote, r, "Version") : 0;
}

int remote_properties(struct remote *remote, const char *path, const char *interface,
		      struct json_object **ret)
{
	_drop_message_ sd_bus_message *call = NULL, *reply = NULL;
	int r = properties_call(remote, path, "GetAll", &call);

	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "s", interface);
	if (r < 0)
		return remote_failed(remote, r, "GetAll");
	r = remote_send(remote, call, &reply);
	if (r < 0)
		return r;
	r = document_from_message(reply, ret);
	return r < 0 ? remote_failed(remote, r, "GetAll") : 0;
}

/* --- checks, many at the same time --- */

struct checking {
	struct remote *remote;
	char *const *names;
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
	int r = reply_judge(checking->remote, reply);

	if (r >= 0) {
		r = document_from_message(reply, &checking->peers[slot->place]);
		if (r < 0)
			remote_failed(checking->remote, r, "Check");
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

static int checking_begin(struct checking *checking, unsigned place)
{
	_drop_message_ sd_bus_message *call = NULL;
	struct remote *remote = checking->remote;
	int r = remote_new_call(remote, "Check", &call);

	if (r < 0)
		return r;
	checking->slots[place] = (struct checking_slot){checking, place};
	r = sd_bus_message_append(call, "s", checking->names[place]);
	if (r >= 0)
		r = sd_bus_call_async(remote->bus, NULL, call, on_checked, &checking->slots[place],
				      check_usec(remote));
	return r < 0 ? remote_failed(remote, r, "Check") : 0;
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

int remote_check(struct remote *remote, char *const *names, unsigned count,
		 struct json_object **ret_peers)
{
	struct checking checking = {.remote = remote, .names = names, .peers = ret_peers};
	int r;

	memset(ret_peers, 0, count * sizeof(*ret_peers));
	checking.slots = calloc(count, sizeof(*checking.slots));
	if (!checking.slots)
		return remote_failed(remote, -ENOMEM, NULL);
	progress_begin(&remote->progress);
	r = checking_run(&checking, count);
	if (r < 0 && checking.done == checking.begun && remote_ask(remote)) {
		checking_again(&checking, count);
		r = checking_run(&checking, count);
	}
	/* answers that still come have nowhere to go */
	if (checking.done < checking.begun)
		remote->bus = sd_bus_close_unref(remote->bus);
	free(checking.slots);
	return r;
}

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

int remote_check_all(struct remote *remote, struct json_object **ret)
{
	_drop_message_ sd_bus_message *reply = NULL;
	_drop_ struct json_object *peers = json_object_new_array();
	int r = remote_call(remote, "CheckAll", &reply, NULL);

	if (r < 0)
		return r;
	r = peers ? all_read(reply, peers) : -ENOMEM;
	if (r < 0)
		return remote_failed(remote, r, "CheckAll");
	*ret = json_object_get(peers);
	return 0;
}
