/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks for the links of each namespace that the kernel has a number for here: one to which a link
 * of ours was moved has one. A namespace that is not to be looked into belongs to whoever is above
 * us.
 */
#include "link_guests.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#define SPACES_MOST 1024U
#define DUMP_TRIES 16

struct request {
	struct nlmsghdr header;
	union {
		struct rtgenmsg general;
		struct ifinfomsg link;
	};
	char attributes[2 * NLMSG_ALIGN(sizeof(struct nlattr) + sizeof(uint32_t))];
};

/* --- namespaces --- */

struct spaces {
	unsigned count;
	int numbers[SPACES_MOST];
};

static int on_space(struct nlmsghdr *message, void *userdata)
{
	struct nlattr *number = nlmsg_find_attr(message, sizeof(struct rtgenmsg), NETNSA_NSID);
	struct spaces *spaces = userdata;

	if (message->nlmsg_type != RTM_NEWNSID || number == NULL || nla_len(number) < 4)
		return 0;
	if (spaces->count == SPACES_MOST)
		return -E2BIG;
	spaces->numbers[spaces->count++] = nla_get_s32(number);
	return 0;
}

/* All that have a number here; `own`: the one of this process alone, which may have none. */
static int spaces_ask(struct netlink *netlink, bool own, struct spaces *ret)
{
	uint32_t self = (uint32_t)getpid();
	struct request request = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.general)),
		.header.nlmsg_type = RTM_GETNSID,
		.header.nlmsg_flags = own ? 0 : NLM_F_DUMP,
		.general.rtgen_family = AF_UNSPEC,
	};

	ret->count = 0;
	if (own)
		netlink_put(&request.header, NETNSA_PID, &self, sizeof(self));
	return netlink_ask(netlink, &request.header, on_space, ret);
}

/* --- their links --- */

struct guests {
	const struct stack *stack;
	struct spaces below; /* where what they stand on is */
};

static bool kind_follows(struct nlattr *info)
{
	static const char *const kinds[] = {"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"};
	struct nlattr *kind =
		info != NULL ? nla_find(nla_data(info), nla_len(info), IFLA_INFO_KIND) : NULL;

	for (unsigned i = 0; kind != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (nla_strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

static bool stack_has(const struct stack *stack, int index)
{
	for (unsigned i = 0; i < stack->count; i++)
		if (stack->list[i].index == index)
			return true;
	return false;
}

static int on_link(struct nlmsghdr *message, void *userdata)
{
	struct nlattr *attributes[IFLA_MAX + 1], *below, *space;
	struct guests *guests = userdata;

	if (message->nlmsg_type != RTM_NEWLINK ||
	    nlmsg_parse(message, sizeof(struct ifinfomsg), attributes, IFLA_MAX, NULL) < 0)
		return 0;
	below = attributes[IFLA_LINK];
	space = attributes[IFLA_LINK_NETNSID];
	if (below == NULL || nla_len(below) < 4 || space == NULL || nla_len(space) < 4 ||
	    !stack_has(guests->stack, nla_get_s32(below)) ||
	    !kind_follows(attributes[IFLA_LINKINFO]))
		return 0;
	if (guests->below.count == SPACES_MOST)
		return -E2BIG;
	guests->below.numbers[guests->below.count++] = nla_get_s32(space);
	return 0;
}

static int links_ask(struct netlink *netlink, int space, struct guests *ret)
{
	uint32_t skip = RTEXT_FILTER_SKIP_STATS;
	int r = -EINTR;

	for (unsigned i = 0; i < DUMP_TRIES && r == -EINTR; i++) {
		struct request request = {
			.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.link)),
			.header.nlmsg_type = RTM_GETLINK,
			.header.nlmsg_flags = NLM_F_DUMP,
		};

		netlink_put(&request.header, IFLA_TARGET_NETNSID, &space, sizeof(space));
		netlink_put(&request.header, IFLA_EXT_MASK, &skip, sizeof(skip));
		r = netlink_ask(netlink, &request.header, on_link, ret);
	}
	switch (r) {
	case -EACCES:
	case -EPERM:
	case -EINVAL: /* it is gone */
	case -EOPNOTSUPP:
		return 0;
	default:
		return r;
	}
}

int link_guests_find(struct netlink *netlink, const struct stack *stack)
{
	struct guests guests = {.stack = stack};
	struct spaces all, own;
	int r = spaces_ask(netlink, false, &all);

	if (r == -EOPNOTSUPP)
		return 0;
	for (unsigned i = 0; r >= 0 && i < all.count; i++)
		r = links_ask(netlink, all.numbers[i], &guests);
	if (r < 0 || guests.below.count == 0)
		return r < 0 ? r : 0;
	/* only now: it gets its number when the first of them is told of */
	r = spaces_ask(netlink, true, &own);
	for (unsigned i = 0; r >= 0 && own.count == 1 && i < guests.below.count; i++)
		if (guests.below.numbers[i] == own.numbers[0])
			return 1;
	return r < 0 ? r : 0;
}
