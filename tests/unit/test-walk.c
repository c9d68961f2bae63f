/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A walk along paths whose every hop a test lays out: by each kind of packet, and past each lie. */
#include <string.h>

#include "../../daemon/core/walk.h"
#include "tap.h"

#define FULL 9000U
#define CONTROL 68U
#define NONCE 0x1122334455667788ULL
#define PEER_TTL 4 /* three routers, then the peer */

struct street {
	struct walk walk;
	struct pace pace;
	struct turn turn;
	struct address peer;
	uint64_t now;
	uint32_t full_until; /* hops that the full size reaches; the peer's is PEER_TTL */
	uint32_t silent;     /* bits: hops that say nothing */
	unsigned loses;      /* so many first answers get lost */
	unsigned sent, largest_together;
};

static struct address hop_address(unsigned hop)
{
	return (struct address){.family = ADDRESS_IPV4, .bytes = {192, 0, 2, (uint8_t)hop}};
}

static void street_begin(struct street *street, enum probe_kind kind, unsigned distance)
{
	const struct walk_settings settings = {
		.kind = kind,
		.nonce = NONCE,
		.wait_usec = 60 * USEC_PER_MSEC,
		.full = FULL,
		.control = CONTROL,
		.plain = 40,
		.distance = distance,
		.passes = 3,
		.patient = true,
		.first_sequence = 65530, /* it goes round */
	};

	memset(street, 0, sizeof(*street));
	pace_init(&street->pace, 0);
	street->peer = hop_address(PEER_TTL);
	street->turn = (struct turn){&street->pace, NULL, &street->peer};
	street->now = USEC_PER_SEC;
	walk_begin(&street->walk, &settings);
}

static struct answer answer_from(const struct street *street, enum answer_kind kind, unsigned hop,
				 uint16_t sequence, uint32_t size)
{
	enum probe_kind probe = street->walk.settings.kind;
	struct answer answer = {
		.kind = kind,
		.probe = probe,
		.from = hop_address(hop),
		.to = street->peer,
		.sequence = sequence,
		.has_nonce = true,
		.nonce = probe_nonce(probe, NONCE, sequence),
		.size = size,
	};

	if (probe != PROBE_SYN || kind != ANSWER_DELIVERED)
		return answer;
	answer.acknowledged = ((uint32_t)(answer.nonce & 0xffff) << 16 | sequence) + 1;
	answer.sequence = 0; /* neither of them is known */
	answer.nonce = 0;
	answer.has_nonce = false;
	return answer;
}

static enum answer_kind peers_kind(enum probe_kind kind)
{
	return kind == PROBE_SYN ? ANSWER_DELIVERED :
	       kind == PROBE_RESPONDER ? ANSWER_COOKIE : ANSWER_ECHO;
}

static void street_carry(struct street *street, const struct burst *burst)
{
	for (unsigned i = 0; i < burst->count; i++) {
		unsigned hop = burst->ttls[i] < PEER_TTL ? burst->ttls[i] : PEER_TTL;
		bool full = burst->sizes[i] == FULL;
		struct answer answer = answer_from(
			street,
			hop < PEER_TTL ? ANSWER_TIME_EXCEEDED : peers_kind(street->walk.settings.kind),
			hop, (uint16_t)(burst->first_sequence + i), burst->sizes[i]);

		street->sent++;
		ck_assert(full || burst->sizes[i] == CONTROL);
		if ((full && hop > street->full_until) || (street->silent >> hop & 1))
			continue;
		if (street->loses > 0)
			street->loses--;
		else
			ck_assert(walk_answer(&street->walk, &answer));
	}
}

static enum locus street_walked(struct street *street, struct address *ret_hop)
{
	for (unsigned steps = 0; !street->walk.done; steps++) {
		struct burst burst = {0};
		uint64_t next = walk_step(&street->walk, &street->turn, street->now, &burst);

		ck_assert_uint_lt(steps, 1000);
		if (burst.count == 0 && next != USEC_NEVER)
			street->now = next;
		if (burst.count > street->largest_together)
			street->largest_together = burst.count;
		street_carry(street, &burst);
	}
	return walk_result(&street->walk, ret_hop);
}

struct row {
	const char *what;
	unsigned distance, full_until;
	uint32_t silent;
	unsigned loses;
	enum locus locus;
	uint8_t hop;
	bool router_fails;
};

