/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples of loss, by each method, on paths whose every loss a test decides. */
#include <string.h>

#include "../../daemon/core/sample.h"
#include "tap.h"

#define NONCE 0x8877665544332211ULL
#define FIRST 65500U /* it goes round */

struct scene {
	struct sample sample;
	struct pace pace;
	struct turn turn;
	struct address peer;
	uint64_t now, dice;
	unsigned lost_there[3], lost_back[3]; /* of a hundred of each size */
	unsigned sent;
	uint64_t last_usec, least_gap_usec;
};

static const uint32_t sizes[3] = {68, 4534, 9000};

static void scene_begin(struct scene *scene, enum probe_kind kind, unsigned most)
{
	const struct sample_settings settings = {
		.kind = kind,
		.nonce = NONCE,
		.wait_usec = 60 * USEC_PER_MSEC,
		.sizes = {sizes[0], sizes[1], sizes[2]},
		.plain = 40,
		.most = most,
		.first_sequence = FIRST,
	};

	memset(scene, 0, sizeof(*scene));
	pace_init(&scene->pace, 0);
	scene->peer = (struct address){.family = ADDRESS_IPV4, .bytes = {192, 0, 2, 1}};
	scene->turn = (struct turn){&scene->pace, NULL, &scene->peer};
	scene->now = 100 * USEC_PER_SEC;
	scene->least_gap_usec = USEC_NEVER;
	sample_begin(&scene->sample, &settings);
}

static struct answer answer_of(const struct scene *scene, enum answer_kind kind, uint16_t sequence,
			       uint32_t size)
{
	enum probe_kind probe = scene->sample.settings.kind;
	uint64_t nonce = probe_nonce(probe, NONCE, sequence);
	struct answer answer = {
		.kind = kind,
		.probe = probe,
		.sequence = sequence,
		.has_nonce = true,
		.nonce = NONCE,
		.size = size,
	};

	if (probe == PROBE_SYN) {
		answer.acknowledged = ((uint32_t)(nonce & 0xffff) << 16 | sequence) + 1;
		answer.sequence = 0;
		answer.has_nonce = false;
	}
	return answer;
}

static bool is_lost(struct scene *scene, const unsigned of_hundred[3], uint32_t size)
{
	unsigned which = size == sizes[0] ? 0 : size == sizes[1] ? 1 : 2;

	ck_assert_uint_eq(size, sizes[which]);
	return dice_roll(&scene->dice) % 100 < of_hundred[which];
}

static void scene_carry(struct scene *scene, const struct burst *burst)
{
	enum probe_kind kind = scene->sample.settings.kind;

	for (unsigned i = 0; i < burst->count; i++) {
		uint16_t sequence = (uint16_t)(burst->first_sequence + i);
		struct answer small = answer_of(scene, ANSWER_DELIVERED, sequence, burst->sizes[i]);
		struct answer whole = answer_of(scene, ANSWER_ECHO, sequence, burst->sizes[i]);
		bool arrives = !is_lost(scene, scene->lost_there, burst->sizes[i]);
		bool returns = !is_lost(scene, scene->lost_back, burst->sizes[i]);

		scene->sent++;
		if (arrives && kind != PROBE_ECHO)
			ck_assert(sample_answer(&scene->sample, &small));
		if (arrives && returns && (kind == PROBE_ECHO || kind == PROBE_RESPONDER))
			ck_assert(sample_answer(&scene->sample, &whole));
	}
	if (scene->last_usec && scene->now - scene->last_usec < scene->least_gap_usec)
		scene->least_gap_usec = scene->now - scene->last_usec;
	scene->last_usec = scene->now;
}

static void scene_run(struct scene *scene)
{
	for (unsigned steps = 0; !scene->sample.done; steps++) {
		struct burst burst = {0};
		uint64_t next = sample_step(&scene->sample, &scene->turn, scene->now, &burst);

		ck_assert_uint_lt(steps, 5000);
		if (burst.count > 0)
			scene_carry(scene, &burst);
		else if (next != USEC_NEVER)
			scene->now = next;
	}
	ck_assert_uint_eq(sample_step(&scene->sample, &scene->turn, scene->now, &(struct burst){0}),
			  USEC_NEVER);
}

struct row {
	const char *what;
	enum probe_kind kind;
	unsigned there[3], back[3];
	bool lossy_there, lossy_back;
};

