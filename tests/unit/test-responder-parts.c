/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the responder is made of, without a network: the hash, cookies and their keys' age, the
 * budget with a clock that we turn, the bytes of a datagram.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/world/responder_budget.h"
#include "../../daemon/world/responder_cookie.h"
#include "../../daemon/world/responder_datagram.h"

/* Of the paper's appendix A and its authors' reference: key 00 01 .. 0f, input 00 01 .. n-1. */
START_TEST(hash_as_published)
{
	static const struct {
		size_t length;
		uint64_t hash;
	} vectors[] = {
		{0, 0x726fdb47dd0e0e31}, {1, 0x74f839c593dc67fd},  {2, 0x0d6c8009d9a94f5a},
		{3, 0x85676696d7fb7e2d}, {4, 0xcf2794e0277187b7},  {5, 0x18765564cd99a68d},
		{6, 0xcbc9466e58fee3ce}, {7, 0xab0200f58b01d137},  {8, 0x93f5f5799a932462},
		{9, 0x9e0082df0ba9e4b0}, {15, 0xa129ca6149be45e5},
	};
	uint8_t key[SIPHASH_KEY_SIZE], input[16];

	for (unsigned i = 0; i < 16; i++)
		key[i] = input[i] = (uint8_t)i;
	for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		ck_assert_uint_eq(siphash(key, input, vectors[i].length), vectors[i].hash);
}
END_TEST

static const uint8_t key_a[SIPHASH_KEY_SIZE] = "first key......";
static const uint8_t key_b[SIPHASH_KEY_SIZE] = "second key.....";
static const uint8_t key_c[SIPHASH_KEY_SIZE] = "third key......";

START_TEST(cookie_belongs_to_one)
{
	struct cookies cookies = {0};
	struct address client = {.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 1}};
	struct address other = client, zoned = {.family = ADDRESS_IPV6, .bytes = {0xfe, 0x80}};
	uint64_t cookie;

	cookies_renew(&cookies, key_a, 0);
	cookie = cookies_make(&cookies, &client, 1000);
	ck_assert_uint_ne(cookie, 0);
	ck_assert(cookies_check(&cookies, &client, 1000, cookie));
	ck_assert(!cookies_check(&cookies, &client, 1001, cookie));
	ck_assert(!cookies_check(&cookies, &client, 1000, cookie ^ 1));
	ck_assert(!cookies_check(&cookies, &client, 1000, 0));
	other.bytes[3] = 2;
	ck_assert(!cookies_check(&cookies, &other, 1000, cookie));
	other = client;
	other.family = ADDRESS_IPV6;
	ck_assert(!cookies_check(&cookies, &other, 1000, cookie));
	zoned.zone = 2;
	cookie = cookies_make(&cookies, &zoned, 1000);
	zoned.zone = 3;
	ck_assert(!cookies_check(&cookies, &zoned, 1000, cookie));
}
END_TEST

/* Good until the key after the next one is drawn, and never for longer than two lives. */
START_TEST(cookie_ages)
{
	struct cookies cookies = {0};
	struct address client = {.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 1}};
	uint64_t cookie, now_usec = 5 * USEC_PER_SEC;

	cookies_renew(&cookies, key_a, now_usec);
	cookie = cookies_make(&cookies, &client, 1000);
	ck_assert_uint_eq(cookies_stale(&cookies, now_usec + COOKIES_LIFE_USEC - 1), 0);
	ck_assert_uint_eq(cookies_stale(&cookies, now_usec + COOKIES_LIFE_USEC), 1);
	/* nobody asked for long: both keys are too old */
	ck_assert_uint_eq(cookies_stale(&cookies, now_usec + 2 * COOKIES_LIFE_USEC), 2);
	cookies_renew(&cookies, key_b, now_usec + COOKIES_LIFE_USEC);
	ck_assert_uint_eq(cookies_stale(&cookies, now_usec + COOKIES_LIFE_USEC), 0);
	ck_assert(cookies_check(&cookies, &client, 1000, cookie));
	ck_assert_uint_ne(cookies_make(&cookies, &client, 1000), cookie);
	cookies_renew(&cookies, key_c, now_usec + 2 * COOKIES_LIFE_USEC);
	ck_assert(!cookies_check(&cookies, &client, 1000, cookie));
}
END_TEST

