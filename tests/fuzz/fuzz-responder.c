/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all through the decoder of what two daemons say to each other; what it takes, it
 * also writes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/world/responder_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct responder_message message;
	uint8_t bytes[RESPONDER_MESSAGE_SIZE];

	if (!responder_message_decode(data, size, &message))
		return 0;
	if (size < RESPONDER_MESSAGE_SIZE || message.kind < RESPONDER_PROBE ||
	    message.kind > RESPONDER_COOKIE)
		abort();
	/* the last two bytes mean nothing */
	responder_message_encode(&message, bytes);
	if (memcmp(bytes, data, RESPONDER_MESSAGE_SIZE - 2) != 0)
		abort();
	return 0;
}
