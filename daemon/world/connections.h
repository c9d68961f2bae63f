/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Live TCP connections of this network namespace, by INET_DIAG: of programs and of the kernel
 * itself (NFS, iSCSI, NVMe/TCP). Looks when asked, a piece at a time; sends no packet and needs no
 * privilege.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/facts.h"

struct connections;

/* Of more addresses a look is not limited to them: the kernel would compare each connection with
 * all. */
#define CONNECTIONS_FILTER_MOST 64U

struct connections_handlers {
	/* valid during the call */
	void (*connection)(const struct connection *connection, void *userdata);
	/* the look is over; error < 0: it is not complete. `cost_usec` of processor time */
	void (*done)(int error, uint64_t cost_usec, void *userdata);
};

/* The caller owns *ret. `event` may be NULL: then connections_look() has them all before it
 * returns. Errors: -EPROTONOSUPPORT where the kernel has no INET_DIAG, and the socket's. */
int connections_new(struct connections **ret, sd_event *event,
		    const struct connections_handlers *handlers, void *userdata);
struct connections *connections_free(struct connections *connections);

/* Begins a look at the connections to these addresses, count 0: at all there are. One that still
 * runs is given up, without a word. */
int connections_look(struct connections *connections, const struct address *addresses,
		     unsigned count);

/* net.ipv4.tcp_mtu_probing: 0 off, 1 after losses, 2 always. Unknown is off. */
int connections_mtu_probing(void);
