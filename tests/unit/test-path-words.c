/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a path makes of what it is told: of a check's result, of its flows, of findings about links. */
#include "../../daemon/core/path_inside.h"
#include "../../daemon/core/peer.h"
#include "../../daemon/core/witness.h"
#include "path_scene.h"

/* --- of a check --- */

static struct judgement decided(struct scene *scene, struct check_result *result)
{
	struct judgement said;

	path_decide(&scene->path, result, &said);
	return said;
}

/* A firewall on the way answers in the peer's name: what it says of sizes is not the peer's word. */
START_TEST(who_stands_nearer_is_no_witness)
{
	static const struct {
		uint8_t echo, other;
		bool kept;
	} rows[] = {{5, 5, true}, {5, 6, true}, {0, 3, true}, {5, 0, true}, {5, 3, false}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene scene;
		struct check_result result = {
			.main = {.outcome = OUTCOME_LESS, .full = 9000, .passes = 1500,
				 .distance = rows[i].echo},
			.second = {.kind = PROBE_SYN, .outcome = OUTCOME_FULL, .full = 9000,
				   .passes = 9000, .distance = rows[i].other},
			.has_second = SECOND_CONFIRM,
		};

		scene_init(&scene, ADDRESS_IPV4);
		ck_assert_int_eq(decided(&scene, &result).verdict,
				 rows[i].kept ? VERDICT_CONSISTENT : VERDICT_BLACK_HOLE);
		ck_assert_uint_eq(scene.path.second_passes, rows[i].kept ? 1500 : 0);
	}
}
END_TEST

/* That nothing listens there is the peer's to say, not a router's. */
START_TEST(who_says_that_nothing_listens)
{
	struct scene scene;
	struct check_result result = {
		.main = {.kind = PROBE_RESPONDER, .outcome = OUTCOME_NOTHING, .full = 9000,
			 .error = -ECONNREFUSED},
	};

	scene_init(&scene, ADDRESS_IPV4);
	result.main.error_from = scene.route.gateway;
	ck_assert_int_eq(decided(&scene, &result).verdict, VERDICT_UNREACHABLE);
	result.main.error_from = scene.path.address;
	ck_assert_int_eq(decided(&scene, &result).verdict, VERDICT_UNVERIFIABLE);
	result.main.error = -EHOSTUNREACH;
	ck_assert_int_eq(decided(&scene, &result).verdict, VERDICT_UNREACHABLE);
}
END_TEST

START_TEST(ports)
{
	struct scene scene;
	struct path *path = &scene.path;

	scene_init(&scene, ADDRESS_IPV4);
	scene.settings.method = METHOD_AUTO;
	ck_assert_uint_eq(path_port(path, PROBE_ECHO), 0);
	ck_assert_uint_eq(path_port(path, PROBE_SYN), 7);
	ck_assert_uint_eq(path_port(path, PROBE_UDP), 33434);
	ck_assert_uint_eq(path_port(path, PROBE_RESPONDER), 8899);
	/* a storage's port is TCP's alone, until a method is named */
	path->port = 2049;
	ck_assert_uint_eq(path_port(path, PROBE_SYN), 2049);
	ck_assert_uint_eq(path_port(path, PROBE_UDP), 33434);
	ck_assert_uint_eq(path_port(path, PROBE_RESPONDER), 8899);
	scene.settings.method = METHOD_UDP;
	ck_assert_uint_eq(path_port(path, PROBE_UDP), 2049);
	scene.settings.method = METHOD_RESPONDER;
	ck_assert_uint_eq(path_port(path, PROBE_RESPONDER), 2049);
	ck_assert_uint_eq(path_port(path, PROBE_ECHO), 0);
}
END_TEST

/* --- details --- */

typedef void detail_change(struct judgement *announced);

