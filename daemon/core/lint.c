/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is wrong beside the verdict of a path, from facts alone. What links do to each other is
 * lint_links.c's matter.
 */
#include "lint.h"

#include <string.h>

static void add(struct findings *findings, struct finding finding, uint32_t is, uint32_t should)
{
	finding.is = is;
	finding.should = should;
	findings_add(findings, &finding);
}

static void lint_route(const struct link *link, const struct route *route, struct findings *ret)
{
	if (route->error || route->mtu == 0)
		return;
	if (route->mtu < link->mtu)
		add(ret, finding_make(FINDING_ROUTE_MTU_BELOW_LINK, SEVERITY_NOTICE, link),
		    route->mtu, link->mtu);
	if (route->mtu > link->mtu)
		add(ret, finding_make(FINDING_ROUTE_MTU_ABOVE_LINK, SEVERITY_WARNING, link),
		    route->mtu, link->mtu);
}

static void lint_evidence(const struct evidence *evidence, struct findings *ret)
{
	struct finding finding = finding_make(FINDING_PTB_WRONG, SEVERITY_NOTICE, NULL);
	struct finding smaller = finding_make(FINDING_RETURN_SMALLER, SEVERITY_NOTICE, NULL);

	finding.from = evidence->wrong_router;
	if (evidence->has_wrong_report)
		add(ret, finding, evidence->wrong_mtu, evidence->passes);
	if (evidence->outcome == OUTCOME_FULL && evidence->fragment)
		add(ret, smaller, evidence->fragment, evidence->full);
	if (evidence->return_passes && evidence->return_passes < evidence->passes)
		add(ret, smaller, evidence->return_passes, evidence->passes);
	if (evidence->outcome != OUTCOME_NOTHING && evidence->flows_shown < evidence->flows)
		add(ret, finding_make(FINDING_FLOWS_UNPROVEN, SEVERITY_NOTICE, NULL),
		    evidence->flows_shown, evidence->flows);
	if (evidence->echo_limit)
		add(ret, finding_make(FINDING_ECHO_LIMITED, SEVERITY_NOTICE, NULL),
		    evidence->echo_limit, evidence->full);
}

/* IPv6 may use less of a link than there is; then the link itself is not to blame. */
static void lint_narrow(const struct link *link, uint32_t expected, struct findings *ret)
{
	struct finding finding = finding_make(FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, link);
	struct finding ipv6 = finding_make(FINDING_IPV6_MTU_BELOW_LINK, SEVERITY_NOTICE, link);

	finding.explains = true;
	ipv6.explains = true;
	ipv6.origin = link->ipv6_origin;
	if (link->mtu < expected)
		add(ret, finding, link->mtu, expected);
	else if (link->ipv6_mtu && link->ipv6_mtu < link->mtu)
		add(ret, ipv6, link->ipv6_mtu, link->mtu);
}

void lint_path(const struct path_facts *facts, const struct link *link, const struct route *route,
	       const struct evidence *evidence, struct findings *ret)
{
	struct finding wrong = finding_make(FINDING_WRONG_LINK, SEVERITY_WARNING, link);

	memset(ret, 0, sizeof(*ret));
	wrong.explains = true;
	if (link && facts->narrow == REASON_LINK_SMALLER)
		lint_narrow(link, facts->expected, ret);
	if (link && facts->narrow == REASON_WRONG_LINK)
		add(ret, wrong, facts->capacity, facts->expected);
	if (link)
		lint_route(link, route, ret);
	if (evidence)
		lint_evidence(evidence, ret);
}
