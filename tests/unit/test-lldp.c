/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * LLDP frames, byte by byte: what they mean, that nothing short, torn or hostile is believed, and
 * that no text leaves that could steer a terminal. No kernel here.
 */
#include <string.h>

#include "../../daemon/world/lldp.h"
#include "../../daemon/world/networkd.h"
#include "tap.h"

static struct {
	uint8_t bytes[2048];
	size_t length;
} frame;

static void begin(void)
{
	static const uint8_t header[] = {0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1, 0x88, 0xcc};

	memcpy(frame.bytes, header, sizeof(header));
	frame.length = sizeof(header);
}

static void put(unsigned type, const void *value, size_t length)
{
	frame.bytes[frame.length++] = (uint8_t)(type << 1 | length >> 8);
	frame.bytes[frame.length++] = (uint8_t)length;
	memcpy(frame.bytes + frame.length, value, length);
	frame.length += length;
}

/* A string literal without its closing NUL. */
#define PUT(_type, _text) put(_type, _text, sizeof(_text) - 1)

static void begin_whole(const char *chassis, size_t chassis_length, const char *port,
			size_t port_length)
{
	begin();
	put(1, chassis, chassis_length);
	put(2, port, port_length);
	PUT(3, "\0\x78");
}
#define BEGIN(_chassis, _port)                                                                     \
	begin_whole(_chassis, sizeof(_chassis) - 1, _port, sizeof(_port) - 1)
#define MAC "\x04\x02\x00\x00\x00\xab\x01"

static struct neighbour decoded(void)
{
	struct neighbour neighbour;
	uint16_t ttl;

	memset(&neighbour, 0xee, sizeof(neighbour));
	ck_assert(lldp_decode(frame.bytes, frame.length, &neighbour, &ttl));
	ck_assert_uint_eq(ttl, 120);
	return neighbour;
}

static void assert_refused(const char *why)
{
	struct neighbour neighbour;
	uint16_t ttl;

	ck_assert_msg(!lldp_decode(frame.bytes, frame.length, &neighbour, &ttl), "%s", why);
}

START_TEST(switch_and_port)
{
	struct neighbour n;

	BEGIN(MAC, "\x05" "Eth1/7");
	PUT(5, "sw1");
	PUT(4, "to server");
	PUT(7, "\0\x14\0\x04");
	PUT(127, "\x00\x12\x0f\x01\x03\x00\x00\x00\x00");
	PUT(127, "\x00\x12\x0f\x04\x24\x00");
	PUT(127, "\x00\x80\xc2\x04\x11\x11"); /* of somebody else */
	PUT(0, "");
	n = decoded();
	ck_assert_str_eq(n.system, "sw1");
	ck_assert_str_eq(n.port, "Eth1/7");
	ck_assert_uint_eq(n.max_frame, 9216);
	ck_assert(n.is_switch);
}
END_TEST

START_TEST(least_that_is_allowed)
{
	struct neighbour n;

	BEGIN(MAC, "\x07" "7");
	n = decoded();
	ck_assert_str_eq(n.system, "02:00:00:00:ab:01");
	ck_assert_str_eq(n.port, "7");
	ck_assert_uint_eq(n.max_frame, 0);
	ck_assert(n.is_switch);
}
END_TEST

/* What a port is called: its own name, but what only machines can read gives way to a description. */
START_TEST(port_names)
{
	static const struct {
		const char *what, *id, *description, *wanted;
		size_t length;
	} rows[] = {
#define ROW(_what, _id, _description, _wanted) {_what, _id, _description, _wanted, sizeof(_id) - 1}
		ROW("interface name", "\x05" "ge-0/0/1", "uplink", "ge-0/0/1"),
		ROW("interface alias", "\x01" "rack 4", "Ethernet1", "rack 4"),
		ROW("port component", "\x02" "slot", "Ethernet1", "slot"),
		ROW("MAC", "\x03\x02\0\0\0\0\x01", "eth1", "eth1"),
		ROW("MAC alone", "\x03\x02\0\0\0\0\x01", "", "02:00:00:00:00:01"),
		ROW("IPv4", "\x04\x01\xc0\0\x02\x01", "", "192.0.2.1"),
		ROW("IPv4 with a description", "\x04\x01\xc0\0\x02\x01", "eth1", "eth1"),
		ROW("IPv6", "\x04\x02\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", "",
		    "2001:db8:0:0:0:0:0:1"),
		ROW("other network", "\x04\x06\x01\x02", "", "06:01:02"),
		ROW("index", "\x07" "547", "ge-0/0/1", "ge-0/0/1"),
		ROW("index alone", "\x07" "547", "", "547"),
		ROW("local name", "\x07" "1/1/C3", "CORE", "1/1/C3"),
		ROW("description of nothing", "\x07" "547", "\1", "\\x01"),
#undef ROW
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct neighbour n;

		begin_whole(MAC, sizeof(MAC) - 1, rows[i].id, rows[i].length);
		put(4, rows[i].description, strlen(rows[i].description));
		n = decoded();
		ck_assert_msg(strcmp(n.port, rows[i].wanted) == 0, "%s: %s", rows[i].what, n.port);
	}
}
END_TEST

