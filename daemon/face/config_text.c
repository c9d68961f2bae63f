/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text as such: is it UTF-8, and which known word is it close to. Knows nothing of meanings.
 */
#include "config_parse.h"

#include <ctype.h>
#include <string.h>

/* Length of the well-formed sequence at `text` (RFC 3629 section 4), 0 there is none. */
static size_t utf8_length(const unsigned char *text, size_t left)
{
	unsigned char first = text[0], lowest = 0x80, highest = 0xbf;
	size_t length;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (length > left)
		return 0;
	/* no overlong forms, no surrogates, nothing above U+10FFFF */
	if (first == 0xe0)
		lowest = 0xa0;
	else if (first == 0xed)
		highest = 0x9f;
	else if (first == 0xf0)
		lowest = 0x90;
	else if (first == 0xf4)
		highest = 0x8f;
	if (text[1] < lowest || text[1] > highest)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

bool value_is_utf8(const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t step = utf8_length((const unsigned char *)text + at, length - at);

		if (step == 0)
			return false;
		at += step;
	}
	return true;
}

const char *value_text_objection(const char *text, size_t length)
{
	if (!value_is_utf8(text, length))
		return "expected UTF-8";
	for (size_t i = 0; i < length; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
			return "expected text, there is a control character";
	return NULL;
}

#define WORD_LONGEST 63

/* Insertions, deletions and replacements from one word to the other, case aside. */
static unsigned edit_distance(const char *from, const char *to)
{
	unsigned row[WORD_LONGEST + 1];
	size_t length = strlen(to);

	if (strlen(from) > WORD_LONGEST || length > WORD_LONGEST)
		return WORD_LONGEST;
	for (unsigned i = 0; i <= length; i++)
		row[i] = i;
	for (unsigned done = 1; *from; from++, done++) {
		unsigned diagonal = row[0];

		row[0] = done;
		for (size_t i = 1; i <= length; i++) {
			bool same =
				tolower((unsigned char)*from) == tolower((unsigned char)to[i - 1]);
			unsigned best = diagonal + !same;

			diagonal = row[i];
			if (row[i] + 1 < best)
				best = row[i] + 1;
			if (row[i - 1] + 1 < best)
				best = row[i - 1] + 1;
			row[i] = best;
		}
	}
	return row[length];
}

const char *value_nearest(const char *text, const char *const *words, unsigned count)
{
	/* a typo or two, but not a word made of other letters */
	unsigned closest = strlen(text) <= 4 ? 2 : 3;
	const char *nearest = NULL;

	for (unsigned i = 0; i < count; i++) {
		unsigned distance = edit_distance(text, words[i]);

		if (distance < closest) {
			closest = distance;
			nearest = words[i];
		}
	}
	return nearest;
}
