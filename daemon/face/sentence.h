/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A text that is made while it is said, and goes with the block that holds it. Knows no words.
 */
#pragma once

#include <stdlib.h>

/* malloc'ed, the caller's; NULL out of memory. */
__attribute__((format(printf, 1, 2))) char *sentence(const char *format, ...);

static inline void string_free(char **text)
{
	free(*text);
}
#define _free_text_ __attribute__((cleanup(string_free)))
