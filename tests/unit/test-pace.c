/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The budget holds over every window, rounds are spread, and each keeps its place. */
#include "../../daemon/core/pace.h"
#include "tap.h"

#define CREDIT_USEC (100 * USEC_PER_MSEC)
#define BOOKINGS 3000

struct booking {
	uint64_t at_usec;
	uint32_t bytes;
};

/* Bookings as a busy daemon makes them: bursts at once, then pauses. */
static void book_many(uint64_t bits_per_sec, uint64_t dice, struct booking *ret)
{
	struct pace pace;
	uint64_t now = 1000 * USEC_PER_SEC, last = 0;

	pace_init(&pace, bits_per_sec);
	for (unsigned i = 0; i < BOOKINGS; i++) {
		uint32_t bytes = 68 + dice_roll(&dice) % (dice_roll(&dice) % 2 ? 100 : 65468);

		if (dice_roll(&dice) % 50 == 0)
			now += dice_roll(&dice) % (3 * USEC_PER_SEC);
		ret[i].bytes = bytes;
		ret[i].at_usec = pace_book(&pace, now, bytes);
		ck_assert_uint_ge(ret[i].at_usec, now);
		ck_assert_uint_ge(ret[i].at_usec, last);
		last = ret[i].at_usec;
	}
}

static const uint64_t budgets[] = {64000, 1000000, 10000000, 123456789, 1000000000, 40000000000};

/* What leaves between any two bookings fits the time between them, the credit, and the last burst. */
START_TEST(budget_holds_over_every_window)
{
	static struct booking booked[BOOKINGS];
	uint64_t rate = budgets[_i];

	book_many(rate, 7 + (unsigned)_i, booked);
	for (unsigned first = 0; first < BOOKINGS; first++) {
		uint64_t bits = 0;

		for (unsigned last = first; last < BOOKINGS; last++) {
			uint64_t usec = booked[last].at_usec - booked[first].at_usec + CREDIT_USEC;

			/* 2^64 / 40 Gbit/s is seven minutes in microseconds */
			if (bits / 8 > 1 + (uint64_t)((double)rate * (double)usec / 8e6))
				ck_abort_msg("%lu bit/s: %lu bits in %lu usec (%u to %u)", rate,
					     bits, usec, first, last);
			bits += booked[last].bytes * 8ULL;
		}
	}
}
END_TEST

/* Small packets cost something too, however large the budget. */
START_TEST(small_packets_count)
{
	struct pace pace;
	uint64_t at = 0;

	pace_init(&pace, 1000000000);
	for (unsigned i = 0; i < 1000000; i++)
		at = pace_book(&pace, USEC_PER_SEC, 100);
	/* 800 Mbit at 1 Gbit/s */
	ck_assert_uint_ge(at, USEC_PER_SEC + 800 * USEC_PER_MSEC - CREDIT_USEC);
}
END_TEST

/* Nothing is wasted either: what is asked steadily below the budget leaves at once. */
START_TEST(below_budget_is_at_once)
{
	struct pace pace;

	pace_init(&pace, 8000000);
	for (uint64_t now = USEC_PER_SEC; now < 60 * USEC_PER_SEC; now += 10000)
		ck_assert_uint_eq(pace_book(&pace, now, 9068), now);
}
END_TEST

START_TEST(no_budget_is_no_limit)
{
	struct pace pace;

	pace_init(&pace, 0);
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_uint_eq(pace_book(&pace, 5, 65535), 5);
	ck_assert(!pace_load(&pace, UINT64_MAX / 2000));
	ck_assert_uint_eq(pace_interval(&pace, 30), 30);
}
END_TEST

/* The first packets after the machine came up, when the clock is younger than the credit. */
START_TEST(young_clock)
{
	struct pace pace;

	pace_init(&pace, 8000000);
	ck_assert_uint_eq(pace_book(&pace, 10, 1000), 10);
	ck_assert_uint_eq(pace_book(&pace, 10, 1000), 1000);
}
END_TEST

struct load_row {
	uint64_t budget, load;
	uint32_t least, most; /* of the stretch */
};

static const struct load_row loads[] = {
	{10000000, 0, 1000, 1000},       {10000000, 8000000, 1000, 1000},
	{10000000, 8000001, 1001, 1001}, {10000000, 16000000, 2000, 2001},
	{10000000, 80000000, 10000, 10001}, {64000, 51200, 1000, 1000},
	{64000, 512000, 10000, 10001},   {0, 80000000, 1000, 1000},
	{1, 100, 100000, UINT32_MAX},    {9, 9, 1001, 1500},
	{64000, UINT64_MAX / 1000, UINT32_MAX, UINT32_MAX},
};

