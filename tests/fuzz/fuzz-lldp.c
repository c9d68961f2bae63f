/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as a frame and as networkd's record of frames. Whatever comes out is short,
 * closed, and has nothing in it that steers a terminal.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/world/lldp.h"
#include "../../daemon/world/networkd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_clean(const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	if (length == room)
		abort();
	for (size_t i = 0; i < length; i++)
		if ((uint8_t)text[i] < 0x20 || text[i] == 0x7f)
			abort();
}

static void assert_neighbour(const struct neighbour *neighbour)
{
	assert_clean(neighbour->system, sizeof(neighbour->system));
	assert_clean(neighbour->port, sizeof(neighbour->port));
	if (neighbour->max_frame > UINT16_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neighbour neighbour;
	struct cable cable;
	uint16_t ttl;

	if (lldp_decode(data, size, &neighbour, &ttl))
		assert_neighbour(&neighbour);
	if (networkd_parse(data, size, 1, &cable)) {
		if (cable.ttl_sec == 0)
			abort();
		assert_neighbour(&cable.neighbour);
	}
	for (size_t room = 4; room < 12; room++) {
		char text[12];

		lldp_text_clean(data, size, text, room);
		assert_clean(text, room);
	}
	return 0;
}
