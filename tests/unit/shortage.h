/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every call into a library or the kernel that can fail does so in its turn: once by itself, and once
 * with all that come after it. The linker leads them here, by the same list in meson.build; a program
 * includes this once.
 */
#pragma once

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <netlink/netlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>

static struct {
	bool armed;
	bool lasts;     /* so do all calls after it */
	unsigned turn;  /* of the one that fails, from 1 */
	unsigned calls;
	const char *failed;
} shortage;

static bool shortage_hits(const char *name, int error)
{
	if (!shortage.armed)
		return false;
	shortage.calls++;
	if (shortage.lasts ? shortage.calls < shortage.turn : shortage.calls != shortage.turn)
		return false;
	if (!shortage.failed)
		shortage.failed = name;
	errno = error;
	return true;
}

#define SHORT(type, name, parameters, arguments, error, nothing)                                   \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		if (shortage_hits(#name, error))                                                   \
			return nothing;                                                            \
		return __real_##name arguments;                                                    \
	}

/* --- memory --- */

SHORT(void *, malloc, (size_t size), (size), ENOMEM, NULL)
SHORT(void *, calloc, (size_t count, size_t size), (count, size), ENOMEM, NULL)
SHORT(void *, realloc, (void *memory, size_t size), (memory, size), ENOMEM, NULL)
SHORT(void *, reallocarray, (void *memory, size_t count, size_t size), (memory, count, size), ENOMEM,
      NULL)
SHORT(char *, strdup, (const char *text), (text), ENOMEM, NULL)
SHORT(int, vasprintf, (char **ret, const char *format, va_list arguments), (ret, format, arguments),
      ENOMEM, -1)
SHORT(FILE *, open_memstream, (char **ret, size_t *length), (ret, length), ENOMEM, NULL)

int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list arguments;
	int r;

	if (shortage_hits("asprintf", ENOMEM))
		return -1;
	va_start(arguments, format);
	r = __real_vasprintf(ret, format, arguments);
	va_end(arguments);
	return r;
}

/* --- json-c --- */

typedef struct json_object json;

SHORT(json *, json_object_new_object, (void), (), ENOMEM, NULL)
SHORT(json *, json_object_new_array, (void), (), ENOMEM, NULL)
SHORT(json *, json_object_new_string, (const char *text), (text), ENOMEM, NULL)
SHORT(json *, json_object_new_boolean, (json_bool value), (value), ENOMEM, NULL)
SHORT(json *, json_object_new_int, (int32_t value), (value), ENOMEM, NULL)
SHORT(json *, json_object_new_int64, (int64_t value), (value), ENOMEM, NULL)
SHORT(json *, json_object_new_uint64, (uint64_t value), (value), ENOMEM, NULL)
SHORT(int, json_object_object_add, (json * object, const char *key, json *value), (object, key, value),
      ENOMEM, -1)
SHORT(int, json_object_object_add_ex,
      (json * object, const char *const key, json *const value, const unsigned options),
      (object, key, value, options), ENOMEM, -1)
SHORT(int, json_object_array_add, (json * array, json *value), (array, value), ENOMEM, -1)
SHORT(int, json_object_set_string, (json * string, const char *text), (string, text), ENOMEM, 0)
SHORT(json *, json_tokener_parse, (const char *text), (text), ENOMEM, NULL)

/* --- the kernel --- */

SHORT(int, socket, (int family, int type, int protocol), (family, type, protocol), EMFILE, -1)
SHORT(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t length),
      (fd, level, name, value, length), ENOBUFS, -1)
SHORT(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *length),
      (fd, level, name, value, length), ENOBUFS, -1)
SHORT(int, bind, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length),
      ENOMEM, -1)
SHORT(int, connect, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length),
      ENOMEM, -1)
SHORT(int, getsockname, (int fd, struct sockaddr *ret, socklen_t *length), (fd, ret, length), ENOBUFS,
      -1)
