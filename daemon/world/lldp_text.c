/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text from a cable, made fit to be shown. It may be cut, but never means something else than it
 * did, and never moves a cursor.
 */
#include "lldp.h"

#include <stdio.h>
#include <string.h>

#include "../core/text.h"

/* One step through the text: what it becomes, at most 4 bytes and NUL. Returns what was used up. */
static size_t clean_one(const uint8_t *text, size_t length, char ret[static 5])
{
	uint32_t value;
	size_t n = text_character(text, length, &value);

	/* what is left out is written with a backslash */
	if (n && text_is_shown(value) && value != '\\') {
		memcpy(ret, text, n);
		ret[n] = '\0';
		return n;
	}
	snprintf(ret, 5, "\\x%02x", text[0]);
	return 1;
}

void lldp_text_clean(const uint8_t *text, size_t length, char *ret, size_t size)
{
	static const char cut[] = "...";
	size_t used = 0, room = size - sizeof(cut), safe = 0;
	char one[5];

	/* many devices count a closing NUL, or fill up with blanks */
	while (length > 0 && (text[length - 1] == '\0' || text[length - 1] == ' '))
		length--;
	ret[0] = '\0';
	for (size_t i = 0; i < length;) {
		size_t written;

		i += clean_one(text + i, length - i, one);
		written = strlen(one);
		if (used + written >= size) {
			memcpy(ret + safe, cut, sizeof(cut));
			return;
		}
		memcpy(ret + used, one, written + 1);
		used += written;
		if (used <= room)
			safe = used;
	}
}
