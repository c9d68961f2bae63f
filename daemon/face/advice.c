/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a person can do about a verdict or a finding: always a command to type or a place to look.
 * Tells, never does.
 */
#include "sentence.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTE_COMMAND 256

/* "ip route replace 192.0.2.10 via 192.0.2.1 dev eth1 mtu lock 1500"; "" where that makes no
 * sense. A route's MTU heals one peer and leaves the link and all others alone. */
static const char *route_command(const struct path *path, uint32_t mtu,
				 char buffer[static ROUTE_COMMAND])
{
	char to[ADDRESS_TEXT_SIZE], via[ADDRESS_TEXT_SIZE];
	const char *link = words_link(path);
	struct address gateway = path->route.gateway, address = path->address;

	buffer[0] = '\0';
	if (mtu == 0 || !link[0] || path->route.error || address_is_link_local(&address))
		return buffer;
	gateway.zone = 0; /* dev names it */
	words_address(&gateway, via);
	snprintf(buffer, ROUTE_COMMAND, "ip %sroute replace %s%s%s dev %s mtu lock %u",
		 address.family == ADDRESS_IPV6 ? "-6 " : "", words_address(&address, to),
		 via[0] ? " via " : "", via, link, mtu);
	return buffer;
}

/* "fe80::1 dev eth1": iproute2 takes no "%eth1". `link_word` is the one of that command. */
static const char *command_target(const struct path *path, const char *link_word,
				  char buffer[static ROUTE_COMMAND])
{
	char text[ADDRESS_TEXT_SIZE];
	struct address address = path->address;
	bool zoned = address_is_link_local(&address);

	address.zone = 0;
	snprintf(buffer, ROUTE_COMMAND, "%s%s%s%s%s", words_address(&address, text),
		 zoned ? " " : "", zoned ? link_word : "", zoned ? " " : "",
		 zoned ? words_link(path) : "");
	return buffer;
}

/* Where this link's own cable ends, the search begins: ", first at switch sw1 port Eth1/7". */
static char *advice_look_first(const struct peer *peer, const struct path *path,
			       const struct judgement *judgement)
{
	_free_text_ char *plugged = words_neighbours(peer, path, judgement);
	_free_text_ char *frames = plugged && plugged[0] ? words_neighbour_frames(peer, path) : NULL;

	if (!plugged || (plugged[0] && !frames))
		return NULL;
	return plugged[0] ? sentence(", first at %s%s", plugged, frames) : strdup("");
}

/* The command heals the way back too: this host announces an MSS by the route's MTU. */
static char *advice_black_hole(const struct peer *peer, const struct path *path,
			       const struct judgement *judgement)
{
	_free_text_ char *first = advice_look_first(peer, path, judgement);
	char command[ROUTE_COMMAND];
	bool on_link = judgement->locus == LOCUS_ON_LINK;
	bool back = judgement->direction == DIRECTION_RETURN;
	/* the sentence names the place */
	const char *where = judgement->locus == LOCUS_NONE ? "on the way" : "there";

	if (!first)
		return NULL;
	if (path->facts.clamp_mtu)
		snprintf(command, sizeof(command), "a clamp keeps packets to it at %u bytes",
			 path->facts.clamp_mtu);
	else
		route_command(path, words_size(judgement), command);
	return sentence(
		"the peer's own link, or a switch port%s %s takes at most %u bytes: raise its "
		"MTU%s%s%s%s",
		on_link ? " or tunnel" : ", tunnel or router", back ? "on the way back" : where,
		words_size(judgement), first,
		on_link ? "" : ", or let its ICMP \"too big\" reports through",
		command[0] ? "; until then: " : "", command);
}

/* In IPv6 only the peer itself sends fragments, and only of the size that it knows of. */
static char *advice_reduced_back(const struct judgement *judgement)
{
	return sentence(
		"compare the MTU of the peer's link and of the routers on its way back with "
		"%u: one has %u",
		judgement->path_mtu, judgement->return_mtu);
}

static char *advice_reduced(const struct path *path, const struct judgement *judgement)
{
	char router[ADDRESS_TEXT_SIZE];

	if (!path->facts.expect_configured)
		return strdup("");
	if (judgement->direction == DIRECTION_RETURN)
		return advice_reduced_back(judgement);
	if (judgement->router.family == ADDRESS_NONE)
		return sentence("raise the MTU of the tunnel on this host that leads there, or set "
				"ExpectMTU=%u where that is all it should carry",
				judgement->path_mtu);
	return sentence(
		"raise the MTU of the next link at router %s, or set ExpectMTU=%u where that "
		"is all it should carry",
		words_address(&judgement->router, router), judgement->path_mtu);
}

