/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any list of addresses as what name servers say of a name: those that come out can be probed, and
 * none is there twice.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "../../daemon/world/resolver.h"
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret);
void __wrap_freeaddrinfo(struct addrinfo *list);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *userdata);
int __wrap_privilege_drop(void);

#define ANSWERS_MOST 32

static struct bytes said;
static struct addrinfo answers[ANSWERS_MOST];
static struct sockaddr_in6 addresses[ANSWERS_MOST];

static void answer_say(unsigned i)
{
	static const int families[] = {AF_INET, AF_INET6, AF_UNSPEC, AF_UNIX};
	struct sockaddr_in *in = (void *)&addresses[i];
	uint8_t how = bytes_u8(&said);

	addresses[i] = (struct sockaddr_in6){0};
	if (families[how % 4] == AF_INET) {
		bytes_take(&said, &in->sin_addr, 4);
	} else {
		bytes_take(&said, &addresses[i].sin6_addr, how & 0x40 ? 2 : 16);
		addresses[i].sin6_scope_id = how & 0x80 ? bytes_u8(&said) : 0;
	}
	addresses[i].sin6_family = (sa_family_t)families[how % 4];
	answers[i] = (struct addrinfo){
		.ai_family = families[how % 4],
		.ai_addr = (void *)&addresses[i],
		.ai_addrlen = sizeof(addresses[i]),
	};
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret)
{
	int8_t code = (int8_t)bytes_u8(&said);
	unsigned count = 0;

	if (code < 0)
		return code;
	for (; count < ANSWERS_MOST && said.left > 0; count++) {
		answer_say(count);
		if (count > 0)
			answers[count - 1].ai_next = &answers[count];
	}
	*ret = count > 0 ? answers : NULL;
	return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
}

/* It runs when who makes it has let go of the lock, in this same thread. */
static struct {
	void *(*run)(void *);
	void *userdata;
} thread;

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *userdata)
{
	thread.run = run;
	thread.userdata = userdata;
	return 0;
}

int __wrap_privilege_drop(void)
{
	return 0;
}

static void expect_addresses(const struct resolver_job *job)
{
	for (unsigned i = 0; i < job->count; i++) {
		const struct address *address = &job->addresses[i];

		if (address->family == ADDRESS_NONE ||
		    (address_is_link_local(address) && address->zone == 0))
			abort();
		for (unsigned j = 0; j < i; j++)
			if (address_equal(address, &job->addresses[j]))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct resolver_job *job = resolver_job_new("san", ADDRESS_NONE);
	struct resolver *resolver;

	said = (struct bytes){data, size};
	if (!job || resolver_new(&resolver) < 0 || resolver_ask(resolver, job) < 0)
		abort();
	thread.run(thread.userdata);
	if (resolver_take(resolver) != job || (job->error == 0) != (job->count > 0))
		abort();
	expect_addresses(job);
	resolver_job_free(job);
	resolver_free(resolver);
	return 0;
}
