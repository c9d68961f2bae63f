/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The prober's sockets, opened with all their options: raw ones of a family, and ports kept.
 * Keeps no queue and decides nothing.
 */
#pragma once

#include "../core/facts.h"

enum raw_kind {
	RAW_ICMP,     /* hears replies to echoes like ours and all reports; sends, IPv4 all kinds, IPv6 echo */
	RAW_HEADER,   /* IPv6 alone: sends what has its own header, hears nothing */
	RAW_SEGMENT,  /* hears the TCP answers to a SYN; sends nothing */
	RAW_DATAGRAM, /* a UDP port; sends nothing */
};

struct raw {
	int fd; /* -1: there is none. The owner closes it */
	enum raw_kind kind;
	uint8_t family; /* enum address_family */
	uint8_t ttl;	/* of RAW_ICMP over IPv4 and RAW_HEADER: the system's default */
	uint16_t port;	/* RAW_DATAGRAM */
	uint32_t room;	/* bytes that the receive buffer holds; not of RAW_DATAGRAM */
};

/* Non-blocking. Errors: socket(2)'s and setsockopt(2)'s. Not for RAW_DATAGRAM. */
int raw_open(struct raw *ret, enum raw_kind kind, uint8_t family);

/* A RAW_SEGMENT socket hears nothing but SYN-ACK and RST to a port from `first` to `last`. */
int raw_filter_ports(const struct raw *raw, uint16_t first, uint16_t last);

/* A RAW_DATAGRAM socket on that port, nobody else's then. bind(2)'s errors too. */
int raw_open_port(struct raw *ret, uint8_t family, uint16_t port);

/* Binds that port of SOCK_STREAM or SOCK_DGRAM so that no program gets it, and hears nothing on
 * it. Returns the descriptor; bind(2)'s errors too. */
int raw_hold_port(int type, uint8_t family, uint16_t port);

/*
 * How full the receive buffer is. `drops` counts what found it full, but also what the kernel threw
 * away for a bad checksum (raw ICMPv6 and TCP): who can send us such packets must not be able to
 * void our silences with them.
 */
struct raw_fill {
	uint32_t drops;
	uint32_t waiting; /* bytes */
	uint32_t room;    /* bytes */
};

bool raw_fill(const struct raw *raw, struct raw_fill *ret);
