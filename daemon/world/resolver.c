/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads behind names. They are made when there is something to ask and end when there is
 * not; the state they share is freed by whoever lets go of it last, since one that hangs in the C
 * library can be neither stopped nor waited for.
 */
#include "resolver.h"

#include "privilege.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS_LARGEST 4

struct queue {
	struct resolver_job *first;
	struct resolver_job **end;
};

struct resolver {
	pthread_mutex_t lock; /* guards all below but `fd` */
	struct queue waiting;
	struct queue done;
	unsigned threads;
	bool closed;
	int fd;
};

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->end = &queue->first;
}

static void queue_add(struct queue *queue, struct resolver_job *job)
{
	job->next = NULL;
	*queue->end = job;
	queue->end = &job->next;
}

static struct resolver_job *queue_pop(struct queue *queue)
{
	struct resolver_job *job = queue->first;

	if (job == NULL)
		return NULL;
	queue->first = job->next;
	if (queue->first == NULL)
		queue->end = &queue->first;
	return job;
}

static void queue_clear(struct queue *queue)
{
	struct resolver_job *job;

	while ((job = queue_pop(queue)) != NULL)
		resolver_job_free(job);
}

struct resolver_job *resolver_job_new(const char *host, enum address_family family)
{
	size_t size = strlen(host) + 1;
	struct resolver_job *job = calloc(1, sizeof(*job) + size);

	if (job == NULL)
		return NULL;
	job->family = family;
	memcpy(job->host, host, size);
	return job;
}

struct resolver_job *resolver_job_free(struct resolver_job *job)
{
	if (job == NULL)
		return NULL;
	free(job->addresses);
	free(job);
	return NULL;
}

static void resolver_destroy(struct resolver *resolver)
{
	queue_clear(&resolver->waiting);
	queue_clear(&resolver->done);
	close(resolver->fd);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

int resolver_new(struct resolver **ret)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int r;

	if (resolver == NULL)
		return -ENOMEM;
	resolver->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (resolver->fd < 0) {
		r = -errno;
		free(resolver);
		return r;
	}
	pthread_mutex_init(&resolver->lock, NULL);
	queue_init(&resolver->waiting);
	queue_init(&resolver->done);
	*ret = resolver;
	return 0;
}

struct resolver *resolver_free(struct resolver *resolver)
{
	bool last;

	if (resolver == NULL)
		return NULL;
	pthread_mutex_lock(&resolver->lock);
	resolver->closed = true;
	queue_clear(&resolver->waiting);
	last = resolver->threads == 0;
	pthread_mutex_unlock(&resolver->lock);
	if (last)
		resolver_destroy(resolver);
	return NULL;
}

int resolver_fd(const struct resolver *resolver)
{
	return resolver->fd;
}

static int error_of(int code)
{
	switch (code) {
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return -ENOENT;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return errno > 0 ? -errno : -EAGAIN;
	default: /* the C library's numbers, not ours */
		return -EAGAIN;
	}
}

/* False for what cannot be probed: other families, and a link-local address of no known link. */
static bool address_of(const struct sockaddr *socket_address, struct address *ret)
{
	struct address address = {0};

	if (socket_address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)socket_address;

		address.family = ADDRESS_IPV4;
		memcpy(address.bytes, &in->sin_addr, sizeof(in->sin_addr));
	} else if (socket_address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)socket_address;

		address.family = ADDRESS_IPV6;
		memcpy(address.bytes, &in6->sin6_addr, sizeof(in6->sin6_addr));
		if (address_is_link_local(&address))
			address.zone = (int)in6->sin6_scope_id;
	} else {
		return false;
	}
	if (address_is_link_local(&address) && address.zone == 0)
		return false;
	*ret = address;
	return true;
}

static void job_add(struct resolver_job *job, const struct address *address)
{
	for (unsigned i = 0; i < job->count; i++)
		if (address_equal(&job->addresses[i], address))
			return;
	job->addresses[job->count++] = *address;
}

