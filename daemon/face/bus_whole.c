/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answers that hold everything: Describe, CheckAll and GetManagedObjects. With ten thousand peers one
 * takes a second to make. So all who wait share one, made after the last of them asked; after each
 * piece of this work there is as long for everything else, and short calls do not wait for it.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "sentence.h"

#define SHORT_USEC (2 * USEC_PER_MSEC) /* then everybody is answered at once */
#define REST_MOST_USEC (10 * USEC_PER_SEC)
#define MESSAGE_LARGEST ((32U << 20) - (64U << 10)) /* dbus-daemon's bound, less a head */
#define QUEUED_USEC USEC_PER_MSEC /* until the bus may have taken the last answer */
#define OF_ALL_MOST 64U

enum whole {
	WHOLE_DOCUMENT, /* Describe */
	WHOLE_OBJECTS,  /* GetManagedObjects */
	WHOLE_RESULTS,  /* CheckAll */
	WHOLES,
};

struct wish {
	sd_bus_message *call;
	enum whole whole;
	struct wish *next;
};

struct bus_whole {
	struct wish *waiting, *served; /* in their order; who is served shares what was made last */
	sd_event_source *source;
	uint64_t cost_usec[WHOLES];    /* to make it, the last time */
	uint64_t rest_usec;            /* owed once the last answer is out: before, nothing is read */
	char *text;                    /* of the document */
	sd_bus_message *made[WHOLES];  /* an answer with the others */
};

/* --- what it holds --- */

static int append_nothing(sd_bus_message *message, const char *interface)
{
	return sd_bus_message_append(message, "{sa{sv}}", interface, 0);
}

/* As sd-bus does for objects that are registered. */
static int append_interfaces(sd_bus_message *message)
{
	int r = append_nothing(message, "org.freedesktop.DBus.Peer");

	if (r >= 0)
		r = append_nothing(message, "org.freedesktop.DBus.Introspectable");
	return r < 0 ? r : append_nothing(message, "org.freedesktop.DBus.Properties");
}

/* One of `peer` and `link` is there. The bytes it takes at most. */
static int append_object(sd_bus_message *message, const char *path, const struct peer *peer,
			 const struct link_state *link)
{
	int bytes, r;

	if (!path)
		return -ENOMEM;
	r = sd_bus_message_open_container(message, 'e', "oa{sa{sv}}");
	if (r >= 0)
		r = sd_bus_message_append(message, "o", path);
	if (r >= 0)
		r = sd_bus_message_open_container(message, 'a', "{sa{sv}}");
	if (r >= 0)
		r = append_interfaces(message);
	if (r >= 0)
		r = sd_bus_message_open_container(message, 'e', "sa{sv}");
	if (r >= 0)
		r = sd_bus_message_append(message, "s", peer ? BUS_PEER : BUS_LINK);
	if (r < 0)
		return r;
	bytes = peer ? bus_append_peer(message, peer) : bus_append_link(message, link);
	if (bytes < 0)
		return bytes;
	for (unsigned i = 0; r >= 0 && i < 3; i++)
		r = sd_bus_message_close_container(message);
	return r < 0 ? r : bytes + 256 + (int)strlen(path);
}

