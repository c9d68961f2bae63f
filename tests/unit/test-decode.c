/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The codec of probes on bytes: what an encoded probe looks like, and what is made of replies and
 * reports, whole, cut short and wrong.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/world/decode.h"
#include "../../daemon/world/encode.h"
#include "../../daemon/world/responder_message.h"

#define NONCE 0x1122334455667788ULL

struct bytes {
	uint8_t data[2048];
	size_t length;
};

static void bytes_add(struct bytes *bytes, const void *data, size_t length)
{
	memcpy(bytes->data + bytes->length, data, length);
	bytes->length += length;
}

static void bytes_add_ipv4(struct bytes *bytes, uint16_t total, uint16_t fragment, unsigned words)
{
	uint8_t header[60] = {0x40, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0, 192, 0, 2, 1, 192, 0, 2, 9};

	header[0] |= (uint8_t)words;
	header[2] = (uint8_t)(total >> 8);
	header[3] = (uint8_t)total;
	header[6] = (uint8_t)(fragment >> 8);
	header[7] = (uint8_t)fragment;
	bytes_add(bytes, header, words * 4);
}

static void bytes_add_ipv6(struct bytes *bytes, uint16_t payload, uint8_t next)
{
	uint8_t header[40] = {0x60};

	header[4] = (uint8_t)(payload >> 8);
	header[5] = (uint8_t)payload;
	header[6] = next;
	header[8] = 0xfe;
	header[9] = 0x80;
	header[23] = 1;
	header[24] = 0xfe;
	header[25] = 0x80;
	header[39] = 9;
	bytes_add(bytes, header, sizeof(header));
}

static void bytes_add_echo(struct bytes *bytes, uint8_t type)
{
	const uint8_t header[8] = {type, 0, 0xab, 0xcd, 0x12, 0x34, 0x56, 0x78};
	const uint64_t nonce = NONCE;

	bytes_add(bytes, header, sizeof(header));
	bytes_add(bytes, &nonce, sizeof(nonce));
}

static void bytes_add_report(struct bytes *bytes, uint8_t type, uint8_t code, uint32_t mtu)
{
	const uint8_t header[8] = {type,
				   code,
				   0,
				   0,
				   (uint8_t)(mtu >> 24),
				   (uint8_t)(mtu >> 16),
				   (uint8_t)(mtu >> 8),
				   (uint8_t)mtu};

	bytes_add(bytes, header, sizeof(header));
}

static struct bytes report_ipv4(uint8_t type, uint8_t code, uint32_t mtu)
{
	struct bytes bytes = {.length = 0};

	bytes_add_ipv4(&bytes, 576, 0, 5);
	bytes_add_report(&bytes, type, code, mtu);
	bytes_add_ipv4(&bytes, 9000, 0x4000, 5);
	bytes_add_echo(&bytes, 8);
	return bytes;
}

static struct bytes report_ipv6(uint8_t type, uint8_t code, uint32_t mtu)
{
	struct bytes bytes = {.length = 0};

	bytes_add_report(&bytes, type, code, mtu);
	bytes_add_ipv6(&bytes, 8960, 58);
	bytes_add_echo(&bytes, 128);
	return bytes;
}

/* In memory of exactly that size, so that the sanitizer sees the first byte too many. */
static bool decode_exactly(bool ipv6, const struct bytes *bytes, size_t captured,
			   struct answer *ret)
{
	uint8_t *copy = malloc(captured > 0 ? captured : 1);
	bool valid;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes->data, captured);
	valid = ipv6 ? decode_icmpv6(copy, captured, bytes->length, ret)
		     : decode_icmp(copy, captured, bytes->length, ret);
	free(copy);
	return valid;
}

static void assert_ours(const struct answer *answer, enum answer_kind kind, uint32_t size)
{
	ck_assert_int_eq(answer->kind, kind);
	ck_assert_uint_eq(answer->size, size);
	ck_assert_uint_eq(answer->ident, 0x1234);
	ck_assert_uint_eq(answer->sequence, 0x5678);
	ck_assert(answer->has_nonce);
	ck_assert(answer->nonce == NONCE);
}

