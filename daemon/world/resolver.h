/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads behind names: getaddrinfo() may hang for half a minute, so it runs where nobody
 * waits for it. Knows nothing of the event loop but one file descriptor to poke.
 */
#pragma once

#include "../core/facts.h"

struct resolver;

/* One question. It belongs to the resolver from resolver_ask() until resolver_take(). */
struct resolver_job {
	struct resolver_job *next;
	void *userdata;  /* the asker's; threads do not touch it */
	bool dropped;    /* nobody wants the answer: skipped when its turn comes; resolver_drop() */
	enum address_family family;
	int error;
	struct address *addresses; /* belongs to the job */
	unsigned count;
	char host[];
};

int resolver_new(struct resolver **ret);
/* Returns at once; what threads still work on goes away with the last of them. */
struct resolver *resolver_free(struct resolver *resolver);

/* Readable when there is something to take. */
int resolver_fd(const struct resolver *resolver);

struct resolver_job *resolver_job_new(const char *host, enum address_family family);
struct resolver_job *resolver_job_free(struct resolver_job *job);

/* -EAGAIN when no thread can be had; then the job still is the caller's. */
int resolver_ask(struct resolver *resolver, struct resolver_job *job);
void resolver_drop(struct resolver *resolver, struct resolver_job *job);

/* What is done, as a list; the caller frees each. */
struct resolver_job *resolver_take(struct resolver *resolver);
