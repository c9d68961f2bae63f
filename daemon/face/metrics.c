/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When the metrics are written, and how the file becomes whole at once: beside the old one, then
 * in its place. With many peers the text is made a piece at a time, while nothing else is to be
 * done, and seldom enough that it takes a twentieth of the time at most.
 */
#include "metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "metrics_text.h"

#define PEERS_AT_ONCE 128
#define GAP_LEAST_USEC USEC_PER_SEC
#define GAP_PER_COST 20

struct metrics {
	const struct roster *roster;
	struct journal *journal;
	sd_event_source *timer;
	sd_event_source *writer; /* on while a file is being written */
	char *path, *beside;
	uint64_t interval_usec;
	uint64_t begun_usec, ended_usec; /* CLOCK_MONOTONIC; 0 never */
	uint64_t cost_usec;		 /* of the last file */
	bool dirty;			 /* since the last file was begun */
	FILE *out;
	struct metrics_place place;
	bool written; /* the file is ours */
	int said;     /* the last complaint */
};

static uint64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* When the next file is due. */
static void metrics_arm(struct metrics *metrics)
{
	uint64_t gap = GAP_PER_COST * metrics->cost_usec;
	uint64_t at = metrics->begun_usec + metrics->interval_usec;

	if (metrics->out)
		return;
	if (gap < GAP_LEAST_USEC)
		gap = GAP_LEAST_USEC;
	if (metrics->dirty || at < metrics->ended_usec + gap)
		at = metrics->ended_usec ? metrics->ended_usec + gap : 0;
	sd_event_source_set_time(metrics->timer, at);
	sd_event_source_set_enabled(metrics->timer, SD_EVENT_ONESHOT);
}

static void metrics_end(struct metrics *metrics, int error)
{
	if (metrics->out)
		fclose(metrics->out);
	metrics->out = NULL;
	sd_event_source_set_enabled(metrics->writer, SD_EVENT_OFF);
	if (error < 0)
		unlink(metrics->beside);
	if (error < 0 && error != metrics->said)
		journal_plain(metrics->journal, LOG_WARNING, "MetricsFile=%s cannot be written: %s",
			      metrics->path, strerror(-error));
	metrics->said = error < 0 ? error : 0;
	metrics->ended_usec = now_usec();
	metrics_arm(metrics);
}

/* What an earlier one has left, or somebody put there for us to write through, is not used. */
static int beside_open(struct metrics *metrics)
{
	int fd;

	if (unlink(metrics->beside) < 0 && errno != ENOENT)
		return -errno;
	fd = open(metrics->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	/* for everybody, whatever the umask says: who collects it is another user */
	if (fchmod(fd, 0644) < 0 || !(metrics->out = fdopen(fd, "w"))) {
		int error = -errno;

		close(fd);
		return error;
	}
	return 0;
}

static int beside_finish(struct metrics *metrics)
{
	FILE *out = metrics->out;
	bool failed = ferror(out);

	metrics->out = NULL;
	if (fclose(out) != 0 || failed)
		return errno ? -errno : -EIO;
	if (rename(metrics->beside, metrics->path) < 0)
		return -errno;
	metrics->written = true;
	return 0;
}

static int on_write(sd_event_source *source, void *userdata)
{
	struct metrics *metrics = userdata;
	uint64_t before = now_usec();
	int error;
	bool whole;

	errno = 0;
	whole = metrics_write(metrics->roster, &metrics->place, PEERS_AT_ONCE, metrics->out);
	error = errno ? -errno : -EIO;
	metrics->cost_usec += now_usec() - before;
	errno = 0;
	if (ferror(metrics->out))
		metrics_end(metrics, error);
	else if (whole)
		metrics_end(metrics, beside_finish(metrics));
	return 0;
}

static int on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct metrics *metrics = userdata;
	int r;

	metrics->begun_usec = now_usec();
	metrics->dirty = false;
	metrics->cost_usec = 0;
	metrics->place = (struct metrics_place){0};
	r = beside_open(metrics);
	if (r < 0)
		metrics_end(metrics, r);
	else
		sd_event_source_set_enabled(metrics->writer, SD_EVENT_ON);
	return 0;
}

void metrics_changed(struct metrics *metrics)
{
	if (!metrics || metrics->dirty)
		return;
	metrics->dirty = true;
	metrics_arm(metrics);
}

/* "/folder/.name.new": no collector takes a hidden file, or one that ends otherwise, for metrics.
 */
static int metrics_name(struct metrics *metrics, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash ? (size_t)(slash - path) + 1 : 0;

	metrics->path = strdup(path);
	if (!metrics->path ||
	    asprintf(&metrics->beside, "%.*s.%s.new", (int)folder, path, path + folder) < 0)
		return -ENOMEM;
	return 0;
}

static int metrics_open(struct metrics *metrics, sd_event *event)
{
	int r = sd_event_add_time(event, &metrics->timer, CLOCK_MONOTONIC, 0, 1, on_due, metrics);

	if (r >= 0)
		r = sd_event_add_defer(event, &metrics->writer, on_write, metrics);
	if (r >= 0)
		r = sd_event_source_set_priority(metrics->writer, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_source_set_enabled(metrics->writer, SD_EVENT_OFF);
	return r;
}

int metrics_new(struct metrics **ret, sd_event *event, const struct roster *roster,
		struct journal *journal, const struct metrics_options *options)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	int r;

	if (!metrics)
		return -ENOMEM;
	metrics->roster = roster;
	metrics->journal = journal;
	metrics->interval_usec = options->interval_usec;
	r = metrics_name(metrics, options->path);
	if (r >= 0)
		r = metrics_open(metrics, event);
	if (r < 0) {
		metrics_free(metrics);
		return r;
	}
	*ret = metrics;
	return 0;
}

bool metrics_is(const struct metrics *metrics, const struct metrics_options *options)
{
	return options->path && strcmp(metrics->path, options->path) == 0 &&
	       metrics->interval_usec == options->interval_usec;
}

struct metrics *metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return NULL;
	sd_event_source_disable_unref(metrics->timer);
	sd_event_source_disable_unref(metrics->writer);
	if (metrics->out)
		fclose(metrics->out);
	if (metrics->out)
		unlink(metrics->beside);
	/* not what others have put there while we never could */
	if (metrics->written)
		unlink(metrics->path);
	free(metrics->path);
	free(metrics->beside);
	free(metrics);
	return NULL;
}