static void change_reason(struct judgement *said) { said->reason = REASON_IRREGULAR; }
static void change_direction(struct judgement *said) { said->direction = DIRECTION_BOTH; }
static void change_locus(struct judgement *said) { said->locus = LOCUS_AFTER; }
static void change_severity(struct judgement *said) { said->severity = SEVERITY_NOTICE; }
static void change_return(struct judgement *said) { said->return_mtu = 1500; }
static void change_confirmed(struct judgement *said) { said->confirmed = !said->confirmed; }
static void change_router(struct judgement *said) { said->router.bytes[0] = 1; }
static void change_hop(struct judgement *said) { said->locus_address.bytes[0] = 1; }
static void change_nothing(struct judgement *said) { (void)said; }

/* Each detail is news of its own, and none of them an alarm. */
START_TEST(each_detail)
{
	static detail_change *const changes[] = {
		change_nothing, change_reason,    change_direction, change_locus, change_severity,
		change_return,  change_confirmed, change_router,    change_hop,
	};
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene_rounds(&scene, 1);
	ck_assert_uint_eq(scene.details, 0);
	changes[_i](&scene.path.announced);
	scene_rounds(&scene, 1);
	ck_assert_uint_eq(scene.details, changes[_i] != change_nothing);
	ck_assert_uint_eq(scene.announced, 1);
}
END_TEST

static bool far_router(struct scene *scene, struct answer *answer)
{
	if (answer->size <= scene->limit)
		return true;
	answer->kind = ANSWER_TOO_BIG;
	answer->from = scene->route.gateway;
	answer->mtu = scene->limit;
	return true;
}

/* A router that was short of reports would have had the same number: another one is another fault. */
START_TEST(another_number_is_no_silence_of_the_router)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_router;
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_REDUCED, 1500);
	scene.far = NULL;
	scene.limit = 1400;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_REDUCED, 1500);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_BLACK_HOLE, 1400);
	/* nor is a peer that has gone */
	scene_init(&scene, ADDRESS_IPV4);
	scene.far = far_router;
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	scene.far = NULL;
	scene.limit = 0;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_UNREACHABLE, 0);
}
END_TEST

/* Events without end do not keep a path from being measured for ever. */
START_TEST(a_check_endures_a_long_storm)
{
	struct moment moment = {0};
	struct scene scene;
	uint64_t began, rounds;

	scene_init(&scene, ADDRESS_IPV4);
	began = scene.now;
	for (; scene.now <= began + 10 * USEC_PER_SEC; scene.now += 100 * USEC_PER_MSEC)
		path_restart(&scene.path, scene.now);
	ck_assert_ptr_null(path_restart(&scene.path, scene.now)); /* there is none to be ended */
	scene.now = scene.path.due_usec;
	moment.now_usec = scene.now;
	path_begin(&scene.path, (void *)scene.memory, &moment);
	for (unsigned i = 0; i < 20; i++) {
		scene.now += 10 * USEC_PER_MSEC;
		ck_assert_ptr_null(path_restart(&scene.path, scene.now));
		ck_assert_ptr_eq(scene.path.check, (void *)scene.memory);
	}
	/* it is judged, and what changed under it is not left for the next interval */
	rounds = scene.path.rounds;
	while (scene.path.rounds == rounds)
		scene_go_on(&scene);
	ck_assert(!path_is_settled(&scene.path));
	ck_assert_uint_eq(scene.path.due_usec, scene.now + USEC_PER_SEC);
	rounds = scene.path.rounds;
	while (scene.path.rounds == rounds)
		scene_go_on(&scene);
	ck_assert(path_is_settled(&scene.path));
	/* one that has ended is judged or thrown away: it would never be asked again */
	scene.now = scene.path.due_usec;
	moment.now_usec = scene.now;
	path_begin(&scene.path, (void *)scene.memory, &moment);
	scene.path.check->done = true;
	scene.path.unrest_usec = 0;
	scene.path.restart_usec = scene.now;
	ck_assert(path_endures(&scene.path, scene.now));
	ck_assert_ptr_eq(path_restart(&scene.path, scene.now), (void *)scene.memory);
	ck_assert_uint_le(scene.path.wake_usec, scene.now + USEC_PER_SEC);
	moment.now_usec = scene.now;
	path_begin(&scene.path, (void *)scene.memory, &moment);
	/* after some quiet an event is what it was */
	scene.now += 10 * USEC_PER_SEC;
	ck_assert_ptr_eq(path_restart(&scene.path, scene.now), (void *)scene.memory);
	ck_assert_ptr_null(scene.path.check);
}
END_TEST

