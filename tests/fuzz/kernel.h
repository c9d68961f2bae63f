/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A kernel that says what the fuzzer says: netlink's datagrams and ethtool's ioctls. The bytes are
 * not the datagrams themselves, which a single wrong length would end, but how to build them.
 */
#pragma once

#include "bytes.h"

/* From now on these are what it says; then it has nothing to say. */
void kernel_begin(const uint8_t *data, size_t size);
bool kernel_is_done(void);
struct bytes *kernel_bytes(void); /* for who chooses what to ask by them */
