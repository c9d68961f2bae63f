/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sentences about a path: what was found and why. Sizes are whole IP packets; where people
 * could take them for something else, the ping payload and the TCP MSS stand beside them.
 * What to do about it is in advice.c.
 */
#include "sentence.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_SIZES 64

/* RFC 792 and RFC 4443: 8 bytes of echo header; RFC 9293: 20 of TCP; 20 or 40 of IP. */
static const char *sizes_beside(uint32_t mtu, bool ipv6, char buffer[static OTHER_SIZES])
{
	uint32_t header = ipv6 ? 40 : 20;

	buffer[0] = '\0';
	if (mtu > header + 20)
		snprintf(buffer, OTHER_SIZES, " (ping payload %u, TCP MSS %u)", mtu - header - 8,
			 mtu - header - 20);
	return buffer;
}

char *words_locus(const struct judgement *judgement)
{
	char address[ADDRESS_TEXT_SIZE];

	switch (judgement->locus) {
	case LOCUS_NONE:
		return strdup("");
	case LOCUS_LOCAL:
		return strdup("local");
	case LOCUS_ON_LINK:
		return strdup("on-link");
	case LOCUS_AFTER:
		return sentence("after %s", words_address(&judgement->locus_address, address));
	case LOCUS_AT:
		return sentence("at %s", words_address(&judgement->locus_address, address));
	}
	return strdup("");
}

/* The link that a sentence about this path means. */
static const char *path_link(const struct path *path)
{
	const char *link = words_link(path);

	return link[0] ? link : "its link";
}

static char *reason_no_word(const struct peer *peer, const struct judgement *judgement)
{
	if (judgement->verdict == VERDICT_UNVERIFIABLE)
		return strdup("it has not answered any probe, large or small");
	if (peer->settings.method == METHOD_AUTO)
		return strdup("no answer to any probe, large or small, and no word why");
	return sentence("no answer to any probe by %s, large or small, and no word why",
			words_method(peer->settings.method));
}

static char *reason_router(const struct path *path)
{
	char address[ADDRESS_TEXT_SIZE];

	if (path->evidence.error_from.family == ADDRESS_NONE)
		return strdup("a router says that it cannot be reached");
	return sentence("%s says that it cannot be reached",
			words_address(&path->evidence.error_from, address));
}

static char *reason_wrong_link(const struct path *path)
{
	return sentence("the route to it goes out of %s, not of %s as configured", path_link(path),
			path->wanted_link[0] ? path->wanted_link : "the configured link");
}

char *words_reason(const struct peer *peer, const struct path *path,
		   const struct judgement *judgement)
{
	switch (judgement->reason) {
	case REASON_NONE:
		return strdup("");
	case REASON_LINK_SMALLER:
		return sentence("link %s has an MTU of %u", path_link(path),
				path->facts.capacity ? path->facts.capacity : path->link_mtu);
	case REASON_ROUTE_SMALLER:
		return sentence("the route by %s has an MTU of %u", path_link(path),
				path->facts.capacity ? path->facts.capacity : path->route.mtu);
	case REASON_WRONG_LINK:
		return reason_wrong_link(path);
	case REASON_SEND_REFUSED:
		if (judgement->verdict == VERDICT_MISCONFIGURED)
			return sentence("this host's own packet filter refuses more than %u bytes",
					judgement->path_mtu);
		return strdup("this host's own packet filter refuses to send");
	case REASON_NO_ADDRESS:
		if (!peer->host)
			return strdup("its host name has no address now");
		return sentence("the host name %s has no address now", peer->host);
	case REASON_OWN_ADDRESS:
		return strdup("the address is this host's own");
	case REASON_BROADCAST:
		return strdup("the address is a broadcast address, that of all hosts on a link");
	case REASON_MULTICAST:
		return strdup("the address is a multicast address, that of a group of hosts");
	case REASON_NO_LINK:
		return sentence("there is no link %s", path_link(path));
	case REASON_LINK_DOWN:
		return sentence("link %s is down or has no carrier", path_link(path));
	case REASON_NO_ROUTE:
		return strdup("this host has no route to it");
	case REASON_HOST_SHORT:
		return strdup("this host is short of memory, descriptors or free ports, so that "
			      "nothing could be asked");
	case REASON_NO_NEIGHBOUR:
		return sentence("nobody answers to its address on %s", path_link(path));
	case REASON_HOST_UNREACHABLE:
		return reason_router(path);
	case REASON_IRREGULAR:
		return strdup("answers come too irregularly to tell sizes apart");
	case REASON_NO_SIZES:
		return strdup("it takes TCP connections, but nothing it answers tells a size");
	case REASON_NO_RESPONDER:
		return sentence("it is alive, but no mtuwatchd answers on its UDP port %u",
				path_port(path, PROBE_RESPONDER));
	case REASON_FLOWS_DEAD:
		return sentence("%u of %u flows get no answer at all, to large or small packets",
				path->flows_faulty, path->flow_count);
	case REASON_SILENT:
		return reason_no_word(peer, judgement);
	}
	return strdup("");
}

