/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An explanation on the screen: sentences, the picture of the way, and things to type. The bars are
 * drawn in the terminal's own characters, or in ASCII.
 */
#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <string.h>

#include "../face/columns.h"
#include "explain.h"
#include "show.h"

#define WIDTH 80 /* where there is no terminal */
#define NAME_LARGEST 40
#define NAME_SIZE 256
#define TITLE_SIZE 256
#define BAR_LEAST 3
#define BAR_LARGEST 32
#define NUMBERS 21 /* three of seven columns */
#define MARK " <== narrow"
#define COMMAND_INDENT "        "

static unsigned width_of(const struct command *command)
{
	return command->width ? command->width : WIDTH;
}

static void title_print(const struct command *command, const char *title)
{
	printf("\n%s%s%s\n", command->colour ? "\033[1m" : "", title,
	       command->colour ? "\033[0m" : "");
}

/* report_wrap() goes on behind four columns. */
static void sentence_print(const struct command *command, const char *text)
{
	fputs("    ", stdout);
	report_wrap(stdout, text, 4, width_of(command));
}

static void sentences_print(const struct command *command, struct json_object *all, const char *key)
{
	for (unsigned i = 0; i < document_count(all, key); i++)
		sentence_print(command, json_object_get_string(document_at(all, key, i)));
}

/* --- the picture --- */

struct picture {
	struct json_object *all;
	unsigned name_width, bar_width;
	uint64_t most; /* the largest MTU in it */
	bool ascii;
};

static void picture_measure(struct picture *picture, unsigned width)
{
	unsigned rest = 4 + 1 + NUMBERS + (unsigned)strlen(MARK), room;

	for (unsigned i = 0; i < document_count(picture->all, "Steps"); i++) {
		struct json_object *step = document_at(picture->all, "Steps", i);
		const char *name = document_text(step, "Name");
		unsigned length = columns_of(name, strlen(name));

		if (length > picture->name_width)
			picture->name_width = length;
		if (document_number(step, "MTU") > picture->most)
			picture->most = document_number(step, "MTU");
	}
	if (picture->name_width > NAME_LARGEST)
		picture->name_width = NAME_LARGEST;
	/* between them they have what the rest of the line leaves */
	room = width > rest + BAR_LEAST + 1 ? width - rest : BAR_LEAST + 1;
	if (picture->name_width > room - BAR_LEAST)
		picture->name_width = room - BAR_LEAST;
	picture->bar_width = room - picture->name_width;
	if (picture->bar_width > BAR_LARGEST)
		picture->bar_width = BAR_LARGEST;
}

static void number_print(uint64_t number)
{
	if (number)
		printf("%7" PRIu64, number);
	else
		fputs("      ?", stdout);
}

static void bar_print(const struct picture *picture, uint64_t mtu)
{
	unsigned length = 0;

	if (mtu > 0 && picture->most > 0)
		length = (unsigned)((mtu * picture->bar_width + picture->most / 2) / picture->most);
	if (mtu > 0 && length == 0)
		length = 1;
	for (unsigned i = 0; i < picture->bar_width; i++)
		fputs(i >= length ? " " : picture->ascii ? "=" : "\u2501", stdout);
}

static void step_print(const struct command *command, const struct picture *picture,
		       struct json_object *step)
{
	bool narrow = document_number(step, "Narrow");
	char name[NAME_SIZE];
	const char *begin =
		narrow && command->colour ? report_colour(document_severity(picture->all)) : "";

	snprintf(name, sizeof(name), "%.*s",
		 (int)columns_fit(document_text(step, "Name"), picture->name_width),
		 document_text(step, "Name"));
	fputs("    ", stdout);
	columns_print(stdout, name, picture->name_width);
	printf(" %s", begin);
	bar_print(picture, document_number(step, "MTU"));
	number_print(document_number(step, "MTU"));
	number_print(document_number(step, "ICMPPayload"));
	number_print(document_number(step, "MSS"));
	printf("%s%s\n", narrow ? MARK : "", begin[0] ? "\033[0m" : "");
}

