/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables: names are wrapped where the screen is narrow, so that nothing that has to be typed again
 * is cut; a note is cut, since a sentence tells it anyway.
 */
#include "show.h"

#include <errno.h>
#include <libsmartcols.h>
#include <string.h>

#include "../face/cells.h"
#include "../face/words.h"

#define NOTE_WANTS 64 /* columns of a screen, below it there is no note */
#define NOTE_SHARE 5

static inline void table_drop(struct libscols_table **table)
{
	scols_unref_table(*table);
}
#define _drop_table_ __attribute__((cleanup(table_drop)))

static struct libscols_table *table_new(const struct command *command)
{
	struct libscols_table *table = scols_new_table();

	if (!table)
		return NULL;
	scols_table_enable_noheadings(table, command->no_legend);
	scols_table_enable_colors(table, command->colour);
	scols_table_enable_minout(table, 1); /* no blanks behind the last word */
	if (command->width > 0) {
		scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
		scols_table_set_termwidth(table, command->width);
	} else {
		scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	}
	return table;
}

/* An empty cell would move the next one under a wrong title for whoever cuts the line by blanks. */
static int cell_set(struct libscols_line *line, size_t column, const char *text)
{
	return scols_line_set_data(line, column, text[0] ? text : "-");
}

static int cell_paint(const struct command *command, struct libscols_line *line, size_t column,
		      enum severity severity)
{
	struct libscols_cell *cell = scols_line_get_cell(line, column);

	if (!command->colour)
		return 0;
	return cell ? scols_cell_set_color(cell, report_colour(severity)) : -ENOMEM;
}

/* --- peers --- */

static void note_fill(char cell[static CELL_SIZE], struct json_object *path)
{
	char place[CELL_SIZE] = "";
	const char *locus = document_text(path, "Locus");
	unsigned faulty = (unsigned)document_number(path, "FlowsFaulty");
	struct note note = {
		.place = place,
		.router = document_text(path, "Router"),
		.reason = document_text(path, "Reason"),
		.told = document_severity(path) >= SEVERITY_NOTICE,
	};

	if (!locus[0] && strcmp(document_text(path, "Direction"), "return") == 0)
		locus = "on the way back";
	if (document_verdict(path) == VERDICT_PARTIAL && faulty > 0)
		snprintf(place, sizeof(place), "%u of %u flows%s%s", faulty,
			 (unsigned)document_number(path, "Flows"), locus[0] ? ", " : "", locus);
	else
		snprintf(place, sizeof(place), "%s", locus);
	cell_note(cell, &note);
}

/* The note is not made narrower by the table: so that it is there at all, it is short. */
static void note_cut(const struct command *command, char note[static CELL_SIZE])
{
	unsigned most = command->width / NOTE_SHARE;

	/* on a narrow screen there is none */
	if (command->width >= NOTE_WANTS && strlen(note) > most)
		strcpy(note + most - 3, "...");
}

static int path_row(const struct command *command, struct libscols_table *table,
		    struct json_object *peer, struct json_object *path)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char sizes[CELL_SIZE], since[CELL_SIZE], note[CELL_SIZE];
	int r;

	if (!line)
		return -ENOMEM;
	cell_sizes(sizes, document_size(path), (uint32_t)document_number(path, "ExpectedMTU"));
	cell_since(since, document_number(path, "SinceUSec"));
	note_fill(note, path);
	note_cut(command, note);
	r = cell_set(line, COLUMN_PEER, document_text(peer, "Name"));
	if (r >= 0)
		r = cell_set(line, COLUMN_ADDRESS, document_text(path, "Address"));
	if (r >= 0)
		r = cell_set(line, COLUMN_LINK, document_text(path, "Interface"));
	if (r >= 0)
		r = cell_set(line, COLUMN_SIZES, sizes);
	if (r >= 0)
		r = cell_set(line, COLUMN_VERDICT, document_text(path, "Verdict"));
	if (r >= 0)
		r = cell_set(line, COLUMN_SINCE, since);
	if (r >= 0 && scols_table_get_ncols(table) > COLUMN_NOTE)
		r = scols_line_set_data(line, COLUMN_NOTE, note);
	return r < 0 ? r : cell_paint(command, line, COLUMN_VERDICT, document_severity(path));
}

