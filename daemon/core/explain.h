/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which finding about a link explains which fault of a path: one fault is one alert. Decides; who
 * says it is watch's matter.
 */
#pragma once

#include "roster.h"

/* The finding about some link below the path that predicts its announced fault to the byte. False:
 * there is none. */
bool explain_fault(const struct roster *roster, const struct path *path, struct finding *ret);

/* A finding about a link, for as long as it stands. */
struct standing {
	struct finding finding;
	int link;
	uint64_t since_usec; /* CLOCK_MONOTONIC */
	uint64_t not_before_usec; /* it is not told alone before */
	bool told;
	bool alarmed; /* it was told by itself, as a warning or worse */
	uint8_t due;  /* enum telling, while it is being told; else 0 */
};

enum telling {
	TELL_LATER, /* a path may be about to say it */
	TELL_ALONE,
	TELL_ASIDE, /* a path's alert was there before: no second one */
	TELL_NOT,   /* a path's alert carries it */
};

/* After tower_count_paths(). *ret_usec: when to ask again at the latest; for TELL_LATER. */
enum telling explain_telling(const struct roster *roster, const struct standing *standing,
			     uint64_t now_usec, uint64_t *ret_usec);

/* Before explain_concerns() is asked of one path after the other. */
void explain_mark(const struct roster *roster, const struct standing *standing);
/* Whether the path might say soon whether it suffers from that: then it is worth a round at once.
 */
bool explain_concerns(const struct roster *roster, const struct standing *standing,
		      const struct path *path);
