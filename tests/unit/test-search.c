/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The views on what was tried, and where a search goes next. */
#include <string.h>

#include "../../daemon/core/search.h"
#include "tap.h"

#define SIZES_MOST 16

/* --- the views --- */

struct view_row {
	const char *what;
	struct try tries[6];
	uint32_t floor, suspect;
	unsigned failures_9000; /* of size 9000 */
	struct loss loss;
};

/* clang-format off */
#define TRY(size, burst, state) {0, size, burst, TRY_##state}
static const struct view_row views[] = {
	{"nothing", {{0}}, 0, 0, 0, {0, 0}},
	{"waiting", {TRY(68, 0, WAITING), TRY(9000, 0, WAITING)}, 0, 0, 0, {0, 0}},
	{"answered", {TRY(68, 0, ANSWERED), TRY(9000, 0, ANSWERED)}, 9000, 0, 0, {2, 0}},
	{"a silence beside an answer", {TRY(68, 0, ANSWERED), TRY(9000, 0, SILENT)},
		68, 9000, 1, {1, 0}},
	{"a silence alone", {TRY(68, 0, SILENT), TRY(9000, 0, SILENT)}, 0, 0, 0, {0, 0}},
	{"a silence beside another burst's answer",
		{TRY(68, 0, SILENT), TRY(9000, 0, SILENT), TRY(68, 1, ANSWERED)}, 68, 0, 0, {2, 1}},
	{"a report needs nothing beside it", {TRY(68, 0, SILENT), TRY(9000, 0, REPORTED)},
		0, 9000, 1, {0, 0}},
	{"neither does a refusal", {TRY(68, 0, SILENT), TRY(9000, 0, REFUSED)}, 0, 9000, 1, {0, 0}},
	{"void tells nothing", {TRY(68, 0, ANSWERED), TRY(9000, 0, VOID)}, 68, 0, 0, {1, 0}},
	{"the smallest above the floor",
		{TRY(68, 0, ANSWERED), TRY(9000, 0, SILENT), TRY(4000, 0, SILENT),
		 TRY(1500, 0, ANSWERED), TRY(1400, 0, SILENT), TRY(9000, 0, SILENT)},
		1500, 4000, 2, {3, 1}},
	{"an answer undoes a failure",
		{TRY(68, 0, ANSWERED), TRY(9000, 0, SILENT), TRY(9000, 1, ANSWERED)},
		9000, 0, 1, {3, 1}},
};
/* clang-format on */

START_TEST(views_on_tries)
{
	const struct view_row *row = &views[_i];
	struct tries tries = {0};
	struct loss loss;

	memcpy(tries.list, row->tries, sizeof(row->tries));
	while (tries.count < 6 && tries.list[tries.count].size > 0)
		tries.count++;
	loss = search_loss(&tries);
	ck_assert_msg(search_floor(&tries) == row->floor, "%s", row->what);
	ck_assert_msg(search_suspect(&tries) == row->suspect, "%s", row->what);
	ck_assert_msg(search_failures(&tries, 9000) == row->failures_9000, "%s", row->what);
	ck_assert_msg(loss.sent == row->loss.sent && loss.lost == row->loss.lost, "%s: %u of %u",
		      row->what, loss.lost, loss.sent);
}
END_TEST

/* --- loss --- */

/* Never more lost than sent, never more than fits, and the share stays about what it was. */
START_TEST(loss_fades)
{
	struct loss loss = {0, 0};

	for (unsigned i = 0; i < 1000; i++) {
		loss_add(&loss, (struct loss){40, 10});
		ck_assert_uint_le(loss.sent, 128);
		ck_assert_uint_le(loss.lost * 3, loss.sent);
	}
	ck_assert_uint_ge(loss.lost * 5, loss.sent);
	for (unsigned i = 0; i < 20; i++)
		loss_add(&loss, (struct loss){40, 0});
	ck_assert_uint_eq(loss.lost, 0);
	loss_add(&loss, (struct loss){TRIES_LARGEST, TRIES_LARGEST});
	ck_assert_uint_le(loss.lost, loss.sent);
}
END_TEST

/* More loss never asks for less, more good packets never for more, and Tries= is the least. */
START_TEST(needed_is_monotonic)
{
	for (unsigned tries = 1; tries <= 10; tries += 3)
		for (uint16_t sent = 0; sent <= 128; sent++)
			for (uint16_t lost = 0; lost <= sent; lost++) {
				unsigned here = search_needed((struct loss){sent, lost}, tries);
				unsigned worse, longer;

				if (here < tries || here > 40)
					ck_abort_msg("%u of %u: %u", lost, sent, here);
				if (lost == sent)
					continue;
				worse = search_needed((struct loss){sent, lost + 1}, tries);
				longer = search_needed((struct loss){sent + 1, lost}, tries);
				if (worse < here || longer > here)
					ck_abort_msg("%u of %u: %u, then %u, %u", lost, sent, here,
						     worse, longer);
			}
}
END_TEST

