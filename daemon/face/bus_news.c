/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is to be told of peers, in its order, and no faster than the bus takes it. A peer that
 * changes again before it was told is told once, as it is then; no change of a verdict is left out.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define A_TURN 16U         /* then others get their turn */
#define QUEUED_MOST 64U    /* messages that sd-bus holds for the bus */
#define AGAIN_USEC (10 * USEC_PER_MSEC)
#define ACCURACY_USEC USEC_PER_MSEC

enum news_kind {
	NEWS_CHANGED = 1,
	NEWS_ADDED = 2,
	NEWS_VERDICT = 4,
};

/* `peer` NULL: it went. */
struct news {
	struct peer *peer;
	uint16_t path; /* its number */
	uint8_t kind;
	uint8_t before;         /* verdict */
	struct judgement after; /* it may have changed again by the time it is told */
};

static void news_later(struct bus *bus, uint64_t usec)
{
	sd_event_source_set_time_relative(bus->news_source, usec);
	sd_event_source_set_enabled(bus->news_source, SD_EVENT_ONESHOT);
}

/* The rest of the details is as it is now. */
static int news_send_verdict(struct bus *bus, const struct news *news)
{
	struct path *path = &news->peer->paths[news->path];
	struct judgement now = path->announced;
	int r;

	path->announced = news->after;
	r = bus_send_verdict(bus, news->peer, path, (enum verdict)news->before);
	path->announced = now;
	return r;
}

static void news_send(struct bus *bus, const struct news *news)
{
	struct peer *peer = news->peer;
	int r = 0;

	if (!peer)
		return;
	peer->untold &= (uint8_t)~news->kind;
	switch ((enum news_kind)news->kind) {
	case NEWS_CHANGED:
		r = bus_send_peer_changed(bus, peer);
		break;
	case NEWS_ADDED:
		r = bus_send_peer_added(bus, peer);
		break;
	case NEWS_VERDICT:
		r = news_send_verdict(bus, news);
		break;
	}
	if (r < 0)
		journal_plain(bus->journal, LOG_DEBUG, "a signal about %s was not sent: %s", peer->name,
			      strerror(-r));
}

/* The memory goes with the last of them. */
static void news_clear(struct bus *bus)
{
	free(bus->news);
	bus->news = NULL;
	bus->news_first = bus->news_count = bus->news_room = 0;
}

static void news_send_some(struct bus *bus, unsigned most)
{
	while (bus->news_first < bus->news_count && most-- > 0)
		news_send(bus, &bus->news[bus->news_first++]);
	if (bus->news_first == bus->news_count)
		news_clear(bus);
}

static int on_news(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *bus = userdata;
	uint64_t queued = 0;

	if (sd_bus_get_n_queued_write(bus->connection, &queued) < 0 || queued < QUEUED_MOST)
		news_send_some(bus, A_TURN);
	if (bus->news_count > 0)
		news_later(bus, queued < QUEUED_MOST ? 0 : AGAIN_USEC);
	return 0;
}

static int news_make_room(struct bus *bus)
{
	unsigned room = bus->news_room ? 2 * bus->news_room : 64;
	struct news *list;

	if (bus->news_count < bus->news_room)
		return 0;
	list = reallocarray(bus->news, room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	bus->news = list;
	bus->news_room = room;
	return 0;
}

/* Without memory it is told at once. */
static void news_put(struct bus *bus, const struct news *news)
{
	news->peer->untold |= news->kind;
	if (news_make_room(bus) < 0) {
		news_send_some(bus, bus->news_count);
		news_send(bus, news);
		return;
	}
	if (bus->news_count == bus->news_first)
		news_later(bus, 0);
	bus->news[bus->news_count++] = *news;
}

/* An object that is yet to be added is added as it is then. */
void bus_peer_changed(struct bus *bus, struct peer *peer)
{
	if (bus_is_heard(bus) && !(peer->untold & (NEWS_CHANGED | NEWS_ADDED)))
		news_put(bus, &(struct news){ .peer = peer, .kind = NEWS_CHANGED });
}

void bus_peer_added(struct bus *bus, struct peer *peer)
{
	if (bus_is_heard(bus) && !(peer->untold & NEWS_ADDED))
		news_put(bus, &(struct news){ .peer = peer, .kind = NEWS_ADDED });
}

void bus_verdict_changed(struct bus *bus, struct peer *peer, const struct path *path,
			 const struct judgement *before)
{
	struct news news = {
		.peer = peer,
		.path = (uint16_t)(path - peer->paths),
		.kind = NEWS_VERDICT,
		.before = (uint8_t)before->verdict,
		.after = path->announced,
	};

	if (bus_is_heard(bus))
		news_put(bus, &news);
}

/* Who was never told of it is not told that it went. */
void bus_peer_removed(struct bus *bus, struct peer *peer)
{
	bool known = !(peer->untold & NEWS_ADDED);

	if (!bus_is_heard(bus))
		return;
	for (unsigned i = bus->news_first; peer->untold && i < bus->news_count; i++)
		if (bus->news[i].peer == peer)
			bus->news[i].peer = NULL;
	peer->untold = 0;
	if (known)
		bus_send_peer_removed(bus, peer->name);
}

void bus_news_drop(struct bus *bus)
{
	for (unsigned i = bus->news_first; i < bus->news_count; i++)
		if (bus->news[i].peer)
			bus->news[i].peer->untold = 0;
	news_clear(bus);
	if (bus->news_source)
		sd_event_source_set_enabled(bus->news_source, SD_EVENT_OFF);
}

int bus_news_init(struct bus *bus)
{
	int r = sd_event_add_time(bus->event, &bus->news_source, CLOCK_MONOTONIC, UINT64_MAX,
				  ACCURACY_USEC, on_news, bus);

	return r < 0 ? r : sd_event_source_set_enabled(bus->news_source, SD_EVENT_OFF);
}
