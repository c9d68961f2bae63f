/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which links a packet goes through inside this host after it was given to one of them: parents,
 * members, the links that tunnels leave by, the bridge at the other end of a veth.
 */
#pragma once

#include "roster.h"

/* The one link that this one lies on, or that a tunnel's packets leave by; 0 none or not known. */
int tower_under(const struct link_state *state);

/*
 * Marks in link_state.reached every link that packets of `link` go through, itself too; and in
 * link_state.around the bytes that tunnels have put around them by then. Other marks are gone.
 */
void tower_mark_below(const struct roster *roster, int link);

/* The same from the other side: every link whose packets go through `link`. */
void tower_mark_above(const struct roster *roster, int link);

/* What was marked last holds such a link by which paths leave: see tower_count_paths(). */
bool tower_has_paths(const struct roster *roster);

/* Notes in link_state.carries by which links paths leave now. */
void tower_count_paths(const struct roster *roster);
