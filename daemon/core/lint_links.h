/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Findings about links: what is wrong among those that lie on each other or belong together.
 */
#pragma once

#include "roster.h"

/* The findings of every link anew. */
void lint_links(const struct roster *roster);
/* Those of one link, where nothing but what is known of its far end changed. */
void lint_one(const struct roster *roster, struct link_state *state);

/* What is wrong where more is expected of a link than it has. After lint_links(). */
struct finding lint_below(const struct roster *roster, const struct link_state *state,
			  uint32_t expected);
