/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of readings, and whether too long frames are found in them. */
#include <string.h>

#include "../../daemon/core/counters.h"
#include "tap.h"

#define SURE COUNTER_OF_DRIVER
#define MOST 8

/* One reading: seconds after the one before, then by how much each number went up. */
struct step {
	int seconds;
	int64_t packets, value, overruns;
	uint32_t found; /* afterwards, a minute; 0 nothing */
};

struct row {
	const char *what;
	unsigned counter;
	uint64_t start;
	struct step steps[MOST];
};

/* clang-format off */
static const struct row rows[] = {
	{"quiet", SURE, 0, {{1, 0, 0, 0, 0}, {30, 100, 0, 0, 0}, {30, 100, 0, 0, 0}}},
	{"old errors", SURE, 99999, {{1, 0, 0, 0, 0}, {30, 100, 0, 0, 0}, {30, 100, 0, 0, 0}}},
	{"one rise", SURE, 0, {{1, 0, 0, 0, 0}, {30, 100, 5, 0, 0}, {10, 100, 0, 0, 0}, {30, 100, 5, 0, 0}, {30, 9, 0, 0, 0}}},
	{"two in a row", SURE, 7, {{1, 0, 0, 0, 0}, {30, 100, 5, 0, 0}, {10, 100, 5, 0, 30}}},
	{"nothing else comes in", SURE, 0, {{1, 0, 0, 0, 0}, {30, 0, 5, 0, 0}, {10, 0, 5, 0, 0}, {10, 0, 5, 0, 0}}},
	{"slow, but steady", SURE, 0, {{1, 0, 0, 0, 0}, {30, 1, 1, 0, 0}, {30, 1, 1, 0, 2}}},
	{"less than one a minute", SURE, 0, {{1, 0, 0, 0, 0}, {300, 1, 1, 0, 0}, {300, 1, 1, 0, 1}}},
	{"over after quiet", SURE, 0, {{1, 0, 0, 0, 0}, {30, 9, 6, 0, 0}, {10, 9, 6, 0, 36}, {200, 9, 0, 0, 36}, {100, 9, 0, 0, 0}}},
	{"a single one keeps it standing", SURE, 0, {{1, 0, 0, 0, 0}, {30, 9, 6, 0, 0}, {10, 9, 6, 0, 36}, {200, 9, 0, 0, 36}, {50, 9, 20, 0, 36}, {200, 9, 0, 0, 36}, {100, 9, 0, 0, 0}}},
	{"about the same is no news", SURE, 0, {{1, 0, 0, 0, 0}, {30, 9, 60, 0, 0}, {10, 9, 60, 0, 360}, {10, 9, 50, 0, 360}, {10, 9, 119, 0, 360}}},
	{"ten times as much is", SURE, 0, {{1, 0, 0, 0, 0}, {30, 9, 60, 0, 0}, {10, 9, 60, 0, 360}, {10, 9, 600, 0, 3600}, {10, 9, 5, 0, 30}}},
	{"reset", SURE, 1000, {{1, 0, 0, 0, 0}, {30, 9, -1000, 0, 0}, {10, 9, 5, 0, 0}, {10, 9, 5, 0, 30}}},
	{"reset in between", SURE, 0, {{1, 0, 0, 0, 0}, {30, 9, 5, 0, 0}, {10, 9, -5, 0, 0}, {10, 9, 5, 0, 0}}},
	{"32 bits are full", SURE, UINT32_MAX, {{1, 0, 0, 0, 0}, {10, 9, -(int64_t)UINT32_MAX + 4, 0, 0}, {10, 9, 5, 0, 0}, {10, 9, 5, 0, 30}}},
	{"64 bits are full", SURE, UINT64_MAX - 2, {{1, 0, 0, 0, 0}, {10, 9, 6, 0, 0}, {10, 9, 5, 0, 0}, {10, 9, 5, 0, 30}}},
	{"more than there is", SURE, 0, {{1, 0, 0, 0, 0}, {10, 9, 5, 0, 0}, {10, 9, INT64_MAX, 0, UINT32_MAX}}},
	{"more a minute than a number holds", SURE, 0, {{1, 0, 0, 0, 0}, {1, 9, 5, 0, 0}, {1, 9, 5000000000, 0, UINT32_MAX}}},
	{"the clock stood still", SURE, 0, {{1, 0, 0, 0, 0}, {0, 9, 5, 0, 0}, {0, 9, 5, 0, 0}, {10, 9, 0, 0, 0}}},
	{"wrong lengths", COUNTER_LENGTH_ERRORS, 0, {{1, 0, 0, 0, 0}, {10, 9, 5, 0, 0}, {10, 9, 5, 0, 30}}},
	{"too large for a buffer", COUNTER_OVER_ERRORS, 0, {{1, 0, 0, 0, 0}, {10, 9, 5, 0, 0}, {10, 9, 5, 0, 30}}},
	{"no buffer", COUNTER_OVER_ERRORS, 0, {{1, 0, 0, 0, 0}, {10, 9, 5, 5, 0}, {10, 9, 5, 5, 0}, {10, 9, 5, 1, 0}}},
	{"a driver's counter beside an overrun", SURE, 0, {{1, 0, 0, 0, 0}, {10, 9, 5, 5, 0}, {10, 9, 5, 5, 30}}},
};
/* clang-format on */

