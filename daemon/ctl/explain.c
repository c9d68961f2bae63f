/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frame of an explanation, and its evidence: what was measured, as measured. What follows from
 * it is in explain_diagnosis.c.
 */
#include "explain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../face/cells.h"
#include "../face/words.h"

#define TIME_STAMPS 12 /* RFC 7323 section 3.2, padded */

void explain_say(struct explaining *explaining, struct json_object *list, const char *format, ...)
{
	struct json_object *text = NULL;
	va_list arguments;
	char *words = NULL;

	va_start(arguments, format);
	if (vasprintf(&words, format, arguments) < 0)
		words = NULL;
	va_end(arguments);
	if (words)
		text = json_object_new_string(words);
	free(words);
	if (document_append(list, text) < 0)
		explaining->failed = true;
}

uint32_t explain_payload(uint32_t mtu, bool ipv6)
{
	uint32_t headers = ipv6 ? 48 : 28;

	return mtu > headers ? mtu - headers : 0;
}

uint32_t explain_mss(uint32_t mtu, bool ipv6)
{
	uint32_t headers = ipv6 ? 60 : 40;

	return mtu > headers ? mtu - headers : 0;
}

uint32_t explain_mss_mtu(uint32_t mss, bool ipv6)
{
	return mss + (ipv6 ? 60 : 40) + TIME_STAMPS;
}

const char *explain_size(uint32_t mtu, bool ipv6, char buffer[static EXPLAIN_SIZE])
{
	snprintf(buffer, EXPLAIN_SIZE, "%u bytes (ping payload %u, TCP MSS %u)", mtu,
		 explain_payload(mtu, ipv6), explain_mss(mtu, ipv6));
	return buffer;
}

const char *explain_hop(const struct explaining *explaining)
{
	const char *locus = document_text(explaining->path, "Locus");

	if (strncmp(locus, "after ", 6) == 0)
		return locus + 6;
	return strncmp(locus, "at ", 3) == 0 ? locus + 3 : "";
}

bool explain_is_return(const struct explaining *explaining)
{
	return strcmp(document_text(explaining->path, "Direction"),
		      words_direction(DIRECTION_RETURN)) == 0;
}

static uint32_t number(const struct explaining *explaining, const char *key)
{
	return (uint32_t)document_number(explaining->path, key);
}

static const char *text(const struct explaining *explaining, const char *key)
{
	return document_text(explaining->path, key);
}

/* --- evidence --- */

static void evidence_asked(struct explaining *explaining)
{
	char since[CELL_SIZE], trip[64] = "", flows[64] = "";
	uint64_t rtt = document_number(explaining->path, "RTTUSec");
	uint32_t sent = number(explaining, "ProbesSent"), count = number(explaining, "Flows");
	uint32_t rounds = number(explaining, "Rounds");

	cell_since(since, document_number(explaining->path, "LastRoundUSec"));
	if (rtt)
		snprintf(trip, sizeof(trip), "; a round trip takes %u.%03u ms",
			 (unsigned)(rtt / 1000), (unsigned)(rtt % 1000));
	if (count > 1)
		snprintf(flows, sizeof(flows), " from %u source ports (%u bad)", count,
			 number(explaining, "FlowsFaulty"));
	if (sent == 0)
		explain_say(explaining, explaining->evidence, "Nothing was sent to it yet.");
	else
		explain_say(explaining, explaining->evidence,
			    "Asked by %s%s: %u probe%s in %u round%s, %u unanswered, the last %s "
			    "ago%s.",
			    text(explaining, "Method"), flows, sent, sent == 1 ? "" : "s", rounds,
			    rounds == 1 ? "" : "s", number(explaining, "ProbesLost"),
			    since[0] ? since : "0s", trip);
}

