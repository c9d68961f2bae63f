/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When rounds begin, what many of them together mean, and what is announced of it. */
#include "path_scene.h"

/* A path that was found consistent, with these settings. */
static void scene_healthy(struct scene *scene, unsigned fail_after, unsigned recover_after)
{
	scene_init(scene, ADDRESS_IPV4);
	scene->settings.fail_after = fail_after;
	scene->settings.recover_after = recover_after;
	scene_rounds(scene, 1);
	assert_said(scene, VERDICT_CONSISTENT, 9000);
	ck_assert_uint_eq(scene->announced, 1);
}

/* --- announcing --- */

/* Not before, not after, and the rounds until then follow each other within about a second. */
START_TEST(fails_after)
{
	unsigned after = (unsigned)_i;
	struct scene scene;

	scene_healthy(&scene, after, 2);
	scene.limit = 1500;
	for (unsigned i = 1; i < after; i++) {
		uint64_t began = scene.path.due_usec;

		scene_rounds(&scene, 1);
		assert_said(&scene, VERDICT_CONSISTENT, 9000);
		ck_assert_uint_eq(scene.path.streak, i);
		ck_assert_int_eq(scene.dossier.candidate.verdict, VERDICT_BLACK_HOLE);
		ck_assert(!path_is_settled(&scene.path));
		ck_assert_uint_le(scene.path.due_usec, scene.now + USEC_PER_SEC);
		ck_assert_uint_ge(scene.path.due_usec, began + USEC_PER_SEC);
	}
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
	ck_assert(path_is_settled(&scene.path));
	ck_assert_uint_ge(scene.path.due_usec, scene.now + 15 * USEC_PER_SEC);
	scene_rounds(&scene, 5);
	ck_assert_uint_eq(scene.announced, 2);
}
END_TEST

START_TEST(recovers_after)
{
	unsigned after = (unsigned)_i;
	struct scene scene;

	scene_healthy(&scene, 1, after);
	scene.limit = 1500;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
	scene.limit = 9000;
	for (unsigned i = 1; i < after; i++) {
		scene_rounds(&scene, 1);
		assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
	}
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	ck_assert_uint_eq(scene.announced, 3);
}
END_TEST

/* Bad rounds between good ones are never in a row. */
START_TEST(good_round_between)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	for (unsigned i = 0; i < 10; i++) {
		scene.limit = i % 2 ? 9000 : 1500;
		scene_rounds(&scene, 1);
	}
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	ck_assert_uint_eq(scene.announced, 1);
}
END_TEST

/* A smaller number is worse, a larger one is better. */
START_TEST(number_changes)
{
	struct scene scene;

	scene_healthy(&scene, 2, 3);
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	scene.limit = 1400;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1400);
	scene.limit = 1450;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1400);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1450);
	ck_assert_uint_eq(scene.announced, 4);
}
END_TEST

/* Numbers that never agree twice are a fault all the same. */
START_TEST(numbers_never_agree)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	for (unsigned i = 1; i <= 5; i++) {
		scene.limit = 1500 + i;
		scene_rounds(&scene, 1);
		assert_said(&scene, VERDICT_CONSISTENT, 9000);
	}
	scene.limit = 1506;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1506);
}
END_TEST

/* One good round among many bad ones is luck, however little those agree. */
START_TEST(one_good_round_is_luck)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
	for (unsigned i = 1; i <= 8; i++) {
		scene.limit = 1500 + i;
		scene_rounds(&scene, 1);
		scene.limit = 9000;
		scene_rounds(&scene, 1);
		ck_assert_int_eq(scene.path.announced.verdict, VERDICT_BLACK_HOLE);
	}
}
END_TEST

static bool far_router(struct scene *scene, struct answer *answer)
{
	if (answer->size <= scene->limit)
		return true;
	answer->kind = ANSWER_TOO_BIG;
	answer->from = scene_address(ADDRESS_IPV4, (uint8_t)scene->above);
	answer->mtu = scene->limit;
	return true;
}

/* A router that falls silent may only be short of reports: that takes longer to believe. */
START_TEST(router_falls_silent)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene.far = far_router;
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_REDUCED, 1500);
	scene.far = NULL;
	scene_rounds(&scene, 3);
	assert_said(&scene, VERDICT_REDUCED, 1500);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
}
END_TEST