START_TEST(a_host_is_no_switch)
{
	BEGIN(MAC, "\x05" "eth0");
	PUT(7, "\0\x9c\0\x80");
	ck_assert(!decoded().is_switch);
	BEGIN(MAC, "\x05" "eth0");
	PUT(7, "\0\x9c"); /* cut: it says nothing */
	ck_assert(decoded().is_switch);
}
END_TEST

START_TEST(goodbye)
{
	struct neighbour n;
	uint16_t ttl = 1;

	begin();
	PUT(1, MAC);
	PUT(2, "\x05" "Eth1/7");
	PUT(3, "\0\0");
	ck_assert(lldp_decode(frame.bytes, frame.length, &n, &ttl));
	ck_assert_uint_eq(ttl, 0);
}
END_TEST

START_TEST(refused)
{
	begin();
	assert_refused("empty");
	BEGIN(MAC, "\x05" "Eth1/7");
	frame.bytes[13] = 0;
	assert_refused("another protocol");
	begin();
	PUT(2, "\x05" "Eth1/7");
	PUT(1, MAC);
	PUT(3, "\0\x78");
	assert_refused("order");
	begin();
	PUT(1, "\x04");
	PUT(2, "\x05" "Eth1/7");
	PUT(3, "\0\x78");
	assert_refused("no chassis identifier");
	begin();
	PUT(1, MAC);
	PUT(2, "");
	PUT(3, "\0\x78");
	assert_refused("empty port");
	begin();
	PUT(1, MAC);
	PUT(2, "\x05" "Eth1/7");
	PUT(3, "\x78");
	assert_refused("short time to live");
	BEGIN(MAC, "\x05" "Eth1/7");
	PUT(2, "\x05" "Eth1/8");
	assert_refused("a second port");
	begin();
	PUT(1, MAC);
	PUT(2, "\x05" "Eth1/7");
	assert_refused("no time to live");
}
END_TEST

/* Cut anywhere: no news, or the whole mandatory part, and never a byte beyond the end. */
START_TEST(torn)
{
	static const char whole[] = "\x05" "Eth1/7";
	size_t mandatory;

	BEGIN(MAC, "\x05" "Eth1/7");
	mandatory = frame.length;
	PUT(5, "sw1");
	for (size_t length = 0; length <= frame.length; length++) {
		uint8_t *copy = malloc(length ? length : 1);
		struct neighbour n;
		uint16_t ttl;

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, frame.bytes, length);
		ck_assert_int_eq(lldp_decode(copy, length, &n, &ttl), length >= mandatory);
		if (length >= mandatory)
			ck_assert_str_eq(n.port, whole + 1);
		free(copy);
	}
}
END_TEST

START_TEST(text)
{
	static const struct {
		const char *text, *wanted;
		size_t length;
	} rows[] = {
#define ROW(_text, _wanted) {_text, _wanted, sizeof(_text) - 1}
		ROW("sw1", "sw1"),
		ROW("", ""),
		ROW("sw1\0\0\0", "sw1"),
		ROW("sw1   ", "sw1"),
		ROW("a\0b", "a\\x00b"),
		ROW("\x1b[31mred", "\\x1b[31mred"),
		ROW("a\nMESSAGE=b", "a\\x0aMESSAGE=b"),
		ROW("a\\x41", "a\\x5cx41"),
		ROW("caf\xc3\xa9", "caf\xc3\xa9"),
		ROW("\xe6\xa8\x93 3", "\xe6\xa8\x93 3"),
		ROW("caf\xe9", "caf\\xe9"),                     /* Latin 1 */
		ROW("\xc0\xaf", "\\xc0\\xaf"),                  /* overlong */
		ROW("\xe0\x80\xaf", "\\xe0\\x80\\xaf"),
		ROW("\xed\xa0\x80", "\\xed\\xa0\\x80"),         /* a surrogate */
		ROW("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"), /* beyond U+10FFFF */
		ROW("\xc2\x9b" "2J", "\\xc2\\x9b2J"),           /* C1: another escape */
		ROW("\xe2\x80\xae" "abc", "\\xe2\\x80\\xae" "abc"), /* right to left */
		ROW("\xe2\x80\x8b", "\\xe2\\x80\\x8b"),         /* no width at all */
		ROW("\xef\xb7\x90", "\\xef\\xb7\\x90"),         /* U+FDD0 is no character */
		ROW("\xf0\x9f\xbf\xbe", "\\xf0\\x9f\\xbf\\xbe"), /* neither is U+1FFFE */
		ROW("\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7"),     /* a penguin is */
		ROW("\xc3", "\\xc3"),                           /* torn */
#undef ROW
	};
	char clean[NEIGHBOUR_TEXT];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		lldp_text_clean((const uint8_t *)rows[i].text, rows[i].length, clean, sizeof(clean));
		ck_assert_str_eq(clean, rows[i].wanted);
	}
}
END_TEST

