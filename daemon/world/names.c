/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host names to addresses, off the loop. It caches nothing: the resolver does, and knows for how
 * long.
 */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "resolver.h"

#define DEADLINE_USEC (10 * USEC_PER_SEC)

struct name_query {
	struct name_query *next;
	struct name_query **link; /* what points to this one; NULL: not in the list any more */
	struct names *names;
	struct resolver_job *job; /* the resolver's; NULL when it has been taken back */
	sd_event_source *deadline;
	names_handler_t handler;
	void *userdata;
};

struct names {
	sd_event *event;
	sd_event_source *source;
	struct resolver *resolver;
	struct name_query *queries;
};

static void query_link(struct names *names, struct name_query *query)
{
	query->next = names->queries;
	if (query->next != NULL)
		query->next->link = &query->next;
	query->link = &names->queries;
	names->queries = query;
}

static void query_unlink(struct name_query *query)
{
	if (query->link == NULL)
		return;
	*query->link = query->next;
	if (query->next != NULL)
		query->next->link = query->link;
	query->link = NULL;
}

/* From here on neither the loop nor the resolver knows of it. */
static void query_detach(struct name_query *query)
{
	query_unlink(query);
	query->deadline = sd_event_source_disable_unref(query->deadline);
	if (query->job == NULL)
		return;
	query->job->userdata = NULL;
	resolver_drop(query->names->resolver, query->job);
	query->job = NULL;
}

static struct name_query *query_free(struct name_query *query)
{
	query_detach(query);
	free(query);
	return NULL;
}

/* Detached first: the handler may cancel this very query, or free everything. */
static void query_end(struct name_query *query, int error, const struct resolver_job *job)
{
	query_detach(query);
	query->handler(error, job != NULL && error == 0 ? job->addresses : NULL,
		       job != NULL && error == 0 ? job->count : 0, query->userdata);
	query_free(query);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	query_end(userdata, -ETIMEDOUT, NULL);
	return 0;
}

/* Jobs are handed over one by one: a handler may drop a query whose job is next in the list. */
static int on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct names *names = userdata;
	struct resolver_job *job = resolver_take(names->resolver);

	while (job != NULL) {
		struct resolver_job *next = job->next;
		struct name_query *query = job->userdata;

		if (query != NULL) {
			query->job = NULL;
			query_end(query, job->error, job);
		}
		resolver_job_free(job);
		job = next;
	}
	return 0;
}

int names_new(struct names **ret, sd_event *event)
{
	struct names *names = calloc(1, sizeof(*names));
	int r;

	if (names == NULL)
		return -ENOMEM;
	names->event = sd_event_ref(event);
	r = resolver_new(&names->resolver);
	if (r >= 0)
		r = sd_event_add_io(event, &names->source, resolver_fd(names->resolver), EPOLLIN,
				    on_done, names);
	if (r < 0) {
		names_free(names);
		return r;
	}
	*ret = names;
	return 0;
}

struct names *names_free(struct names *names)
{
	if (names == NULL)
		return NULL;
	while (names->queries != NULL)
		query_free(names->queries);
	sd_event_source_disable_unref(names->source);
	resolver_free(names->resolver);
	sd_event_unref(names->event);
	free(names);
	return NULL;
}

static int query_start(struct name_query *query, const char *host, enum address_family family)
{
	struct names *names = query->names;
	struct resolver_job *job;
	int r = sd_event_add_time_relative(names->event, &query->deadline, CLOCK_MONOTONIC,
					   DEADLINE_USEC, USEC_PER_SEC / 10, on_deadline, query);

	if (r < 0)
		return r;
	job = resolver_job_new(host, family);
	if (job == NULL)
		return -ENOMEM;
	job->userdata = query;
	r = resolver_ask(names->resolver, job);
	if (r < 0) {
		resolver_job_free(job);
		return r;
	}
	query->job = job;
	return 0;
}

int names_resolve(struct names *names, const char *host, enum address_family family,
		  names_handler_t handler, void *userdata, struct name_query **ret)
{
	struct name_query *query = calloc(1, sizeof(*query));
	int r;

	if (query == NULL)
		return -ENOMEM;
	query->names = names;
	query->handler = handler;
	query->userdata = userdata;
	query_link(names, query);
	r = query_start(query, host, family);
	if (r < 0) {
		query_free(query);
		return r;
	}
	*ret = query;
	return 0;
}

struct name_query *names_cancel(struct names *names, struct name_query *query)
{
	/* a handler may cancel the query that is just telling it */
	if (query != NULL && query->link != NULL)
		query_free(query);
	return NULL;
}
