/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table that a daemon started by hand shows: redrawn on a terminal, printed after each change
 * elsewhere.
 */
#pragma once

#include <systemd/sd-event.h>

#include "watch/watch.h"

struct foreground;

/* The caller owns *ret, and frees it before the watch. */
int foreground_new(struct foreground **ret, sd_event *event, struct watch *watch);
struct foreground *foreground_free(struct foreground *foreground);
