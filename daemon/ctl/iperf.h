/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One run of iperf3 as its client, and what came out. Knows nothing of sizes' worth.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "progress.h"

#define IPERF_WORDS 160
#define IPERF_MSS_LARGEST 9216 /* iperf3 takes no larger -M */

struct iperf_question {
	const char *address; /* "fe80::1%eth1" too */
	const char *source;  /* "" the kernel chooses */
	uint16_t port;
	uint32_t mss;	  /* 0: as large as both ends agree on */
	unsigned seconds; /* 0: a kilobyte only, to see whether somebody answers */
	bool reverse;	  /* the peer sends */
};

struct iperf_answer {
	bool stalled;	/* it had to be ended, or next to nothing arrived */
	uint64_t bits;	/* a second, as received */
	uint64_t bytes; /* received */
	bool has_retransmits;
	uint64_t retransmits;
	double cpu_here, cpu_there; /* percent of one processor, of iperf3 alone */
	uint32_t mss;		    /* that both ends agreed on, where none was asked for */
	char words[IPERF_WORDS];    /* why it failed; "" it did not */
};

/* 0; -ENOENT: there is no iperf3; -EBADMSG: see words. Takes a few seconds more than it was told to
 * run, at most. */
int iperf_run(const struct iperf_question *question, struct progress *progress, const char *what,
	      struct iperf_answer *ret);

/* What iperf3 printed. For tests too. 0, or -EBADMSG with words. */
int iperf_parse(const char *text, struct iperf_answer *ret);
