/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who waits for fresh rounds, and the guests: peers that are there for one request only, outside the
 * roster, and go with its answer. Sends nothing and judges nothing.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>

#define LONGEST_USEC (100 * USEC_PER_SEC)

#define GUESTS_MOST 16U

static bool peer_is_done(const struct peer *peer, uint64_t since_usec)
{
	for (unsigned i = 0; i < peer->path_count; i++)
		if (!path_is_settled(&peer->paths[i]) || peer->paths[i].ended_usec < since_usec)
			return false;
	return true;
}

static bool request_is_done(const struct watch *watch, struct request *request)
{
	if (request->peer)
		return peer_is_done(request->peer, request->since_usec);
	/* who wants to see everything once waits for what is still looked up */
	if (!request->check && watch_storage_is_pending(watch))
		return false;
	while (request->place < watch->roster.peer_count &&
	       peer_is_done(watch->roster.peers[request->place], request->since_usec))
		request->place++;
	return request->place == watch->roster.peer_count;
}

/* The request is out of the list. */
static struct request *request_free(struct watch *watch, struct request *request)
{
	if (request->guest) {
		watch->guest_count--;
		watch->guest_paths -= request->peer->path_count;
		watched_peer_free((void *)request->peer);
	}
	free(request);
	return NULL;
}

static void request_answer_once(struct watch *watch)
{
	watch_connections_once(watch);
	watch->settled(watch->settled_userdata);
}

static void request_answer(struct watch *watch, const struct request *request)
{
	if (request->guest)
		bus_check_done_peer(request->check, request->peer);
	else if (request->check)
		bus_check_done(request->check);
	else if (watch->settled)
		request_answer_once(watch);
}

void watch_requests_serve(struct watch *watch)
{
	struct request **next = &watch->requests;
	struct moment moment;

	watch_moment(&moment);
	watch->request_usec = USEC_NEVER;
	while (*next) {
		struct request *request = *next;

		if (!request_is_done(watch, request) && moment.now_usec < request->until_usec) {
			if (request->until_usec < watch->request_usec)
				watch->request_usec = request->until_usec;
			next = &request->next;
			continue;
		}
		*next = request->next;
		request_answer(watch, request);
		request_free(watch, request);
	}
}

/* The roster is another one. */
void watch_requests_review(struct watch *watch)
{
	for (struct request *request = watch->requests; request; request = request->next)
		request->place = 0;
}

/* Whoever asks over the bus is not kept waiting for ever, whatever happens meanwhile. */
static void request_put(struct watch *watch, struct request *request)
{
	struct moment moment;

	watch_moment(&moment);
	request->until_usec = request->check ? moment.now_usec + LONGEST_USEC : USEC_NEVER;
	if (request->until_usec < watch->request_usec)
		watch->request_usec = request->until_usec;
	request->next = watch->requests;
	watch->requests = request;
	watch_arm(watch);
}

void watch_request_add(struct watch *watch, struct bus_check *check, struct peer *peer)
{
	struct request *request = calloc(1, sizeof(*request));
	struct moment moment;

	if (!request) {
		/* answers with what is known */
		if (check)
			bus_check_done(check);
		return;
	}
	watch_moment(&moment);
	request->check = check;
	request->peer = peer;
	request->since_usec = moment.now_usec - USEC_PER_SEC;
	for (unsigned i = 0; i < watch->roster.peer_count; i++) {
		struct peer *one = watch->roster.peers[i];

		if (peer && one != peer)
			continue;
		for (unsigned j = 0; j < one->path_count; j++)
			if (path_on_request(&one->paths[j], moment.now_usec)) {
				/* one that somebody waits for goes first, not all of them */
				one->paths[j].admitted |= peer != NULL;
				watch_path_put(watch, &one->paths[j]);
			}
	}
	request_put(watch, request);
	/* with nothing to watch no round will ever end */
	watch_requests_serve(watch);
}

int watch_request_probe(struct watch *watch, struct bus_check *check,
			const struct config_peer *config)
{
	struct watched_peer *guest = NULL;
	struct request *request;
	enum reason trouble;
	int r;

	/* who configures a link may expect it later; who asks for one wants it now */
	for (unsigned i = 0; i < config->interface_count; i++)
		if (!links_by_name(watch->links, config->interfaces[i]))
			return -ENODEV;
	if (watch->guest_count >= GUESTS_MOST)
		return -EBUSY;
	r = watch_guest_new(watch, config, &guest);
	if (r < 0)
		return r;
	trouble = guest->peer.paths[0].facts.trouble;
	if (reason_is_address(trouble)) {
		watched_peer_free(guest);
		return trouble == REASON_OWN_ADDRESS ? -EADDRINUSE : -EADDRNOTAVAIL;
	}
	request = calloc(1, sizeof(*request));
	if (!request) {
		watched_peer_free(guest);
		return -ENOMEM;
	}
	request->check = check;
	request->peer = &guest->peer;
	request->guest = true;
	watch->guest_count++;
	watch->guest_paths += guest->peer.path_count;
	request_put(watch, request);
	return 0;
}

void watch_requests_overflow(struct watch *watch)
{
	for (struct request *request = watch->requests; request; request = request->next)
		for (unsigned i = 0; request->guest && i < request->peer->path_count; i++)
			path_on_overflow(&request->peer->paths[i]);
}

void watch_requests_forget(struct watch *watch, const struct bus_check *check,
			   const struct peer *peer)
{
	struct request **next = &watch->requests;

	while (*next) {
		struct request *request = *next;

		if (check ? request->check != check : !peer || request->peer != peer) {
			next = &request->next;
			continue;
		}
		*next = request->next;
		/* the peer is going: its last word is all there is */
		if (!check && request->check)
			bus_check_done(request->check);
		request_free(watch, request);
	}
}

void watch_requests_free(struct watch *watch)
{
	while (watch->requests) {
		struct request *request = watch->requests;

		watch->requests = request->next;
		request_free(watch, request);
	}
}
