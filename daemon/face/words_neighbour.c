/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The words for the other end of a cable, and for what comes from there. A hint where to look
 * first: the fault may be at any switch of that network.
 */
#include "sentence.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/counters.h"

char *words_neighbour(const struct neighbour *neighbour)
{
	if (!neighbour)
		return strdup("");
	return sentence("%s%s%s", neighbour->system,
			neighbour->system[0] && neighbour->port[0] ? " " : "", neighbour->port);
}

/* "switch sw1 port Eth1/7" */
static char *called(const struct neighbour *neighbour)
{
	return sentence("%s%s%s%s%s", neighbour->is_switch ? "switch" : "neighbour",
			neighbour->system[0] ? " " : "", neighbour->system,
			neighbour->port[0] ? " port " : "", neighbour->port);
}

char *words_neighbours(const struct peer *peer, const struct path *path,
		       const struct judgement *judgement)
{
	const struct neighbour *list[NEIGHBOURS_MOST];
	char *all = strdup("");
	unsigned count;

	if (!peer->roster || judgement->locus != LOCUS_ON_LINK)
		return all;
	count = roster_neighbours(peer->roster, path->route.link, list);
	for (unsigned i = 0; all && i < count; i++) {
		_free_text_ char *before = all, *one = called(list[i]);

		all = one ? sentence("%s%s%s", before, i ? " or " : "", one) : NULL;
	}
	return all;
}

char *words_neighbour_frames(const struct peer *peer, const struct path *path)
{
	const struct neighbour *list[NEIGHBOURS_MOST];
	uint32_t sends = path->facts.expected + FRAME_HEADER, least = 0;
	unsigned count = peer->roster ? roster_neighbours(peer->roster, path->route.link, list) : 0;

	for (unsigned i = 0; i < count; i++)
		if (neighbour_takes_less(list[i], sends, path->facts.expected) &&
		    (least == 0 || list[i]->max_frame < least))
			least = list[i]->max_frame;
	return least ? sentence(" (%s announces frames of at most %u bytes)",
				count > 1 ? "one" : "it", least)
		     : strdup("");
}

static const char *what_is_counted(unsigned counter)
{
	if (counter_counts_jumbo(counter))
		return "is sent frames of more than 1518 bytes";
	return counter == COUNTER_OVER_ERRORS ? "drops frames that do not fit into its buffers"
					      : "drops frames for their length";
}

char *words_inbound(const struct finding *finding)
{
	const char *counter = counter_name(finding->should);
	uint32_t tenths = finding->is / 6;
	char rate[32];

	if (finding->is < 60)
		snprintf(rate, sizeof(rate), "%u a minute", finding->is);
	else if (tenths < 100)
		snprintf(rate, sizeof(rate), "%u.%u a second", tenths / 10, tenths % 10);
	else
		snprintf(rate, sizeof(rate), "%u a second", tenths / 10);
	if (counter_is_sure(finding->should))
		return sentence("link %s is sent frames that are longer than it takes, %s (%s): "
				"the far side uses a larger MTU",
				finding->link, rate, counter);
	return sentence("link %s %s, %s (%s): the far side may use a larger MTU", finding->link,
			what_is_counted(finding->should), rate, counter);
}