static void evidence_black_hole(struct explaining *explaining)
{
	char size[EXPLAIN_SIZE];

	explain_size(explaining->size, explaining->ipv6, size);
	if (explain_is_return(explaining))
		explain_say(explaining, explaining->evidence,
			    "%u bytes reached it, and answers of %s came back; of %u bytes, and of "
			    "%u, none did, though small ones sent beside them did.",
			    number(explaining, "PathMTU"), size, explaining->size + 1,
			    explaining->expected);
	else
		explain_say(
			explaining, explaining->evidence,
			"Packets of %s were answered; of %u bytes, and of %u, none were, though "
			"small ones sent beside them were.",
			size, explaining->size + 1, explaining->expected);
	if (!text(explaining, "Router")[0])
		explain_say(explaining, explaining->evidence,
			    "No router reported that they were too big.");
	else
		explain_say(explaining, explaining->evidence,
			    "%s reported a packet too big, but what it says does not pass either.",
			    text(explaining, "Router"));
	if (strcmp(text(explaining, "Direction"), words_direction(DIRECTION_UNKNOWN)) == 0)
		explain_say(explaining, explaining->evidence,
			    "Which way loses them is not known: an echo comes back as large as it "
			    "went, and nothing else tells.");
	explain_say(explaining, explaining->evidence, "%s",
		    number(explaining, "Confirmed")
			    ? "It is borne out: another method, peer or hop fails at the same size."
			    : "Only one method says so; no other one that could bear it out is "
			      "answered.");
}

static void evidence_reduced(struct explaining *explaining)
{
	char size[EXPLAIN_SIZE];
	const char *router = text(explaining, "Router");

	explain_size(explaining->size, explaining->ipv6, size);
	if (router[0])
		explain_say(explaining, explaining->evidence,
			    "%s reported that %u bytes are too big; %s were answered.", router,
			    explaining->expected, size);
	else
		explain_say(explaining, explaining->evidence,
			    "%s pass and no more, and this host knows: the kernel uses no more.",
			    size);
}

static void evidence_partial(struct explaining *explaining)
{
	char size[EXPLAIN_SIZE];

	explain_say(explaining, explaining->evidence,
		    "Of %u source ports %u lose packets above %s; the others carry %u.",
		    number(explaining, "Flows"), number(explaining, "FlowsFaulty"),
		    explain_size(explaining->size, explaining->ipv6, size), explaining->expected);
}

static void evidence_passes(struct explaining *explaining, const char *also)
{
	char size[EXPLAIN_SIZE];

	explain_say(explaining, explaining->evidence, "Packets of %s were answered%s.",
		    explain_size(explaining->size, explaining->ipv6, size), also);
}

static void evidence_verdict(struct explaining *explaining)
{
	const char *reason = text(explaining, "Reason");

	if (explaining->verdict == VERDICT_UNKNOWN || explaining->size == 0) {
		if (reason[0])
			explain_say(explaining, explaining->evidence, "It is so that %s.", reason);
		return;
	}
	if (explaining->outdated) {
		evidence_passes(explaining, "");
		return;
	}
	switch (explaining->verdict) {
	case VERDICT_BLACK_HOLE:
		evidence_black_hole(explaining);
		return;
	case VERDICT_REDUCED:
		evidence_reduced(explaining);
		return;
	case VERDICT_PARTIAL:
		evidence_partial(explaining);
		return;
	case VERDICT_LOSSY:
		evidence_passes(explaining, ", but are lost clearly more often than small ones");
		return;
	case VERDICT_UNKNOWN:
	case VERDICT_CONSISTENT:
	case VERDICT_MISCONFIGURED:
	case VERDICT_UNREACHABLE:
	case VERDICT_UNVERIFIABLE:
		evidence_passes(explaining, "");
	}
	if (reason[0])
		explain_say(explaining, explaining->evidence, "It is so that %s.", reason);
}

