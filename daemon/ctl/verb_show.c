/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What only asks: list, links, status. Sends no packet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/text.h"
#include "../face/config_parse.h"
#include "remote.h"
#include "show.h"

static inline void text_drop(char **text)
{
	free(*text);
}
#define _drop_text_ __attribute__((cleanup(text_drop)))

static int out_of_memory(struct remote *remote, const struct command *command)
{
	remote_failed(remote, -ENOMEM, NULL);
	return remote_complain(remote, command);
}

static int show_list(const struct command *command, struct json_object *document)
{
	if (command->form != REPORT_TABLE)
		return show_json(command, document);
	if (document_count(document, "Peers") > 0) {
		if (show_peers(command, document) < 0)
			return -ENOMEM;
	} else if (!command->no_legend) {
		report_nothing(stdout, (uint16_t)document_number(document, "ResponderPort"));
	}
	if (!command->no_legend)
		show_faults(command, document);
	return 0;
}

int verb_list(const struct command *command)
{
	_drop_remote_ struct remote remote;
	_drop_ struct json_object *document = NULL;

	if (remote_open(&remote, command) < 0 || remote_describe(&remote, &document) < 0)
		return remote_complain(&remote, command);
	return show_list(command, document) < 0 ? out_of_memory(&remote, command) : 0;
}

static int show_link_list(const struct command *command, struct json_object *document)
{
	struct json_object *links = NULL;
	_drop_ struct json_object *all = NULL;

	json_object_object_get_ex(document, "Links", &links);
	all = document_new(document_text(document, "Version"), json_object_new_array(),
			   json_object_get(links));
	if (!all)
		return -ENOMEM;
	if (command->form != REPORT_TABLE)
		return show_json(command, all);
	if (show_links(command, all) < 0)
		return -ENOMEM;
	if (!command->no_legend)
		show_faults(command, all);
	return 0;
}

int verb_links(const struct command *command)
{
	_drop_remote_ struct remote remote;
	_drop_ struct json_object *document = NULL;

	if (remote_open(&remote, command) < 0 || remote_describe(&remote, &document) < 0)
		return remote_complain(&remote, command);
	return show_link_list(command, document) < 0 ? out_of_memory(&remote, command) : 0;
}

/* --- status of some --- */

struct named {
	char *name;
	char *path;
};

/* What there is to name: peers, then links. */
struct catalogue {
	struct named *list;
	unsigned count, room;
	unsigned peer_count;
};

static void catalogue_drop(struct catalogue *catalogue)
{
	for (unsigned i = 0; i < catalogue->count; i++) {
		free(catalogue->list[i].name);
		free(catalogue->list[i].path);
	}
	free(catalogue->list);
}
#define _drop_catalogue_ __attribute__((cleanup(catalogue_drop)))

static int catalogue_add(struct catalogue *catalogue, const char *name, const char *path)
{
	struct named *list = catalogue->list;

	if (catalogue->count == catalogue->room) {
		unsigned room = catalogue->room ? 2 * catalogue->room : 64;

		list = reallocarray(list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		catalogue->list = list;
		catalogue->room = room;
	}
	list += catalogue->count++;
	*list = (struct named){strdup(name), strdup(path)};
	if (!list->name || !list->path)
		return -ENOMEM;
	text_clean(list->name, '\0');
	return 0;
}

static int catalogue_read(struct catalogue *catalogue, sd_bus_message *reply, bool links)
{
	const char *types = links ? "suos" : "sos", *name, *path, *word;
	int r = sd_bus_message_enter_container(reply, 'a', links ? "(suos)" : "(sos)");
	uint32_t mtu;

	while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'r', types)) > 0) {
		r = links ? sd_bus_message_read(reply, types, &name, &mtu, &path, &word)
			  : sd_bus_message_read(reply, types, &name, &path, &word);
		if (r >= 0)
			r = catalogue_add(catalogue, name, path);
		if (r >= 0)
			r = sd_bus_message_exit_container(reply);
	}
	return r;
}