/* Another router with the same number is a detail: told, not announced, and no new beginning. */
START_TEST(details_are_no_news)
{
	struct scene scene;
	uint64_t since;

	scene_healthy(&scene, 2, 2);
	scene.far = far_router;
	scene.above = 7;
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	ck_assert_uint_eq(scene.announced, 2);
	ck_assert_uint_eq(scene.details, 0);
	since = scene.path.since_usec;
	ck_assert_uint_eq(since, scene.now + 5);
	scene.above = 8;
	scene_rounds(&scene, 3);
	ck_assert_uint_eq(scene.announced, 2);
	ck_assert_uint_eq(scene.details, 1);
	ck_assert_int_eq(scene.path.announced.router.bytes[3], 8);
	ck_assert_uint_eq(scene.path.since_usec, since);
}
END_TEST

/* A router that is short of reports: the kernel remembers the size it told, and its name stays. */
START_TEST(kernel_remembers_what_router_told)
{
	bool announced_in_silence = _i == 1;
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene.far = far_router;
	scene.above = 7;
	scene.limit = 1500;
	scene.route.kernel_mtu = 1500;
	scene_look(&scene);
	scene_rounds(&scene, announced_in_silence ? 1 : 2);
	scene.far = NULL;
	scene_rounds(&scene, 3);
	assert_said(&scene, VERDICT_REDUCED, 1500);
	ck_assert_int_eq(scene.path.announced.locus, LOCUS_AT);
	ck_assert_int_eq(scene.path.announced.locus_address.bytes[3], 7);
	ck_assert_int_eq(scene.path.announced.router.bytes[3], 7);
	ck_assert_uint_eq(scene.details, 0);
	scene.far = far_router;
	scene.above = 8;
	scene_rounds(&scene, 1);
	ck_assert_int_eq(scene.path.announced.router.bytes[3], 8);
}
END_TEST

/* Consistent at another size, since the link was changed: at once, and no alarm. */
START_TEST(consistent_at_another_size)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene.link.mtu = 1500;
	ck_assert(scene_look(&scene));
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 1500);
	ck_assert_uint_eq(scene.announced, 1);
	ck_assert_uint_eq(scene.details, 1);
}
END_TEST

/* This host's own data are no matter of luck: said at once, and taken back at once. */
START_TEST(misconfigured_at_once)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.settings.expect_mtu = 9000;
	scene.settings.fail_after = scene.settings.recover_after = 5;
	scene.link.mtu = 1500;
	scene_look(&scene);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_MISCONFIGURED, 1500);
	ck_assert_int_eq(scene.path.announced.reason, REASON_LINK_SMALLER);
	scene.link.mtu = 9000;
	scene_look(&scene);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	scene.route.mtu = 1400;
	scene_look(&scene);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_MISCONFIGURED, 1400);
	ck_assert_int_eq(scene.path.announced.reason, REASON_ROUTE_SMALLER);
}
END_TEST

START_TEST(discovered_never_answered)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.path.discovered = true;
	scene.limit = 0;
	scene_look(&scene);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_UNVERIFIABLE, 0);
	scene_rounds(&scene, 5);
	ck_assert_uint_eq(scene.announced + scene.details, 1);
	scene.limit = 9000;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	scene.limit = 0;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_UNREACHABLE, 0);
	ck_assert_uint_eq(scene.path.known_mtu, 9000);
	/* the kernel's view, read again, does not make it a stranger */
	scene_look(&scene);
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_UNREACHABLE, 0);
}
END_TEST

/* --- reminding --- */

static unsigned reminders_in_ten_hours(uint32_t limit, bool told, uint64_t remind_usec)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene.settings.remind_usec = remind_usec;
	scene.limit = limit;
	scene.far = told ? far_router : NULL;
	scene_rounds(&scene, 4);
	for (uint64_t end = scene.now + 10 * 3600 * USEC_PER_SEC; scene.now < end;)
		scene_rounds(&scene, 1);
	return scene.reminded;
}

START_TEST(reminds)
{
	uint64_t hour = 3600 * USEC_PER_SEC;
	unsigned often = reminders_in_ten_hours(1500, false, hour);

	ck_assert_uint_ge(often, 9);
	ck_assert_uint_le(often, 10);
	ck_assert_uint_ge(reminders_in_ten_hours(0, false, hour), 9);
	ck_assert_uint_eq(reminders_in_ten_hours(1500, false, 0), 0);
	ck_assert_uint_eq(reminders_in_ten_hours(1500, true, hour), 0); /* a notice */
	ck_assert_uint_eq(reminders_in_ten_hours(9000, false, hour), 0);
}
END_TEST

/* --- when --- */

