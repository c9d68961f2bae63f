/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies attributes as they are: next hops of another family, several next hops, encapsulation,
 * source, metric and table go along without being understood. Only what a new route must not have is
 * left out: a nexthop object above all, since the kernel keeps one route in readiness for all routes
 * that share it, so that any of them may be met with the MTU of any other.
 */
#include "clamp_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

/* What the kernel says of a route's state, and does not want to be told. */
#define FLAGS_KEPT ((unsigned)RTNH_F_ONLINK)

static bool put(struct nlmsghdr *message, size_t room, int type, const void *data, size_t length)
{
	size_t at = NLMSG_ALIGN(message->nlmsg_len);
	struct nlattr head = {.nla_type = (uint16_t)type, .nla_len = (uint16_t)(NLA_HDRLEN + length)};

	if (length > UINT16_MAX - NLA_HDRLEN || at + (size_t)NLA_ALIGN(NLA_HDRLEN + length) > room)
		return false;
	memset((char *)message + at, 0, (size_t)NLA_ALIGN(NLA_HDRLEN + length));
	memcpy((char *)message + at, &head, sizeof(head));
	memcpy((char *)message + at + NLA_HDRLEN, data, length);
	message->nlmsg_len = (uint32_t)(at + (size_t)NLA_ALIGN(NLA_HDRLEN + length));
	return true;
}

static bool put_copy(struct nlmsghdr *message, size_t room, struct nlattr *attribute)
{
	return put(message, room, attribute->nla_type, nla_data(attribute),
		   (size_t)nla_len(attribute));
}

static uint32_t attribute_u32(struct nlattr *attribute)
{
	uint32_t value = 0;

	if (attribute != NULL && nla_len(attribute) >= (int)sizeof(value))
		memcpy(&value, nla_data(attribute), sizeof(value));
	return value;
}

static uint8_t host_bits(uint8_t family)
{
	return family == AF_INET ? 32 : 128;
}

/* The dead flag of a hop comes and goes; told to the kernel it would be refused. */
static void hops_clean(struct nlattr *hops)
{
	char *at = nla_data(hops);
	int left = nla_len(hops);

	while (left >= (int)sizeof(struct rtnexthop)) {
		struct rtnexthop hop;

		memcpy(&hop, at, sizeof(hop));
		if (hop.rtnh_len < sizeof(hop) || hop.rtnh_len > left)
			return;
		hop.rtnh_flags &= FLAGS_KEPT;
		memcpy(at, &hop, sizeof(hop));
		at += NLMSG_ALIGN(hop.rtnh_len);
		left -= (int)NLMSG_ALIGN(hop.rtnh_len);
	}
}

/* RFC 9293 section 3.7.1: what a segment of this MTU has beside its headers without options. */
static uint32_t mss_of(uint32_t mtu, bool ipv6)
{
	return mtu - (ipv6 ? 60 : 40);
}

/* One of the route's own; what it has the kernel announce to peers must not be above ours. */
static bool put_metric(struct nlmsghdr *message, size_t room, struct nlattr *metric, uint32_t mtu)
{
	const struct rtmsg *info = NLMSG_DATA(message);
	uint32_t most = mss_of(mtu, info->rtm_family == AF_INET6);

	if (nla_type(metric) == RTAX_ADVMSS && attribute_u32(metric) > most)
		return put(message, room, RTAX_ADVMSS, &most, sizeof(most));
	return put_copy(message, room, metric);
}

/* The route's other metrics stay; the MTU is ours, and locked: what a report says does not count. */
static bool put_metrics(struct nlmsghdr *message, size_t room, struct nlattr *metrics, uint32_t mtu)
{
	size_t begin = NLMSG_ALIGN(message->nlmsg_len);
	uint32_t lock = 1U << RTAX_MTU;
	struct nlattr *one;
	uint16_t length;
	int rest;

	if (!put(message, room, RTA_METRICS, "", 0))
		return false;
	if (metrics != NULL)
		nla_for_each_nested(one, metrics, rest) {
			if (nla_type(one) == RTAX_LOCK)
				lock |= attribute_u32(one);
			else if (nla_type(one) != RTAX_MTU && !put_metric(message, room, one, mtu))
				return false;
		}
	if (!put(message, room, RTAX_MTU, &mtu, sizeof(mtu)) ||
	    !put(message, room, RTAX_LOCK, &lock, sizeof(lock)))
		return false;
	length = (uint16_t)(message->nlmsg_len - begin);
	memcpy((char *)message + begin, &length, sizeof(length));
	return true;
}

static bool attribute_is_kept(int type, bool by_object)
{
	switch (type) {
	case RTA_OIF:
	case RTA_GATEWAY:
	case RTA_VIA:
	case RTA_MULTIPATH:
	case RTA_ENCAP:
	case RTA_ENCAP_TYPE:
		/* the object has them, and the kernel wants to hear of them once */
		return !by_object;
	case RTA_NH_ID:
		return by_object;
	case RTA_PRIORITY:
	case RTA_PREFSRC:
	case RTA_FLOW:
	case RTA_TABLE:
	case RTA_PREF:
	case RTA_SRC:
		return true;
	default: /* the kernel's numbers: times, users, what came in where, what is yet to come */
		return false;
	}
}

/* net.ipv4.nexthop_compat_mode=0: what the object stands for is not told. */
static bool hops_are_told(struct nlattr *attributes[])
{
	return attributes[RTA_NH_ID] == NULL || attributes[RTA_OIF] != NULL ||
	       attributes[RTA_MULTIPATH] != NULL;
}

