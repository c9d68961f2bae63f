/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knows what the kernel does to links that stand on one that changes, and refuses what it does not
 * know.
 */
#include "stack.h"

#include <errno.h>
#include <string.h>

/* RFC 7348 section 5 with an IPv6 header below; without the outer Ethernet header */
#define VXLAN_OVERHEAD 70U
#define OVERHEAD_LARGEST 150U

static bool kind_is(const struct link *link, const char *kind)
{
	return strcmp(link->kind, kind) == 0;
}

/* The kernel lowers these with what they stand on, and takes an order to do so as well. */
static bool kind_follows(const struct link *link)
{
	return kind_is(link, "vlan") || kind_is(link, "macvlan") || kind_is(link, "macvtap") ||
	       kind_is(link, "ipvlan") || kind_is(link, "ipvtap");
}

/* What it may be afterwards; 0: not known. */
static uint32_t child_mtu(const struct link *child, const struct stacked *parent)
{
	uint32_t around;

	if (kind_follows(child))
		return child->mtu < parent->after ? child->mtu : parent->after;
	if (!kind_is(child, "vxlan"))
		return 0;
	/* what it was given beside its parent is what it puts around, where that can be */
	around = parent->before > child->mtu ? parent->before - child->mtu : 0;
	if (around == 0 || around > OVERHEAD_LARGEST)
		around = VXLAN_OVERHEAD;
	if (parent->after <= around)
		return 0;
	return child->mtu < parent->after - around ? child->mtu : parent->after - around;
}

static const struct link *master_of(const struct stack_case *about, const struct link *link)
{
	for (unsigned i = 0; link->master != 0 && i < about->count; i++)
		if (about->links[i]->index == link->master)
			return about->links[i];
	return NULL;
}

static bool has_members(const struct link *link)
{
	return link->type == LINK_BOND || link->type == LINK_TEAM;
}

/* The kernel gives all members the MTU of a bond; one that had another would not get it back. A bridge
 * follows its port or is too large for it from then on, and who is behind it is not asked. */
static bool master_agrees(const struct stack_case *about, const struct link *link)
{
	const struct link *master = master_of(about, link);

	if (!master || kind_is(master, "vrf"))
		return true;
	return master == about->link && has_members(master) && link->mtu == master->mtu;
}

static int objection(const struct stack_case *about, const struct link *link, uint32_t mtu)
{
	if (!master_agrees(about, link))
		return -EOPNOTSUPP;
	if (link->ipv6_mtu != 0 && mtu < IPV6_SMALLEST_MTU)
		return -ERANGE;
	if (mtu < link->min_mtu)
		return -ERANGE;
	/* any change of the link's MTU resets it, and it cannot be put back by netlink */
	return link->ipv6_mtu != 0 && link->ipv6_mtu < link->mtu ? -EBUSY : 0;
}

static int stack_add(const struct stack_case *about, struct stack *stack, const struct link *link,
		     uint32_t mtu)
{
	struct stacked *one;
	int r = objection(about, link, mtu);

	if (r < 0)
		return r;
	if (stack->count == STACK_LARGEST)
		return -EMLINK;
	one = &stack->list[stack->count++];
	*one = (struct stacked){ .index = link->index, .before = link->mtu, .after = mtu };
	memcpy(one->name, link->name, sizeof(one->name));
	return 0;
}

static bool is_member(const struct stack_case *about, const struct link *child,
		      const struct stacked *parent)
{
	return child->master == parent->index && parent->index == about->link->index &&
	       has_members(about->link);
}

static int add_children(const struct stack_case *about, struct stack *stack, unsigned parent)
{
	for (unsigned i = 0; i < about->count; i++) {
		const struct link *child = about->links[i];
		bool member = is_member(about, child, &stack->list[parent]);
		uint32_t mtu;
		int r;

		if (member)
			mtu = stack->list[parent].after;
		else if (child->parent == stack->list[parent].index)
			mtu = child_mtu(child, &stack->list[parent]);
		else
			continue;
		if (mtu == 0)
			return -EOPNOTSUPP;
		if (mtu == child->mtu && !member)
			continue;
		r = stack_add(about, stack, child, mtu);
		if (r < 0)
			return r;
	}
	return 0;
}

int stack_plan(const struct stack_case *about, struct stack *ret)
{
	struct stack stack = { 0 };
	int r = stack_add(about, &stack, about->link, about->mtu);

	for (unsigned i = 0; r >= 0 && i < stack.count; i++)
		r = add_children(about, &stack, i);
	if (r >= 0)
		*ret = stack;
	return r;
}
