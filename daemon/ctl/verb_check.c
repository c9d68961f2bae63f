/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What makes the daemon send packets: check and probe; what came out of it, and the exit code.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "../face/config_parse.h"
#include "remote.h"
#include "show.h"

/* Takes `peers` over. */
static int show_result(const struct command *command, struct remote *remote,
		       struct json_object *peers)
{
	_drop_ struct json_object *document = NULL;
	char *version = NULL;
	int r = remote_version(remote, &version);

	if (r < 0) {
		json_object_put(peers);
		return remote_complain(remote, command);
	}
	document = document_new(version, peers, json_object_new_array());
	free(version);
	if (!document)
		r = -ENOMEM;
	else if (command->nagios)
		return show_nagios(document, stdout);
	else if (command->form != REPORT_TABLE)
		r = show_json(command, document);
	else
		r = show_peers(command, document);
	if (r < 0) {
		remote_failed(remote, -ENOMEM, NULL);
		return remote_complain(remote, command);
	}
	if (command->form == REPORT_TABLE && !command->no_legend)
		show_faults(command, document);
	return document_exit_code(document);
}

/* --- check --- */

static int check_some(struct remote *remote, const struct command *command,
		      struct json_object **ret)
{
	_drop_ struct json_object *peers = json_object_new_array();
	struct json_object **list = calloc(command->name_count, sizeof(*list));
	int r = list && peers ? 0 : remote_failed(remote, -ENOMEM, NULL);

	if (r >= 0)
		r = remote_check(remote, command->names, command->name_count, list);
	for (unsigned i = 0; list && i < command->name_count; i++)
		if (list[i] && document_append(peers, list[i]) < 0)
			r = remote_failed(remote, -ENOMEM, NULL);
	free(list);
	if (r >= 0)
		*ret = json_object_get(peers);
	return r;
}

int verb_check(const struct command *command)
{
	_drop_remote_ struct remote remote;
	struct json_object *peers = NULL;
	int r = remote_open(&remote, command);

	if (r >= 0)
		r = command->name_count > 0 ? check_some(&remote, command, &peers)
					    : remote_check_all(&remote, &peers);
	return r < 0 ? remote_complain(&remote, command) : show_result(command, &remote, peers);
}

/* --- probe --- */

/* The bounds are the daemon's; only what has no type on the bus is refused here. */
static int option_append(sd_bus_message *call, const struct probe_option *option)
{
	uint64_t number = 0;

	if (option->type == 's')
		return sd_bus_message_append(call, "{sv}", option->key, "s", option->text);
	if (value_number(option->text, &number) < 0 ||
	    number > (option->type == 'q' ? UINT16_MAX : UINT32_MAX))
		return -EDOM;
	if (option->type == 'q')
		return sd_bus_message_append(call, "{sv}", option->key, "q", (int)number);
	return sd_bus_message_append(call, "{sv}", option->key, "u", (uint32_t)number);
}

/* Several links are one option: names with blanks between them. */
static int links_append(sd_bus_message *call, const struct command *command)
{
	char text[PROBE_OPTIONS_LARGEST * (LINK_NAME_SIZE + 1)] = "";
	size_t length = 0;

	for (unsigned i = 0; i < command->probe_count; i++) {
		const struct probe_option *option = &command->probe[i];

		if (strcmp(option->key, "Interface") != 0)
			continue;
		if (strlen(option->text) >= LINK_NAME_SIZE)
			return -EDOM;
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   length ? " " : "", option->text);
	}
	return length ? sd_bus_message_append(call, "{sv}", "Interface", "s", text) : 0;
}

static int options_append(sd_bus_message *call, const struct command *command,
			  const struct probe_option **ret_wrong)
{
	int r = sd_bus_message_open_container(call, 'a', "{sv}");

	if (r >= 0)
		r = links_append(call, command);
	for (unsigned i = 0; r >= 0 && i < command->probe_count; i++) {
		*ret_wrong = &command->probe[i];
		if (strcmp(command->probe[i].key, "Interface") != 0)
			r = option_append(call, &command->probe[i]);
	}
	return r < 0 ? r : sd_bus_message_close_container(call);
}

static int probe_send(struct remote *remote, const struct command *command, sd_bus_message *call,
		      struct json_object **ret)
{
	_drop_message_ sd_bus_message *reply = NULL;
	struct json_object *peer = NULL;
	int r = remote_send(remote, call, &reply);

	if (r < 0)
		return r;
	r = document_from_message(reply, &peer);
	if (r < 0)
		return remote_failed(remote, r, "Probe");
	*ret = json_object_new_array();
	return document_append(*ret, peer) < 0 ? remote_failed(remote, -ENOMEM, NULL) : 0;
}

int verb_probe(const struct command *command)
{
	_drop_remote_ struct remote remote;
	_drop_message_ sd_bus_message *call = NULL;
	const struct probe_option *wrong = command->probe;
	struct json_object *peers = NULL;
	int r;

	if (remote_open(&remote, command) < 0 || remote_new_call(&remote, "Probe", &call) < 0)
		return remote_complain(&remote, command);
	r = sd_bus_message_append(call, "s", command->names[0]);
	if (r >= 0)
		r = options_append(call, command, &wrong);
	if (r == -EDOM) {
		fprintf(stderr, "mtuwatchctl: --%s=%s: expected %s\n", wrong->name, wrong->text,
			wrong->type == 's' ? "the name of a link" : "a number");
		return EX_USAGE;
	}
	if (r < 0)
		remote_failed(&remote, r, "Probe");
	else
		r = probe_send(&remote, command, call, &peers);
	return r < 0 ? remote_complain(&remote, command) : show_result(command, &remote, peers);
}
