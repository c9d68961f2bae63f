/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One file, line by line, into inih. inih tears long lines apart, cuts names and goes on after
 * errors; so it gets only lines that were found fit, one assignment each. What is not fit is
 * complained about with its line, and never taken for something else.
 */
#include "config_parse.h"

#include <errno.h>
#include <ini.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LARGEST (16U << 20) /* far more than 10,000 peers take */

static bool place_is_before(struct place a, struct place b)
{
	return a.file != b.file ? a.file < b.file : a.line < b.line;
}

/* Takes `line` over. */
static void complaint_add(struct complaints *complaints, int error, struct place place, char *line)
{
	unsigned at = complaints->count;

	if (!complaints->error)
		complaints->error = error;
	if (!line)
		complaints->error = -ENOMEM;
	if (!line || complaints->count++ >= CONFIG_COMPLAINTS_LARGEST) {
		free(line);
		return;
	}
	for (; at > 0 && place_is_before(place, complaints->list[at - 1].place); at--)
		complaints->list[at] = complaints->list[at - 1];
	complaints->list[at] = (struct complaint){place, line};
}

void complain(struct reading *reading, struct place place, const char *format, ...)
{
	const char *file = place.file ? reading->files[place.file - 1] : "";
	char *text = NULL, *line = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (text && asprintf(&line, "%s:%u: %s\n", file, place.line, text) < 0)
		line = NULL;
	free(text);
	complaint_add(&reading->complaints, -EINVAL, place, line);
}

void complain_file(struct reading *reading, int error, const char *name)
{
	/* behind all of the file before it */
	struct place place = {reading->file_count, UINT32_MAX};
	char *line;

	if (asprintf(&line, "%s: %s\n", name,
		     error == -EMEDIUMTYPE ? "Is not a regular file" : strerror(-error)) < 0)
		line = NULL;
	complaint_add(&reading->complaints, error, place, line);
}

static void complain_here(struct reading *reading, const char *text, const char *why)
{
	complain(reading, (struct place){reading->file_count, reading->line}, "%s: %s", text, why);
}

static int draft_compare(const void *a, const void *b)
{
	const struct draft *one = a, *other = b;

	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return strcmp(one->name, other->name);
}

/* The drafts stay in the order they were written; the tree only finds them. */
static int draft_keep(struct reading *reading, struct draft *draft)
{
	struct draft **grown;

	/* double it: 10,000 peers shall not mean 10,000 moves */
	if ((reading->draft_count & (reading->draft_count - 1)) == 0) {
		size_t room = reading->draft_count ? 2 * (size_t)reading->draft_count : 1;

		grown = reallocarray(reading->drafts, room, sizeof(struct draft *));
		if (!grown)
			return -ENOMEM;
		reading->drafts = grown;
	}
	if (!tsearch(draft, &reading->by_name, draft_compare))
		return -ENOMEM;
	reading->drafts[reading->draft_count++] = draft;
	return 0;
}

static int draft_add(struct reading *reading, const struct draft *like, struct draft **ret)
{
	struct draft *draft = calloc(1, sizeof(*draft));
	int r;

	if (!draft)
		return -ENOMEM;
	draft->kind = like->kind;
	snprintf(draft->name, sizeof(draft->name), "%s", like->name);
	r = draft_init(draft);
	if (r == 0)
		r = draft_keep(reading, draft);
	if (r < 0) {
		draft_done(draft);
		free(draft);
		return r;
	}
	*ret = draft;
	return 0;
}

/* A section of another file goes on in this one, as drop-ins do; twice in one file is a slip. */
static int section_enter(struct reading *reading, const struct draft *like)
{
	struct draft *const *found = tfind(like, &reading->by_name, draft_compare);
	struct draft *draft = found ? *found : NULL;
	struct place here = {reading->file_count, reading->line};
	int r;

	if (draft && draft->latest.file == here.file) {
		complain(reading, here, "[%s %s]: duplicate, this file has it in line %u already",
			 section_names[like->kind], like->name, draft->latest.line);
		return 0;
	}
	if (!draft) {
		r = draft_add(reading, like, &draft);
		if (r < 0)
			return r;
		draft->begin = here;
	}
	draft->latest = here;
	reading->section = draft;
	return 0;
}

