/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each change goes in an order in which a crash at any step leaves what the record can finish: the
 * record, the link, what stands on it; and back the link, what stands on it, the record.
 */
#include "link_clamps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "link_guests.h"
#include "link_routes.h"
#include "netlink.h"

struct link_clamps {
	struct netlink netlink;
	char *folder;
	struct stack **list;
	unsigned count;
	unsigned room;
	unsigned broken;
};

/* --- the kernel's links --- */

struct link_request {
	struct nlmsghdr header;
	struct ifinfomsg info;
	char attributes[NLMSG_ALIGN(sizeof(struct nlattr) + sizeof(uint32_t))];
};

static int on_link(struct nlmsghdr *message, void *userdata)
{
	struct nlattr *attributes[IFLA_MAX + 1];
	struct stacked *now = userdata;

	if (nlmsg_parse(message, sizeof(struct ifinfomsg), attributes, IFLA_MAX, NULL) < 0 ||
	    attributes[IFLA_MTU] == NULL || nla_len(attributes[IFLA_MTU]) < 4)
		return -EBADMSG;
	now->before = nla_get_u32(attributes[IFLA_MTU]);
	return 0;
}

static int mtu_get(struct link_clamps *clamps, int index, uint32_t *ret)
{
	uint32_t skip = RTEXT_FILTER_SKIP_STATS;
	struct stacked now = {0};
	struct link_request request = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info)),
		.header.nlmsg_type = RTM_GETLINK,
		.info.ifi_index = index,
	};
	int r;

	netlink_put(&request.header, IFLA_EXT_MASK, &skip, sizeof(skip));
	r = netlink_ask(&clamps->netlink, &request.header, on_link, &now);
	if (r >= 0)
		*ret = now.before;
	return r;
}

static int on_nothing(struct nlmsghdr *message, void *userdata)
{
	return 0;
}

/* What the kernel says counts, also where the answer to the order got lost. */
static int mtu_set(struct link_clamps *clamps, int index, uint32_t mtu)
{
	uint32_t now;
	struct link_request request = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info)),
		.header.nlmsg_type = RTM_NEWLINK,
		.header.nlmsg_flags = NLM_F_ACK,
		.info.ifi_index = index,
	};
	int r;

	netlink_put(&request.header, IFLA_MTU, &mtu, sizeof(mtu));
	r = netlink_ask(&clamps->netlink, &request.header, on_nothing, NULL);
	if (r < 0 && mtu_get(clamps, index, &now) >= 0 && now == mtu)
		return 0;
	return r;
}

