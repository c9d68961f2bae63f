/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A path's whole life with answers of every kind, in any order and at any time: lost, doubled, late,
 * from liars, and from forgers who have not seen our probes. Every check ends. What never arrives at
 * the size is never called good at it; and where all arrives, no forger makes it bad.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../daemon/core/path.h"
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MOST 3000
#define WAITING_MOST 64
#define FULL 9000U
#define LEAST 1280U

struct scene {
	struct bytes bytes;
	struct path path;
	struct dossier dossier;
	struct flow flow;
	_Alignas(struct check) uint8_t memory[CHECK_SIZE(1)];
	struct peer_settings settings;
	struct pace pace;
	struct route route;
	struct link link;
	struct surroundings around;
	uint64_t now;
	uint64_t nonce;	 /* of the last burst */
	uint32_t limit;	 /* what is larger never arrives */
	bool honest;	 /* all that fits arrives, and no router lies */
	unsigned count;
	uint64_t arrival[WAITING_MOST];
	struct answer waiting[WAITING_MOST];
};

static struct address address_of(bool ipv6, uint8_t last)
{
	struct address address = {.family = ipv6 ? ADDRESS_IPV6 : ADDRESS_IPV4};

	memcpy(address.bytes, ipv6 ? "\x20\x01\x0d\xb8" : "\xc0\0\x02", ipv6 ? 4 : 3);
	address.bytes[ipv6 ? 15 : 3] = last;
	return address;
}

static void scene_init(struct scene *scene)
{
	uint8_t how = bytes_u8(&scene->bytes);
	bool ipv6 = how & 1;

	scene->honest = how & 2;
	scene->limit = scene->honest ? FULL : LEAST + bytes_u16(&scene->bytes) % (FULL - LEAST + 1);
	scene->now = 1000 * USEC_PER_SEC;
	scene->settings = (struct peer_settings){
		.interval_usec = 30 * USEC_PER_SEC,
		.timeout_usec = USEC_PER_SEC,
		.tries = 1 + (how >> 6),
		.fail_after = 2,
		.recover_after = 2,
		.method = (enum method)((how >> 2 & 7) % 5),
	};
	pace_init(&scene->pace, 0);
	scene->link = (struct link){.index = 2, .name = "eth0", .mtu = FULL, .up = true, .carrier = true};
	scene->route = (struct route){
		.link = 2, .source = address_of(ipv6, 1), .gateway = address_of(ipv6, 254)};
	scene->around = (struct surroundings){.route = &scene->route, .link = &scene->link};
	scene->flow.path = &scene->path;
	scene->path = (struct path){
		.address = address_of(ipv6, 2),
		.settings = &scene->settings,
		.dossier = &scene->dossier,
		.flows = &scene->flow,
		.flow_count = 1,
	};
	path_on_surroundings(&scene->path, &scene->around);
}

/* --- answers --- */

static void deliver(struct scene *scene, const struct answer *answer, uint64_t after_usec)
{
	if (scene->count == WAITING_MOST)
		return;
	scene->waiting[scene->count] = *answer;
	scene->arrival[scene->count++] = scene->now + after_usec;
}

static void deliver_truth(struct scene *scene, const struct answer *about, uint64_t after_usec)
{
	struct answer answer = *about;

	switch (answer.probe) {
	case PROBE_ECHO:
		answer.kind = ANSWER_ECHO;
		break;
	case PROBE_SYN:
	case PROBE_UDP:
		answer.kind = ANSWER_DELIVERED;
		answer.acknowledged =
			((uint32_t)(answer.nonce & 0xffff) << 16 | answer.sequence) + 1;
		break;
	case PROBE_RESPONDER:
		answer.kind = scene->flow.cookie ? ANSWER_DELIVERED : ANSWER_COOKIE;
		answer.cookie = 5;
		break;
	}
	deliver(scene, &answer, after_usec);
	if (answer.probe == PROBE_RESPONDER && scene->flow.cookie) {
		answer.kind = ANSWER_ECHO;
		deliver(scene, &answer, after_usec);
	}
}

/* Any word but that it arrived. */
static void deliver_report(struct scene *scene, const struct answer *about)
{
	static const int errors[] = {-EMSGSIZE, -EPERM, -ENOBUFS, -EHOSTUNREACH, -ENETUNREACH, -ECONNREFUSED};
	static const enum answer_kind kinds[] = {ANSWER_TOO_BIG, ANSWER_UNREACHABLE,
						 ANSWER_TIME_EXCEEDED, ANSWER_REFUSED, ANSWER_COOKIE};
	uint8_t how = bytes_u8(&scene->bytes);
	struct answer answer = *about;

	answer.kind = kinds[(how & 7) % 5];
	answer.from = address_of(answer.to.family == ADDRESS_IPV6, how >> 4);
	answer.mtu = bytes_u16(&scene->bytes);
	answer.error = errors[answer.mtu % 6];
	answer.has_nonce = !(how & 8);
	deliver(scene, &answer, answer.kind == ANSWER_REFUSED ? 0 : 5 * USEC_PER_MSEC);
}