#define ALL (~0U)
/* clang-format off */
static const struct row rows[] = {
	{"lost behind the second router", .full_until = 2, .locus = LOCUS_AFTER, .hop = 2, .router_fails = true},
	{"the way's length known", .distance = 4, .full_until = 2, .locus = LOCUS_AFTER, .hop = 2, .router_fails = true},
	{"lost before any router", .full_until = 0, .locus = LOCUS_ON_LINK, .router_fails = true},
	{"lost before the peer alone", .full_until = 3, .locus = LOCUS_AFTER, .hop = 3},
	{"lost before the peer, how far it is known", .distance = 4, .full_until = 3, .locus = LOCUS_AFTER, .hop = 3},
	{"it gets through itself", .full_until = 4, .locus = LOCUS_NONE},
	{"no router says anything", .full_until = 2, .silent = ALL & ~(1U << PEER_TTL), .locus = LOCUS_NONE},
	{"nobody says anything", .full_until = 2, .silent = ALL, .locus = LOCUS_NONE},
	{"the first router is silent", .full_until = 2, .silent = 1 << 1, .locus = LOCUS_AFTER, .hop = 2, .router_fails = true},
	{"the second one is", .full_until = 2, .silent = 1 << 2, .locus = LOCUS_AFTER, .hop = 1, .router_fails = true},
	{"and it is lost behind the first hop", .full_until = 0, .silent = 1 << 1, .locus = LOCUS_NONE, .router_fails = true},
	{"the first answers get lost", .full_until = 2, .loses = 4, .locus = LOCUS_AFTER, .hop = 2, .router_fails = true},
	{"nearer than it was taken for", .distance = 9, .full_until = 2, .locus = LOCUS_AFTER, .hop = 2, .router_fails = true},
	{"a distance that cannot be", .distance = 200, .full_until = 2, .locus = LOCUS_AFTER, .hop = 2, .router_fails = true},
	{"the peer next door", .distance = 1, .full_until = 2, .locus = LOCUS_AFTER, .hop = 2, .router_fails = true},
};
/* clang-format on */
#define ROWS (sizeof(rows) / sizeof(rows[0]))

START_TEST(place_found)
{
	static const enum probe_kind kinds[] = {PROBE_ECHO, PROBE_SYN, PROBE_RESPONDER};
	const struct row *row = &rows[(unsigned)_i % ROWS];
	static struct street street;
	struct address hop;
	enum locus locus;

	street_begin(&street, kinds[(unsigned)_i / ROWS], row->distance);
	street.full_until = row->full_until;
	street.silent = row->silent;
	street.loses = row->loses;
	locus = street_walked(&street, &hop);
	ck_assert_msg(locus == row->locus && hop.bytes[3] == row->hop, "%s: locus %d, hop %u",
		      row->what, locus, hop.bytes[3]);
	ck_assert_msg(walk_router_fails(&street.walk) == row->router_fails, "%s", row->what);
	ck_assert_uint_le(street.largest_together, 2);
	/* and that is the end of it */
	ck_assert_uint_eq(walk_step(&street.walk, &street.turn, street.now, &(struct burst){0}),
			  USEC_NEVER);
}
END_TEST

/* A peer that answers once a second is not asked: the routers before it are. */
START_TEST(udp_ends_before_the_peer)
{
	static struct street street;
	struct address hop;

	street_begin(&street, PROBE_UDP, PEER_TTL);
	street.full_until = 2;
	ck_assert_int_eq(street_walked(&street, &hop), LOCUS_AFTER);
	ck_assert_int_eq(hop.bytes[3], 2);
	ck_assert_uint_eq(street.walk.end, 0);
	street_begin(&street, PROBE_UDP, 0);
	ck_assert_int_eq(street_walked(&street, &hop), LOCUS_NONE);
	ck_assert_uint_eq(street.sent, 0);
}
END_TEST

/* Without the time that routers need to speak again their silence is no witness. */
START_TEST(haste_is_no_witness)
{
	static struct street street;
	struct address hop;

	street_begin(&street, PROBE_ECHO, 0);
	street.walk.settings.patient = false;
	street.full_until = 2;
	ck_assert_int_eq(street_walked(&street, &hop), LOCUS_AFTER);
	ck_assert(!walk_router_fails(&street.walk));
}
END_TEST

