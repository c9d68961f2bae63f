/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What paths say of each other: as one would find it by asking all of them, whatever changed since.
 */
#include <string.h>

#include "../../daemon/core/witness.h"
#include "path_scene.h"

#define PATHS 60

/* The plain way: everybody is asked. */
static bool all_bear_out(const struct path *paths, const struct path *path)
{
	const struct evidence *mine = &path->check->result.main;

	for (const struct path *other = paths; other < paths + PATHS; other++)
		if (other != path && other->route.link == path->route.link &&
		    !address_equal(&other->address, &path->address) &&
		    other->evidence.outcome == OUTCOME_LESS &&
		    other->evidence.passes == mine->passes && other->evidence.full == mine->full &&
		    (other->evidence.kind != PROBE_ECHO || other->evidence.reported ||
		     (other->facts.whole_back >= mine->full && path->facts.whole_back >= mine->full)))
			return true;
	return false;
}

static bool all_refute(const struct path *paths, const struct path *path)
{
	const struct evidence *mine = &path->check->result.main;

	for (const struct path *other = paths; other < paths + PATHS; other++)
		if (other != path && other->route.link == path->route.link &&
		    !address_equal(&other->address, &path->address) &&
		    other->evidence.outcome != OUTCOME_LESS &&
		    other->announced.verdict == VERDICT_CONSISTENT &&
		    other->announced.path_mtu >= mine->full &&
		    address_equal(&other->route.gateway, &path->address))
			return true;
	return false;
}

/* `told` NONE: nobody may have told. */
static bool told_is_right(const struct path *paths, const struct path *path)
{
	const struct evidence *mine = &path->check->result.main;
	const struct address *told = &path->facts.told_by;
	bool any = false;

	for (const struct path *other = paths; other < paths + PATHS; other++) {
		if (other == path || other->route.link != path->route.link ||
		    address_equal(&other->address, &path->address) ||
		    other->evidence.outcome != OUTCOME_LESS || !other->evidence.reported ||
		    other->evidence.passes != mine->passes ||
		    !address_equal(&other->route.gateway, &path->route.gateway))
			continue;
		any = true;
		if (address_equal(told, &other->evidence.router))
			return true;
	}
	return !any && told->family == ADDRESS_NONE;
}

static void path_roll(struct path *path, uint64_t *dice)
{
	static const uint32_t sizes[] = {1400, 1500, 9000};

	path->address = scene_address(ADDRESS_IPV4, (uint8_t)(dice_roll(dice) % 20));
	path->route.link = (int)(dice_roll(dice) % 2) + 1;
	path->route.gateway = dice_roll(dice) % 3 ? scene_address(ADDRESS_IPV4, dice_roll(dice) % 5)
						  : (struct address){0};
	path->facts.on_link = path->route.gateway.family == ADDRESS_NONE;
	path->evidence.outcome = dice_roll(dice) % 2 ? OUTCOME_LESS : OUTCOME_FULL;
	path->evidence.passes = sizes[dice_roll(dice) % 2];
	path->evidence.full = sizes[1 + dice_roll(dice) % 2];
	path->evidence.reported = dice_roll(dice) % 2;
	path->evidence.kind = dice_roll(dice) % 2 ? PROBE_SYN : PROBE_ECHO;
	path->facts.whole_back = dice_roll(dice) % 2 ? 9000 : 0;
	path->evidence.router = scene_address(ADDRESS_IPV4, 100 + dice_roll(dice) % 3);
	path->announced.verdict = dice_roll(dice) % 2 ? VERDICT_CONSISTENT : VERDICT_BLACK_HOLE;
	path->announced.path_mtu = sizes[1 + dice_roll(dice) % 2];
}

static void path_compare(const struct witnesses *witnesses, const struct path *paths,
			 struct path *path)
{
	struct check check = {.result.main = path->evidence};

	check.result.main.outcome = OUTCOME_LESS;
	path->check = &check;
	witness_compare(witnesses, path);
	ck_assert_int_eq(path->facts.borne_out, all_bear_out(paths, path));
	ck_assert_int_eq(path->facts.refuted, all_refute(paths, path));
	if (path->facts.on_link)
		ck_assert_int_eq(path->facts.told_by.family, ADDRESS_NONE);
	else
		ck_assert(told_is_right(paths, path));
	path->check = NULL;
}

