/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The way from a socket to the peer, step by step, with the MTU at each and the narrow place. A
 * step whose MTU nobody knows says 0.
 */
#include <stdio.h>
#include <string.h>

#include "../face/words.h"
#include "explain.h"

static uint32_t number(const struct explaining *explaining, const char *key)
{
	return (uint32_t)document_number(explaining->path, key);
}

static struct json_object *step_new(const char *name, const char *what)
{
	_drop_ struct json_object *step = json_object_new_object();

	if (document_put(step, "Name", json_object_new_string(name)) < 0 ||
	    document_put(step, "What", json_object_new_string(what)) < 0)
		return NULL;
	return json_object_get(step);
}

static void step_add(struct explaining *explaining, const char *name, const char *what,
		     uint32_t mtu)
{
	uint32_t payload = explain_payload(mtu, explaining->ipv6);
	struct json_object *step = step_new(name, what);
	uint32_t mss = explain_mss(mtu, explaining->ipv6);

	if (document_put(step, "MTU", json_object_new_int64(mtu)) < 0 ||
	    document_put(step, "ICMPPayload", json_object_new_int64(payload)) < 0 ||
	    document_put(step, "MSS", json_object_new_int64(mss)) < 0 ||
	    document_put(step, "Narrow", json_object_new_boolean(false)) < 0) {
		json_object_put(step);
		step = NULL;
	}
	if (document_append(explaining->steps, step) < 0)
		explaining->failed = true;
}

/* --- on this host --- */

static void steps_links(struct explaining *explaining)
{
	const struct layers *layers = explaining->layers;
	char what[64];

	for (unsigned i = layers ? layers->count : 0; i > 0; i--) {
		const struct device *device = &layers->list[i - 1];

		snprintf(what, sizeof(what), "%s%slink", device->kind, device->kind[0] ? " " : "");
		step_add(explaining, device->name, what, device->mtu);
	}
	if (!layers || layers->count == 0)
		step_add(explaining, document_text(explaining->path, "Interface"), "link",
			 number(explaining, "LinkMTU"));
}

static void steps_host(struct explaining *explaining)
{
	uint32_t mss = number(explaining, "SocketMSS"), kernel = number(explaining, "KernelMTU");

	if (mss)
		step_add(explaining, "connections", "live TCP",
			 explain_mss_mtu(mss, explaining->ipv6));
	if (kernel)
		step_add(explaining, "route", "what the kernel uses", kernel);
	if (document_text(explaining->path, "Interface")[0])
		steps_links(explaining);
}

/* --- beyond it --- */

static bool is_network_fault(enum verdict verdict)
{
	return verdict == VERDICT_BLACK_HOLE || verdict == VERDICT_REDUCED ||
	       verdict == VERDICT_PARTIAL;
}

static void steps_fault(struct explaining *explaining, uint32_t mtu)
{
	const char *locus = document_text(explaining->path, "Locus");
	const char *hop = explain_hop(explaining);

	if (strcmp(locus, "on-link") == 0)
		step_add(explaining, "switch or tunnel", "no router between", mtu);
	else if (strncmp(locus, "after ", 6) == 0) {
		step_add(explaining, hop, "router", explaining->expected);
		step_add(explaining, "beyond it", "network", mtu);
	} else if (hop[0]) {
		step_add(explaining, hop, "router", mtu);
	} else {
		step_add(explaining, "network", "where is not known", mtu);
	}
}

static void steps_network(struct explaining *explaining)
{
	uint32_t there = number(explaining, "PathMTU"), back = number(explaining, "ReturnMTU");
	bool fault = is_network_fault(explaining->verdict) && !explain_is_return(explaining) &&
		     !explaining->outdated;

	if (fault)
		steps_fault(explaining, there);
	step_add(explaining, document_text(explaining->peer, "Name"), "peer", there);
	if (back)
		step_add(explaining, "way back", "from the peer", back);
	else if (explain_is_return(explaining) && explaining->size)
		step_add(explaining, "way back", "from the peer", explaining->size);
}

/* --- the narrow place --- */

static bool step_is(struct json_object *step, const char *key, const char *value)
{
	return strcmp(document_text(step, key), value) == 0;
}

static bool step_is_link(struct json_object *step)
{
	const char *what = document_text(step, "What"), *at = strrchr(what, ' ');

	return strcmp(at ? at + 1 : what, "link") == 0;
}

/* A clamp made it as small as the fault that it is for. */
static bool is_clamped_link(const struct explaining *explaining, struct json_object *step)
{
	return strcmp(document_text(explaining->path, "ClampKind"), "link") == 0 &&
	       step_is_link(step);
}

/* The first of the smallest ones below what is expected. What only follows from it comes before
 * it where connections or the route have learned of it. */
static struct json_object *step_narrowest(const struct explaining *explaining)
{
	struct json_object *narrow = NULL;
	unsigned count = (unsigned)json_object_array_length(explaining->steps);

	for (unsigned i = 0; i < count; i++) {
		struct json_object *step = json_object_array_get_idx(explaining->steps, i);
		uint32_t mtu = (uint32_t)document_number(step, "MTU");
		bool follows = step_is(step, "What", "live TCP") ||
			       is_clamped_link(explaining, step) ||
			       (is_network_fault(explaining->verdict) &&
				step_is(step, "What", "what the kernel uses"));

		if (mtu == 0 || mtu >= explaining->expected || follows)
			continue;
		if (!narrow || mtu < document_number(narrow, "MTU") ||
		    /* a route is as narrow as the link it leaves by */
		    (mtu == document_number(narrow, "MTU") && step_is_link(step) &&
		     step_is(narrow, "What", "what the kernel uses")))
			narrow = step;
	}
	return narrow;
}

void explain_steps(struct explaining *explaining)
{
	struct json_object *narrow;

	steps_host(explaining);
	steps_network(explaining);
	narrow = step_narrowest(explaining);
	if (narrow && document_put(narrow, "Narrow", json_object_new_boolean(true)) < 0)
		explaining->failed = true;
}