START_TEST(table)
{
	const struct row *row = &rows[_i];
	struct counters counters = {0};
	struct counters_reading now = {.usec = USEC_PER_SEC, .count = 1};

	now.list[0].counter = (uint8_t)row->counter;
	now.list[0].value = row->start;
	for (unsigned i = 0; i < MOST; i++) {
		const struct step *step = &row->steps[i];
		struct inbound before = counters.found;
		bool changed;

		if (i > 0 && step->packets == 0 && step->value == 0 && step->seconds == 0)
			break;
		now.usec += (uint64_t)step->seconds * USEC_PER_SEC;
		now.packets += (uint64_t)step->packets;
		now.overruns += (uint64_t)step->overruns;
		now.list[0].value += (uint64_t)step->value;
		changed = counters_on_reading(&counters, &now);
		ck_assert_msg(counters.found.per_minute == step->found, "%s: step %u: %u", row->what,
			      i, counters.found.per_minute);
		ck_assert_msg(changed == (memcmp(&before, &counters.found, sizeof(before)) != 0),
			      "%s: step %u", row->what, i);
		if (step->found) {
			ck_assert_uint_eq(counters.found.counter, row->counter);
			ck_assert_int_eq(counters.found.sure, row->counter == SURE);
		}
	}
}
END_TEST

/* Readings of two counters: the one that rises is named, and another source begins anew. */
START_TEST(two_counters)
{
	struct counters counters = {0};
	struct counters_reading now = {
		.usec = 1,
		.count = 2,
		.list = {{COUNTER_LENGTH_ERRORS, 0}, {COUNTER_OVER_ERRORS, 0}},
	};

	ck_assert_uint_eq(counters_period(&counters), COUNTERS_PERIOD_USEC);
	ck_assert(!counters_on_reading(&counters, &now));
	for (unsigned i = 0; i < 2; i++) {
		now.usec += 10 * USEC_PER_SEC;
		now.packets++;
		now.list[1].value += 2;
		ck_assert_int_eq(counters_on_reading(&counters, &now), i == 1);
		ck_assert_uint_eq(counters_period(&counters), COUNTERS_PERIOD_CLOSE_USEC);
	}
	ck_assert_uint_eq(counters.found.counter, COUNTER_OVER_ERRORS);
	now.count = 1;
	now.list[0].counter = SURE;
	now.list[0].value = 1000000;
	now.usec += 10 * USEC_PER_SEC;
	now.packets++;
	ck_assert(!counters_on_reading(&counters, &now));
	/* as many, but other ones */
	now.list[0].counter = COUNTER_LENGTH_ERRORS;
	now.list[0].value += 1000;
	now.usec += USEC_PER_SEC;
	now.packets++;
	ck_assert(!counters_on_reading(&counters, &now));
	ck_assert_uint_eq(counters_period(&counters), COUNTERS_PERIOD_USEC);
	now.usec += COUNTERS_QUIET_USEC;
	now.packets++;
	ck_assert(counters_on_reading(&counters, &now));
	ck_assert_uint_eq(counters.found.per_minute, 0);
	ck_assert_uint_eq(counters_period(&counters), COUNTERS_PERIOD_USEC);
}
END_TEST

/* No time at all between two readings: what rose is taken for a minute's. */
START_TEST(one_after_the_other)
{
	struct counters counters = {0};
	struct counters_reading now = {.usec = 1, .count = 1, .list = {{SURE, 0}}};

	for (unsigned i = 0; i < 3; i++) {
		now.usec += 100;
		now.packets++;
		now.list[0].value += 7;
		counters_on_reading(&counters, &now);
	}
	ck_assert_uint_eq(counters.found.per_minute, 7);
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(counter_name(COUNTER_LENGTH_ERRORS), "rx_length_errors");
	ck_assert_str_eq(counter_name(COUNTER_OVER_ERRORS), "rx_over_errors");
	ck_assert_str_eq(counter_name(counters_known()), "");
	ck_assert(!counter_is_of(COUNTER_LENGTH_ERRORS, "mlx5_core"));
	ck_assert(!counter_is_of(counters_known(), "mlx5_core"));
	ck_assert(counter_is_of(COUNTER_OF_DRIVER, "mlx5_core"));
	ck_assert(!counter_is_sure(counters_known()));
	ck_assert(!counter_counts_jumbo(counters_known()));
	ck_assert(!counter_counts_jumbo(COUNTER_LENGTH_ERRORS));
	for (unsigned i = COUNTER_OF_DRIVER; i < counters_known(); i++) {
		ck_assert_uint_le(i, UINT8_MAX);
		ck_assert_str_ne(counter_name(i), "");
		/* what counts wanted frames too is not sure of anything */
		ck_assert(!(counter_is_sure(i) && counter_counts_jumbo(i)));
		ck_assert(!counter_is_of(i, "virtio_net"));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("counters");
	TCase *tcase = tcase_create("counters");

	tcase_add_loop_test(tcase, table, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(tcase, two_counters);
	tcase_add_test(tcase, one_after_the_other);
	tcase_add_test(tcase, names);
	suite_add_tcase(suite, tcase);
	return tap_run(suite);
}
