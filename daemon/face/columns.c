/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks the C library letter by letter. What is no letter of the locale counts a column a byte.
 */
#define _XOPEN_SOURCE 700 /* wcwidth() */
#include "columns.h"

#include <string.h>
#include <wchar.h>

/* Bytes of the letter that `text` begins with; there is one. */
static size_t letter(const char *text, unsigned *ret_columns)
{
	mbstate_t state = { 0 };
	wchar_t wide;
	size_t length = mbrtowc(&wide, text, strlen(text), &state);
	int width = length > 0 && length < (size_t)-2 ? wcwidth(wide) : -1;

	*ret_columns = width < 0 ? 1 : (unsigned)width;
	return width < 0 ? 1 : length;
}

unsigned columns_of(const char *text, size_t length)
{
	unsigned sum = 0, columns;

	for (size_t i = 0; i < length && text[i]; sum += columns)
		i += letter(text + i, &columns);
	return sum;
}

size_t columns_fit(const char *text, unsigned columns)
{
	size_t end = 0, length;
	unsigned sum = 0, width;

	while (text[end]) {
		length = letter(text + end, &width);
		sum += width;
		if (sum > columns)
			break;
		end += length;
	}
	return end;
}

void columns_print(FILE *out, const char *text, unsigned columns)
{
	unsigned taken = columns_of(text, strlen(text));

	fprintf(out, "%s%*s", text, taken < columns ? (int)(columns - taken) : 0, "");
}