static bool far_refuses_large(struct scene *scene, struct answer *answer)
{
	if (answer->size <= scene->limit)
		return true;
	answer->kind = ANSWER_REFUSED;
	answer->error = -EMSGSIZE;
	return true;
}

static void scene_hears(struct scene *scene, uint32_t mtu)
{
	scene->link.mtu = mtu;
	ck_assert(scene_look(scene));
	path_restart(&scene->path, scene->now);
}

/* What this host refuses while its own link changes is no packet filter, and no word of the path. The
 * kernel knows of each change before the daemon hears of it. */
START_TEST(a_storm_of_sizes_is_no_fault)
{
	bool endured = false;
	struct scene scene;

	scene_init(&scene, _i % 2 ? ADDRESS_IPV6 : ADDRESS_IPV4);
	scene.far = far_refuses_large;
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	for (uint64_t began = scene.now; scene.now < began + 60 * USEC_PER_SEC;) {
		scene.limit = 1300;
		while (!scene.path.check)
			scene_go_on(&scene);
		scene_hears(&scene, 1300);
		if (_i > 1)
			scene_hears(&scene, 9000);
		while (scene.path.check)
			scene_go_on(&scene);
		endured |= scene.path.outdated;
		scene.limit = 9000;
		if (_i <= 1)
			scene_hears(&scene, 9000);
		assert_said(&scene, VERDICT_CONSISTENT, 9000);
	}
	ck_assert(endured);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 9000);
	ck_assert(path_is_settled(&scene.path));
}
END_TEST

/* One that never says the same twice does not hold up all others. */
START_TEST(urgent_for_a_while)
{
	struct path path = {0};

	ck_assert(!path_is_urgent(&path));
	path.streak = 1;
	path.differing = 12;
	ck_assert(path_is_urgent(&path));
	path.differing = 13;
	ck_assert(!path_is_urgent(&path));
}
END_TEST

/* --- findings --- */

static void scene_misconfigured(struct scene *scene)
{
	scene_init(scene, ADDRESS_IPV4);
	scene->settings.expect_mtu = 9000;
	scene->link.mtu = 1500;
	scene_look(scene);
	scene_rounds(scene, 1);
	assert_said(scene, VERDICT_MISCONFIGURED, 1500);
}

/* The link's own finding says more than the path's word for the same thing, and takes its place. */
START_TEST(explained_by_the_link)
{
	static const struct {
		enum finding_id id;
		unsigned count;
	} rows[] = {
		{FINDING_LINK_BELOW_EXPECTED, 1},
		{FINDING_BRIDGE_LOWERED_BY_PORT, 1},
		{FINDING_MEMBER_DIFFERS, 2},
	};
	struct scene scene;
	struct todo todo = {0};
	struct finding why = {.id = rows[_i].id, .severity = SEVERITY_WARNING, .link = "br0"};
	const struct findings *findings = &scene.dossier.findings;

	scene_misconfigured(&scene);
	path_lint(&scene.path, &scene.link, NULL, &todo);
	ck_assert(todo.findings_changed);
	ck_assert_uint_eq(findings->count, 1);
	ck_assert_int_eq(findings_explaining(findings)->id, FINDING_LINK_BELOW_EXPECTED);
	todo = (struct todo){0};
	path_lint(&scene.path, &scene.link, &why, &todo);
	ck_assert(todo.findings_changed);
	ck_assert_uint_eq(todo.findings_before.count, 1);
	ck_assert_uint_eq(findings->count, rows[_i].count);
	ck_assert_str_eq(findings_find(findings, rows[_i].id)->link, "br0");
	ck_assert(findings_find(findings, rows[_i].id)->explains);
	todo = (struct todo){0};
	path_lint(&scene.path, &scene.link, &why, &todo);
	ck_assert(!todo.findings_changed);
}
END_TEST

