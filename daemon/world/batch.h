/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages in batches through the prober's sockets: vectors, addresses and control messages
 * around what encode.h writes and decode.h reads. Keeps nothing from one batch to the next.
 */
#pragma once

#include "raw.h"

#define BATCH 64

struct outbox;
struct inbox;

/* NULL: out of memory. */
struct outbox *outbox_new(void);
struct outbox *outbox_free(struct outbox *outbox);
struct inbox *inbox_new(void);
struct inbox *inbox_free(struct inbox *inbox);

/* Writes the packet of a probe that encode_check() allows into place `position`. */
void outbox_put(struct outbox *outbox, unsigned position, const struct raw *raw,
		const struct probe *probe);

/* How many of them the kernel took, at least one; or the error of the first. */
int outbox_send(struct outbox *outbox, const struct raw *raw, unsigned first, unsigned count);

/* Up to BATCH packets; a negative errno when there is none. */
int inbox_receive(struct inbox *inbox, const struct raw *raw);

/* The answer in place `position` of what was received last; false when it is none. */
bool inbox_get(const struct inbox *inbox, unsigned position, const struct raw *raw,
	       struct answer *ret);

/* What a RST must say, as encode_reset() takes it, to end what a SYN-ACK in that place opened;
 * false when nothing was opened. */
struct reset {
	struct probe probe;
	uint32_t number;
};
bool inbox_get_reset(const struct inbox *inbox, unsigned position, const struct raw *raw,
		     struct reset *ret);

/* Sends it by a socket that sends whole packets of that family. True: the kernel took it. */
bool reset_send(const struct reset *reset, const struct raw *raw);