START_TEST(load_stretches)
{
	const struct load_row *row = &loads[_i];
	struct pace pace;

	pace_init(&pace, row->budget);
	ck_assert_uint_eq(pace.stretch, 1000);
	ck_assert(pace_load(&pace, row->load) == (row->most > 1000));
	ck_assert_msg(pace.stretch >= row->least && pace.stretch <= row->most, "stretch %u",
		      pace.stretch);
	ck_assert(!pace_load(&pace, row->load));
	ck_assert_uint_eq(pace_interval(&pace, 30 * USEC_PER_SEC),
			  30 * USEC_PER_SEC / 1000 * pace.stretch);
	ck_assert(pace_load(&pace, 0) == (row->most > 1000));
	ck_assert_uint_eq(pace.stretch, 1000);
}
END_TEST

/* Stretched, all healthy rounds together fit into eight tenths of the budget. */
START_TEST(stretched_load_fits)
{
	uint64_t dice = 3;

	for (unsigned i = 0; i < 10000; i++) {
		uint64_t budget = 1000 + dice_roll(&dice) % 100000000;
		uint64_t load = dice_roll(&dice) % 1000000000;
		struct pace pace;

		pace_init(&pace, budget);
		pace_load(&pace, load);
		ck_assert_uint_le(load * 1000 / pace.stretch, budget - budget / 5);
	}
}
END_TEST

/* Places ascend, lie on slots within the interval, and no slot is crowded. */
START_TEST(phases_are_spread)
{
	static const unsigned counts[] = {1, 2, 7, 299, 300, 301, 10000};
	uint64_t interval = 30 * USEC_PER_SEC, slot = 100 * USEC_PER_MSEC;

	for (unsigned i = 0; i < 7; i++) {
		unsigned most = counts[i] / 300 + 1, in_slot = 0;
		uint64_t last = 0;

		for (unsigned j = 0; j < counts[i]; j++) {
			uint64_t phase = pace_phase(interval, j, counts[i]);

			ck_assert_uint_lt(phase, interval);
			ck_assert_uint_eq(phase % slot, 0);
			ck_assert_uint_ge(phase, last);
			in_slot = phase == last ? in_slot + 1 : 1;
			ck_assert_uint_le(in_slot, most);
			last = phase;
		}
		ck_assert_uint_eq(pace_phase(interval, counts[i], counts[i]), 0);
	}
	ck_assert_uint_eq(pace_phase(interval, 0, 0), 0);
}
END_TEST

START_TEST(next_is_on_its_place)
{
	uint64_t dice = 11;

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t interval = 1 + dice_roll(&dice) % (100 * USEC_PER_SEC);
		uint64_t now = dice_roll(&dice) % (1ULL << 50);
		uint64_t phase = dice_roll(&dice) % (2 * interval);
		uint64_t next = pace_next(now, interval, phase);

		ck_assert_uint_eq(next % interval, phase % interval);
		ck_assert_uint_ge(next, now + interval / 8);
		ck_assert_uint_lt(next, now + interval / 8 + interval);
	}
}
END_TEST

/* From one round to the next it is one interval, also when the rounds take some time. */
START_TEST(next_keeps_the_beat)
{
	uint64_t interval = 30 * USEC_PER_SEC, now = 12345678;
	uint64_t next = pace_next(now, interval, 700000);

	for (unsigned i = 0; i < 100; i++) {
		uint64_t after = pace_next(next + i * 100000, interval, 700000);

		ck_assert_uint_eq(after, next + interval);
		next = after;
	}
}
END_TEST

/* Few begin at once; of thousands each has its turn, in order, and together with others. */
START_TEST(begins_are_spread)
{
	uint64_t now = 1000 * USEC_PER_SEC, last = now;
	unsigned turns = 1;
	struct pace pace;

	pace_init(&pace, 0);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_uint_eq(pace_admit(&pace, now), now);
	for (unsigned i = 200; i < 10000; i++) {
		uint64_t at = pace_admit(&pace, now);

		ck_assert_uint_ge(at, last);
		turns += at > last;
		last = at;
	}
	ck_assert_uint_le(last, now + 500 * USEC_PER_MSEC);
	ck_assert_uint_le(turns, 50);
	ck_assert_uint_gt(turns, 20);
	/* later nothing of it is left */
	now = last + USEC_PER_SEC;
	ck_assert_uint_eq(pace_admit(&pace, now), now);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pace");
	TCase *test = tcase_create("pace");

	tcase_set_timeout(test, 60);
	tcase_add_loop_test(test, budget_holds_over_every_window, 0, 6);
	tcase_add_test(test, small_packets_count);
	tcase_add_test(test, below_budget_is_at_once);
	tcase_add_test(test, no_budget_is_no_limit);
	tcase_add_test(test, young_clock);
	tcase_add_loop_test(test, load_stretches, 0, sizeof(loads) / sizeof(loads[0]));
	tcase_add_test(test, stretched_load_fits);
	tcase_add_test(test, phases_are_spread);
	tcase_add_test(test, next_is_on_its_place);
	tcase_add_test(test, next_keeps_the_beat);
	tcase_add_test(test, begins_are_spread);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
