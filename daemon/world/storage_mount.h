/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line of a mount table: which storage it is on. Pure.
 */
#pragma once

#include "storage_text.h"

/* As libmount gives them, unescaped; NULL is "". */
struct mount_text {
	const char *type;
	const char *source;
	const char *options; /* of the file system, not of the mount */
};

/* Whether such a file system is looked at at all. */
bool storage_mount_type(struct span type);
/* -ENOMEM. What is no storage, or not to be made out, adds nothing. */
int storage_from_mount(const struct mount_text *mount, struct storage_list *list);
