/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes one text out of a format. Knows no words.
 */
#include "sentence.h"

#include <stdarg.h>
#include <stdio.h>

char *sentence(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}
