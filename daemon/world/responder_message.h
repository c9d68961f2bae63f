/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What two daemons say to each other over UDP, both sides of it. Pure.
 *
 * A PROBE is filled up to the size that is asked about. Without a cookie that the responder gave
 * to this address and port it is answered by a COOKIE alone, which is smaller than any probe: who
 * forges a source address gets nothing sent there worth the trouble. With it there are a RECEIPT,
 * small, and an ANSWER, of the probe's size with DF set: one exchange measures both directions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONDER_PORT 8899
#define RESPONDER_MESSAGE_SIZE 32U /* fits the smallest control: 20 + 8 + 32 <= 68, 40 + 8 + 32 <= 100 */

enum responder_message_kind {
	RESPONDER_PROBE = 1,
	RESPONDER_RECEIPT,
	RESPONDER_ANSWER,
	RESPONDER_COOKIE,
};

struct responder_message {
	enum responder_message_kind kind;
	uint16_t sequence;
	uint64_t nonce;
	uint64_t cookie;   /* PROBE: the one that was given, 0 none; COOKIE: the one to use */
	uint32_t size;     /* RECEIPT, ANSWER: of the whole IP packet that arrived */
	uint16_t fragment; /* RECEIPT, ANSWER: the largest fragment that it arrived in, 0 whole */
};

void responder_message_encode(const struct responder_message *message,
			      uint8_t bytes[static RESPONDER_MESSAGE_SIZE]);
/* `captured` bytes of a UDP payload are there. False when it is none of ours. */
bool responder_message_decode(const uint8_t *bytes, size_t captured, struct responder_message *ret);
