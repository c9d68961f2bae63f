/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as what iperf3 prints, as networkd's record of a link and as a file of
 * netplan's. Whatever comes out is closed, and has nothing in it that steers a terminal.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/ctl/iperf.h"
#include "../../daemon/ctl/layers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_closed(const char *text, size_t room)
{
	if (strnlen(text, room) == room)
		abort();
}

static void assert_clean(const char *text, size_t room)
{
	assert_closed(text, room);
	for (; *text; text++)
		if ((uint8_t)*text < 0x20 || *text == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), section[32];
	struct iperf_answer answer;
	struct manager manager;

	if (!text)
		return 0;
	if (iperf_parse(text, &answer) < 0 && !answer.words[0])
		abort();
	assert_clean(answer.words, sizeof(answer.words));
	if (manager_from_networkd(&manager, text)) {
		assert_closed(manager.file, sizeof(manager.file));
		if (manager.kind != MANAGER_NETWORKD || manager.file[0] != '/')
			abort();
	}
	netplan_section(text, "eth1", section);
	assert_closed(section, sizeof(section));
	free(text);
	return 0;
}
