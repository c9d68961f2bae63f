/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * explain: what the daemon knows of a peer, put beside what this host says of its links. Sends no
 * packet.
 */
#include <errno.h>
#include <stdlib.h>

#include "../face/config_parse.h"
#include "explain.h"
#include "remote.h"
#include "show.h"

int complain_no_peer(struct json_object *document, const char *name)
{
	unsigned count = document_count(document, "Peers");
	const char **words = calloc(count + 1, sizeof(*words)), *nearest = NULL;

	for (unsigned i = 0; words && i < count; i++)
		words[i] = document_text(document_at(document, "Peers", i), "Name");
	if (words)
		nearest = value_nearest(name, words, count);
	fprintf(stderr, "mtuwatchctl: there is no peer \"%s\"%s%s%s\n", name,
		nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
	free(words);
	return EXIT_UNABLE;
}

static struct json_object *explain_one(struct remote *remote, struct json_object *document,
				       struct json_object *peer, struct json_object *path)
{
	struct explaining facts = {.document = document, .peer = peer, .path = path};
	struct layers layers;

	if (!remote->at_other_host) {
		layers_read(&layers, "", document, document_text(path, "Interface"));
		layers_find_managers(&layers, remote->bus, "");
		facts.layers = &layers;
	}
	return explain_path(&facts);
}

/* {"Name", "Paths": []} */
static struct json_object *explain_peer(struct remote *remote, struct json_object *document,
					struct json_object *peer)
{
	unsigned count = document_count(peer, "Paths");
	_drop_ struct json_object *all = json_object_new_object();
	struct json_object *paths = json_object_new_array();

	if (document_put(all, "Paths", paths) < 0 ||
	    document_put(all, "Name", json_object_new_string(document_text(peer, "Name"))) < 0)
		return NULL;
	for (unsigned i = 0; i < count || i == 0; i++) {
		struct json_object *path = count > 0 ? document_at(peer, "Paths", i) : peer;
		struct json_object *one = explain_one(remote, document, peer, path);

		if (document_append(paths, one) < 0)
			return NULL;
	}
	return json_object_get(all);
}

static int show(const struct command *command, struct json_object *explanation)
{
	if (command->form != REPORT_TABLE)
		return show_json(command, explanation);
	for (unsigned i = 0; i < document_count(explanation, "Paths"); i++) {
		if (i > 0)
			putchar('\n');
		show_explanation(command, explanation, document_at(explanation, "Paths", i));
	}
	return 0;
}

int verb_explain(const struct command *command)
{
	_drop_remote_ struct remote remote;
	_drop_ struct json_object *document = NULL, *explanation = NULL;
	struct json_object *peer;

	if (remote_open(&remote, command) < 0 || remote_describe(&remote, &document) < 0)
		return remote_complain(&remote, command);
	peer = document_named(document, "Peers", command->names[0]);
	if (!peer)
		return complain_no_peer(document, command->names[0]);
	explanation = explain_peer(&remote, document, peer);
	if (!explanation || show(command, explanation) < 0) {
		remote_failed(&remote, -ENOMEM, NULL);
		return remote_complain(&remote, command);
	}
	return EXIT_SUCCESS;
}