static int append_objects(sd_bus_message *message, const struct bus *bus)
{
	const struct roster *roster = bus->roster;
	size_t bytes = 0;
	int r = sd_bus_message_open_container(message, 'a', "{oa{sa{sv}}}");

	for (unsigned i = 0; r >= 0 && i < roster->peer_count; i++) {
		_free_text_ char *path = bus_peer_path(roster->peers[i]->name);

		r = append_object(message, path, roster->peers[i], NULL);
		bytes += r > 0 ? (size_t)r : 0;
		if (bytes > bus->message_largest)
			return -EMSGSIZE;
	}
	for (unsigned i = 0; r >= 0 && i < roster->link_count; i++) {
		_free_text_ char *path = bus_link_path(roster->links[i]->link.index);

		r = append_object(message, path, NULL, roster->links[i]);
	}
	return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_result(sd_bus_message *message, const struct peer *peer)
{
	int bytes, r;

	r = sd_bus_message_open_container(message, 'e', "sa{sv}");
	if (r >= 0)
		r = sd_bus_message_append(message, "s", peer->name);
	if (r < 0)
		return r;
	bytes = bus_append_peer(message, peer);
	if (bytes < 0)
		return bytes;
	r = sd_bus_message_close_container(message);
	return r < 0 ? r : bytes + 16 + (int)strlen(peer->name);
}

static int append_results(sd_bus_message *message, const struct bus *bus)
{
	const struct roster *roster = bus->roster;
	size_t bytes = 0;
	int r = sd_bus_message_open_container(message, 'a', "{sa{sv}}");

	for (unsigned i = 0; r >= 0 && i < roster->peer_count; i++) {
		r = append_result(message, roster->peers[i]);
		bytes += r > 0 ? (size_t)r : 0;
		if (bytes > bus->message_largest)
			return -EMSGSIZE;
	}
	return r < 0 ? r : sd_bus_message_close_container(message);
}

/* --- making it, and answers of it --- */

static void whole_drop(struct bus_whole *whole)
{
	free(whole->text);
	whole->text = NULL;
	for (unsigned i = 0; i < WHOLES; i++)
		whole->made[i] = sd_bus_message_unref(whole->made[i]);
}

static int answer_document(struct bus *bus, sd_bus_message *call)
{
	struct bus_whole *whole = bus->whole;

	if (!whole->text)
		whole->text = report_json(bus->roster, false);
	if (!whole->text)
		return -ENOMEM;
	if (strlen(whole->text) > bus->message_largest)
		return -EMSGSIZE;
	return sd_bus_reply_method_return(call, "s", whole->text);
}

static int append_whole(sd_bus_message *reply, const struct bus *bus, enum whole kind)
{
	return kind == WHOLE_OBJECTS ? append_objects(reply, bus) : append_results(reply, bus);
}

static int answer_message(struct bus *bus, sd_bus_message *call, enum whole kind)
{
	struct bus_whole *whole = bus->whole;
	sd_bus_message *reply = NULL;
	int r = sd_bus_message_new_method_return(call, &reply);

	if (r >= 0 && whole->made[kind]) {
		r = sd_bus_message_rewind(whole->made[kind], true);
		if (r >= 0)
			r = sd_bus_message_copy(reply, whole->made[kind], true);
	} else if (r >= 0) {
		r = append_whole(reply, bus, kind);
	}
	if (r >= 0)
		r = sd_bus_message_send(reply);
	if (r >= 0 && !whole->made[kind])
		whole->made[kind] = sd_bus_message_ref(reply);
	sd_bus_message_unref(reply);
	return r;
}

static int whole_answer(struct bus *bus, sd_bus_message *call, enum whole kind)
{
	struct bus_whole *whole = bus->whole;
	bool made = whole->made[kind] || (kind == WHOLE_DOCUMENT && whole->text);
	uint64_t began = bus_now();
	int r = kind == WHOLE_DOCUMENT ? answer_document(bus, call)
				       : answer_message(bus, call, kind);

	if (!made)
		whole->cost_usec[kind] = bus_now() - began;
	return r;
}

static int too_large(sd_bus_error *error)
{
	return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
				"all peers together are more than one message of the bus may hold "
				"(32 MiB): ask for them one by one, by ListPeers and GetAll");
}

static int whole_said(int r, sd_bus_error *error)
{
	return r == -EMSGSIZE ? too_large(error) : r;
}

/* --- who waits --- */

static struct wish *wish_free(struct wish *wish)
{
	struct wish *next = wish->next;

	sd_bus_message_unref(wish->call);
	free(wish);
	return next;
}

static void wishes_drop(struct wish **wishes)
{
	while (*wishes)
		*wishes = wish_free(*wishes);
}

static void whole_later(struct bus_whole *whole, uint64_t usec)
{
	sd_event_source_set_time_relative(whole->source, usec < REST_MOST_USEC ? usec : REST_MOST_USEC);
	sd_event_source_set_enabled(whole->source, SD_EVENT_ONESHOT);
}

static void whole_serve(struct bus *bus)
{
	struct wish *wish = bus->whole->served;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = whole_said(whole_answer(bus, wish->call, wish->whole), &error);

	if (r < 0)
		sd_bus_reply_method_errno(wish->call, r, &error);
	sd_bus_error_free(&error);
	bus->whole->served = wish_free(wish);
}

/* One of them a time. */
static int on_whole(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *bus = userdata;
	struct bus_whole *whole = bus->whole;
	uint64_t began = bus_now(), queued = 0;

	if (sd_bus_get_n_queued_write(bus->connection, &queued) >= 0 && queued > 0) {
		whole_later(whole, QUEUED_USEC);
		return 0;
	}
	if (whole->rest_usec > 0) {
		whole_later(whole, whole->rest_usec);
		whole->rest_usec = 0;
		return 0;
	}
	if (!whole->served) {
		whole->served = whole->waiting;
		whole->waiting = NULL;
	}
	if (whole->served)
		whole_serve(bus);
	if (!whole->served)
		whole_drop(whole);
	/* also when nobody waits: who comes meanwhile waits until then */
	whole->rest_usec = bus_now() - began;
	if (whole->served || whole->waiting || whole->rest_usec >= SHORT_USEC)
		whole_later(whole, QUEUED_USEC);
	else
		whole->rest_usec = 0;
	return 0;
}

