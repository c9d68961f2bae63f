/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver's own statistics by ioctl(2), as ethtool -S shows them. Any socket will do. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DRIVER_NAME 32

struct driver_statistics {
	char driver[DRIVER_NAME];
	unsigned count;
};

/* Who drives this link, and how many statistics it has. */
int driver_statistics_get(int fd, const char *link, struct driver_statistics *ret);

/* The position of the first of `names` (ended by NULL) among `count` statistics; *ret_name is
 * which. -ENOENT: none of them. */
int driver_statistics_find(int fd, const char *link, unsigned count, const char *const *names,
			   unsigned *ret_name);

/* The value at `position`. -EAGAIN: there are not `count` of them any more. */
int driver_statistics_read(int fd, const char *link, unsigned count, unsigned position,
			   uint64_t *ret);
