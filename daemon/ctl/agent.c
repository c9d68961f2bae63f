/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starts pkttyagent(1) for this process. It closes the pipe when it is registered, or ends.
 */
#include "agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#define READY_MSEC 10000

static bool is_in_session(void)
{
	char *session = NULL;
	int r = sd_pid_get_session(0, &session);

	free(session);
	return r >= 0;
}

/* The child: never returns. */
static void agent_run(int told, pid_t parent)
{
	char number[16];

	/* not one that asks on behalf of nobody */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		_exit(EXIT_FAILURE);
	snprintf(number, sizeof(number), "%d", told);
	/* an agent of the session, with windows, comes first; polkit asks no second one outside of
	 * sessions */
	execlp("pkttyagent", "pkttyagent", "--notify-fd", number,
	       is_in_session() ? "--fallback" : (char *)NULL, (char *)NULL);
	_exit(EXIT_FAILURE);
}

pid_t agent_open(void)
{
	struct pollfd told;
	pid_t parent = getpid(), pid;
	int ends[2];

	if (pipe(ends) < 0)
		return 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		agent_run(ends[1], parent);
	}
	close(ends[1]);
	told = (struct pollfd){.fd = ends[0]};
	while (pid > 0 && poll(&told, 1, READY_MSEC) < 0 && errno == EINTR)
		;
	close(ends[0]);
	return pid > 0 ? pid : 0;
}

void agent_close(pid_t agent)
{
	if (agent == 0)
		return;
	kill(agent, SIGTERM);
	while (waitpid(agent, NULL, 0) < 0 && errno == EINTR)
		;
}
