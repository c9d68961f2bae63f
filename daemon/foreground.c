/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws the report's table when something changed. Knows nothing of what it means. */
#include "foreground.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "face/report.h"

#define AFTER_CHANGE_USEC (300 * USEC_PER_MSEC)
#define REFRESH_USEC USEC_PER_SEC

struct foreground {
	struct watch *watch;
	sd_event_source *timer;
	bool terminal;
	bool pending;
};

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

static void foreground_draw(const struct foreground *foreground)
{
	const struct roster *roster = watch_roster(foreground->watch);

	if (foreground->terminal) {
		fputs("\033[H\033[2J", stdout);
		report_table(roster, stdout, getenv("NO_COLOR") == NULL, terminal_width());
		fputs("\nCtrl-C ends it.\n", stdout);
	} else {
		report_table(roster, stdout, false, 0);
		fputs("\n", stdout);
	}
	fflush(stdout);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct foreground *foreground = userdata;

	foreground->pending = false;
	foreground_draw(foreground);
	if (!foreground->terminal)
		return 0;
	sd_event_source_set_time(source, usec + REFRESH_USEC);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void on_change(void *userdata)
{
	struct foreground *foreground = userdata;
	uint64_t now;

	if (foreground->pending ||
	    sd_event_now(sd_event_source_get_event(foreground->timer), CLOCK_MONOTONIC, &now) < 0)
		return;
	foreground->pending = true;
	sd_event_source_set_time(foreground->timer, now + AFTER_CHANGE_USEC);
	sd_event_source_set_enabled(foreground->timer, SD_EVENT_ONESHOT);
}

int foreground_new(struct foreground **ret, sd_event *event, struct watch *watch)
{
	struct foreground *foreground = calloc(1, sizeof(*foreground));
	int r;

	if (!foreground)
		return -ENOMEM;
	foreground->watch = watch;
	foreground->terminal = isatty(STDOUT_FILENO);
	r = sd_event_add_time(event, &foreground->timer, CLOCK_MONOTONIC, UINT64_MAX, 0, on_timer,
			      foreground);
	if (r < 0) {
		free(foreground);
		return r;
	}
	sd_event_source_set_enabled(foreground->timer, SD_EVENT_OFF);
	watch_on_change(watch, on_change, foreground);
	*ret = foreground;
	return 0;
}

struct foreground *foreground_free(struct foreground *foreground)
{
	if (!foreground)
		return NULL;
	watch_on_change(foreground->watch, NULL, NULL);
	sd_event_source_disable_unref(foreground->timer);
	free(foreground);
	return NULL;
}
