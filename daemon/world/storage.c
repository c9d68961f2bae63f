/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When storage is looked for: soon after a mount or a device came or went, and slowly besides, for
 * what tells nobody. While a storm of mounts goes on nothing is even woken: the event's source is
 * off until the next look is due. Decides nothing about what was found.
 */
#include "storage.h"

#include <errno.h>
#include <libmount/libmount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "storage_sources.h"

#define SOON_USEC (100 * USEC_PER_MSEC)
#define GAP_USEC USEC_PER_SEC
#define SLOW_USEC (60 * USEC_PER_SEC)
#define UNWATCHED_USEC (10 * USEC_PER_SEC) /* where mounts tell nobody */
#define SHARE 20			   /* at most a twentieth of the time is spent on it */

struct storage_room {
	sd_event *event;
	storage_handler_t handler;
	void *userdata;
	struct libmnt_monitor *mounts;
	sd_event_source *mounts_source; /* NULL: mounts cannot be watched */
	sd_device_monitor *devices;
	sd_event_source *timer;
	struct storage_list mounted; /* what the mounts said last */
	bool whole;		     /* not only mounts may have changed */
	uint64_t due_usec;	     /* of the timer */
	uint64_t slow_usec;	     /* then all is looked at in any case */
	uint64_t least_usec;	     /* not before that */
};

static uint64_t clock_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

static int mounts_read(struct storage_list *list)
{
	return mounts_collect("/proc/self/mountinfo", list);
}

static bool lists_equal(const struct storage_list *a, const struct storage_list *b)
{
	bool equal = a->count == b->count;

	for (unsigned i = 0; equal && i < a->count; i++)
		equal = storage_equal(&a->list[i], &b->list[i]);
	return equal;
}

static int list_copy(const struct storage_list *from, struct storage_list *to)
{
	*to = *from;
	if (from->room == 0)
		return 0;
	to->list = malloc(from->room * sizeof(*to->list));
	if (!to->list) {
		*to = (struct storage_list){0};
		return -ENOMEM;
	}
	if (from->count > 0)
		memcpy(to->list, from->list, from->count * sizeof(*to->list));
	return 0;
}

/* Takes `mounted` over. */
static void mounted_become(struct storage_room *room, struct storage_list *mounted)
{
	storage_list_done(&room->mounted);
	room->mounted = *mounted;
	memset(mounted, 0, sizeof(*mounted));
}

static int read_all(struct storage_room *room, struct storage_list *list)
{
	struct storage_list mounted = {0};
	int r = mounts_read(&mounted);

	mounted_become(room, &mounted);
	if (r >= 0)
		r = list_copy(&room->mounted, list);
	if (r >= 0)
		r = sunrpc_collect("/sys/kernel/sunrpc/xprt-switches", list);
	if (r >= 0)
		r = devices_collect(list);
	if (r >= 0)
		r = corosync_collect("/etc/corosync/corosync.conf", list);
	if (r >= 0)
		r = sockets_collect(list);
	return r;
}

/* What is not urgent goes along with whatever wakes the daemon meanwhile. */
static int timer_set(struct storage_room *room, uint64_t at_usec, uint64_t slack_usec)
{
	int r;

	room->due_usec = at_usec;
	sd_event_source_set_time_accuracy(room->timer, slack_usec);
	r = sd_event_source_set_time(room->timer, at_usec);
	return r < 0 ? r : sd_event_source_set_enabled(room->timer, SD_EVENT_ONESHOT);
}

/* Before reading, so that nothing is missed that comes meanwhile. */
static void mounts_rearm(struct storage_room *room)
{
	if (!room->mounts_source)
		return;
	mnt_monitor_event_cleanup(room->mounts);
	sd_event_source_set_enabled(room->mounts_source, SD_EVENT_ON);
}

/* Returns when the reading that began then is over. */
static uint64_t reading_over(struct storage_room *room, uint64_t begun)
{
	uint64_t ended = clock_usec(), gap = (ended - begun) * SHARE;

	room->least_usec = ended + (gap > GAP_USEC ? gap : GAP_USEC);
	return ended;
}

int storage_collect(struct storage_room *room)
{
	struct storage_list list = {0};
	uint64_t begun = clock_usec(), slow = room->mounts_source ? SLOW_USEC : UNWATCHED_USEC;
	uint64_t ended;
	int r;

	mounts_rearm(room);
	r = read_all(room, &list);
	ended = reading_over(room, begun);
	room->whole = false;
	room->slow_usec = ended + slow > room->least_usec ? ended + slow : room->least_usec;
	timer_set(room, room->slow_usec, slow / 4);
	if (r >= 0)
		room->handler(&list, room->userdata);
	storage_list_done(&list);
	return r;
}

/* A host of containers mounts all the time, and hardly ever storage: the rest is not read for it.
 */
static bool mounts_are_the_same(struct storage_room *room)
{
	struct storage_list mounted = {0};
	uint64_t begun = clock_usec();
	bool same;

	mounts_rearm(room);
	same = mounts_read(&mounted) >= 0 && lists_equal(&mounted, &room->mounted);
	storage_list_done(&mounted);
	if (same) {
		reading_over(room, begun);
		timer_set(room, room->slow_usec, SLOW_USEC / 4);
	}
	return same;
}

static void look_soon(struct storage_room *room)
{
	uint64_t at = clock_usec() + SOON_USEC;

	if (at < room->least_usec)
		at = room->least_usec;
	if (at < room->due_usec)
		timer_set(room, at, USEC_PER_MSEC);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct storage_room *room = userdata;

	/* out of memory: next time */
	if (room->whole || room->due_usec >= room->slow_usec || !mounts_are_the_same(room))
		storage_collect(room);
	return 0;
}

static int on_mounts(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	look_soon(userdata);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static int on_device(sd_device_monitor *monitor, sd_device *device, void *userdata)
{
	struct storage_room *room = userdata;

	room->whole = true;
	look_soon(room);
	return 0;
}

/* Where this fails there is still the slow look. */
static int mounts_watch(struct storage_room *room)
{
	int r;

	room->mounts = mnt_new_monitor();
	if (!room->mounts)
		return -ENOMEM;
	r = mnt_monitor_enable_kernel(room->mounts, 1);
	if (r == 0)
		r = mnt_monitor_get_fd(room->mounts);
	if (r < 0)
		return r;
	return sd_event_add_io(room->event, &room->mounts_source, r, EPOLLIN, on_mounts, room);
}

int storage_new(struct storage_room **ret, sd_event *event, storage_handler_t handler,
		void *userdata)
{
	struct storage_room *room = calloc(1, sizeof(*room));
	int r;

	if (!room)
		return -ENOMEM;
	room->event = sd_event_ref(event);
	room->handler = handler;
	room->userdata = userdata;
	r = sd_event_add_time(event, &room->timer, CLOCK_MONOTONIC, UINT64_MAX, USEC_PER_MSEC,
			      on_timer, room);
	if (r >= 0)
		r = sd_event_source_set_enabled(room->timer, SD_EVENT_OFF);
	if (r < 0) {
		storage_free(room);
		return r;
	}
	mounts_watch(room);
	devices_watch(&room->devices, event, on_device, room);
	*ret = room;
	return 0;
}

struct storage_room *storage_free(struct storage_room *room)
{
	if (!room)
		return NULL;
	sd_event_source_disable_unref(room->mounts_source);
	sd_event_source_disable_unref(room->timer);
	sd_device_monitor_unref(room->devices);
	mnt_unref_monitor(room->mounts);
	storage_list_done(&room->mounted);
	sd_event_unref(room->event);
	free(room);
	return NULL;
}
