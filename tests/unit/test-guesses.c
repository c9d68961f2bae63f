/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who does not see our packets may still try all numbers: a report need not quote more than eight
 * bytes of ours, and these hold nothing secret but sixteen bits.
 */
#include "path_scene.h"

#define ALL_NUMBERS 65536
#define HOLE_SIZE 1500

/* The right one is among them, late. */
static void guess(struct scene *scene, const struct answer *asked, enum answer_kind kind)
{
	struct answer answer = *asked;

	answer.kind = kind;
	answer.has_nonce = false;
	answer.nonce = 0;
	answer.mtu = HOLE_SIZE;
	answer.sequence += 1000;
	for (unsigned i = 0; i < ALL_NUMBERS; i++, answer.sequence++)
		path_on_answer(&scene->path, &scene->flow, &answer, scene->now);
}

static bool far_answers(struct scene *scene, struct answer *answer)
{
	answer->probe = scene_round(scene)->settings.kind;
	if (answer->probe == PROBE_UDP)
		answer->kind = ANSWER_DELIVERED;
	return answer->size <= HOLE_SIZE;
}

static bool far_guesses_reports(struct scene *scene, struct answer *answer)
{
	bool passes = far_answers(scene, answer);

	if (answer->size == scene->link.mtu)
		guess(scene, answer, ANSWER_TOO_BIG);
	return passes;
}

static bool far_guesses_arrivals(struct scene *scene, struct answer *answer)
{
	bool passes = far_answers(scene, answer);

	if (!passes)
		guess(scene, answer, ANSWER_DELIVERED);
	return passes;
}

/* A port unreachable of a stranger who means to say that nobody is there. */
static bool far_guesses_refusals(struct scene *scene, struct answer *answer)
{
	bool passes = far_answers(scene, answer);

	answer->error = -ECONNREFUSED;
	guess(scene, answer, ANSWER_UNREACHABLE);
	return passes;
}

static const struct {
	const char *what;
	enum method method;
	bool (*far)(struct scene *scene, struct answer *answer);
	enum verdict verdict;
	uint32_t path_mtu;
} rows[] = {
	{"a hole is called reported", METHOD_ICMP, far_guesses_reports, VERDICT_BLACK_HOLE, HOLE_SIZE},
	{"lost datagrams are said to arrive", METHOD_UDP, far_guesses_arrivals, VERDICT_BLACK_HOLE,
	 HOLE_SIZE},
	{"the peer is said to be gone", METHOD_ICMP, far_guesses_refusals, VERDICT_BLACK_HOLE, HOLE_SIZE},
};

START_TEST(all_numbers_tried)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.settings.method = rows[_i].method;
	scene.far = rows[_i].far;
	for (unsigned i = 0; i < 8 && !scene.announced; i++)
		scene_rounds(&scene, 1);
	ck_assert_msg(scene.path.announced.verdict == rows[_i].verdict &&
			      scene.path.announced.path_mtu == rows[_i].path_mtu,
		      "%s: verdict %d, number %u", rows[_i].what, scene.path.announced.verdict,
		      scene.path.announced.path_mtu);
}
END_TEST

/* A few that come late or belong to others do not make an honest router's word worthless. */
static bool far_short_after_strays(struct scene *scene, struct answer *answer)
{
	struct answer stray = *answer;

	if (far_answers(scene, answer))
		return true;
	answer->has_nonce = false;
	answer->nonce = 0;
	answer->kind = ANSWER_TOO_BIG;
	answer->from = scene_address(answer->to.family, 71);
	answer->mtu = HOLE_SIZE;
	stray = *answer;
	stray.sequence += 1000;
	path_on_answer(&scene->path, &scene->flow, &stray, scene->now);
	return true;
}

START_TEST(strays_do_no_harm)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_short_after_strays;
	for (unsigned i = 0; i < 8 && !scene.announced; i++)
		scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_REDUCED, HOLE_SIZE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guesses");
	TCase *test = tcase_create("guesses");

	tcase_add_loop_test(test, all_numbers_tried, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(test, strays_do_no_harm);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
