/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as what a caller asks to be probed, a line for each option as the bus's method
 * hands it on: either an objection, or an address that can be probed and links with whole names.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "face/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool option_set(struct config_peer *peer, char *line)
{
	char *value = strchr(line, '='), *why = NULL;
	int r;

	if (!value)
		return true;
	*value++ = '\0';
	r = config_peer_set(peer, line, value, &why);
	if ((r == -EINVAL) != (why != NULL))
		abort();
	free(why);
	return r >= 0;
}

static void expect_peer(const struct config_peer *peer)
{
	if (peer->host && peer->address.family != ADDRESS_NONE)
		abort();
	if (!memchr(peer->zone_link, '\0', LINK_NAME_SIZE))
		abort();
	for (unsigned i = 0; i < peer->interface_count; i++)
		if (!peer->interfaces[i][0] || !memchr(peer->interfaces[i], '\0', LINK_NAME_SIZE) ||
		    strpbrk(peer->interfaces[i], "/ \t\n\033"))
			abort();
}

static void ask(struct config_peer *peer, char *text)
{
	const char *key = NULL;
	char *why = NULL;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!option_set(peer, line))
			return;
	}
	if (config_peer_check(peer, &key, &why) < 0 && (!key || !why))
		abort();
	free(why);
	expect_peer(peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct config_peer *peer = NULL;

	if (text && config_peer_new(&peer) >= 0)
		ask(peer, text);
	config_peer_free(peer);
	free(text);
	return 0;
}
