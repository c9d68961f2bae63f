/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes out and answers in, in batches: what costs is waking up and calling the kernel, not the
 * packet. Does not match answers to probes and never waits.
 */
#include "prober.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "backlog.h"
#include "ear.h"
#include "encode.h"
#include "ports.h"

/* A socket that sends; order is kept among its probes. */
struct side {
	struct prober *prober;
	struct ear ear;
	struct backlog backlog;
	bool blocked; /* waits for EPOLLOUT */
};

enum {
	SIDE_IPV4,
	SIDE_ICMPV6, /* echo alone */
	SIDE_IPV6,   /* the rest */
	SIDES,
};

struct prober {
	struct prober_handlers handlers;
	void *userdata;
	struct hearing hearing;
	struct side sides[SIDES];
	struct ports ports;
	sd_event_source *refused_source;
	struct answer *refused;
	size_t refused_count, refused_room;
	bool forgot; /* out of memory: something will never be answered, as after an overflow */
	uint64_t sent;
	struct outbox *outbox;
};

/* Makes room for one more. Keeps the old array when there is no memory. */
static int refused_grow(struct prober *prober)
{
	size_t wanted = prober->refused_room == 0 ? BATCH : prober->refused_room * 2;
	struct answer *larger;

	if (prober->refused_count < prober->refused_room)
		return 0;
	larger = reallocarray(prober->refused, wanted, sizeof(*larger));
	if (larger == NULL)
		return -ENOMEM;
	prober->refused = larger;
	prober->refused_room = wanted;
	return 0;
}

/* The answer waits for the loop: the caller of prober_send() is not to be called back. */
void prober_refuse(struct prober *prober, const struct probe *probe, int error)
{
	sd_event_source_set_enabled(prober->refused_source, SD_EVENT_ONESHOT);
	if (refused_grow(prober) < 0) {
		prober->forgot = true;
		return;
	}
	prober->refused[prober->refused_count++] = (struct answer){
		.kind = ANSWER_REFUSED,
		.probe = probe->kind,
		.to = probe->to,
		.link = probe->link,
		.ident = probe->ident,
		.sequence = probe->sequence,
		.has_nonce = true,
		.nonce = probe->nonce,
		.size = probe->size,
		.error = error,
	};
}

static void side_block(struct side *side, bool blocked)
{
	uint32_t events = EPOLLIN | (blocked ? EPOLLOUT : 0U);

	/* where the loop cannot wait for it, the next to send tries again */
	if (side->blocked != blocked && sd_event_source_set_io_events(side->ear.source, events) >= 0)
		side->blocked = blocked;
}

/*
 * Sends the packets of the outbox; returns how many are through, sent or refused. An error is
 * believed only when the same packet meets it twice: the first may be an earlier packet's that
 * the socket kept for the next call.
 */
static unsigned side_send(struct side *side, unsigned count)
{
	struct prober *prober = side->prober;
	unsigned done = 0;
	bool again = false;

	while (done < count) {
		int r = outbox_send(prober->outbox, &side->ear.raw, done, count - done);

		if (r == -EAGAIN) {
			side_block(side, true);
			break;
		}
		if (r > 0) {
			prober->sent += (unsigned)r;
			done += (unsigned)r;
			again = false;
		} else if (!again) {
			again = true;
		} else {
			prober_refuse(prober, backlog_front(&side->backlog) + done, r);
			done++;
			again = false;
		}
	}
	return done;
}

static void side_flush(struct side *side)
{
	while (side->backlog.count > 0 && !side->blocked) {
		const struct probe *front = backlog_front(&side->backlog);
		unsigned count =
			side->backlog.count < BATCH ? (unsigned)side->backlog.count : BATCH;

		for (unsigned i = 0; i < count; i++)
			outbox_put(side->prober->outbox, i, &side->ear.raw, &front[i]);
		backlog_pop(&side->backlog, side_send(side, count));
	}
}

static struct side *prober_side(struct prober *prober, const struct probe *probe)
{
	if (probe->to.family != ADDRESS_IPV6)
		return &prober->sides[SIDE_IPV4];
	return &prober->sides[probe->kind == PROBE_ECHO ? SIDE_ICMPV6 : SIDE_IPV6];
}

