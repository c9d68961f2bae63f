/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What must fit together once everything was read, across keys and files; then the drafts become
 * the configuration. Repairs nothing: what does not fit is complained about.
 */
#include "config_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check_daemon(struct reading *reading)
{
	const struct draft *daemon = reading->daemon;
	const struct config *config = reading->config;

	if (config->defaults.interval_usec < config->defaults.timeout_usec)
		complain(
			reading,
			draft_place(daemon, draft_has(daemon, "Interval") ? "Interval" : "Timeout"),
			"Interval= is below Timeout=: expected at least as much");
}

/* The [Daemon] values were looked at already: only what this peer says itself counts. */
static void check_times(struct reading *reading, const struct draft *draft)
{
	const struct peer_settings *settings = &draft->peer.settings;
	bool own_interval = draft_has(draft, "Interval");

	if (!own_interval && !draft_has(draft, "Timeout"))
		return;
	if (settings->interval_usec < settings->timeout_usec)
		complain(reading, draft_place(draft, own_interval ? "Interval" : "Timeout"),
			 "[Peer %s]: Interval= is below Timeout=: expected at least as much",
			 draft->name);
}

/* Two families are two paths: an address, the peer's or ours, is of one alone. */
static void check_both_families(struct reading *reading, const struct draft *draft)
{
	const struct config_peer *peer = &draft->peer;

	if (!peer->host)
		complain(reading, draft_place(draft, "Family"),
			 "[Peer %s]: Family=both: expected a host name in Address=, this is an "
			 "address of one family",
			 draft->name);
	if (peer->source.family)
		complain(reading, draft_place(draft, "Source"),
			 "[Peer %s]: Source= is %s: expected none with Family=both", draft->name,
			 peer->source.family == ADDRESS_IPV4 ? "IPv4" : "IPv6");
}

/* A host name takes the family of the source, so that it resolves to what can be sent to. */
static void check_families(struct reading *reading, struct draft *draft)
{
	struct config_peer *peer = &draft->peer;
	uint8_t family = peer->host ? peer->family : peer->address.family;

	if (peer->family_both) {
		check_both_families(reading, draft);
		return;
	}
	if (peer->family && family != peer->family)
		complain(reading, draft_place(draft, "Family"),
			 "[Peer %s]: Address= is %s: expected Family=any or the same", draft->name,
			 family == ADDRESS_IPV4 ? "IPv4" : "IPv6");
	if (!peer->source.family)
		return;
	if (family && family != peer->source.family)
		complain(reading, draft_place(draft, "Source"),
			 "[Peer %s]: Source= is %s: expected the family of the peer", draft->name,
			 peer->source.family == ADDRESS_IPV4 ? "IPv4" : "IPv6");
	else if (peer->host)
		peer->family = peer->source.family;
}

static bool clash(struct clash *ret, const char *key, const char *text)
{
	ret->key = key;
	snprintf(ret->text, sizeof(ret->text), "%s", text);
	return true;
}

bool peer_size_clash(const struct config_peer *peer, struct clash *ret)
{
	bool ipv6 = peer->address.family == ADDRESS_IPV6 || peer->family == ADDRESS_IPV6 ||
		    peer->family_both;

	/* RFC 8200 section 5: no IPv6 path is smaller */
	if (!ipv6 || !peer->settings.expect_mtu || peer->settings.expect_mtu >= IPV6_SMALLEST_MTU)
		return false;
	ret->key = "ExpectMTU";
	snprintf(ret->text, sizeof(ret->text), "ExpectMTU=%u: expected at least 1280 for IPv6",
		 peer->settings.expect_mtu);
	return true;
}

/* A zone of digits is an index: which name it has is not known here. */
static bool zone_differs(const char *zone, const char *interface)
{
	return strspn(zone, "0123456789") != strlen(zone) && strcmp(zone, interface) != 0;
}

/* RFC 4007 section 6: a link-local address is one of a single link, by which alone it is reached.
 */
