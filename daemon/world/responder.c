/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is answered, to whom, and how much of it. Remembers no client: a cookie says who was here
 * before, and shares of the budget are by hash. Nothing that it sends is a question, so two of
 * them never talk to each other.
 */
#include "responder.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "responder_budget.h"
#include "responder_cookie.h"
#include "responder_message.h"
#include "responder_socket.h"

#define BATCHES_A_WAKEUP 4 /* then others get their turn; the loop wakes us again */
/* Strangers may cost this part: who forges addresses must not take what known clients need. */
#define STRANGERS_PART 4
#define IPV6_SITE_BYTES 8 /* one client has all addresses of its /64 */

struct side {
	struct responder *responder;
	struct responder_socket socket;
	sd_event_source *source;
};

struct responder {
	sd_event *event;
	struct side sides[2]; /* IPv4, IPv6 */
	struct responder_batch *batch;
	struct cookies cookies;
	uint8_t shares_key[SIPHASH_KEY_SIZE];
	struct budget known, strangers;
	uint64_t answered, refused;
};

static int key_draw(uint8_t key[static SIPHASH_KEY_SIZE])
{
	ssize_t r = getrandom(key, SIPHASH_KEY_SIZE, 0);

	if (r < 0)
		return -errno;
	return r == SIPHASH_KEY_SIZE ? 0 : -EIO;
}

/* Without randomness the old key has to do. */
static void keys_renew(struct responder *responder, uint64_t now_usec)
{
	uint8_t key[SIPHASH_KEY_SIZE];

	for (unsigned i = cookies_stale(&responder->cookies, now_usec); i > 0; i--)
		if (key_draw(key) == 0)
			cookies_renew(&responder->cookies, key, now_usec);
}

/* Keyed, so that nobody can choose an address to share with somebody else. */
static uint64_t share_of(const struct responder *responder, const struct address *client)
{
	return siphash(responder->shares_key, client->bytes,
		       client->family == ADDRESS_IPV4 ? 4 : IPV6_SITE_BYTES);
}

/* To somebody who may be forged: one packet, of the smallest size there is. */
static void stranger_answer(struct side *side, const struct question *question,
			    const struct responder_message *probe, uint64_t now_usec)
{
	struct responder *responder = side->responder;
	uint64_t share = share_of(responder, &question->from);
	uint32_t size = responder_smallest(side->socket.family);
	struct responder_message cookie = {
		.kind = RESPONDER_COOKIE,
		.sequence = probe->sequence,
		.nonce = probe->nonce,
		.cookie = cookies_make(&responder->cookies, &question->from, question->from_port),
	};

	if (!budget_allows(&responder->strangers, share, now_usec)) {
		responder->refused++;
		return;
	}
	if (responder_batch_send(responder->batch, &side->socket, question, &cookie, size) == 0)
		budget_charge(&responder->strangers, share, size);
}

