/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files 0, 1 and 2 of a program: what is written to them gets there, or is known not to.
 */
#pragma once

/* First of all: none of the three becomes the number of something else. Writing to one that was
 * closed fails as it would have, with EBADF. */
void standard_files_open(void);

/* Before the end: 0, or why not all that was printed on stdout is where it should be. */
int standard_files_flush(void);
