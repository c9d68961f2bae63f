/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all as what iperf3 prints, as networkd's record of a link, and as files of netplan's
 * and ifupdown's. Whatever comes out is closed, and has nothing in it that steers a terminal.
 */
#include <glob.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/ctl/iperf.h"
#include "../../daemon/ctl/layers.h"
#include "../../daemon/ctl/worth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_glob(const char *pattern, int flags, int (*complain)(const char *, int), glob_t *ret);
void __wrap_globfree(glob_t *found);

#define INTERFACES "/root/etc/network/interfaces"
#define FILES_MOST 64

/* /etc/network/interfaces is the input, and so is all that it includes. */
static const uint8_t *interfaces;
static size_t interfaces_size;
static unsigned files;

FILE *__wrap_fopen(const char *path, const char *mode)
{
	/* the fuzzer has files of its own */
	if (strcmp(path, INTERFACES) != 0)
		return __real_fopen(path, mode);
	files++;
	return interfaces_size > 0 ? fmemopen((void *)(uintptr_t)interfaces, interfaces_size, "r") : NULL;
}

int __wrap_glob(const char *pattern, int flags, int (*complain)(const char *, int), glob_t *ret)
{
	static char name[] = INTERFACES, *path = name;

	ret->gl_pathv = &path;
	ret->gl_pathc = files < FILES_MOST;
	return 0;
}

void __wrap_globfree(glob_t *found)
{
}

static void assert_closed(const char *text, size_t room)
{
	if (strnlen(text, room) == room)
		abort();
}

static void assert_clean(const char *text, size_t room)
{
	assert_closed(text, room);
	for (; *text; text++)
		if ((uint8_t)*text < 0x20 || *text == 0x7f)
			abort();
}

/* Held against another one that was as good, and one that was not. */
static void weigh(const struct iperf_answer *answer)
{
	struct series smaller = {.size = 1500, .count = 2}, larger = {.size = 9000, .count = 1};
	char *sentence;

	smaller.runs[0] = larger.runs[0] = *answer;
	smaller.runs[1].bits = 1000000;
	sentence = worth_sentence(&smaller, &larger);
	if (sentence)
		assert_clean(sentence, strlen(sentence) + 1);
	free(sentence);
	series_retransmits(&smaller);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), section[32];
	struct iperf_answer answer;
	struct manager manager;

	interfaces = data;
	interfaces_size = size;
	files = 0;
	if (!text)
		return 0;
	if (iperf_parse(text, &answer) >= 0)
		weigh(&answer);
	else if (!answer.words[0])
		abort();
	assert_clean(answer.words, sizeof(answer.words));
	if (manager_from_networkd(&manager, text)) {
		assert_closed(manager.file, sizeof(manager.file));
		if (manager.kind != MANAGER_NETWORKD || manager.file[0] != '/')
			abort();
	}
	netplan_section(text, "eth1", section);
	assert_closed(section, sizeof(section));
	free(text);
	if (manager_from_interfaces(&manager, "/root", "eth1")) {
		assert_clean(manager.name, sizeof(manager.name));
		assert_clean(manager.section, sizeof(manager.section));
		if (strcmp(manager.file, &INTERFACES[strlen("/root")]) != 0)
			abort();
	}
	return 0;
}
