/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What path.c (when, and what is announced) and path_check.c (what a check is to find out, and what
 * it found) share. The inside of path.h.
 */
#pragma once

#include "path.h"

/* Rounds in a row that end undecided before that is said. */
#define UNDECIDED_MOST 8U

/* How many rounds in a row have to say so before it is announced. */
unsigned path_rounds_wanted(const struct path *path, const struct judgement *now);

/* Takes over what does not depend on the verdict: counters, loss, round-trip time. */
void path_learn(struct path *path, const struct check *check);

/* Bits: the flows that the next check asks. */
uint64_t path_flows_to_ask(const struct path *path, enum probe_kind kind, uint32_t full);
/* Keeps what the check says of its flows, and adds to it what is known of the others. */
void path_flows_learn(struct path *path, const struct check *check, struct check_result *result);
void path_flows_forget(struct path *path);
/* Some were never asked: the next check is not to wait for its interval. */
bool path_flows_pending(const struct path *path);

/* The verdict of the check, or of the trouble that forbids one. */
void path_decide(struct path *path, struct check_result *result, struct judgement *ret);
