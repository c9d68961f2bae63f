/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What to do: where to look and how to prove it, what heals until then, and the lines that make
 * this host's own MTU last. The first is the daemon's own advice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../face/words.h"
#include "explain.h"

#define UNTIL_THEN "; until then: "

/* Takes `action` over. */
static struct json_object *add(struct explaining *explaining, struct json_object *action)
{
	if (document_append(explaining->actions, action) == 0)
		return action;
	explaining->failed = true;
	return NULL;
}

static bool is_said(const struct explaining *explaining, const char *text)
{
	size_t count = json_object_array_length(explaining->actions);

	for (size_t i = 0; i < count; i++)
		if (strcmp(document_text(json_object_array_get_idx(explaining->actions, i), "Text"),
			   text) == 0)
			return true;
	return false;
}

/* As a sentence of its own. */
static void add_text(struct explaining *explaining, const char *text, size_t length)
{
	char words[1024];
	bool small;

	snprintf(words, sizeof(words), "%.*s.", (int)length, text);
	/* what begins with a command stays as it is typed */
	small = strncmp(words, "ip ", 3) != 0;
	if (small && words[0] >= 'a' && words[0] <= 'z')
		words[0] = (char)(words[0] - 'a' + 'A');
	if (length > 0 && !is_said(explaining, words))
		add(explaining, action_new("%s", words));
}

/* Such a route hides what the network carries: its verdict is another one. */
static void add_afterwards(struct explaining *explaining, const char *until)
{
	static const char replace[] = "route replace ";
	const char *at = strstr(until, replace);
	struct json_object *action;

	if (!at)
		return;
	action = add(explaining, action_new("While it is there the verdict is misconfigured, since it "
					    "is this host that sends no more. Afterwards:"));
	if (action && action_add(action, "Commands", "%.*sroute del %s", (int)(at - until), until,
				 at + sizeof(replace) - 1) < 0)
		explaining->failed = true;
}

/* A command, or what has been done already: "a clamp keeps packets to it at 1500 bytes". */
static void add_until(struct explaining *explaining, const char *until)
{
	struct json_object *action;

	if (strncmp(until, "ip ", 3) != 0) {
		add(explaining, action_new("Until that is done, %s.", until));
		return;
	}
	action = add(explaining, action_new("Until that is done, this heals new and stalled "
					    "connections to this peer and leaves all others alone. "
					    "It does not outlive a boot:"));
	if (action && action_add(action, "Commands", "%s", until) < 0)
		explaining->failed = true;
	add_afterwards(explaining, until);
	if (document_number(explaining->path, "Confirmed"))
		add(explaining, action_new("Clamp=route for this peer has mtuwatchd do that by "
					   "itself and take it back (mtuwatchd(8), CLAMPS)."));
}

static void add_advice(struct explaining *explaining, const char *advice)
{
	const char *until = strstr(advice, UNTIL_THEN);

	add_text(explaining, advice, until ? (size_t)(until - advice) : strlen(advice));
	if (until)
		add_until(explaining, until + strlen(UNTIL_THEN));
}

/* --- the proof --- */

static bool ping_can_tell(const struct explaining *explaining)
{
	const char *method = document_text(explaining->path, "Method");

	return strcmp(method, "icmp") == 0 || strcmp(method, "auto") == 0 ||
	       strcmp(method, "responder") == 0;
}

static int ping_add(struct explaining *explaining, struct json_object *action, uint32_t size,
		    const char *remark)
{
	return action_add(action, "Commands", "ping -M do -c 3 -s %u %s  # %u bytes%s",
			  explain_payload(size, explaining->ipv6),
			  document_text(explaining->path, "Address"), size, remark);
}

static void add_probe(struct explaining *explaining)
{
	struct json_object *action =
		add(explaining, action_new("The proof, by what the peer answers:"));
	const char *method = document_text(explaining->path, "Method");

	if (action &&
	    action_add(action, "Commands",
		       "mtuwatchctl probe --method=%s --interface=%s --expect=%u %s", method,
		       document_text(explaining->path, "Interface"), explaining->expected,
		       document_text(explaining->path, "Address")) < 0)
		explaining->failed = true;
}

/* Where the kernel has learned of it, its own answer to a larger ping would prove nothing. */
static void add_proof(struct explaining *explaining)
{
	uint32_t size = explaining->size;
	uint32_t kernel = (uint32_t)document_number(explaining->path, "KernelMTU");
	struct json_object *action;

	if (!ping_can_tell(explaining)) {
		add_probe(explaining);
		return;
	}
	action = add(explaining, action_new("The proof:"));
	if (!action)
		return;
	if (ping_add(explaining, action, size, ": answered") < 0 ||
	    (kernel > size && ping_add(explaining, action, size + 1, ": not answered") < 0))
		explaining->failed = true;
}