/* What explained the verdict explains nothing once that is another one. */
START_TEST(explains_no_other_verdict)
{
	struct scene scene;
	struct todo todo = {0};

	scene_misconfigured(&scene);
	path_lint(&scene.path, &scene.link, NULL, &todo);
	ck_assert_ptr_nonnull(findings_explaining(&scene.dossier.findings));
	scene.path.announced.verdict = VERDICT_UNREACHABLE;
	path_lint(&scene.path, &scene.link, NULL, &todo);
	ck_assert_uint_eq(scene.dossier.findings.count, 1);
	ck_assert_ptr_null(findings_explaining(&scene.dossier.findings));
}
END_TEST

/* --- flows that are asked in turn --- */

#define FLOWS 8

struct flows_scene {
	struct path path;
	struct flow flows[FLOWS];
	_Alignas(struct check) uint8_t memory[CHECK_SIZE(FLOWS)];
};

static struct check *flows_begin(struct flows_scene *scene, enum probe_kind kind)
{
	struct check_settings settings = {.flow_count = FLOWS};
	struct check *check = (void *)scene->memory;

	memset(scene, 0, sizeof(*scene));
	scene->path.flows = scene->flows;
	scene->path.flow_count = FLOWS;
	scene->path.evidence.kind = kind;
	for (unsigned i = 0; i < FLOWS; i++)
		scene->flows[i].passes = 9000;
	settings.round.kind = kind;
	settings.round.full = 9000;
	settings.asked = path_flows_to_ask(&scene->path, kind, 9000);
	check_begin(check, &settings, USEC_PER_SEC);
	return check;
}

static unsigned bits(uint64_t of)
{
	return (unsigned)__builtin_popcountll(of);
}

/* The worst of those that are faulty are asked each time, and one of the others is. */
START_TEST(faulty_flows_first)
{
	static struct flows_scene scene;
	uint64_t asked;

	flows_begin(&scene, PROBE_UDP);
	scene.flows[1].passes = 1500;
	scene.flows[3].passes = 1400;
	scene.flows[5].passes = 4000;
	scene.flows[6].passes = 8000;
	asked = path_flows_to_ask(&scene.path, PROBE_UDP, 9000);
	ck_assert_uint_eq(bits(asked), FLOWS_SLOW);
	ck_assert_uint_eq(asked & (1U << 1 | 1U << 3 | 1U << 5), 1U << 1 | 1U << 3 | 1U << 5);
	ck_assert_uint_eq(path_flows_to_ask(&scene.path, PROBE_SYN, 9000), UINT64_MAX);
}
END_TEST

/* Where faults leave room for one, each of the others gets it in its turn. */
START_TEST(no_flow_is_passed_by)
{
	static struct flows_scene scene;
	uint64_t asked = 0;

	flows_begin(&scene, PROBE_UDP);
	for (unsigned i = 1; i < FLOWS_SLOW; i++)
		scene.flows[i].passes = 1500;
	for (; scene.path.rounds < 2 * FLOWS; scene.path.rounds++)
		asked |= path_flows_to_ask(&scene.path, PROBE_UDP, 9000);
	ck_assert_uint_eq(bits(asked), FLOWS);
}
END_TEST

/* Routers tell of smaller ones: the one that nobody tells of is asked all the same. */
START_TEST(silent_flow_first)
{
	static struct flows_scene scene;
	struct check *check = flows_begin(&scene, PROBE_UDP);
	struct check_result result = {.main = {.outcome = OUTCOME_LESS}};

	check->settings.asked = UINT64_MAX;
	for (unsigned i = 0; i < FLOWS; i++)
		check->rounds[i].evidence = (struct evidence){
			.outcome = OUTCOME_LESS, .passes = i == 7 ? 8000 : 1500, .reported = i != 7};
	path_flows_learn(&scene.path, check, &result);
	for (; scene.path.rounds < 2 * FLOWS; scene.path.rounds++)
		ck_assert(path_flows_to_ask(&scene.path, PROBE_UDP, 9000) >> 7 & 1);
}
END_TEST

