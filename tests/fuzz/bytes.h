/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fuzzer's bytes, taken one after the other; zeros when there are none left. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t bytes_u8(struct bytes *bytes)
{
	if (bytes->left == 0)
		return 0;
	bytes->left--;
	return *bytes->at++;
}

static inline uint16_t bytes_u16(struct bytes *bytes)
{
	uint16_t high = bytes_u8(bytes);

	return (uint16_t)(high << 8 | bytes_u8(bytes));
}

static inline void bytes_take(struct bytes *bytes, void *ret, size_t length)
{
	size_t there = length < bytes->left ? length : bytes->left;

	memset(ret, 0, length);
	if (there > 0)
		memcpy(ret, bytes->at, there);
	bytes->at += there;
	bytes->left -= there;
}
