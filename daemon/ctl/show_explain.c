/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An explanation on the screen: sentences, the picture of the way, and things to type. The bars are
 * drawn in the terminal's own characters, or in ASCII.
 */
#include <inttypes.h>
#include <langinfo.h>
#include <string.h>

#include "explain.h"
#include "show.h"

#define WIDTH 80 /* where there is no terminal */
#define NAME_LARGEST 40
#define BAR_LARGEST 32
#define NUMBERS 21 /* three of seven columns */
#define MARK " <== narrow"

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
	for (unsigned i = 0; i < document_count(picture->all, "Steps"); i++) {
		struct json_object *step = document_at(picture->all, "Steps", i);
		unsigned length = (unsigned)strlen(document_text(step, "Name"));

		if (length > picture->name_width)
			picture->name_width = length;
		if (document_number(step, "MTU") > picture->most)
			picture->most = document_number(step, "MTU");
	}
	if (picture->name_width > NAME_LARGEST)
		picture->name_width = NAME_LARGEST;
	picture->bar_width = 4 + picture->name_width + 1 + NUMBERS + (unsigned)strlen(MARK);
	picture->bar_width = width > picture->bar_width + 4 ? width - picture->bar_width : 4;
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
	const char *begin =
		narrow && command->colour ? report_colour(document_severity(picture->all)) : "";

	printf("    %-*.*s %s", (int)picture->name_width, (int)picture->name_width,
	       document_text(step, "Name"), begin);
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

static void lines_print(struct json_object *action, const char *key, const char *before)
{
	for (unsigned i = 0; i < document_count(action, key); i++)
		printf("        %s%s\n", before,
		       json_object_get_string(document_at(action, key, i)));
}

static void action_print(const struct command *command, struct json_object *action)
{
	const char *file = document_text(action, "File");

	sentence_print(command, document_text(action, "Text"));
	if (file[0])
		printf("        # %s\n", file);
	lines_print(action, "Lines", "");
	lines_print(action, "Commands", "");
}

void show_explanation(const struct command *command, struct json_object *peer,
		      struct json_object *explanation)
{
	const char *link = document_text(explanation, "Interface");
	enum severity severity = document_severity(explanation);

	printf("%s (%s)%s%s: %s%s%s\n", document_text(peer, "Name"),
	       document_text(explanation, "Address"), link[0] ? " by " : "", link,
	       command->colour ? report_colour(severity) : "",
	       document_text(explanation, "Verdict"), command->colour ? "\033[0m" : "");
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
