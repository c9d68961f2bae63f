/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What can be told of a link; the bus and JSON are made from this table. What is not known of one
 * has its neutral value.
 */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/tower.h"
#include "words.h"

static int string_set(struct field_value *ret, const char *text)
{
	ret->string = strdup(text);
	return ret->string ? 0 : -ENOMEM;
}

static int get_name(const struct link_state *state, struct field_value *ret)
{
	return string_set(ret, state->link.name);
}

static int get_index(const struct link_state *state, struct field_value *ret)
{
	ret->integer = state->link.index;
	return 0;
}

static int get_kind(const struct link_state *state, struct field_value *ret)
{
	return string_set(ret, state->link.kind);
}

static int get_mtu(const struct link_state *state, struct field_value *ret)
{
	ret->u32 = state->link.mtu;
	return 0;
}

static int get_expected_mtu(const struct link_state *state, struct field_value *ret)
{
	ret->u32 = state->expected_mtu;
	return 0;
}

static int get_min_mtu(const struct link_state *state, struct field_value *ret)
{
	ret->u32 = state->link.min_mtu;
	return 0;
}

static int get_max_mtu(const struct link_state *state, struct field_value *ret)
{
	ret->u32 = state->link.max_mtu;
	return 0;
}

static int get_original_mtu(const struct link_state *state, struct field_value *ret)
{
	ret->u32 = state->original_mtu;
	return 0;
}

static int get_overhead(const struct link_state *state, struct field_value *ret)
{
	ret->u32 = link_overhead(&state->link);
	return 0;
}

static int get_underlay_index(const struct link_state *state, struct field_value *ret)
{
	ret->integer = link_type_is_tunnel(state->link.type) ? tower_under(state) : 0;
	return 0;
}

static int get_neighbour(const struct link_state *state, struct field_value *ret)
{
	ret->string = words_neighbour(state->far.neighbour);
	return ret->string ? 0 : -ENOMEM;
}

static int get_neighbour_max_frame(const struct link_state *state, struct field_value *ret)
{
	ret->u32 = state->far.neighbour ? state->far.neighbour->max_frame : 0;
	return 0;
}

static int get_up(const struct link_state *state, struct field_value *ret)
{
	ret->boolean = state->link.up;
	return 0;
}

static int get_severity(const struct link_state *state, struct field_value *ret)
{
	return string_set(ret, words_severity(link_state_severity(state)));
}

static int get_findings(const struct link_state *state, struct field_value *ret)
{
	if (state->ignored)
		ret->findings.count = 0;
	else
		ret->findings = state->findings;
	return 0;
}

const struct link_field report_link_fields[] = {
	/* name, type, signalled, get */
	{"Name", FIELD_STRING, true, get_name}, /* a link can be renamed */
	{"Index", FIELD_INTEGER, false, get_index},
	{"Kind", FIELD_STRING, false, get_kind},
	{"MTU", FIELD_U32, true, get_mtu},
	{"ExpectedMTU", FIELD_U32, true, get_expected_mtu},
	{"MinMTU", FIELD_U32, true, get_min_mtu},
	{"MaxMTU", FIELD_U32, true, get_max_mtu},
	{"OriginalMTU", FIELD_U32, true, get_original_mtu},
	{"Overhead", FIELD_U32, true, get_overhead},
	{"UnderlayIndex", FIELD_INTEGER, true, get_underlay_index},
	{"Up", FIELD_BOOLEAN, true, get_up},
	{"Neighbour", FIELD_STRING, true, get_neighbour},
	{"NeighbourMaxFrame", FIELD_U32, true, get_neighbour_max_frame},
	{"Severity", FIELD_STRING, true, get_severity},
	{"Findings", FIELD_FINDINGS, true, get_findings},
	{},
};