static int side_push(struct side *side, const struct probe *probe)
{
	int r;

	r = encode_check(probe);
	if (r < 0)
		return r;
	if (side->ear.raw.fd < 0)
		return -EAFNOSUPPORT;
	/* from another port it could meet a connection of this host */
	if (!ports_allow(&side->prober->ports, probe))
		return -EADDRNOTAVAIL;
	return backlog_push(&side->backlog, probe);
}

void prober_send(struct prober *prober, const struct probe *probe)
{
	struct side *side = prober_side(prober, probe);
	int r;

	r = side_push(side, probe);
	if (r < 0)
		prober_refuse(prober, probe, r);
	else if (side->backlog.count >= BATCH)
		side_flush(side);
}

void prober_flush(struct prober *prober)
{
	for (unsigned i = 0; i < SIDES; i++)
		side_flush(&prober->sides[i]);
}

bool prober_check_overflow(struct prober *prober)
{
	bool overflowed = ports_overflowed(&prober->ports);

	overflowed |= ear_overflowed(&prober->sides[SIDE_IPV4].ear);
	overflowed |= ear_overflowed(&prober->sides[SIDE_ICMPV6].ear);
	overflowed |= prober->forgot;
	prober->forgot = false;
	return overflowed;
}

static void prober_reset(struct prober *prober, const struct reset *reset)
{
	struct side *side = prober_side(prober, &reset->probe);

	if (side->ear.raw.fd >= 0 && reset_send(reset, &side->ear.raw))
		prober->sent++;
}

/* RFC 9293 section 3.10.7.4: a half-open connection takes a RST of the number that it expects. */
void prober_end_syn(struct prober *prober, const struct probe *probe)
{
	struct reset reset = {*probe, encode_number(probe) + 1};

	reset.probe.ttl = 0; /* further than a probe that was to end on its way */
	if (probe->kind == PROBE_SYN && encode_check(probe) == 0 &&
	    ports_allow(&prober->ports, probe))
		prober_reset(prober, &reset);
}

/* The kernel's RST may be lost or filtered; the peer must not be left with a half-open connection
 * for a minute. What fails here is left to the kernel's. */
static void prober_end_opened(struct prober *prober, unsigned position, const struct raw *raw)
{
	struct reset reset;

	if (inbox_get_reset(prober->hearing.inbox, position, raw, &reset))
		prober_reset(prober, &reset);
}

static void prober_on_packet(unsigned position, const struct raw *raw, uint64_t now_usec,
			     void *userdata)
{
	struct prober *prober = userdata;
	struct answer answer;

	if (!inbox_get(prober->hearing.inbox, position, raw, &answer) ||
	    !ports_settle(&prober->ports, &answer))
		return;
	prober_end_opened(prober, position, raw);
	prober->handlers.answer(&answer, now_usec, prober->userdata);
}

static void prober_on_batch_end(uint64_t now_usec, void *userdata)
{
	struct prober *prober = userdata;

	prober->handlers.batch_end(now_usec, prober->userdata);
}

static void prober_on_overflow(uint64_t now_usec, void *userdata)
{
	struct prober *prober = userdata;

	prober->handlers.overflow(now_usec, prober->userdata);
}

/* Answers first: what goes out next fills the receive buffer again. */
static int side_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct side *side = userdata;

	ear_drain(&side->ear);
	if ((events & EPOLLOUT) != 0) {
		side_block(side, false);
		side_flush(side);
	}
	return 0;
}

/* The array is taken away first: the handlers may send and be refused again. */
static int prober_on_refused(sd_event_source *source, void *userdata)
{
	struct prober *prober = userdata;
	struct answer *refused = prober->refused;
	size_t count = prober->refused_count;
	uint64_t now_usec = now_monotonic_usec();

	prober->refused = NULL;
	prober->refused_count = prober->refused_room = 0;
	if (prober->forgot) {
		prober->forgot = false;
		prober->handlers.overflow(now_usec, prober->userdata);
	}
	for (size_t i = 0; i < count; i++)
		prober->handlers.answer(&refused[i], now_usec, prober->userdata);
	free(refused);
	prober->handlers.batch_end(now_usec, prober->userdata);
	return 0;
}

