/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One path and a far end that a test writes itself: it is handed the echo of each probe and
 * turns it into what it likes. Exact times and no dice; many worlds with dice are test-world's.
 */
#pragma once

#include <errno.h>
#include <string.h>

#include "../../daemon/core/path.h"
#include "tap.h"

#define WAITING_MOST 512

struct scene {
	struct path path;
	struct dossier dossier;
	struct flow flow;
	_Alignas(struct check) uint8_t memory[CHECK_SIZE(1)]; /* of the check */
	struct peer_settings settings;
	struct pace pace;
	struct route route;
	struct link link, wanted;
	struct surroundings around;
	uint64_t now;
	uint64_t delay_usec;

	uint32_t limit; /* larger packets are lost; 0: all are */
	/* makes the echo something else; false: nothing comes. NULL: the limit alone rules */
	bool (*far)(struct scene *scene, struct answer *answer);
	int error;           /* for the far end's use */
	uint32_t mtu, above; /* likewise */

	unsigned sent, accepted, announced, details, reminded;
	uint64_t bytes; /* sent */
	unsigned count;
	uint64_t arrival[WAITING_MOST];
	struct answer waiting[WAITING_MOST];
};

static inline struct address scene_address(uint8_t family, uint8_t last)
{
	struct address address = {.family = family};

	memcpy(address.bytes, family == ADDRESS_IPV6 ? "\x20\x01\x0d\xb8" : "\xc0\0\x02", 4);
	address.bytes[family == ADDRESS_IPV6 ? 15 : 3] = last;
	return address;
}

static inline bool scene_look(struct scene *scene)
{
	return path_on_surroundings(&scene->path, &scene->around);
}

static inline void scene_init(struct scene *scene, uint8_t family)
{
	memset(scene, 0, sizeof(*scene));
	scene->now = 1000 * USEC_PER_SEC;
	scene->delay_usec = 10 * USEC_PER_MSEC;
	scene->limit = 9000;
	scene->settings = (struct peer_settings){
		.interval_usec = 30 * USEC_PER_SEC,
		.timeout_usec = USEC_PER_SEC,
		.tries = 3,
		.fail_after = 2,
		.recover_after = 2,
	};
	pace_init(&scene->pace, 0);
	scene->link = (struct link){
		.index = 2, .name = "eth0", .mtu = 9000, .up = true, .carrier = true};
	scene->wanted = scene->link;
	scene->route.link = 2;
	scene->route.source = scene_address(family, 1);
	scene->route.gateway = scene_address(family, 254);
	scene->around = (struct surroundings){.route = &scene->route, .link = &scene->link};
	scene->path.address = scene_address(family, 2);
	scene->path.settings = &scene->settings;
	scene->path.dossier = &scene->dossier;
	scene->settings.method = METHOD_ICMP;
	scene->path.flows = &scene->flow;
	scene->path.flow_count = 1;
	scene->flow.path = &scene->path;
	scene_look(scene);
}

/* The round that runs, or ran last. */
static inline struct round *scene_round(struct scene *scene)
{
	return &((struct check *)(void *)scene->memory)->rounds[0];
}

static inline void scene_deliver(struct scene *scene, const struct answer *answer)
{
	bool at_once = answer->kind == ANSWER_REFUSED;

	if (scene->count == WAITING_MOST)
		ck_abort_msg("too much is under way");
	scene->waiting[scene->count] = *answer;
	scene->arrival[scene->count++] = scene->now + (at_once ? 0 : scene->delay_usec);
}

static inline void scene_send(struct scene *scene, const struct burst *burst)
{
	for (unsigned i = 0; i < burst->count; i++) {
		struct answer answer = {
			.kind = ANSWER_ECHO,
			.to = scene->path.address,
			.from = scene->path.address,
			.link = 2,
			.sequence = burst->first_sequence + i,
			.size = burst->sizes[i],
			.has_nonce = true,
			.nonce = burst->nonce,
		};
		bool comes = answer.size <= scene->limit;

		scene->sent++;
		scene->bytes += answer.size;
		if (scene->far ? scene->far(scene, &answer) : comes)
			scene_deliver(scene, &answer);
	}
}

static inline void scene_step(struct scene *scene)
{
	struct moment moment = {
		.now_usec = scene->now,
		.real_usec = scene->now + 5,
		.random = {scene->now * 7, scene->now},
	};
	struct todo todo = {0};
	bool begins = path_is_due(&scene->path, scene->now);

	if (begins && scene->path.facts.trouble == REASON_NONE)
		path_begin(&scene->path, (void *)scene->memory, &moment);
	todo.judge = begins && !scene->path.check;
	while (scene->path.check && !todo.judge) {
		path_on_time(&scene->path, &scene->pace, scene->now, &todo);
		if (todo.burst.count == 0)
			break;
		scene_send(scene, &todo.burst);
	}
	if (todo.judge)
		path_judge(&scene->path, &scene->pace, &moment, &todo);
	scene->announced += todo.announced;
	scene->details += todo.details;
	scene->reminded += todo.remind;
}

/* To the next thing that happens: an answer comes, or the path wants to be asked. */
static inline void scene_go_on(struct scene *scene)
{
	unsigned next = 0;

	for (unsigned i = 1; i < scene->count; i++)
		if (scene->arrival[i] < scene->arrival[next])
			next = i;
	if (scene->count && scene->arrival[next] <= scene->path.wake_usec) {
		struct answer answer = scene->waiting[next];

		scene->now = scene->arrival[next];
		scene->count--;
		memmove(&scene->waiting[next], &scene->waiting[next + 1],
			(scene->count - next) * sizeof(scene->waiting[0]));
		memmove(&scene->arrival[next], &scene->arrival[next + 1],
			(scene->count - next) * sizeof(scene->arrival[0]));
		scene->accepted += path_on_answer(&scene->path, &scene->flow, &answer, scene->now);
	} else if (scene->path.wake_usec > scene->now) {
		scene->now = scene->path.wake_usec;
	}
	scene_step(scene);
}

static inline void scene_rounds(struct scene *scene, unsigned rounds)
{
	uint64_t end = scene->path.rounds + rounds;
	unsigned steps = 0;

	while (scene->path.rounds < end) {
		scene_go_on(scene);
		if (++steps > 10000)
			ck_abort_msg("no end");
	}
}

static inline void assert_said(const struct scene *scene, enum verdict verdict, uint32_t path_mtu)
{
	const struct judgement *said = &scene->path.announced;

	ck_assert_msg(said->verdict == verdict && said->path_mtu == path_mtu,
		      "verdict %d, number %u, reason %d", said->verdict, said->path_mtu,
		      said->reason);
}
