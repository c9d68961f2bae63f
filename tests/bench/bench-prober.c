/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same work as limit by the prober: prober FIRST COUNT [SIZE [BURST]]. What it costs above the
 * floor is its event loop, its queue and its decoding.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../daemon/world/prober.h"

struct bench {
	unsigned answered, lost;
};

static void on_answer(const struct answer *answer, uint64_t now_usec, void *userdata)
{
	struct bench *bench = userdata;

	if (answer->kind == ANSWER_ECHO)
		bench->answered++;
	else
		bench->lost++;
}

static void on_batch_end(uint64_t now_usec, void *userdata)
{
}

static void on_overflow(uint64_t now_usec, void *userdata)
{
	fprintf(stderr, "overflow\n");
}

static void probe_put(struct probe *probe, uint32_t address, unsigned number, unsigned size)
{
	uint32_t bytes = htonl(address);

	*probe = (struct probe){.nonce = number,
				.size = size,
				.ident = 1,
				.sequence = (uint16_t)number,
				.to.family = ADDRESS_IPV4};
	memcpy(probe->to.bytes, &bytes, sizeof(bytes));
}

static double usec_since(const struct timespec *begin, const struct timespec *end)
{
	return (double)(end->tv_sec - begin->tv_sec) * 1e6 +
	       (double)(end->tv_nsec - begin->tv_nsec) / 1e3;
}

/* One burst; false when a second passed without an answer. */
static bool burst_run(struct prober *prober, sd_event *event, struct bench *bench, uint32_t first,
		      unsigned count, unsigned size)
{
	unsigned wanted = bench->answered + bench->lost + count;
	struct probe probe;

	for (unsigned i = 0; i < count; i++) {
		probe_put(&probe, first + i, i, size);
		prober_send(prober, &probe);
	}
	prober_flush(prober);
	while (bench->answered + bench->lost < wanted) {
		if (sd_event_run(event, USEC_PER_SEC) <= 0)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct prober_handlers handlers = {on_answer, on_batch_end, on_overflow};
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	unsigned size = argc > 3 ? (unsigned)atoi(argv[3]) : 9000;
	unsigned burst = argc > 4 ? (unsigned)atoi(argv[4]) : 1000;
	struct timespec begin, end, cpu_begin, cpu_end;
	struct bench bench = {0};
	struct prober *prober;
	struct in_addr first;
	sd_event *event;

	if (count == 0 || burst == 0 || inet_pton(AF_INET, argv[1], &first) != 1) {
		fprintf(stderr, "usage: bench-prober FIRST COUNT [SIZE [BURST]]\n");
		return 64;
	}
	if (sd_event_new(&event) < 0 || prober_new(&prober, event, &handlers, &bench) < 0) {
		fprintf(stderr, "bench-prober: needs root\n");
		return 77;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_begin);
	for (unsigned from = 0; from < count; from += burst) {
		unsigned now = count - from < burst ? count - from : burst;

		if (!burst_run(prober, event, &bench, ntohl(first.s_addr) + from, now, size))
			break;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_end);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("prober  peers %u answered %u wall_us_a_peer %.2f cpu_us_a_peer %.2f\n", count,
	       bench.answered, usec_since(&begin, &end) / count,
	       usec_since(&cpu_begin, &cpu_end) / count);
	prober_free(prober);
	sd_event_unref(event);
	return bench.answered == count ? 0 : 1;
}
