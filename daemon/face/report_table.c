/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table for people, one row a path. Sits in 80 columns: names that are too long are cut, the
 * note is what is left of the row. Also the exit code. What is wrong in words is another file's.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "../core/tower.h"
#include "cells.h"
#include "columns.h"
#include "words.h"

struct row {
	char cell[COLUMN_COUNT][CELL_SIZE];
	enum severity severity;
};

struct table {
	FILE *out;
	bool colour;
	unsigned screen; /* columns of it; 0 unlimited */
	unsigned width[COLUMN_COUNT];
};

static void row_note(struct row *row, const struct peer *peer, const struct path *path)
{
	const struct judgement *judgement = &path->announced;
	char *place = words_place(path, judgement), *reason = words_reason(peer, path, judgement);
	char router[ADDRESS_TEXT_SIZE];
	struct note note = {
		.place = place ? place : "",
		.router = words_address(&judgement->router, router),
		.reason = reason ? reason : "",
		.told = judgement->severity >= SEVERITY_NOTICE,
	};

	cell_note(row->cell[COLUMN_NOTE], &note);
	free(place);
	free(reason);
}

static void row_fill(struct row *row, const struct peer *peer, const struct path *path)
{
	char address[ADDRESS_TEXT_SIZE];

	memset(row, 0, sizeof(*row));
	row->severity = path->announced.severity;
	snprintf(row->cell[COLUMN_PEER], CELL_SIZE, "%s", peer->name);
	snprintf(row->cell[COLUMN_ADDRESS], CELL_SIZE, "%s",
		 words_address(&path->address, address));
	snprintf(row->cell[COLUMN_LINK], CELL_SIZE, "%s", words_link(path));
	snprintf(row->cell[COLUMN_VERDICT], CELL_SIZE, "%s",
		 words_verdict(path->announced.verdict));
	cell_sizes(row->cell[COLUMN_SIZES], words_size(&path->announced), path->facts.expected);
	cell_since(row->cell[COLUMN_SINCE], path->since_usec);
	row_note(row, peer, path);
	for (unsigned i = 0; i < COLUMN_NOTE; i++)
		if (!row->cell[i][0])
			strcpy(row->cell[i], "-");
}

static void table_measure_row(struct table *table, const struct row *row)
{
	for (unsigned i = 0; i < COLUMN_COUNT; i++) {
		unsigned width = columns_of(row->cell[i], CELL_SIZE);

		if (width > table->width[i])
			table->width[i] = width;
	}
}

static unsigned table_width(const struct table *table, unsigned columns)
{
	unsigned sum = columns - 1;

	for (unsigned i = 0; i < columns; i++)
		sum += table->width[i];
	return sum;
}

/* Takes columns from `column`, but leaves it `least`. */
static void table_shrink(struct table *table, enum column column, unsigned least)
{
	unsigned width = table_width(table, COLUMN_NOTE), over;

	if (width <= table->screen || table->width[column] <= least)
		return;
	over = width - table->screen;
	if (over > table->width[column] - least)
		over = table->width[column] - least;
	table->width[column] -= over;
}

/* The verdict and its number are what the table is for: names give way first, then addresses. */
static void table_fit(struct table *table)
{
	unsigned width;

	if (table->screen == 0)
		return;
	table_shrink(table, COLUMN_PEER, 16);
	table_shrink(table, COLUMN_ADDRESS, 18);
	table_shrink(table, COLUMN_LINK, 8);
	table_shrink(table, COLUMN_PEER, 8);
	width = table_width(table, COLUMN_NOTE) + 1;
	if (width + table->width[COLUMN_NOTE] > table->screen)
		table->width[COLUMN_NOTE] = table->screen > width ? table->screen - width : 0;
	if (table->width[COLUMN_NOTE] < strlen(column_titles[COLUMN_NOTE]))
		table->width[COLUMN_NOTE] = 0; /* the sentences below tell it anyway */
}

/* The last cell of a row is not filled up. */
static void cell_print(const struct table *table, enum column column, const char *text, bool last)
{
	unsigned width = table->width[column];
	char cut[CELL_SIZE + 4];

	if (columns_of(text, CELL_SIZE) > width) {
		snprintf(cut, sizeof(cut), "%.*s...",
			 (int)columns_fit(text, width > 3 ? width - 3 : 0), text);
		text = cut;
	}
	columns_print(table->out, text, last ? 0 : width);
}

