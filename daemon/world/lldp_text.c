/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text from a cable, made fit to be shown. It may be cut, but never means something else than it
 * did, and never moves a cursor.
 */
#include "lldp.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the character that `text` begins with; 0: it is none (RFC 3629 section 4). */
static size_t character(const uint8_t *text, size_t length, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	uint32_t value;

	if ((text[0] >= 0x80 && text[0] < 0xc2) || text[0] > 0xf4 || n > length)
		return 0;
	value = n == 1 ? text[0] : text[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	*ret = value;
	return n;
}

/* Nothing that steers, hides or turns around, and none of the values that Unicode says are no
 * characters: the bus refuses whole messages for them. */
static bool is_shown(uint32_t value)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1f},	  {'\\', '\\'},	    {0x7f, 0xa0},     {0xad, 0xad},
		{0x34f, 0x34f},	  {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
		{0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202f}, {0x2060, 0x206f},
		{0x3164, 0x3164}, {0xe000, 0xf8ff}, {0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},
		{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xffff}, {0xe0000, 0x10ffff},
	};

	for (unsigned i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (value >= hidden[i].first && value <= hidden[i].last)
			return false;
	return (value & 0xfffe) != 0xfffe;
}

/* One step through the text: what it becomes, at most 4 bytes and NUL. Returns what was used up. */
static size_t clean_one(const uint8_t *text, size_t length, char ret[static 5])
{
	uint32_t value;
	size_t n = character(text, length, &value);

	if (n && is_shown(value)) {
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
