/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Things to do, as JSON: {"Text", "File", "Lines": [], "Commands": []}; and the lines that make an
 * MTU last, for who sets a link up. Does nothing of it.
 */
#pragma once

#include "layers.h"

/* A new action, without lines and commands. NULL: out of memory. */
struct json_object *action_new(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Adds to "Lines" or "Commands". -ENOMEM. */
int action_add(struct json_object *action, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Gives this device this MTU for good. NULL: out of memory. */
struct json_object *remedy_device(const struct device *device, uint32_t mtu);

/* What a device needs to have so that packets of `mtu` leave by the path's link. */
uint32_t remedy_mtu(const struct device *device, uint32_t mtu);