START_TEST(echo_replies)
{
	struct bytes bytes = {.length = 0};
	struct answer answer;

	bytes_add_ipv4(&bytes, 1500, 0, 5);
	bytes_add_echo(&bytes, 0);
	bytes.length = 1500;
	ck_assert(decode_exactly(false, &bytes, 256, &answer));
	assert_ours(&answer, ANSWER_ECHO, 1500);

	bytes = (struct bytes){.length = 0};
	bytes_add_ipv4(&bytes, 76, 0, 7); /* with options */
	bytes_add_echo(&bytes, 0);
	ck_assert(decode_exactly(false, &bytes, bytes.length, &answer));
	assert_ours(&answer, ANSWER_ECHO, 44);

	bytes = (struct bytes){.length = 0};
	bytes_add_echo(&bytes, 129);
	bytes.length = 1960;
	ck_assert(decode_exactly(true, &bytes, 256, &answer));
	assert_ours(&answer, ANSWER_ECHO, 2000);
	ck_assert(decode_icmpv6(bytes.data, 256, 65535, &answer));
	ck_assert_uint_eq(answer.size, 65575);
}
END_TEST

START_TEST(echo_without_nonce)
{
	struct bytes bytes = {.length = 0};
	struct answer answer;

	bytes_add_ipv4(&bytes, 35, 0, 5);
	bytes_add_echo(&bytes, 0);
	bytes.length = 35; /* somebody else's short ping */
	ck_assert(decode_exactly(false, &bytes, 35, &answer));
	ck_assert(!answer.has_nonce);
	ck_assert_uint_eq(answer.size, 35);
}
END_TEST

START_TEST(not_answers)
{
	static const uint8_t types[] = {3, 4, 5, 8, 11, 12, 13, 14, 40, 128, 255};
	struct answer answer = {.size = 7};

	for (unsigned i = 0; i < sizeof(types); i++) {
		struct bytes bytes = {.length = 0};

		bytes_add_ipv4(&bytes, 44, 0, 5);
		bytes_add_echo(&bytes, types[i]);
		ck_assert(!decode_exactly(false, &bytes, bytes.length, &answer));
		ck_assert_uint_eq(answer.size, 7); /* written only on success */
	}
}
END_TEST

START_TEST(too_big)
{
	struct answer answer;
	struct bytes bytes = report_ipv4(3, 4, 0xffff05dc); /* the other half is not ours to read */

	ck_assert(decode_exactly(false, &bytes, bytes.length, &answer));
	assert_ours(&answer, ANSWER_TOO_BIG, 9000);
	ck_assert_uint_eq(answer.mtu, 1500);
	ck_assert_uint_eq(answer.to.family, ADDRESS_IPV4);
	ck_assert_uint_eq(answer.to.bytes[0], 192);
	ck_assert_uint_eq(answer.to.bytes[3], 9);
	ck_assert_uint_eq(answer.to.bytes[4], 0);

	bytes = report_ipv6(2, 0, 0x12345678);
	ck_assert(decode_exactly(true, &bytes, bytes.length, &answer));
	assert_ours(&answer, ANSWER_TOO_BIG, 9000);
	ck_assert_uint_eq(answer.mtu, 0x12345678);
	ck_assert_uint_eq(answer.to.family, ADDRESS_IPV6);
	ck_assert_uint_eq(answer.to.bytes[15], 9);
}
END_TEST

