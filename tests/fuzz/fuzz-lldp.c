/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as a frame, as networkd's record of frames and as the texts that lldpd makes of
 * one. Whatever comes out is short,
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

/* Each text begins with its length; the first of all says what kind of name the port has. */
static void assert_names(const uint8_t *data, size_t size)
{
	struct lldp_text texts[4] = {{NULL, 0}};
	struct neighbour neighbour = {.max_frame = 0};

	for (unsigned i = 0; i < 4 && size > 0; i++) {
		texts[i] = (struct lldp_text){data + 1, data[0] < size ? data[0] : size - 1};
		data += 1 + texts[i].length;
		size -= 1 + texts[i].length;
	}
	lldp_name(&(struct lldp_said){texts[0], texts[1], texts[2], texts[3], texts[0].length % 2},
		  &neighbour);
	assert_neighbour(&neighbour);
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
	assert_names(data, size);
	for (size_t room = 4; room < 12; room++) {
		char text[12];

		lldp_text_clean(data, size, text, room);
		assert_clean(text, room);
	}
	return 0;
}
