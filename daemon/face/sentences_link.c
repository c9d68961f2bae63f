/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sentences about links: what is wrong among those that lie on each other or belong together,
 * what to do about it, and why an MTU changed. Decides nothing.
 */
#include "sentence.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *type_word(enum link_type type)
{
	switch (type) {
	case LINK_OTHER:
		return "link";
	case LINK_VETH:
		return "veth";
	case LINK_BRIDGE:
		return "bridge";
	case LINK_BOND:
		return "bond";
	case LINK_TEAM:
		return "team";
	case LINK_VLAN:
		return "VLAN";
	case LINK_MACVLAN:
		return "macvlan";
	case LINK_IPVLAN:
		return "ipvlan";
	case LINK_VXLAN:
		return "vxlan";
	case LINK_GENEVE:
		return "geneve";
	case LINK_GRE:
		return "GRE tunnel";
	case LINK_GRETAP:
		return "GRE tap";
	case LINK_IPIP:
		return "IPIP tunnel";
	case LINK_SIT:
		return "SIT tunnel";
	case LINK_IP6TNL:
		return "IPv6 tunnel";
	case LINK_WIREGUARD:
		return "WireGuard link";
	}
	return "link";
}

static const char *member_word(const struct finding *finding)
{
	return finding->type == LINK_BRIDGE ? "port" : "member";
}

/* --- what is wrong --- */

static char *text_member(const struct finding *finding)
{
	const char *type = type_word(finding->type), *member = member_word(finding);
	char more[48] = "";

	if (finding->number > 2)
		snprintf(more, sizeof(more), ", and %u more %ss differ likewise",
			 finding->number - 1U, member);
	if (finding->number == 2)
		snprintf(more, sizeof(more), ", and 1 more %s differs likewise", member);
	if (finding->is > finding->should)
		return sentence("%s %s has an MTU of %u, its %s %s %u%s", type, finding->link,
				finding->should, member, finding->other, finding->is, more);
	return sentence(
		"%s %s has an MTU of %u, its %s %s only %u: larger packets get lost there%s", type,
		finding->link, finding->should, member, finding->other, finding->is, more);
}

static char *text_lowered(const struct finding *finding)
{
	if (finding->severity >= SEVERITY_WARNING)
		return sentence("bridge %s has an MTU of %u, %u expected: it follows its smallest "
				"port, %s",
				finding->link, finding->is, finding->should, finding->other);
	return sentence("bridge %s has an MTU of %u, though another port has %u: it follows its "
			"smallest port, %s",
			finding->link, finding->is, finding->should, finding->other);
}

static char *text_tunnel(const struct finding *finding)
{
	return sentence("%s %s has an MTU of %u and adds %u bytes: over %s no more than %u fit, "
			"larger packets %s",
			type_word(finding->type), finding->link, finding->is, finding->number,
			finding->other, finding->should,
			finding->severity >= SEVERITY_WARNING ? "do not get through"
							      : "leave in fragments");
}

static char *text_below(const struct finding *finding)
{
	const char *link = finding->link[0] ? finding->link : "its link";

	if (!finding->other[0])
		return sentence("link %s has an MTU of %u, %u expected", link, finding->is,
				finding->should);
	return sentence(
		"%s %s has an MTU of %u, %u expected; %s, which it %s, is too small as well",
		type_word(finding->type), link, finding->is, finding->should, finding->other,
		finding->type == LINK_OTHER || finding->type == LINK_VETH ? "belongs to"
									  : "lies on");
}

static char *text_ipv6(const struct finding *finding)
{
	static const char *const by[] = {
		[IPV6_ORIGIN_UNKNOWN] = "",
		[IPV6_ORIGIN_ROUTER] = ": a router advertised it",
		[IPV6_ORIGIN_SYSCTL] = ": a sysctl set it",
	};

	return sentence("IPv6 uses an MTU of %u on link %s, whose own is %u%s", finding->is,
			finding->link, finding->should,
			finding->origin < sizeof(by) / sizeof(by[0]) ? by[finding->origin] : "");
}