static bool any_note(struct json_object *document)
{
	char note[CELL_SIZE];

	for (unsigned i = 0; i < document_count(document, "Peers"); i++) {
		struct json_object *peer = document_at(document, "Peers", i);

		for (unsigned j = 0; j < document_count(peer, "Paths"); j++) {
			note_fill(note, document_at(peer, "Paths", j));
			if (note[0])
				return true;
		}
	}
	return false;
}

/* A column that nobody fills is not there, nor its title. */
static int peer_columns(const struct command *command, struct libscols_table *table,
			struct json_object *document)
{
	bool noted = (command->width == 0 || command->width >= NOTE_WANTS) && any_note(document);
	unsigned count = noted ? COLUMN_COUNT : COLUMN_NOTE;

	for (unsigned i = 0; i < count; i++)
		if (!scols_table_new_column(table, column_titles[i], 0, 0))
			return -ENOMEM;
	return 0;
}

static int peer_rows(const struct command *command, struct libscols_table *table,
		     struct json_object *peer)
{
	unsigned count = document_count(peer, "Paths");
	int r = count == 0 ? path_row(command, table, peer, peer) : 0;

	for (unsigned i = 0; r >= 0 && i < count; i++)
		r = path_row(command, table, peer, document_at(peer, "Paths", i));
	return r;
}

/* --- widths --- */

static size_t column_natural(struct libscols_table *table, size_t column)
{
	size_t widest = strlen(column_titles[column]);

	for (size_t i = 0; i < scols_table_get_nlines(table); i++) {
		struct libscols_cell *cell =
			scols_line_get_cell(scols_table_get_line(table, i), column);
		const char *text = cell ? scols_cell_get_data(cell) : NULL;

		if (text && strlen(text) > widest)
			widest = strlen(text);
	}
	return widest;
}

static int cell_break(struct libscols_line *line, size_t column, size_t width)
{
	struct libscols_cell *cell = scols_line_get_cell(line, column);
	const char *text = cell ? scols_cell_get_data(cell) : NULL;
	char broken[2 * CELL_SIZE], *end = broken;

	if (!text || strlen(text) <= width)
		return 0;
	for (size_t i = 0; i < CELL_SIZE && text[i]; i++) {
		if (i > 0 && i % width == 0)
			*end++ = '\n';
		*end++ = text[i];
	}
	*end = '\0';
	return scols_line_set_data(line, column, broken);
}

/* Its texts go on in the next line behind `width` letters. The library would rather take from a
 * short address than from a long name. */
static int column_break(struct libscols_table *table, size_t column, size_t width)
{
	struct libscols_column *settings = scols_table_get_column(table, column);
	int r = scols_column_set_flags(settings, SCOLS_FL_WRAP);

	if (r >= 0)
		r = scols_column_set_safechars(settings, "\n");
	if (r >= 0)
		r = scols_column_set_wrapfunc(settings, scols_wrapnl_chunksize,
					      scols_wrapnl_nextchunk, NULL);
	for (size_t i = 0; r >= 0 && i < scols_table_get_nlines(table); i++)
		r = cell_break(scols_table_get_line(table, i), column, width);
	return r < 0 ? -ENOMEM : 0;
}

static void width_shrink(size_t *width, size_t least, size_t *over)
{
	size_t much = *width > least ? *width - least : 0;

	much = much < *over ? much : *over;
	*width -= much;
	*over -= much;
}

/* Names give way before addresses, as in the table of --once. */
static int peer_widths(const struct command *command, struct libscols_table *table)
{
	size_t count = scols_table_get_ncols(table), sum = count - 1, over;
	size_t width[COLUMN_COUNT] = {0};

	for (size_t i = 0; i < count; i++) {
		width[i] = column_natural(table, i);
		sum += width[i];
	}
	if (command->width == 0 || sum <= command->width)
		return 0;
	over = sum - command->width;
	width_shrink(&width[COLUMN_PEER], 16, &over);
	width_shrink(&width[COLUMN_ADDRESS], 18, &over);
	width_shrink(&width[COLUMN_LINK], 8, &over);
	width_shrink(&width[COLUMN_PEER], 8, &over);
	width_shrink(&width[COLUMN_ADDRESS], 10, &over);
	for (size_t i = COLUMN_PEER; i <= COLUMN_LINK; i++)
		if (column_break(table, i, width[i]) < 0)
			return -ENOMEM;
	return 0;
}

