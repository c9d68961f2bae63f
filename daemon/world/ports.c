/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A port is kept by binding it: no program gets it then, by bind() or by connect(). A TCP port
 * never listens, so that the kernel answers what comes to it by RST; its answers are read by one
 * raw socket for all. Of UDP only the responder's answers are read.
 */
#include "ports.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reserved.h"

#define ASKED_MOST 16 /* sockets, when silence is looked into */
#define SPARE_LEAST 6 /* descriptors for what is opened for a moment: names, the bus, files */

struct port {
	struct ear
		ear; /* of PROBE_RESPONDER, else closed; first, so that its memory is the port's */
	struct port *next;
	enum probe_kind kind;
	uint8_t family;
	uint16_t number;
	int held; /* of a port that nothing is read from; else -1 */
};

static uint8_t ports_mask(uint16_t number)
{
	return (uint8_t)(1U << number % 8);
}

static uint8_t *ports_byte(struct ports *ports, const struct port *port)
{
	return &ports->bits[port->kind - PROBE_SYN][port->family == ADDRESS_IPV6][port->number / 8];
}

static bool ports_has(const struct ports *ports, enum probe_kind kind, uint8_t family,
		      uint16_t number)
{
	const uint8_t *row = ports->bits[kind - PROBE_SYN][family == ADDRESS_IPV6];

	return (row[number / 8] & ports_mask(number)) != 0;
}

static struct port **ports_row(struct ports *ports, uint16_t number)
{
	return &ports->rows[number % PORTS_ROWS];
}

static void range_take_in(struct ports_range *range, uint16_t number)
{
	if (range->count == 0 || number < range->first)
		range->first = number;
	if (range->count == 0 || number > range->last)
		range->last = number;
	range->count++;
}

/* The smallest and largest for SYNs. */
static void ports_fit(struct ports *ports, uint8_t family)
{
	struct ports_range *range = &ports->ranges[family == ADDRESS_IPV6];

	range->count = 0;
	for (unsigned i = 0; i < PORTS_ROWS; i++)
		for (const struct port *port = ports->rows[i]; port; port = port->next)
			if (port->kind == PROBE_SYN && port->family == family)
				range_take_in(range, port->number);
	range->fitted = range->count;
}

static int segments_open(struct ear *ear, uint8_t family, const struct ports_range *range)
{
	struct raw raw;
	int r;

	r = raw_open(&raw, RAW_SEGMENT, family);
	if (r < 0)
		return r;
	r = raw_filter_ports(&raw, range->first, range->last);
	if (r < 0) {
		close(raw.fd);
		return r;
	}
	return ear_open(ear, &raw, ear_on_io, ear);
}

static int segments_filter(struct ports *ports, uint8_t family)
{
	struct ear *ear = &ports->segments[family == ADDRESS_IPV6];
	const struct ports_range *range = &ports->ranges[family == ADDRESS_IPV6];

	return ear->raw.fd < 0 ? segments_open(ear, family, range)
			       : raw_filter_ports(&ear->raw, range->first, range->last);
}

/* The filter lets through what the ports need. */
static int segments_add(struct ports *ports, uint8_t family, uint16_t number)
{
	struct ports_range *range = &ports->ranges[family == ADDRESS_IPV6];
	bool inside = range->count > 0 && number >= range->first && number <= range->last;

	range_take_in(range, number);
	if (range->fitted < range->count)
		range->fitted = range->count;
	return inside ? 0 : segments_filter(ports, family);
}

/* The socket goes with the last of them, so that a host without them pays nothing for its TCP; and
 * where half of them went the rest may lie closer together. */
static void segments_remove(struct ports *ports, uint8_t family)
{
	struct ports_range *range = &ports->ranges[family == ADDRESS_IPV6];

	if (--range->count == 0) {
		*range = (struct ports_range){0};
		ear_close(&ports->segments[family == ADDRESS_IPV6]);
	} else if (range->count <= range->fitted / 2) {
		ports_fit(ports, family);
		(void)segments_filter(ports, family);
	}
}

/* The kernel gives the lowest number that is free: it tells how many are left. */
static bool descriptors_short(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd + SPARE_LEAST >= limit.rlim_cur;
}

/* The ear's memory ends with its source, which a handler of its own must outlive. */
static int port_hear(struct port *port)
{
	struct raw raw;
	int r;

	r = raw_open_port(&raw, port->family, port->number);
	if (r < 0)
		return r;
	if (descriptors_short(raw.fd)) {
		close(raw.fd);
		return -EMFILE;
	}
	r = ear_open(&port->ear, &raw, ear_on_io, &port->ear);
	if (r < 0)
		return r;
	return sd_event_source_set_destroy_callback(port->ear.source, free);
}