/* The full size came through where the control was lost: nobody knows who that was. */
START_TEST(full_without_control)
{
	static struct street street;
	struct answer answer;
	struct address hop;

	street_begin(&street, PROBE_ECHO, 0);
	answer = answer_from(&street, ANSWER_TIME_EXCEEDED, 1, 65530, CONTROL);
	ck_assert(walk_answer(&street.walk, &answer));
	answer = answer_from(&street, ANSWER_TIME_EXCEEDED, 2, (uint16_t)(65530 + 3), FULL);
	ck_assert(walk_answer(&street.walk, &answer));
	ck_assert_int_eq(walk_result(&street.walk, &hop), LOCUS_NONE);
	ck_assert_int_eq(hop.family, ADDRESS_NONE);
}
END_TEST

/* Whose answers are not this walk's, and which ones move nothing. */
START_TEST(others_answers)
{
	static struct street street;
	struct answer answer;

	street_begin(&street, PROBE_ECHO, 0);
	answer = answer_from(&street, ANSWER_TIME_EXCEEDED, 1, 65530, CONTROL);
	answer.nonce++;
	ck_assert(!walk_answer(&street.walk, &answer));
	answer.has_nonce = false; /* the quote was too short for it */
	ck_assert(walk_answer(&street.walk, &answer));
	answer.sequence = (uint16_t)(65530 + 2 * WALK_HOPS);
	ck_assert(!walk_answer(&street.walk, &answer));
	answer = answer_from(&street, ANSWER_TIME_EXCEEDED, 1, 65530, CONTROL);
	answer.probe = PROBE_UDP;
	ck_assert(!walk_answer(&street.walk, &answer));

	/* a report is the walk's own, and says nothing of the hop */
	answer = answer_from(&street, ANSWER_TOO_BIG, 2, (uint16_t)(65530 + 3), FULL);
	ck_assert(walk_answer(&street.walk, &answer));
	ck_assert(!street.walk.hops[1].full && !street.walk.hops[1].control);

	/* errors come late: of a packet that was answered this is another's */
	answer = answer_from(&street, ANSWER_REFUSED, 0, 65530, CONTROL);
	ck_assert(!walk_answer(&street.walk, &answer));
	answer = answer_from(&street, ANSWER_REFUSED, 0, (uint16_t)(65530 + 1), FULL);
	ck_assert(walk_answer(&street.walk, &answer));
	ck_assert(!street.walk.hops[0].full);

	/* the nearer of two ends counts */
	answer = answer_from(&street, ANSWER_ECHO, PEER_TTL, (uint16_t)(65530 + 6), CONTROL);
	ck_assert(walk_answer(&street.walk, &answer));
	ck_assert_uint_eq(street.walk.end, 4);
	answer = answer_from(&street, ANSWER_ECHO, PEER_TTL, (uint16_t)(65530 + 8), CONTROL);
	ck_assert(walk_answer(&street.walk, &answer));
	ck_assert_uint_eq(street.walk.end, 4);
	street.walk.done = true;
	ck_assert(!walk_answer(&street.walk, &answer));
}
END_TEST

/* Of a SYN only the number that is acknowledged tells whose answer it is. */
START_TEST(syn_numbers)
{
	static struct street street;
	struct answer answer;

	street_begin(&street, PROBE_SYN, 0);
	answer = answer_from(&street, ANSWER_DELIVERED, PEER_TTL, 65530, CONTROL);
	answer.acknowledged += 7;
	ck_assert(!walk_answer(&street.walk, &answer));
	answer.acknowledged += CONTROL - 40 - 7; /* its data is acknowledged as well */
	ck_assert(walk_answer(&street.walk, &answer));
	ck_assert(street.walk.hops[0].control && !street.walk.hops[0].full);
	answer = answer_from(&street, ANSWER_TIME_EXCEEDED, 1, (uint16_t)(65530 + 1), FULL);
	answer.nonce ^= 1;
	ck_assert(!walk_answer(&street.walk, &answer));
	answer.nonce ^= 1 | 1ULL << 16; /* more than 16 bits of it are never there */
	ck_assert(walk_answer(&street.walk, &answer));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("walk");
	TCase *test = tcase_create("walk");

	tcase_add_loop_test(test, place_found, 0, 3 * ROWS);
	tcase_add_test(test, udp_ends_before_the_peer);
	tcase_add_test(test, haste_is_no_witness);
	tcase_add_test(test, full_without_control);
	tcase_add_test(test, others_answers);
	tcase_add_test(test, syn_numbers);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
