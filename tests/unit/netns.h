/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A network and mount namespace of the test's own, and the few things that are done in one.
 */
#pragma once

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/core/facts.h"

static inline void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void run(const char *format, ...)
{
	char command[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	ck_assert_msg(system(command) == 0, "failed: %s", command);
}

/* NULL: this process may make namespaces; else why it may not. */
static inline const char *netns_obstacle(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(unshare(CLONE_NEWNET | CLONE_NEWNS) < 0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return "cannot fork";
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return "no privilege to make network namespaces";
	return system("ip -V >/dev/null 2>&1") == 0 ? NULL : "no ip command (iproute2)";
}

static inline void netns_enter(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNET | CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	run("ip link set lo up");
}

/* A second namespace, which lives as long as the process that is returned. */
static inline pid_t netns_other(void)
{
	int ready[2];
	char byte = 0;
	pid_t child;

	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (unshare(CLONE_NEWNET) < 0 || write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static inline void netns_end(pid_t other)
{
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static inline uint64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Runs the loop until `property` holds; false when it does not within the time. */
static inline bool holds_within(sd_event *event, uint64_t usec, bool (*property)(void *),
				void *userdata)
{
	uint64_t end = now_usec() + usec;

	while (!property(userdata)) {
		uint64_t now = now_usec();

		if (now >= end)
			return false;
		ck_assert_int_ge(sd_event_run(event, end - now), 0);
	}
	return true;
}

static inline struct address address(const char *text)
{
	struct address result = {0};

	result.family = strchr(text, ':') != NULL ? ADDRESS_IPV6 : ADDRESS_IPV4;
	ck_assert_int_eq(
		inet_pton(result.family == ADDRESS_IPV6 ? AF_INET6 : AF_INET, text, result.bytes),
		1);
	return result;
}

/* Runs the suite, or skips all of it where no namespace can be made. */
static inline int netns_main(Suite *suite)
{
	const char *obstacle = netns_obstacle();
	SRunner *runner = srunner_create(suite);
	int failed = 0;

	if (obstacle != NULL) {
		printf("1..0 # SKIP %s\n", obstacle);
	} else {
		srunner_set_tap(runner, "-");
		srunner_run_all(runner, CK_SILENT);
		failed = srunner_ntests_failed(runner);
	}
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
