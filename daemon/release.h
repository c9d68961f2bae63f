/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mtuwatchd --release: takes every clamp off, without a service and without a bus.
 */
#pragma once

#include <stdio.h>

/* Each on a line of `out`. Goes on after an error, and returns the first. */
int release_all(FILE *out);
