/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a link's kind means: which kinds there are, and what a tunnel costs. Knows nothing of other
 * links.
 */
#include "facts.h"

#include <string.h>

#include "text.h"

enum link_type link_type(const char *kind)
{
	static const struct {
		const char *kind;
		enum link_type type;
	} kinds[] = {
		{"veth", LINK_VETH},	       {"bridge", LINK_BRIDGE}, {"bond", LINK_BOND},
		{"team", LINK_TEAM},	       {"vlan", LINK_VLAN},	{"macvlan", LINK_MACVLAN},
		{"macvtap", LINK_MACVLAN},     {"ipvlan", LINK_IPVLAN}, {"ipvtap", LINK_IPVLAN},
		{"vxlan", LINK_VXLAN},	       {"geneve", LINK_GENEVE}, {"gre", LINK_GRE},
		{"ip6gre", LINK_GRE},	       {"gretap", LINK_GRETAP}, {"ip6gretap", LINK_GRETAP},
		{"ipip", LINK_IPIP},	       {"sit", LINK_SIT},	{"ip6tnl", LINK_IP6TNL},
		{"wireguard", LINK_WIREGUARD},
	};

	for (unsigned i = 0; kind[0] && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].type;
	return LINK_OTHER;
}

bool link_type_is_tunnel(enum link_type type)
{
	switch (type) {
	case LINK_VXLAN:
	case LINK_GENEVE:
	case LINK_GRE:
	case LINK_GRETAP:
	case LINK_IPIP:
	case LINK_SIT:
	case LINK_IP6TNL:
	case LINK_WIREGUARD:
		return true;
	case LINK_OTHER:
	case LINK_VETH:
	case LINK_BRIDGE:
	case LINK_BOND:
	case LINK_TEAM:
	case LINK_VLAN:
	case LINK_MACVLAN:
	case LINK_IPVLAN:
		return false;
	}
	return false;
}

#define ETHERNET 14U
#define UDP 8U

/* Of what comes after the outer IP header and what IPv6 puts behind it. */
static uint32_t overhead_inside(const struct link *link)
{
	uint32_t ethernet = link->tunnel & WRAP_NO_ETHERNET ? 0 : ETHERNET;
	/* RFC 2784 section 2.1, RFC 2890 section 2: four bytes each */
	uint32_t gre = 4 + (link->tunnel & WRAP_KEY ? 4 : 0) +
		       (link->tunnel & WRAP_CHECKSUM ? 4 : 0) +
		       (link->tunnel & WRAP_SEQUENCE ? 4 : 0);

	switch ((enum link_type)link->type) {
	case LINK_VXLAN:  /* RFC 7348 section 5 */
	case LINK_GENEVE: /* RFC 8926 section 3.4; its options come with the packets */
		return UDP + 8 + ethernet;
	case LINK_GRE:
		return gre;
	case LINK_GRETAP:
		return gre + ETHERNET;
	case LINK_WIREGUARD: /* header 16, authentication 16 */
		return UDP + 32;
	case LINK_IPIP:
	case LINK_SIT:
	case LINK_IP6TNL:
	case LINK_OTHER:
	case LINK_VETH:
	case LINK_BRIDGE:
	case LINK_BOND:
	case LINK_TEAM:
	case LINK_VLAN:
	case LINK_MACVLAN:
	case LINK_IPVLAN:
		return 0;
	}
	return 0;
}

uint32_t link_overhead(const struct link *link)
{
	uint32_t overhead = link->tunnel & WRAP_IPV6 ? 40 : 20;

	if (!link_type_is_tunnel(link->type))
		return 0;
	overhead += overhead_inside(link);
	if (link->tunnel & WRAP_ENCAP_LIMIT)
		overhead += 8;
	if (link->tunnel & WRAP_FOU)
		overhead += UDP;
	if (link->tunnel & WRAP_GUE)
		overhead += UDP + 4;
	return overhead;
}

bool link_equal(const struct link *a, const struct link *b)
{
	return a->index == b->index && a->mtu == b->mtu && a->ipv6_mtu == b->ipv6_mtu &&
	       a->min_mtu == b->min_mtu && a->max_mtu == b->max_mtu && a->parent == b->parent &&
	       a->master == b->master && a->pair == b->pair && a->tunnel == b->tunnel &&
	       a->type == b->type && a->ipv6_origin == b->ipv6_origin && a->up == b->up &&
	       a->carrier == b->carrier && a->loopback == b->loopback &&
	       a->foreign == b->foreign && address_equal(&a->local, &b->local) &&
	       address_equal(&a->remote, &b->remote) && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->kind, b->kind) == 0;
}

/* Nor what a shell would obey: advice is a command with the name in it, and is pasted by root. */
static bool is_harmless(uint32_t character)
{
	static const char obeyed[] = ";&|<>()$`\\\"'";

	for (unsigned i = 0; i < sizeof(obeyed) - 1; i++)
		if (character == (uint32_t)obeyed[i])
			return false;
	return text_is_shown(character);
}

void link_name_clean(char name[static LINK_NAME_SIZE])
{
	size_t length = strnlen(name, LINK_NAME_SIZE - 1), step;
	uint32_t character;

	for (size_t i = 0; i < length; i += step) {
		const uint8_t *at = (const uint8_t *)name + i;

		step = text_character(at, length - i, &character);
		if (step > 0 && is_harmless(character))
			continue;
		name[i] = '?';
		step = 1;
	}
}
