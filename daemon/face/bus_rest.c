/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bus's share of the loop. With ten thousand peers one answer may take a second to build; after
 * a call that took long the bus is not read for a while, so that whoever calls without end slows
 * down himself and not the rounds.
 */
#include "bus_private.h"

#include <time.h>

#define SHORT_USEC (10 * USEC_PER_MSEC) /* calls of less cost nobody anything */
#define REST_TIMES 2U                   /* so many times as long as the call took */
#define REST_MOST_USEC (10 * USEC_PER_SEC)
#define AGAIN_USEC (100 * USEC_PER_MSEC) /* after the bus could not be read again */

uint64_t bus_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Before sd-bus looks at what came. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct bus *bus = userdata;

	bus->call_usec = bus_now();
	return 0;
}

static int rest_for(struct bus *bus, uint64_t usec)
{
	sd_event_source_set_time_relative(bus->rest_source, usec);
	return sd_event_source_set_enabled(bus->rest_source, SD_EVENT_ONESHOT);
}

/* To attach takes memory and one of the kernel's watches: without, it is tried until there is. */
static int on_rested(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *bus = userdata;

	if (!bus->connection || sd_bus_get_event(bus->connection) ||
	    sd_bus_attach_event(bus->connection, bus->event, SD_EVENT_PRIORITY_NORMAL) >= 0)
		return 0;
	return rest_for(bus, AGAIN_USEC);
}

/* Whoever cannot be woken again does not lie down. */
static void bus_rest(struct bus *bus)
{
	uint64_t rest = bus->rest_usec < REST_MOST_USEC ? bus->rest_usec : REST_MOST_USEC;

	bus->rest_usec = 0;
	if (rest_for(bus, rest) >= 0)
		sd_bus_detach_event(bus->connection);
}

/* After what was done with it: of all sources the first that gets its turn then. The answer is let
 * go first, unless the next such call is there already. */
static int on_turn(sd_event_source *source, void *userdata)
{
	struct bus *bus = userdata;
	uint64_t spent = bus->call_usec ? bus_now() - bus->call_usec : 0;
	bool another = bus->rest_usec > 0 && spent >= SHORT_USEC;
	uint64_t queued = 0;

	bus_look_after(bus);
	bus->call_usec = 0;
	if (spent >= SHORT_USEC)
		bus->rest_usec += REST_TIMES * spent;
	if (bus->rest_usec == 0 || !bus->connection || !sd_bus_get_event(bus->connection))
		return 0;
	sd_bus_get_n_queued_write(bus->connection, &queued);
	if (queued == 0 || another)
		bus_rest(bus);
	return 0;
}

int bus_rest_add(struct bus *bus)
{
	bus->call_usec = bus->rest_usec = 0;
	return sd_bus_add_filter(bus->connection, NULL, on_message, bus);
}

int bus_rest_init(struct bus *bus)
{
	int r = sd_event_add_time(bus->event, &bus->rest_source, CLOCK_MONOTONIC, UINT64_MAX, 0,
				  on_rested, bus);

	if (r >= 0)
		r = sd_event_source_set_enabled(bus->rest_source, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_post(bus->event, &bus->turn_source, on_turn, bus);
	if (r >= 0)
		r = sd_event_source_set_priority(bus->turn_source, SD_EVENT_PRIORITY_IMPORTANT);
	return r;
}
