/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one round makes of answers, refusals and reports, good and bad, by way of a whole path. */
#include "path_scene.h"

#define ROUTER_NEAR 71
#define ROUTER_FAR 72

static uint8_t last_byte(const struct address *address)
{
	return address->bytes[address->family == ADDRESS_IPV6 ? 15 : 3];
}

/* --- far ends --- */

static bool report(const struct scene *scene, struct answer *answer, uint32_t mtu, uint8_t by)
{
	answer->kind = ANSWER_TOO_BIG;
	answer->from = scene_address(answer->to.family, by);
	answer->mtu = mtu;
	return true;
}

static bool refuse(const struct scene *scene, struct answer *answer)
{
	answer->kind = ANSWER_REFUSED;
	answer->from = (struct address){0};
	answer->error = scene->error;
	return true;
}

static bool far_refuses_large(struct scene *scene, struct answer *answer)
{
	return answer->size <= scene->limit || refuse(scene, answer);
}

static bool far_refuses_all(struct scene *scene, struct answer *answer)
{
	return refuse(scene, answer);
}

/* Every third packet meets a full queue. */
static bool far_refuses_some(struct scene *scene, struct answer *answer)
{
	if (scene->sent % 3 == 1)
		return refuse(scene, answer);
	return answer->size <= scene->limit;
}

static bool far_reports_mtu(struct scene *scene, struct answer *answer)
{
	if (answer->size <= scene->limit)
		return true;
	return report(scene, answer, scene->mtu, ROUTER_NEAR);
}

static bool far_reports_own_size(struct scene *scene, struct answer *answer)
{
	return answer->size <= scene->limit || report(scene, answer, answer->size, ROUTER_NEAR);
}

/* Two routers: the near one carries `above`, the one behind it the limit. */
static bool far_chain(struct scene *scene, struct answer *answer)
{
	if (answer->size <= scene->limit)
		return true;
	if (answer->size > scene->above)
		return report(scene, answer, scene->above, ROUTER_NEAR);
	return report(scene, answer, scene->limit, ROUTER_FAR);
}

/* The same, but the first packet that the far one refuses gets lost, in every round. */
static bool far_chain_loses(struct scene *scene, struct answer *answer)
{
	const struct tries *tries = &scene_round(scene)->tries;
	unsigned same = 0;

	for (unsigned i = 0; i < tries->count; i++)
		same += tries->list[i].size == answer->size;
	return (answer->size != scene->above || same > 1) && far_chain(scene, answer);
}

/* The near one reports, the one behind it does not. */
static bool far_chain_silent(struct scene *scene, struct answer *answer)
{
	if (answer->size <= scene->limit)
		return true;
	return answer->size > scene->above && report(scene, answer, scene->above, ROUTER_NEAR);
}

static bool far_chain_too_long(struct scene *scene, struct answer *answer)
{
	return answer->size <= scene->limit ||
	       report(scene, answer, answer->size - 1, ROUTER_NEAR);
}

/* Quotes of eight bytes behind the header, RFC 792: no nonce, but the length. */
static bool far_quotes_short(struct scene *scene, struct answer *answer)
{
	answer->has_nonce = answer->size <= scene->limit;
	return far_reports_mtu(scene, answer);
}

static bool far_quotes_short_and_wrong(struct scene *scene, struct answer *answer)
{
	answer->has_nonce = answer->size <= scene->limit;
	if (!far_reports_mtu(scene, answer))
		return false;
	answer->size -= answer->kind == ANSWER_TOO_BIG ? 20 : 0;
	return true;
}

/* Some stacks take the header off the length that they quote. */
static bool far_quotes_altered_length(struct scene *scene, struct answer *answer)
{
	far_reports_mtu(scene, answer);
	answer->size -= answer->kind == ANSWER_TOO_BIG ? 20 : 0;
	return true;
}

static bool far_forges_nonce(struct scene *scene, struct answer *answer)
{
	answer->nonce += answer->size > scene->limit;
	return far_reports_mtu(scene, answer);
}

static bool unreachable(const struct scene *scene, struct answer *answer, uint8_t by)
{
	answer->kind = ANSWER_UNREACHABLE;
	answer->from = scene_address(answer->to.family, by);
	answer->error = scene->error;
	return true;
}

