/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers the probes of other mtuwatchd hosts, so that they can measure both directions. It can't
 * be used to reflect: see responder_message.h; and it never sends more than its budget.
 */
#pragma once

#include <systemd/sd-event.h>

#include "../core/facts.h"

struct responder;

/*
 * Listens on `port`, both families (one that this host has not is no error). `bits_per_sec` bounds
 * what it sends, 0 no limit. The caller owns *ret. Errors: bind(2)'s: -EADDRINUSE, -EACCES.
 * -EPERM without CAP_NET_RAW.
 */
int responder_new(struct responder **ret, sd_event *event, uint16_t port, uint64_t bits_per_sec);
struct responder *responder_free(struct responder *responder);

/* Since the start: probes answered, and those left unanswered for want of budget. */
uint64_t responder_answered(const struct responder *responder);
uint64_t responder_refused(const struct responder *responder);