/* clang-format off */
static const struct row rows[] = {
	{"nothing is lost", PROBE_ECHO, .there = {0}},
	{"all alike", PROBE_ECHO, .there = {20, 20, 20}},
	{"the large ones", PROBE_ECHO, .there = {0, 5, 40}, .lossy_there = true},
	{"large ones always: that is a size", PROBE_ECHO, .there = {0, 0, 100}},
	{"nothing is lost, SYN", PROBE_SYN, .there = {0}},
	{"the large ones, SYN", PROBE_SYN, .there = {0, 5, 40}, .lossy_there = true},
	{"the large ones, UDP", PROBE_UDP, .there = {0, 5, 60}, .lossy_there = true},
	{"a responder, nothing is lost", PROBE_RESPONDER, .there = {0}},
	{"a responder, the way there", PROBE_RESPONDER, .there = {0, 5, 40}, .lossy_there = true},
	{"a responder, the way back", PROBE_RESPONDER, .back = {0, 5, 40}, .lossy_back = true},
	{"a responder, both", PROBE_RESPONDER, .there = {0, 5, 40}, .back = {0, 5, 40},
		.lossy_there = true, .lossy_back = true},
};
/* clang-format on */

START_TEST(counted)
{
	const struct row *row = &rows[_i];
	static struct scene scene;

	scene_begin(&scene, row->kind, SAMPLE_LARGEST);
	memcpy(scene.lost_there, row->there, sizeof(row->there));
	memcpy(scene.lost_back, row->back, sizeof(row->back));
	scene_run(&scene);
	ck_assert_msg(scene.sample.there.lossy == row->lossy_there &&
			      scene.sample.back.lossy == row->lossy_back,
		      "%s: there %u of %u, back %u of %u", row->what, scene.sample.there.lost[2],
		      scene.sample.there.sent, scene.sample.back.lost[2], scene.sample.back.sent);
	/* what is clear is not asked on and on, and what is not comes to an end */
	if (row->lossy_there || row->lossy_back)
		ck_assert_uint_lt(scene.sent, 3 * SAMPLE_LARGEST);
	else
		ck_assert_uint_eq(scene.sent, 3 * SAMPLE_LARGEST);
	if (row->kind == PROBE_UDP)
		ck_assert_uint_ge(scene.least_gap_usec, USEC_PER_SEC);
}
END_TEST

/* Somebody else's packet to the same address left late: so does this one. */
START_TEST(udp_waits_for_its_turn)
{
	static struct scene scene;
	struct burst burst = {0};
	uint64_t next, again;

	scene_begin(&scene, PROBE_UDP, 8);
	next = sample_step(&scene.sample, &scene.turn, scene.now, &burst);
	ck_assert_uint_eq(burst.count, 1);
	scene.now = next;
	next = sample_step(&scene.sample, &scene.turn, scene.now, &burst);
	ck_assert_uint_eq(burst.count, 0);
	scene.now = next;
	ck_assert(turn_leave_slow(&scene.turn, scene.now, &again));
	next = sample_step(&scene.sample, &scene.turn, scene.now, &burst);
	ck_assert_uint_eq(burst.count, 0);
	ck_assert_uint_ge(next, scene.now + USEC_PER_SEC);
	scene.now = next;
	sample_step(&scene.sample, &scene.turn, scene.now, &burst);
	ck_assert_uint_eq(burst.count, 1);
}
END_TEST

static struct scene *one_burst(enum probe_kind kind)
{
	static struct scene scene;
	struct burst burst = {0};

	scene_begin(&scene, kind, SAMPLE_LARGEST);
	sample_step(&scene.sample, &scene.turn, scene.now, &burst);
	ck_assert_uint_eq(burst.sizes[0], sizes[0]);
	return &scene;
}

START_TEST(others_answers)
{
	struct scene *scene = one_burst(PROBE_ECHO);
	struct answer answer = answer_of(scene, ANSWER_ECHO, FIRST, sizes[0]);

	answer.nonce++;
	ck_assert(!sample_answer(&scene->sample, &answer));
	answer.nonce--;
	answer.has_nonce = false;
	ck_assert(!sample_answer(&scene->sample, &answer));
	answer.has_nonce = true;
	answer.sequence = FIRST + 9; /* not sent yet */
	ck_assert(!sample_answer(&scene->sample, &answer));
	answer.sequence = FIRST;
	answer.probe = PROBE_SYN;
	ck_assert(!sample_answer(&scene->sample, &answer));
	answer.probe = PROBE_ECHO;
	ck_assert(sample_answer(&scene->sample, &answer));
	ck_assert_uint_eq(scene->sample.arrived[0], 1);
	/* a router's word is this sample's own, and neither an arrival nor a loss */
	for (enum answer_kind kind = ANSWER_TOO_BIG; kind <= ANSWER_TIME_EXCEEDED; kind++) {
		answer = answer_of(scene, kind, FIRST + 1, sizes[1]);
		ck_assert(sample_answer(&scene->sample, &answer));
		ck_assert_uint_eq(scene->sample.arrived[0] | scene->sample.untold[0], 1);
	}
	scene->sample.done = true;
	ck_assert(!sample_answer(&scene->sample, &answer));
}
END_TEST

