/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is wrong on this host, from facts alone. Compares a link only with what is expected of
 * it and with what lies on it; links of different networks are strangers to each other.
 */
#include "lint.h"

#include <string.h>

static struct finding *finding_add(struct findings *findings, enum finding_id id,
				   enum severity severity, const char *link)
{
	struct finding *finding;

	if (findings->count == FINDINGS_LARGEST)
		return NULL;
	finding = &findings->list[findings->count++];
	memset(finding, 0, sizeof(*finding));
	finding->id = id;
	finding->severity = severity;
	if (link)
		memcpy(finding->link, link, sizeof(finding->link));
	return finding;
}

static void finding_sizes(struct finding *finding, uint32_t is, uint32_t should)
{
	if (!finding)
		return;
	finding->is = is;
	finding->should = should;
}

void lint_link(const struct link *link, uint32_t expected, struct findings *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (link->loopback || !link->up)
		return;
	if (expected > link->mtu)
		finding_sizes(finding_add(ret, FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING, link->name),
			      link->mtu, expected);
	if (link->max_mtu && expected > link->max_mtu)
		finding_sizes(finding_add(ret, FINDING_MTU_ABOVE_DRIVER_MAX, SEVERITY_WARNING,
					  link->name),
			      link->max_mtu, expected);
	if (link->ipv6_mtu && link->ipv6_mtu < link->mtu)
		finding_sizes(finding_add(ret, FINDING_IPV6_MTU_BELOW_LINK, SEVERITY_NOTICE, link->name),
			      link->ipv6_mtu, link->mtu);
}

static void lint_route(const struct link *link, const struct route *route, struct findings *ret)
{
	if (route->error || route->mtu == 0)
		return;
	if (route->mtu < link->mtu)
		finding_sizes(finding_add(ret, FINDING_ROUTE_MTU_BELOW_LINK, SEVERITY_NOTICE, link->name),
			      route->mtu, link->mtu);
	if (route->mtu > link->mtu)
		finding_sizes(finding_add(ret, FINDING_ROUTE_MTU_ABOVE_LINK, SEVERITY_WARNING,
					  link->name),
			      route->mtu, link->mtu);
}

static void lint_evidence(const struct evidence *evidence, struct findings *ret)
{
	struct finding *finding;

	if (evidence->has_wrong_report) {
		finding = finding_add(ret, FINDING_PTB_WRONG, SEVERITY_NOTICE, NULL);
		finding_sizes(finding, evidence->wrong_mtu, evidence->passes);
		if (finding)
			finding->from = evidence->wrong_router;
	}
	if (evidence->outcome == OUTCOME_FULL && evidence->fragment)
		finding_sizes(finding_add(ret, FINDING_RETURN_SMALLER, SEVERITY_NOTICE, NULL),
			      evidence->fragment, evidence->full);
	if (evidence->return_passes && evidence->return_passes < evidence->passes)
		finding_sizes(finding_add(ret, FINDING_RETURN_SMALLER, SEVERITY_NOTICE, NULL),
			      evidence->return_passes, evidence->passes);
	if (evidence->outcome != OUTCOME_NOTHING && evidence->flows_shown < evidence->flows)
		finding_sizes(finding_add(ret, FINDING_FLOWS_UNPROVEN, SEVERITY_NOTICE, NULL),
			      evidence->flows_shown, evidence->flows);
	if (evidence->echo_limit)
		finding_sizes(finding_add(ret, FINDING_ECHO_LIMITED, SEVERITY_NOTICE, NULL),
			      evidence->echo_limit, evidence->full);
}

/* IPv6 may use less of a link than there is; then the link itself is not to blame. */
static void lint_narrow(const struct link *link, uint32_t expected, struct findings *ret)
{
	if (link->mtu < expected)
		finding_sizes(finding_add(ret, FINDING_LINK_BELOW_EXPECTED, SEVERITY_WARNING,
					  link->name),
			      link->mtu, expected);
	else if (link->ipv6_mtu && link->ipv6_mtu < link->mtu)
		finding_sizes(finding_add(ret, FINDING_IPV6_MTU_BELOW_LINK, SEVERITY_NOTICE,
					  link->name),
			      link->ipv6_mtu, link->mtu);
}

void lint_path(const struct path_facts *facts, const struct link *link, const struct route *route,
	       const struct evidence *evidence, struct findings *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (link && facts->narrow == REASON_LINK_SMALLER)
		lint_narrow(link, facts->expected, ret);
	if (link && facts->narrow == REASON_WRONG_LINK)
		finding_sizes(finding_add(ret, FINDING_WRONG_LINK, SEVERITY_WARNING, link->name),
			      facts->capacity, facts->expected);
	if (link)
		lint_route(link, route, ret);
	if (evidence)
		lint_evidence(evidence, ret);
}

const struct finding *findings_find(const struct findings *findings, enum finding_id id)
{
	for (unsigned i = 0; i < findings->count; i++)
		if (findings->list[i].id == id)
			return &findings->list[i];
	return NULL;
}

static bool finding_has_address(const struct finding *finding)
{
	return finding->id == FINDING_PTB_WRONG || finding->id == FINDING_CACHED_PMTU_STALE;
}

const char *finding_link(const struct finding *finding)
{
	return finding_has_address(finding) ? "" : finding->link;
}

bool finding_equal(const struct finding *a, const struct finding *b)
{
	if (a->id != b->id || a->severity != b->severity || a->is != b->is || a->should != b->should)
		return false;
	if (a->cause != b->cause || a->locked != b->locked)
		return false;
	return finding_has_address(a) ? address_equal(&a->from, &b->from) :
					strcmp(a->link, b->link) == 0;
}
