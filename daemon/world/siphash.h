/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a short keyed hash that nobody without the key can
 * foretell. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY_SIZE 16U

uint64_t siphash(const uint8_t key[static SIPHASH_KEY_SIZE], const void *data, size_t length);