static bool far_router_cannot(struct scene *scene, struct answer *answer)
{
	return unreachable(scene, answer, ROUTER_NEAR);
}

/* This host's own message: its neighbour does not answer. */
static bool far_no_neighbour(struct scene *scene, struct answer *answer)
{
	return unreachable(scene, answer, 1);
}

/* A router's word first, then this host has no route any more. */
static bool far_route_goes(struct scene *scene, struct answer *answer)
{
	uint16_t place = answer->sequence - scene_round(scene)->settings.first_sequence;

	if (place < 2) {
		scene->error = -EHOSTUNREACH;
		return unreachable(scene, answer, ROUTER_NEAR);
	}
	scene->error = -ENETUNREACH;
	return refuse(scene, answer);
}

static bool far_time_exceeded(struct scene *scene, struct answer *answer)
{
	if (answer->size <= scene->limit)
		return true;
	answer->kind = ANSWER_TIME_EXCEEDED;
	answer->from = scene_address(answer->to.family, ROUTER_NEAR);
	return true;
}

/* The reply comes, and after it the error of somebody else's packet. */
static bool far_refuses_answered(struct scene *scene, struct answer *answer)
{
	struct answer late = *answer;

	if (answer->size > scene->limit)
		return false;
	scene_deliver(scene, answer);
	scene->now += scene->delay_usec;
	refuse(scene, &late);
	scene_deliver(scene, &late);
	scene->now -= scene->delay_usec;
	return false;
}

/* A reply, and a report for the same packet behind it. */
static bool far_reports_answered(struct scene *scene, struct answer *answer)
{
	if (answer->size > scene->limit)
		return false;
	scene_deliver(scene, answer);
	return report(scene, answer, 1280, ROUTER_NEAR);
}

static bool far_doubles(struct scene *scene, struct answer *answer)
{
	if (answer->size > scene->limit)
		return false;
	scene_deliver(scene, answer);
	return true;
}

/* The way back fragments what it cannot carry whole. */
static bool far_fragments(struct scene *scene, struct answer *answer)
{
	answer->fragment = answer->size > 1500 ? 1500 : 0;
	return answer->size <= scene->limit;
}

/* --- the table --- */

struct row {
	const char *what;
	uint8_t family; /* 0: IPv4 */
	bool (*far)(struct scene *scene, struct answer *answer);
	uint32_t limit, mtu, above;
	int error;
	enum verdict verdict;
	enum reason reason;
	uint32_t path_mtu;
	uint8_t router;
	bool wrong;
	uint32_t wrong_mtu;
};

/* clang-format off */
#define V6 .family = ADDRESS_IPV6
#define REFUSES(how, errno_) .far = far_refuses_##how, .error = (errno_)
#define HOLE(size) .verdict = VERDICT_BLACK_HOLE, .path_mtu = (size)
#define REDUCED(size, by) .verdict = VERDICT_REDUCED, .path_mtu = (size), .router = (by)
#define FINE .verdict = VERDICT_CONSISTENT, .path_mtu = 9000
#define REFUSED(size) .verdict = VERDICT_MISCONFIGURED, .reason = REASON_SEND_REFUSED, .path_mtu = (size)
#define DEAD(why) .verdict = VERDICT_UNREACHABLE, .reason = REASON_##why
#define ANY UINT32_MAX /* one of many wrong ones */
#define WRONG(mtu_) .wrong = true, .wrong_mtu = (mtu_)

