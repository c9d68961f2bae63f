/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starts the pager: $SYSTEMD_PAGER, $PAGER, less, more, cat, by these names in this order; an empty
 * one or "cat" means none.
 */
#include "pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is said first counts, also when it says that none is wanted. */
static const char *pager_wanted(void)
{
	const char *text = getenv("SYSTEMD_PAGER");

	return text ? text : getenv("PAGER");
}

/* The child: never returns. */
static void pager_run(const char *wanted, int input)
{
	const char *options = getenv("SYSTEMD_LESS");

	dup2(input, STDIN_FILENO);
	/* F: what fits on the screen ends at once; R: colours */
	setenv("LESS", options ? options : "FRSXMK", 1);
	/* root's pager shall not start an editor or a shell */
	setenv("LESSSECURE", "1", 1);
	signal(SIGPIPE, SIG_DFL);
	if (wanted) {
		execl("/bin/sh", "sh", "-c", wanted, (char *)NULL);
	} else {
		execlp("less", "less", (char *)NULL);
		execlp("more", "more", (char *)NULL);
		execlp("cat", "cat", (char *)NULL);
	}
	_exit(EXIT_FAILURE);
}

pid_t pager_open(void)
{
	const char *wanted = pager_wanted();
	int ends[2];
	pid_t pid;

	if (wanted && (!wanted[0] || strcmp(wanted, "cat") == 0))
		return 0;
	if (pipe(ends) < 0)
		return 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		pager_run(wanted, ends[0]);
	}
	close(ends[0]);
	if (pid > 0)
		dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
	if (pid < 0)
		return 0;
	/* whoever leaves the pager early is no error */
	signal(SIGPIPE, SIG_IGN);
	return pid;
}

void pager_close(pid_t pager)
{
	if (pager == 0)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}