static const char *peer_name_objection(const char *name)
{
	if (strlen(name) > PEER_NAME_LONGEST)
		return "expected a name of at most 40 characters";
	for (; *name; name++)
		if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z') &&
		    !(*name >= '0' && *name <= '9') && !strchr("._-", *name))
			return "expected a name of A-Z a-z 0-9 . _ -";
	return NULL;
}

static const char *name_objection(enum section_kind kind, const char *name)
{
	if (kind == SECTION_DAEMON)
		return *name ? "expected [Daemon] without a name" : NULL;
	if (!*name)
		return kind == SECTION_PEER ? "expected [Peer NAME]" : "expected [Link NAME]";
	if (kind == SECTION_PEER)
		return peer_name_objection(name);
	return strpbrk(name, "/ \t") ? "expected the name of a link, or a glob" : NULL;
}

static void complain_section(struct reading *reading, const char *text, const char *word)
{
	const char *nearest = value_nearest(word, section_names, SECTION_COUNT);
	char why[64] = "unknown section, expected [Daemon], [Peer NAME] or [Link NAME]";

	if (nearest)
		snprintf(why, sizeof(why), "unknown section, did you mean [%s%s]?", nearest,
			 strcmp(nearest, "Daemon") ? " NAME" : "");
	complain_here(reading, text, why);
}

/* `text` is "[Kind name]". */
static int section_begin(struct reading *reading, const char *text)
{
	char inner[CONFIG_SECTION_LONGEST + 1], *name;
	struct draft like = {0};
	const char *objection;
	size_t length = strlen(text);

	reading->section = NULL;
	reading->sections++;
	if (text[length - 1] != ']') {
		complain_here(reading, text, "expected a section that ends in ]");
		return 0;
	}
	if (length - 2 > CONFIG_SECTION_LONGEST) {
		complain_here(reading, text, "expected at most 49 bytes between [ and ]");
		return 0;
	}
	snprintf(inner, sizeof(inner), "%.*s", (int)(length - 2), text + 1);
	name = inner + strcspn(inner, " \t");
	if (*name)
		*name++ = '\0';
	name += strspn(name, " \t");
	while (like.kind < SECTION_COUNT && strcmp(inner, section_names[like.kind]) != 0)
		like.kind++;
	if (like.kind == SECTION_COUNT) {
		complain_section(reading, text, inner);
		return 0;
	}
	objection = name_objection(like.kind, name);
	if (objection) {
		complain_here(reading, text, objection);
		return 0;
	}
	if (like.kind == SECTION_DAEMON) {
		reading->section = reading->daemon;
		return 0;
	}
	snprintf(like.name, sizeof(like.name), "%s", name);
	return section_enter(reading, &like);
}

struct line {
	char text[CONFIG_LINE_LONGEST + 1];
	size_t length; /* of what was read, which may be more than was kept */
	bool nul;
};

/* The next line without its end; false: there is none. */
static bool line_take(struct reading *reading, struct line *ret)
{
	int c;

	ret->length = 0;
	ret->nul = false;
	while (reading->bytes < FILE_LARGEST && (c = getc_unlocked(reading->stream)) != EOF) {
		reading->bytes++;
		if (c == '\n')
			break;
		if (c == '\0')
			ret->nul = true;
		if (ret->length < CONFIG_LINE_LONGEST)
			ret->text[ret->length] = (char)c;
		ret->length++;
	}
	if (ret->length <= CONFIG_LINE_LONGEST)
		ret->text[ret->length] = '\0';
	return ret->length > 0 || (reading->bytes < FILE_LARGEST && !feof(reading->stream) &&
				   !ferror(reading->stream));
}

/* Why this line cannot be one of ours; NULL it can. */
static const char *line_objection(const struct line *line)
{
	size_t length;

	if (line->length > CONFIG_LINE_LONGEST)
		return "expected at most 199 bytes in a line";
	if (line->nul)
		return "expected text, there is a NUL byte";
	length = line->length;
	if (length > 0 && line->text[length - 1] == '\r')
		length--;
	return value_text_objection(line->text, length);
}

