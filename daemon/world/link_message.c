/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bytes of an RTM_NEWLINK or RTM_DELLINK to a link. Believes no length; whatever is short
 * or missing makes the message no news at all rather than a link of MTU 0.
 */
#include "link_message.h"

#include "link_data.h"

#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

/* <net/if.h> of the C library stops before it; <linux/if.h> does not go with that one */
#define LINK_LOWER_UP 0x10000U

static uint32_t attribute_u32(struct nlattr *attribute, uint32_t otherwise)
{
	uint32_t value;

	if (attribute == NULL || nla_len(attribute) < (int)sizeof(value))
		return otherwise;
	memcpy(&value, nla_data(attribute), sizeof(value));
	return value;
}

/* False when it is missing, empty, or not closed within `ret`. */
static bool attribute_text(struct nlattr *attribute, char ret[static LINK_NAME_SIZE])
{
	const char *text;
	size_t length;

	if (attribute == NULL || nla_len(attribute) <= 0)
		return false;
	text = nla_data(attribute);
	length = strnlen(text, (size_t)nla_len(attribute));
	if (length == 0 || length >= LINK_NAME_SIZE)
		return false;
	memcpy(ret, text, length);
	ret[length] = '\0';
	return true;
}

static struct nlattr *nested(struct nlattr *attribute, int type)
{
	if (attribute == NULL)
		return NULL;
	return nla_find(nla_data(attribute), nla_len(attribute), type);
}

/* `inet6` holds what IPv6 keeps of a link: IFLA_INET6_CONF and more. NULL: IPv6 knows it not. */
static uint32_t ipv6_mtu_of(struct nlattr *inet6)
{
	struct nlattr *conf = nested(inet6, IFLA_INET6_CONF);
	int32_t values[DEVCONF_DISABLE_IPV6 + 1];

	if (conf == NULL || nla_len(conf) < (int)sizeof(values))
		return 0;
	memcpy(values, nla_data(conf), sizeof(values));
	if (values[DEVCONF_DISABLE_IPV6] != 0 || values[DEVCONF_MTU6] < 0)
		return 0;
	return (uint32_t)values[DEVCONF_MTU6];
}

/* What lies below it, or beside it for the end of a pair. In another namespace the index means
 * nothing here. */
static void parse_below(struct nlattr *attributes[], struct link *link)
{
	int below = (int)attribute_u32(attributes[IFLA_LINK], 0);

	link->foreign = attributes[IFLA_LINK_NETNSID] != NULL;
	if (link->foreign || below == link->index || below < 0)
		return;
	if (link->type == LINK_VETH)
		link->pair = below;
	else
		link->parent = below;
}

static enum link_message parse_link(const struct ifinfomsg *info, struct nlattr *attributes[],
				    struct link *ret)
{
	const unsigned carries = IFF_UP | IFF_RUNNING | LINK_LOWER_UP;
	struct link link = {
		.index = info->ifi_index,
		.mtu = attribute_u32(attributes[IFLA_MTU], 0),
		.min_mtu = attribute_u32(attributes[IFLA_MIN_MTU], 0),
		.max_mtu = attribute_u32(attributes[IFLA_MAX_MTU], 0),
		.ipv6_mtu = ipv6_mtu_of(nested(attributes[IFLA_AF_SPEC], AF_INET6)),
		.master = (int)attribute_u32(attributes[IFLA_MASTER], 0),
		.up = (info->ifi_flags & IFF_UP) != 0,
		/* IFF_RUNNING is the operational state being up or unknown */
		.carrier = (info->ifi_flags & carries) == carries,
		.loopback = (info->ifi_flags & IFF_LOOPBACK) != 0,
	};

	/* wireless drivers send messages with nothing but an event of theirs in it */
	if (attributes[IFLA_MTU] == NULL || nla_len(attributes[IFLA_MTU]) < (int)sizeof(uint32_t) ||
	    !attribute_text(attributes[IFLA_IFNAME], link.name))
		return LINK_MESSAGE_NONE;
	link_name_clean(link.name);
	(void)attribute_text(nested(attributes[IFLA_LINKINFO], IFLA_INFO_KIND), link.kind);
	link.type = link_type(link.kind);
	parse_below(attributes, &link);
	link_data_parse(nested(attributes[IFLA_LINKINFO], IFLA_INFO_DATA), &link);
	*ret = link;
	return LINK_MESSAGE_LINK;
}

/* IPv6 tells of its own side of a link; RTM_DELLINK only means that it has left it. */
static enum link_message parse_ipv6(const struct ifinfomsg *info, struct nlattr *attributes[],
				    bool gone, struct link *ret)
{
	if (!gone && attributes[IFLA_PROTINFO] == NULL)
		return LINK_MESSAGE_NONE;
	*ret = (struct link){
		.index = info->ifi_index,
		.ipv6_mtu = gone ? 0 : ipv6_mtu_of(attributes[IFLA_PROTINFO]),
	};
	return LINK_MESSAGE_IPV6;
}

enum link_message link_message_parse(struct nlmsghdr *message, struct link *ret)
{
	struct nlattr *attributes[IFLA_MAX + 1];
	bool gone = message->nlmsg_type == RTM_DELLINK;
	const struct ifinfomsg *info;

	if (message->nlmsg_type != RTM_NEWLINK && !gone)
		return LINK_MESSAGE_NONE;
	if (nlmsg_parse(message, sizeof(*info), attributes, IFLA_MAX, NULL) < 0)
		return LINK_MESSAGE_NONE;
	info = nlmsg_data(message);
	if (info->ifi_index <= 0)
		return LINK_MESSAGE_NONE;
	if (info->ifi_family == AF_INET6)
		return parse_ipv6(info, attributes, gone, ret);
	/* AF_BRIDGE: a port left its bridge and goes on living */
	if (info->ifi_family != AF_UNSPEC)
		return LINK_MESSAGE_NONE;
	if (!gone)
		return parse_link(info, attributes, ret);
	*ret = (struct link){.index = info->ifi_index};
	return LINK_MESSAGE_GONE;
}