static const char *way_of(enum direction direction)
{
	switch (direction) {
	case DIRECTION_FORWARD:
	case DIRECTION_BOTH:
		return " on the way to it";
	case DIRECTION_RETURN:
		return " on the way back";
	case DIRECTION_NONE:
	case DIRECTION_UNKNOWN:
		return "";
	}
	return "";
}

char *words_place(const struct path *path, const struct judgement *judgement)
{
	_free_text_ char *locus = words_locus(judgement);
	bool back = judgement->direction == DIRECTION_RETURN;
	char flows[OTHER_SIZES] = "";

	if (judgement->verdict == VERDICT_PARTIAL && path->flows_faulty)
		snprintf(flows, sizeof(flows), "%u of %u flows", path->flows_faulty,
			 path->flow_count);
	if (!locus)
		return NULL;
	if (!locus[0] && back)
		return sentence("%s%son the way back", flows, flows[0] ? ", " : "");
	return sentence("%s%s%s", flows, flows[0] && locus[0] ? ", " : "", locus);
}

static char *body_consistent(const struct judgement *judgement, const char *beside)
{
	uint32_t there = judgement->path_mtu, back = judgement->return_mtu;

	if (back == 0)
		return sentence("packets of %u bytes arrive%s; the way back is not measured", there,
				beside);
	if (back < there)
		return sentence("packets of %u bytes arrive%s; no more than %u come back whole",
				there, beside, back);
	return sentence("packets of %u bytes pass%s", there, beside);
}

static char *body_reduced(const struct path *path, const struct judgement *judgement,
			  const char *beside)
{
	char router[ADDRESS_TEXT_SIZE];

	if (judgement->direction == DIRECTION_RETURN)
		return sentence("packets above %u bytes come back in fragments, as the peer was told "
				"to; %u expected%s; %u arrive there",
				judgement->return_mtu, path->facts.expected, beside,
				judgement->path_mtu);
	if (judgement->router.family == ADDRESS_NONE)
		return sentence("packets above %u bytes do not pass, and this host's kernel knows; "
				"%u expected%s",
				judgement->path_mtu, path->facts.expected, beside);
	return sentence("packets above %u bytes do not pass, and router %s says so; %u expected%s",
			judgement->path_mtu, words_address(&judgement->router, router),
			path->facts.expected, beside);
}

/* What else is known of the two ways than the size that the sentence began with; "" nothing. */
static char *other_way(const struct judgement *judgement)
{
	switch (judgement->direction) {
	case DIRECTION_FORWARD:
		if (judgement->return_mtu >= judgement->path_mtu && judgement->return_mtu)
			return sentence("; %u come back", judgement->return_mtu);
		break;
	case DIRECTION_RETURN:
		return sentence("; %u arrive there", judgement->path_mtu);
	case DIRECTION_BOTH:
		return sentence("; %u come back", judgement->return_mtu);
	case DIRECTION_NONE:
	case DIRECTION_UNKNOWN:
		break;
	}
	return strdup("");
}

