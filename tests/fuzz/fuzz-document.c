/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any text at all as what the daemon of another host tells of itself: it is shown in every form, and
 * nothing of it steers the terminal.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/ctl/explain.h"
#include "../../daemon/ctl/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void explain(const struct command *command, struct json_object *document,
		    struct json_object *peer, struct json_object *path)
{
	const struct explaining facts = {.document = document, .peer = peer, .path = path};
	struct json_object *explanation = explain_path(&facts);

	if (!explanation)
		abort();
	show_explanation(command, peer, explanation);
	json_object_put(explanation);
}

static void show_all(const struct command *command, struct json_object *document)
{
	show_json(command, document);
	show_peers(command, document);
	show_links(command, document);
	show_faults(command, document);
	show_summary(command, document);
	for (unsigned i = 0; i < document_count(document, "Links"); i++)
		show_link(command, document_at(document, "Links", i));
	for (unsigned i = 0; i < document_count(document, "Peers"); i++) {
		struct json_object *peer = document_at(document, "Peers", i);

		show_peer(command, document, peer);
		for (unsigned j = 0; j < document_count(peer, "Paths"); j++)
			explain(command, document, peer, document_at(peer, "Paths", j));
	}
	show_nagios(document, stdout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct command command = {.form = REPORT_JSON_SHORT, .width = size % 200};
	char *text = strndup((const char *)data, size), *shown = NULL;
	struct json_object *document = NULL;
	FILE *screen = stdout;
	size_t length = 0;

	if (text)
		document_from_text(text, &document);
	free(text);
	if (!document)
		return 0;
	stdout = open_memstream(&shown, &length);
	show_all(&command, document);
	fclose(stdout);
	stdout = screen;
	for (size_t i = 0; i < length; i++)
		if (((uint8_t)shown[i] < 0x20 && shown[i] != '\n') || shown[i] == 0x7f) {
			fprintf(stderr, "%.*s\n", (int)length, shown);
			abort();
		}
	free(shown);
	json_object_put(document);
	return 0;
}
