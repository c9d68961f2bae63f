/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes out and answers in, in batches: what costs is waking up and calling the kernel, not the
 * packet. Of an answer only the head is read, the kernel tells how long it was. Does not match
 * answers to probes and never waits.
 */
#include "prober.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "decode.h"
#include "encode.h"
#include "raw.h"

#define BATCH RAW_BATCH
#define BATCHES_A_WAKEUP 8 /* then others get their turn; the loop wakes us again */

/* Growing array of probes, taken from the front. */
struct backlog {
	struct probe *list;
	size_t first, count, room;
};

/* One family. */
struct side {
	struct prober *prober;
	struct raw raw;
	sd_event_source *source;
	struct backlog backlog;
	uint32_t drops; /* of the kernel's counter: what was told */
	bool blocked;	/* waits for EPOLLOUT */
};

struct prober {
	struct prober_handlers handlers;
	void *userdata;
	struct side sides[2]; /* IPv4, IPv6 */
	sd_event_source *refused_source;
	struct answer *refused;
	size_t refused_count, refused_room;
	bool forgot; /* out of memory: something will never be answered, as after an overflow */
	uint64_t sent, received;
	struct raw_outbox *outbox;
	struct raw_inbox *inbox;
};

static uint64_t now_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Makes room for one more of `count`. Keeps the old array when there is no memory. */
static int array_grow(void **list, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room == 0 ? BATCH : *room * 2;
	void *larger;

	if (count < *room)
		return 0;
	larger = reallocarray(*list, wanted, size);
	if (larger == NULL)
		return -ENOMEM;
	*list = larger;
	*room = wanted;
	return 0;
}

static int backlog_push(struct backlog *backlog, const struct probe *probe)
{
	void *list = backlog->list;
	int r;

	r = array_grow(&list, &backlog->room, backlog->first + backlog->count,
		       sizeof(*backlog->list));
	if (r < 0)
		return r;
	backlog->list = list;
	backlog->list[backlog->first + backlog->count++] = *probe;
	return 0;
}

/* Gives the memory of a long queue back once it is through. */
static void backlog_pop(struct backlog *backlog, size_t count)
{
	backlog->first += count;
	backlog->count -= count;
	if (backlog->count > 0)
		return;
	backlog->first = 0;
	if (backlog->room > BATCH) {
		free(backlog->list);
		backlog->list = NULL;
		backlog->room = 0;
	}
}

static const struct probe *backlog_front(const struct backlog *backlog)
{
	return backlog->list + backlog->first;
}

/* The answer waits for the loop: the caller of prober_send() is not to be called back. */
static void prober_refuse(struct prober *prober, const struct probe *probe, int error)
{
	void *list = prober->refused;

	sd_event_source_set_enabled(prober->refused_source, SD_EVENT_ONESHOT);
	if (array_grow(&list, &prober->refused_room, prober->refused_count,
		       sizeof(*prober->refused)) < 0) {
		prober->forgot = true;
		return;
	}
	prober->refused = list;
	prober->refused[prober->refused_count++] = (struct answer){
		.kind = ANSWER_REFUSED,
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
	if (side->blocked == blocked)
		return;
	side->blocked = blocked;
	sd_event_source_set_io_events(side->source, EPOLLIN | (blocked ? EPOLLOUT : 0U));
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
		int r = raw_send(&side->raw, prober->outbox, done, count - done);

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
			raw_outbox_put(side->prober->outbox, i, &side->raw, &front[i]);
		backlog_pop(&side->backlog, side_send(side, count));
	}
}

void prober_send(struct prober *prober, const struct probe *probe)
{
	struct side *side = &prober->sides[probe->to.family == ADDRESS_IPV6];
	int r;

	r = encode_check(probe);
	if (r == 0 && side->raw.fd < 0)
		r = -EAFNOSUPPORT;
	if (r == 0)
		r = backlog_push(&side->backlog, probe);
	if (r < 0)
		prober_refuse(prober, probe, r);
	else if (side->backlog.count >= BATCH)
		side_flush(side);
}

