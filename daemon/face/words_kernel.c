/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sentences about what the kernel remembers of a path and what live connections make of it, and
 * what to do about each. Says what was seen; where two things look the same it names both.
 */
#include "sentence.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *cache_text(const struct finding *finding)
{
	char to[ADDRESS_TEXT_SIZE];

	words_address(&finding->to, to);
	if (finding->locked)
		return sentence(
			"the kernel was told of an MTU for %s that no network has: until it "
			"forgets, what applications send there leaves in fragments of %u bytes, "
			"without DF, though packets of %u bytes pass",
			to, finding->is, finding->should);
	return sentence(
		"the kernel was told of an MTU of %u for %s and uses it, though packets of %u "
		"bytes pass",
		finding->is, to, finding->should);
}

static const char *cause_text(enum socket_cause cause)
{
	switch (cause) {
	case SOCKET_CAUSE_CACHE:
		return "the kernel was told of that MTU once and has not forgotten";
	case SOCKET_CAUSE_OWN:
		return "";
	case SOCKET_CAUSE_PROBED:
		return "this host's kernel went down to it by itself (net.ipv4.tcp_mtu_probing)";
	case SOCKET_CAUSE_PEER:
		return "no more was announced in the peer's name";
	case SOCKET_CAUSE_PEER_SMALL:
		return "the peer announced no more, and no more comes back from it whole";
	case SOCKET_CAUSE_REWRITTEN:
		return "no more was announced in the peer's name, though larger packets come back "
		       "from it whole";
	}
	return "";
}

static char *mss_text(const struct finding *finding)
{
	bool one = finding->count == 1;

	if (finding->cause == SOCKET_CAUSE_OWN)
		return sentence(
			"for %u live TCP connection%s by %s this host announced packets of %u "
			"bytes (MSS %u), and the peer sends no larger ones; %u pass both ways",
			finding->count, one ? "" : "s",
			finding->link[0] ? finding->link : "its link", finding->is, finding->mss,
			finding->should);
	return sentence(
		"%u live TCP connection%s by %s use%s packets of %s%u bytes (MSS %u), %u pass: %s",
		finding->count, one ? "" : "s", finding->link[0] ? finding->link : "its link",
		one ? "s" : "", one ? "" : "down to ", finding->is, finding->mss, finding->should,
		cause_text((enum socket_cause)finding->cause));
}

static char *stall_text(const struct finding *finding)
{
	bool one = finding->count == 1;

	return sentence(
		"%u live TCP connection%s keep%s sending %s packets of %u bytes again and get%s "
		"nowhere, while small ones pass",
		finding->count, one ? "" : "s", one ? "s" : "", one ? "its" : "their", finding->is,
		one ? "s" : "");
}

char *words_kernel_finding_text(const struct finding *finding)
{
	if (finding->id == FINDING_CACHED_PMTU_STALE)
		return cache_text(finding);
	if (finding->id == FINDING_SOCKET_MSS_BELOW_PATH)
		return mss_text(finding);
	return stall_text(finding);
}

/* IPv4 forgets all or nothing; IPv6 forgets a single address too. */
static char *cache_advice(const struct finding *finding)
{
	char to[ADDRESS_TEXT_SIZE];
	const char *who = finding->locked
				  ? "; find who sends reports of such an MTU: they are wrong"
				  : "";
	unsigned lasts = finding->lasts_sec;

	if (finding->to.family == ADDRESS_IPV6) {
		struct address address = finding->to;

		address.zone = 0;
		return sentence(
			"\"ip -6 route flush cache %s\" makes it forget; by itself it does so in "
			"%u s%s",
			words_address(&address, to), lasts, who);
	}
	return sentence(
		"\"ip route flush cache\" makes it forget, for all of IPv4; by itself it does "
		"so in %u s%s",
		lasts, who);
}

static const char *cause_advice(enum socket_cause cause)
{
	switch (cause) {
	case SOCKET_CAUSE_CACHE:
		return "\"ip route flush cache\" (IPv6: \"ip -6 route flush cache\") makes it forget";
	case SOCKET_CAUSE_OWN:
		return "\"ip route get\" shows an advmss or mtu of the route, and programs may set "
		       "TCP_MAXSEG; a connection keeps what it was opened with: open it anew";
	case SOCKET_CAUSE_PROBED:
		return "large segments of it got lost once: open it anew; if it goes down again, look "
		       "for loss on the way";
	case SOCKET_CAUSE_PEER:
	case SOCKET_CAUSE_PEER_SMALL:
		return "look at the MTU of the peer's link and route, and for a firewall on the way "
		       "that lowers the MSS; a connection keeps what it was opened with: open it anew";
	case SOCKET_CAUSE_REWRITTEN:
		return "a firewall or router on the way rewrites the MSS (nft \"tcp option maxseg size "
		       "set\", iptables TCPMSS), or the peer's route has an advmss; a connection keeps "
		       "what it was opened with: open it anew";
	}
	return "";
}

char *words_kernel_finding_advice(const struct finding *finding)
{
	if (finding->id == FINDING_CACHED_PMTU_STALE)
		return cache_advice(finding);
	if (finding->id == FINDING_SOCKET_MSS_BELOW_PATH)
		return strdup(cause_advice((enum socket_cause)finding->cause));
	return strdup("the verdict tells which size passes; where that is the full one, other flows "
		      "take another way: Flows=8 asks them too");
}
