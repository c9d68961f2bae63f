/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What check.c (the rounds, and what comes when) and check_parts.c (the walk and the sample) share. The
 * inside of check.h.
 */
#pragma once

#include "check.h"

/* Parts must not take each other's answers: each has a nonce and a sequence of its own. */
uint64_t check_random(struct check *check);
bool check_asks(const struct check *check, unsigned flow);
/* It gets through, if only with the control. */
bool flow_carries(const struct round *round);

void check_walk_begin(struct check *check);
void check_sample_begin(struct check *check);
/* As check_step(), of these; the last step ends the check. */
uint64_t check_step_walk(struct check *check, struct turn *turn, uint64_t now_usec,
			 struct burst *ret);
uint64_t check_step_sample(struct check *check, struct turn *turn, uint64_t now_usec,
			   struct burst *ret);
