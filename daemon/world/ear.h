/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A socket that is read from the loop, in batches, its losses with it. What came is looked at by
 * others.
 */
#pragma once

#include <systemd/sd-event.h>

#include "batch.h"

/* What all ears of a prober share. The handlers may close any ear, the one that is read too. */
struct hearing {
	sd_event *event;
	struct inbox *inbox;
	/* one packet, in the inbox at `position` */
	void (*packet)(unsigned position, const struct raw *raw, uint64_t now_usec, void *userdata);
	/* a few batches were handed on: all there was, or the others' turn has come */
	void (*batch_end)(uint64_t now_usec, void *userdata);
	void (*overflow)(uint64_t now_usec, void *userdata);
	void *userdata;
	uint64_t received;
};

struct ear {
	struct hearing *hearing;
	struct raw raw; /* fd -1: closed */
	sd_event_source *source;
	uint32_t drops; /* of the kernel's counter: what was looked at */
	bool flooded;   /* more comes than is read in one go: others take turns with it */
	bool filled;    /* since then the buffer was seen so full that packets may have found no room */
};

void ear_init(struct ear *ear, struct hearing *hearing);

/* Reads `raw`, which it owns from here on, also when it fails: by ear_on_io() with the ear, or a
 * handler that calls ear_drain() too. */
int ear_open(struct ear *ear, const struct raw *raw, sd_event_io_handler_t on_io, void *userdata);
int ear_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata);

/* May be opened again. In the ear's own handler the source lives until that returns: memory that
 * shall end with the ear is freed by the source's destroy callback. */
void ear_close(struct ear *ear);

/* Reads a few batches. */
void ear_drain(struct ear *ear);

/* True when the kernel dropped packets and it was not told. */
bool ear_overflowed(struct ear *ear);

uint64_t now_monotonic_usec(void);