START_TEST(unreachable)
{
	static const struct {
		bool ipv6;
		uint8_t code;
		int error;
	} cases[] = {
		{false, 0, -ENETUNREACH},  {false, 1, -EHOSTUNREACH},  {false, 2, -ENOPROTOOPT},
		{false, 3, -ECONNREFUSED}, {false, 5, -EHOSTUNREACH},  {false, 9, -EACCES},
		{false, 10, -EACCES},	   {false, 13, -EACCES},       {false, 200, -EHOSTUNREACH},
		{true, 0, -ENETUNREACH},   {true, 1, -EACCES},	       {true, 2, -EHOSTUNREACH},
		{true, 3, -EHOSTUNREACH},  {true, 4, -ECONNREFUSED},   {true, 5, -EACCES},
		{true, 6, -EACCES},	   {true, 200, -EHOSTUNREACH},
	};
	struct answer answer;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes bytes = cases[i].ipv6 ? report_ipv6(1, cases[i].code, 0)
						   : report_ipv4(3, cases[i].code, 0);

		ck_assert(decode_exactly(cases[i].ipv6, &bytes, bytes.length, &answer));
		assert_ours(&answer, ANSWER_UNREACHABLE, 9000);
		ck_assert_int_eq(answer.error, cases[i].error);
	}
}
END_TEST

START_TEST(time_exceeded)
{
	struct answer answer;
	struct bytes bytes = report_ipv4(11, 0, 0);

	ck_assert(decode_exactly(false, &bytes, bytes.length, &answer));
	assert_ours(&answer, ANSWER_TIME_EXCEEDED, 9000);
	bytes = report_ipv6(3, 0, 0);
	ck_assert(decode_exactly(true, &bytes, bytes.length, &answer));
	assert_ours(&answer, ANSWER_TIME_EXCEEDED, 9000);

	bytes = report_ipv4(11, 1, 0); /* reassembly took too long: no hop's doing */
	ck_assert(!decode_exactly(false, &bytes, bytes.length, &answer));
	bytes = report_ipv6(3, 1, 0);
	ck_assert(!decode_exactly(true, &bytes, bytes.length, &answer));
}
END_TEST

START_TEST(short_quotes)
{
	struct answer answer;
	struct bytes bytes = report_ipv4(3, 4, 1500);

	/* RFC 792: the header and 64 bits are all that a router has to quote */
	for (size_t captured = 0; captured <= bytes.length; captured++) {
		bool valid = decode_exactly(false, &bytes, captured, &answer);

		ck_assert_int_eq(valid, captured >= 20 + 8 + 20 + 8);
		if (valid)
			ck_assert_int_eq(answer.has_nonce, captured >= 20 + 8 + 20 + 16);
	}
	bytes = report_ipv6(2, 0, 1500);
	for (size_t captured = 0; captured <= bytes.length; captured++) {
		bool valid = decode_exactly(true, &bytes, captured, &answer);

		ck_assert_int_eq(valid, captured >= 8 + 40 + 8);
		if (valid)
			ck_assert_int_eq(answer.has_nonce, captured >= 8 + 40 + 16);
	}
}
END_TEST

START_TEST(quotes_of_others)
{
	struct answer answer;
	struct bytes good = report_ipv4(3, 4, 1500), bytes;
	static const struct {
		size_t at;
		uint8_t value;
	} spoils[] = {
		{28, 0x65},			  /* version 6 */
		{28, 0x44},			  /* header of 16 bytes */
		{28, 0x4f},			  /* header longer than the quote */
		{34, 0x20 | 1},			  /* a later fragment */
		{35, 1},	{37, 2}, {48, 0}, /* an echo reply of ours */
		{49, 1},			  /* no echo has a code */
	};

	ck_assert(decode_exactly(false, &good, good.length, &answer));
	for (unsigned i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		bytes = good;
		bytes.data[spoils[i].at] = spoils[i].value;
		ck_assert_msg(!decode_exactly(false, &bytes, bytes.length, &answer), "spoil %u", i);
	}
	bytes = good;
	bytes.data[34] = 0x20; /* a first fragment tells all */
	ck_assert(decode_exactly(false, &bytes, bytes.length, &answer));
}
END_TEST