/* Who else says so; "" where the method itself leaves no doubt. */
static char *borne_out(const struct path *path, const struct judgement *judgement)
{
	if (!judgement->confirmed)
		return strdup("; seen by ICMP echo only");
	if (path->evidence.kind != PROBE_ECHO || judgement->verdict == VERDICT_PARTIAL)
		return strdup("");
	if (path->second_passes)
		return sentence("; %s %s",
				judgement->path_mtu == path->second_passes ? "borne out by"
									   : "measured by",
				words_kind(path_dossier(path)->second.kind));
	return strdup(path->facts.borne_out ? "; borne out by another peer" : "");
}

/* "on the way to it (after 192.0.2.254)", "on the way to it (on-link, behind switch sw1 port 7)" */
static char *lost_where(const struct peer *peer, const struct path *path,
			const struct judgement *judgement)
{
	_free_text_ char *locus = words_locus(judgement);
	_free_text_ char *plugged = words_neighbours(peer, path, judgement);

	if (!locus || !plugged)
		return NULL;
	if (!locus[0])
		return strdup(way_of(judgement->direction));
	return sentence("%s (%s%s%s)", way_of(judgement->direction), locus,
			plugged[0] ? ", behind " : "", plugged);
}

static char *body_black_hole(const struct peer *peer, const struct path *path,
			     const struct judgement *judgement, const char *beside)
{
	_free_text_ char *where = lost_where(peer, path, judgement), *other = other_way(judgement);
	_free_text_ char *doubt = borne_out(path, judgement);
	uint32_t mtu = judgement->direction == DIRECTION_RETURN ? judgement->return_mtu
								: judgement->path_mtu;

	if (!where || !other || !doubt)
		return NULL;
	/* not every size above was asked, and some do not fail in order */
	if (path->evidence.fails_below && path->evidence.passes == mtu)
		return sentence("packets of %u bytes pass, but of %u and of %u get lost without a "
				"word%s: sizes do not fail in order%s%s%s",
				mtu, path->evidence.fails_below, path->facts.expected, where, beside,
				other, doubt);
	return sentence("packets above %u bytes get lost without a word%s, %u expected%s%s%s", mtu,
			where, path->facts.expected, beside, other, doubt);
}

static char *body_partial(const struct peer *peer, const struct path *path,
			  const struct judgement *judgement, const char *beside)
{
	_free_text_ char *where = lost_where(peer, path, judgement);
	_free_text_ char *doubt = borne_out(path, judgement);
	char flows[OTHER_SIZES] = "some flows";

	if (!where || !doubt)
		return NULL;
	if (path->flows_faulty)
		snprintf(flows, sizeof(flows), "%u of %u flows", path->flows_faulty,
			 path->flow_count);
	return sentence("%s lose all packets above %u bytes without a word%s, others carry %u%s%s",
			flows, judgement->path_mtu, where, path->facts.expected, beside, doubt);
}

static char *body_misconfigured(const struct path *path, const struct judgement *judgement,
				const char *reason)
{
	uint32_t mtu = judgement->path_mtu ? judgement->path_mtu : path->facts.capacity;
	char beside[OTHER_SIZES];

	if (judgement->reason == REASON_WRONG_LINK || reason_is_address(judgement->reason))
		return strdup(reason);
	return sentence("this host cannot send packets of %u bytes%s%s%s", path->facts.expected,
			reason[0] ? ": " : "", reason,
			sizes_beside(mtu, path->address.family == ADDRESS_IPV6, beside));
}

