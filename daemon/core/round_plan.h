/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a round asks next, and what it has to wait for. The inside of round.h.
 */
#pragma once

#include "round.h"

/* How long an answer of this path takes at most, as far as known. */
uint64_t round_wait(const struct round *round);

/* Goes one by one: a flow has one half-open connection at most, and some peers limit their answers. */
bool round_is_serial(const struct round *round);

bool round_tried(const struct round *round, uint32_t size);
unsigned round_count(const struct round *round, uint32_t size, enum try_state state);

/* Plans a burst (and returns 0), ends the round (USEC_NEVER), or tells when to come again: now or
 * before means that it wants to look at the time and the tries once more. Nothing is waited for
 * when it is called. */
uint64_t round_plan(struct round *round, uint64_t now_usec);

/* The reports, held against what passes: sets reported, router, wrong_... of the evidence. */
void round_judge_reports(struct round *round);
const struct round_report *round_report_of(const struct round *round, uint32_t size);
