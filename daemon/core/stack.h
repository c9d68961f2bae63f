/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A link and what stands on it: which of them a smaller MTU changes, and to what. Only plans.
 */
#pragma once

#include "facts.h"

#define STACK_LARGEST 64U

struct stacked {
	int index;
	char name[LINK_NAME_SIZE];
	uint32_t before;
	uint32_t after;
};

/* The link itself first, and each before what stands on it. */
struct stack {
	unsigned count;
	struct stacked list[STACK_LARGEST];
};

struct stack_case {
	const struct link *const *links; /* all there are */
	unsigned count;
	const struct link *link;
	uint32_t mtu;
};

/*
 * What has to become of which link. -EOPNOTSUPP: something stands on it, or it belongs to
 * something, of which nothing is known, or its members differ; -ERANGE: one that has IPv6 would fall below what that needs, or below its driver's least; -EBUSY: one
 * has an IPv6 MTU of its own, which would be lost; -EMLINK: too many.
 */
int stack_plan(const struct stack_case *about, struct stack *ret);