START_TEST(quoted_options)
{
	struct bytes bytes = {.length = 0};
	struct answer answer;

	bytes_add_ipv4(&bytes, 576, 0, 15);
	bytes_add_report(&bytes, 3, 4, 1400);
	bytes_add_ipv4(&bytes, 1500, 0x4000, 15);
	bytes_add_echo(&bytes, 8);
	ck_assert_uint_le(bytes.length, 256); /* what the prober reads of a packet */
	ck_assert(decode_exactly(false, &bytes, bytes.length, &answer));
	assert_ours(&answer, ANSWER_TOO_BIG, 1500);
}
END_TEST

static struct bytes report_extended(const uint8_t *extensions, size_t length, uint8_t first)
{
	struct bytes bytes = {.length = 0};

	bytes_add_report(&bytes, 2, 0, 1400);
	bytes_add_ipv6(&bytes, 1460, first);
	bytes_add(&bytes, extensions, length);
	bytes_add_echo(&bytes, 128);
	return bytes;
}

START_TEST(quoted_extensions)
{
	/* hop-by-hop, destination options of 16 bytes, first fragment */
	const uint8_t chain[32] = {[0] = 60, [8] = 44, [9] = 1, [24] = 58, [27] = 1};
	uint8_t many[72] = {0};
	struct answer answer;
	struct bytes bytes = report_extended(chain, sizeof(chain), 0);

	ck_assert(decode_exactly(true, &bytes, bytes.length, &answer));
	assert_ours(&answer, ANSWER_TOO_BIG, 1500);
	for (size_t captured = 0; captured < 8 + 40 + 32 + 8; captured++)
		ck_assert(!decode_exactly(true, &bytes, captured, &answer));

	bytes.data[8 + 40 + 27] = 9; /* no longer the first fragment */
	ck_assert(!decode_exactly(true, &bytes, bytes.length, &answer));
	bytes.data[8 + 40 + 27] = 1;
	bytes.data[8 + 40 + 9] = 255; /* longer than the quote */
	ck_assert(!decode_exactly(true, &bytes, bytes.length, &answer));
	bytes = report_extended(chain, 0, 17);
	ck_assert(!decode_exactly(true, &bytes, bytes.length, &answer));

	many[64] = 58; /* nine in a row are nobody's probe */
	bytes = report_extended(many, sizeof(many), 0);
	ck_assert(!decode_exactly(true, &bytes, bytes.length, &answer));
}
END_TEST

/* The checksum by the book, over every byte, must come out right for every size. */
START_TEST(encoded_checksum)
{
	struct probe probe = {.nonce = 0xfedcba9876543210ULL, .ident = 0xffff, .sequence = 0x8001};
	uint8_t *packet = malloc(SIZE_LARGEST + 1);

	ck_assert_ptr_nonnull(packet);
	probe.to = (struct address){ADDRESS_IPV4, {192, 0, 2, 9}, 0};
	for (uint32_t size = 36; size <= SIZE_LARGEST; size += size < 1600 ? 1 : 997) {
		uint32_t sum = 0;
		unsigned header;

		probe.size = size;
		ck_assert_int_eq(encode_check(&probe), 0);
		header = encode_packet(&probe, 64, packet);
		for (uint32_t i = header; i < size; i++)
			packet[i] = (i - header) % 2 == 0 ? 0x5a : 0xa5;
		packet[size] = 0;
		for (uint32_t i = 20; i < size; i += 2)
			sum += (uint32_t)packet[i] << 8 | packet[i + 1];
		while (sum > 0xffff)
			sum = (sum & 0xffff) + (sum >> 16);
		ck_assert_uint_eq(sum, 0xffff);
		ck_assert_uint_eq((uint32_t)packet[2] << 8 | packet[3], size);
	}
	free(packet);
}
END_TEST