/* Cuts a comment and the blanks on both sides. A value may hold # and ; inside a word. */
static char *line_trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	for (char *at = text; *at; at++)
		if ((*at == '#' || *at == ';') && (at == text || at[-1] == ' ' || at[-1] == '\t')) {
			*at = '\0';
			break;
		}
	length = strlen(text);
	while (length > 0 && strchr(" \t\r", text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

static const char *assignment_objection(const struct reading *reading, const char *text)
{
	size_t length =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

	if (text[strlen(text) - 1] == '\\')
		return "a line cannot be continued in the next one";
	if (length == 0 || text[length + strspn(text + length, " \t")] != '=')
		return "expected [Section], Key=value or a # comment";
	if (reading->sections == 0)
		return "expected a section such as [Daemon] before the first key";
	return NULL;
}

#define EXCERPT_LONGEST 40

/* What a line begins with, fit to be shown. */
static const char *line_excerpt(const struct line *line, char buffer[static EXCERPT_LONGEST + 4])
{
	size_t length = line->length < EXCERPT_LONGEST ? line->length : EXCERPT_LONGEST;

	for (size_t i = 0; i < length; i++)
		buffer[i] = line->text[i] >= ' ' && line->text[i] < 0x7f ? line->text[i] : '?';
	strcpy(buffer + length, length < line->length ? "..." : "");
	return buffer;
}

/* What of this line inih may see; "" nothing. */
static const char *line_pass(struct reading *reading, struct line *line)
{
	bool marked = reading->line == 1 && !strncmp(line->text, "\xef\xbb\xbf", 3);
	const char *objection = line_objection(line);
	char excerpt[EXCERPT_LONGEST + 4], *text;

	if (objection) {
		complain_here(reading, line_excerpt(line, excerpt), objection);
		return "";
	}
	text = line_trim(line->text + (marked ? 3 : 0));
	if (*text == '[') {
		if (section_begin(reading, text) < 0)
			reading->complaints.error = -ENOMEM;
		return "";
	}
	objection = *text ? assignment_objection(reading, text) : NULL;
	if (objection) {
		complain_here(reading, text, objection);
		return "";
	}
	return text;
}

/* An ini_reader: inih's fgets. */
static char *reader_next(char *buffer, int size, void *userdata)
{
	struct reading *reading = userdata;
	struct line line;
	const char *text;

	if (reading->complaints.error == -ENOMEM || !line_take(reading, &line))
		return NULL;
	reading->line++;
	text = line_pass(reading, &line);
	if (strlen(text) >= (size_t)size) {
		complain(reading, (struct place){reading->file_count, reading->line},
			 "%s: expected at most %d bytes in a line", text, size - 1);
		text = "";
	}
	snprintf(buffer, (size_t)size, "%s", text);
	return buffer;
}

/* An ini_handler. The section is the one we saw: inih's own is cut and knows no empty ones. */
static int reader_assign(void *userdata, const char *section, const char *name, const char *value)
{
	struct reading *reading = userdata;

	if (reading->section && draft_assign(reading, name, value) < 0)
		reading->complaints.error = -ENOMEM;
	return 1;
}

int config_read(struct reading *reading, FILE *stream, const char *name)
{
	unsigned complaints = reading->complaints.count;
	char **grown = reallocarray(reading->files, reading->file_count + 1, sizeof(char *));
	int r;

	if (!grown)
		return -ENOMEM;
	reading->files = grown;
	grown[reading->file_count] = strdup(name);
	if (!grown[reading->file_count])
		return -ENOMEM;
	reading->file_count++;
	reading->stream = stream;
	reading->bytes = reading->line = reading->sections = 0;
	reading->section = NULL;
	errno = 0;
	r = ini_parse_stream(reader_next, reading, reader_assign, reading);
	if (r == -2 || reading->complaints.error == -ENOMEM)
		return -ENOMEM;
	if (ferror(stream))
		complain_file(reading, errno ? -errno : -EIO, name);
	else if (reading->bytes >= FILE_LARGEST)
		complain_file(reading, -EFBIG, name);
	else if (r != 0 && reading->complaints.count == complaints)
		complain(reading, (struct place){reading->file_count, r > 0 ? (unsigned)r : 0},
			 "expected [Section], Key=value or a # comment");
	return 0;
}
