/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cookie is a keyed hash of who asks: whoever shows it again receives at the address that it
 * claims. The idea is RFC 7873's. Stores nothing of a client.
 */
#include "responder_cookie.h"

#include <string.h>

#define IDENTITY_SIZE 23U /* family, address, zone, port */

unsigned cookies_stale(const struct cookies *cookies, uint64_t now_usec)
{
	uint64_t age = now_usec - cookies->since_usec;

	if (age < COOKIES_LIFE_USEC)
		return 0;
	return age < 2 * COOKIES_LIFE_USEC ? 1 : 2;
}

void cookies_renew(struct cookies *cookies, const uint8_t key[static SIPHASH_KEY_SIZE],
		   uint64_t now_usec)
{
	memcpy(cookies->keys[1], cookies->keys[0], SIPHASH_KEY_SIZE);
	memcpy(cookies->keys[0], key, SIPHASH_KEY_SIZE);
	cookies->since_usec = now_usec;
}

/* 0 stands for none in a message. */
static uint64_t cookie_of(const uint8_t *key, const struct address *client, uint16_t port)
{
	uint8_t identity[IDENTITY_SIZE] = {client->family};
	uint64_t hash;

	memcpy(identity + 1, client->bytes, 16);
	memcpy(identity + 17, &client->zone, 4);
	memcpy(identity + 21, &port, 2);
	hash = siphash(key, identity, sizeof(identity));
	return hash != 0 ? hash : 1;
}

uint64_t cookies_make(const struct cookies *cookies, const struct address *client, uint16_t port)
{
	return cookie_of(cookies->keys[0], client, port);
}

bool cookies_check(const struct cookies *cookies, const struct address *client, uint16_t port,
		   uint64_t cookie)
{
	return cookie != 0 && (cookie == cookie_of(cookies->keys[0], client, port) ||
			       cookie == cookie_of(cookies->keys[1], client, port));
}
