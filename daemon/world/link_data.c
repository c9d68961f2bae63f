/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bytes of IFLA_INFO_DATA to what a tunnel is made of. Believes no length; what
 * is short is taken for missing.
 */
#include "link_data.h"

#include <arpa/inet.h>
#include <limits.h>
#include <string.h>

#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/ip6_tunnel.h>
#include <netlink/attr.h>

#define ATTRIBUTES_MOST 64

static uint32_t number(struct nlattr *attribute, size_t size, uint32_t otherwise)
{
	uint32_t value32;
	uint16_t value16;

	if (attribute == NULL || nla_len(attribute) < (int)size)
		return otherwise;
	if (size == sizeof(uint8_t))
		return *(const uint8_t *)nla_data(attribute);
	if (size == sizeof(value16)) {
		memcpy(&value16, nla_data(attribute), sizeof(value16));
		return value16;
	}
	memcpy(&value32, nla_data(attribute), sizeof(value32));
	return value32;
}

/* The length tells the family. All zero is any; a group of hosts is no place to ask a route to. */
static struct address address_of(struct nlattr *attribute)
{
	static const uint8_t zero[16];
	struct address address = {0};
	int length = attribute == NULL ? 0 : nla_len(attribute);

	if (length != 4 && length != 16)
		return address;
	memcpy(address.bytes, nla_data(attribute), (size_t)length);
	if (memcmp(address.bytes, zero, sizeof(zero)) == 0)
		return address;
	address.family = length == 4 ? ADDRESS_IPV4 : ADDRESS_IPV6;
	return address;
}

static bool is_group(const struct address *address)
{
	return address->family == ADDRESS_IPV4 ? (address->bytes[0] & 0xf0) == 0xe0
					       : address->bytes[0] == 0xff;
}

static void ends_set(struct link *link, struct nlattr *local, struct nlattr *remote)
{
	struct address there = address_of(remote);

	link->local = address_of(local);
	if (there.family == ADDRESS_IPV6 || link->local.family == ADDRESS_IPV6)
		link->tunnel |= WRAP_IPV6;
	if (there.family == ADDRESS_NONE || is_group(&there))
		return;
	link->remote = there;
	if (address_is_link_local(&there))
		link->remote.zone = link->parent;
}

static void option(struct link *link, bool set, enum wrap which)
{
	if (set)
		link->tunnel |= (uint16_t)which;
}

static void parse_vxlan(struct nlattr *data[], struct link *link)
{
	struct nlattr *local = data[IFLA_VXLAN_LOCAL6], *remote = data[IFLA_VXLAN_GROUP6];

	/* it does not name what it stands on where others do */
	if (!link->foreign && link->parent == 0)
		link->parent = (int)(number(data[IFLA_VXLAN_LINK], sizeof(uint32_t), 0) & INT_MAX);
	ends_set(link, local != NULL ? local : data[IFLA_VXLAN_LOCAL],
		 remote != NULL ? remote : data[IFLA_VXLAN_GROUP]);
	option(link, data[IFLA_VXLAN_GPE] != NULL, WRAP_NO_ETHERNET);
	option(link, number(data[IFLA_VXLAN_COLLECT_METADATA], 1, 0) != 0, WRAP_EXTERNAL);
	/* IPv6 never takes apart what it carries for others */
	option(link,
	       number(data[IFLA_VXLAN_DF], 1, VXLAN_DF_UNSET) == VXLAN_DF_UNSET &&
		       !(link->tunnel & WRAP_IPV6),
	       WRAP_FRAGMENTS);
}

static void parse_geneve(struct nlattr *data[], struct link *link)
{
	struct nlattr *remote = data[IFLA_GENEVE_REMOTE6];

	ends_set(link, NULL, remote != NULL ? remote : data[IFLA_GENEVE_REMOTE]);
	option(link, data[IFLA_GENEVE_INNER_PROTO_INHERIT] != NULL, WRAP_NO_ETHERNET);
	option(link, data[IFLA_GENEVE_COLLECT_METADATA] != NULL, WRAP_EXTERNAL);
	option(link,
	       number(data[IFLA_GENEVE_DF], 1, GENEVE_DF_UNSET) == GENEVE_DF_UNSET &&
		       !(link->tunnel & WRAP_IPV6),
	       WRAP_FRAGMENTS);
}

