/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much room a text takes on a screen, by the locale's LC_CTYPE: a letter may be several bytes,
 * and take two columns or none.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Columns that the first `length` bytes take, all there are at most. */
unsigned columns_of(const char *text, size_t length);
/* Bytes of it that fit into so many columns, no letter cut apart. */
size_t columns_fit(const char *text, unsigned columns);
/* Prints it, and blanks up to so many columns. */
void columns_print(FILE *out, const char *text, unsigned columns);