START_TEST(encoded_header)
{
	struct probe probe = {.nonce = 1, .size = 1500, .ident = 0x1234, .sequence = 0x5678};
	uint8_t header[ENCODE_HEADER_LARGEST];

	probe.to = (struct address){ADDRESS_IPV4, {192, 0, 2, 9}, 0};
	probe.from = (struct address){ADDRESS_IPV4, {192, 0, 2, 1}, 0};
	ck_assert_uint_eq(encode_packet(&probe, 64, header), 36);
	ck_assert_uint_eq(header[6], 0x40); /* DF alone */
	ck_assert_uint_eq(header[7], 0);
	ck_assert_uint_eq(header[8], 64);
	ck_assert_mem_eq(header + 12, "\xc0\x00\x02\x01\xc0\x00\x02\x09\x08\x00", 10);
	ck_assert_mem_eq(header + 24, "\x12\x34\x56\x78", 4);
	probe.ttl = 3;
	encode_packet(&probe, 64, header);
	ck_assert_uint_eq(header[8], 3);
	ck_assert_uint_eq(encode_icmpv6(&probe, header), 16);
	ck_assert_mem_eq(header, "\x80\x00\x00\x00\x12\x34\x56\x78", 8);
}
END_TEST

START_TEST(encode_refuses)
{
	struct probe probe = {.size = 100};

	ck_assert_int_eq(encode_check(&probe), -EAFNOSUPPORT);
	probe.to.family = ADDRESS_IPV4;
	ck_assert_int_eq(encode_check(&probe), 0);
	probe.from.family = ADDRESS_IPV6;
	ck_assert_int_eq(encode_check(&probe), -EINVAL);
	probe.from.family = ADDRESS_NONE;
	probe.size = 35;
	ck_assert_int_eq(encode_check(&probe), -EINVAL);
	probe.size = 65536;
	ck_assert_int_eq(encode_check(&probe), -EMSGSIZE);
	probe.to.family = ADDRESS_IPV6;
	probe.size = 55;
	ck_assert_int_eq(encode_check(&probe), -EINVAL);
	probe.size = 65535;
	ck_assert_int_eq(encode_check(&probe), 0);
}
END_TEST

static const struct address ends[2][2] = {
	{{ADDRESS_IPV4, {192, 0, 2, 1}, 0}, {ADDRESS_IPV4, {192, 0, 2, 9}, 0}},
	{{ADDRESS_IPV6, {0x20, 1, 0xd, 0xb8, [15] = 1}, 0},
	 {ADDRESS_IPV6, {0x20, 1, 0xd, 0xb8, [15] = 9}, 0}},
};

static struct probe method_probe(enum probe_kind kind, bool ipv6)
{
	return (struct probe){.kind = kind,
			      .nonce = NONCE,
			      .cookie = 0xc00c1e,
			      .from = ends[ipv6][0],
			      .to = ends[ipv6][1],
			      .size = 1500,
			      .ident = 0x1234,
			      .port = 2049,
			      .sequence = 0x5678};
}

/* The whole packet of a probe, the pattern behind its head. */
static void probe_packet(const struct probe *probe, uint8_t *packet)
{
	unsigned header = encode_packet(probe, 64, packet);

	for (uint32_t i = header; i < probe->size; i++)
		packet[i] = (i - header) % 2 == 0 ? 0x5a : 0xa5;
	packet[probe->size] = 0;
}

/* A report that quotes `quoted` bytes of the probe. */
static struct bytes report_about(const struct probe *probe, size_t quoted)
{
	bool ipv6 = probe->to.family == ADDRESS_IPV6;
	uint8_t *packet = malloc(SIZE_LARGEST + 1);
	struct bytes bytes = {.length = 0};

	ck_assert_ptr_nonnull(packet);
	probe_packet(probe, packet);
	if (!ipv6)
		bytes_add_ipv4(&bytes, 576, 0, 5);
	bytes_add_report(&bytes, ipv6 ? 2 : 3, ipv6 ? 0 : 4, 1400);
	bytes_add(&bytes, packet, quoted);
	free(packet);
	return bytes;
}