int show_peers(const struct command *command, struct json_object *document)
{
	_drop_table_ struct libscols_table *table = table_new(command);
	int r = table ? peer_columns(command, table, document) : -ENOMEM;

	for (unsigned i = 0; r >= 0 && i < document_count(document, "Peers"); i++)
		r = peer_rows(command, table, document_at(document, "Peers", i));
	if (r >= 0)
		r = peer_widths(command, table);
	if (r >= 0)
		r = scols_print_table(table);
	return r < 0 ? -ENOMEM : 0;
}

/* --- links --- */

enum link_column {
	LINK_NAME,
	LINK_KIND,
	LINK_MTU,
	LINK_EXPECTED,
	LINK_MOST,
	LINK_STATE,
	LINK_SEVERITY,
	LINK_NEIGHBOUR,
};
#define LINK_COLUMN_COUNT 8

static void number_print(char cell[static CELL_SIZE], struct json_object *object, const char *key)
{
	uint64_t number = document_number(object, key);

	snprintf(cell, CELL_SIZE, "%u", (unsigned)number);
	if (number == 0)
		cell[0] = '\0';
}

static void link_cell(char cell[static CELL_SIZE], struct json_object *link,
		      enum link_column column)
{
	const char *text = "";

	cell[0] = '\0';
	switch (column) {
	case LINK_NAME:
		text = document_text(link, "Name");
		break;
	case LINK_KIND:
		text = document_text(link, "Kind");
		break;
	case LINK_MTU:
		number_print(cell, link, "MTU");
		return;
	case LINK_EXPECTED:
		number_print(cell, link, "ExpectedMTU");
		return;
	case LINK_MOST:
		number_print(cell, link, "MaxMTU");
		return;
	case LINK_STATE:
		text = document_number(link, "Up") ? "up" : "down";
		break;
	case LINK_SEVERITY:
		text = document_text(link, "Severity");
		break;
	case LINK_NEIGHBOUR:
		text = document_text(link, "Neighbour");
		break;
	}
	snprintf(cell, CELL_SIZE, "%s", text);
}

static int link_row(const struct command *command, struct libscols_table *table,
		    struct json_object *link)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char cell[CELL_SIZE];

	if (!line)
		return -ENOMEM;
	for (unsigned i = 0; i < scols_table_get_ncols(table); i++) {
		link_cell(cell, link, (enum link_column)i);
		if (cell_set(line, i, cell) < 0)
			return -ENOMEM;
	}
	return cell_paint(command, line, LINK_SEVERITY, document_severity(link));
}

static int link_columns(struct libscols_table *table, struct json_object *document)
{
	static const char *const titles[LINK_COLUMN_COUNT] = {
		"LINK", "KIND", "MTU", "EXPECTED", "DRIVER-MAX", "STATE", "SEVERITY", "NEIGHBOUR"};
	bool neighbours = false;

	for (unsigned i = 0; i < document_count(document, "Links"); i++)
		neighbours |= document_text(document_at(document, "Links", i), "Neighbour")[0] != 0;
	for (unsigned i = 0; i < LINK_COLUMN_COUNT; i++) {
		bool number = i == LINK_MTU || i == LINK_EXPECTED || i == LINK_MOST;
		int flags = number ? SCOLS_FL_RIGHT : i == LINK_NEIGHBOUR ? SCOLS_FL_TRUNC : 0;

		if (i == LINK_NEIGHBOUR && !neighbours)
			continue;
		if (!scols_table_new_column(table, titles[i], 0, flags))
			return -ENOMEM;
	}
	return 0;
}

int show_links(const struct command *command, struct json_object *document)
{
	_drop_table_ struct libscols_table *table = table_new(command);
	int r = table ? link_columns(table, document) : -ENOMEM;

	for (unsigned i = 0; r >= 0 && i < document_count(document, "Links"); i++)
		r = link_row(command, table, document_at(document, "Links", i));
	if (r >= 0)
		r = scols_print_table(table);
	return r < 0 ? -ENOMEM : 0;
}
