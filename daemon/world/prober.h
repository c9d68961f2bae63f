/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One IPv4 and one IPv6 raw socket for all peers: probes out in batches, answers in. It neither
 * knows peers nor judges: it sends what it is given and hands on every well-formed answer.
 *
 * It does no harm: IPv4 goes out by IP_HDRINCL with DF set by hand and IP_PMTUDISC_INTERFACE, so
 * that neither real nor forged reports reach the host's route cache through our socket.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/facts.h"

struct prober;

struct prober_handlers {
	/* one answer; ANSWER_REFUSED may come from within prober_flush() */
	void (*answer)(const struct answer *answer, uint64_t now_usec, void *userdata);
	/* the batch of answers is through: effects that were gathered may go out now */
	void (*batch_end)(uint64_t now_usec, void *userdata);
	/* the kernel dropped packets on our sockets: silence means nothing in what is running */
	void (*overflow)(uint64_t now_usec, void *userdata);
};

/*
 * The caller owns *ret. -EPERM without CAP_NET_RAW. A family that this host has not is no error:
 * its probes are refused with -EAFNOSUPPORT. `handlers` is copied.
 */
int prober_new(struct prober **ret, sd_event *event, const struct prober_handlers *handlers,
	       void *userdata);
struct prober *prober_free(struct prober *prober);

/* Queues; sends by itself when a batch is full. Never calls a handler. */
void prober_send(struct prober *prober, const struct probe *probe);

/* Sends what is queued, in the order it came. A probe that this host refuses to send comes back
 * as ANSWER_REFUSED; the rest goes on. What the socket cannot take yet goes out when it can. */
void prober_flush(struct prober *prober);

/* Packets handed to the kernel and received since the start. */
uint64_t prober_sent(const struct prober *prober);
uint64_t prober_received(const struct prober *prober);