/* Cut at the end of a character or of an escape, with a sign that it was. */
START_TEST(text_is_bounded)
{
	char long_text[512], clean[16];

	memset(long_text, 'a', sizeof(long_text));
	lldp_text_clean((const uint8_t *)long_text, 15, clean, sizeof(clean));
	ck_assert_str_eq(clean, "aaaaaaaaaaaaaaa");
	lldp_text_clean((const uint8_t *)long_text, 16, clean, sizeof(clean));
	ck_assert_str_eq(clean, "aaaaaaaaaaaa...");
	lldp_text_clean((const uint8_t *)long_text, sizeof(long_text), clean, sizeof(clean));
	ck_assert_str_eq(clean, "aaaaaaaaaaaa...");
	memset(long_text, 1, sizeof(long_text));
	lldp_text_clean((const uint8_t *)long_text, sizeof(long_text), clean, sizeof(clean));
	ck_assert_str_eq(clean, "\\x01\\x01\\x01...");
	for (unsigned i = 0; i + 3 <= sizeof(long_text); i += 3)
		memcpy(long_text + i, "\xe6\xa8\x93", 3);
	lldp_text_clean((const uint8_t *)long_text, 33, clean, sizeof(clean));
	ck_assert_str_eq(clean, "\xe6\xa8\x93\xe6\xa8\x93\xe6\xa8\x93\xe6\xa8\x93...");
}
END_TEST

/* --- the records of systemd-networkd --- */

static struct {
	uint8_t bytes[4096];
	size_t length;
} record;

static void record_add(void)
{
	for (unsigned i = 0; i < 8; i++)
		record.bytes[record.length++] = (uint8_t)(i < 2 ? frame.length >> (8 * i) : 0);
	memcpy(record.bytes + record.length, frame.bytes, frame.length);
	record.length += frame.length;
}

START_TEST(records)
{
	struct cable cable;

	record.length = 0;
	ck_assert(!networkd_parse(record.bytes, 0, 3, &cable));
	BEGIN(MAC, "\x05" "eth0");
	PUT(5, "a-host");
	PUT(7, "\0\x80\0\x80");
	record_add();
	ck_assert(networkd_parse(record.bytes, record.length, 3, &cable));
	ck_assert_str_eq(cable.neighbour.system, "a-host");
	ck_assert_int_eq(cable.link, 3);
	ck_assert_uint_eq(cable.ttl_sec, 120);

	/* of several on one cable the switch is named */
	BEGIN(MAC, "\x05" "Eth1/7");
	PUT(5, "sw1");
	record_add();
	ck_assert(networkd_parse(record.bytes, record.length, 3, &cable));
	ck_assert_str_eq(cable.neighbour.system, "sw1");

	/* cut off, or with a length from nowhere: what was whole stands */
	ck_assert(networkd_parse(record.bytes, record.length - 1, 3, &cable));
	ck_assert_str_eq(cable.neighbour.system, "a-host");
	memset(record.bytes, 0xff, 8);
	ck_assert(!networkd_parse(record.bytes, record.length, 3, &cable));
}
END_TEST

START_TEST(record_names)
{
	ck_assert(networkd_is_record("2"));
	ck_assert(networkd_is_record("2147483647"));
	ck_assert(!networkd_is_record("2147483648"));
	ck_assert(!networkd_is_record("0"));
	ck_assert(!networkd_is_record("-1"));
	ck_assert(!networkd_is_record("2x"));
	ck_assert(!networkd_is_record(".#2a5b6c"));
	ck_assert(!networkd_is_record(""));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lldp");
	TCase *tcase = tcase_create("lldp");

	tcase_add_test(tcase, switch_and_port);
	tcase_add_test(tcase, least_that_is_allowed);
	tcase_add_test(tcase, port_names);
	tcase_add_test(tcase, a_host_is_no_switch);
	tcase_add_test(tcase, goodbye);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, torn);
	tcase_add_test(tcase, text);
	tcase_add_test(tcase, text_is_bounded);
	tcase_add_test(tcase, records);
	tcase_add_test(tcase, record_names);
	suite_add_tcase(suite, tcase);
	return tap_run(suite);
}
