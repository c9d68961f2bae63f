/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes 0-3 "mtuw", 4 version, 5 kind, 6 sequence, 8 nonce, 16 cookie, 24 size, 28 fragment, all in
 * network order. Neither sends nor decides. */
#include "responder_message.h"

#include <string.h>

#define VERSION_BYTE 1

static const uint8_t magic[4] = { 'm', 't', 'u', 'w' };

static void put(uint8_t *bytes, uint64_t value, unsigned length)
{
	while (length > 0) {
		bytes[--length] = (uint8_t)value;
		value >>= 8;
	}
}

static uint64_t get(const uint8_t *bytes, unsigned length)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < length; i++)
		value = value << 8 | bytes[i];
	return value;
}

void responder_message_encode(const struct responder_message *message,
			      uint8_t bytes[static RESPONDER_MESSAGE_SIZE])
{
	memset(bytes, 0, RESPONDER_MESSAGE_SIZE);
	memcpy(bytes, magic, sizeof(magic));
	bytes[4] = VERSION_BYTE;
	bytes[5] = (uint8_t)message->kind;
	put(bytes + 6, message->sequence, 2);
	put(bytes + 8, message->nonce, 8);
	put(bytes + 16, message->cookie, 8);
	put(bytes + 24, message->size, 4);
	put(bytes + 28, message->fragment, 2);
}

bool responder_message_decode(const uint8_t *bytes, size_t captured, struct responder_message *ret)
{
	if (captured < RESPONDER_MESSAGE_SIZE || memcmp(bytes, magic, sizeof(magic)) != 0 ||
	    bytes[4] != VERSION_BYTE || bytes[5] < RESPONDER_PROBE || bytes[5] > RESPONDER_COOKIE)
		return false;
	*ret = (struct responder_message){
		.kind = (enum responder_message_kind)bytes[5],
		.sequence = (uint16_t)get(bytes + 6, 2),
		.nonce = get(bytes + 8, 8),
		.cookie = get(bytes + 16, 8),
		.size = (uint32_t)get(bytes + 24, 4),
		.fragment = (uint16_t)get(bytes + 28, 2),
	};
	return true;
}