/* --- this host's links --- */

/* Raised from below, since nothing can be larger than what it lies on. */
static void add_raise(struct explaining *explaining)
{
	const struct layers *layers = explaining->layers;

	for (unsigned i = 0; i < layers->count; i++) {
		const struct device *device = &layers->list[i];
		uint32_t mtu = remedy_mtu(device, explaining->expected);

		if (device->mtu >= mtu || device->follows)
			continue;
		if (device->most && device->most < mtu)
			add(explaining, action_new("The driver of %s takes no more than %u: expect "
						   "no more than that here (ExpectMTU=%u).",
						   device->name, device->most, device->most));
		else
			add(explaining, remedy_device(device, mtu));
	}
}

static bool layers_is_smaller(const struct explaining *explaining)
{
	const struct layers *layers = explaining->layers;

	for (unsigned i = 0; layers && i < layers->count; i++)
		if (layers->list[i].mtu < remedy_mtu(&layers->list[i], explaining->expected))
			return true;
	return false;
}

static const struct device *top_device(const struct explaining *explaining)
{
	const struct layers *layers = explaining->layers;

	return layers && layers->count > 0 ? &layers->list[layers->count - 1] : NULL;
}

/* IPv6 leaves a link whose MTU is below 1280 (RFC 8200 section 5), and its addresses go. */
static void add_lower(struct explaining *explaining)
{
	const struct device *device = top_device(explaining);

	if (!device || explaining->size < IPV6_SMALLEST_MTU || device->mtu <= explaining->size)
		return;
	add(explaining,
	    action_new("Where the network is meant to carry no more than %u bytes, make "
		       "that the MTU of %s, which goes for all that it leads to:",
		       explaining->size, device->name));
	add(explaining, remedy_device(device, explaining->size));
}

static void actions_misconfigured(struct explaining *explaining)
{
	if (layers_is_smaller(explaining))
		add_raise(explaining);
	else
		add_advice(explaining, document_text(explaining->path, "Advice"));
	if (!explaining->layers)
		add(explaining, action_new("\"mtuwatchctl explain %s\" on that host itself tells "
					   "what sets the link up, and the lines to write.",
					   document_text(explaining->peer, "Name")));
}

static void actions_network(struct explaining *explaining)
{
	if (explaining->outdated)
		return;
	add_advice(explaining, document_text(explaining->path, "Advice"));
	if (explaining->size == 0)
		return;
	if (explaining->verdict != VERDICT_PARTIAL)
		add_proof(explaining);
	else
		add_probe(explaining);
	if (explaining->verdict == VERDICT_BLACK_HOLE &&
	    document_number(explaining->path, "Confirmed") &&
	    document_number(explaining->path, "ClampMTU") == 0)
		add_lower(explaining);
}

/* --- findings --- */

static void actions_findings(struct explaining *explaining)
{
	const struct layers *layers = explaining->layers;

	for (unsigned i = 0; i < document_count(explaining->path, "Findings"); i++) {
		const char *advice =
			document_text(document_at(explaining->path, "Findings", i), "Advice");

		if (explaining->verdict != VERDICT_MISCONFIGURED)
			add_text(explaining, advice, strlen(advice));
	}
	for (unsigned i = 0; layers && i < layers->count; i++) {
		struct json_object *link =
			document_named(explaining->document, "Links", layers->list[i].name);

		for (unsigned j = 0; j < document_count(link, "Findings"); j++) {
			const char *advice =
				document_text(document_at(link, "Findings", j), "Advice");

			if (!layers_is_smaller(explaining) ||
			    explaining->verdict != VERDICT_MISCONFIGURED)
				add_text(explaining, advice, strlen(advice));
		}
	}
}

void explain_actions(struct explaining *explaining)
{
	switch (explaining->verdict) {
	case VERDICT_BLACK_HOLE:
	case VERDICT_REDUCED:
	case VERDICT_PARTIAL:
		actions_network(explaining);
		break;
	case VERDICT_MISCONFIGURED:
		actions_misconfigured(explaining);
		break;
	case VERDICT_UNKNOWN:
	case VERDICT_CONSISTENT:
	case VERDICT_LOSSY:
	case VERDICT_UNREACHABLE:
	case VERDICT_UNVERIFIABLE:
		add_advice(explaining, document_text(explaining->path, "Advice"));
		break;
	}
	actions_findings(explaining);
}
