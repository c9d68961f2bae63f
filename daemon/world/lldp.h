/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an LLDP frame says of who sent it (IEEE 802.1AB). Pure: bytes in, a neighbour out; fuzzed
 * and unit-tested on bytes. Anybody on the cable can write these bytes.
 */
#pragma once

#include <stddef.h>

#include "../core/neighbour.h"

/*
 * `frame` begins with its Ethernet header. False when it is not LLDP or breaks a rule that a
 * receiver has to reject it for. *ret_ttl_sec is 0 for a neighbour that says goodbye.
 */
bool lldp_decode(const uint8_t *frame, size_t length, struct neighbour *ret, uint16_t *ret_ttl_sec);

/* What was told, before it is a neighbour. NULL: it was not. */
struct lldp_text {
	const uint8_t *bytes;
	size_t length;
};
struct lldp_said {
	struct lldp_text chassis, system, port, description;
	bool port_is_number; /* then the description names the port better */
};

/* Fills in what to call it. */
void lldp_name(const struct lldp_said *said, struct neighbour *ret);

/*
 * Makes `text` fit for terminals, journals and JSON, in `size` bytes with the closing NUL: whatever
 * is not printable UTF-8, reorders text or cannot be seen becomes \xNN, a backslash too; "..."
 * where it was cut.
 */
void lldp_text_clean(const uint8_t *text, size_t length, char *ret, size_t size);