/* Events without end, a thousand a second: rounds begin ever more rarely, but they begin. */
START_TEST(storms_are_damped)
{
	static const unsigned msec[] = {0,    20,   60,   140,  300,  620,  1260, 2260,
					3260, 4260, 5260, 6260, 7260, 8260, 9260};
	struct moment moment = {0};
	struct scene scene;
	uint64_t began;
	unsigned starts = 0;

	scene_healthy(&scene, 2, 2);
	began = scene.now += 20 * USEC_PER_SEC;
	for (; scene.now < began + 10 * USEC_PER_SEC; scene.now += USEC_PER_MSEC) {
		struct check *was = scene.path.check;

		ck_assert_ptr_eq(path_restart(&scene.path, scene.now), was);
		ck_assert_ptr_null(scene.path.check);
		ck_assert_uint_eq(scene.path.wake_usec, scene.path.due_usec);
		ck_assert_uint_le(scene.path.due_usec, scene.now + USEC_PER_SEC);
		if (!path_is_due(&scene.path, scene.now))
			continue;
		ck_assert_uint_lt(starts, 15);
		ck_assert_uint_eq(scene.now - began, msec[starts++] * USEC_PER_MSEC);
		moment.now_usec = scene.now;
		path_begin(&scene.path, (void *)scene.memory, &moment);
		ck_assert(!path_is_due(&scene.path, scene.now));
	}
	ck_assert_uint_eq(starts, 15);
	/* after some quiet all is as it was */
	scene.now += 7 * USEC_PER_SEC;
	path_restart(&scene.path, scene.now);
	ck_assert_uint_eq(scene.path.due_usec, scene.now);
	path_restart(&scene.path, scene.now + 1);
	ck_assert_uint_eq(scene.path.due_usec, scene.now + 20 * USEC_PER_MSEC);
}
END_TEST

/* What was half seen before the event is not half believed after it. */
START_TEST(restart_forgets_the_candidate)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene.limit = 1500;
	scene_rounds(&scene, 1);
	ck_assert_uint_eq(scene.path.streak, 1);
	path_restart(&scene.path, scene.now);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
}
END_TEST

START_TEST(requests)
{
	struct moment moment = {0};
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	ck_assert(path_on_request(&scene.path, scene.now)); /* never measured */
	scene_rounds(&scene, 1);
	ck_assert(!path_on_request(&scene.path, scene.now));
	ck_assert(!path_on_request(&scene.path, scene.now + USEC_PER_SEC - 1));
	ck_assert(!path_is_due(&scene.path, scene.now + USEC_PER_SEC));
	ck_assert(path_on_request(&scene.path, scene.now + USEC_PER_SEC));
	ck_assert(path_is_due(&scene.path, scene.now + USEC_PER_SEC));
	ck_assert_uint_eq(scene.path.wake_usec, scene.now + USEC_PER_SEC);
	/* a running round is shared */
	moment.now_usec = scene.now += USEC_PER_SEC;
	path_begin(&scene.path, (void *)scene.memory, &moment);
	ck_assert(path_on_request(&scene.path, scene.now));
	ck_assert_ptr_eq(scene.path.check, (void *)scene.memory);
	/* young, but waiting for another round to confirm it */
	scene.limit = 1500;
	scene_rounds(&scene, 1);
	ck_assert(path_on_request(&scene.path, scene.now));
}
END_TEST

static bool far_overflows(struct scene *scene, struct answer *answer)
{
	path_on_overflow(&scene->path);
	return answer->size <= 68;
}

/* Rounds that tell nothing are tried again soon, but not for ever; whoever waits gets an answer. */
START_TEST(undecided_ends)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_overflows;
	scene_rounds(&scene, 8);
	ck_assert(!path_is_settled(&scene.path));
	ck_assert_uint_le(scene.path.due_usec, scene.now + USEC_PER_SEC);
	assert_said(&scene, VERDICT_UNKNOWN, 0);
	scene_rounds(&scene, 1);
	ck_assert(path_is_settled(&scene.path));
	ck_assert_uint_ge(scene.path.due_usec, scene.now + 15 * USEC_PER_SEC);
	assert_said(&scene, VERDICT_UNVERIFIABLE, 0);
	ck_assert_int_eq(scene.path.announced.reason, REASON_IRREGULAR);
}
END_TEST

