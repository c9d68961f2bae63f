/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When something may be sent. Packets are booked one behind the other at the rate of the budget;
 * a short credit lets a burst leave together.
 */
#include "pace.h"

#include <string.h>

/* A burst may be this far ahead of the budget. */
#define CREDIT_USEC (100 * USEC_PER_MSEC)
/* With more than this booked no further check begins. */
#define ROOM_USEC (100 * USEC_PER_MSEC)
/* Checks begin no faster than this, but for as many as begin within the grain. */
#define BEGIN_USEC 40U
#define BEGIN_GRAIN_USEC (10 * USEC_PER_MSEC)
/* Rounds begin at multiples of this: one wakeup serves all that share it. */
#define SLOT_USEC (100 * USEC_PER_MSEC)

void pace_init(struct pace *pace, uint64_t bits_per_sec)
{
	memset(pace, 0, sizeof(*pace));
	pace->bits_per_sec = bits_per_sec;
	pace->stretch = 1000;
}

uint64_t pace_book(struct pace *pace, uint64_t now_usec, uint32_t bytes)
{
	uint64_t earliest = now_usec > CREDIT_USEC ? now_usec - CREDIT_USEC : 0;
	uint64_t at;

	if (pace->bits_per_sec == 0)
		return now_usec;
	at = pace->free_usec > earliest ? pace->free_usec : earliest;
	/* rounded up: at many Gbit/s a small packet would cost nothing */
	pace->free_usec = at + (bytes * 8ULL * USEC_PER_SEC + pace->bits_per_sec - 1) /
				       pace->bits_per_sec;
	return at > now_usec ? at : now_usec;
}

uint64_t pace_room(const struct pace *pace)
{
	return pace->free_usec > ROOM_USEC ? pace->free_usec - ROOM_USEC : 0;
}

uint64_t pace_admit(struct pace *pace, uint64_t now_usec)
{
	uint64_t at;

	if (pace->begin_usec < now_usec)
		pace->begin_usec = now_usec;
	/* together, and not each by a wakeup of its own */
	at = pace->begin_usec - now_usec;
	at -= at % BEGIN_GRAIN_USEC;
	pace->begin_usec += BEGIN_USEC;
	return now_usec + at;
}

bool pace_load(struct pace *pace, uint64_t load_bits_per_sec)
{
	uint64_t room = pace->bits_per_sec - pace->bits_per_sec / 5;
	uint64_t stretch = 1000;
	bool changed;

	if (room > 0 && load_bits_per_sec > room)
		stretch = load_bits_per_sec * 1000 / room + 1;
	if (stretch > UINT32_MAX)
		stretch = UINT32_MAX;
	changed = pace->stretch != stretch;
	pace->stretch = (uint32_t)stretch;
	return changed;
}

uint64_t pace_interval(const struct pace *pace, uint64_t interval_usec)
{
	return interval_usec * pace->stretch / 1000;
}

uint64_t pace_phase(uint64_t interval_usec, unsigned position, unsigned count)
{
	uint64_t place = count > 0 ? interval_usec * (position % count) / count : 0;

	return place - place % SLOT_USEC;
}

/* What follows up a change ends anywhere in the interval. The round after it is due about one
 * interval later at most: that is what Interval= promises. */
#define PAUSE_SHARE 8U

uint64_t pace_next(uint64_t now_usec, uint64_t interval_usec, uint64_t phase_usec)
{
	uint64_t earliest = now_usec + interval_usec / PAUSE_SHARE;
	uint64_t next = earliest - earliest % interval_usec + phase_usec % interval_usec;

	return next >= earliest ? next : next + interval_usec;
}
