/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starts iperf3, reads its JSON, and ends it where a black hole keeps it from ending.
 */
#include "iperf.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../core/facts.h"
#include "document.h"

#define GRACE_SEC 6 /* to connect, to exchange results */
#define TEXT_LARGEST (4 * 1024 * 1024)
#define TURN_MSEC 200
#define STALL_BYTES 65536 /* what small packets alone may have brought over */
#define ARGUMENTS 24
#define COUNT_LARGEST 1e18

extern char **environ;

/* --- what it said --- */

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

/* Neither below nothing nor beyond what a counter holds, whatever the other end claims. */
static double real(struct json_object *object, const char *key)
{
	double value = json_object_get_double(member(object, key));

	if (!(value > 0))
		return 0;
	return value < COUNT_LARGEST ? value : COUNT_LARGEST;
}

static uint64_t count(struct json_object *object, const char *key)
{
	uint64_t value = document_number(object, key);

	return value < (uint64_t)COUNT_LARGEST ? value : (uint64_t)COUNT_LARGEST;
}

static void sums_parse(struct json_object *end, struct iperf_answer *ret)
{
	struct json_object *sent = member(end, "sum_sent"), *received = member(end, "sum_received");
	struct json_object *cpu = member(end, "cpu_utilization_percent");

	ret->bits = (uint64_t)real(received, "bits_per_second");
	ret->bytes = count(received, "bytes");
	ret->has_retransmits = member(sent, "retransmits") != NULL;
	ret->retransmits = count(sent, "retransmits");
	ret->cpu_here = real(cpu, "host_total");
	ret->cpu_there = real(cpu, "remote_total");
}

static void words_clean(char *words)
{
	for (; *words; words++)
		if ((unsigned char)*words < 0x20 || *words == 0x7f)
			*words = '?';
}

int iperf_parse(const char *text, struct iperf_answer *ret)
{
	_drop_ struct json_object *all = json_tokener_parse(text);
	const char *error = document_text(all, "error");

	memset(ret, 0, sizeof(*ret));
	if (!all || error[0] || !member(all, "end")) {
		error += strspn(error, "\n");
		error = error[0] ? error : "it said nothing sensible";
		snprintf(ret->words, sizeof(ret->words), "%.*s", (int)strcspn(error, "\n"), error);
		words_clean(ret->words);
		return -EBADMSG;
	}
	ret->mss = (uint32_t)document_number(member(all, "start"), "tcp_mss_default");
	sums_parse(member(all, "end"), ret);
	return 0;
}

/* --- running it --- */

struct child {
	pid_t pid;
	int output;
	char *text;
	size_t length;
};

static int child_spawn(struct child *ret, char *const *arguments)
{
	posix_spawn_file_actions_t actions;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = posix_spawn_file_actions_init(&actions);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (r == 0)
		r = posix_spawnp(&ret->pid, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	ret->output = ends[0];
	if (r != 0)
		close(ends[0]);
	return -r;
}

/* 1 more may come, 0 the end. */
static int child_read(struct child *child)
{
	ssize_t count;

	if (child->length == TEXT_LARGEST)
		return 0;
	count = read(child->output, child->text + child->length, TEXT_LARGEST - child->length);
	if (count > 0)
		child->length += (size_t)count;
	return count > 0 || (count < 0 && errno == EINTR);
}

/* Whether it ended by itself. */
static bool child_follow(struct child *child, uint64_t deadline_usec, struct progress *progress,
			 const char *what)
{
	struct pollfd ready = {.fd = child->output, .events = POLLIN};

	for (;;) {
		if (progress_now() >= deadline_usec)
			return false;
		progress_show(progress, what, 0, 0);
		if (poll(&ready, 1, TURN_MSEC) > 0 && child_read(child) == 0)
			return true;
	}
}

static void child_end(struct child *child, bool by_itself)
{
	int status;

	if (!by_itself)
		kill(child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(child->output);
}

struct words {
	char *list[ARGUMENTS];
	char port[8], mss[12], seconds[12];
};

static void words_make(struct words *ret, const struct iperf_question *question)
{
	unsigned count = 0;
	char **list = ret->list;

	snprintf(ret->port, sizeof(ret->port), "%u", question->port);
	snprintf(ret->mss, sizeof(ret->mss), "%u", question->mss);
	snprintf(ret->seconds, sizeof(ret->seconds), "%u", question->seconds);
	for (const char *const *one =
		     (const char *const[]){"iperf3", "--json", "--connect-timeout", "3000", "-c",
					   question->address, "-p", ret->port, NULL};
	     *one; one++)
		list[count++] = (char *)*one;
	if (question->source[0]) {
		list[count++] = (char *)"-B";
		list[count++] = (char *)question->source;
	}
	if (question->mss) {
		list[count++] = (char *)"-M";
		list[count++] = ret->mss;
	}
	list[count++] = (char *)(question->seconds ? "-t" : "-n");
	list[count++] = question->seconds ? ret->seconds : (char *)"1K";
	if (!question->seconds) {
		list[count++] = (char *)"-l";
		list[count++] = (char *)"1K";
	}
	if (question->reverse)
		list[count++] = (char *)"-R";
	list[count] = NULL;
}

int iperf_run(const struct iperf_question *question, struct progress *progress, const char *what,
	      struct iperf_answer *ret)
{
	struct child child = {.text = malloc(TEXT_LARGEST + 1)};
	struct words words;
	bool by_itself;
	int r;

	if (!child.text)
		return -ENOMEM;
	words_make(&words, question);
	r = child_spawn(&child, words.list);
	if (r < 0) {
		free(child.text);
		return r;
	}
	by_itself = child_follow(&child,
				 progress_now() + (question->seconds + GRACE_SEC) * USEC_PER_SEC,
				 progress, what);
	child_end(&child, by_itself);
	child.text[child.length] = '\0';
	if (by_itself)
		r = iperf_parse(child.text, ret);
	else
		*ret = (struct iperf_answer){.stalled = true};
	if (r >= 0 && question->seconds && ret->bytes < STALL_BYTES)
		ret->stalled = true;
	free(child.text);
	return r;
}