/* Also where one round had seen a fault before; and what was true once is not shown for ever. */
START_TEST(undecided_ends_a_candidate)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene.limit = 1500;
	scene_rounds(&scene, 1);
	scene.far = far_overflows;
	scene_rounds(&scene, 8);
	ck_assert(!path_is_settled(&scene.path));
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	scene_rounds(&scene, 2);
	ck_assert(path_is_settled(&scene.path));
	ck_assert_uint_ge(scene.path.due_usec, scene.now + 15 * USEC_PER_SEC);
	assert_said(&scene, VERDICT_UNVERIFIABLE, 0);
}
END_TEST

/* Rounds keep their place in the interval, and the interval stretches with the load. */
START_TEST(keeps_its_place)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.path.phase_usec = 1700 * USEC_PER_MSEC;
	scene_rounds(&scene, 1);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t last = scene.path.due_usec;

		ck_assert_uint_eq(last % (30 * USEC_PER_SEC), 1700 * USEC_PER_MSEC);
		scene_rounds(&scene, 1);
		ck_assert_uint_eq(scene.path.due_usec, last + 30 * USEC_PER_SEC);
	}
	scene.pace.stretch = 4000;
	scene_rounds(&scene, 1);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t last = scene.path.due_usec;

		scene_rounds(&scene, 1);
		ck_assert_uint_eq(scene.path.due_usec, last + 4 * 30 * USEC_PER_SEC);
	}
}
END_TEST

/* --- figures --- */

START_TEST(counts)
{
	struct scene scene;

	scene_healthy(&scene, 2, 2);
	scene_rounds(&scene, 9);
	ck_assert_uint_eq(scene.path.rounds, 10);
	ck_assert_uint_eq(scene.path.full_sent, 10);
	ck_assert_uint_eq(scene.path.control_sent, 10);
	ck_assert_uint_eq(scene.path.full_lost + scene.path.control_lost, 0);
	ck_assert_uint_eq(scene.path.rtt_usec, 10 * USEC_PER_MSEC);
	ck_assert_uint_eq(scene.path.last_round_usec, scene.now + 5);
	scene.delay_usec = 18 * USEC_PER_MSEC;
	scene_rounds(&scene, 1);
	ck_assert_uint_eq(scene.path.rtt_usec, 11 * USEC_PER_MSEC);
	scene.limit = 0;
	scene_rounds(&scene, 1);
	ck_assert_uint_eq(scene.path.full_lost, 1);
	ck_assert_uint_ge(scene.path.control_lost, 6);
	ck_assert_uint_eq(scene.path.rtt_usec, 11 * USEC_PER_MSEC);
}
END_TEST

START_TEST(findings_are_told_once)
{
	struct todo todo = {0};
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	path_lint(&scene.path, &scene.link, NULL, &todo);
	ck_assert(!todo.findings_changed);
	scene.route.mtu = 1400;
	scene_look(&scene);
	path_lint(&scene.path, &scene.link, NULL, &todo);
	ck_assert(todo.findings_changed);
	ck_assert_uint_eq(todo.findings_before.count, 0);
	ck_assert_uint_eq(scene.dossier.findings.count, 1);
	todo = (struct todo){0};
	path_lint(&scene.path, &scene.link, NULL, &todo);
	ck_assert(!todo.findings_changed);
	scene.route.mtu = 1401;
	scene_look(&scene);
	path_lint(&scene.path, &scene.link, NULL, &todo);
	ck_assert(todo.findings_changed);
	ck_assert_uint_eq(todo.findings_before.list[0].is, 1400);
	ck_assert_uint_eq(scene.dossier.findings.list[0].is, 1401);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("path");
	TCase *test = tcase_create("path");

	tcase_add_loop_test(test, fails_after, 1, 5);
	tcase_add_loop_test(test, recovers_after, 1, 5);
	tcase_add_test(test, good_round_between);
	tcase_add_test(test, number_changes);
	tcase_add_test(test, numbers_never_agree);
	tcase_add_test(test, one_good_round_is_luck);
	tcase_add_test(test, router_falls_silent);
	tcase_add_test(test, details_are_no_news);
	tcase_add_loop_test(test, kernel_remembers_what_router_told, 0, 2);
	tcase_add_test(test, consistent_at_another_size);
	tcase_add_test(test, misconfigured_at_once);
	tcase_add_test(test, discovered_never_answered);
	tcase_add_test(test, reminds);
	tcase_add_test(test, storms_are_damped);
	tcase_add_test(test, restart_forgets_the_candidate);
	tcase_add_test(test, requests);
	tcase_add_test(test, undecided_ends);
	tcase_add_test(test, undecided_ends_a_candidate);
	tcase_add_test(test, keeps_its_place);
	tcase_add_test(test, counts);
	tcase_add_test(test, findings_are_told_once);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