/* Asks for `size` every `gap_usec` over `usec`; gives the bytes that passed. */
static uint64_t asked(struct budget *budget, uint64_t hash, uint32_t size, uint64_t *now_usec,
		      uint64_t usec, uint64_t gap_usec)
{
	uint64_t passed = 0;

	for (uint64_t end = *now_usec + usec; *now_usec < end; *now_usec += gap_usec)
		if (budget_allows(budget, hash, *now_usec)) {
			budget_charge(budget, hash, size);
			passed += size;
		}
	return passed;
}

START_TEST(budget_holds_and_is_used)
{
	static const uint64_t rates[] = {1000, 12500, 1250000, 125000000};
	static const uint32_t sizes[] = {60, 1500, 9000, 65535};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < 4; j++) {
			struct budget budget;
			uint64_t now_usec = 77, gap_usec = sizes[j] * USEC_PER_SEC / rates[i] / 5;
			uint64_t passed, least, burst = rates[i] > 131072 ? rates[i] : 131072;
			uint64_t usec = gap_usec * 20000 + burst * 2 * USEC_PER_SEC / rates[i];

			budget_init(&budget, rates[i], now_usec);
			gap_usec += gap_usec == 0;
			passed = asked(&budget, 5, sizes[j], &now_usec, usec, gap_usec);
			ck_assert_uint_le(passed,
					  burst + rates[i] * (usec / 1000) / 1000 + sizes[j]);
			/* one client alone may have nearly all, if it asks for as much */
			least = rates[i] * (usec / 1000) / 1000;
			if (least > usec / gap_usec * sizes[j])
				least = usec / gap_usec * sizes[j];
			ck_assert_uint_ge(passed, least / 100 * 90);
		}
}
END_TEST

START_TEST(no_limit)
{
	struct budget budget;
	uint64_t now_usec = 1;

	budget_init(&budget, 0, now_usec);
	ck_assert_uint_eq(asked(&budget, 5, 65535, &now_usec, 1000, 1), 65535000);
}
END_TEST

/* Who asks a little is answered every time while somebody else asks for ten times the budget. */
START_TEST(flood_leaves_a_share)
{
	struct budget budget;
	uint64_t now_usec = 1, flood = 0;

	budget_init(&budget, 1250000, now_usec);
	for (unsigned round = 0; round < 600; round++) {
		flood += asked(&budget, 5, 9000, &now_usec, USEC_PER_SEC / 10, 720);
		ck_assert(budget_allows(&budget, 6, now_usec));
		budget_charge(&budget, 6, 9060);
	}
	ck_assert_uint_le(flood, 1250000ULL * 61 + 9000);
	ck_assert_uint_ge(flood, 1250000ULL * 60 / 100 * 80);
}
END_TEST

/* Controls must not pass where large ones do not: once that happened neither passes. */
START_TEST(refusals_do_not_look_at_sizes)
{
	struct budget budget;
	uint64_t now_usec = 1;
	unsigned both = 0, torn = 0, none = 0;
	bool was_torn = false;

	budget_init(&budget, 1250000, now_usec);
	for (unsigned i = 0; i < 100000; i++, now_usec += 1000) {
		bool control = budget_allows(&budget, 5, now_usec), large;

		if (control)
			budget_charge(&budget, 5, 120);
		large = budget_allows(&budget, 5, now_usec);
		if (large)
			budget_charge(&budget, 5, 9060);
		both += control && large;
		none += !control && !large;
		torn += control != large;
		ck_assert(!was_torn || (!control && !large));
		was_torn = control && !large;
	}
	ck_assert_uint_gt(both, 10000);
	ck_assert_uint_gt(none, 70000);
	ck_assert_uint_lt(torn, both / 10);
}
END_TEST