static const struct row rows[] = {
	{"all passes", .limit = 9000, FINE},
	{"all passes, IPv6", V6, .limit = 9000, FINE},
	{"all is silent", .limit = 0, DEAD(SILENT)},
	{"one below the full size", .limit = 8999, HOLE(8999)},
	{"nothing but the control", .limit = 68, HOLE(68)},
	{"nothing but the control, IPv6", V6, .limit = 100, HOLE(100)},
	{"only fragments come back", .far = far_fragments, .limit = 9000, FINE},
	{"answers come twice", .far = far_doubles, .limit = 9000, FINE},
	{"answers come twice below a hole", .far = far_doubles, .limit = 1500, HOLE(1500)},

	{"EPERM for large packets", REFUSES(large, -EPERM), .limit = 1400, REFUSED(1400)},
	{"EPERM for the full size alone", REFUSES(large, -EPERM), .limit = 8999, REFUSED(8999)},
	{"EPERM for all", REFUSES(all, -EPERM), DEAD(SEND_REFUSED)},
	{"EMSGSIZE for large packets", REFUSES(large, -EMSGSIZE), .limit = 1400, REFUSED(1400)},
	{"ENETDOWN", REFUSES(all, -ENETDOWN), DEAD(LINK_DOWN)},
	{"ENODEV", REFUSES(all, -ENODEV), DEAD(LINK_DOWN)},
	{"ENETUNREACH", REFUSES(all, -ENETUNREACH), DEAD(NO_ROUTE)},
	{"EHOSTUNREACH", REFUSES(all, -EHOSTUNREACH), DEAD(NO_NEIGHBOUR)},
	{"ENOBUFS for large packets", V6, REFUSES(large, -ENOBUFS), .limit = 1500, HOLE(1500)},
	{"ENOBUFS now and then", REFUSES(some, -ENOBUFS), .limit = 9000, FINE},
	{"ENOBUFS now and then above a hole", REFUSES(some, -ENOBUFS), .limit = 1500, HOLE(1500)},
	{"EMFILE for all", REFUSES(all, -EMFILE), DEAD(HOST_SHORT)},
	{"ENOMEM for all, IPv6", V6, REFUSES(all, -ENOMEM), DEAD(HOST_SHORT)},
	{"ENOMEM now and then", REFUSES(some, -ENOMEM), .limit = 9000, FINE},
	{"ENOMEM now and then above a hole", REFUSES(some, -ENOMEM), .limit = 1500, HOLE(1500)},
	{"a refusal of what was answered", REFUSES(answered, -EPERM), .limit = 9000, FINE},
	{"a full queue after the answer", REFUSES(answered, -ENOBUFS), .limit = 9000, FINE},
	{"a refusal of what was answered, in a hole", REFUSES(answered, -EMSGSIZE), .limit = 1500,
		HOLE(1500)},

	{"a router cannot", .far = far_router_cannot, .error = -EHOSTUNREACH, DEAD(HOST_UNREACHABLE)},
	{"a router may not", .far = far_router_cannot, .error = -EACCES, DEAD(HOST_UNREACHABLE)},
	{"a router cannot, IPv6", V6, .far = far_router_cannot, .error = -ENETUNREACH,
		DEAD(HOST_UNREACHABLE)},
	{"no neighbour", .far = far_no_neighbour, .error = -EHOSTUNREACH, DEAD(NO_NEIGHBOUR)},
	{"no neighbour, IPv6", V6, .far = far_no_neighbour, .error = -EHOSTUNREACH, DEAD(NO_NEIGHBOUR)},
	{"a router's word, then no route", .far = far_route_goes, DEAD(NO_ROUTE)},
	{"time exceeded is no proof", .far = far_time_exceeded, .limit = 1500, HOLE(1500)},

	{"honest", .far = far_reports_mtu, .limit = 1500, .mtu = 1500, REDUCED(1500, ROUTER_NEAR)},
	{"honest, IPv6", V6, .far = far_reports_mtu, .limit = 1280, .mtu = 1280,
		REDUCED(1280, ROUTER_NEAR)},
	{"honest, one below", .far = far_reports_mtu, .limit = 8999, .mtu = 8999,
		REDUCED(8999, ROUTER_NEAR)},
	{"a chain of two", .far = far_chain, .limit = 1500, .above = 4000, REDUCED(1500, ROUTER_FAR)},
	{"a chain of two, IPv6", V6, .far = far_chain, .limit = 1400, .above = 1500,
		REDUCED(1400, ROUTER_FAR)},
	{"a chain with one between", .far = far_chain, .limit = 1498, .above = 1500,
		REDUCED(1498, ROUTER_FAR)},
	{"a chain of neighbours", .far = far_chain, .limit = 1499, .above = 1500,
		REDUCED(1499, ROUTER_FAR)},
	{"a chain that loses a packet", .far = far_chain_loses, .limit = 1500, .above = 4000,
		REDUCED(1500, ROUTER_FAR)},
	{"a chain whose end is silent", .far = far_chain_silent, .limit = 1500, .above = 4000,
		HOLE(1500), WRONG(4000)},
	{"a chain without end", .far = far_chain_too_long, .limit = 1500, HOLE(1500), WRONG(ANY)},
	{"says 0", .far = far_reports_mtu, .limit = 1500, .mtu = 0, HOLE(1500), WRONG(0)},
	{"says 67, less than IPv4 may carry", .far = far_reports_mtu, .limit = 1500, .mtu = 67,
		HOLE(1500), WRONG(67)},
	{"says the probe's size", .far = far_reports_own_size, .limit = 1500, HOLE(1500), WRONG(9000)},
	{"says more than the probe", .far = far_reports_mtu, .limit = 1500, .mtu = 9001,
		HOLE(1500), WRONG(9001)},
	{"says too much", .far = far_reports_mtu, .limit = 1500, .mtu = 1520, HOLE(1500), WRONG(1520)},
	{"says too little", .far = far_reports_mtu, .limit = 1500, .mtu = 1400,
		REDUCED(1500, ROUTER_NEAR), WRONG(1400)},
	{"says less than IPv6 may carry", V6, .far = far_reports_mtu, .limit = 1500, .mtu = 1279,
		HOLE(1500), WRONG(1279)},
	{"a report of what was answered", .far = far_reports_answered, .limit = 9000, FINE},
	{"a short quote", .far = far_quotes_short, .limit = 1500, .mtu = 1500,
		REDUCED(1500, ROUTER_NEAR)},
	{"a short quote of another length", .far = far_quotes_short_and_wrong, .limit = 1500,
		.mtu = 1500, HOLE(1500)},
	{"a quote of altered length", .far = far_quotes_altered_length, .limit = 1500, .mtu = 1500,
		REDUCED(1500, ROUTER_NEAR)},
	{"a forged report", .far = far_forges_nonce, .limit = 1500, .mtu = 1500, HOLE(1500)},
};
/* clang-format on */

