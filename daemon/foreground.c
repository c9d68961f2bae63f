/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Draws the report's table: on a terminal every second, with what was last said on stderr below;
 * elsewhere when something changed. Knows nothing of what it means.
 */
#include "foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "face/report.h"

#define AFTER_CHANGE_USEC (300 * USEC_PER_MSEC)
#define REFRESH_USEC USEC_PER_SEC

#define SENTENCES_SHOWN 5
#define SENTENCE_SIZE 512

struct foreground {
	struct watch *watch;
	sd_event_source *timer;
	bool terminal;
	bool pending;
	bool drawn;
	struct report_told told;
	int stderr_before; /* while stderr leads here; negative: it does not */
	int said;	   /* what is written to it */
	sd_event_source *said_source;
	unsigned sentence_count; /* ever; the latest are kept, with their times */
	char sentences[SENTENCES_SHOWN][SENTENCE_SIZE];
};

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

static void sentences_draw(const struct foreground *foreground, unsigned width)
{
	unsigned end = foreground->sentence_count;

	if (end > 0)
		fputc('\n', stdout);
	for (unsigned i = end > SENTENCES_SHOWN ? end - SENTENCES_SHOWN : 0; i < end; i++)
		report_wrap(stdout, foreground->sentences[i % SENTENCES_SHOWN], 0, width);
}

static void terminal_draw(const struct foreground *foreground)
{
	struct report_style style = {
		.colour = getenv("NO_COLOR") == NULL,
		.width = terminal_width(),
	};

	fputs("\033[H\033[2J", stdout);
	report_table(watch_roster(foreground->watch), stdout, &style);
	sentences_draw(foreground, style.width);
	fputs("\nCtrl-C ends it.\n", stdout);
}

static void foreground_draw(struct foreground *foreground)
{
	struct report_style style = {.told = &foreground->told};

	if (foreground->terminal) {
		terminal_draw(foreground);
	} else {
		if (foreground->drawn)
			fputc('\n', stdout);
		report_table(watch_roster(foreground->watch), stdout, &style);
	}
	foreground->drawn = true;
	fflush(stdout);
}

/* --- stderr on the same terminal: the next drawing would wipe what is written to it --- */

static void sentence_keep(struct foreground *foreground, const char *sentence)
{
	char *text = foreground->sentences[foreground->sentence_count++ % SENTENCES_SHOWN];
	time_t now = time(NULL);
	struct tm local;
	size_t used = 0;

	if (localtime_r(&now, &local))
		used = strftime(text, SENTENCE_SIZE, "%T ", &local);
	snprintf(text + used, SENTENCE_SIZE - used, "%s", sentence);
}

static int on_said(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct foreground *foreground = userdata;
	char buffer[4096], *rest = buffer, *line;
	ssize_t length = read(fd, buffer, sizeof(buffer) - 1);

	if (length <= 0)
		return 0;
	buffer[length] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (line[0])
			sentence_keep(foreground, line);
	return 0;
}

/* Never blocks: who writes and who reads is the same thread. */
static int stderr_take(struct foreground *foreground, sd_event *event)
{
	int ends[2], r = 0;

	if (!foreground->terminal || !isatty(STDERR_FILENO))
		return 0;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	foreground->said = ends[0];
	foreground->stderr_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (foreground->stderr_before < 0 || dup2(ends[1], STDERR_FILENO) < 0)
		r = -errno;
	close(ends[1]);
	if (r < 0)
		return r;
	return sd_event_add_io(event, &foreground->said_source, foreground->said, EPOLLIN, on_said,
			       foreground);
}

static void stderr_give_back(struct foreground *foreground)
{
	sd_event_source_disable_unref(foreground->said_source);
	if (foreground->stderr_before >= 0) {
		dup2(foreground->stderr_before, STDERR_FILENO);
		close(foreground->stderr_before);
	}
	if (foreground->said >= 0)
		close(foreground->said);
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
	foreground->said = foreground->stderr_before = -1;
	r = sd_event_add_time(event, &foreground->timer, CLOCK_MONOTONIC, UINT64_MAX, 0, on_timer,
			      foreground);
	if (r >= 0)
		r = sd_event_source_set_enabled(foreground->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = stderr_take(foreground, event);
	if (r < 0) {
		foreground_free(foreground);
		return r;
	}
	watch_on_change(watch, on_change, foreground);
	*ret = foreground;
	return 0;
}

struct foreground *foreground_free(struct foreground *foreground)
{
	if (!foreground)
		return NULL;
	watch_on_change(foreground->watch, NULL, NULL);
	stderr_give_back(foreground);
	report_told_done(&foreground->told);
	sd_event_source_disable_unref(foreground->timer);
	free(foreground);
	return NULL;
}
