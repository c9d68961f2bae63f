/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What takes how much room on a screen: letters of several bytes, of two columns and of none; a
 * table, a sentence and a command that have to stay within it.
 */
#include "tap.h"

#include <json-c/json.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/explain.h"
#include "ctl/show.h"
#include "face/columns.h"

#define WIDE "b\303\266rse-\347\266\262\350\267\257" /* 6 letters, and two of two columns */
#define MARK "e\314\201" /* an accent that takes no column */

START_TEST(columns)
{
	static const struct {
		const char *text;
		unsigned columns;
	} cases[] = {
		{"", 0}, {"eth0", 4}, {WIDE, 10}, {MARK, 1}, {"\377\376", 2}, {"\303", 1},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_uint_eq(columns_of(cases[i].text, strlen(cases[i].text)),
				  cases[i].columns);
	ck_assert_uint_eq(columns_of("eth0", 2), 2);
}
END_TEST

/* Never a part of a letter, and never more than there is room for. */
START_TEST(fit)
{
	for (unsigned room = 0; room < 12; room++) {
		size_t bytes = columns_fit(WIDE, room);

		ck_assert_uint_le(columns_of(WIDE, bytes), room);
		ck_assert(bytes == strlen(WIDE) || (WIDE[bytes] & 0xc0) != 0x80);
		ck_assert(bytes == strlen(WIDE) || columns_of(WIDE, bytes) + 2 > room);
	}
	ck_assert_uint_eq(columns_fit(MARK "x", 1), strlen(MARK));
}
END_TEST

START_TEST(filled_up)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	columns_print(out, WIDE, 12);
	columns_print(out, "|", 0);
	fclose(out);
	ck_assert_str_eq(text, WIDE "  |");
	free(text);
}
END_TEST

/* What is printed on stdout meanwhile; the caller frees it. */
static char *printed(const struct command *command, struct json_object *peer,
		     struct json_object *explanation)
{
	FILE *file = tmpfile();
	int before;
	char *text;
	long size;

	fflush(stdout);
	before = dup(STDOUT_FILENO);
	dup2(fileno(file), STDOUT_FILENO);
	show_explanation(command, peer, explanation);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	text = calloc((size_t)size + 1, 1);
	ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
	fclose(file);
	return text;
}

#define ADDRESS "2001:db8:1234:5678:9abc:def0:1234:5678"
#define NAME "a-peer-with-a-name-of-forty-characters-1"

static const char *const commands[] = {
	"ip -6 route replace " ADDRESS " dev " WIDE " mtu lock 1500",
	"ping -M do -c 3 -s 1452 " ADDRESS "  # 1500 bytes: it is answered, and has been so",
	"nmcli connection modify 'a connection of many words, none of which may be cut' mtu 1",
	"short",
};

static struct json_object *explanation_make(void)
{
	struct json_object *all = json_tokener_parse(
		"{\"Address\":\"" ADDRESS "\",\"Interface\":\"" WIDE "\",\"Verdict\":"
		"\"black-hole\",\"Severity\":\"critical\",\"Evidence\":[],\"Diagnosis\":[],"
		"\"Steps\":[{\"Name\":\"" NAME "\",\"MTU\":1500,\"ICMPPayload\":1452,\"MSS\":1440,"
		"\"Narrow\":true},{\"Name\":\"" WIDE "\",\"MTU\":9000,\"ICMPPayload\":8952,"
		"\"MSS\":8940,\"Narrow\":false}],\"Actions\":[{\"Text\":\"do\"}]}");
	struct json_object *list = json_object_new_array(), *actions;

	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		json_object_array_add(list, json_object_new_string(commands[i]));
	json_object_object_get_ex(all, "Actions", &actions);
	json_object_object_add(json_object_array_get_idx(actions, 0), "Commands", list);
	return all;
}

/* As a shell reads it: a backslash at the end of a line, and the blanks of the next, are nothing. */
static void put_together(char *text)
{
	char *to = text;

	ck_assert_ptr_nonnull(text);
	while (*text) {
		if (strncmp(text, "\\\n", 2) == 0) {
			text += 2;
			text += strspn(text, " ");
			continue;
		}
		*to++ = *text++;
	}
	*to = '\0';
}

START_TEST(explanations)
{
	static const unsigned widths[] = {60, 80, 120};
	struct json_object *peer = json_tokener_parse("{\"Name\":\"" NAME "\"}");
	struct json_object *explanation = explanation_make();

	for (unsigned i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct command command = {.terminal = true, .width = widths[i]};
		char *text = printed(&command, peer, explanation), *line, *rest;

		rest = strdup(text);
		for (char *all = rest; (line = strsep(&all, "\n"));)
			/* a word that is longer than the screen has no place to be broken at */
			if (!strstr(line, "'a connection") && !strchr(line, '#'))
				ck_assert_uint_le(columns_of(line, strlen(line)), widths[i]);
		free(rest);
		put_together(text);
		for (unsigned j = 0; j < sizeof(commands) / sizeof(commands[0]); j++) {
			char whole[256], single[256];

			snprintf(whole, sizeof(whole), "        %s\n", commands[j]);
			/* where a comment was put into a line of its own one blank is left of two */
			snprintf(single, sizeof(single), "%s", whole);
			if (strstr(single, "  #"))
				memmove(strstr(single, "  #"), strstr(single, "  #") + 1,
					strlen(strstr(single, "  #")));
			ck_assert_msg(strstr(text, whole) || strstr(text, single), "%s in %s",
				      whole, text);
		}
		free(text);
	}
	json_object_put(explanation);
	json_object_put(peer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("screen");
	TCase *test = tcase_create("screen");

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		puts("1..0 # SKIP needs the locale C.UTF-8");
		return 0;
	}
	tcase_add_test(test, columns);
	tcase_add_test(test, fit);
	tcase_add_test(test, filled_up);
	tcase_add_test(test, explanations);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
