/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which storage is in use: what was found, what it is called, and for how long it is remembered
 * when it is gone, so that a remount is no change. Makes no peers: discover.c does.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "../face/words.h"

#define GONE_USEC (15 * USEC_PER_SEC)	 /* a remount takes less */
#define PASSED_USEC (600 * USEC_PER_SEC) /* connections are closed when idle, and when stalled */
#define LOOKUP_USEC (600 * USEC_PER_SEC) /* a name may move */
#define LOOKUP_FAILED_USEC (60 * USEC_PER_SEC)

static void discovery_changed(struct watch *watch)
{
	watch->discovery->changed = true;
	watch->gateways_dirty = true;
	watch_settle_soon(watch);
}

/* --- names --- */

static void on_storage_resolved(int error, const struct address *addresses, unsigned count,
				void *userdata)
{
	struct found *found = userdata;
	struct moment moment;

	found->query = NULL;
	watch_moment(&moment);
	found->lookup_usec = moment.now_usec + (error ? LOOKUP_FAILED_USEC : LOOKUP_USEC);
	if (error && found->storage.address.family == ADDRESS_NONE)
		journal_plain(&found->watch->journal, LOG_INFO,
			      "storage server %s cannot be looked up: %s", found->storage.host,
			      strerror(-error));
	if (error == 0 && count > 0 && !address_equal(&found->storage.address, &addresses[0]))
		found->storage.address = addresses[0];
	/* also where nothing came of it: somebody may wait for that */
	discovery_changed(found->watch);
}

static void found_resolve(struct found *found, uint64_t now_usec)
{
	if (found->storage.host[0] == '\0' || found->query || now_usec < found->lookup_usec)
		return;
	found->lookup_usec = now_usec + LOOKUP_FAILED_USEC;
	names_resolve(found->watch->names, found->storage.host, ADDRESS_NONE, on_storage_resolved,
		      found, &found->query);
}

bool watch_storage_is_pending(const struct watch *watch)
{
	if (!watch->discovery)
		return false;
	for (const struct found *found = watch->discovery->found; found; found = found->next)
		if (found->query && found->storage.address.family == ADDRESS_NONE)
			return true;
	return watch->discovery->changed;
}

/* --- what was found --- */

static struct found *found_free(struct found *found)
{
	names_cancel(found->watch->names, found->query);
	free(found);
	return NULL;
}

static bool found_is(const struct found *found, const struct storage *storage)
{
	struct storage same = found->storage;

	/* of a name the address is what was looked up */
	if (same.host[0] != '\0')
		same.address = storage->address;
	return storage_equal(&same, storage);
}

static struct found *discovery_find(const struct discovery *discovery,
				    const struct storage *storage)
{
	struct found *found = discovery->found;

	while (found && !found_is(found, storage))
		found = found->next;
	return found;
}

/* Seen otherwise already, by whatever port and link; or by a connection before. */
static struct found *discovery_find_address(const struct discovery *discovery,
					    const struct storage *storage)
{
	struct found *found = discovery->found;

	while (found && (found->storage.kind != storage->kind ||
			 !address_equal(&found->storage.address, &storage->address)))
		found = found->next;
	return found;
}

/* NULL: no room. */
static struct found *discovery_add(struct watch *watch, const struct storage *storage)
{
	struct discovery *discovery = watch->discovery;
	struct found *found;

	if (discovery->count >= STORAGE_MOST) {
		watch_storage_say_full(watch, STORAGE_MOST);
		return NULL;
	}
	found = calloc(1, sizeof(*found));
	if (!found)
		return NULL;
	found->watch = watch;
	found->storage = *storage;
	found->next = discovery->found;
	discovery->found = found;
	discovery->count++;
	return found;
}

void watch_storage_say_full(struct watch *watch, unsigned most)
{
	if (!watch->discovery || watch->discovery->said_full)
		return;
	watch->discovery->said_full = true;
	journal_plain(&watch->journal, LOG_WARNING,
		      "this host uses more than %u pieces of storage: the others are not watched",
		      most);
}

/* A connection is no storage of its own where a mount or a session is known for it. */
static bool found_is_known_better(const struct discovery *discovery, const struct found *found)
{
	for (const struct found *other = discovery->found; other; other = other->next)
		if (!other->storage.passing && other->storage.kind == found->storage.kind &&
		    address_equal(&other->storage.address, &found->storage.address))
			return true;
	return false;
}