/* Somebody else's value stays. */
static int mtu_move(struct link_clamps *clamps, const struct stacked *one, bool back)
{
	uint32_t from = back ? one->after : one->before, to = back ? one->before : one->after, now;
	int r = mtu_get(clamps, one->index, &now);

	if (r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	return now == from ? mtu_set(clamps, one->index, to) : 0;
}

static int stack_lower(struct link_clamps *clamps, const struct stack *stack)
{
	int r = 0;

	/* the kernel may have lowered some with the first */
	for (unsigned i = 0; r >= 0 && i < stack->count; i++)
		r = mtu_move(clamps, &stack->list[i], false);
	return r;
}

/* What cannot be raised, since what it stands on was changed by somebody else, stays low. */
static int stack_raise(struct link_clamps *clamps, const struct stack *stack)
{
	int r = 0;

	for (unsigned i = 0; i < stack->count; i++) {
		int s = mtu_move(clamps, &stack->list[i], true);

		if (s < 0 && s != -EINVAL && s != -ENODEV && r == 0)
			r = s;
	}
	return r;
}

/* --- the list --- */

static struct stack *stack_find(const struct link_clamps *clamps, int index)
{
	for (unsigned i = 0; i < clamps->count; i++)
		if (clamps->list[i]->list[0].index == index)
			return clamps->list[i];
	return NULL;
}

static int stack_keep(struct link_clamps *clamps, const struct stack *stack)
{
	struct stack *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return -ENOMEM;
	if (clamps->count == clamps->room) {
		unsigned room = clamps->room == 0 ? 4 : 2 * clamps->room;
		struct stack **grown = reallocarray(clamps->list, room, sizeof(*grown));

		if (grown == NULL) {
			free(copy);
			return -ENOMEM;
		}
		clamps->list = grown;
		clamps->room = room;
	}
	*copy = *stack;
	clamps->list[clamps->count++] = copy;
	return 0;
}

static void stack_forget(struct link_clamps *clamps, struct stack *stack)
{
	for (unsigned i = 0; i < clamps->count; i++)
		if (clamps->list[i] == stack)
			clamps->list[i] = clamps->list[--clamps->count];
	free(stack);
}

int link_clamps_put(struct link_clamps *clamps, const struct stack *stack)
{
	int index = stack->list[0].index, r;

	if (stack_find(clamps, index) != NULL)
		return -EALREADY;
	r = link_guests_find(&clamps->netlink, stack);
	if (r == 0)
		r = link_routes_find(&clamps->netlink, stack);
	if (r != 0)
		return r < 0 ? r : -EXDEV;
	r = stack_keep(clamps, stack);
	if (r < 0)
		return r;
	r = clamp_record_write(clamps->folder, stack);
	if (r < 0) {
		/* nothing was changed; one that is there all the same says so when it is read */
		(void)clamp_record_remove(clamps->folder, index);
		stack_forget(clamps, stack_find(clamps, index));
		return r;
	}
	r = stack_lower(clamps, stack);
	/* what cannot be put back stays in the list, to be tried again */
	if (r < 0)
		(void)link_clamps_lift(clamps, index);
	return r;
}

int link_clamps_try(struct link_clamps *clamps, int index, bool full)
{
	const struct stack *stack = stack_find(clamps, index);

	if (stack == NULL)
		return -ENOENT;
	return full ? mtu_move(clamps, &stack->list[0], true) : stack_lower(clamps, stack);
}

int link_clamps_lift(struct link_clamps *clamps, int index)
{
	struct stack *stack = stack_find(clamps, index);
	int r;

	if (stack == NULL)
		return -ENOENT;
	r = stack_raise(clamps, stack);
	if (r >= 0)
		r = clamp_record_remove(clamps->folder, index);
	if (r == -ENOENT)
		r = 0;
	if (r >= 0)
		stack_forget(clamps, stack);
	return r;
}

int link_clamps_mtu(struct link_clamps *clamps, int index, uint32_t *ret)
{
	return mtu_get(clamps, index, ret);
}

/* --- life --- */

/* Clamped: what stands on it is lowered too, and it is ours. Anything else is put back. */
static int on_record(const struct stack *stack, void *userdata)
{
	struct link_clamps *clamps = userdata;
	uint32_t now = 0;
	int r = mtu_get(clamps, stack->list[0].index, &now);

	if (r < 0 && r != -ENODEV)
		return r;
	r = stack_keep(clamps, stack);
	if (r < 0)
		return r;
	if (now == stack->list[0].after)
		(void)stack_lower(clamps, stack);
	else
		(void)link_clamps_lift(clamps, stack->list[0].index);
	return 0;
}

int link_clamps_new(struct link_clamps **ret, const char *folder)
{
	struct link_clamps *clamps = calloc(1, sizeof(*clamps));
	int r;

	if (clamps == NULL)
		return -ENOMEM;
	clamps->folder = strdup(folder);
	r = clamps->folder != NULL ? netlink_open(&clamps->netlink, NULL) : -ENOMEM;
	if (r >= 0)
		r = clamp_records_read(folder, on_record, clamps);
	/* nothing was ever kept there */
	if (r == -ENOENT)
		r = 0;
	if (r < 0) {
		link_clamps_free(clamps);
		return r;
	}
	clamps->broken = (unsigned)r;
	*ret = clamps;
	return 0;
}

struct link_clamps *link_clamps_free(struct link_clamps *clamps)
{
	if (clamps == NULL)
		return NULL;
	for (unsigned i = 0; i < clamps->count; i++)
		free(clamps->list[i]);
	free(clamps->list);
	free(clamps->folder);
	netlink_close(&clamps->netlink);
	free(clamps);
	return NULL;
}

unsigned link_clamps_broken(const struct link_clamps *clamps)
{
	return clamps->broken;
}

unsigned link_clamps_count(const struct link_clamps *clamps)
{
	return clamps->count;
}

const struct stack *link_clamps_at(const struct link_clamps *clamps, unsigned position)
{
	return position < clamps->count ? clamps->list[position] : NULL;
}

const struct stack *link_clamps_find(const struct link_clamps *clamps, int index)
{
	return stack_find(clamps, index);
}

const struct stacked *link_clamps_member(const struct link_clamps *clamps, int index)
{
	for (unsigned i = 0; i < clamps->count; i++)
		for (unsigned j = 0; j < clamps->list[i]->count; j++)
			if (clamps->list[i]->list[j].index == index)
				return &clamps->list[i]->list[j];
	return NULL;
}