static void row_print(const struct table *table, const struct row *row, bool title)
{
	bool noted = table->width[COLUMN_NOTE] > 0 && row->cell[COLUMN_NOTE][0];
	enum column last = noted ? COLUMN_NOTE : COLUMN_SINCE;

	for (unsigned i = 0; i <= last; i++) {
		bool coloured = table->colour && i == COLUMN_VERDICT && !title;

		fprintf(table->out, "%s%s", i ? " " : "",
			coloured ? report_colour(row->severity) : "");
		cell_print(table, i, row->cell[i], i == last);
		fputs(coloured ? "\033[0m" : "", table->out);
	}
	fputc('\n', table->out);
}

/* Calls `each` for every path, and for a peer without one with an empty path. */
static void roster_rows(struct table *table, const struct roster *roster,
			void (*each)(struct table *table, const struct row *row))
{
	static const struct path no_path;
	struct row row;

	for (unsigned i = 0; i < roster->peer_count; i++) {
		const struct peer *peer = roster->peers[i];

		for (unsigned j = 0; j < peer->path_count; j++) {
			row_fill(&row, peer, &peer->paths[j]);
			each(table, &row);
		}
		if (peer->path_count == 0) {
			row_fill(&row, peer, &no_path);
			each(table, &row);
		}
	}
}

static void table_print_row(struct table *table, const struct row *row)
{
	row_print(table, row, false);
}

void report_nothing(FILE *out, uint16_t answering_port)
{
	fputs("There is nothing to watch: no peer is configured and nothing was discovered.\n"
	      "A [Peer NAME] section with its Address= makes a peer: mtuwatchd.conf(5).\n",
	      out);
	if (answering_port)
		fprintf(out, "Other hosts are answered on UDP port %u.\n", answering_port);
}

void report_table(const struct roster *roster, FILE *out, const struct report_style *style)
{
	struct table table = {.out = out, .colour = style->colour, .screen = style->width};
	struct row titles = {};

	if (roster->peer_count == 0) {
		report_nothing(out, roster->answering_port);
	} else {
		roster_rows(&table, roster, table_measure_row);
		/* without a note its column has no title either */
		for (unsigned i = 0; i < COLUMN_COUNT; i++)
			if (i != COLUMN_NOTE || table.width[i] > 0)
				strcpy(titles.cell[i], column_titles[i]);
		table_measure_row(&table, &titles);
		table_fit(&table);
		row_print(&table, &titles, true);
		roster_rows(&table, roster, table_print_row);
	}
	report_faults(roster, out, style);
}

static bool peer_unmeasured(const struct peer *peer)
{
	for (unsigned i = 0; i < peer->path_count; i++) {
		enum verdict verdict = peer->paths[i].announced.verdict;

		if (verdict == VERDICT_UNREACHABLE || verdict == VERDICT_UNKNOWN)
			return true;
	}
	return peer->path_count == 0;
}

/* Who asks about one address is told of the links that its packets go through. */
static enum severity peer_asked_severity(const struct roster *roster, const struct peer *peer)
{
	enum severity worst = peer_severity(peer);

	for (unsigned i = 0; i < peer->path_count; i++) {
		tower_mark_below(roster, peer->paths[i].route.link);
		for (unsigned j = 0; j < roster->link_count; j++) {
			enum severity severity = link_state_severity(roster->links[j]);

			if (roster->links[j]->reached && severity > worst)
				worst = severity;
		}
	}
	return worst;
}

static enum severity asked_severity(const struct roster *roster)
{
	enum severity worst = SEVERITY_NONE;

	for (unsigned i = 0; i < roster->peer_count; i++) {
		const struct peer *peer = roster->peers[i];
		enum severity severity = peer_asked_severity(roster, peer);

		if (peer->origin != ORIGIN_REQUEST)
			return roster_severity(roster);
		if (severity > worst)
			worst = severity;
	}
	return worst;
}

/* A critical fault outranks what could not be asked, and that a warning: half the answer is none.
 */
int report_exit_code(const struct roster *roster)
{
	enum severity severity = asked_severity(roster);

	if (severity == SEVERITY_CRITICAL)
		return 2;
	if (roster->peer_count == 0)
		return 3;
	for (unsigned i = 0; i < roster->peer_count; i++)
		if (peer_unmeasured(roster->peers[i]))
			return 3;
	return severity == SEVERITY_WARNING ? 1 : 0;
}
