/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Addresses as people write and read them.
 */
#pragma once

#include "../core/facts.h"

#define ADDRESS_TEXT_SIZE 64

/* "192.0.2.1", "fe80::1%eth1" (the zone's index where no link has it); "" for ADDRESS_NONE.
 * Returns `buffer`. */
const char *words_address(const struct address *address, char buffer[static ADDRESS_TEXT_SIZE]);

/* The reverse: a numeric address; a %zone is given back in ret_zone ("" none), not looked up.
 * -EINVAL when it is none. */
int words_parse_address(const char *text, struct address *ret, char ret_zone[static LINK_NAME_SIZE]);
