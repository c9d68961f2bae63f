/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A document as people want to see it: tables, sentences, a peer in full, a plugin's line, JSON.
 * Writes to stdout, and asks nobody.
 */
#pragma once

#include "command.h"
#include "document.h"

/* All: 0, or -ENOMEM. */
int show_json(const struct command *command, struct json_object *document);
int show_peers(const struct command *command, struct json_object *document); /* a row a path */
int show_links(const struct command *command, struct json_object *document);

/* What is wrong, each fault once, an empty line before the first. */
void show_faults(const struct command *command, struct json_object *document);

void show_summary(const struct command *command, struct json_object *document);
void show_peer(const struct command *command, struct json_object *document,
	       struct json_object *peer);
void show_link(const struct command *command, struct json_object *link);

/* Names the nearest one there is. Returns the exit code. */
int complain_no_peer(struct json_object *document, const char *name);

/* "MTU CRITICAL - san-a black-hole 1500/9000 (on-link) | 'san-a mtu'=1500B;9000:;;68;65535".
 * Returns the exit code. */
int show_nagios(struct json_object *document, FILE *out);