void prober_flush(struct prober *prober)
{
	side_flush(&prober->sides[0]);
	side_flush(&prober->sides[1]);
}

static bool side_overflowed(struct side *side)
{
	uint32_t drops = side->raw.fd < 0 ? side->drops : raw_drops(&side->raw, side->drops);
	bool moved = drops != side->drops;

	side->drops = drops;
	return moved;
}

bool prober_check_overflow(struct prober *prober)
{
	bool ipv4 = side_overflowed(&prober->sides[0]);
	bool ipv6 = side_overflowed(&prober->sides[1]);
	bool forgot = prober->forgot;

	prober->forgot = false;
	return ipv4 || ipv6 || forgot;
}

static void side_answer(struct side *side, unsigned position, uint64_t now_usec)
{
	struct prober *prober = side->prober;
	struct answer answer;

	if (raw_inbox_get(prober->inbox, position, &side->raw, &answer))
		prober->handlers.answer(&answer, now_usec, prober->userdata);
}

/* Reads one batch and hands it on; false when nothing is left. */
static bool side_receive(struct side *side)
{
	struct prober *prober = side->prober;
	bool overflowed;
	uint64_t now_usec;
	int count;

	count = raw_receive(&side->raw, prober->inbox);
	overflowed = side_overflowed(side);
	if (count <= 0 && !overflowed)
		return false;
	now_usec = now_monotonic();
	if (overflowed)
		prober->handlers.overflow(now_usec, prober->userdata);
	for (int i = 0; i < count; i++)
		side_answer(side, (unsigned)i, now_usec);
	if (count > 0)
		prober->received += (unsigned)count;
	prober->handlers.batch_end(now_usec, prober->userdata);
	return count == BATCH;
}

/* Answers first: what goes out next fills the receive buffer again. */
static int side_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct side *side = userdata;

	for (unsigned i = 0; i < BATCHES_A_WAKEUP && side_receive(side); i++)
		;
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
	uint64_t now_usec = now_monotonic();

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

static int side_open(struct side *side, struct prober *prober, sd_event *event, uint8_t family)
{
	int r;

	side->prober = prober;
	side->raw.fd = -1;
	r = raw_open(&side->raw, family);
	if (r == -EAFNOSUPPORT)
		return 0;
	if (r < 0)
		return r;
	return sd_event_add_io(event, &side->source, side->raw.fd, EPOLLIN, side_on_io, side);
}

static void side_close(struct side *side)
{
	sd_event_source_disable_unref(side->source);
	if (side->raw.fd >= 0)
		close(side->raw.fd);
	free(side->backlog.list);
}

static int prober_open(struct prober *prober, sd_event *event)
{
	int r;

	r = side_open(&prober->sides[0], prober, event, ADDRESS_IPV4);
	if (r < 0)
		return r;
	r = side_open(&prober->sides[1], prober, event, ADDRESS_IPV6);
	if (r < 0)
		return r;
	r = sd_event_add_defer(event, &prober->refused_source, prober_on_refused, prober);
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(prober->refused_source, SD_EVENT_OFF);
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
	prober->sides[0].raw.fd = prober->sides[1].raw.fd = -1;
	prober->outbox = raw_outbox_new();
	prober->inbox = raw_inbox_new();
	r = prober->outbox == NULL || prober->inbox == NULL ? -ENOMEM : prober_open(prober, event);
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
	side_close(&prober->sides[0]);
	side_close(&prober->sides[1]);
	sd_event_source_disable_unref(prober->refused_source);
	raw_outbox_free(prober->outbox);
	raw_inbox_free(prober->inbox);
	free(prober->refused);
	free(prober);
	return NULL;
}

uint32_t prober_receive_buffer(const struct prober *prober)
{
	uint32_t ipv4 = raw_receive_buffer(&prober->sides[0].raw);
	uint32_t ipv6 = raw_receive_buffer(&prober->sides[1].raw);

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
	return prober->received;
}
