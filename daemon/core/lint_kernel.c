/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Findings of what the kernel remembers about a path and of what live connections make of it. The
 * route's own MTU is the administrator's word and another finding; a verdict is not this file's.
 */
#include "lint.h"

#include <string.h>

#include "path.h"

static void lint_cache(const struct path *path, struct findings *findings)
{
	struct finding finding;

	if (!path_cache_is_stale(path))
		return;
	finding = finding_make(FINDING_CACHED_PMTU_STALE, SEVERITY_NOTICE, NULL);
	finding.is = path->route.kernel_mtu;
	finding.should = path->known_mtu;
	finding.to = path->address;
	finding.lasts_sec = path->route.exception_sec;
	finding.locked = path->route.exception_locked;
	findings_add(findings, &finding);
}

static void lint_mss(const struct path *path, struct findings *findings)
{
	const struct path_sockets *sockets = &path->sockets;
	struct finding finding;

	/* less passes by now than when it was looked at */
	if (!sockets->told || sockets->below.size + SOCKET_SLACK >= path->announced.path_mtu)
		return;
	finding = finding_make(FINDING_SOCKET_MSS_BELOW_PATH, SEVERITY_NOTICE, NULL);
	finding.is = sockets->below.size;
	finding.should = sockets->should;
	finding.mss = (uint16_t)sockets->below.mss;
	finding.count = sockets->below.count;
	finding.cause = sockets->cause;
	memcpy(finding.link, path->link_name, sizeof(finding.link));
	findings_add(findings, &finding);
}

static void lint_stall(const struct path *path, struct findings *findings)
{
	struct finding finding;

	if (!path_sockets_are_stalled(path))
		return;
	finding = finding_make(FINDING_CONNECTIONS_STALLED, SEVERITY_WARNING, NULL);
	finding.is = path->sockets.stalled_size;
	finding.should = path->facts.expected;
	finding.count = path->sockets.stalled;
	findings_add(findings, &finding);
}

void lint_kernel(const struct path *path, struct findings *findings)
{
	lint_stall(path, findings);
	lint_cache(path, findings);
	lint_mss(path, findings);
}
