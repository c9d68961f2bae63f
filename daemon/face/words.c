/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The single words, one table an enum, the same on every surface. They are part of what other
 * people's scripts hold on to: never change one. Whole sentences are in sentences.c.
 */
#include "words.h"

#include <syslog.h>

const char *words_verdict(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_UNKNOWN:
		return "unknown";
	case VERDICT_CONSISTENT:
		return "consistent";
	case VERDICT_REDUCED:
		return "reduced";
	case VERDICT_BLACK_HOLE:
		return "black-hole";
	case VERDICT_PARTIAL:
		return "partial";
	case VERDICT_LOSSY:
		return "lossy";
	case VERDICT_MISCONFIGURED:
		return "misconfigured";
	case VERDICT_UNREACHABLE:
		return "unreachable";
	case VERDICT_UNVERIFIABLE:
		return "unverifiable";
	}
	return "unknown";
}

const char *words_severity(enum severity severity)
{
	switch (severity) {
	case SEVERITY_NONE:
		return "";
	case SEVERITY_OK:
		return "ok";
	case SEVERITY_NOTICE:
		return "notice";
	case SEVERITY_WARNING:
		return "warning";
	case SEVERITY_CRITICAL:
		return "critical";
	}
	return "";
}

const char *words_direction(enum direction direction)
{
	switch (direction) {
	case DIRECTION_NONE:
		return "";
	case DIRECTION_UNKNOWN:
		return "unknown";
	case DIRECTION_FORWARD:
		return "forward";
	case DIRECTION_RETURN:
		return "return";
	case DIRECTION_BOTH:
		return "both";
	}
	return "";
}

const char *words_method(enum method method)
{
	switch (method) {
	case METHOD_AUTO:
		return "auto";
	case METHOD_ICMP:
		return "icmp";
	case METHOD_TCP:
		return "tcp";
	case METHOD_UDP:
		return "udp";
	case METHOD_RESPONDER:
		return "responder";
	}
	return "auto";
}

const char *words_kind(enum probe_kind kind)
{
	switch (kind) {
	case PROBE_ECHO:
		return words_method(METHOD_ICMP);
	case PROBE_SYN:
		return words_method(METHOD_TCP);
	case PROBE_UDP:
		return words_method(METHOD_UDP);
	case PROBE_RESPONDER:
		return words_method(METHOD_RESPONDER);
	}
	return words_method(METHOD_ICMP);
}

const char *words_path_method(const struct peer *peer, const struct path *path)
{
	if (peer->settings.method != METHOD_AUTO)
		return words_method(peer->settings.method);
	/* what only connects is asked by that, though it tells no size */
	if (path->evidence.connects)
		return words_kind(path->evidence.kind);
	return path->facts.ever_answered ? words_kind(path->kind) : words_method(METHOD_AUTO);
}

const char *words_link(const struct path *path)
{
	bool missing = path->facts.trouble == REASON_NO_LINK || path->facts.trouble == REASON_LINK_DOWN;

	if (path->link_name[0] && !(missing && path->wanted_link[0]))
		return path->link_name;
	return path->wanted_link;
}

uint32_t words_size(const struct judgement *judgement)
{
	bool back = judgement->direction == DIRECTION_RETURN ||
		    judgement->direction == DIRECTION_BOTH;

	if (back && judgement->return_mtu && judgement->return_mtu < judgement->path_mtu)
		return judgement->return_mtu;
	return judgement->path_mtu;
}

const char *words_origin(enum origin origin)
{
	switch (origin) {
	case ORIGIN_CONFIG:
		return "config";
	case ORIGIN_GATEWAY:
		return "gateway";
	case ORIGIN_REQUEST:
		return "request";
	case ORIGIN_NFS:
		return "nfs";
	case ORIGIN_SMB:
		return "smb";
	case ORIGIN_ISCSI:
		return "iscsi";
	case ORIGIN_NVME:
		return "nvme";
	case ORIGIN_CEPH:
		return "ceph";
	case ORIGIN_GLUSTERFS:
		return "glusterfs";
	case ORIGIN_DRBD:
		return "drbd";
	case ORIGIN_COROSYNC:
		return "corosync";
	}
	return "config";
}

const char *words_finding(enum finding_id id)
{
	switch (id) {
	case FINDING_LINK_BELOW_EXPECTED:
		return "link-below-expected";
	case FINDING_ROUTE_MTU_BELOW_LINK:
		return "route-mtu-below-link";
	case FINDING_ROUTE_MTU_ABOVE_LINK:
		return "route-mtu-above-link";
	case FINDING_IPV6_MTU_BELOW_LINK:
		return "ipv6-mtu-below-link";
	case FINDING_MTU_ABOVE_DRIVER_MAX:
		return "mtu-above-driver-max";
	case FINDING_PTB_WRONG:
		return "ptb-wrong";
	case FINDING_RETURN_SMALLER:
		return "return-smaller";
	case FINDING_WRONG_LINK:
		return "wrong-link";
	case FINDING_FLOWS_UNPROVEN:
		return "flows-unproven";
	case FINDING_ECHO_LIMITED:
		return "echo-limited";
	case FINDING_INBOUND_OVERSIZE:
		return "inbound-oversize";
	case FINDING_NEIGHBOUR_FRAME_SMALLER:
		return "neighbour-frame-smaller";
	case FINDING_CACHED_PMTU_STALE:
		return "cached-pmtu-stale";
	case FINDING_SOCKET_MSS_BELOW_PATH:
		return "socket-mss-below-path";
	case FINDING_CONNECTIONS_STALLED:
		return "connections-stalled";
	case FINDING_VLAN_ABOVE_PARENT:
		return "vlan-above-parent";
	case FINDING_MEMBER_DIFFERS:
		return "member-differs";
	case FINDING_BRIDGE_LOWERED_BY_PORT:
		return "bridge-lowered-by-port";
	case FINDING_TUNNEL_TOO_LARGE:
		return "tunnel-too-large";
	case FINDING_PAIR_DIFFERS:
		return "pair-differs";
	case FINDING_IPV6_LOST:
		return "ipv6-lost";
	case FINDING_MORE:
		return "more-findings";
	}
	return "";
}

int words_priority(enum severity severity)
{
	switch (severity) {
	case SEVERITY_CRITICAL:
		return LOG_ERR;
	case SEVERITY_WARNING:
		return LOG_WARNING;
	case SEVERITY_NOTICE:
		return LOG_NOTICE;
	case SEVERITY_NONE:
	case SEVERITY_OK:
		return LOG_INFO;
	}
	return LOG_INFO;
}
