/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the connection share.
 */
#pragma once

#include "remote.h"

#define LONG_USEC (120 * USEC_PER_SEC) /* the daemon answers a check within 100 s */

/* One turn of the connection. */
int remote_turn(struct remote *remote);
/* 0, or why the reply is none, which is kept in words. */
int remote_judge(struct remote *remote, sd_bus_message *reply);
/* Whether it is worth another try: somebody can be asked for the password that the last call failed
 * for. Whether there is one who asks is not known before. */
bool remote_ask(struct remote *remote);
/* A call of org.freedesktop.DBus.Properties. */
int remote_properties_call(struct remote *remote, const char *path, const char *member,
			   sd_bus_message **ret);