static bool whole_rests(const struct bus_whole *whole)
{
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(whole->source, &enabled);
	return enabled != SD_EVENT_OFF;
}

static unsigned wishes_count(const struct wish *wish)
{
	unsigned count = 0;

	for (; wish; wish = wish->next)
		count++;
	return count;
}

static bool wishes_have(const struct wish *wish, const char *sender, enum whole kind)
{
	while (wish && (wish->whole != kind ||
			strcmp(sd_bus_message_get_sender(wish->call), sender) != 0))
		wish = wish->next;
	return wish != NULL;
}

/* A connection waits for one of a kind at a time. */
static bool whole_is_crowded(const struct bus_whole *whole, const char *sender, enum whole kind)
{
	return wishes_count(whole->waiting) >= OF_ALL_MOST ||
	       wishes_have(whole->waiting, sender, kind) || wishes_have(whole->served, sender, kind);
}

static int whole_wait(struct bus *bus, sd_bus_message *call, enum whole kind)
{
	struct bus_whole *whole = bus->whole;
	struct wish **end = &whole->waiting, *wish = calloc(1, sizeof(*wish));

	if (!wish)
		return -ENOMEM;
	*wish = (struct wish){.call = sd_bus_message_ref(call), .whole = kind};
	while (*end)
		end = &(*end)->next;
	*end = wish;
	if (!whole_rests(whole))
		whole_later(whole, 0);
	return 1;
}

/* Whether it is better made later, for several. */
static bool whole_is_costly(const struct bus_whole *whole, enum whole kind)
{
	return whole_rests(whole) || whole->cost_usec[kind] >= SHORT_USEC;
}

static int whole_answer_now(struct bus *bus, sd_bus_message *call, enum whole kind,
			    sd_bus_error *error)
{
	int r = whole_answer(bus, call, kind);
	whole_drop(bus->whole);
	if (bus->whole->cost_usec[kind] >= SHORT_USEC) {
		bus->whole->rest_usec = bus->whole->cost_usec[kind];
		whole_later(bus->whole, QUEUED_USEC);
		bus->call_usec = 0; /* others need not rest with it */
	}
	return r < 0 ? whole_said(r, error) : 1;
}

/* Answers it, now or later. Positive: the call is taken care of. */
static int whole_ask(struct bus *bus, sd_bus_message *call, enum whole kind, sd_bus_error *error)
{
	const char *sender = sd_bus_message_get_sender(call);

	if (!sender)
		return -ENXIO;
	if (!whole_is_costly(bus->whole, kind))
		return whole_answer_now(bus, call, kind, error);
	if (whole_is_crowded(bus->whole, sender, kind))
		return sd_bus_error_set(error, BUS_NAME ".Busy",
					"too many such calls wait already; try again later");
	return whole_wait(bus, call, kind);
}

int bus_whole_checked(struct bus *bus, sd_bus_message *call, sd_bus_error *error)
{
	return whole_ask(bus, call, WHOLE_RESULTS, error);
}

int bus_method_describe(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	return whole_ask(userdata, call, WHOLE_DOCUMENT, error);
}

/* Before sd-bus would make the answer, for each caller his own. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *path = sd_bus_message_get_path(message);

	if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.ObjectManager",
					  "GetManagedObjects") <= 0 ||
	    !path || strcmp(path, BUS_ROOT) != 0 || !sd_bus_message_has_signature(message, ""))
		return 0;
	return whole_ask(userdata, message, WHOLE_OBJECTS, error);
}

int bus_whole_add(struct bus *bus)
{
	return sd_bus_add_filter(bus->connection, NULL, on_message, bus);
}

void bus_whole_leave(struct bus *bus)
{
	struct bus_whole *whole = bus->whole;

	if (!whole)
		return;
	wishes_drop(&whole->waiting);
	wishes_drop(&whole->served);
	whole_drop(whole);
	if (whole->source)
		sd_event_source_set_enabled(whole->source, SD_EVENT_OFF);
}

int bus_whole_init(struct bus *bus)
{
	int r;

	bus->message_largest = MESSAGE_LARGEST;
	bus->whole = calloc(1, sizeof(*bus->whole));
	if (!bus->whole)
		return -ENOMEM;
	r = sd_event_add_time(bus->event, &bus->whole->source, CLOCK_MONOTONIC, UINT64_MAX,
			      USEC_PER_MSEC, on_whole, bus);
	return r < 0 ? r : sd_event_source_set_enabled(bus->whole->source, SD_EVENT_OFF);
}

void bus_whole_done(struct bus *bus)
{
	bus_whole_leave(bus);
	if (bus->whole)
		sd_event_source_disable_unref(bus->whole->source);
	free(bus->whole);
	bus->whole = NULL;
}