START_TEST(rounds)
{
	const struct row *row = &rows[_i];
	const struct evidence *evidence;
	struct scene scene;

	scene_init(&scene, row->family ? row->family : ADDRESS_IPV4);
	scene.far = row->far;
	scene.limit = row->limit;
	scene.mtu = row->mtu;
	scene.above = row->above;
	scene.error = row->error;
	for (unsigned i = 0; i < 8 && !scene.announced; i++)
		scene_rounds(&scene, 1);
	evidence = &scene.path.evidence;
	ck_assert_msg(scene.path.announced.verdict == row->verdict &&
			      scene.path.announced.path_mtu == row->path_mtu &&
			      scene.path.announced.reason == row->reason,
		      "%s: verdict %d, number %u, reason %d", row->what,
		      scene.path.announced.verdict, scene.path.announced.path_mtu,
		      scene.path.announced.reason);
	ck_assert_msg(last_byte(&scene.path.announced.router) == row->router, "%s: by %d", row->what,
		      last_byte(&scene.path.announced.router));
	ck_assert_msg(evidence->has_wrong_report == row->wrong, "%s: wrong report %d", row->what,
		      evidence->has_wrong_report);
	ck_assert_msg(row->wrong_mtu == ANY || evidence->wrong_mtu == row->wrong_mtu, "%s: %u", row->what,
		      evidence->wrong_mtu);
	if (row->far == far_refuses_answered)
		ck_assert_uint_eq(scene.path.full_sent + scene.path.control_sent, scene.sent);
	ck_assert_uint_le(scene.path.full_lost, scene.path.full_sent);
	ck_assert_uint_le(scene.path.control_lost, scene.path.control_sent);
}
END_TEST

/* --- answers that are not ours --- */

static bool far_wrong_nonce(struct scene *scene, struct answer *answer)
{
	answer->nonce++;
	return true;
}

static bool far_no_nonce(struct scene *scene, struct answer *answer)
{
	answer->has_nonce = false;
	return true;
}

static bool far_wrong_size(struct scene *scene, struct answer *answer)
{
	answer->size++;
	return true;
}