static const char *probes_of(enum method method)
{
	switch (method) {
	case METHOD_AUTO:
	case METHOD_ICMP:
		return "ICMP echo";
	case METHOD_TCP:
		return "TCP to its port";
	case METHOD_UDP:
		return "UDP, or the ICMP \"port unreachable\" that answers it";
	case METHOD_RESPONDER:
		return "UDP to its port";
	}
	return "ICMP echo";
}

static char *advice_silent(const struct peer *peer, const struct path *path)
{
	char address[ADDRESS_TEXT_SIZE];
	enum method method = peer->settings.method;

	if (method == METHOD_RESPONDER)
		return strdup("run mtuwatchd with Responder=yes on the peer; if it does, a firewall "
			      "drops UDP to its port");
	return sentence("\"ping %s\": it is off, or a firewall drops %s",
			words_address(&path->address, address),
			method == METHOD_AUTO ? "ICMP echo, TCP and UDP alike" : probes_of(method));
}

/* What to do where this host or its surroundings forbid to measure at all, or the full size. */
static char *advice_reason(const struct peer *peer, const struct path *path, enum reason reason)
{
	char address[ADDRESS_TEXT_SIZE], target[ROUTE_COMMAND];
	const char *link = words_link(path);
	bool configured = peer->origin == ORIGIN_CONFIG;

	switch (reason) {
	case REASON_LINK_SMALLER:
		return sentence("ip link set dev %s mtu %u, and the same in the configuration that "
				"sets this link up; or set ExpectMTU=%u",
				link, path->facts.expected, path->facts.capacity);
	case REASON_ROUTE_SMALLER:
		return sentence(
			"\"ip route get %s\" shows the route: take its mtu away or raise it; "
			"or set ExpectMTU=%u",
			command_target(path, "oif", target), path->facts.capacity);
	case REASON_WRONG_LINK:
		return sentence("\"ip route get %s\" shows where packets go: mend the route%s",
				command_target(path, "oif", target),
				configured ? ", or Interface= of this peer" : "");
	case REASON_IRREGULAR:
		return strdup("look for plain loss on the way, or for a limit on echo at the peer; "
			      "Method=tcp asks by other packets");
	case REASON_NO_SIZES:
		return strdup("run mtuwatchd with Responder=yes on the peer and Method=responder here");
	case REASON_SEND_REFUSED:
		return sentence(
			"\"nft list ruleset\", or \"iptables-save\" where that is in use, shows "
			"this host's packet filter: find the output rule that drops %s",
			probes_of(peer->settings.method));
	case REASON_NO_ADDRESS:
		return sentence("%s, or see what \"getent ahosts\" says of that name",
				configured ? "check Address= of this peer"
					   : "give another address");
	case REASON_OWN_ADDRESS:
		return strdup(configured ? "set Address= to one of another host"
					 : "give the address of another host");
	case REASON_BROADCAST:
	case REASON_MULTICAST:
		return strdup(configured ? "set Address= to that of one host"
					 : "give the address of one host");
	case REASON_NO_LINK:
		return sentence("\"ip link\" shows the links there are%s",
				configured ? ": mend Interface= of this peer" : "");
	case REASON_LINK_DOWN:
		return sentence("ip link set dev %s up; if it is up, look at the cable and the "
				"switch port",
				link);
	case REASON_NO_ROUTE:
		return sentence("\"ip route get %s\" tells what is missing",
				command_target(path, "oif", target));
	case REASON_HOST_SHORT:
		return strdup("raise LimitNOFILE= or MemoryMax= of mtuwatchd.service, or watch fewer "
			      "peers by Method=tcp, udp or responder");
	case REASON_NO_NEIGHBOUR:
		return sentence("\"ip neigh show %s\": is it switched on, and in the same VLAN?",
				command_target(path, "dev", target));
	case REASON_HOST_UNREACHABLE:
		return sentence("\"tracepath %s\" shows how far packets get",
				words_address(&path->address, address));
	case REASON_NO_RESPONDER:
		return strdup("run mtuwatchd with Responder=yes on the peer; if it does, a firewall "
			      "drops UDP to its port, or Port= is another one");
	case REASON_FLOWS_DEAD:
		return strdup("one member of a bond, or one of several equal routes, loses everything: "
			      "look at the state of each, at both ends");
	case REASON_NONE:
	case REASON_SILENT:
		return advice_silent(peer, path);
	}
	return strdup("");
}

