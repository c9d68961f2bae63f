/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What links were before they were clamped, on a file that outlives a crash: written and synced
 * before anything is changed, removed and synced when all is as it was.
 */
#pragma once

#include <stddef.h>

#include "../core/stack.h"

/* The service's runtime directory. */
const char *clamp_record_folder(void);

/* Bytes that a record can have. */
#define CLAMP_RECORD_SIZE 8192

/* Writes the record of the stack's first link into `folder`. */
int clamp_record_write(const char *folder, const struct stack *stack);
int clamp_record_remove(const char *folder, int index);

/* Calls `handler` for each record in `folder` that is of this network namespace. Returns
 * how many of those are none; they are left alone. -ENOENT: no folder. */
typedef int (*clamp_record_handler_t)(const struct stack *stack, void *userdata);
int clamp_records_read(const char *folder, clamp_record_handler_t handler, void *userdata);

/* -EBADMSG: it is no record of ours. Exposed for tests. */
int clamp_record_parse(const char *text, size_t length, struct stack *ret);