static bool far_wrong_sequence(struct scene *scene, struct answer *answer)
{
	answer->sequence += 1000;
	return true;
}

static bool far_sequence_before(struct scene *scene, struct answer *answer)
{
	answer->sequence = scene_round(scene)->settings.first_sequence - 1;
	return true;
}

static bool far_wrong_peer(struct scene *scene, struct answer *answer)
{
	answer->to = scene_address(answer->to.family, 3);
	return true;
}

static bool far_wrong_zone(struct scene *scene, struct answer *answer)
{
	answer->to.zone = 3;
	return true;
}

static bool (*const strangers[])(struct scene *, struct answer *) = {
	far_wrong_nonce,     far_no_nonce,   far_wrong_size, far_wrong_sequence,
	far_sequence_before, far_wrong_peer, far_wrong_zone,
};

START_TEST(strangers_are_ignored)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV6);
	scene.far = strangers[_i];
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_UNREACHABLE, 0);
	ck_assert_uint_gt(scene.sent, 6);
	ck_assert_uint_eq(scene.accepted, 0);
}
END_TEST

static bool far_other_link(struct scene *scene, struct answer *answer)
{
	answer->link = 3;
	return true;
}

/* Hosts that cut their replies short got the whole probe; of the way back nothing is known. */
static bool far_cuts_short(struct scene *scene, struct answer *answer)
{
	if (answer->size > 100)
		answer->size = 100;
	return true;
}

START_TEST(replies_cut_short)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_cuts_short;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	ck_assert_uint_eq(scene.path.announced.return_mtu, 0);
}
END_TEST

/* The way back is the network's choice, also where Interface= names the link for the way there. */
START_TEST(back_by_another_link)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_other_link;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_other_link;
	strcpy(scene.path.wanted_link, "eth0");
	scene.around.wanted = &scene.wanted;
	scene_look(&scene);
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);

	/* the route goes by another link anyway, and that is said */
	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_other_link;
	strcpy(scene.path.wanted_link, "eth1");
	scene.around.wanted = &scene.wanted;
	scene.around.wrong_link = true;
	scene_look(&scene);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_MISCONFIGURED, 9000);
	ck_assert_int_eq(scene.path.announced.reason, REASON_WRONG_LINK);
}
END_TEST

/* Known from the round before: the answer is of an old round and of no worth. */
START_TEST(answers_of_an_old_round)
{
	struct scene scene;
	struct answer old = {.kind = ANSWER_ECHO, .size = 9000, .has_nonce = true};

	scene_init(&scene, ADDRESS_IPV4);
	scene_rounds(&scene, 1);
	old.to = scene.path.address;
	old.nonce = scene_round(&scene)->settings.nonce;
	old.sequence = scene_round(&scene)->settings.first_sequence + 1;
	ck_assert(!path_on_answer(&scene.path, &scene.flow, &old, scene.now));
	ck_assert(!round_answer(scene_round(&scene), &old, scene.now));
	scene.limit = 1500;
	scene.now = scene.path.wake_usec;
	scene_step(&scene);
	ck_assert(!path_on_answer(&scene.path, &scene.flow, &old, scene.now));
}
END_TEST

/* --- time --- */

/* However late within the round: what was answered passes. */
START_TEST(late_answers_count)
{
	static const unsigned delays_msec[] = {1, 100, 499, 501, 900, 999, 1500, 2400};
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.delay_usec = delays_msec[_i] * USEC_PER_MSEC;
	scene_rounds(&scene, 3);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	ck_assert_uint_eq(scene.announced, 1);
}
END_TEST

static bool far_full_is_slow(struct scene *scene, struct answer *answer)
{
	if (answer->size < 9000)
		return true;
	scene->now += 450 * USEC_PER_MSEC;
	scene_deliver(scene, answer);
	scene->now -= 450 * USEC_PER_MSEC;
	return false;
}

/* Large packets may take far longer than small ones: a slow line, a deep queue. */
START_TEST(slow_is_not_lost)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_full_is_slow;
	for (unsigned i = 0; i < 5; i++) {
		scene_rounds(&scene, 1);
		assert_said(&scene, VERDICT_CONSISTENT, 9000);
	}
}
END_TEST

