/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * polkit's own agent for terminals, which asks for a password where nobody else does.
 */
#pragma once

#include <sys/types.h>

/* Returns when polkit knows of it. 0: there is none to be had. */
pid_t agent_open(void);
void agent_close(pid_t agent);
