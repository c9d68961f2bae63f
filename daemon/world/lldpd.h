/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The neighbours that lldpd knows, asked over its socket without ever waiting for it. It says by
 * itself when something changed; an answer that does not come in time is no answer.
 */
#pragma once

#include <systemd/sd-event.h>

#include "neighbours_table.h"

#define LLDPD_SOCKET "/run/lldpd.socket" /* what lldpd is built for */

struct lldpd;

/* What it knows now; empty when it is gone. `cables` is the receiver's from then on. */
typedef void (*lldpd_handler_t)(struct cables *cables, void *userdata);

int lldpd_new(struct lldpd **ret, sd_event *event, const char *path, lldpd_handler_t handler,
	      void *userdata);
struct lldpd *lldpd_free(struct lldpd *lldpd);

/*
 * To be called now and then: connects where there is an lldpd, asks again where it has been silent.
 * -ENOENT: there is none; -EACCES: its socket is closed to this user; -ENOSYS: its library is not
 * there; -EOPNOTSUPP: support for it is not built in.
 */
int lldpd_look(struct lldpd *lldpd);
