/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bytes of an RTM_NEWROUTE or RTM_NEWNEXTHOP to what they mean. Believes no length and
 * keeps nothing.
 */
#include "route_message.h"

#include <string.h>
#include <sys/socket.h>

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#define IPV4_BYTES 4
#define IPV6_BYTES 16

static uint32_t attribute_u32(struct nlattr *attribute, uint32_t otherwise)
{
	uint32_t value;

	if (attribute == NULL || nla_len(attribute) < (int)sizeof(value))
		return otherwise;
	memcpy(&value, nla_data(attribute), sizeof(value));
	return value;
}

/* The length tells the family: an IPv4 route may lead over an IPv6 neighbour. */
static struct address address_of(const void *bytes, int length, int link)
{
	struct address address = {0};

	if (length != IPV4_BYTES && length != IPV6_BYTES)
		return address;
	address.family = length == IPV4_BYTES ? ADDRESS_IPV4 : ADDRESS_IPV6;
	memcpy(address.bytes, bytes, (size_t)length);
	if (address_is_link_local(&address))
		address.zone = link;
	return address;
}

static struct address attribute_address(struct nlattr *attribute, int link)
{
	if (attribute == NULL)
		return (struct address){0};
	return address_of(nla_data(attribute), nla_len(attribute), link);
}

static bool is_any(const struct address *address)
{
	static const uint8_t zero[IPV6_BYTES];

	return memcmp(address->bytes, zero, sizeof(zero)) == 0;
}

/* RTA_GATEWAY, or RTA_VIA where the next hop is of another family than the route. */
static struct address gateway_of(struct nlattr *gateway, struct nlattr *via, int link)
{
	struct address address = attribute_address(gateway, link);
	const int head = (int)sizeof(struct rtvia);
	static const struct address none;

	if (address.family == ADDRESS_NONE && via != NULL && nla_len(via) > head)
		address = address_of((const uint8_t *)nla_data(via) + head, nla_len(via) - head,
				     link);
	return is_any(&address) ? none : address;
}

static void parse_metrics(struct nlattr *metrics, struct route_message *route)
{
	if (metrics == NULL)
		return;
	route->mtu = attribute_u32(nla_find(nla_data(metrics), nla_len(metrics), RTAX_MTU), 0);
	route->mtu_locked =
		(attribute_u32(nla_find(nla_data(metrics), nla_len(metrics), RTAX_LOCK), 0) &
		 (1U << RTAX_MTU)) != 0;
}

static void parse_cache_info(struct nlattr *attribute, struct route_message *route)
{
	struct rta_cacheinfo info;

	if (attribute == NULL || nla_len(attribute) < (int)sizeof(info))
		return;
	memcpy(&info, nla_data(attribute), sizeof(info));
	route->expires = info.rta_expires > 0 ? (uint32_t)info.rta_expires : 0;
}

static struct address prefix_of(const struct rtmsg *info, struct nlattr *destination)
{
	struct address prefix = attribute_address(destination, 0);

	prefix.family = info->rtm_family == AF_INET ? ADDRESS_IPV4 : ADDRESS_IPV6;
	return prefix;
}

bool route_message_parse(struct nlmsghdr *message, struct route_message *ret)
{
	struct nlattr *attributes[RTA_MAX + 1];
	const struct rtmsg *info;
	int link;

	if ((message->nlmsg_type != RTM_NEWROUTE && message->nlmsg_type != RTM_DELROUTE) ||
	    nlmsg_parse(message, sizeof(*info), attributes, RTA_MAX, NULL) < 0)
		return false;
	info = nlmsg_data(message);
	if ((info->rtm_family != AF_INET || info->rtm_dst_len > 32) &&
	    (info->rtm_family != AF_INET6 || info->rtm_dst_len > 128))
		return false;
	link = (int)attribute_u32(attributes[RTA_OIF], 0);
	*ret = (struct route_message){
		.type = info->rtm_type,
		.length = info->rtm_dst_len,
		.protocol = info->rtm_protocol,
		.flags = info->rtm_flags,
		.prefix = prefix_of(info, attributes[RTA_DST]),
		.source = attribute_address(attributes[RTA_PREFSRC], link),
		.gateway = gateway_of(attributes[RTA_GATEWAY], attributes[RTA_VIA], link),
		.link = link,
		.nexthop = attribute_u32(attributes[RTA_NH_ID], 0),
		.hops = attributes[RTA_MULTIPATH],
	};
	parse_metrics(attributes[RTA_METRICS], ret);
	parse_cache_info(attributes[RTA_CACHEINFO], ret);
	return true;
}

static struct next_hop hop_of(const struct rtnexthop *head, void *rest, int length)
{
	struct nlattr *attributes[RTA_MAX + 1];
	struct next_hop hop = {
		.link = head->rtnh_ifindex,
		.dead = (head->rtnh_flags & RTNH_F_DEAD) != 0,
	};

	if (nla_parse(attributes, RTA_MAX, rest, length, NULL) == 0)
		hop.gateway = gateway_of(attributes[RTA_GATEWAY], attributes[RTA_VIA], hop.link);
	return hop;
}

static int multipath_hops(struct nlattr *hops, next_hop_handler_t handler, void *userdata)
{
	uint8_t *at = nla_data(hops);
	int left = nla_len(hops);

	while (left >= (int)sizeof(struct rtnexthop)) {
		struct rtnexthop head;
		struct next_hop hop;
		int r;

		memcpy(&head, at, sizeof(head));
		if (head.rtnh_len < sizeof(head) || head.rtnh_len > left)
			return 0;
		hop = hop_of(&head, at + sizeof(head), head.rtnh_len - (int)sizeof(head));
		r = handler(&hop, userdata);
		if (r < 0)
			return r;
		at += NLMSG_ALIGN(head.rtnh_len);
		left -= (int)NLMSG_ALIGN(head.rtnh_len);
	}
	return 0;
}

int route_message_hops(const struct route_message *route, next_hop_handler_t handler,
		       void *userdata)
{
	struct next_hop hop = {
		.gateway = route->gateway,
		.link = route->link,
		.dead = (route->flags & RTNH_F_DEAD) != 0,
	};

	if (route->hops != NULL)
		return multipath_hops(route->hops, handler, userdata);
	return route->link != 0 ? handler(&hop, userdata) : 0;
}

bool nexthop_message_parse(struct nlmsghdr *message, struct nexthop_message *ret)
{
	struct nlattr *attributes[NHA_MAX + 1];
	const struct nhmsg *info;
	int link;

	if (message->nlmsg_type != RTM_NEWNEXTHOP ||
	    nlmsg_parse(message, sizeof(*info), attributes, NHA_MAX, NULL) < 0)
		return false;
	info = nlmsg_data(message);
	link = (int)attribute_u32(attributes[NHA_OIF], 0);
	*ret = (struct nexthop_message){
		.hop.gateway = gateway_of(attributes[NHA_GATEWAY], NULL, link),
		.hop.link = link,
		.hop.dead = (info->nh_flags & RTNH_F_DEAD) != 0,
	};
	if (attributes[NHA_GROUP] != NULL) {
		ret->group = nla_data(attributes[NHA_GROUP]);
		ret->group_count = (unsigned)nla_len(attributes[NHA_GROUP]) /
				   (unsigned)sizeof(struct nexthop_grp);
	}
	return true;
}

uint32_t nexthop_message_member(const struct nexthop_message *nexthop, unsigned position)
{
	struct nexthop_grp member;

	memcpy(&member, nexthop->group + position * sizeof(member), sizeof(member));
	return member.id;
}
