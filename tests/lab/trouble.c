/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded: some allocations fail, and the wall clock is another one. A file that the test maps too,
 * TROUBLE, says which; TROUBLE_SITES names the file that every allocation is listed in. Everything
 * else is the system's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 24

/* What the test reads and writes. Allocations are numbered from 1. */
struct trouble {
	_Atomic uint64_t made;
	_Atomic uint64_t first, last; /* these fail, both included; 0 none */
	_Atomic uint64_t failed;
	_Atomic int64_t clock_sec; /* the wall clock is this much ahead */
};

static struct trouble *trouble;
static int sites = -1;
static _Thread_local bool inside;
static char early[1 << 16]; /* what is asked for before the library's own functions are known */
static size_t early_used;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static int (*next_clock_gettime)(clockid_t, struct timespec *);
static int (*next_getaddrinfo)(const char *, const char *, const struct addrinfo *,
			       struct addrinfo **);

static void *early_take(size_t size)
{
	void *memory = early + early_used;

	early_used += (size + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? memory : NULL;
}

static bool is_early(const void *memory)
{
	return (const char *)memory >= early && (const char *)memory < early + sizeof(early);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("TROUBLE"), *list = getenv("TROUBLE_SITES");
	bool ours = strcmp(program_invocation_short_name, "mtuwatchd") == 0;
	int fd = path && ours ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *frames[2], *mapped;

	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	next_getaddrinfo = (int (*)(const char *, const char *, const struct addrinfo *,
				    struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
	backtrace(frames, 2); /* it loads what it needs */
	if (fd < 0)
		return;
	mapped = mmap(NULL, sizeof(*trouble), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (list)
		sites = open(list, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (mapped == MAP_FAILED)
		return;
	trouble = mapped;
	trouble->made = trouble->failed = 0;
}

/* One line: its number, who called, and the first place in the program itself. */
static void site_list(uint64_t number)
{
	void *frames[DEPTH];
	int depth = backtrace(frames, DEPTH);
	char line[512];
	int used = snprintf(line, sizeof(line), "%lu", (unsigned long)number);

	for (int i = 2; i < depth && used < 440; i++) {
		Dl_info info;
		const char *name;

		if (!dladdr(frames[i], &info) || !info.dli_fname)
			continue;
		name = strrchr(info.dli_fname, '/');
		used += snprintf(line + used, sizeof(line) - (size_t)used, " %.24s+%lx",
				 name ? name + 1 : info.dli_fname,
				 (unsigned long)((char *)frames[i] - (char *)info.dli_fbase));
	}
	line[used++] = '\n';
	if (write(sites, line, (size_t)used) < 0)
		return;
}

static bool fails(void)
{
	uint64_t number;

	if (!trouble || inside)
		return false;
	number = atomic_fetch_add(&trouble->made, 1) + 1;
	if (sites >= 0) {
		int error = errno;

		inside = true;
		site_list(number);
		inside = false;
		errno = error;
	}
	if (number < trouble->first || number > trouble->last)
		return false;
	atomic_fetch_add(&trouble->failed, 1);
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	if (!next_malloc)
		return early_take(size);
	return fails() ? NULL : next_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	if (!next_calloc)
		return early_take(count * size);
	return fails() ? NULL : next_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	if (!next_realloc)
		return early_take(size);
	if (is_early(memory))
		return NULL;
	return fails() ? NULL : next_realloc(memory, size);
}

void free(void *memory)
{
	if (!is_early(memory) && next_free)
		next_free(memory);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r;

	if (!next_clock_gettime)
		return -1;
	r = next_clock_gettime(clock, ret);
	if (r == 0 && trouble && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret->tv_sec += trouble->clock_sec;
	return r;
}

/* glibc 2.36 itself crashes where this is short of memory. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	int r;

	inside = true;
	r = next_getaddrinfo(name, service, hints, ret);
	inside = false;
	return r;
}

time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