char *words_verdict_advice(const struct peer *peer, const struct path *path,
			   const struct judgement *judgement)
{
	const struct finding *why = findings_explaining(&path_dossier(path)->findings);

	/* it knows what its kind of link needs */
	if (why && verdict_is_fault(judgement->verdict) && why->id != FINDING_WRONG_LINK)
		return words_finding_advice(why);
	switch (judgement->verdict) {
	case VERDICT_BLACK_HOLE:
		return advice_black_hole(peer, path, judgement);
	case VERDICT_REDUCED:
		return advice_reduced(path, judgement);
	case VERDICT_PARTIAL:
		if (judgement->reason == REASON_FLOWS_DEAD)
			return advice_reason(peer, path, judgement->reason);
		return sentence(
			"one member of a bond, or one of several equal routes, carries only "
			"%u bytes: compare their MTUs at both ends and on the switches",
			judgement->path_mtu);
	case VERDICT_LOSSY:
		return strdup(
			"look for bit errors (\"ip -s link\", the switch port's counters) and "
			"for a policer on the way");
	case VERDICT_UNVERIFIABLE:
		/* a stranger's silence is nothing to be mended, unless nothing can be sent to it */
		if (judgement->reason == REASON_NO_SIZES || judgement->reason == REASON_IRREGULAR ||
		    judgement->reason == REASON_NO_RESPONDER ||
		    judgement->reason == REASON_NO_NEIGHBOUR)
			return advice_reason(peer, path, judgement->reason);
		return strdup("");
	case VERDICT_MISCONFIGURED:
	case VERDICT_UNREACHABLE:
		return advice_reason(peer, path, judgement->reason);
	case VERDICT_UNKNOWN:
	case VERDICT_CONSISTENT:
		return strdup("");
	}
	return strdup("");
}

char *words_finding_advice(const struct finding *finding)
{
	const char *link = finding_link(finding)[0] ? finding->link : "LINK";

	switch (finding->id) {
	case FINDING_LINK_BELOW_EXPECTED:
	case FINDING_IPV6_MTU_BELOW_LINK:
	case FINDING_VLAN_ABOVE_PARENT:
	case FINDING_MEMBER_DIFFERS:
	case FINDING_BRIDGE_LOWERED_BY_PORT:
	case FINDING_TUNNEL_TOO_LARGE:
	case FINDING_PAIR_DIFFERS:
	case FINDING_IPV6_LOST:
	case FINDING_MORE:
		return words_link_finding_advice(finding);
	case FINDING_ROUTE_MTU_BELOW_LINK:
		return sentence(
			"\"ip route show dev %s\" shows the route with mtu %u: take it away, "
			"or set ExpectMTU=%u where it is meant",
			link, finding->is, finding->is);
	case FINDING_ROUTE_MTU_ABOVE_LINK:
		return sentence("\"ip route show dev %s\" shows the route with mtu %u: lower it to "
				"%u, or raise the link's",
				link, finding->is, finding->should);
	case FINDING_MTU_ABOVE_DRIVER_MAX:
		return sentence("set ExpectMTU= of link %s to at most %u", link, finding->is);
	case FINDING_PTB_WRONG:
		return strdup("its owner has to mend that router: hosts that believe it use the "
			      "wrong size");
	case FINDING_RETURN_SMALLER:
		return sentence("compare the MTU of the peer's link and of the routers on its way "
				"back with %u: one has %u",
				finding->should, finding->is);
	case FINDING_WRONG_LINK:
		return sentence("mend the route that leads out of %s, or Interface= of this peer",
				link);
	case FINDING_FLOWS_UNPROVEN:
		if (finding->is == 1)
			return strdup("set Port= to one that answers TCP, or run mtuwatchd with "
				      "Responder=yes on the peer");
		return strdup("nothing: the others are asked in turn; Method=tcp asks all at once");
	case FINDING_ECHO_LIMITED:
		return strdup("nothing, where large pings are meant to be dropped; mtuwatchd with "
			      "Responder=yes on the peer tells of both ways");
	case FINDING_INBOUND_OVERSIZE:
		return sentence(
			"compare the MTU of the switch port and of the hosts on the network of "
			"%s with its own (\"ip link show dev %s\"): raise this one or lower "
			"theirs",
			link, link);
	case FINDING_NEIGHBOUR_FRAME_SMALLER:
		return sentence(
			"see which frames the port at the other end of %s really takes, and raise "
			"its MTU where that is less; a check of a peer behind it tells",
			link);
	case FINDING_CACHED_PMTU_STALE:
	case FINDING_SOCKET_MSS_BELOW_PATH:
	case FINDING_CONNECTIONS_STALLED:
		return words_kernel_finding_advice(finding);
	}
	return strdup("");
}