/* What is said after the verdict's word; "" nothing. */
static char *verdict_body(const struct peer *peer, const struct path *path,
			  const struct judgement *judgement, const char *reason)
{
	char beside[OTHER_SIZES];

	sizes_beside(words_size(judgement), path->address.family == ADDRESS_IPV6, beside);
	switch (judgement->verdict) {
	case VERDICT_CONSISTENT:
		return body_consistent(judgement, beside);
	case VERDICT_REDUCED:
		return body_reduced(path, judgement, beside);
	case VERDICT_BLACK_HOLE:
		return body_black_hole(peer, path, judgement, beside);
	case VERDICT_PARTIAL:
		if (judgement->reason == REASON_FLOWS_DEAD)
			return sentence("%s, others carry %u; that is no matter of size", reason,
					judgement->path_mtu);
		return body_partial(peer, path, judgement, beside);
	case VERDICT_LOSSY:
		return sentence("packets of %u bytes pass, but get lost far more often than small "
				"ones%s%s",
				path->facts.expected, way_of(judgement->direction), beside);
	case VERDICT_MISCONFIGURED:
		return body_misconfigured(path, judgement, reason);
	case VERDICT_UNKNOWN:
		return strdup(reason[0] ? reason : "not measured yet");
	case VERDICT_UNREACHABLE:
		return strdup(reason);
	case VERDICT_UNVERIFIABLE:
		return strdup(reason[0] ? reason : "nothing tells which sizes pass");
	}
	return strdup("");
}

char *words_verdict_sentence(const struct peer *peer, const struct path *path,
			     const struct judgement *judgement)
{
	char address[ADDRESS_TEXT_SIZE];
	_free_text_ char *reason = words_reason(peer, path, judgement);
	_free_text_ char *body = reason ? verdict_body(peer, path, judgement, reason) : NULL;
	const char *link = words_link(path);
	bool beside = strcmp(words_address(&path->address, address), peer->name) != 0 && address[0];

	if (!body)
		return NULL;
	return sentence("peer %s%s%s%s%s%s: %s%s%s", peer->name, beside ? " (" : "",
			beside ? address : "", beside ? ")" : "",
			link[0] ? " by " : "", link, words_verdict(judgement->verdict),
			body[0] ? ": " : "", body);
}

char *words_finding_text(const struct finding *finding)
{
	char from[ADDRESS_TEXT_SIZE];
	const char *link = finding_link(finding)[0] ? finding->link : "its link";

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
		return words_link_finding_text(finding);
	case FINDING_ROUTE_MTU_BELOW_LINK:
		return sentence("the route by %s has an MTU of %u, the link carries %u", link,
				finding->is, finding->should);
	case FINDING_ROUTE_MTU_ABOVE_LINK:
		return sentence("the route by %s has an MTU of %u, the link carries only %u", link,
				finding->is, finding->should);
	case FINDING_MTU_ABOVE_DRIVER_MAX:
		return sentence("an MTU of %u is expected of link %s, its driver takes at most %u",
				finding->should, link, finding->is);
	case FINDING_PTB_WRONG:
		return sentence("%s reports an MTU of %u, but what passes is %u",
				finding->from.family == ADDRESS_NONE
					? "a router"
					: words_address(&finding->from, from),
				finding->is, finding->should);
	case FINDING_RETURN_SMALLER:
		return sentence("no more than %u bytes come back whole, of %u that arrive there",
				finding->is, finding->should);
	case FINDING_WRONG_LINK:
		return sentence("packets leave by %s, not by the link that Interface= names", link);
	case FINDING_FLOWS_UNPROVEN:
		if (finding->is == 1)
			return sentence("%u flows were asked by ICMP echo, whose identifiers bundles seldom "
					"look at: all of them may have gone one way",
					finding->should);
		return sentence("%u of %u flows were asked so far, a few at a time", finding->is,
				finding->should);
	case FINDING_ECHO_LIMITED:
		return sentence("ICMP echo is answered up to %u bytes only, of %u that were tried, "
				"though larger packets of another kind arrive",
				finding->is, finding->should);
	case FINDING_INBOUND_OVERSIZE:
		return words_inbound(finding);
	case FINDING_NEIGHBOUR_FRAME_SMALLER:
		return sentence("the other end of the cable of %s announces that it takes frames of at "
				"most %u bytes, this end sends up to %u",
				link, finding->is, finding->should);
	case FINDING_CACHED_PMTU_STALE:
	case FINDING_SOCKET_MSS_BELOW_PATH:
	case FINDING_CONNECTIONS_STALLED:
		return words_kernel_finding_text(finding);
	}
	return strdup("");
}