/* A family that this host has not is no error. */
static int side_open(struct side *side, enum raw_kind kind, uint8_t family)
{
	struct raw raw;
	int r;

	r = raw_open(&raw, kind, family);
	if (r == -EAFNOSUPPORT)
		return 0;
	if (r < 0)
		return r;
	return ear_open(&side->ear, &raw, side_on_io, side);
}

static int prober_open(struct prober *prober)
{
	int r;

	prober->hearing.inbox = inbox_new();
	prober->outbox = outbox_new();
	if (prober->hearing.inbox == NULL || prober->outbox == NULL)
		return -ENOMEM;
	r = side_open(&prober->sides[SIDE_IPV4], RAW_ICMP, ADDRESS_IPV4);
	if (r < 0)
		return r;
	r = side_open(&prober->sides[SIDE_ICMPV6], RAW_ICMP, ADDRESS_IPV6);
	if (r < 0)
		return r;
	r = side_open(&prober->sides[SIDE_IPV6], RAW_HEADER, ADDRESS_IPV6);
	if (r < 0)
		return r;
	r = sd_event_add_defer(prober->hearing.event, &prober->refused_source, prober_on_refused,
			       prober);
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(prober->refused_source, SD_EVENT_OFF);
}

static void prober_init(struct prober *prober, sd_event *event)
{
	prober->hearing = (struct hearing){
		.event = sd_event_ref(event),
		.packet = prober_on_packet,
		.batch_end = prober_on_batch_end,
		.overflow = prober_on_overflow,
		.userdata = prober,
	};
	for (unsigned i = 0; i < SIDES; i++) {
		prober->sides[i].prober = prober;
		ear_init(&prober->sides[i].ear, &prober->hearing);
	}
	ports_init(&prober->ports, &prober->hearing);
}

int prober_new(struct prober **ret, sd_event *event, const struct prober_handlers *handlers,
	       void *userdata)
{
	struct prober *prober;
	int r;

	prober = calloc(1, sizeof(*prober));
	if (prober == NULL)
		return -ENOMEM;
	prober->handlers = *handlers;
	prober->userdata = userdata;
	prober_init(prober, event);
	r = prober_open(prober);
	if (r < 0) {
		prober_free(prober);
		return r;
	}
	*ret = prober;
	return 0;
}

struct prober *prober_free(struct prober *prober)
{
	if (prober == NULL)
		return NULL;
	ports_done(&prober->ports);
	for (unsigned i = 0; i < SIDES; i++) {
		ear_close(&prober->sides[i].ear);
		backlog_done(&prober->sides[i].backlog);
	}
	sd_event_source_disable_unref(prober->refused_source);
	outbox_free(prober->outbox);
	inbox_free(prober->hearing.inbox);
	free(prober->refused);
	sd_event_unref(prober->hearing.event);
	free(prober);
	return NULL;
}

int prober_keep_port(struct prober *prober, enum probe_kind kind, uint8_t family, uint16_t port)
{
	unsigned side = family == ADDRESS_IPV6 ? SIDE_IPV6 : SIDE_IPV4;

	if (prober->sides[side].ear.raw.fd < 0)
		return -EAFNOSUPPORT;
	return ports_keep(&prober->ports, kind, family, port);
}

void prober_release_port(struct prober *prober, enum probe_kind kind, uint8_t family, uint16_t port)
{
	ports_release(&prober->ports, kind, family, port);
}

uint32_t prober_receive_buffer(const struct prober *prober)
{
	uint32_t ipv4 = prober->sides[SIDE_IPV4].ear.raw.room;
	uint32_t ipv6 = prober->sides[SIDE_ICMPV6].ear.raw.room;

	if (ipv4 == 0 || (ipv6 != 0 && ipv6 < ipv4))
		return ipv6;
	return ipv4;
}

uint64_t prober_sent(const struct prober *prober)
{
	return prober->sent;
}

uint64_t prober_received(const struct prober *prober)
{
	return prober->hearing.received;
}