static void option_encap(struct link *link, uint32_t type)
{
	option(link, type == TUNNEL_ENCAP_FOU, WRAP_FOU);
	option(link, type == TUNNEL_ENCAP_GUE, WRAP_GUE);
}

static void parse_gre(struct nlattr *data[], struct link *link)
{
	uint16_t flags = ntohs((uint16_t)number(data[IFLA_GRE_OFLAGS], sizeof(uint16_t), 0));
	bool ipv6 = strncmp(link->kind, "ip6", 3) == 0;
	bool ignored = (number(data[IFLA_GRE_FLAGS], sizeof(uint32_t), 0) &
			IP6_TNL_F_IGN_ENCAP_LIMIT) != 0;

	ends_set(link, data[IFLA_GRE_LOCAL], data[IFLA_GRE_REMOTE]);
	option(link, ipv6, WRAP_IPV6);
	option(link, (flags & ntohs(GRE_CSUM)) != 0, WRAP_CHECKSUM);
	option(link, (flags & ntohs(GRE_KEY)) != 0, WRAP_KEY);
	option(link, (flags & ntohs(GRE_SEQ)) != 0, WRAP_SEQUENCE);
	option(link, ipv6 && !ignored, WRAP_ENCAP_LIMIT);
	option(link, data[IFLA_GRE_COLLECT_METADATA] != NULL, WRAP_EXTERNAL);
	/* a packet with DF keeps it, unless that is to be ignored */
	option(link,
	       !ipv6 && number(data[IFLA_GRE_PMTUDISC], 1, 1) == 0 &&
		       number(data[IFLA_GRE_IGNORE_DF], 1, 0) != 0,
	       WRAP_FRAGMENTS);
	option_encap(link, number(data[IFLA_GRE_ENCAP_TYPE], sizeof(uint16_t), 0));
}

static void parse_ip_tunnel(struct nlattr *data[], struct link *link)
{
	bool ipv6 = link->type == LINK_IP6TNL;
	bool ignored = ipv6 && (number(data[IFLA_IPTUN_FLAGS], sizeof(uint32_t), 0) &
				IP6_TNL_F_IGN_ENCAP_LIMIT) != 0;

	ends_set(link, data[IFLA_IPTUN_LOCAL], data[IFLA_IPTUN_REMOTE]);
	option(link, ipv6, WRAP_IPV6);
	option(link, ipv6 && !ignored, WRAP_ENCAP_LIMIT);
	option(link, data[IFLA_IPTUN_COLLECT_METADATA] != NULL, WRAP_EXTERNAL);
	option(link, link->type == LINK_SIT && number(data[IFLA_IPTUN_PMTUDISC], 1, 1) == 0,
	       WRAP_FRAGMENTS);
	option_encap(link, number(data[IFLA_IPTUN_ENCAP_TYPE], sizeof(uint16_t), 0));
}

static bool parse_data(struct nlattr *data, struct nlattr *ret[])
{
	return data != NULL &&
	       nla_parse(ret, ATTRIBUTES_MOST - 1, nla_data(data), nla_len(data), NULL) == 0;
}

void link_data_parse(struct nlattr *info, struct link *link)
{
	struct nlattr *data[ATTRIBUTES_MOST] = {NULL};

	/* it hides both ends from everybody but the administrator, and leaves DF out */
	option(link, link->type == LINK_WIREGUARD, WRAP_FRAGMENTS);
	if (!parse_data(info, data))
		return;
	switch ((enum link_type)link->type) {
	case LINK_VXLAN:
		parse_vxlan(data, link);
		break;
	case LINK_GENEVE:
		parse_geneve(data, link);
		break;
	case LINK_GRE:
	case LINK_GRETAP:
		parse_gre(data, link);
		break;
	case LINK_IPIP:
	case LINK_SIT:
	case LINK_IP6TNL:
		parse_ip_tunnel(data, link);
		break;
	case LINK_WIREGUARD:
	case LINK_OTHER:
	case LINK_VETH:
	case LINK_BRIDGE:
	case LINK_BOND:
	case LINK_TEAM:
	case LINK_VLAN:
	case LINK_MACVLAN:
	case LINK_IPVLAN:
		break;
	}
}