static void picture_print(const struct command *command, struct json_object *all)
{
	struct picture picture = {
		.all = all,
		.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0,
	};

	picture_measure(&picture, width_of(command));
	printf("    %-*s %-*s%7s%7s%7s\n", (int)picture.name_width, "", (int)picture.bar_width, "",
	       "MTU", "ping", "MSS");
	for (unsigned i = 0; i < document_count(all, "Steps"); i++)
		step_print(command, &picture, document_at(all, "Steps", i));
}

/* --- what to do --- */

static void lines_print(struct json_object *action)
{
	for (unsigned i = 0; i < document_count(action, "Lines"); i++)
		printf("        %s\n", json_object_get_string(document_at(action, "Lines", i)));
}

/* Bytes of a command up to where it can go on in the next line: a blank outside of quotes, the last
 * one that is within `columns`, else the first; all of it where there is none. Never in a comment. */
static size_t command_break(const char *text, unsigned columns)
{
	size_t place = 0, length = strlen(text);
	char quote = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '#' && i > 0 && text[i - 1] == ' ' && !quote)
			break;
		if (text[i] == '\'' || text[i] == '"')
			quote = !quote ? text[i] : quote == text[i] ? 0 : quote;
		if (text[i] != ' ' || quote || i == 0)
			continue;
		if (place && columns_of(text, i) > columns)
			break;
		place = i;
	}
	return place ? place : length;
}

/* In one piece where it fits, else so that the shell puts it together again. */
static void command_print(const char *text, unsigned width)
{
	const char *indent = COMMAND_INDENT;

	while (columns_of(text, strlen(text)) + strlen(indent) > width) {
		size_t length = command_break(text, width - (unsigned)strlen(indent) - 2);

		if (!text[length])
			break;
		printf("%s%.*s \\\n", indent, (int)length, text);
		text += length + strspn(text + length, " ");
		indent = COMMAND_INDENT "    ";
	}
	printf("%s%s\n", indent, text);
}

static void action_print(const struct command *command, struct json_object *action)
{
	const char *file = document_text(action, "File");

	sentence_print(command, document_text(action, "Text"));
	if (file[0])
		printf("        # %s\n", file);
	lines_print(action);
	for (unsigned i = 0; i < document_count(action, "Commands"); i++)
		command_print(json_object_get_string(document_at(action, "Commands", i)),
			      command->width ? command->width : UINT_MAX);
}

void show_explanation(const struct command *command, struct json_object *peer,
		      struct json_object *explanation)
{
	const char *link = document_text(explanation, "Interface");
	const char *verdict = document_text(explanation, "Verdict");
	enum severity severity = document_severity(explanation);
	char title[TITLE_SIZE];

	snprintf(title, sizeof(title), "%s (%s)%s%s:", document_text(peer, "Name"),
		 document_text(explanation, "Address"), link[0] ? " by " : "", link);
	if (columns_of(title, strlen(title)) + 1 + strlen(verdict) > width_of(command)) {
		report_wrap(stdout, title, 0, width_of(command));
		fputs("   ", stdout);
	} else {
		fputs(title, stdout);
	}
	printf(" %s%s%s\n", command->colour ? report_colour(severity) : "", verdict,
	       command->colour ? "\033[0m" : "");
	title_print(command, "What was seen");
	sentences_print(command, explanation, "Evidence");
	title_print(command, "The way there, in bytes of a whole packet");
	picture_print(command, explanation);
	title_print(command, "What it means");
	sentences_print(command, explanation, "Diagnosis");
	title_print(command, "What to do");
	if (document_count(explanation, "Actions") == 0)
		sentence_print(command, "Nothing.");
	for (unsigned i = 0; i < document_count(explanation, "Actions"); i++)
		action_print(command, document_at(explanation, "Actions", i));
}
