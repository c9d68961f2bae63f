/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CAP_NET_ADMIN, and when to be without it: it is held only where something may be clamped.
 */
#pragma once

#include <stdbool.h>

/* Whether this process may change routes and links. */
bool privilege_have(void);

/* Gives it up for good, in the calling thread. -EPERM: a filter forbids it. */
int privilege_drop(void);

/* Where a filter forbids to give it up: starts this program anew without it. Returns only when that
 * cannot be done either. Call before anything is begun. */
void privilege_leave(void);