static uint64_t found_until(const struct discovery *discovery, const struct found *found)
{
	if (found->present)
		return USEC_NEVER;
	if (!found->storage.passing)
		return found->seen_usec + GONE_USEC;
	return found_is_known_better(discovery, found) ? 0 : found->seen_usec + PASSED_USEC;
}

/* Gives up what is gone for long enough. True: there was some. */
static bool discovery_expire(struct watch *watch, uint64_t now_usec)
{
	struct discovery *discovery = watch->discovery;
	struct found **next = &discovery->found;
	uint64_t first = USEC_NEVER;
	bool expired = false;

	while (*next) {
		struct found *found = *next;
		uint64_t until = found_until(discovery, found);

		if (until <= now_usec) {
			*next = found->next;
			discovery->count--;
			found_free(found);
			expired = true;
			continue;
		}
		if (until < first)
			first = until;
		next = &found->next;
	}
	sd_event_source_set_time(discovery->timer, first);
	sd_event_source_set_enabled(discovery->timer,
				    first == USEC_NEVER ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
	return expired;
}

static int on_expire(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	struct moment moment;

	watch_moment(&moment);
	if (discovery_expire(watch, moment.now_usec))
		discovery_changed(watch);
	return 0;
}

/* True: it is new. */
static bool discovery_see(struct watch *watch, const struct storage *storage, uint64_t now_usec)
{
	struct found *found = storage->passing ? discovery_find_address(watch->discovery, storage)
					       : discovery_find(watch->discovery, storage);
	bool added = !found;

	if (added)
		found = discovery_add(watch, storage);
	if (!found)
		return false;
	if (!storage->passing) {
		found->present = true;
		found->storage.passing = false;
	}
	/* a connection keeps no mount that is gone */
	if (added || found->storage.passing || !storage->passing)
		found->seen_usec = now_usec;
	found_resolve(found, now_usec);
	return added;
}

static void on_storage(const struct storage_list *list, void *userdata)
{
	struct watch *watch = userdata;
	struct discovery *discovery = watch->discovery;
	bool changed = false;
	struct moment moment;

	watch_moment(&moment);
	for (struct found *found = discovery->found; found; found = found->next)
		found->present = false;
	for (unsigned i = 0; i < list->count; i++)
		changed |= discovery_see(watch, &list->list[i], moment.now_usec);
	if (list->full)
		watch_storage_say_full(watch, STORAGE_MOST);
	if (discovery_expire(watch, moment.now_usec) || changed)
		discovery_changed(watch);
}

/* --- life --- */

void watch_storage_free(struct watch *watch)
{
	struct discovery *discovery = watch->discovery;

	if (!discovery)
		return;
	while (discovery->found) {
		struct found *found = discovery->found;

		discovery->found = found->next;
		found_free(found);
	}
	storage_free(discovery->room);
	sd_event_source_disable_unref(discovery->timer);
	free(discovery);
	watch->discovery = NULL;
}

static int discovery_open(struct watch *watch)
{
	struct discovery *discovery = calloc(1, sizeof(*discovery));
	int r;

	if (!discovery)
		return -ENOMEM;
	watch->discovery = discovery;
	r = sd_event_add_time(watch->event, &discovery->timer, CLOCK_MONOTONIC, UINT64_MAX,
			      USEC_PER_SEC / 10, on_expire, watch);
	if (r >= 0)
		r = sd_event_source_set_enabled(discovery->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = storage_new(&discovery->room, watch->event, on_storage, watch);
	if (r >= 0)
		r = storage_collect(discovery->room);
	return r;
}

/* Without it there are still the peers that are configured. */
void watch_storage_configure(struct watch *watch)
{
	bool wanted = !watch->options.requests && watch->config->discover & DISCOVER_STORAGE;
	int r = 0;

	if (!wanted)
		watch_storage_free(watch);
	else if (!watch->discovery)
		r = discovery_open(watch);
	else
		r = storage_collect(watch->discovery->room);
	if (r < 0)
		journal_plain(&watch->journal, LOG_WARNING, "storage cannot be looked for: %s",
			      strerror(-r));
}