/* By chance alone, a size that passes fails so often once in a million. */
START_TEST(needed_makes_chance_rare)
{
	for (uint16_t lost = 1; lost <= 50; lost++) {
		double rate = (lost + 1) / 102.0, chance = 1;
		unsigned needed = search_needed((struct loss){100, lost}, 1);

		for (unsigned i = 0; i < needed; i++)
			chance *= rate;
		ck_assert_msg(chance < 1.1 / (1 << 20), "%u of 100: %g", lost, chance);
		ck_assert_msg(chance / rate > 0.9 / (1 << 20), "%u of 100: one less does", lost);
	}
	ck_assert_uint_eq(search_needed((struct loss){128, 0}, 3), 3);
}
END_TEST

/* --- what next --- */

static void assert_next(uint32_t floor, uint32_t suspect, struct search_limit limit)
{
	uint32_t sizes[SIZES_MOST];
	uint32_t last = floor, bytes = 0;
	unsigned count = search_next(floor, suspect, limit, sizes);

	if (count > limit.sizes || (count == 0) != (suspect - floor < 2))
		ck_abort_msg("%u to %u: %u sizes", floor, suspect, count);
	for (unsigned i = 0; i < count; i++) {
		if (sizes[i] <= last || sizes[i] >= suspect)
			ck_abort_msg("%u to %u: %u after %u", floor, suspect, sizes[i], last);
		last = sizes[i];
		bytes += sizes[i];
	}
	if (count > 1 && bytes > limit.bytes)
		ck_abort_msg("%u to %u: %u bytes of %u", floor, suspect, bytes, limit.bytes);
}

START_TEST(next_keeps_its_bounds)
{
	uint64_t dice = (uint64_t)_i;

	for (unsigned i = 0; i < 20000; i++) {
		uint32_t suspect = 1 + dice_roll(&dice) % (dice_roll(&dice) % 2 ? 9216 : 65535);
		uint32_t floor = dice_roll(&dice) % suspect;
		struct search_limit limit = {
			.sizes = 1 + dice_roll(&dice) % SIZES_MOST,
			.bytes = dice_roll(&dice) % 140000,
		};

		assert_next(floor, suspect, limit);
		assert_next(suspect - 1, suspect, limit);
		if (suspect > 2)
			assert_next(suspect - 2, suspect, limit);
	}
}
END_TEST

/* Whatever the limits, asking on and on comes to the end, and soon. */
START_TEST(next_ends)
{
	struct search_limit limit = {.sizes = 1 + (unsigned)_i, .bytes = 65536};

	for (uint32_t limit_mtu = 68; limit_mtu < 65535; limit_mtu += 37) {
		uint32_t floor = 68, suspect = 65535, sizes[SIZES_MOST];
		unsigned steps = 0;

		while (suspect > floor + 1) {
			unsigned count = search_next(floor, suspect, limit, sizes);

			for (unsigned i = 0; i < count; i++) {
				if (sizes[i] <= limit_mtu)
					floor = sizes[i];
				else if (sizes[i] < suspect)
					suspect = sizes[i];
			}
			if (++steps > 32)
				ck_abort_msg("%u: no end", limit_mtu);
		}
		ck_assert_uint_eq(floor, limit_mtu);
	}
}
END_TEST

/* Where a well-known size lies in between, it is asked before any middle. */
START_TEST(next_asks_well_known_first)
{
	struct search_limit one = {.sizes = 1, .bytes = 65536};
	uint32_t size;

	ck_assert_uint_eq(search_next(1493, 1503, one, &size), 1);
	ck_assert_uint_eq(size, 1500);
	ck_assert_uint_eq(search_next(8997, 9001, one, &size), 1);
	ck_assert_uint_eq(size, 9000);
	ck_assert_uint_eq(search_next(5000, 6000, one, &size), 1);
	ck_assert_uint_eq(size, 5500);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("search");
	TCase *test = tcase_create("search");

	tcase_set_timeout(test, 60);
	tcase_add_loop_test(test, views_on_tries, 0, sizeof(views) / sizeof(views[0]));
	tcase_add_test(test, loss_fades);
	tcase_add_test(test, needed_is_monotonic);
	tcase_add_test(test, needed_makes_chance_rare);
	tcase_add_loop_test(test, next_keeps_its_bounds, 0, 5);
	tcase_add_loop_test(test, next_ends, 0, 10);
	tcase_add_test(test, next_asks_well_known_first);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