char *words_link_finding_text(const struct finding *finding)
{
	switch (finding->id) {
	case FINDING_LINK_BELOW_EXPECTED:
		return text_below(finding);
	case FINDING_IPV6_MTU_BELOW_LINK:
		return text_ipv6(finding);
	case FINDING_VLAN_ABOVE_PARENT:
		return sentence("%s %s has an MTU of %u, %s below it only %u: larger packets get "
				"lost",
				type_word(finding->type), finding->link, finding->is,
				finding->other, finding->should);
	case FINDING_MEMBER_DIFFERS:
		return text_member(finding);
	case FINDING_BRIDGE_LOWERED_BY_PORT:
		return text_lowered(finding);
	case FINDING_TUNNEL_TOO_LARGE:
		return text_tunnel(finding);
	case FINDING_PAIR_DIFFERS:
		return sentence("%s %s has an MTU of %u, its other end %s only %u: larger packets "
				"get lost",
				type_word(finding->type), finding->link, finding->should,
				finding->other, finding->is);
	case FINDING_IPV6_LOST:
		return sentence("link %s has an MTU of %u, below the %u that IPv6 needs: its IPv6 "
				"addresses and routes are gone",
				finding->link, finding->is, finding->should);
	case FINDING_MORE:
		return sentence("%u more findings than are listed", finding->is);
	case FINDING_ROUTE_MTU_BELOW_LINK:
	case FINDING_ROUTE_MTU_ABOVE_LINK:
	case FINDING_MTU_ABOVE_DRIVER_MAX:
	case FINDING_PTB_WRONG:
	case FINDING_RETURN_SMALLER:
	case FINDING_WRONG_LINK:
	case FINDING_ECHO_LIMITED:
	case FINDING_INBOUND_OVERSIZE:
	case FINDING_NEIGHBOUR_FRAME_SMALLER:
	case FINDING_CACHED_PMTU_STALE:
	case FINDING_SOCKET_MSS_BELOW_PATH:
	case FINDING_CONNECTIONS_STALLED:
	case FINDING_FLOWS_UNPROVEN:
		break;
	}
	return strdup("");
}

/* --- what to do --- */

static char *advice_below(const struct finding *finding)
{
	const char *link = finding->link[0] ? finding->link : "LINK";
	bool member = finding->type == LINK_OTHER || finding->type == LINK_VETH;

	if (finding->other[0] && member)
		return sentence(
			"ip link set dev %s mtu %u gives it to all members; the same in the "
			"configuration that sets it up; or set ExpectMTU=%u",
			finding->other, finding->should, finding->is);
	if (finding->other[0])
		return sentence("first ip link set dev %s mtu %u, then ip link set dev %s mtu %u, "
				"and the same in the configuration that sets them up; or set "
				"ExpectMTU=%u",
				finding->other, finding->should, link, finding->should,
				finding->is);
	return sentence("ip link set dev %s mtu %u, and the same in the configuration that sets "
			"this link up; or set ExpectMTU=%u",
			link, finding->should, finding->is);
}

static char *advice_member(const struct finding *finding)
{
	if (finding->type == LINK_BRIDGE)
		return sentence("ip link set dev %s mtu %u, if what is behind it takes that; else "
				"ip link set dev %s mtu %u",
				finding->other, finding->should, finding->link, finding->is);
	/* a team refuses its members a change of their own */
	if (finding->type == LINK_TEAM)
		return sentence(
			"take %s out of %s and put it in again: it gets the team's MTU then",
			finding->other, finding->link);
	return sentence("ip link set dev %s mtu %u, as the bond has", finding->other,
			finding->should);
}

static char *advice_ipv6(const struct finding *finding)
{
	switch ((enum ipv6_origin)finding->origin) {
	case IPV6_ORIGIN_ROUTER:
		return sentence("\"rdisc6 %s\" shows the router's MTU option: change it there, or "
				"set ExpectMTU=%u where it is meant",
				finding->link, finding->is);
	case IPV6_ORIGIN_SYSCTL:
		return sentence(
			"sysctl -w net/ipv6/conf/%s/mtu=%u, or set ExpectMTU=%u where it is "
			"meant",
			finding->link, finding->should, finding->is);
	case IPV6_ORIGIN_UNKNOWN:
		break;
	}
	return sentence("\"sysctl net/ipv6/conf/%s/mtu\" shows it: a router advertisement "
			"(\"rdisc6 %s\" shows its MTU option) or a sysctl set it; change it there",
			finding->link, finding->link);
}

