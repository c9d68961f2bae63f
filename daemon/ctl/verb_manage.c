/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What changes something: release and reload. Silent when it worked.
 */
#include "remote.h"

int verb_release(const struct command *command)
{
	struct remote remote;
	int status = 0, r = remote_open(&remote, command);

	if (r >= 0)
		r = remote_call(&remote, "Release", NULL, "s",
				command->name_count > 0 ? command->names[0] : "");
	if (r < 0)
		status = remote_complain(&remote, command);
	remote_done(&remote);
	return status;
}

int verb_reload(const struct command *command)
{
	struct remote remote;
	int status = 0, r = remote_open(&remote, command);

	if (r >= 0)
		r = remote_call(&remote, "Reload", NULL, NULL);
	if (r < 0)
		status = remote_complain(&remote, command);
	remote_done(&remote);
	return status;
}