/* Those that were faulty are good again, but of others that were nothing new is known: no verdict. */
START_TEST(good_again_but_not_all_of_them)
{
	static struct flows_scene scene;
	struct check *check = flows_begin(&scene, PROBE_UDP);
	struct check_result result = {.main = {.outcome = OUTCOME_FULL}};
	unsigned other = (unsigned)__builtin_ctzll(~check->settings.asked);

	scene.flows[other].passes = 1500;
	for (unsigned i = 0; i < FLOWS; i++)
		check->rounds[i].evidence = (struct evidence){.outcome = OUTCOME_FULL, .passes = 9000};
	path_flows_learn(&scene.path, check, &result);
	ck_assert_int_eq(result.main.outcome, OUTCOME_UNDECIDED);
	ck_assert_uint_eq(result.flows_faulty, 1);
	/* dead ones are a fault in any case */
	result = (struct check_result){.main = {.outcome = OUTCOME_FULL}, .flows_dead = 1};
	path_flows_learn(&scene.path, check, &result);
	ck_assert_int_eq(result.main.outcome, OUTCOME_FULL);
	/* what a round did not find out is remembered as it was */
	check->rounds[__builtin_ctzll(check->settings.asked)].evidence.outcome = OUTCOME_UNDECIDED;
	check->rounds[__builtin_ctzll(check->settings.asked)].evidence.passes = 68;
	path_flows_learn(&scene.path, check, &result);
	ck_assert_uint_eq(scene.flows[__builtin_ctzll(check->settings.asked)].passes, 9000);
}
END_TEST

START_TEST(flows_never_asked)
{
	static struct flows_scene scene;

	flows_begin(&scene, PROBE_UDP);
	ck_assert(!path_flows_pending(&scene.path));
	scene.flows[7].passes = 0;
	ck_assert(path_flows_pending(&scene.path));
	ck_assert(path_flows_to_ask(&scene.path, PROBE_UDP, 9000) >> 7 & 1);
	scene.path.announced.verdict = VERDICT_UNREACHABLE;
	ck_assert(!path_flows_pending(&scene.path));
	scene.path.announced.verdict = VERDICT_CONSISTENT;
	scene.path.rounds = FLOWS;
	ck_assert(!path_flows_pending(&scene.path));
	scene.path.rounds = 0;
	scene.path.evidence.kind = PROBE_SYN;
	ck_assert(!path_flows_pending(&scene.path));
}
END_TEST

/* --- another path's word --- */

