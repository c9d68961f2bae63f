/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What changes something: release and reload. Silent when it worked.
 */
#include <string.h>

#include "remote.h"

static bool path_is_clamped(struct json_object *peer, const char *name)
{
	bool whole = !name[0] || strcmp(document_text(peer, "Name"), name) == 0;

	for (unsigned i = 0; i < document_count(peer, "Paths"); i++) {
		struct json_object *path = document_at(peer, "Paths", i);

		if (document_number(path, "ClampMTU") &&
		    (whole || strcmp(document_text(path, "Interface"), name) == 0))
			return true;
	}
	return false;
}

/* Something that goes by this name: a peer, what leaves by a link, a link; "" anything. */
static bool is_clamped(struct json_object *document, const char *name)
{
	for (unsigned i = 0; i < document_count(document, "Peers"); i++)
		if (path_is_clamped(document_at(document, "Peers", i), name))
			return true;
	for (unsigned i = 0; i < document_count(document, "Links"); i++) {
		struct json_object *link = document_at(document, "Links", i);

		if (document_number(link, "OriginalMTU") &&
		    (!name[0] || strcmp(document_text(link, "Name"), name) == 0))
			return true;
	}
	return false;
}

int verb_release(const struct command *command)
{
	_drop_remote_ struct remote remote;
	_drop_ struct json_object *document = NULL;
	const char *name = command->name_count > 0 ? command->names[0] : "";

	if (remote_open(&remote, command) < 0 || remote_describe(&remote, &document) < 0 ||
	    remote_call(&remote, "Release", NULL, "s", name) < 0)
		return remote_complain(&remote, command);
	if (!is_clamped(document, name))
		printf("There is no clamp%s%s.\n", name[0] ? " on " : "", name);
	return 0;
}

int verb_reload(const struct command *command)
{
	_drop_remote_ struct remote remote;

	if (remote_open(&remote, command) < 0 || remote_call(&remote, "Reload", NULL, NULL) < 0)
		return remote_complain(&remote, command);
	return 0;
}
