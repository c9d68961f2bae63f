/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What iperf3 says, and what runs at two sizes say of each other.
 */
#include <errno.h>
#include <string.h>

#include "../../daemon/ctl/worth.h"
#include "tap.h"

START_TEST(parsed)
{
	static const char good[] =
		"{\"start\":{\"tcp_mss_default\":8948},\"end\":{\"sum_sent\":{\"retransmits\":7,"
		"\"bits_per_second\":2e9},\"sum_received\":{\"bytes\":1000,\"bits_per_second\":1."
		"5e9},"
		"\"cpu_utilization_percent\":{\"host_total\":12.5,\"remote_total\":99}}}";
	struct iperf_answer answer;

	ck_assert_int_eq(iperf_parse(good, &answer), 0);
	ck_assert_uint_eq(answer.bits, 1500000000);
	ck_assert_uint_eq(answer.bytes, 1000);
	ck_assert_uint_eq(answer.retransmits, 7);
	ck_assert(answer.has_retransmits);
	ck_assert_uint_eq(answer.mss, 8948);
	ck_assert_double_eq_tol(answer.cpu_here, 12.5, 1e-9);
	ck_assert_double_eq_tol(answer.cpu_there, 99, 1e-9);
}
END_TEST

START_TEST(parsed_errors)
{
	static const char *const list[] = {"", "{", "[]", "nonsense", "{\"end\":", "null", "{}"};
	struct iperf_answer answer;

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		ck_assert_int_eq(iperf_parse(list[i], &answer), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(answer.words, "nothing sensible"));
	}
	ck_assert_int_eq(iperf_parse("{\"end\":{},\"error\":\"unable to connect to server: x\\n\"}",
				     &answer),
			 -EBADMSG);
	ck_assert_str_eq(answer.words, "unable to connect to server: x");
	/* a version that leaves things out */
	ck_assert_int_eq(iperf_parse("{\"end\":{\"sum_sent\":[1]}}", &answer), 0);
	ck_assert(!answer.has_retransmits);
}
END_TEST

static struct series series(uint32_t size, const uint64_t *bits, double cpu)
{
	struct series series = {.size = size};

	for (; *bits; bits++)
		series.runs[series.count++] =
			(struct iperf_answer){.bits = *bits, .cpu_here = cpu, .cpu_there = cpu};
	return series;
}
#define BITS(...)                                                                                  \
	(const uint64_t[])                                                                         \
	{                                                                                          \
		__VA_ARGS__, 0                                                                     \
	}

START_TEST(judged)
{
	struct series small = series(1500, BITS(100, 110, 105), 50), large;

	large = series(9000, BITS(300, 310, 290), 50);
	ck_assert_int_eq(worth_judge(&small, &large), WORTH_FASTER);
	ck_assert_int_eq(worth_judge(&large, &small), WORTH_SLOWER);
	/* the ranges touch: chance */
	large = series(9000, BITS(300, 310, 109), 50);
	ck_assert_int_eq(worth_judge(&small, &large), WORTH_NONE);
	/* apart, but by nothing to speak of */
	large = series(9000, BITS(111, 111, 112), 50);
	small = series(1500, BITS(110, 110, 110), 50);
	ck_assert_int_eq(worth_judge(&small, &large), WORTH_NONE);
	/* as fast, for less */
	large = series(9000, BITS(110, 110, 110), 30);
	ck_assert_int_eq(worth_judge(&small, &large), WORTH_CHEAPER);
	large.runs[1].stalled = true;
	ck_assert_int_eq(worth_judge(&small, &large), WORTH_STALLS);
	small.runs[0].stalled = true;
	ck_assert_int_eq(worth_judge(&small, &large), WORTH_BOTH_STALL);
}
END_TEST

START_TEST(spreads)
{
	struct series one = series(1500, BITS(5, 1, 9, 3), 10);
	struct spread spread = series_bits(&one);

	ck_assert_double_eq_tol(spread.median, 4, 1e-9);
	ck_assert_double_eq_tol(spread.least, 1, 1e-9);
	ck_assert_double_eq_tol(spread.most, 9, 1e-9);
	/* who sends depends on the way */
	one.runs[0].cpu_here = one.runs[1].cpu_here = one.runs[2].cpu_here = one.runs[3].cpu_here =
		70;
	ck_assert_double_eq_tol(series_cpu(&one, true).median, 70, 1e-9);
	one.reverse = true;
	ck_assert_double_eq_tol(series_cpu(&one, true).median, 10, 1e-9);
	ck_assert_uint_eq(series_retransmits(&one), UINT64_MAX);
	one.count = 0;
	ck_assert_double_eq_tol(series_bits(&one).median, 0, 1e-9);
}
END_TEST

START_TEST(sentences)
{
	struct series small = series(1500, BITS(100, 100), 50),
		      large = series(9000, BITS(250, 250), 50);
	char *text = worth_sentence(&small, &large);

	ck_assert_str_eq(text, "To the peer: 9000 is 2.50 times as fast as 1500.");
	free(text);
	large = series(9000, BITS(99, 101), 50);
	large.reverse = small.reverse = true;
	text = worth_sentence(&small, &large);
	ck_assert_str_eq(text, "From the peer: no gain from 9000 that is more than chance: stay at "
			       "1500.");
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worth");
	TCase *test = tcase_create("worth");

	tcase_add_test(test, parsed);
	tcase_add_test(test, parsed_errors);
	tcase_add_test(test, judged);
	tcase_add_test(test, spreads);
	tcase_add_test(test, sentences);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
