/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Always the earliest first, whatever is put in, moved and taken out. */
#include "../../daemon/core/queue.h"
#include "tap.h"

#define PATHS 100

static void assert_heap(const struct queue *queue, const struct path *paths, unsigned inside)
{
	const struct path *first = queue_first(queue);

	ck_assert_uint_eq(queue->count, inside);
	for (unsigned i = 0; i < queue->count; i++)
		if (queue->list[i]->queue_place != i)
			ck_abort_msg("place %u does not know itself", i);
	for (unsigned i = 0; i < PATHS; i++)
		if (paths[i].queue_place != QUEUE_NOWHERE && paths[i].wake_usec < first->wake_usec)
			ck_abort_msg("path %u is earlier than the first", i);
}

START_TEST(random_life)
{
	struct path *list[PATHS];
	struct queue queue = {.list = list};
	static struct path paths[PATHS];
	uint64_t dice = (uint64_t)_i;
	unsigned inside = 0;

	for (unsigned i = 0; i < PATHS; i++)
		paths[i].queue_place = QUEUE_NOWHERE;
	for (unsigned i = 0; i < 5000; i++) {
		struct path *path = &paths[dice_roll(&dice) % PATHS];
		bool was_in = path->queue_place != QUEUE_NOWHERE;

		if (dice_roll(&dice) % 3 == 0) {
			queue_remove(&queue, path);
			inside -= was_in;
			ck_assert_uint_eq(path->queue_place, QUEUE_NOWHERE);
		} else {
			/* few different times, so that many are equal */
			path->wake_usec = dice_roll(&dice) % 50;
			queue_put(&queue, path);
			inside += !was_in;
		}
		assert_heap(&queue, paths, inside);
	}
}
END_TEST

START_TEST(taken_out_in_order)
{
	struct path *list[PATHS];
	struct queue queue = {.list = list};
	static struct path paths[PATHS];
	uint64_t dice = 5, last = 0;

	for (unsigned i = 0; i < PATHS; i++) {
		paths[i].queue_place = QUEUE_NOWHERE;
		paths[i].wake_usec = i == 50 ? USEC_NEVER : dice_roll(&dice) % 1000;
		queue_put(&queue, &paths[i]);
	}
	for (unsigned i = 0; i < PATHS; i++) {
		struct path *first = queue_first(&queue);

		ck_assert_uint_ge(first->wake_usec, last);
		last = first->wake_usec;
		queue_remove(&queue, first);
	}
	ck_assert_uint_eq(last, USEC_NEVER);
	ck_assert_ptr_null(queue_first(&queue));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("queue");
	TCase *test = tcase_create("queue");

	tcase_add_loop_test(test, random_life, 0, 10);
	tcase_add_test(test, taken_out_in_order);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
