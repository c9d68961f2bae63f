/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What routers said in a round, held against what passed. Moves no bound.
 */
#include "round_plan.h"

#include <stddef.h>

const struct round_report *round_report_of(const struct round *round, uint32_t size)
{
	for (unsigned i = 0; i < round->report_count; i++)
		if (round->reports[i].size == size && size != 0)
			return &round->reports[i];
	return NULL;
}

/* RFC 1191 section 3, RFC 8201 section 4: a value is wrong when it is no size at all, not below
 * the probe, less than what passes, or a size that gets lost without a further report. */
static bool report_wrong(const struct round *round, const struct round_report *report)
{
	uint32_t passes = round->evidence.passes;

	if (report->size == 0 || report->mtu == passes)
		return false;
	if (report->mtu < passes || report->mtu >= report->size)
		return true;
	return round_tried(round, report->mtu) && !round_report_of(round, report->mtu);
}

/*
 * Would path MTU discovery find its way by the reports alone? Follows them down from the full
 * size, as a sender does, until one names a size that passes.
 */
static const struct round_report *report_chain(const struct round *round)
{
	const struct round_report *report = round_report_of(round, round->settings.full);

	for (unsigned i = 0; report && i < REPORTS_LARGEST; i++) {
		if (report->mtu < round->settings.least || report->mtu >= report->size)
			return NULL;
		if (report->mtu == round->evidence.passes)
			return report;
		/* a little too small does no harm; far too small is no size to live with */
		if (report->mtu < round->evidence.passes)
			return report->mtu >= round->settings.sane ? report : NULL;
		report = round_report_of(round, report->mtu);
	}
	return NULL;
}

void round_judge_reports(struct round *round)
{
	struct evidence *evidence = &round->evidence;
	const struct round_report *right = report_chain(round);

	evidence->reported = right != NULL;
	if (right)
		evidence->router = right->from;
	for (unsigned i = 0; i < round->report_count; i++) {
		if (!report_wrong(round, &round->reports[i]))
			continue;
		evidence->has_wrong_report = true;
		evidence->wrong_mtu = round->reports[i].mtu;
		evidence->wrong_router = round->reports[i].from;
		break;
	}
}