START_TEST(quoted_syn)
{
	for (unsigned ipv6 = 0; ipv6 < 2; ipv6++) {
		struct probe probe = method_probe(PROBE_SYN, ipv6);
		size_t ip = ipv6 ? 40 : 20;
		struct answer answer;

		for (size_t quoted = 0; quoted <= 200; quoted++) {
			struct bytes bytes = report_about(&probe, quoted);
			bool valid = decode_exactly(ipv6, &bytes, bytes.length, &answer);

			ck_assert_int_eq(valid, quoted >= ip + 8);
			if (!valid)
				continue;
			ck_assert_int_eq(answer.kind, ANSWER_TOO_BIG);
			ck_assert_int_eq(answer.probe, PROBE_SYN);
			ck_assert_uint_eq(answer.ident, 0x1234);
			ck_assert_uint_eq(answer.sequence, 0x5678);
			ck_assert(!answer.has_nonce && answer.nonce == (NONCE & 0xffff));
			ck_assert_uint_eq(answer.size, 1500);
			ck_assert(address_equal(&answer.to, &probe.to));
		}
	}
}
END_TEST

/* Segments of this host's connections are no SYN of ours. */
START_TEST(quoted_connection)
{
	struct probe probe = method_probe(PROBE_SYN, false);
	struct bytes bytes = report_about(&probe, 100);
	struct answer answer;

	bytes.data[20 + 8 + 20 + 13] = 0x10;
	ck_assert(!decode_exactly(false, &bytes, bytes.length, &answer));
}
END_TEST

START_TEST(quoted_datagrams)
{
	static const enum probe_kind kinds[] = {PROBE_UDP, PROBE_RESPONDER};

	for (unsigned i = 0; i < 4; i++) {
		bool ipv6 = i % 2 != 0;
		struct probe probe = method_probe(kinds[i / 2], ipv6);
		size_t ip = ipv6 ? 40 : 20;
		struct answer answer;

		for (size_t quoted = 0; quoted <= 200; quoted++) {
			struct bytes bytes = report_about(&probe, quoted);
			bool valid = decode_exactly(ipv6, &bytes, bytes.length, &answer);
			bool whole = quoted >= ip + 8 + 32;

			/* only IPv4's identification tells the sequence of a short one */
			ck_assert_int_eq(valid, whole || (!ipv6 && quoted >= ip + 8));
			if (!valid)
				continue;
			ck_assert_int_eq(answer.probe, whole ? kinds[i / 2] : PROBE_UDP);
			ck_assert_uint_eq(answer.ident, 0x1234);
			ck_assert_uint_eq(answer.sequence, 0x5678);
			ck_assert_int_eq(answer.has_nonce, whole);
			ck_assert(!whole || answer.nonce == NONCE);
			ck_assert_uint_eq(answer.size, 1500);
		}
	}
}
END_TEST

START_TEST(segments)
{
	static const struct {
		uint8_t flags;
		bool valid, opened;
	} cases[] = {
		{0x12, true, true},   {0x14, true, false},  {0x52, true, true}, /* ECE */
		{0x04, false, false}, {0x10, false, false}, {0x02, false, false},
		{0x16, false, false}, {0x18, false, false}, {0x00, false, false},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]) * 2; i++) {
		bool ipv6 = i % 2 != 0;
		uint8_t tcp[20] = {0x08, 0x01, 0x12, 0x34, 1,	 2,   3,
				   4,	 0xfe, 0xdc, 0xba, 0x98, 0x50};
		struct bytes bytes = {.length = 0};
		struct segment segment;
		uint8_t family = ipv6 ? ADDRESS_IPV6 : ADDRESS_IPV4;

		tcp[13] = cases[i / 2].flags;
		if (!ipv6) {
			bytes_add_ipv4(&bytes, 44, 0, 6);
			bytes.data[9] = 6;
		}
		bytes_add(&bytes, tcp, sizeof(tcp));
		ck_assert_int_eq(decode_segment(family, bytes.data, bytes.length, &segment),
				 cases[i / 2].valid);
		ck_assert(!decode_segment(family, bytes.data, bytes.length - 1, &segment));
		if (!cases[i / 2].valid)
			continue;
		ck_assert_uint_eq(segment.from_port, 2049);
		ck_assert_uint_eq(segment.to_port, 0x1234);
		ck_assert_uint_eq(segment.acknowledged, 0xfedcba98);
		ck_assert_int_eq(segment.opened, cases[i / 2].opened);
	}
}
END_TEST

