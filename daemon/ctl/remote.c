/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection and calls over it. Why a call failed is turned into words in complaint.c.
 */
#include "remote_inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define TURN_USEC (200 * USEC_PER_MSEC)

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

bool remote_ask(struct remote *remote)
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

int remote_turn(struct remote *remote)
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

int remote_judge(struct remote *remote, sd_bus_message *reply)
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
		r = remote_judge(remote, waiting.reply);
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

int remote_properties_call(struct remote *remote, const char *path, const char *member,
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
	int r = remote_properties_call(remote, BUS_ROOT, "Get", &call);

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
	int r = remote_properties_call(remote, path, "GetAll", &call);

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
