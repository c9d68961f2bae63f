/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What check.c (the rounds, and what comes when), check_flows.c (what flows say together) and
 * check_parts.c (the walk and the sample) share. The inside of check.h.
 */
#pragma once

#include "check.h"

/* Parts must not take each other's answers: each has a nonce and a sequence of its own. */
uint64_t check_random(struct check *check);
bool check_asks(const struct check *check, unsigned flow);
/* It gets through, if only with the control. */
bool flow_carries(const struct round *round);

bool evidence_is_silent(const struct check *check, const struct evidence *evidence);
/* It arrived, and the peer's answer of the same size did not come back. */
bool evidence_lost_return(const struct evidence *evidence);
void check_collect(struct check *check);
void check_collect_loss(struct check *check);

void check_walk_begin(struct check *check);
void check_sample_begin(struct check *check);
/* As check_step(), of these; the last step ends the check. */
uint64_t check_step_walk(struct check *check, struct turn *turn, uint64_t now_usec,
			 struct burst *ret);
uint64_t check_step_sample(struct check *check, struct turn *turn, uint64_t now_usec,
			   struct burst *ret);