START_TEST(datagrams)
{
	struct responder_message message = {.sequence = 0x5678,
					    .nonce = NONCE,
					    .cookie = 0xc00c1e,
					    .size = 9000,
					    .fragment = 1480};
	static const enum answer_kind kinds[] = {
		[RESPONDER_RECEIPT] = ANSWER_DELIVERED,
		[RESPONDER_ANSWER] = ANSWER_ECHO,
		[RESPONDER_COOKIE] = ANSWER_COOKIE,
	};
	uint8_t bytes[RESPONDER_MESSAGE_SIZE];
	struct answer answer;

	for (message.kind = RESPONDER_PROBE; message.kind <= RESPONDER_COOKIE; message.kind++) {
		responder_message_encode(&message, bytes);
		ck_assert(!decode_datagram(ADDRESS_IPV4, bytes, 31, 31, &answer));
		ck_assert_int_eq(decode_datagram(ADDRESS_IPV6, bytes, 32, 8952, &answer),
				 message.kind != RESPONDER_PROBE);
		if (message.kind == RESPONDER_PROBE)
			continue;
		ck_assert_int_eq(answer.probe, PROBE_RESPONDER);
		ck_assert_uint_eq(answer.sequence, 0x5678);
		ck_assert(answer.has_nonce && answer.nonce == NONCE);
		ck_assert_int_eq(answer.kind, kinds[message.kind]);
		ck_assert_uint_eq(answer.size, 9000);
		ck_assert_uint_eq(answer.fragment, message.kind == RESPONDER_RECEIPT ? 1480 : 0);
		ck_assert(answer.cookie == (message.kind == RESPONDER_COOKIE ? 0xc00c1e : 0));
	}
	ck_assert(decode_datagram(ADDRESS_IPV4, bytes, 32, 972, &answer));
	ck_assert_uint_eq(answer.size, 1000);
	bytes[0] ^= 1;
	ck_assert(!decode_datagram(ADDRESS_IPV4, bytes, 32, 972, &answer));
}
END_TEST

