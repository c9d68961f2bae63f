/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Draws the report's table: on a terminal every second, with what was last said on stderr below;
 * elsewhere when something changed. Knows nothing of what it means.
 */
#include "foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#define REPORT_LEAST 6 /* lines, however low the screen */
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

static void terminal_size(unsigned *width, unsigned *height)
{
	struct winsize size = {};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){};
	*width = size.ws_col > 0 ? size.ws_col : 80;
	*height = size.ws_row; /* 0: nobody knows */
}

static void sentences_draw(const struct foreground *foreground, FILE *out, unsigned most,
			   unsigned width)
{
	unsigned end = foreground->sentence_count;

	if (end > 0)
		fputc('\n', out);
	for (unsigned i = end > most ? end - most : 0; i < end; i++)
		report_wrap(out, foreground->sentences[i % SENTENCES_SHOWN], 0, width);
}

static unsigned lines_in(const char *text)
{
	unsigned count = 0;

	for (; (text = strchr(text, '\n')); text++)
		count++;
	return count;
}

/* As many lines of it as there is room for: what is more would scroll the beginning away. */
static void report_fit(const char *report, unsigned room)
{
	unsigned all = lines_in(report), shown = 0;
	const char *end = report;

	if (all <= room) {
		fputs(report, stdout);
		return;
	}
	for (; shown + 1 < room; shown++)
		end = strchr(end, '\n') + 1;
	fwrite(report, 1, (size_t)(end - report), stdout);
	printf("(%u more lines: mtuwatchctl, or a higher window)\n", all - shown);
}

/* NULL out of memory. */
static char *report_drawn(const struct foreground *foreground, const struct report_style *style)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	report_table(watch_roster(foreground->watch), out, style);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* The latest `most` sentences, and how it ends. NULL out of memory. */
static char *sentences_drawn(const struct foreground *foreground, unsigned most, unsigned width)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	sentences_draw(foreground, out, most, width);
	fputs("\nCtrl-C ends it.\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* What is wrong, and what to do about it, has room before what was said of it earlier. */
static void terminal_draw(const struct foreground *foreground)
{
	struct report_style style = {.colour = getenv("NO_COLOR") == NULL};
	unsigned height = 0, most = SENTENCES_SHOWN, room = UINT_MAX, taken;
	char *report, *below;

	terminal_size(&style.width, &height);
	report = report_drawn(foreground, &style);
	below = sentences_drawn(foreground, most, style.width);
	while (height > 0 && report && below && most > 1 &&
	       lines_in(report) + lines_in(below) >= height) {
		free(below);
		below = sentences_drawn(foreground, --most, style.width);
	}
	if (report && below) {
		taken = lines_in(below) + 1; /* the cursor stands on one */
		if (height > 0)
			room = height > taken + REPORT_LEAST ? height - taken : REPORT_LEAST;
		fputs("\033[H\033[2J", stdout);
		report_fit(report, room);
		fputs(below, stdout);
	}
	free(report);
	free(below);
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
