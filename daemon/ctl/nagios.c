/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line as a monitoring plugin prints it, and figures behind a bar: MTU, round trip, losses of
 * each path. The worst comes first, since a console shows only the line's begin.
 */
#include "show.h"

#include <inttypes.h>
#include <string.h>

#include "../face/cells.h"
#include "../face/words.h"

#define NAMED_LARGEST 5

static const char *state_word(int code)
{
	switch (code) {
	case 0:
		return "OK";
	case 1:
		return "WARNING";
	case 2:
		return "CRITICAL";
	default:
		return "UNKNOWN";
	}
}

/* A bar, a quote or a line's end would end the text or a label. */
static void clean_print(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(strchr("|'\n\r=", *text) ? ' ' : *text, out);
}

static bool is_worth_naming(struct json_object *peer)
{
	return document_severity(peer) != SEVERITY_OK;
}

static void peer_say(FILE *out, struct json_object *peer)
{
	const char *locus = document_text(peer, "Locus");
	char sizes[CELL_SIZE];

	cell_sizes(sizes, document_size(peer), (uint32_t)document_number(peer, "ExpectedMTU"));
	clean_print(out, document_text(peer, "Name"));
	fprintf(out, " %s", document_text(peer, "Verdict"));
	if (sizes[0])
		fprintf(out, " %s", sizes);
	if (locus[0]) {
		fputs(" (", out);
		clean_print(out, locus);
		fputc(')', out);
	}
}

static void peers_say(FILE *out, struct json_object *document)
{
	unsigned count = document_count(document, "Peers"), bad = 0, said = 0;

	for (unsigned i = 0; i < count; i++)
		bad += is_worth_naming(document_at(document, "Peers", i));
	if (bad == 0 && count == 1) {
		peer_say(out, document_at(document, "Peers", 0));
		return;
	}
	if (bad == 0) {
		fprintf(out, "%u peer%s consistent", count, count == 1 ? "" : "s");
		return;
	}
	for (int severity = SEVERITY_CRITICAL; severity >= SEVERITY_NONE; severity--)
		for (unsigned i = 0; i < count; i++) {
			struct json_object *peer = document_at(document, "Peers", i);

			if ((int)document_severity(peer) != severity || !is_worth_naming(peer) ||
			    said == NAMED_LARGEST)
				continue;
			fputs(said++ ? ", " : "", out);
			peer_say(out, peer);
		}
	if (bad > said)
		fprintf(out, " and %u more", bad - said);
	if (count > bad)
		fprintf(out, "; %u of %u well", count - bad, count);
}

/* 'san-a eth1 mtu': the link tells paths apart, and the address where that does not. */
static void label_print(FILE *out, struct json_object *peer, struct json_object *path,
			const char *what)
{
	fputs(" '", out);
	clean_print(out, document_text(peer, "Name"));
	if (document_count(peer, "Paths") > 1) {
		fputc(' ', out);
		clean_print(out, document_text(path, "Address"));
		fputc(' ', out);
		clean_print(out, document_text(path, "Interface"));
	}
	fprintf(out, " %s'=", what);
}

static void path_figures(FILE *out, struct json_object *peer, struct json_object *path)
{
	uint64_t expected = document_number(path, "ExpectedMTU");
	uint64_t rtt = document_number(path, "RTTUSec");
	uint32_t mtu = document_size(path);

	if (mtu) {
		label_print(out, peer, path, "mtu");
		fprintf(out, "%uB;", mtu);
		/* a warning below this: how bad it is depends on more than the number */
		if (expected)
			fprintf(out, "%" PRIu64 ":", expected);
		fputs(";;68;65535", out);
	}
	if (rtt) {
		label_print(out, peer, path, "rtt");
		fprintf(out, "%.6fs;;;0", (double)rtt / (double)USEC_PER_SEC);
	}
	label_print(out, peer, path, "sent");
	fprintf(out, "%" PRIu64 "c", document_number(path, "ProbesSent"));
	label_print(out, peer, path, "lost");
	fprintf(out, "%" PRIu64 "c", document_number(path, "ProbesLost"));
}

int show_nagios(struct json_object *document, FILE *out)
{
	int code = document_exit_code(document);

	fprintf(out, "MTU %s - ", state_word(code));
	if (document_count(document, "Peers") == 0)
		fputs("there is nothing to watch", out);
	else
		peers_say(out, document);
	fputs(document_count(document, "Peers") ? " |" : "", out);
	for (unsigned i = 0; i < document_count(document, "Peers"); i++) {
		struct json_object *peer = document_at(document, "Peers", i);

		for (unsigned j = 0; j < document_count(peer, "Paths"); j++)
			path_figures(out, peer, document_at(peer, "Paths", j));
	}
	fputc('\n', out);
	return code;
}
