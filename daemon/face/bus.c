/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The connection to the system bus and our name on it. The bus may be absent, come later, go and
 * come again; nothing here waits for it, and nothing of it is an error of the daemon.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#define RETRY_USEC (2 * USEC_PER_SEC)

static void bus_retry_later(struct bus *bus)
{
	sd_event_source_set_time_relative(bus->retry, RETRY_USEC);
	sd_event_source_set_enabled(bus->retry, SD_EVENT_ONESHOT);
}

/* Said once, not every two seconds. */
static void bus_complain(struct bus *bus, int error, const char *what)
{
	if (bus->said == error)
		return;
	bus->said = error;
	journal_plain(bus->journal, LOG_WARNING, "%s (%s); going on without it", what,
		      strerror(-error));
}

static void bus_close(struct bus *bus)
{
	bus->ready = false;
	bus->named = false;
	bus_callers_drop(bus);
	bus_questions_drop(bus);
	bus_news_drop(bus);
	bus_whole_leave(bus);
	if (bus->connection)
		sd_bus_detach_event(bus->connection);
	bus->connection = sd_bus_close_unref(bus->connection);
}

/* libsystemd 252 ends the program where a connection is freed to which something could not be added
 * for lack of memory: that one is left behind. */
static void bus_abandon(struct bus *bus)
{
	sd_bus_detach_event(bus->connection);
	sd_bus_close(bus->connection);
	bus->connection = NULL;
}

/* Not closed at once: sd-bus is in the middle of telling everybody. */
static int bus_on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;

	bus_complain(bus, bus->ready ? -ECONNRESET : -ECONNREFUSED,
		     bus->ready ? "the system bus went away" : "the system bus does not take us");
	bus->ready = false;
	bus->named = false;
	bus_news_drop(bus);
	bus_retry_later(bus);
	return 0;
}

static int bus_on_named(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;
	uint32_t result = 0;
	int r;

	if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NO_REPLY))
		return 0; /* the connection is lost, which is told elsewhere */
	if (sd_bus_message_is_method_error(reply, NULL)) {
		/* where a package is just being installed, its policy may be read after we start */
		if (bus->refused)
			bus_complain(bus, -sd_bus_message_get_errno(reply),
				     "the system bus refuses us the name " BUS_NAME);
		bus->refused = true;
		bus_retry_later(bus);
		return 0;
	}
	bus->refused = false;
	r = sd_bus_message_read(reply, "u", &result);
	if (r < 0)
		return r;
	/* 1: we are its owner now, 4: we were already */
	bus->named = result == 1 || result == 4;
	if (bus->named && bus->said)
		journal_plain(bus->journal, LOG_NOTICE, "on the system bus as " BUS_NAME " again");
	if (bus->named) {
		bus->ready = true;
		bus->said = 0;
		return 0;
	}
	bus_complain(bus, -EEXIST,
		     "another program has the name " BUS_NAME
		     " on the system bus (is mtuwatchd running twice?)");
	bus_retry_later(bus);
	return 0;
}

static int bus_on_connected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;

	bus->ready = true;
	bus->totals = bus_totals_now(bus);
	return 0;
}

static int bus_prepare(struct bus *bus, sd_bus *connection)
{
	const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");
	int r;

	r = sd_bus_set_address(connection, address && address[0]
						   ? address
						   : "unix:path=/run/dbus/system_bus_socket");
	if (r < 0)
		return r;
	r = sd_bus_set_bus_client(connection, true);
	if (r < 0)
		return r;
	/* waits by inotify until the socket is there */
	r = sd_bus_set_watch_bind(connection, true);
	if (r < 0)
		return r;
	r = sd_bus_set_connected_signal(connection, true);
	if (r < 0)
		return r;
	return sd_bus_start(connection);
}

static int bus_local_matches(struct bus *bus)
{
	int r;

	r = sd_bus_match_signal(bus->connection, NULL, NULL, "/org/freedesktop/DBus/Local",
				"org.freedesktop.DBus.Local", "Connected", bus_on_connected, bus);
	if (r < 0)
		return r;
	return sd_bus_match_signal(bus->connection, NULL, NULL, "/org/freedesktop/DBus/Local",
				   "org.freedesktop.DBus.Local", "Disconnected",
				   bus_on_disconnected, bus);
}

