/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The source ports that are kept for probes, and the sockets that hear what comes to them. Sends
 * nothing.
 */
#pragma once

#include "ear.h"

#define PORTS_KINDS 3 /* all kinds of probes but echo */
#define PORTS_ROWS 256U

struct port;

/* What the socket that hears segments lets through: more than the ports that are kept, rather than
 * a new filter for each that comes and goes. */
struct ports_range {
	uint16_t first, last;
	unsigned count;  /* ports for SYNs that are kept */
	unsigned fitted; /* that were kept when the range was last made to fit */
};

struct ports {
	uint8_t bits[PORTS_KINDS][2][65536 / 8]; /* asked for each packet */
	struct port *rows[PORTS_ROWS];           /* by number, chained */
	struct ports_range ranges[2];            /* IPv4, IPv6 */
	struct ear segments[2]; /* IPv4, IPv6; open only while a port for SYNs is kept */
};

void ports_init(struct ports *ports, struct hearing *hearing);
void ports_done(struct ports *ports);

/* prober_keep_port() and prober_release_port() */
int ports_keep(struct ports *ports, enum probe_kind kind, uint8_t family, uint16_t port);
void ports_release(struct ports *ports, enum probe_kind kind, uint8_t family, uint16_t port);

/* True for echo, which needs no port. */
bool ports_allow(const struct ports *ports, const struct probe *probe);

/*
 * False when the answer is about a port that is not kept: none of ours. Else its probe's kind is
 * set right, and its own by that: what the destination's port unreachable says depends on it.
 */
bool ports_settle(const struct ports *ports, struct answer *answer);

/* As ear_overflowed(), of all. */
bool ports_overflowed(struct ports *ports);