static int catalogue_load(struct catalogue *catalogue, struct remote *remote)
{
	_drop_message_ sd_bus_message *peers = NULL, *links = NULL;
	int r = remote_call(remote, "ListPeers", &peers, NULL);

	if (r >= 0)
		r = remote_call(remote, "ListLinks", &links, NULL);
	if (r < 0)
		return r;
	r = catalogue_read(catalogue, peers, false);
	catalogue->peer_count = catalogue->count;
	if (r >= 0)
		r = catalogue_read(catalogue, links, true);
	return r < 0 ? remote_failed(remote, r, "ListPeers") : 0;
}

static int complain_unknown(const struct catalogue *catalogue, const char *name)
{
	const char **words = calloc(catalogue->count + 1, sizeof(*words)), *nearest = NULL;

	for (unsigned i = 0; words && i < catalogue->count; i++)
		words[i] = catalogue->list[i].name;
	if (words)
		nearest = value_nearest(name, words, catalogue->count);
	fprintf(stderr, "mtuwatchctl: there is no peer or link \"%s\"%s%s%s\n", name,
		nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
	free(words);
	return EXIT_UNABLE;
}

/* Adds every object of this name. Returns how many, or an error. */
static int objects_add(struct remote *remote, const struct catalogue *catalogue, const char *name,
		       struct json_object *lists[2])
{
	int found = 0;

	for (unsigned i = 0; i < catalogue->count; i++) {
		bool link = i >= catalogue->peer_count;
		struct json_object *object = NULL;
		int r;

		if (strcmp(catalogue->list[i].name, name) != 0)
			continue;
		r = remote_properties(remote, catalogue->list[i].path,
				      link ? BUS_NAME ".Link" : BUS_NAME ".Peer", &object);
		if (r < 0)
			return r;
		if (document_append(lists[link], object) < 0)
			return remote_failed(remote, -ENOMEM, NULL);
		found++;
	}
	return found;
}

static int show_status(const struct command *command, struct json_object *document)
{
	unsigned peers = document_count(document, "Peers");

	if (command->form != REPORT_TABLE)
		return show_json(command, document);
	for (unsigned i = 0; i < peers; i++) {
		if (i > 0)
			putchar('\n');
		show_peer(command, document, document_at(document, "Peers", i));
	}
	for (unsigned i = 0; i < document_count(document, "Links"); i++) {
		if (peers + i > 0)
			putchar('\n');
		show_link(command, document_at(document, "Links", i));
	}
	return 0;
}

static int status_some(struct remote *remote, const struct command *command)
{
	_drop_catalogue_ struct catalogue catalogue = {0};
	_drop_ struct json_object *document = NULL, *peers = json_object_new_array(),
				  *links = json_object_new_array();
	struct json_object *lists[2] = {peers, links};
	_drop_text_ char *version = NULL;

	if (!peers || !links)
		return out_of_memory(remote, command);
	if (catalogue_load(&catalogue, remote) < 0 || remote_version(remote, &version) < 0)
		return remote_complain(remote, command);
	for (unsigned i = 0; i < command->name_count; i++) {
		int found = objects_add(remote, &catalogue, command->names[i], lists);

		if (found < 0)
			return remote_complain(remote, command);
		if (found == 0)
			return complain_unknown(&catalogue, command->names[i]);
	}
	document = document_new(version, json_object_get(peers), json_object_get(links));
	if (!document || show_status(command, document) < 0)
		return out_of_memory(remote, command);
	return document_exit_code(document);
}

static int status_all(struct remote *remote, const struct command *command)
{
	_drop_ struct json_object *document = NULL;

	if (remote_describe(remote, &document) < 0)
		return remote_complain(remote, command);
	if (command->form == REPORT_TABLE)
		show_summary(command, document);
	else if (show_json(command, document) < 0)
		return out_of_memory(remote, command);
	return document_exit_code(document);
}

int verb_status(const struct command *command)
{
	_drop_remote_ struct remote remote;

	if (remote_open(&remote, command) < 0)
		return remote_complain(&remote, command);
	return command->name_count > 0 ? status_some(&remote, command)
				       : status_all(&remote, command);
}