SHORT(int, eventfd, (unsigned value, int flags), (value, flags), EMFILE, -1)
SHORT(FILE *, fopen64, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
SHORT(FILE *, fdopen, (int fd, const char *mode), (fd, mode), ENOMEM, NULL)
SHORT(DIR *, fdopendir, (int fd), (fd), ENOMEM, NULL)
SHORT(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
SHORT(int, fsync, (int fd), (fd), EIO, -1)
SHORT(ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count), ENOSPC, -1)
SHORT(int, renameat, (int from, const char *old, int to, const char *name), (from, old, to, name), EIO,
      -1)
SHORT(int, rename, (const char *old, const char *name), (old, name), EIO, -1)
SHORT(int, unlinkat, (int folder, const char *name, int flags), (folder, name, flags), EIO, -1)
SHORT(int, stat64, (const char *path, struct stat64 *ret), (path, ret), EMFILE, -1)
SHORT(int, fstat64, (int fd, struct stat64 *ret), (fd, ret), EIO, -1)
SHORT(int, fchmod, (int fd, mode_t mode), (fd, mode), EIO, -1)
SHORT(ssize_t, getrandom, (void *ret, size_t size, unsigned flags), (ret, size, flags), EIO, -1)

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list arguments;
	unsigned mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, unsigned);
	va_end(arguments);
	return shortage_hits("open", EMFILE) ? -1 : __real_open64(path, flags, mode);
}

int __real_openat64(int folder, const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...)
{
	va_list arguments;
	unsigned mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, unsigned);
	va_end(arguments);
	return shortage_hits("openat", EMFILE) ? -1 : __real_openat64(folder, path, flags, mode);
}

/* --- the loop, and netlink --- */

typedef sd_event_source source;

SHORT(int, sd_event_add_io,
      (sd_event * event, source **ret, int fd, uint32_t events, sd_event_io_handler_t handler,
       void *userdata),
      (event, ret, fd, events, handler, userdata), ENOMEM, -ENOMEM)
SHORT(int, sd_event_add_time,
      (sd_event * event, source **ret, clockid_t clock, uint64_t usec, uint64_t accuracy,
       sd_event_time_handler_t handler, void *userdata),
      (event, ret, clock, usec, accuracy, handler, userdata), ENOMEM, -ENOMEM)
SHORT(int, sd_event_add_time_relative,
      (sd_event * event, source **ret, clockid_t clock, uint64_t usec, uint64_t accuracy,
       sd_event_time_handler_t handler, void *userdata),
      (event, ret, clock, usec, accuracy, handler, userdata), ENOMEM, -ENOMEM)
SHORT(int, sd_event_add_defer,
      (sd_event * event, source **ret, sd_event_handler_t handler, void *userdata),
      (event, ret, handler, userdata), ENOMEM, -ENOMEM)
SHORT(int, sd_event_add_inotify,
      (sd_event * event, source **ret, const char *path, uint32_t mask,
       sd_event_inotify_handler_t handler, void *userdata),
      (event, ret, path, mask, handler, userdata), ENOMEM, -ENOMEM)
SHORT(int, sd_event_source_set_priority, (source * one, int64_t priority), (one, priority), ENOMEM,
      -ENOMEM)
SHORT(int, sd_event_source_set_enabled, (source * one, int enabled), (one, enabled), ENOMEM, -ENOMEM)
SHORT(struct nl_sock *, nl_socket_alloc, (void), (), ENOMEM, NULL)
SHORT(int, nl_connect, (struct nl_sock * netlink, int protocol), (netlink, protocol), ENOMEM, -NLE_NOMEM)
SHORT(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), ENOBUFS,
      -1)

/* --- in turn --- */

static unsigned shortage_descriptors(void)
{
	DIR *folder = __real_opendir("/proc/self/fd");
	unsigned count = 0;

	ck_assert_ptr_nonnull(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* An attempt says so when it is over and what came of it is looked at. */
static inline void shortage_over(void)
{
	shortage.armed = false;
}

/* `attempt` gives 0 where all is there and right, a negative errno where it is not: then nothing is
 * left behind. It may do with less, and then it is right as well. */
static unsigned shortage_each(int (*attempt)(void *about), void *about, bool lasts)
{
	unsigned before = shortage_descriptors(), turn = 0;
	int r;

	do {
		shortage.calls = 0;
		shortage.failed = NULL;
		shortage.turn = ++turn;
		shortage.lasts = lasts;
		shortage.armed = true;
		r = attempt(about);
		shortage.armed = false;
		ck_assert_msg(r <= 0, "turn %u, %s: %d", turn, shortage.failed, r);
		ck_assert_msg(shortage_descriptors() == before, "turn %u, %s: a descriptor is left open",
			      turn, shortage.failed);
	} while (shortage.failed);
	ck_assert_msg(r == 0, "without a failure: %s", strerror(-r));
	return turn - 1;
}

/* Returns how many calls there are. */
static inline unsigned shortage_in_turn(int (*attempt)(void *about), void *about)
{
	unsigned turns = shortage_each(attempt, about, false);

	ck_assert_int_eq(attempt(about), 0);
	ck_assert_uint_gt(turns, 0);
	return turns + shortage_each(attempt, about, true);
}