/* The host has no memory for it now: that says nothing about the size. */
static bool error_is_passing(int error)
{
	return error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

/*
 * The large one first: where it fails for want of memory the receipt is kept back too, or the
 * way back would look too small. Where the link does not carry it, the receipt says the rest.
 */
static void client_answer(struct side *side, const struct question *question,
			  const struct responder_message *probe, uint64_t now_usec)
{
	struct responder *responder = side->responder;
	uint64_t share = share_of(responder, &question->from);
	uint32_t size = responder_smallest(side->socket.family);
	struct responder_message message = {
		.kind = RESPONDER_ANSWER,
		.sequence = probe->sequence,
		.nonce = probe->nonce,
		.size = question->size,
		.fragment = question->fragment,
	};
	int r;

	if (!budget_allows(&responder->known, share, now_usec)) {
		responder->refused++;
		return;
	}
	r = responder_batch_send(responder->batch, &side->socket, question, &message,
				 question->size);
	if (r == 0)
		budget_charge(&responder->known, share, question->size);
	if (error_is_passing(r)) {
		responder->refused++;
		return;
	}
	message.kind = RESPONDER_RECEIPT;
	if (responder_batch_send(responder->batch, &side->socket, question, &message, size) == 0) {
		budget_charge(&responder->known, share, size);
		responder->answered++;
	}
}

static void side_answer(struct side *side, const struct question *question, uint64_t now_usec)
{
	struct responder *responder = side->responder;
	struct responder_message probe;

	if (!responder_message_decode(question->bytes, question->captured, &probe) ||
	    probe.kind != RESPONDER_PROBE || responder_socket_owns(&side->socket, &question->from))
		return;
	if (cookies_check(&responder->cookies, &question->from, question->from_port, probe.cookie))
		client_answer(side, question, &probe, now_usec);
	else
		stranger_answer(side, question, &probe, now_usec);
}

static int side_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct side *side = userdata;
	struct responder *responder = side->responder;
	struct question question;
	uint64_t now_usec;

	if (sd_event_now(responder->event, CLOCK_MONOTONIC, &now_usec) < 0)
		return 0;
	keys_renew(responder, now_usec);
	for (unsigned i = 0; i < BATCHES_A_WAKEUP; i++) {
		int count = responder_batch_receive(responder->batch, &side->socket);

		for (int at = 0; at < count; at++)
			if (responder_batch_get(responder->batch, (unsigned)at, &question))
				side_answer(side, &question, now_usec);
		if (count < RESPONDER_BATCH)
			break;
	}
	return 0;
}

static int side_init(struct side *side, struct responder *responder, uint8_t family, uint16_t port)
{
	int r;

	side->responder = responder;
	r = responder_socket_open(&side->socket, family, port);
	if (r < 0 || side->socket.family == ADDRESS_NONE)
		return r;
	return sd_event_add_io(responder->event, &side->source, side->socket.fd, EPOLLIN,
			       side_on_io, side);
}

static int responder_init(struct responder *responder, uint16_t port, uint64_t bits_per_sec)
{
	uint64_t bytes = bits_per_sec / 8 + (bits_per_sec % 8 != 0);
	uint64_t part = bytes / STRANGERS_PART + (bytes != 0);
	uint64_t now_usec;
	int r;

	r = sd_event_now(responder->event, CLOCK_MONOTONIC, &now_usec);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < 2; i++) {
		r = key_draw(responder->cookies.keys[i]);
		if (r < 0)
			return r;
	}
	responder->cookies.since_usec = now_usec;
	r = key_draw(responder->shares_key);
	if (r < 0)
		return r;
	budget_init(&responder->strangers, part, now_usec);
	budget_init(&responder->known, bytes > part ? bytes - part : part, now_usec);
	r = side_init(&responder->sides[0], responder, ADDRESS_IPV4, port);
	if (r == 0)
		r = side_init(&responder->sides[1], responder, ADDRESS_IPV6, port);
	return r;
}

int responder_new(struct responder **ret, sd_event *event, uint16_t port, uint64_t bits_per_sec)
{
	struct responder *responder = calloc(1, sizeof(*responder));
	int r = -ENOMEM;

	if (responder == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < 2; i++)
		responder->sides[i].socket = (struct responder_socket){.fd = -1, .other = -1};
	responder->event = sd_event_ref(event);
	responder->batch = responder_batch_new();
	if (responder->batch != NULL)
		r = responder_init(responder, port, bits_per_sec);
	if (r < 0) {
		responder_free(responder);
		return r;
	}
	*ret = responder;
	return 0;
}

struct responder *responder_free(struct responder *responder)
{
	if (responder == NULL)
		return NULL;
	for (unsigned i = 0; i < 2; i++) {
		sd_event_source_disable_unref(responder->sides[i].source);
		responder_socket_close(&responder->sides[i].socket);
	}
	responder_batch_free(responder->batch);
	sd_event_unref(responder->event);
	free(responder);
	return NULL;
}

uint64_t responder_answered(const struct responder *responder)
{
	return responder->answered;
}

uint64_t responder_refused(const struct responder *responder)
{
	return responder->refused;
}