char *words_link_finding_advice(const struct finding *finding)
{
	switch (finding->id) {
	case FINDING_LINK_BELOW_EXPECTED:
		return advice_below(finding);
	case FINDING_IPV6_MTU_BELOW_LINK:
		return advice_ipv6(finding);
	case FINDING_VLAN_ABOVE_PARENT:
		return sentence("ip link set dev %s mtu %u, if the switch takes that; else ip link "
				"set dev %s mtu %u",
				finding->other, finding->is, finding->link, finding->should);
	case FINDING_MEMBER_DIFFERS:
		return advice_member(finding);
	case FINDING_BRIDGE_LOWERED_BY_PORT:
		return sentence("ip link set dev %s mtu %u, and in the guest behind it; setting %s "
				"itself would lose what is larger than its smallest port",
				finding->other, finding->should, finding->link);
	case FINDING_TUNNEL_TOO_LARGE:
		return sentence("ip link set dev %s mtu %u, and the same at its other end; or give "
				"%s and the way there %u",
				finding->link, finding->should, finding->other,
				finding->is + finding->number);
	case FINDING_PAIR_DIFFERS:
		return sentence("ip link set dev %s mtu %u, or ip link set dev %s mtu %u",
				finding->other, finding->should, finding->link, finding->is);
	case FINDING_IPV6_LOST:
		return sentence(
			"ip link set dev %s mtu %u or more, then set its IPv6 addresses and "
			"routes up anew: only the link-local address comes back by itself",
			finding->link, finding->should);
	case FINDING_MORE:
		return strdup("mend the listed ones first");
	case FINDING_ROUTE_MTU_BELOW_LINK:
	case FINDING_ROUTE_MTU_ABOVE_LINK:
	case FINDING_MTU_ABOVE_DRIVER_MAX:
	case FINDING_PTB_WRONG:
	case FINDING_RETURN_SMALLER:
	case FINDING_WRONG_LINK:
	case FINDING_ECHO_LIMITED:
	case FINDING_INBOUND_OVERSIZE:
	case FINDING_NEIGHBOUR_FRAME_SMALLER:
	case FINDING_CACHED_PMTU_STALE:
	case FINDING_SOCKET_MSS_BELOW_PATH:
	case FINDING_CONNECTIONS_STALLED:
	case FINDING_FLOWS_UNPROVEN:
		break;
	}
	return strdup("");
}

/* --- why an MTU changed --- */

/* Begins with ": " where there is something to say. */
static char *cause_text(const struct cause *cause)
{
	switch (cause->kind) {
	case CAUSE_UNKNOWN:
		return strdup("");
	case CAUSE_OWN:
		return strdup(": set by mtuwatchd");
	case CAUSE_REPLACED:
		return strdup(": it is another link of this name");
	case CAUSE_PORT_JOINED:
		return sentence(": %s became a port of it", cause->link);
	case CAUSE_PORT_LEFT:
		return sentence(": %s is no longer a port of it", cause->link);
	case CAUSE_PORT_CHANGED:
		return sentence(": the MTU of its port %s changed", cause->link);
	case CAUSE_PARENT:
		return sentence(": changed together with %s below it", cause->link);
	case CAUSE_JOINED:
		return sentence(": it became a member of %s", cause->link);
	case CAUSE_MASTER:
		return sentence(": changed together with %s, whose member it is", cause->link);
	case CAUSE_CAME_UP:
		return strdup(": as it came up");
	case CAUSE_ROUTER:
		return strdup(": a router advertised it");
	case CAUSE_SYSCTL:
		return strdup(": a sysctl set it");
	}
	return strdup("");
}

char *words_link_change(const struct link *before, const struct link *now,
			const struct cause *cause)
{
	char *why = cause_text(cause), *text, reset[96] = "";

	if (cause->ipv6_reset)
		snprintf(reset, sizeof(reset),
			 "; the IPv6 MTU of %u that was set on it went with that", cause->ipv6_mtu);
	if (!why)
		return NULL;
	if (before->mtu != now->mtu)
		text = sentence("MTU %u, was %u%s%s", now->mtu, before->mtu, why, reset);
	else
		text = sentence("IPv6 MTU %u, was %u%s", now->ipv6_mtu, before->ipv6_mtu, why);
	free(why);
	return text;
}