static int port_hold(struct port *port)
{
	port->held = raw_hold_port(port->kind == PROBE_SYN ? SOCK_STREAM : SOCK_DGRAM, port->family,
				   port->number);
	if (port->held < 0)
		return port->held;
	return descriptors_short(port->held) ? -EMFILE : 0;
}

static void port_free(struct port *port)
{
	bool heard = port->ear.source != NULL;

	if (port->held >= 0)
		close(port->held);
	ear_close(&port->ear);
	if (!heard)
		free(port);
}

/* Takes it out of its row; NULL when it is not there. */
static struct port *ports_take(struct ports *ports, enum probe_kind kind, uint8_t family,
			       uint16_t number)
{
	for (struct port **at = ports_row(ports, number); *at != NULL; at = &(*at)->next) {
		struct port *port = *at;

		if (port->kind != kind || port->family != family || port->number != number)
			continue;
		*at = port->next;
		return port;
	}
	return NULL;
}

int ports_keep(struct ports *ports, enum probe_kind kind, uint8_t family, uint16_t number)
{
	struct port *port, **row = ports_row(ports, number);
	int r;

	if (kind == PROBE_ECHO || number == 0)
		return -EINVAL;
	if (reserved_port(number))
		return -EADDRINUSE;
	port = malloc(sizeof(*port));
	if (port == NULL)
		return -ENOMEM;
	*port = (struct port){.kind = kind, .family = family, .number = number, .held = -1};
	ear_init(&port->ear, ports->segments[0].hearing);
	r = kind == PROBE_RESPONDER ? port_hear(port) : port_hold(port);
	if (r < 0) {
		port_free(port);
		return r;
	}
	port->next = *row;
	*row = port;
	*ports_byte(ports, port) |= ports_mask(number);
	if (kind == PROBE_SYN)
		r = segments_add(ports, family, number);
	if (r < 0)
		ports_release(ports, kind, family, number);
	return r;
}

void ports_release(struct ports *ports, enum probe_kind kind, uint8_t family, uint16_t number)
{
	struct port *port = ports_take(ports, kind, family, number);

	if (port == NULL)
		return;
	*ports_byte(ports, port) &= (uint8_t)~ports_mask(number);
	if (kind == PROBE_SYN)
		segments_remove(ports, family);
	port_free(port);
}

void ports_init(struct ports *ports, struct hearing *hearing)
{
	ear_init(&ports->segments[0], hearing);
	ear_init(&ports->segments[1], hearing);
}

void ports_done(struct ports *ports)
{
	for (unsigned i = 0; i < PORTS_ROWS; i++)
		while (ports->rows[i] != NULL) {
			struct port *port = ports->rows[i];

			ports->rows[i] = port->next;
			port_free(port);
		}
	ear_close(&ports->segments[0]);
	ear_close(&ports->segments[1]);
}

bool ports_allow(const struct ports *ports, const struct probe *probe)
{
	return probe->kind == PROBE_ECHO ||
	       ports_has(ports, probe->kind, probe->to.family, probe->ident);
}

/* RFC 1122 section 3.2.2.1: it is the destination that says port unreachable; so the datagram came
 * all the way. */
static void answer_settle_udp(struct answer *answer)
{
	answer->probe = PROBE_UDP;
	if (answer->kind != ANSWER_UNREACHABLE || answer->error != -ECONNREFUSED ||
	    !address_equal(&answer->from, &answer->to))
		return;
	answer->kind = ANSWER_DELIVERED;
	answer->error = 0;
}

/* A report may quote too little of a UDP probe to tell its kind: its port does. */
bool ports_settle(const struct ports *ports, struct answer *answer)
{
	uint8_t family = answer->to.family;

	if (answer->probe == PROBE_ECHO)
		return true;
	if (answer->probe == PROBE_SYN)
		return ports_has(ports, PROBE_SYN, family, answer->ident);
	if (ports_has(ports, PROBE_UDP, family, answer->ident)) {
		answer_settle_udp(answer);
		return true;
	}
	answer->probe = PROBE_RESPONDER;
	return ports_has(ports, PROBE_RESPONDER, family, answer->ident);
}

/* The datagrams' sockets look for themselves when they are read, and a full one always has something
 * to read; so where there are thousands of them not all are asked. */
bool ports_overflowed(struct ports *ports)
{
	bool overflowed = ear_overflowed(&ports->segments[0]);
	unsigned asked = 0;

	overflowed |= ear_overflowed(&ports->segments[1]);
	for (unsigned i = 0; i < PORTS_ROWS && asked < ASKED_MOST; i++)
		for (struct port *port = ports->rows[i]; port != NULL; port = port->next) {
			if (port->ear.raw.fd < 0)
				continue;
			overflowed |= ear_overflowed(&port->ear);
			asked++;
		}
	return overflowed;
}