START_TEST(as_if_all_were_asked)
{
	static struct witnesses witnesses;
	static struct path paths[PATHS];
	uint64_t dice = (uint64_t)_i;

	memset(&witnesses, 0, sizeof(witnesses));
	memset(paths, 0, sizeof(paths));
	for (unsigned i = 0; i < 3000; i++) {
		struct path *path = &paths[dice_roll(&dice) % PATHS];

		path_roll(path, &dice);
		witness_update(&witnesses, path);
		path_compare(&witnesses, paths, &paths[dice_roll(&dice) % PATHS]);
	}
	for (unsigned i = 0; i < PATHS; i++)
		witness_remove(&paths[i]);
	for (unsigned i = 0; i < WITNESS_ROWS; i++)
		ck_assert_ptr_null(witnesses.rows[i]);
}
END_TEST

/* A thousand with a rule against large pings bear out nobody: nobody has to walk past them. */
START_TEST(who_is_of_no_use_is_not_asked)
{
	static struct witnesses witnesses;
	static struct path paths[1000];

	for (unsigned i = 0; i < 1000; i++) {
		paths[i].address = scene_address(ADDRESS_IPV4, (uint8_t)i);
		paths[i].evidence = (struct evidence){
			.outcome = OUTCOME_LESS, .passes = 1500, .full = 9000, .kind = PROBE_ECHO};
		witness_update(&witnesses, &paths[i]);
	}
	for (unsigned i = 0; i < WITNESS_ROWS; i++)
		ck_assert_ptr_null(witnesses.rows[i]);
}
END_TEST

START_TEST(nothing_is_said_of_a_good_path)
{
	static struct witnesses witnesses;
	struct check check = {.result.main = {.outcome = OUTCOME_FULL, .passes = 9000}};
	struct path path = {.check = &check,
			    .facts = {.borne_out = true, .refuted = true, .told_by.family = 4}};

	witness_compare(&witnesses, &path);
	ck_assert(!path.facts.borne_out && !path.facts.refuted);
	ck_assert_int_eq(path.facts.told_by.family, ADDRESS_NONE);
	/* nor where no check was made */
	path.check = NULL;
	path.facts.borne_out = true;
	witness_compare(&witnesses, &path);
	ck_assert(!path.facts.borne_out);
}
END_TEST

/* Packets until the number is known, with what another path left. */
static unsigned search_packets(uint32_t left, uint32_t limit)
{
	static struct scene scene;
	uint32_t passes = left;

	scene_init(&scene, ADDRESS_IPV4);
	scene.limit = limit;
	scene.path.link_passes = &passes;
	scene_rounds(&scene, 1);
	ck_assert_uint_eq(scene.path.evidence.passes, limit);
	ck_assert_int_eq(scene.path.evidence.outcome, OUTCOME_LESS);
	ck_assert_uint_eq(passes, limit);
	return scene.sent;
}

/* The number is proven by the path's own packets all the same, and a wrong word costs few. */
START_TEST(a_word_of_others_shortens_the_search)
{
	unsigned alone = search_packets(0, 1443);

	ck_assert_uint_le(search_packets(1443, 1443), 14);
	ck_assert_uint_gt(alone, 22);
	ck_assert_uint_le(search_packets(1500, 1443), alone + 8);
	ck_assert_uint_le(search_packets(576, 1443), alone + 8);
	ck_assert_uint_le(search_packets(9000, 1443), alone + 8);
	ck_assert_uint_le(search_packets(UINT32_MAX, 1443), alone + 8);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("witness");
	TCase *test = tcase_create("witness");

	tcase_add_loop_test(test, as_if_all_were_asked, 0, 10);
	tcase_add_test(test, who_is_of_no_use_is_not_asked);
	tcase_add_test(test, nothing_is_said_of_a_good_path);
	tcase_add_test(test, a_word_of_others_shortens_the_search);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
