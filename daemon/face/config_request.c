/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A peer out of a request, by the same keys and with the same objections as in the files. Reads no
 * file and keeps nothing.
 */
#include "config_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int config_peer_new(struct config_peer **ret)
{
	struct draft draft = {.kind = SECTION_PEER};
	struct config_peer *peer = malloc(sizeof(*peer));
	int r = peer ? draft_init(&draft) : -ENOMEM;

	if (r < 0) {
		draft_done(&draft);
		free(peer);
		return r;
	}
	*peer = draft.peer;
	*ret = peer;
	return 0;
}

struct config_peer *config_peer_free(struct config_peer *peer)
{
	struct draft draft = {.kind = SECTION_PEER};

	if (!peer)
		return NULL;
	draft.peer = *peer;
	draft_done(&draft);
	free(peer);
	return NULL;
}

static int objection(int error, const char *why, char **ret_error)
{
	if (error == -ENOMEM)
		return error;
	*ret_error = strdup(why);
	return *ret_error ? -EINVAL : -ENOMEM;
}

int config_peer_set(struct config_peer *peer, const char *key, const char *text, char **ret_error)
{
	struct draft draft = {.kind = SECTION_PEER, .peer = *peer};
	const char *objects = value_text_objection(text, strlen(text));
	char why[WHY_SIZE];
	int r;

	if (objects)
		return objection(-EINVAL, objects, ret_error);
	r = draft_set(&draft, key, text, why);
	*peer = draft.peer;
	return r < 0 ? objection(r, why, ret_error) : 0;
}

int config_peer_check(struct config_peer *peer, const char **ret_key, char **ret_error)
{
	struct clash clash;

	if (!peer_size_clash(peer, &clash) && !peer_zone_clash(peer, &clash))
		return 0;
	*ret_key = clash.key;
	return objection(-EINVAL, clash.text, ret_error);
}
