/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One packet at a time to one address, whoever it is for; others need not wait. */
#include "../../daemon/core/turn.h"
#include "tap.h"

#include <string.h>

#define SPACING (1050 * USEC_PER_MSEC)

static struct address number(unsigned n)
{
	struct address address = {.family = ADDRESS_IPV4, .bytes = {10, 0, (uint8_t)(n >> 8), (uint8_t)n}};

	return address;
}

START_TEST(one_address)
{
	static struct turns turns;
	struct address to = number(1);
	uint64_t now = 1000 * USEC_PER_SEC;

	turns = (struct turns){0};
	for (unsigned i = 0; i < 64; i++)
		ck_assert_uint_eq(turns_book(&turns, &to, now, SPACING), now + i * SPACING);
	/* long after that it is nobody's turn any more */
	now += 1000 * USEC_PER_SEC;
	ck_assert_uint_eq(turns_book(&turns, &to, now, SPACING), now);
}
END_TEST

START_TEST(some_addresses)
{
	static struct turns turns;
	uint64_t now = 1000 * USEC_PER_SEC;

	turns = (struct turns){0};
	/* so few that each has a place of its own */
	for (unsigned i = 0; i < TURN_PLACES; i++) {
		struct address to = number(i);

		ck_assert_uint_eq(turns_book(&turns, &to, now, SPACING), now);
		ck_assert_uint_eq(turns_book(&turns, &to, now, SPACING), now + SPACING);
	}
}
END_TEST

/* More than there is room for: some wait longer than they have to, none is asked too early. */
START_TEST(many_addresses)
{
	static struct turns turns;
	static uint64_t last[5000];
	uint64_t now = 1000 * USEC_PER_SEC;

	turns = (struct turns){0};
	memset(last, 0, sizeof(last));
	for (unsigned i = 0; i < 20000; i++) {
		unsigned n = i * 7919 % 5000;
		struct address to = number(n);
		uint64_t at = turns_book(&turns, &to, now, SPACING);

		ck_assert_uint_ge(at, now);
		ck_assert_uint_ge(at, last[n] ? last[n] + SPACING : 0);
		last[n] = at;
		now += 300 * (i % 3);
	}
}
END_TEST

/* One that left late is not followed before its time; other addresses are. */
START_TEST(leaves_late)
{
	static struct turns turns;
	struct address to = number(1), other = number(2), stranger = number(3);
	uint64_t now = 1000 * USEC_PER_SEC, late = now + 300 * USEC_PER_MSEC, again = 0;

	turns = (struct turns){0};
	turns_book(&turns, &to, now, SPACING);
	turns_book(&turns, &to, now, SPACING);
	turns_book(&turns, &other, now, SPACING);
	ck_assert(turns_leave(&turns, &to, late, USEC_PER_SEC, &again));
	ck_assert(!turns_leave(&turns, &to, now + SPACING, USEC_PER_SEC, &again));
	ck_assert_uint_eq(again, late + USEC_PER_SEC);
	ck_assert(turns_leave(&turns, &other, now + SPACING, USEC_PER_SEC, &again));
	ck_assert(turns_leave(&turns, &to, again, USEC_PER_SEC, &again));
	ck_assert(turns_leave(&turns, &stranger, now, USEC_PER_SEC, &again));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("turn");
	TCase *all = tcase_create("all");

	tcase_add_test(all, one_address);
	tcase_add_test(all, some_addresses);
	tcase_add_test(all, many_addresses);
	tcase_add_test(all, leaves_late);
	suite_add_tcase(suite, all);
	return tap_run(suite);
}
