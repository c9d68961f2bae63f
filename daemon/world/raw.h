/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The raw ICMP socket of one family and the message batches that go through it: the prober's
 * seam to the kernel. Keeps no queue and decides nothing.
 */
#pragma once

#include "../core/facts.h"

#define RAW_BATCH 64

struct raw {
	int fd;		/* -1: this host has not the family. The owner closes it */
	uint8_t family; /* enum address_family */
	uint8_t ttl;	/* IPv4: the system's default */
};

struct raw_outbox;
struct raw_inbox;

/* Non-blocking, all options set. Errors: socket(2)'s and setsockopt(2)'s. */
int raw_open(struct raw *ret, uint8_t family);

/* NULL: out of memory. */
struct raw_outbox *raw_outbox_new(void);
struct raw_outbox *raw_outbox_free(struct raw_outbox *outbox);
struct raw_inbox *raw_inbox_new(void);
struct raw_inbox *raw_inbox_free(struct raw_inbox *inbox);

/* Writes the packet of a probe that encode_check() allows into place `position`. */
void raw_outbox_put(struct raw_outbox *outbox, unsigned position, const struct raw *raw,
		    const struct probe *probe);

/* How many of them the kernel took, at least one; or the error of the first. */
int raw_send(const struct raw *raw, struct raw_outbox *outbox, unsigned first, unsigned count);

/* Up to RAW_BATCH packets; a negative errno when there is none. */
int raw_receive(const struct raw *raw, struct raw_inbox *inbox);

/* The answer in place `position` of what was received last; false when it is none. */
bool raw_inbox_get(const struct raw_inbox *inbox, unsigned position, const struct raw *raw,
		   struct answer *ret);

/* The kernel's count of packets it dropped on this socket; `otherwise` when it will not say. */
uint32_t raw_drops(const struct raw *raw, uint32_t otherwise);
uint32_t raw_receive_buffer(const struct raw *raw); /* bytes, 0 without a socket */
