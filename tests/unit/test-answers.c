/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One answer at a time to one round: whose it is, and what becomes of the try that it is about. */
#include <errno.h>
#include <string.h>

#include "../../daemon/core/round.h"
#include "tap.h"

#define FULL 9000U
#define CONTROL 68U
#define NONCE 0x1020304050607080ULL
#define FIRST 65535U /* the next one goes round */

struct scene {
	struct round round;
	struct pace pace;
	struct turn turn;
	struct address peer;
	struct burst burst;
};

/* A round that has just sent what it begins with: the control, and the full size beside it or next. */
static struct scene *scene_begin(enum probe_kind kind)
{
	static struct scene scene;
	const struct round_settings settings = {
		.kind = kind,
		.nonce = NONCE,
		.timeout_usec = USEC_PER_SEC,
		.full = FULL,
		.control = CONTROL,
		.least = CONTROL,
		.sane = 552,
		.plain = 40,
		.tries = 3,
		.first_sign = 6,
		.longest_usec = 300 * USEC_PER_SEC,
		.first_sequence = FIRST,
	};

	memset(&scene, 0, sizeof(scene));
	pace_init(&scene.pace, 0);
	scene.peer = (struct address){.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 1}};
	scene.turn = (struct turn){&scene.pace, NULL, &scene.peer};
	round_begin(&scene.round, &settings, USEC_PER_SEC);
	round_step(&scene.round, &scene.turn, USEC_PER_SEC, &scene.burst);
	ck_assert_uint_eq(scene.round.tries.list[0].size, CONTROL);
	return &scene;
}

static struct answer answer_to(const struct scene *scene, enum answer_kind kind, unsigned try)
{
	enum probe_kind probe = scene->round.settings.kind;
	uint16_t sequence = (uint16_t)(FIRST + try);

	return (struct answer){
		.kind = kind,
		.probe = probe,
		.from = scene->peer,
		.to = scene->peer,
		.sequence = sequence,
		.has_nonce = true,
		.nonce = probe_nonce(probe, NONCE, sequence),
		.size = scene->round.tries.list[try].size,
	};
}

static bool take(struct scene *scene, const struct answer *answer)
{
	return round_answer(&scene->round, answer, USEC_PER_SEC + 5000);
}

static enum try_state state_of(const struct scene *scene, unsigned try)
{
	return (enum try_state)scene->round.tries.list[try].state;
}

/* Hosts begin with 64, 128 or 255: what is missing was used up on the way. */
START_TEST(distances)
{
	static const struct {
		uint8_t ttl, distance;
	} rows[] = {{0, 0}, {64, 1}, {60, 5}, {65, 64}, {128, 1}, {120, 9}, {129, 127}, {255, 1}, {250, 6}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene *scene = scene_begin(PROBE_ECHO);
		struct answer answer = answer_to(scene, ANSWER_ECHO, 0);

		answer.ttl = rows[i].ttl;
		ck_assert(take(scene, &answer));
		ck_assert_uint_eq(scene->round.evidence.distance, rows[i].distance);
	}
}
END_TEST

/* A responder's receipt names what arrived, to the byte, and in one piece. */
START_TEST(receipts)
{
	struct scene *scene = scene_begin(PROBE_RESPONDER);
	struct answer receipt = answer_to(scene, ANSWER_DELIVERED, 1), answer;

	ck_assert_uint_eq(receipt.size, FULL);
	receipt.nonce++;
	ck_assert(!take(scene, &receipt));
	receipt.nonce--;
	receipt.has_nonce = false;
	ck_assert(!take(scene, &receipt));
	receipt.has_nonce = true;
	receipt.size--;
	ck_assert(!take(scene, &receipt));
	receipt.size++;
	receipt.fragment = 1500; /* somebody took it apart in spite of its DF */
	ck_assert(take(scene, &receipt));
	ck_assert_int_eq(state_of(scene, 1), TRY_WAITING);
	receipt.fragment = 0;
	ck_assert(take(scene, &receipt));
	ck_assert_int_eq(state_of(scene, 1), TRY_RECEIPT);
	ck_assert(take(scene, &receipt)); /* twice is as good as once */
	ck_assert_int_eq(state_of(scene, 1), TRY_RECEIPT);
	answer = answer_to(scene, ANSWER_ECHO, 1);
	ck_assert(take(scene, &answer));
	ck_assert_int_eq(state_of(scene, 1), TRY_ANSWERED);
	ck_assert(take(scene, &receipt));
	ck_assert(take(scene, &answer));
	ck_assert_int_eq(state_of(scene, 1), TRY_ANSWERED);
}
END_TEST

/* What the kernel dropped may have been the answer: it is asked again, and was not lost. */
START_TEST(overflow_after_a_receipt)
{
	struct scene *scene = scene_begin(PROBE_RESPONDER);
	struct answer receipt = answer_to(scene, ANSWER_DELIVERED, 0);

	ck_assert(take(scene, &receipt));
	round_overflow(&scene->round);
	ck_assert_int_eq(state_of(scene, 0), TRY_ASKED_AGAIN);
	ck_assert_int_eq(state_of(scene, 1), TRY_VOID);
	scene->round.tries.list[0].state = TRY_DELIVERED; /* waited for in vain */
	scene->round.tries.list[1].state = TRY_SILENT;
	round_overflow(&scene->round);
	ck_assert_int_eq(state_of(scene, 0), TRY_ASKED_AGAIN);
	ck_assert_int_eq(state_of(scene, 1), TRY_VOID);
	/* who sends no answer of its own had its say */
	scene = scene_begin(PROBE_SYN);
	scene->round.tries.list[0].state = TRY_DELIVERED;
	round_overflow(&scene->round);
	ck_assert_int_eq(state_of(scene, 0), TRY_DELIVERED);
}
END_TEST

