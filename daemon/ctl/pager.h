/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Long output on a terminal goes through a pager, as with systemd's tools.
 */
#pragma once

#include <sys/types.h>

/* stdout leads to it from now on. 0: there is none, and nothing changed. */
pid_t pager_open(void);
/* Waits until it has been left. */
void pager_close(pid_t pager);
