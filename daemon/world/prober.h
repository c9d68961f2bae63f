/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A few raw sockets for all peers: probes out in batches, answers in. It neither knows peers nor
 * judges: it sends what it is given and hands on every well-formed answer: replies to echoes that are
 * filled as ours are, all reports about echoes, of TCP and UDP what is about a port that is kept.
 *
 * It does no harm: IPv4 goes out by IP_HDRINCL with DF set by hand and IP_PMTUDISC_INTERFACE, so
 * that neither real nor forged reports reach the host's route cache through our sockets. What a
 * SYN opened at the peer is ended by a RST at once.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/facts.h"

struct prober;

/* Called from the event loop alone, never from within a prober_...() call; they may call any of
 * these but prober_free(). */
struct prober_handlers {
	void (*answer)(const struct answer *answer, uint64_t now_usec, void *userdata);
	/* the batch of answers is through: effects that were gathered may go out now */
	void (*batch_end)(uint64_t now_usec, void *userdata);
	/* the kernel dropped packets on our sockets: silence means nothing in what is running.
	 * Comes before the answers that were read with it, and is followed by batch_end. */
	void (*overflow)(uint64_t now_usec, void *userdata);
};

/*
 * The caller owns *ret. -EPERM without CAP_NET_RAW. A family that this host has not is no error:
 * its probes are refused with -EAFNOSUPPORT. `handlers` is copied.
 */
int prober_new(struct prober **ret, sd_event *event, const struct prober_handlers *handlers,
	       void *userdata);
struct prober *prober_free(struct prober *prober);

/*
 * Source port `port` is kept for us, so that no program of this host can get it and answers to it
 * come here: PROBE_SYN, PROBE_UDP and PROBE_RESPONDER need it before the first probe. One file
 * descriptor each, and while one is for SYNs one more of the family, which sees every TCP segment
 * that this host gets and leaves all but a few to the kernel's filter. -EADDRINUSE: somebody has
 * it, try another. Released ports can be kept again; what then still comes for them is ignored.
 */
int prober_keep_port(struct prober *prober, enum probe_kind kind, uint8_t family, uint16_t port);
void prober_release_port(struct prober *prober, enum probe_kind kind, uint8_t family,
			 uint16_t port);

/*
 * Queues; sends by itself when a batch is full. Up to 65535 bytes, from 20 less than these on with
 * IPv4: echo 56, SYN 60 (that size has no data), UDP and responder 80. All but echo need `from`,
 * `port`, and `ident` kept for their kind: else -EADDRNOTAVAIL or -EINVAL. A UDP answer to a
 * PROBE_UDP is not heard.
 */
void prober_send(struct prober *prober, const struct probe *probe);
/* Does not send it: it comes back as ANSWER_REFUSED from the loop, with this error. */
void prober_refuse(struct prober *prober, const struct probe *probe, int error);

/*
 * Ends what a PROBE_SYN without an answer may have left half-open at the peer: a filter on the way
 * back takes the SYN-ACK as well. Until then a SYN from the same port to the same one finds that
 * entry and is lost. A RST, sent at once; nothing comes back.
 */
void prober_end_syn(struct prober *prober, const struct probe *probe);

/*
 * Sends what is queued, of each family in the order it came (IPv6: echo for itself). A probe that
 * this host refuses to send comes back as ANSWER_REFUSED from the loop; the rest goes on. What the
 * socket cannot take yet goes out when it can.
 *
 * A source that is not this host's own is refused for IPv6; for IPv4 with its own header the
 * kernel would send it: that `from` is ours is the caller's to know.
 */
void prober_flush(struct prober *prober);

/*
 * True when the kernel dropped packets on our sockets and no call of `overflow` has told it. The
 * counter is read with every batch of answers, which finds what a full buffer dropped; this also
 * finds a drop that no answer follows. To be asked before silence is believed. A system call for
 * each socket that hears. The kernel counts a TCP segment over IPv6 with a wrong checksum too.
 */
bool prober_check_overflow(struct prober *prober);

/* Bytes that the smallest receive buffer holds; an answer is charged with about twice
 * its size. Small where CAP_NET_ADMIN was missing when the sockets were made. */
uint32_t prober_receive_buffer(const struct prober *prober);

/* Packets handed to the kernel, RSTs too, and received since the start. */
uint64_t prober_sent(const struct prober *prober);
uint64_t prober_received(const struct prober *prober);
