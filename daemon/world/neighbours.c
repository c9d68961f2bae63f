/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sources of neighbours, kept current. networkd's folder tells when a record changes; it is
 * touched whenever a neighbour is heard again too, so a folder at rest is a dead one.
 */
#include "neighbours.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#include "lldpd.h"
#include "neighbours_table.h"
#include "networkd.h"
#include "same_network.h"

/* A source that was not there is looked for again, and what is told no more is forgotten. */
#define LOOK_USEC (30 * USEC_PER_SEC)
#define SLACK_USEC (15 * USEC_PER_SEC)

struct neighbours {
	sd_event *event;
	neighbours_handler_t handler; /* not called while all is made */
	void *userdata;
	const char *folder; /* NULL: it is another network's */
	sd_event_source *folder_source, *timer;
	struct timespec touched; /* the folder, last seen */
	int64_t touched_usec;	 /* when that was, before this machine started perhaps */
	struct cables networkd, lldpd;
	struct lldpd *asking;
	int lldpd_error;
};

static uint64_t now_of(const struct neighbours *neighbours)
{
	uint64_t now = 0;

	sd_event_now(neighbours->event, CLOCK_MONOTONIC, &now);
	return now;
}

static void tell(struct neighbours *neighbours)
{
	if (neighbours->handler)
		neighbours->handler(neighbours->userdata);
}

/* Takes `now` over. */
static void cables_become(struct neighbours *neighbours, struct cables *cables, struct cables *now)
{
	bool same = cables_equal(cables, now);

	cables_done(cables);
	*cables = *now;
	memset(now, 0, sizeof(*now));
	if (!same)
		tell(neighbours);
}

/* --- networkd --- */

/* The clock of files may be set: what counts is when it was seen to move. */
static uint64_t folder_age_sec(struct neighbours *neighbours)
{
	struct timespec clock;
	struct stat folder;
	int64_t now = (int64_t)now_of(neighbours);

	if (stat(neighbours->folder, &folder) < 0)
		return UINT64_MAX;
	if (folder.st_mtim.tv_sec != neighbours->touched.tv_sec ||
	    folder.st_mtim.tv_nsec != neighbours->touched.tv_nsec) {
		int64_t age;

		clock_gettime(CLOCK_REALTIME, &clock);
		age = neighbours->touched.tv_sec ? 0 : clock.tv_sec - folder.st_mtim.tv_sec;
		if (age < 0)
			age = 0;
		neighbours->touched = folder.st_mtim;
		neighbours->touched_usec = now - age * (int64_t)USEC_PER_SEC;
	}
	return (uint64_t)(now - neighbours->touched_usec) / USEC_PER_SEC;
}

static void networkd_look(struct neighbours *neighbours)
{
	struct cables now = {0};

	if (networkd_read(neighbours->folder, &now) >= 0)
		cables_expire(&now, folder_age_sec(neighbours));
	cables_become(neighbours, &neighbours->networkd, &now);
}

static int on_folder(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
	struct neighbours *neighbours = userdata;

	/* gone: it is looked for again in time */
	if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF))
		neighbours->folder_source = sd_event_source_disable_unref(source);
	else if (!(event->mask & IN_Q_OVERFLOW) &&
		 (!event->len || !networkd_is_record(event->name)))
		return 0;
	networkd_look(neighbours);
	return 0;
}

static int networkd_follow(struct neighbours *neighbours)
{
	int r;

	if (!neighbours->folder || neighbours->folder_source)
		return 0;
	r = sd_event_add_inotify(neighbours->event, &neighbours->folder_source, neighbours->folder,
				 IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF |
					 IN_MOVE_SELF | IN_ONLYDIR,
				 on_folder, neighbours);
	/* not there or shut: nothing is known from it */
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	networkd_look(neighbours);
	return 0;
}

/* --- lldpd --- */

static void on_lldpd(struct cables *now, void *userdata)
{
	struct neighbours *neighbours = userdata;

	cables_become(neighbours, &neighbours->lldpd, now);
}

/* --- both --- */

static void look(struct neighbours *neighbours)
{
	neighbours->lldpd_error = lldpd_look(neighbours->asking);
	(void)networkd_follow(neighbours);
	if (neighbours->networkd.count > 0)
		networkd_look(neighbours);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct neighbours *neighbours = userdata;

	sd_event_source_set_time(source, now_of(neighbours) + LOOK_USEC);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	look(neighbours);
	return 0;
}

static int timer_begin(struct neighbours *neighbours)
{
	/* it goes along with whatever wakes the daemon meanwhile */
	return sd_event_add_time(neighbours->event, &neighbours->timer, CLOCK_MONOTONIC,
				 now_of(neighbours) + LOOK_USEC, SLACK_USEC, on_timer, neighbours);
}

int neighbours_new(struct neighbours **ret, sd_event *event, const struct neighbours_places *places,
		   neighbours_handler_t handler, void *userdata)
{
	struct neighbours *neighbours = calloc(1, sizeof(*neighbours));
	int r;

	if (!neighbours)
		return -ENOMEM;
	neighbours->event = sd_event_ref(event);
	neighbours->userdata = userdata;
	neighbours->folder = places && places->folder ? places->folder
			     : same_network_as_init() ? NETWORKD_FOLDER
						      : NULL;
	r = lldpd_new(&neighbours->asking, event,
		      places && places->socket ? places->socket : LLDPD_SOCKET, on_lldpd,
		      neighbours);
	if (r >= 0)
		r = timer_begin(neighbours);
	if (r < 0) {
		neighbours_free(neighbours);
		return r;
	}
	look(neighbours);
	neighbours->handler = handler;
	*ret = neighbours;
	return 0;
}

struct neighbours *neighbours_free(struct neighbours *neighbours)
{
	if (!neighbours)
		return NULL;
	lldpd_free(neighbours->asking);
	sd_event_source_disable_unref(neighbours->timer);
	sd_event_source_disable_unref(neighbours->folder_source);
	cables_done(&neighbours->networkd);
	cables_done(&neighbours->lldpd);
	sd_event_unref(neighbours->event);
	free(neighbours);
	return NULL;
}

const struct neighbour *neighbours_of(const struct neighbours *neighbours, int link)
{
	const struct cable *cable = cables_find(&neighbours->networkd, link);

	if (!cable)
		cable = cables_find(&neighbours->lldpd, link);
	return cable ? &cable->neighbour : NULL;
}

int neighbours_lldpd_error(const struct neighbours *neighbours)
{
	return neighbours->lldpd_error;
}
