/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text that others have made: what in it can be shown. The bus refuses whole messages that are not
 * UTF-8, and a terminal obeys what is not text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that `text` begins with; 0: it is none (RFC 3629 section 4). `length` is
 * at least 1. */
size_t text_character(const uint8_t *text, size_t length, uint32_t *ret);

/* Nothing that steers, hides or turns around, and none of the values that Unicode says are no
 * characters: the bus refuses those as well. */
bool text_is_shown(uint32_t character);

/* Puts a question mark in the place of each byte that is not shown; `kept` is left, '\0': none. */
void text_clean(char *text, char kept);