/* What the kernel would send, which is more than what passes where nobody told it. */
static void evidence_host(struct explaining *explaining)
{
	uint32_t kernel = number(explaining, "KernelMTU"), link = number(explaining, "LinkMTU");
	uint32_t mss = number(explaining, "SocketMSS"), clamp = number(explaining, "ClampMTU");
	char size[EXPLAIN_SIZE];

	if (kernel)
		explain_say(explaining, explaining->evidence,
			    "The kernel sends packets of up to %s to it; link %s has an MTU of %u.",
			    explain_size(kernel, explaining->ipv6, size),
			    text(explaining, "Interface"), link);
	else if (link)
		explain_say(explaining, explaining->evidence, "Link %s has an MTU of %u.",
			    text(explaining, "Interface"), link);
	if (mss)
		explain_say(explaining, explaining->evidence,
			    "Live TCP connections to it use segments of %u bytes, in packets of up "
			    "to %u.",
			    mss, explain_mss_mtu(mss, explaining->ipv6));
	if (clamp)
		explain_say(explaining, explaining->evidence,
			    "mtuwatchd holds packets to it at %u bytes, by a %s clamp.", clamp,
			    text(explaining, "ClampKind"));
	if (text(explaining, "ClampRefusal")[0])
		explain_say(explaining, explaining->evidence, "It is not clamped: %s.",
			    text(explaining, "ClampRefusal"));
}

static void evidence_findings(struct explaining *explaining)
{
	for (unsigned i = 0; i < document_count(explaining->path, "Findings"); i++) {
		struct json_object *finding = document_at(explaining->path, "Findings", i);

		explain_say(explaining, explaining->evidence, "Found beside it: %s.",
			    document_text(finding, "Text"));
	}
	for (unsigned i = 0; explaining->layers && i < explaining->layers->count; i++) {
		struct json_object *link = document_named(explaining->document, "Links",
							  explaining->layers->list[i].name);

		for (unsigned j = 0; j < document_count(link, "Findings"); j++)
			explain_say(explaining, explaining->evidence, "Found on this host: %s.",
				    document_text(document_at(link, "Findings", j), "Text"));
	}
}

void explain_evidence(struct explaining *explaining)
{
	evidence_asked(explaining);
	evidence_verdict(explaining);
	evidence_host(explaining);
	evidence_findings(explaining);
}

/* --- the frame --- */

static int copy(struct json_object *to, struct json_object *from, const char *key)
{
	return document_put(to, key, json_object_new_string(document_text(from, key)));
}

/* In the order in which they are read. */
static int lists_add(struct json_object *all, struct explaining *explaining)
{
	struct json_object **const lists[] = {&explaining->evidence, &explaining->steps,
					      &explaining->diagnosis, &explaining->actions};
	static const char *const keys[] = {"Evidence", "Steps", "Diagnosis", "Actions"};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		*lists[i] = json_object_new_array();
		if (document_put(all, keys[i], *lists[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool verdict_is_shortfall(enum verdict verdict)
{
	return verdict == VERDICT_BLACK_HOLE || verdict == VERDICT_REDUCED ||
	       verdict == VERDICT_PARTIAL;
}

struct json_object *explain_path(const struct explaining *facts)
{
	static const char *const keys[] = {"Address", "Interface", "Verdict", "Severity"};
	struct explaining explaining = *facts;
	_drop_ struct json_object *all = json_object_new_object();

	explaining.verdict = document_verdict(facts->path);
	explaining.size = document_size(facts->path);
	explaining.expected = (uint32_t)document_number(facts->path, "ExpectedMTU");
	explaining.ipv6 = strchr(document_text(facts->path, "Address"), ':') != NULL;
	explaining.outdated = verdict_is_shortfall(explaining.verdict) && explaining.expected > 0 &&
			      explaining.expected <= explaining.size;
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (copy(all, facts->path, keys[i]) < 0)
			return NULL;
	if (lists_add(all, &explaining) < 0)
		return NULL;
	explain_evidence(&explaining);
	explain_steps(&explaining);
	explain_diagnosis(&explaining);
	explain_actions(&explaining);
	return explaining.failed ? NULL : json_object_get(all);
}
