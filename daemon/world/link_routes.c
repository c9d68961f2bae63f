/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks for the IPv6 routes by each link of a stack, in all tables. IPv4 leaves the MTU of a route
 * alone.
 */
#include "link_routes.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#define DUMP_TRIES 16

struct request {
	struct nlmsghdr header;
	struct rtmsg info;
	char attributes[NLMSG_ALIGN(sizeof(struct nlattr) + sizeof(uint32_t))];
};

struct search {
	const struct stacked *link;
	bool found;
};

static uint32_t metric(struct nlattr *metrics, int which)
{
	struct nlattr *one =
		metrics != NULL ? nla_find(nla_data(metrics), nla_len(metrics), which) : NULL;

	return one != NULL && nla_len(one) >= 4 ? nla_get_u32(one) : 0;
}

static int on_route(struct nlmsghdr *message, void *userdata)
{
	const struct rtmsg *info = NLMSG_DATA(message);
	struct search *search = userdata;
	struct nlattr *metrics;
	uint32_t mtu;

	if (message->nlmsg_type != RTM_NEWROUTE || nlmsg_datalen(message) < (int)sizeof(*info) ||
	    (info->rtm_flags & RTM_F_CLONED) != 0)
		return 0;
	metrics = nlmsg_find_attr(message, sizeof(*info), RTA_METRICS);
	mtu = metric(metrics, RTAX_MTU);
	if ((metric(metrics, RTAX_LOCK) & 1U << RTAX_MTU) != 0)
		return 0;
	search->found |= mtu >= search->link->after && mtu != search->link->before;
	return 0;
}

static int routes_ask(struct netlink *netlink, struct search *search)
{
	int r = -EINTR;

	for (unsigned i = 0; i < DUMP_TRIES && r == -EINTR; i++) {
		struct request request = {
			.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info)),
			.header.nlmsg_type = RTM_GETROUTE,
			.header.nlmsg_flags = NLM_F_DUMP,
			.info.rtm_family = AF_INET6,
		};

		netlink_put(&request.header, RTA_OIF, &search->link->index,
			    sizeof(search->link->index));
		r = netlink_ask(netlink, &request.header, on_route, search);
	}
	return r;
}

int link_routes_find(struct netlink *netlink, const struct stack *stack)
{
	struct search search = {0};
	int r = 0;

	for (unsigned i = 0; r >= 0 && !search.found && i < stack->count; i++) {
		search.link = &stack->list[i];
		r = routes_ask(netlink, &search);
	}
	/* a kernel without IPv6 has none */
	if (r == -EOPNOTSUPP || r == -EAFNOSUPPORT)
		return 0;
	return r < 0 ? r : search.found;
}
