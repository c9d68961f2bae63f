/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The responder's sockets of one family: questions in, answers out. The seam to the kernel;
 * decides nothing.
 */
#pragma once

#include "../core/facts.h"
#include "responder_message.h"

#define RESPONDER_BATCH 64

struct responder_socket {
	uint8_t family; /* enum address_family; ADDRESS_NONE: this host has not the family */
	int fd;         /* bound to the port; -1 none */
	int other;      /* IPv4: raw, what is sent goes through it. IPv6: asks for routes */
	uint16_t port;
	uint8_t ttl;    /* IPv4: the system's default */
};

/* A datagram that arrived. */
struct question {
	struct address from;
	uint16_t from_port;
	struct address asked; /* which of our addresses */
	uint32_t size;        /* of the whole IP packet */
	uint16_t fragment;    /* the largest that it came in, 0 whole */
	const uint8_t *bytes; /* of the payload, until the next responder_batch_receive() */
	size_t captured;
};

struct responder_batch;

/*
 * Errors: socket(2)'s, bind(2)'s. A family that is not there is none: `ret` says so. The owner
 * calls responder_socket_close(), which takes such a one too.
 */
int responder_socket_open(struct responder_socket *ret, uint8_t family, uint16_t port);
void responder_socket_close(struct responder_socket *socket);

/* NULL: out of memory. */
struct responder_batch *responder_batch_new(void);
struct responder_batch *responder_batch_free(struct responder_batch *batch);

/* Up to RESPONDER_BATCH datagrams; a negative errno when there is none. */
int responder_batch_receive(struct responder_batch *batch, const struct responder_socket *socket);

/* The one in place `position`; false when nobody is to answer it: sent to many, or from nobody. */
bool responder_batch_get(const struct responder_batch *batch, unsigned position,
			 struct question *ret);

/*
 * Sends `message` to who asked, from the address that was asked, filled up to an IP packet of
 * `size`, never fragmented, and whatever the kernel believes of the path. -EMSGSIZE: the link
 * does not carry it.
 */
int responder_batch_send(const struct responder_batch *batch,
			 const struct responder_socket *socket, const struct question *to,
			 const struct responder_message *message, uint32_t size);

/* Whether it is one of this host's own. */
bool responder_socket_owns(const struct responder_socket *socket, const struct address *address);

/* What RESPONDER_MESSAGE_SIZE makes as an IP packet. */
uint32_t responder_smallest(uint8_t family);