/* By the book, over header of the addresses and every byte; the kinds that carry their own. */
static uint16_t transport_sum(const uint8_t *packet, const struct probe *probe, unsigned protocol)
{
	unsigned ip = probe->to.family == ADDRESS_IPV6 ? 40 : 20;
	uint32_t sum = protocol + probe->size - ip;

	for (unsigned i = 0; i < 16; i += 2) {
		sum += (uint32_t)probe->from.bytes[i] << 8 | probe->from.bytes[i + 1];
		sum += (uint32_t)probe->to.bytes[i] << 8 | probe->to.bytes[i + 1];
	}
	for (uint32_t i = ip; i < probe->size; i += 2)
		sum += (uint32_t)packet[i] << 8 | packet[i + 1];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

START_TEST(encoded_checksum_of_methods)
{
	static const enum probe_kind kinds[] = {PROBE_SYN, PROBE_UDP, PROBE_RESPONDER};
	uint8_t *packet = malloc(SIZE_LARGEST + 1);

	ck_assert_ptr_nonnull(packet);
	for (unsigned i = 0; i < 6; i++) {
		struct probe probe = method_probe(kinds[i / 2], i % 2 != 0);
		unsigned protocol = kinds[i / 2] == PROBE_SYN ? 6 : 17;

		for (probe.size = 36; probe.size <= SIZE_LARGEST;
		     probe.size += probe.size < 1600 ? 1 : 997) {
			if (encode_check(&probe) == -EINVAL)
				continue;
			probe_packet(&probe, packet);
			ck_assert_uint_eq(transport_sum(packet, &probe, protocol), 0xffff);
		}
	}
	free(packet);
}
END_TEST

/* RFC 768: a sum of 0 is written as all ones. */
START_TEST(encoded_checksum_zero)
{
	struct probe probe = method_probe(PROBE_UDP, false);
	uint8_t header[ENCODE_HEADER_LARGEST];
	unsigned found = 0;

	for (unsigned port = 1; port <= 65535; port++) {
		probe.port = (uint16_t)port;
		encode_packet(&probe, 64, header);
		ck_assert(header[26] != 0 || header[27] != 0);
		found += header[26] == 0xff && header[27] == 0xff;
	}
	ck_assert_uint_eq(found, 1);
}
END_TEST

START_TEST(encoded_reset)
{
	for (unsigned ipv6 = 0; ipv6 < 2; ipv6++) {
		struct probe probe = method_probe(PROBE_SYN, ipv6);
		uint8_t packet[ENCODE_HEADER_LARGEST];
		unsigned ip = ipv6 ? 40 : 20;

		ck_assert_uint_eq(encode_reset(&probe, 0x89abcdef, 64, packet), ip + 20);
		ck_assert_mem_eq(packet + ip, "\x12\x34\x08\x01\x89\xab\xcd\xef\0\0\0\0\x50\x04",
				 14);
		probe.size = ip + 20;
		ck_assert_uint_eq(transport_sum(packet, &probe, 6), 0xffff);
		ck_assert_uint_eq(encode_number(&probe), 0x77885678);
	}
}
END_TEST

START_TEST(encode_refuses_methods)
{
	static const enum probe_kind kinds[] = {PROBE_SYN, PROBE_UDP, PROBE_RESPONDER};

	for (unsigned i = 0; i < 6; i++) {
		bool ipv6 = i % 2 != 0;
		struct probe probe = method_probe(kinds[i / 2], ipv6);
		uint32_t smallest = (ipv6 ? 40 : 20) + (kinds[i / 2] == PROBE_SYN ? 20 : 40);

		ck_assert_int_eq(encode_check(&probe), 0);
		probe.size = smallest;
		ck_assert_int_eq(encode_check(&probe), 0);
		probe.size--;
		ck_assert_int_eq(encode_check(&probe), -EINVAL);
		probe = method_probe(kinds[i / 2], ipv6);
		probe.port = 0;
		ck_assert_int_eq(encode_check(&probe), -EINVAL);
		probe.port = 1;
		probe.from.family = ADDRESS_NONE;
		ck_assert_int_eq(encode_check(&probe), -EADDRNOTAVAIL);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decode");
	TCase *tests = tcase_create("bytes");
	SRunner *runner;

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, echo_replies);
	tcase_add_test(tests, echo_without_nonce);
	tcase_add_test(tests, not_answers);
	tcase_add_test(tests, too_big);
	tcase_add_test(tests, unreachable);
	tcase_add_test(tests, time_exceeded);
	tcase_add_test(tests, short_quotes);
	tcase_add_test(tests, quotes_of_others);
	tcase_add_test(tests, quoted_options);
	tcase_add_test(tests, quoted_extensions);
	tcase_add_test(tests, encoded_checksum);
	tcase_add_test(tests, encoded_header);
	tcase_add_test(tests, encode_refuses);
	tcase_add_test(tests, quoted_syn);
	tcase_add_test(tests, quoted_connection);
	tcase_add_test(tests, quoted_datagrams);
	tcase_add_test(tests, segments);
	tcase_add_test(tests, datagrams);
	tcase_add_test(tests, encoded_checksum_of_methods);
	tcase_add_test(tests, encoded_checksum_zero);
	tcase_add_test(tests, encoded_reset);
	tcase_add_test(tests, encode_refuses_methods);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	srunner_free(runner);
	return EXIT_SUCCESS;
}