/* Long silence, and a clock far from where it began. */
START_TEST(budget_after_ages)
{
	struct budget budget;
	uint64_t now_usec = 1;

	budget_init(&budget, UINT64_MAX, now_usec);
	now_usec = USEC_NEVER / 2;
	ck_assert_uint_eq(asked(&budget, 5, 65535, &now_usec, 100, 1), 6553500);
	budget_init(&budget, 1, 1);
	ck_assert_uint_ge(asked(&budget, 5, 65535, &now_usec, 100, 1), 131070);
	ck_assert_uint_ge(asked(&budget, 6, 65535, &now_usec, 100, 1), 65535);
	ck_assert(!budget_allows(&budget, 7, now_usec));
	now_usec += 200000 * USEC_PER_SEC;
	ck_assert(budget_allows(&budget, 6, now_usec));
}
END_TEST

/* The plain way to compute RFC 768's checksum, over the whole packet. */
static unsigned checksum_of(const uint8_t *packet, uint32_t size)
{
	uint32_t sum = 17 + (size - 20);

	for (uint32_t i = 12; i < size; i++)
		sum += i % 2 != 0 ? packet[i] : (uint32_t)packet[i] << 8;
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

START_TEST(datagram_bytes)
{
	struct datagram datagram = {
		.from = {.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 1}},
		.to = {.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 2}},
		.from_port = 8899,
		.to_port = 40000,
		.ttl = 63,
	};
	struct responder_message message = {.kind = RESPONDER_ANSWER, .nonce = 0x0102030405060708};
	uint8_t *packet = malloc(SIZE_LARGEST + 1);

	ck_assert_ptr_nonnull(packet);
	for (uint32_t i = 0; i <= SIZE_LARGEST; i++)
		packet[i] = i % 2 != 0 ? 0xa5 : 0x5a;
	for (uint32_t size = DATAGRAM_HEAD; size <= SIZE_LARGEST; size += size < 9300 ? 1 : 4099) {
		datagram.size = size;
		message.size = size;
		message.sequence++;
		datagram_encode(&datagram, &message, packet);
		ck_assert_uint_eq(checksum_of(packet, size), 0xffff);
		ck_assert(packet[26] != 0 || packet[27] != 0); /* 0: there is none */
		ck_assert_uint_eq((unsigned)packet[2] << 8 | packet[3], size);
		ck_assert_uint_eq((unsigned)packet[24] << 8 | packet[25], size - 20);
	}
	ck_assert_mem_eq(packet + 4, "\0\0\x40\0\x3f\x11\0\0\xc0\0\x02\x01\xc0\0\x02\x02", 16);
	ck_assert_mem_eq(packet + 20, "\x22\xc3\x9c\x40", 4);
	free(packet);
}
END_TEST

START_TEST(message_there_and_back)
{
	struct responder_message message = {RESPONDER_RECEIPT,	0x1234, 0x1122334455667788,
					    0x99aabbccddeeff00, 65535,	1500};
	struct responder_message got = {0};
	uint8_t bytes[RESPONDER_MESSAGE_SIZE];

	responder_message_encode(&message, bytes);
	ck_assert(responder_message_decode(bytes, sizeof(bytes), &got));
	ck_assert_int_eq(got.kind, message.kind);
	ck_assert_uint_eq(got.sequence, message.sequence);
	ck_assert_uint_eq(got.nonce, message.nonce);
	ck_assert_uint_eq(got.cookie, message.cookie);
	ck_assert_uint_eq(got.size, message.size);
	ck_assert_uint_eq(got.fragment, message.fragment);
	ck_assert(!responder_message_decode(bytes, sizeof(bytes) - 1, &got));
	for (unsigned i = 0; i < 6; i++) {
		bytes[i] ^= 0x80;
		ck_assert(!responder_message_decode(bytes, sizeof(bytes), &got));
		bytes[i] ^= 0x80;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("responder-parts");
	TCase *tests = tcase_create("responder-parts");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tests, hash_as_published);
	tcase_add_test(tests, cookie_belongs_to_one);
	tcase_add_test(tests, cookie_ages);
	tcase_add_test(tests, budget_holds_and_is_used);
	tcase_add_test(tests, no_limit);
	tcase_add_test(tests, flood_leaves_a_share);
	tcase_add_test(tests, refusals_do_not_look_at_sizes);
	tcase_add_test(tests, budget_after_ages);
	tcase_add_test(tests, datagram_bytes);
	tcase_add_test(tests, message_there_and_back);
	suite_add_tcase(suite, tests);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