/* Echoes that fail alike may be one administrator's rule: other packets have to fail as well. */
START_TEST(borne_out_beyond_echo)
{
	static const struct {
		const char *what;
		struct evidence second;
		uint32_t second_passes;
		bool borne_out;
	} rows[] = {
		{"nothing else was asked", .borne_out = false},
		{"TCP failed alike", {.kind = PROBE_SYN, .outcome = OUTCOME_LESS, .passes = 1500}, 1500, true},
		{"TCP failed alike, of another fault", {.kind = PROBE_SYN, .outcome = OUTCOME_LESS,
			.passes = 1500}, 1400, false},
		{"TCP got through", {.kind = PROBE_SYN, .outcome = OUTCOME_FULL, .passes = 1500}, 1500, false},
		{"TCP failed at another size", {.kind = PROBE_SYN, .outcome = OUTCOME_LESS, .passes = 1400},
			1500, false},
		{"it was an echo", {.kind = PROBE_ECHO, .outcome = OUTCOME_LESS, .passes = 1500}, 1500, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct witnesses witnesses;
		struct dossier dossier = {.second = rows[i].second};
		struct evidence lost = {.outcome = OUTCOME_LESS, .full = 9000, .passes = 1500};
		struct check check = {.result.main = lost};
		struct path other = {.address = scene_address(ADDRESS_IPV4, 3), .evidence = lost,
				     .dossier = &dossier, .second_passes = rows[i].second_passes};
		struct path path = {.address = scene_address(ADDRESS_IPV4, 2), .check = &check};

		memset(&witnesses, 0, sizeof(witnesses));
		witness_update(&witnesses, &other);
		witness_compare(&witnesses, &path);
		ck_assert_msg(path.facts.borne_out == rows[i].borne_out, "%s", rows[i].what);
		/* it has no say about itself */
		other.check = &check;
		witness_compare(&witnesses, &other);
		ck_assert(!other.facts.borne_out);
	}
}
END_TEST

/* One that announced that all is well refutes nobody while its own last check failed. */
START_TEST(a_doubtful_one_refutes_nobody)
{
	static struct witnesses witnesses;
	struct check check = {.result.main = {.outcome = OUTCOME_LESS, .full = 9000, .passes = 1500}};
	struct path path = {.address = scene_address(ADDRESS_IPV4, 2), .check = &check};
	struct path behind = {.address = scene_address(ADDRESS_IPV4, 3),
			      .announced = {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000},
			      .evidence.outcome = OUTCOME_FULL};

	behind.route.gateway = path.address;
	witness_update(&witnesses, &behind);
	witness_compare(&witnesses, &path);
	ck_assert(path.facts.refuted);
	behind.evidence.outcome = OUTCOME_LESS; /* not looked at again yet */
	witness_compare(&witnesses, &path);
	ck_assert(!path.facts.refuted);
	behind.evidence.outcome = OUTCOME_FULL;
	behind.announced.path_mtu = 4000; /* good, and smaller than what is in doubt */
	witness_compare(&witnesses, &path);
	ck_assert(!path.facts.refuted);
}
END_TEST

/* Paths by one link have one place for what they found. */
START_TEST(one_place_a_link)
{
	static struct witnesses witnesses;
	struct path a = {.route.link = 2}, b = {.route.link = 2}, c = {.route.link = 3};

	ck_assert_ptr_eq(witness_passes(&witnesses, &a), witness_passes(&witnesses, &b));
	ck_assert_ptr_ne(witness_passes(&witnesses, &a), witness_passes(&witnesses, &c));
}
END_TEST

START_TEST(origins)
{
	ck_assert(!origin_is_discovered(ORIGIN_REQUEST));
	ck_assert(origin_is_discovered(ORIGIN_GATEWAY));
	ck_assert(!origin_is_storage(ORIGIN_GATEWAY));
	ck_assert(origin_is_discovered(ORIGIN_NFS));
	ck_assert(origin_is_storage(ORIGIN_NFS));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("path-words");
	TCase *test = tcase_create("path-words");

	tcase_add_test(test, who_stands_nearer_is_no_witness);
	tcase_add_test(test, who_says_that_nothing_listens);
	tcase_add_test(test, ports);
	tcase_add_loop_test(test, each_detail, 0, 9);
	tcase_add_test(test, another_number_is_no_silence_of_the_router);
	tcase_add_test(test, a_check_endures_a_long_storm);
	tcase_add_loop_test(test, a_storm_of_sizes_is_no_fault, 0, 4);
	tcase_add_test(test, urgent_for_a_while);
	tcase_add_loop_test(test, explained_by_the_link, 0, 3);
	tcase_add_test(test, explains_no_other_verdict);
	tcase_add_test(test, faulty_flows_first);
	tcase_add_test(test, no_flow_is_passed_by);
	tcase_add_test(test, silent_flow_first);
	tcase_add_test(test, good_again_but_not_all_of_them);
	tcase_add_test(test, flows_never_asked);
	tcase_add_test(test, borne_out_beyond_echo);
	tcase_add_test(test, a_doubtful_one_refutes_nobody);
	tcase_add_test(test, one_place_a_link);
	tcase_add_test(test, origins);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