static void probe_send(struct scene *scene, const struct burst *burst, unsigned i)
{
	uint8_t how = scene->honest ? 0 : bytes_u8(&scene->bytes);
	struct answer about = {
		.probe = burst->kind,
		.to = scene->path.address,
		.from = scene->path.address,
		.link = 2,
		.sequence = (uint16_t)(burst->first_sequence + i),
		.size = burst->sizes[i],
		.has_nonce = true,
	};

	about.nonce = probe_nonce(burst->kind, burst->nonce, about.sequence);
	if (burst->ttls[i] == 1) {
		about.kind = ANSWER_TIME_EXCEEDED;
		about.from = scene->route.gateway;
		deliver(scene, &about, USEC_PER_MSEC);
	} else if (how >= 0xe0) {
		deliver_report(scene, &about);
	} else if (how < 0xc0 && about.size <= scene->limit) {
		deliver_truth(scene, &about, (how & 0x3f) * (how & 0x40 ? 50 : 1) * USEC_PER_MSEC);
		if (how & 0x80)
			deliver_truth(scene, &about, 80 * USEC_PER_MSEC);
	}
}

/* By somebody who knows everything but the nonce. */
static void forge(struct scene *scene)
{
	struct answer answer = {
		.kind = (enum answer_kind)(bytes_u8(&scene->bytes) % ANSWER_REFUSED),
		.probe = (enum probe_kind)(bytes_u8(&scene->bytes) % 4),
		.to = scene->path.address,
		.from = scene->path.address,
		.link = 2,
		.has_nonce = true,
		.nonce = ~scene->nonce,
		.sequence = bytes_u8(&scene->bytes),
		.size = bytes_u16(&scene->bytes),
		.mtu = bytes_u16(&scene->bytes),
		.error = -EHOSTUNREACH,
		.cookie = 6,
	};

	answer.acknowledged = (uint32_t)(answer.nonce & 0xffff) << 16 | answer.sequence;
	if (path_on_answer(&scene->path, &scene->flow, &answer, scene->now))
		abort();
}

/* --- time --- */

static void step(struct scene *scene)
{
	struct moment moment = {
		.now_usec = scene->now,
		.real_usec = scene->now + 5,
		.random = {scene->now * 0x9e3779b97f4a7c15ULL, scene->now},
	};
	bool begins = path_is_due(&scene->path, scene->now);
	struct todo todo = {0};
	unsigned bursts = 0;

	if (begins && scene->path.facts.trouble == REASON_NONE)
		path_begin(&scene->path, (void *)scene->memory, &moment);
	todo.judge = begins && !scene->path.check;
	while (scene->path.check && !todo.judge) {
		path_on_time(&scene->path, &scene->pace, scene->now, &todo);
		if (todo.burst.count == 0)
			break;
		if (todo.burst.count > BURST_LARGEST || ++bursts > 10000)
			abort();
		scene->nonce = todo.burst.nonce;
		for (unsigned i = 0; i < todo.burst.count; i++)
			probe_send(scene, &todo.burst, i);
	}
	if (todo.judge)
		path_judge(&scene->path, &scene->pace, &moment, &todo);
}

static void go_on(struct scene *scene)
{
	unsigned next = 0;

	for (unsigned i = 1; i < scene->count; i++)
		if (scene->arrival[i] < scene->arrival[next])
			next = i;
	if (scene->count && scene->arrival[next] <= scene->path.wake_usec) {
		struct answer answer = scene->waiting[next];

		scene->now = scene->arrival[next] > scene->now ? scene->arrival[next] : scene->now;
		scene->waiting[next] = scene->waiting[--scene->count];
		scene->arrival[next] = scene->arrival[scene->count];
		path_on_answer(&scene->path, &scene->flow, &answer, scene->now);
	} else if (scene->path.wake_usec > scene->now) {
		scene->now = scene->path.wake_usec;
	}
	step(scene);
}

/* What the host itself does meanwhile. */
static void disturb(struct scene *scene, uint8_t how)
{
	static const uint32_t mtus[] = {FULL, 1500, LEAST, FULL};

	switch (how & 7) {
	case 0:
		scene->link.mtu = mtus[how >> 3 & 3];
		path_on_surroundings(&scene->path, &scene->around);
		break;
	case 1:
		scene->route.kernel_mtu = bytes_u16(&scene->bytes);
		scene->route.exception_sec = how >> 3;
		path_on_surroundings(&scene->path, &scene->around);
		break;
	case 2:
		path_restart(&scene->path, scene->now);
		break;
	case 3:
		path_on_request(&scene->path, scene->now);
		break;
	case 4:
		path_on_overflow(&scene->path);
		break;
	}
}

static void expect_truth(const struct scene *scene)
{
	const struct judgement *said = &scene->path.announced;

	if (said->verdict >= VERDICT_COUNT || said->path_mtu > SIZE_LARGEST ||
	    scene->dossier.findings.count > FINDINGS_LARGEST)
		abort();
	if (said->verdict == VERDICT_CONSISTENT && said->path_mtu > scene->limit)
		abort();
	if (scene->honest && said->verdict != VERDICT_CONSISTENT && said->verdict != VERDICT_UNKNOWN)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scene scene;

	memset(&scene, 0, sizeof(scene));
	scene.bytes = (struct bytes){data, size};
	scene_init(&scene);
	for (unsigned i = 0; i < STEPS_MOST && scene.bytes.left > 0; i++) {
		uint8_t how = bytes_u8(&scene.bytes);

		if (how >= 0xe0)
			forge(&scene);
		else if (how >= 0xc0 && !scene.honest)
			disturb(&scene, how);
		go_on(&scene);
		expect_truth(&scene);
	}
	return 0;
}