static int job_collect(struct resolver_job *job, const struct addrinfo *list)
{
	unsigned room = 0;

	for (const struct addrinfo *at = list; at != NULL; at = at->ai_next)
		room++;
	job->addresses = calloc(room > 0 ? room : 1, sizeof(*job->addresses));
	if (job->addresses == NULL)
		return -ENOMEM;
	for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
		struct address address;

		if (address_of(at->ai_addr, &address))
			job_add(job, &address);
	}
	return job->count > 0 ? 0 : -ENOENT;
}

static void job_run(struct resolver_job *job)
{
	/* No AI_ADDRCONFIG: it hides a family whose addresses are only on the loopback, or not
	 * there yet. The list is sorted by what can be reached anyway (RFC 6724 section 6). */
	struct addrinfo hints = {
		.ai_family = job->family == ADDRESS_IPV4   ? AF_INET
			     : job->family == ADDRESS_IPV6 ? AF_INET6
							   : AF_UNSPEC,
		.ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *list = NULL;
	int code = getaddrinfo(job->host, NULL, &hints, &list);

	job->error = code != 0 ? error_of(code) : job_collect(job, list);
	if (list != NULL)
		freeaddrinfo(list);
}

/* Called with the lock held. */
static void job_finish(struct resolver *resolver, struct resolver_job *job)
{
	const uint64_t one = 1;

	if (resolver->closed) {
		resolver_job_free(job);
		return;
	}
	queue_add(&resolver->done, job);
	/* fails only when it is readable already */
	if (write(resolver->fd, &one, sizeof(one)) < 0)
		return;
}

static void *thread_main(void *userdata)
{
	struct resolver *resolver = userdata;
	struct resolver_job *job;
	bool last;

	/* what comes from name servers is read here */
	(void)privilege_drop();
	pthread_mutex_lock(&resolver->lock);
	while ((job = queue_pop(&resolver->waiting)) != NULL) {
		if (!job->dropped) {
			pthread_mutex_unlock(&resolver->lock);
			job_run(job);
			pthread_mutex_lock(&resolver->lock);
		}
		job_finish(resolver, job);
	}
	resolver->threads--;
	last = resolver->closed && resolver->threads == 0;
	pthread_mutex_unlock(&resolver->lock);
	if (last)
		resolver_destroy(resolver);
	return NULL;
}

/* Signals are for the event loop's thread. */
static int thread_start(struct resolver *resolver)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all;
	int r;

	sigfillset(&all);
	r = pthread_attr_init(&attributes);
	if (r != 0)
		return -r;
	r = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (r == 0)
		r = pthread_attr_setsigmask_np(&attributes, &all);
	if (r == 0)
		r = pthread_create(&thread, &attributes, thread_main, resolver);
	pthread_attr_destroy(&attributes);
	return -r;
}

int resolver_ask(struct resolver *resolver, struct resolver_job *job)
{
	int r = 0;

	pthread_mutex_lock(&resolver->lock);
	if (resolver->threads < THREADS_LARGEST) {
		r = thread_start(resolver);
		if (r == 0)
			resolver->threads++;
		else if (resolver->threads > 0)
			r = 0; /* those there are will get to it */
	}
	if (r == 0)
		queue_add(&resolver->waiting, job);
	pthread_mutex_unlock(&resolver->lock);
	return r;
}

void resolver_drop(struct resolver *resolver, struct resolver_job *job)
{
	pthread_mutex_lock(&resolver->lock);
	job->dropped = true;
	pthread_mutex_unlock(&resolver->lock);
}

struct resolver_job *resolver_take(struct resolver *resolver)
{
	struct resolver_job *first;
	uint64_t count;

	pthread_mutex_lock(&resolver->lock);
	/* read and taken under one lock, so that no poke is lost in between */
	if (read(resolver->fd, &count, sizeof(count)) < 0)
		count = 0;
	first = resolver->done.first;
	queue_init(&resolver->done);
	pthread_mutex_unlock(&resolver->lock);
	return first;
}
