/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the other end of a cable means for the link at this one. Only compares. */
#include "neighbour.h"

#include <string.h>

bool neighbour_equal(const struct neighbour *a, const struct neighbour *b)
{
	return a->max_frame == b->max_frame && a->is_switch == b->is_switch &&
	       strcmp(a->system, b->system) == 0 && strcmp(a->port, b->port) == 0;
}

bool neighbour_precedes(const struct neighbour *a, const struct neighbour *b)
{
	int order = strcmp(a->system, b->system);

	if (a->is_switch != b->is_switch)
		return a->is_switch;
	return order != 0 ? order < 0 : strcmp(a->port, b->port) < 0;
}

bool neighbour_takes_less(const struct neighbour *neighbour, uint32_t sends, uint32_t mtu)
{
	return neighbour->max_frame && sends && neighbour->max_frame < sends &&
	       neighbour->max_frame != mtu;
}

static void add(struct findings *findings, const struct finding *numbers, const struct link *link)
{
	struct finding finding = finding_make(numbers->id, numbers->severity, link);

	finding.is = numbers->is;
	finding.should = numbers->should;
	findings_add(findings, &finding);
}

void far_end_lint(const struct far_end *far, const struct link *link, struct findings *findings)
{
	if (link->loopback || !link->up)
		return;
	if (far->inbound.per_minute) {
		const struct finding oversize = {
			.id = FINDING_INBOUND_OVERSIZE,
			.severity = far->inbound.sure ? SEVERITY_WARNING : SEVERITY_NOTICE,
			.is = far->inbound.per_minute,
			.should = far->inbound.counter,
		};

		add(findings, &oversize, link);
	}
	if (far->neighbour && neighbour_takes_less(far->neighbour, far->sends, link->mtu)) {
		const struct finding smaller = {
			.id = FINDING_NEIGHBOUR_FRAME_SMALLER,
			.severity = SEVERITY_NOTICE,
			.is = far->neighbour->max_frame,
			.should = far->sends + FRAME_CHECKSUM,
		};

		add(findings, &smaller, link);
	}
}