bool peer_zone_clash(struct config_peer *peer, struct clash *ret)
{
	if (!address_is_link_local(&peer->address))
		return false;
	if (peer->interface_count > 1)
		return clash(ret, "Interface",
			     "the address is link-local: expected one Interface=");
	if (peer->interface_count == 0 && !peer->zone_link[0])
		return clash(ret, "Address",
			     "the address is link-local: expected %LINK behind it, or Interface=");
	if (!peer->zone_link[0])
		memcpy(peer->zone_link, peer->interfaces[0], LINK_NAME_SIZE);
	if (!peer->interface_count || !zone_differs(peer->zone_link, peer->interfaces[0]))
		return false;
	ret->key = "Address";
	snprintf(ret->text, sizeof(ret->text), "%%%s is not Interface=%s: expected the same link",
		 peer->zone_link, peer->interfaces[0]);
	return true;
}

static void complain_clash(struct reading *reading, const struct draft *draft,
			   const struct clash *clash)
{
	complain(reading, draft_place(draft, clash->key), "[Peer %s]: %s", draft->name, clash->text);
}

static void check_peer(struct reading *reading, struct draft *draft)
{
	bool present = draft->peer.host || draft->peer.address.family;
	struct clash clash;

	/* an Address= that was not understood has its complaint already */
	if (!present && !draft_has(draft, "Address"))
		complain(reading, draft->begin, "[Peer %s]: expected Address=, it is missing",
			 draft->name);
	check_times(reading, draft);
	if (!present)
		return;
	check_families(reading, draft);
	if (peer_size_clash(&draft->peer, &clash))
		complain_clash(reading, draft, &clash);
	if (peer_zone_clash(&draft->peer, &clash))
		complain_clash(reading, draft, &clash);
}

static int peer_move(struct reading *reading, struct draft *draft)
{
	struct config_peer *peer = &draft->peer;

	memcpy(peer->name, draft->name, sizeof(peer->name));
	peer->settings.clamp.own = draft_has(draft, "Clamp");
	peer->line = draft->begin.line;
	peer->file = strdup(reading->files[draft->begin.file - 1]);
	if (!peer->file)
		return -ENOMEM;
	reading->config->peers[reading->config->peer_count++] = *peer;
	*peer = (struct config_peer){0};
	return 0;
}

static int link_move(struct reading *reading, struct draft *draft)
{
	struct config_link *link = &draft->link;

	link->clamp_set = draft_has(draft, "Clamp");
	link->pattern = strdup(draft->name);
	if (!link->pattern)
		return -ENOMEM;
	reading->config->links[reading->config->link_count++] = *link;
	*link = (struct config_link){0};
	return 0;
}

static int peer_compare(const void *a, const void *b)
{
	return strcmp(((const struct config_peer *)a)->name, ((const struct config_peer *)b)->name);
}

static int drafts_move(struct reading *reading)
{
	struct config *config = reading->config;
	unsigned peers = 0;
	int r = 0;

	for (unsigned i = 0; i < reading->draft_count; i++)
		peers += reading->drafts[i]->kind == SECTION_PEER;
	config->peers = calloc(peers + 1, sizeof(*config->peers));
	config->links = calloc(reading->draft_count - peers + 1, sizeof(*config->links));
	if (!config->peers || !config->links)
		return -ENOMEM;
	for (unsigned i = 0; i < reading->draft_count && r == 0; i++)
		r = reading->drafts[i]->kind == SECTION_PEER
			    ? peer_move(reading, reading->drafts[i])
			    : link_move(reading, reading->drafts[i]);
	qsort(config->peers, config->peer_count, sizeof(*config->peers), peer_compare);
	return r;
}

int config_finish(struct reading *reading)
{
	check_daemon(reading);
	for (unsigned i = 0; i < reading->draft_count; i++)
		if (reading->drafts[i]->kind == SECTION_PEER) {
			draft_inherit(reading->drafts[i], reading->config);
			check_peer(reading, reading->drafts[i]);
		}
	if (reading->complaints.error)
		return reading->complaints.error;
	return drafts_move(reading);
}
