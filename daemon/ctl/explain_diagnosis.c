/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the evidence means, in two sentences. Adds no fact to it.
 */
#include <stdio.h>
#include <string.h>

#include "../face/words.h"
#include "explain.h"

static uint32_t number(const struct explaining *explaining, const char *key)
{
	return (uint32_t)document_number(explaining->path, key);
}

static const char *text(const struct explaining *explaining, const char *key)
{
	return document_text(explaining->path, key);
}

static const char *place(const struct explaining *explaining, char buffer[static 96])
{
	const char *locus = text(explaining, "Locus");

	if (strcmp(locus, "on-link") == 0)
		return "between this host and the peer, where no router is,";
	if (strncmp(locus, "after ", 6) == 0) {
		snprintf(buffer, 96, "behind %s, the last router that full-size packets reach,",
			 locus + 6);
		return buffer;
	}
	if (strncmp(locus, "at ", 3) == 0) {
		snprintf(buffer, 96, "at router %s", locus + 3);
		return buffer;
	}
	return explain_is_return(explaining) ? "on the way back" : "on the way";
}

static void diagnose_black_hole(struct explaining *explaining)
{
	char where[96];

	explain_say(explaining, explaining->diagnosis,
		    "Something %s takes at most %u bytes and drops what is larger without a word.",
		    place(explaining, where), explaining->size);
	if (!number(explaining, "Confirmed"))
		explain_say(explaining, explaining->diagnosis,
			    "A firewall that drops nothing but large pings would look the same, so "
			    "this is no proof that transfers stall.");
	else if (explain_is_return(explaining))
		explain_say(
			explaining, explaining->diagnosis,
			"What this host sends arrives, so writes and pings work; reads stall as "
			"soon as the peer answers with full-size packets.");
	else
		explain_say(explaining, explaining->diagnosis,
			    "Small packets pass, so logins and pings work; transfers stall as soon "
			    "as they send full-size packets.");
}

static void diagnose_reduced(struct explaining *explaining)
{
	char where[96];

	explain_say(explaining, explaining->diagnosis,
		    "A link %s carries %u bytes and no more, and the sender is told so: path MTU "
		    "discovery works.",
		    place(explaining, where), explaining->size);
	explain_say(explaining, explaining->diagnosis,
		    explaining->expected > explaining->size &&
				    document_severity(explaining->path) >= SEVERITY_WARNING
			    ? "Nothing stalls, but the configuration expects %u."
			    : "Nothing stalls, and nothing has to be done where %u is not needed.",
		    explaining->expected);
}

static void diagnose_both(struct explaining *explaining, const char *first, const char *second)
{
	explain_say(explaining, explaining->diagnosis, "%s", first);
	explain_say(explaining, explaining->diagnosis, "%s", second);
}

static void diagnose_misconfigured(struct explaining *explaining)
{
	explain_say(explaining, explaining->diagnosis,
		    "This host itself does not send packets of %u bytes to it: %s.",
		    explaining->expected, text(explaining, "Reason"));
	explain_say(explaining, explaining->diagnosis,
		    "The network beyond was not asked for more than this host can send.");
}

static void diagnose_outdated(struct explaining *explaining)
{
	explain_say(explaining, explaining->diagnosis,
		    "No more than %u bytes are expected to pass by now, and as many do.",
		    explaining->expected);
	explain_say(explaining, explaining->diagnosis,
		    "The verdict is from before, and changes after RecoverAfter= good rounds.");
}

void explain_diagnosis(struct explaining *explaining)
{
	if (explaining->outdated) {
		diagnose_outdated(explaining);
		return;
	}
	switch (explaining->verdict) {
	case VERDICT_BLACK_HOLE:
		diagnose_black_hole(explaining);
		return;
	case VERDICT_REDUCED:
		diagnose_reduced(explaining);
		return;
	case VERDICT_PARTIAL:
		diagnose_both(explaining,
			      "One of several parallel ways, a bond's member or an equal-cost "
			      "route, drops full-size packets without a word.",
			      "Some connections are fine and others stall, by their port numbers, "
			      "so that it looks like chance.");
		return;
	case VERDICT_LOSSY:
		diagnose_both(
			explaining, "The full size fits everywhere, so this is no limit of size.",
			"Bit errors hit long packets more often than short ones, and a "
			"policer counts bytes: large transfers are slow rather than stalled.");
		return;
	case VERDICT_MISCONFIGURED:
		diagnose_misconfigured(explaining);
		return;
	case VERDICT_UNREACHABLE:
		diagnose_both(explaining, "Nothing comes back from it, not even for small packets.",
			      "That is no matter of size, and says nothing about the MTU.");
		return;
	case VERDICT_UNVERIFIABLE:
		diagnose_both(explaining, "Nothing that it answers tells a size.",
			      "So neither a fault nor its absence is proven.");
		return;
	case VERDICT_CONSISTENT:
		diagnose_both(explaining, "The expected size passes, on every flow that was asked.",
			      "There is nothing to mend on this path.");
		return;
	case VERDICT_UNKNOWN:
		diagnose_both(explaining, "No round has come to an end yet.",
			      "Ask again in a moment.");
		return;
	}
}
