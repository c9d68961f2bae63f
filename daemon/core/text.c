/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which bytes are a character, and which characters are for people. Knows nothing of meanings.
 */
#include "text.h"

#include <string.h>

size_t text_character(const uint8_t *text, size_t length, uint32_t *ret)
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

bool text_is_shown(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1f},	  {0x7f, 0xa0},	    {0xad, 0xad},	 {0x34f, 0x34f},
		{0x61c, 0x61c},	  {0x115f, 0x1160}, {0x17b4, 0x17b5},	 {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x2028, 0x202f}, {0x2060, 0x206f},	 {0x3164, 0x3164},
		{0xe000, 0xf8ff}, {0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},	 {0xfeff, 0xfeff},
		{0xffa0, 0xffa0}, {0xfff0, 0xffff}, {0xe0000, 0x10ffff},
	};

	for (unsigned i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return false;
	return (character & 0xfffe) != 0xfffe;
}

void text_clean(char *text, char kept)
{
	size_t length = strlen(text), step;
	uint32_t character;

	for (size_t i = 0; i < length; i += step) {
		step = text_character((const uint8_t *)text + i, length - i, &character);
		if (step > 0 && (text_is_shown(character) || (kept && text[i] == kept)))
			continue;
		text[i] = '?';
		step = 1;
	}
}
