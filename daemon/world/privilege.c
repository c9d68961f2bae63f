/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Capabilities of this process. Takes nothing that it was not given.
 */
#include "privilege.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

bool privilege_have(void)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t all = cap_get_proc();

	if (all)
		cap_get_flag(all, CAP_NET_ADMIN, CAP_EFFECTIVE, &value);
	cap_free(all);
	return value == CAP_SET;
}

int privilege_drop(void)
{
	static const cap_value_t admin[] = {CAP_NET_ADMIN};
	cap_t all = cap_get_proc();
	int r = 0;

	if (!all)
		return -errno;
	cap_set_flag(all, CAP_INHERITABLE, 1, admin, CAP_CLEAR);
	cap_set_flag(all, CAP_EFFECTIVE, 1, admin, CAP_CLEAR);
	cap_set_flag(all, CAP_PERMITTED, 1, admin, CAP_CLEAR);
	if (cap_set_proc(all) < 0)
		r = -errno;
	cap_free(all);
	return r;
}

/* The command line of this process; the strings are in `ret_text`. */
static int own_arguments(char **ret_text, char ***ret)
{
	char *text = NULL, **list;
	size_t room = 0, count = 0;
	FILE *in = fopen("/proc/self/cmdline", "re");
	ssize_t length;

	if (!in)
		return -errno;
	length = getdelim(&text, &room, EOF, in);
	fclose(in);
	list = length > 0 ? calloc((size_t)length + 1, sizeof(*list)) : NULL;
	if (!list) {
		free(text);
		return -ENOMEM;
	}
	for (char *at = text; at < text + length; at += strlen(at) + 1)
		list[count++] = at;
	*ret_text = text;
	*ret = list;
	return 0;
}

void privilege_leave(void)
{
	char *text = NULL, **arguments = NULL;

	/* an ambient one is all that a program without it in its file comes to by execve(2) */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_ADMIN, 0, 0) <= 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_NET_ADMIN, 0, 0) < 0 ||
	    own_arguments(&text, &arguments) < 0 || !arguments)
		return;
	execv("/proc/self/exe", arguments);
	free(arguments);
	free(text);
}