/* The control's answer is at hand in no time at all where the clock is coarse. */
START_TEST(no_time_at_all)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.delay_usec = 0;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	ck_assert_uint_eq(scene.path.rtt_usec, 1);
}
END_TEST

/* A healthy round costs two packets and one round trip. */
START_TEST(healthy_is_cheap)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.now = scene.path.wake_usec = 1000 * USEC_PER_SEC;
	scene_rounds(&scene, 1);
	ck_assert_uint_eq(scene.sent, 2);
	ck_assert_uint_eq(scene.now, 1000 * USEC_PER_SEC + scene.delay_usec);
}
END_TEST

/* --- overflow --- */

static bool far_overflows(struct scene *scene, struct answer *answer)
{
	struct answer small = *answer;

	if (answer->size <= 100)
		scene_deliver(scene, &small);
	path_on_overflow(&scene->path);
	return false;
}

/* Our own buffer lost the large answers: that is no hole. */
START_TEST(overflow_tells_nothing)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	path_on_overflow(&scene.path);
	scene.far = far_overflows;
	scene_rounds(&scene, 4);
	assert_said(&scene, VERDICT_UNKNOWN, 0);
	ck_assert_uint_eq(scene.announced, 0);
	ck_assert_uint_eq(scene.path.undecided, 4);
	scene.far = NULL;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
}
END_TEST

static bool far_overflows_at_first(struct scene *scene, struct answer *answer)
{
	if (scene->sent < 12)
		path_on_overflow(&scene->path);
	return answer->size <= scene->limit;
}

START_TEST(overflow_passes)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_overflows_at_first;
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1500);
}
END_TEST

/* A full queue on this host for ever: not measured, and no word of the path. */
START_TEST(no_buffers_ever)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_refuses_all;
	scene.error = -ENOBUFS;
	scene_rounds(&scene, 3);
	assert_said(&scene, VERDICT_UNKNOWN, 0);
	ck_assert_uint_eq(scene.path.control_sent, 0);
}
END_TEST

/* --- the budget --- */

/* However small the budget, a round keeps to it and finds what a rich one finds. */
START_TEST(within_the_budget)
{
	static const uint64_t budgets[] = {64000, 250000, 1000000, 10000000};
	static const uint32_t limits[] = {1500, 1447, 5003, 8998, 68};
	uint64_t budget = budgets[_i / 5], began, bytes;
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	pace_init(&scene.pace, budget);
	scene.limit = limits[_i % 5];
	began = scene.now;
	for (unsigned i = 0; i < 8 && !scene.announced; i++)
		scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, scene.limit);
	/* the last burst leaves when those before it are through */
	bytes = scene.bytes - 65536;
	ck_assert_uint_gt(scene.bytes, 65536);
	ck_assert_uint_ge(scene.now - began + 100 * USEC_PER_MSEC,
			  bytes * 8 * USEC_PER_SEC / budget);
}
END_TEST

/* The answer comes while the next burst waits for its turn: then it need not be sent. */
START_TEST(answered_while_waiting)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	pace_init(&scene.pace, 64000);
	scene.delay_usec = 600 * USEC_PER_MSEC; /* the first wait is half of Timeout= */
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	ck_assert_uint_eq(scene.sent, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("round");
	TCase *test = tcase_create("round");

	tcase_add_loop_test(test, rounds, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(test, strangers_are_ignored, 0,
			    sizeof(strangers) / sizeof(strangers[0]));
	tcase_add_test(test, replies_cut_short);
	tcase_add_test(test, back_by_another_link);
	tcase_add_test(test, answers_of_an_old_round);
	tcase_add_loop_test(test, late_answers_count, 0, 8);
	tcase_add_test(test, slow_is_not_lost);
	tcase_add_test(test, no_time_at_all);
	tcase_add_test(test, healthy_is_cheap);
	tcase_add_test(test, overflow_tells_nothing);
	tcase_add_test(test, overflow_passes);
	tcase_add_test(test, no_buffers_ever);
	tcase_add_loop_test(test, within_the_budget, 0, 20);
	tcase_add_test(test, answered_while_waiting);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