static int route_objection(const struct rtmsg *info, const struct clamp_want *want)
{
	if (info->rtm_family != (want->to.family == ADDRESS_IPV4 ? AF_INET : AF_INET6))
		return -EBADMSG;
	if (info->rtm_type != RTN_UNICAST)
		return -ENETUNREACH;
	if (info->rtm_dst_len != host_bits(info->rtm_family))
		return 0;
	return info->rtm_protocol == CLAMP_PROTOCOL ? -EALREADY : -EEXIST;
}

static bool put_attributes(struct nlmsghdr *message, size_t room, struct nlattr *attributes[],
			   bool by_object)
{
	for (int type = 1; type <= RTA_MAX; type++) {
		size_t at = NLMSG_ALIGN(message->nlmsg_len);

		if (attributes[type] == NULL || !attribute_is_kept(type, by_object))
			continue;
		if (!put_copy(message, room, attributes[type]))
			return false;
		if (type == RTA_MULTIPATH)
			hops_clean((void *)((char *)message + at));
	}
	return true;
}

int clamp_message_build(struct nlmsghdr *match, const struct clamp_want *want, struct nlmsghdr *ret,
			size_t room)
{
	struct nlattr *attributes[RTA_MAX + 1];
	struct rtmsg info;
	int r;

	if (match->nlmsg_type != RTM_NEWROUTE || room < NLMSG_SPACE(sizeof(info)) ||
	    nlmsg_parse(match, sizeof(info), attributes, RTA_MAX, NULL) < 0)
		return -EBADMSG;
	memcpy(&info, nlmsg_data(match), sizeof(info));
	r = route_objection(&info, want);
	if (r >= 0 && !hops_are_told(attributes))
		r = -EOPNOTSUPP;
	if (r < 0)
		return r;
	info.rtm_dst_len = host_bits(info.rtm_family);
	info.rtm_protocol = CLAMP_PROTOCOL;
	info.rtm_flags &= FLAGS_KEPT;
	*ret = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(sizeof(info)),
		.nlmsg_type = RTM_NEWROUTE,
		/* never instead of, and never beside, somebody else's */
		.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
	};
	memcpy(NLMSG_DATA(ret), &info, sizeof(info));
	if (!put(ret, room, RTA_DST, want->to.bytes, info.rtm_dst_len / 8U) ||
	    !put_attributes(ret, room, attributes, false) ||
	    !put_metrics(ret, room, attributes[RTA_METRICS], want->mtu))
		return -EMSGSIZE;
	return 0;
}

int clamp_message_undo(struct nlmsghdr *request, struct nlmsghdr *ret, size_t room)
{
	struct nlattr *attributes[RTA_MAX + 1];
	struct rtmsg info;

	if (room < NLMSG_SPACE(sizeof(info)) ||
	    nlmsg_parse(request, sizeof(info), attributes, RTA_MAX, NULL) < 0)
		return -EBADMSG;
	memcpy(&info, nlmsg_data(request), sizeof(info));
	info.rtm_protocol = CLAMP_PROTOCOL;
	info.rtm_flags &= FLAGS_KEPT;
	*ret = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(sizeof(info)),
		.nlmsg_type = RTM_DELROUTE,
		.nlmsg_flags = NLM_F_ACK,
	};
	memcpy(NLMSG_DATA(ret), &info, sizeof(info));
	/* the next hops go along: without them IPv6 takes a neighbour's route off too, where the
	 * kernel has made one route of several next hops of both */
	if (attributes[RTA_DST] == NULL || !put_copy(ret, room, attributes[RTA_DST]) ||
	    !put_attributes(ret, room, attributes, attributes[RTA_NH_ID] != NULL))
		return -EMSGSIZE;
	return 0;
}

bool clamp_message_parse(struct nlmsghdr *message, struct clamp_entry *ret)
{
	struct nlattr *attributes[RTA_MAX + 1], *metrics;
	struct clamp_entry entry = {0};
	struct rtmsg info;
	int bytes;

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse(message, sizeof(info), attributes, RTA_MAX, NULL) < 0)
		return false;
	memcpy(&info, nlmsg_data(message), sizeof(info));
	if (info.rtm_protocol != CLAMP_PROTOCOL || (info.rtm_flags & RTM_F_CLONED) != 0 ||
	    (info.rtm_family != AF_INET && info.rtm_family != AF_INET6) ||
	    info.rtm_dst_len != host_bits(info.rtm_family))
		return false;
	bytes = info.rtm_dst_len / 8;
	if (attributes[RTA_DST] == NULL || nla_len(attributes[RTA_DST]) != bytes)
		return false;
	entry.to.family = info.rtm_family == AF_INET ? ADDRESS_IPV4 : ADDRESS_IPV6;
	memcpy(entry.to.bytes, nla_data(attributes[RTA_DST]), (size_t)bytes);
	entry.link = (int)attribute_u32(attributes[RTA_OIF]);
	if (address_is_link_local(&entry.to))
		entry.to.zone = entry.link;
	entry.table = attributes[RTA_TABLE] ? attribute_u32(attributes[RTA_TABLE]) : info.rtm_table;
	metrics = attributes[RTA_METRICS];
	if (metrics != NULL)
		entry.mtu = attribute_u32(nla_find(nla_data(metrics), nla_len(metrics), RTAX_MTU));
	*ret = entry;
	return true;
}
