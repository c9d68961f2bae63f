/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's list of reserved ports, as it is written. */
#include "tap.h"
#include "world/reserved.h"

static const struct {
	const char *text;
	uint16_t port;
	bool holds;
} rows[] = {
	{"", 1, false},
	{"\n", 1, false},
	{"3260", 3260, true},
	{"3260\n", 3260, true},
	{"3260", 3261, false},
	{"3260", 326, false},
	{"1-65535", 65535, true},
	{"1024,3000-3010,65535", 1024, true},
	{"1024,3000-3010,65535", 2999, false},
	{"1024,3000-3010,65535", 3000, true},
	{"1024,3000-3010,65535", 3010, true},
	{"1024,3000-3010,65535", 3011, false},
	{"1024,3000-3010,65535\n", 65535, true},
	{"x,1-65535", 5, false},
	{"99999999999999999999,7", 7, true},
	{"5-", 5, false},
};

START_TEST(list)
{
	ck_assert_msg(reserved_holds(rows[_i].text, rows[_i].port) == rows[_i].holds, "\"%s\", %u",
		      rows[_i].text, rows[_i].port);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reserved");
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, list, 0, sizeof(rows) / sizeof(rows[0]));
	suite_add_tcase(suite, all);
	return tap_run(suite);
}
