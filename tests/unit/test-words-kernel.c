/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said of the kernel's memory and of live connections: numbers, causes, commands. */
#include <stdlib.h>
#include <string.h>

#include "../../daemon/face/words.h"
#include "example.h"
#include "tap.h"

static void has(char *text, const char *part)
{
	ck_assert_ptr_nonnull(text);
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in \"%s\"", part, text);
	free(text);
}

static void is(char *text, const char *wanted)
{
	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, wanted);
	free(text);
}

static struct finding cache(const char *to)
{
	return (struct finding){.id = FINDING_CACHED_PMTU_STALE, .severity = SEVERITY_NOTICE,
				.is = 1500, .should = 9000, .lasts_sec = 412,
				.to = example_address(to)};
}

START_TEST(memory)
{
	struct finding finding = cache("192.0.2.10");

	is(words_finding_text(&finding), "the kernel was told of an MTU of 1500 for 192.0.2.10 and "
					 "uses it, though packets of 9000 bytes pass");
	is(words_finding_advice(&finding), "\"ip route flush cache\" makes it forget, for all of "
					   "IPv4; by itself it does so in 412 s");
	finding = cache("2001:db8::2");
	is(words_finding_advice(&finding), "\"ip -6 route flush cache 2001:db8::2\" makes it "
					   "forget; by itself it does so in 412 s");
	ck_assert_str_eq(finding_link(&finding), "");
}
END_TEST

START_TEST(locked_memory)
{
	struct finding finding = cache("192.0.2.10");

	finding.is = 552;
	finding.should = 1500;
	finding.locked = true;
	has(words_finding_text(&finding), "in fragments of 552 bytes, without DF");
	has(words_finding_text(&finding), "1500 bytes pass");
	has(words_finding_advice(&finding), "they are wrong");
}
END_TEST

static struct finding below(enum socket_cause cause)
{
	return (struct finding){.id = FINDING_SOCKET_MSS_BELOW_PATH, .severity = SEVERITY_NOTICE,
				.is = 1500, .should = 9000, .mss = 1448, .count = 3,
				.cause = (uint8_t)cause, .link = "eth1"};
}

START_TEST(causes_differ)
{
	for (unsigned i = 0; i < SOCKET_CAUSE_COUNT; i++) {
		struct finding finding = below((enum socket_cause)i);
		char *text = words_finding_text(&finding);

		has(strdup(text), "3 live TCP connections");
		has(strdup(text), "1500 bytes (MSS 1448)");
		has(strdup(text), "9000 pass");
		has(strdup(text), "eth1");
		has(words_finding_advice(&finding), " ");
		for (unsigned j = 0; j < i; j++) {
			struct finding other = below((enum socket_cause)j);
			char *second = words_finding_text(&other);

			ck_assert_str_ne(text, second);
			free(second);
		}
		free(text);
	}
}
END_TEST

START_TEST(one_and_many)
{
	struct finding finding = below(SOCKET_CAUSE_CACHE);

	finding.count = 1;
	is(words_finding_text(&finding),
	   "1 live TCP connection by eth1 uses packets of 1500 bytes (MSS 1448), 9000 pass: the kernel "
	   "was told of that MTU once and has not forgotten");
	finding.count = 2;
	is(words_finding_text(&finding),
	   "2 live TCP connections by eth1 use packets of down to 1500 bytes (MSS 1448), 9000 pass: the "
	   "kernel was told of that MTU once and has not forgotten");
	finding = (struct finding){.id = FINDING_CONNECTIONS_STALLED, .is = 9000, .count = 1};
	is(words_finding_text(&finding), "1 live TCP connection keeps sending its packets of 9000 "
					 "bytes again and gets nowhere, while small ones pass");
	finding.count = 2;
	is(words_finding_text(&finding), "2 live TCP connections keep sending their packets of 9000 "
					 "bytes again and get nowhere, while small ones pass");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("words-kernel");
	TCase *tests = tcase_create("words-kernel");

	tcase_add_test(tests, memory);
	tcase_add_test(tests, locked_memory);
	tcase_add_test(tests, causes_differ);
	tcase_add_test(tests, one_and_many);
	suite_add_tcase(suite, tests);
	return tap_run(suite);
}