/* Its quote may be too short for a nonce: then its length has to be right. */
START_TEST(short_quotes_of_udp)
{
	struct scene *scene = one_burst(PROBE_UDP);
	struct answer answer = answer_of(scene, ANSWER_DELIVERED, FIRST, sizes[1]);

	answer.has_nonce = false;
	ck_assert(!sample_answer(&scene->sample, &answer));
	answer.size = sizes[0];
	ck_assert(sample_answer(&scene->sample, &answer));
	ck_assert_uint_eq(scene->sample.arrived[0], 1);
}
END_TEST

START_TEST(syn_numbers)
{
	struct scene *scene = one_burst(PROBE_SYN);
	struct answer answer = answer_of(scene, ANSWER_DELIVERED, FIRST, sizes[0]);

	answer.acknowledged += 5;
	ck_assert(!sample_answer(&scene->sample, &answer));
	answer.acknowledged += sizes[0] - 40 - 5; /* its data too */
	ck_assert(sample_answer(&scene->sample, &answer));
	answer = answer_of(scene, ANSWER_TOO_BIG, FIRST, sizes[0]);
	answer.sequence = FIRST;
	ck_assert(!sample_answer(&scene->sample, &answer));
}
END_TEST

/* What this host did not send, or was asked again for, was not lost: nothing is counted there. */
START_TEST(told_of_no_loss)
{
	struct scene *scene = one_burst(PROBE_RESPONDER);
	struct answer receipt = answer_of(scene, ANSWER_DELIVERED, FIRST, sizes[0]);
	struct answer refused = answer_of(scene, ANSWER_REFUSED, FIRST, sizes[0]);
	struct answer cookie = answer_of(scene, ANSWER_COOKIE, FIRST + 5, sizes[2]);

	ck_assert(sample_answer(&scene->sample, &receipt));
	ck_assert(!sample_answer(&scene->sample, &refused)); /* it arrived: that is another's error */
	ck_assert_uint_eq(scene->sample.untold[0], 0);
	refused.sequence = FIRST + 1;
	ck_assert(sample_answer(&scene->sample, &refused));
	ck_assert_uint_eq(scene->sample.untold[0], 2);
	ck_assert(sample_answer(&scene->sample, &cookie));
	ck_assert_uint_eq(scene->sample.untold[1], 4);
	/* and of the third the kernel dropped what came back */
	sample_overflow(&scene->sample);
	ck_assert_uint_eq(scene->sample.untold[2], 7);
}
END_TEST

START_TEST(answered_before_an_overflow)
{
	struct scene *scene = one_burst(PROBE_ECHO);
	struct answer answer = answer_of(scene, ANSWER_ECHO, FIRST, sizes[0]);

	ck_assert(sample_answer(&scene->sample, &answer));
	sample_overflow(&scene->sample);
	ck_assert_uint_eq(scene->sample.untold[0], 6);
}
END_TEST

START_TEST(clear_or_not)
{
	ck_assert(!loss_is_clear((struct loss){11, 11}, (struct loss){100, 0}));
	ck_assert(!loss_is_clear((struct loss){100, 100}, (struct loss){11, 0}));
	ck_assert(!loss_is_clear((struct loss){100, 10}, (struct loss){100, 10}));
	ck_assert(!loss_is_clear((struct loss){100, 10}, (struct loss){100, 40}));
	ck_assert(!loss_is_clear((struct loss){24, 4}, (struct loss){24, 1}));
	ck_assert(loss_is_clear((struct loss){24, 20}, (struct loss){24, 1}));
	ck_assert(loss_is_clear((struct loss){100, 40}, (struct loss){100, 10}));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sample");
	TCase *test = tcase_create("sample");

	tcase_add_loop_test(test, counted, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(test, udp_waits_for_its_turn);
	tcase_add_test(test, others_answers);
	tcase_add_test(test, short_quotes_of_udp);
	tcase_add_test(test, syn_numbers);
	tcase_add_test(test, told_of_no_loss);
	tcase_add_test(test, answered_before_an_overflow);
	tcase_add_test(test, clear_or_not);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
