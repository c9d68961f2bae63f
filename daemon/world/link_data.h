/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What IFLA_INFO_DATA says of a tunnel. Pure; fuzzed and unit-tested on bytes.
 */
#pragma once

#include "../core/facts.h"

struct nlattr;

/* Fills in tunnel, local and remote by link->type. `data` may be NULL. */
void link_data_parse(struct nlattr *data, struct link *link);