static int bus_serve(struct bus *bus)
{
	int r;

	r = bus_rest_add(bus);
	if (r < 0)
		return r;
	r = bus_whole_add(bus);
	if (r < 0)
		return r;
	r = bus_local_matches(bus);
	if (r < 0)
		return r;
	r = bus_manager_add(bus);
	if (r < 0)
		return r;
	r = bus_objects_add(bus);
	if (r < 0)
		return r;
	r = bus_log_control_add(bus);
	if (r < 0)
		return r;
	/* Not queued behind another owner: two daemons at once are a mistake to be told. */
	r = sd_bus_request_name_async(bus->connection, NULL, BUS_NAME, 0, bus_on_named, bus);
	if (r < 0)
		return r;
	return sd_bus_attach_event(bus->connection, bus->event, SD_EVENT_PRIORITY_NORMAL);
}

static int bus_connect(struct bus *bus)
{
	int r;

	r = sd_bus_new(&bus->connection);
	if (r < 0)
		return r;
	r = bus_prepare(bus, bus->connection);
	if (r < 0)
		return r;
	return bus_serve(bus);
}

static int bus_on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *bus = userdata;
	int r;

	bus_close(bus);
	r = bus_connect(bus);
	if (r < 0) {
		bus_complain(bus, r, "cannot connect to the system bus");
		if (r == -ENOMEM && bus->connection)
			bus_abandon(bus);
		bus_close(bus);
		bus_retry_later(bus);
	}
	return 0;
}

static int bus_on_totals(sd_event_source *source, void *userdata)
{
	struct bus *bus = userdata;
	struct bus_totals now, *last = &bus->totals;
	const char *names[7];
	unsigned count = 0;

	if (!bus->ready)
		return 0;
	now = bus_totals_now(bus);
	if (now.verdict != last->verdict)
		names[count++] = "Verdict";
	if (now.severity != last->severity)
		names[count++] = "Severity";
	if (now.peers != last->peers)
		names[count++] = "Peers";
	if (now.peers_faulty != last->peers_faulty)
		names[count++] = "PeersFaulty";
	if (now.links != last->links)
		names[count++] = "Links";
	if (now.links_faulty != last->links_faulty)
		names[count++] = "LinksFaulty";
	names[count] = NULL;
	bus->totals = now;
	if (count > 0)
		sd_bus_emit_properties_changed_strv(bus->connection, BUS_ROOT, BUS_MANAGER,
						    (char **)names);
	return 0;
}

/* What tells of a lost connection is a message, for which sd-bus may have had no memory. */
void bus_look_after(struct bus *bus)
{
	int enabled = SD_EVENT_ONESHOT;

	if (bus->connection && sd_bus_is_open(bus->connection) != 0)
		return;
	sd_event_source_get_enabled(bus->retry, &enabled);
	if (enabled == SD_EVENT_OFF)
		bus_retry_later(bus);
}

static int bus_sources(struct bus *bus)
{
	int r;

	r = sd_event_add_time_relative(bus->event, &bus->retry, CLOCK_MONOTONIC, 0, 0, bus_on_retry,
				       bus);
	if (r < 0)
		return r;
	r = bus_news_init(bus);
	if (r < 0)
		return r;
	r = bus_rest_init(bus);
	if (r < 0)
		return r;
	r = bus_whole_init(bus);
	if (r < 0)
		return r;
	r = sd_event_add_defer(bus->event, &bus->totals_later, bus_on_totals, bus);
	if (r < 0)
		return r;
	/* counted once for all that happens in one turn of the loop */
	r = sd_event_source_set_priority(bus->totals_later, SD_EVENT_PRIORITY_IDLE);
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(bus->totals_later, SD_EVENT_OFF);
}

int bus_new(struct bus **ret, sd_event *event, const struct roster *roster, struct journal *journal,
	    const struct bus_handlers *handlers, void *userdata)
{
	struct bus *bus = calloc(1, sizeof(*bus));
	int r;

	if (!bus)
		return -ENOMEM;
	bus->event = sd_event_ref(event);
	bus->roster = roster;
	bus->journal = journal;
	bus->handlers = *handlers;
	bus->userdata = userdata;
	r = bus_objects_make(bus);
	if (r >= 0)
		r = bus_sources(bus);
	if (r < 0) {
		bus_free(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

struct bus *bus_free(struct bus *bus)
{
	if (!bus)
		return NULL;
	bus_close(bus);
	sd_event_source_disable_unref(bus->retry);
	sd_event_source_disable_unref(bus->totals_later);
	sd_event_source_disable_unref(bus->news_source);
	sd_event_source_disable_unref(bus->rest_source);
	sd_event_source_disable_unref(bus->turn_source);
	bus_whole_done(bus);
	free(bus->peer_vtable);
	free(bus->link_vtable);
	sd_event_unref(bus->event);
	free(bus);
	return NULL;
}

void bus_totals_changed(struct bus *bus)
{
	if (bus_is_heard(bus))
		sd_event_source_set_enabled(bus->totals_later, SD_EVENT_ONESHOT);
}
