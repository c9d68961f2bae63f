/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every test of the core ends with, and dice that fall the same way every time. */
#pragma once

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

/* splitmix64 */
static inline uint64_t dice_roll(uint64_t *dice)
{
	uint64_t x = *dice += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static inline int tap_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