/* Errors come late: one with another nonce, or about what was answered since, is another packet's. */
START_TEST(refusals)
{
	struct scene *scene = scene_begin(PROBE_ECHO);
	struct answer refused = answer_to(scene, ANSWER_REFUSED, 0);
	struct answer echo = answer_to(scene, ANSWER_ECHO, 0);

	refused.error = -EPERM;
	refused.nonce++;
	ck_assert(!take(scene, &refused));
	refused.nonce--;
	ck_assert(take(scene, &echo));
	ck_assert(!take(scene, &refused));
	ck_assert_int_eq(state_of(scene, 0), TRY_ANSWERED);
	refused = answer_to(scene, ANSWER_REFUSED, 1);
	refused.error = -EPERM;
	ck_assert(take(scene, &refused));
	ck_assert_int_eq(state_of(scene, 1), TRY_REFUSED);
}
END_TEST

/* A full queue is this host's own matter, unless the same size meets one every time. */
START_TEST(full_queues)
{
	static const struct {
		const char *what;
		enum try_state before;
		uint8_t burst;
		uint32_t size;
		enum try_state after;
	} rows[] = {
		{"for the first time", TRY_REPORTED, 0, 1500, TRY_VOID},
		{"once more", TRY_VOID, 0, 1500, TRY_WAITING},
		{"lost before", TRY_SILENT, 0, 1500, TRY_WAITING},
		{"in the same burst", TRY_VOID, 1, 1500, TRY_VOID},
		{"another size before", TRY_VOID, 0, 1400, TRY_VOID},
		{"it passed before", TRY_ANSWERED, 0, 1500, TRY_VOID},
		{"it arrived before", TRY_DELIVERED, 0, 1500, TRY_VOID},
		{"it was received before", TRY_RECEIPT, 0, 1500, TRY_VOID},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene *scene = scene_begin(PROBE_ECHO);
		struct answer refused;

		scene->round.tries.list[0] = (struct try){
			.size = (uint16_t)rows[i].size, .burst = rows[i].burst, .state = rows[i].before};
		scene->round.tries.list[1] = (struct try){.size = 1500, .burst = 1, .state = TRY_WAITING};
		refused = answer_to(scene, ANSWER_REFUSED, 1);
		refused.error = -ENOBUFS;
		ck_assert(take(scene, &refused));
		ck_assert_msg(state_of(scene, 1) == rows[i].after, "%s: %d", rows[i].what,
			      state_of(scene, 1));
	}
}
END_TEST

/* Only the peer's own word ends the search for a responder. */
START_TEST(unreachable)
{
	struct scene *scene = scene_begin(PROBE_RESPONDER);
	struct answer word = answer_to(scene, ANSWER_UNREACHABLE, 0);

	word.error = -EHOSTUNREACH;
	ck_assert(take(scene, &word));
	ck_assert(!scene->round.hopeless);
	word.error = -ECONNREFUSED;
	ck_assert(take(scene, &word));
	ck_assert(scene->round.hopeless);
	ck_assert_int_eq(scene->round.evidence.error, -ECONNREFUSED);
	scene = scene_begin(PROBE_ECHO);
	word = answer_to(scene, ANSWER_UNREACHABLE, 0);
	word.error = -ECONNREFUSED;
	ck_assert(take(scene, &word));
	ck_assert(!scene->round.hopeless);
}
END_TEST

/* A quote of a SYN holds sixteen bits that were made for it: with others it is somebody else's. */
START_TEST(reports_on_a_syn)
{
	struct scene *scene = scene_begin(PROBE_SYN);
	struct answer report = answer_to(scene, ANSWER_TOO_BIG, 0);

	report.has_nonce = false;
	report.nonce ^= 1;
	report.mtu = 60;
	ck_assert(!take(scene, &report));
	report.nonce ^= 1;
	ck_assert(take(scene, &report));
	ck_assert_int_eq(state_of(scene, 0), TRY_REPORTED);
}
END_TEST

/* A round that is over doubts nothing and takes nothing. */
START_TEST(over)
{
	struct scene *scene = scene_begin(PROBE_ECHO);
	struct answer echo = answer_to(scene, ANSWER_ECHO, 0);

	scene->round.settling = true;
	ck_assert(round_is_doubtful(&scene->round));
	scene->round.done = true;
	ck_assert(!round_is_doubtful(&scene->round));
	ck_assert(!take(scene, &echo));
}
END_TEST

/* A datagram that is quoted too short may be of either kind; nothing else is mistaken. */
START_TEST(kinds)
{
	static const enum probe_kind all[] = {PROBE_ECHO, PROBE_SYN, PROBE_UDP, PROBE_RESPONDER};

	for (unsigned asked = 0; asked < 4; asked++)
		for (unsigned about = 0; about < 4; about++)
			for (unsigned nonce = 0; nonce < 2; nonce++) {
				struct answer answer = {.probe = all[about], .has_nonce = nonce};
				bool alike = asked >= 2 && about >= 2 && !nonce;

				ck_assert_int_eq(probe_kind_fits(all[asked], &answer),
						 asked == about || alike);
			}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("answers");
	TCase *test = tcase_create("answers");

	tcase_add_test(test, distances);
	tcase_add_test(test, receipts);
	tcase_add_test(test, overflow_after_a_receipt);
	tcase_add_test(test, refusals);
	tcase_add_test(test, full_queues);
	tcase_add_test(test, unreachable);
	tcase_add_test(test, reports_on_a_syn);
	tcase_add_test(test, over);
	tcase_add_test(test, kinds);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
