/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Neither decodes nor judges. */
#include "ear.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define BATCHES_A_WAKEUP 32 /* then others get their turn; the loop wakes us again */
/* before anything more is sent: an answer that waits looks like a slow path */
#define FIRST (SD_EVENT_PRIORITY_NORMAL - 1)
/* in a flood, which otherwise would leave nobody else a turn */
#define LIKE_OTHERS SD_EVENT_PRIORITY_NORMAL

uint64_t now_monotonic_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

void ear_init(struct ear *ear, struct hearing *hearing)
{
	*ear = (struct ear){.hearing = hearing, .raw = {.fd = -1}};
}

int ear_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	ear_drain(userdata);
	return 0;
}

int ear_open(struct ear *ear, const struct raw *raw, sd_event_io_handler_t on_io, void *userdata)
{
	int r;

	ear->raw = *raw;
	ear->drops = 0;
	ear->flooded = false;
	r = sd_event_add_io(ear->hearing->event, &ear->source, raw->fd, EPOLLIN, on_io, userdata);
	if (r >= 0)
		r = sd_event_source_set_priority(ear->source, FIRST);
	if (r < 0)
		ear_close(ear);
	return r;
}

/* Nothing of the ear is touched after its source: its memory may go with that. */
void ear_close(struct ear *ear)
{
	sd_event_source *source = ear->source;
	int fd = ear->raw.fd;

	ear->source = NULL;
	ear->raw.fd = -1;
	sd_event_source_disable_unref(source);
	if (fd >= 0)
		close(fd);
}

/* A full buffer is read a batch at a time, so it is still well filled when it is looked at. */
static void ear_look(struct ear *ear, uint32_t *ret_drops)
{
	struct raw_fill fill;

	*ret_drops = ear->drops;
	if (!raw_fill(&ear->raw, &fill))
		return;
	*ret_drops = fill.drops;
	ear->filled |= fill.waiting >= fill.room / 4;
}

bool ear_overflowed(struct ear *ear)
{
	uint32_t drops;
	bool overflowed;

	ear_look(ear, &drops);
	overflowed = drops != ear->drops && ear->filled;
	ear->drops = drops;
	ear->filled = false;
	return overflowed;
}

/* Reads one batch and hands it on; false when nothing is left. The socket is copied: a handler may
 * close the ear. *ret_usec is set when there was something to hear. */
static bool ear_receive(struct ear *ear, uint64_t *ret_usec)
{
	struct hearing *hearing = ear->hearing;
	const struct raw raw = ear->raw;
	uint32_t drops;
	bool overflowed;
	uint64_t now_usec;
	int count;

	ear_look(ear, &drops);
	count = inbox_receive(hearing->inbox, &raw);
	ear->filled |= count == BATCH;
	overflowed = ear_overflowed(ear);
	if (count <= 0 && !overflowed)
		return false;
	now_usec = now_monotonic_usec();
	*ret_usec = now_usec;
	if (overflowed)
		hearing->overflow(now_usec, hearing->userdata);
	for (int i = 0; i < count; i++)
		hearing->packet((unsigned)i, &raw, now_usec, hearing->userdata);
	if (count > 0)
		hearing->received += (unsigned)count;
	return count == BATCH;
}

static void ear_give_way(struct ear *ear, bool flooded)
{
	if (ear->raw.fd < 0 || ear->flooded == flooded)
		return;
	ear->flooded = flooded;
	sd_event_source_set_priority(ear->source, flooded ? LIKE_OTHERS : FIRST);
}

void ear_drain(struct ear *ear)
{
	struct hearing *hearing = ear->hearing;
	uint64_t heard_usec = 0;
	unsigned batches = 0;

	while (batches < BATCHES_A_WAKEUP && ear->raw.fd >= 0 && ear_receive(ear, &heard_usec))
		batches++;
	ear_give_way(ear, batches == BATCHES_A_WAKEUP);
	if (heard_usec != 0)
		hearing->batch_end(heard_usec, hearing->userdata);
}
