/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Read anew each time: a service's package may add its ports at any time, and we ask seldom. */
#include "reserved.h"

#include <stdio.h>
#include <stdlib.h>

#define RESERVED_FILE "/proc/sys/net/ipv4/ip_local_reserved_ports"

bool reserved_holds(const char *text, uint16_t port)
{
	char *end;

	while (*text >= '0' && *text <= '9') {
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (port >= first && port <= last)
			return true;
		text = *end == ',' ? end + 1 : end;
	}
	return false;
}

bool reserved_port(uint16_t port)
{
	FILE *file = fopen(RESERVED_FILE, "re");
	char *text = NULL;
	size_t room = 0;
	bool holds;

	if (!file)
		return false;
	holds = getline(&text, &room, file) > 0 && reserved_holds(text, port);
	free(text);
	fclose(file);
	return holds;
}
