/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of keys: in which section, where the value goes, its bounds and its default. What a
 * text means is the types' matter.
 */
#include "config_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_USEC (60 * USEC_PER_SEC)
#define YEAR_USEC (365 * 86400 * USEC_PER_SEC) /* no sum of a few times overflows */

#define IN(struct_name, member)                                                                    \
	.offset = offsetof(struct struct_name, member),                                            \
	.size = sizeof(((struct struct_name *)NULL)->member)
#define BETWEEN(least, most) .smallest = (least), .largest = (most)

const char *const section_names[SECTION_COUNT] = {
	[SECTION_DAEMON] = "Daemon",
	[SECTION_PEER] = "Peer",
	[SECTION_LINK] = "Link",
};

/* clang-format off */
static const struct key daemon_keys[] = {
	{"Interval", &type_time, IN(config, defaults.interval_usec),
	 BETWEEN(USEC_PER_SEC, YEAR_USEC), .range = "expected a time from 1s to 365d",
	 .initial = "30s"},
	{"Timeout", &type_time, IN(config, defaults.timeout_usec),
	 BETWEEN(10 * USEC_PER_MSEC, MINUTE_USEC), .range = "expected a time from 10ms to 1min",
	 .initial = "1s"},
	{"Tries", &type_number, IN(config, defaults.tries), BETWEEN(1, 20), .initial = "3"},
	{"FailAfter", &type_number, IN(config, defaults.fail_after), BETWEEN(1, 100), .initial = "2"},
	{"RecoverAfter", &type_number, IN(config, defaults.recover_after), BETWEEN(1, 100),
	 .initial = "2"},
	{"Remind", &type_time, IN(config, defaults.remind_usec),
	 BETWEEN(MINUTE_USEC, YEAR_USEC), .range = "expected 0 or a time from 1min to 365d",
	 .zero_too = true, .initial = "1h"},
	{"Discover", &type_discover, IN(config, discover), .initial = "gateways storage"},
	{"ProbeBandwidth", &type_bandwidth, IN(config, probe_bandwidth),
	 BETWEEN(100000, 1000000000000), .range = "expected bits per second from 100K to 1000G",
	 .initial = "10M"},
	{"Responder", &type_responder, IN(config, responder_port), BETWEEN(2, UINT16_MAX),
	 .initial = "no"},
	{"MetricsFile", &type_path, IN(config, metrics_file), .initial = ""},
	{"Clamp", &type_clamp, IN(config, defaults.clamp.kind), .initial = "off"},
	{"ClampDiscovered", &type_boolean, IN(config, clamp_discovered), .initial = "no"},
	{"ClampAfter", &type_number, IN(config, defaults.clamp.after), BETWEEN(1, 100),
	 .initial = "3"},
	{"ClampFloor", &type_number, IN(config, defaults.clamp.floor), BETWEEN(68, SIZE_LARGEST),
	 .initial = "1280"},
	{"ClampRetry", &type_time, IN(config, clamp_retry_usec),
	 BETWEEN(10 * USEC_PER_SEC, YEAR_USEC), .range = "expected a time from 10s to 365d",
	 .initial = "10min"},
};

static const struct key peer_keys[] = {
	{"Address", &type_address, .initial = ""},
	{"Family", &type_family, .initial = "any"},
	{"Interface", &type_interfaces, .initial = ""},
	{"Source", &type_source, .initial = ""},
	{"ExpectMTU", &type_number, IN(config_peer, settings.expect_mtu),
	 BETWEEN(68, SIZE_LARGEST), .initial = ""},
	{"Method", &type_method, IN(config_peer, settings.method), .initial = "auto"},
	{"Port", &type_port, IN(config_peer, port), BETWEEN(1, UINT16_MAX), .initial = ""},
	{"Flows", &type_number, IN(config_peer, flows), BETWEEN(1, 64), .initial = "1"},
	{"Interval", &type_time, IN(config_peer, settings.interval_usec),
	 BETWEEN(USEC_PER_SEC, YEAR_USEC), .range = "expected a time from 1s to 365d",
	 .initial = "30s", .inherits = true},
	{"Timeout", &type_time, IN(config_peer, settings.timeout_usec),
	 BETWEEN(10 * USEC_PER_MSEC, MINUTE_USEC), .range = "expected a time from 10ms to 1min",
	 .initial = "1s", .inherits = true},
	{"Tries", &type_number, IN(config_peer, settings.tries), BETWEEN(1, 20), .initial = "3",
	 .inherits = true},
	{"FailAfter", &type_number, IN(config_peer, settings.fail_after), BETWEEN(1, 100),
	 .initial = "2", .inherits = true},
	{"RecoverAfter", &type_number, IN(config_peer, settings.recover_after), BETWEEN(1, 100),
	 .initial = "2", .inherits = true},
	{"Clamp", &type_clamp, IN(config_peer, settings.clamp.kind), .initial = "off",
	 .inherits = true},
	{"ClampAfter", &type_number, IN(config_peer, settings.clamp.after), BETWEEN(1, 100),
	 .initial = "3", .inherits = true},
	{"ClampFloor", &type_number, IN(config_peer, settings.clamp.floor), BETWEEN(68, SIZE_LARGEST),
	 .initial = "1280", .inherits = true},
};

static const struct key link_keys[] = {
	{"ExpectMTU", &type_number, IN(config_link, expect_mtu), BETWEEN(68, SIZE_LARGEST),
	 .initial = ""},
	{"Clamp", &type_link_clamp, IN(config_link, clamp), .initial = "off"},
	{"Ignore", &type_boolean, IN(config_link, ignore), .initial = "no"},
};
/* clang-format on */

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
_Static_assert(COUNT(daemon_keys) <= CONFIG_KEYS_LARGEST, "places has no room");
_Static_assert(COUNT(peer_keys) <= CONFIG_KEYS_LARGEST, "places has no room");

const struct key *key_table(enum section_kind kind, unsigned *ret_count)
{
	switch (kind) {
	case SECTION_DAEMON:
		*ret_count = COUNT(daemon_keys);
		return daemon_keys;
	case SECTION_PEER:
		*ret_count = COUNT(peer_keys);
		return peer_keys;
	case SECTION_LINK:
		*ret_count = COUNT(link_keys);
		return link_keys;
	}
	*ret_count = 0;
	return NULL;
}

static const struct key *key_find(enum section_kind kind, const char *name)
{
	unsigned count;
	const struct key *table = key_table(kind, &count);

	for (unsigned i = 0; i < count; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

static void *draft_values(struct draft *draft)
{
	switch (draft->kind) {
	case SECTION_DAEMON:
		return draft->daemon;
	case SECTION_PEER:
		return &draft->peer;
	case SECTION_LINK:
		return &draft->link;
	}
	return NULL;
}

static int key_parse(struct assignment *assignment, void *values)
{
	assignment->value = (char *)values + assignment->key->offset;
	return assignment->key->type->parse(assignment);
}

static int key_reset(const struct key *key, void *values)
{
	struct assignment assignment = {.key = key, .text = key->initial, .first = true};

	return key_parse(&assignment, values);
}

int draft_init(struct draft *draft)
{
	unsigned count;
	const struct key *table = key_table(draft->kind, &count);

	for (unsigned i = 0; i < count; i++) {
		int r = key_reset(&table[i], draft_values(draft));

		if (r < 0)
			return r;
	}
	return 0;
}

static const char *value_objection(const struct assignment *assignment, int error,
				   char buffer[static WHY_SIZE])
{
	const struct key *key = assignment->key;

	if (assignment->wrong)
		return assignment->wrong;
	if (key->type == &type_number) {
		snprintf(buffer, WHY_SIZE, "expected a number from %" PRIu64 " to %" PRIu64,
			 key->smallest, key->largest);
		return buffer;
	}
	return error == -ERANGE && key->range ? key->range : key->type->expected;
}

static void complain_value(struct reading *reading, struct place place,
			   const struct assignment *assignment, int error)
{
	char buffer[WHY_SIZE];

	complain(reading, place, "%s=%s: %s", assignment->key->name, assignment->text,
		 value_objection(assignment, error, buffer));
}

static void complain_unknown(struct reading *reading, struct place place, const char *name)
{
	enum section_kind kind = reading->section->kind;
	const char *words[CONFIG_KEYS_LARGEST], *nearest;
	unsigned count;
	const struct key *table = key_table(kind, &count);

	for (unsigned i = 0; i < count; i++)
		words[i] = table[i].name;
	nearest = value_nearest(name, words, count);
	if (nearest) {
		complain(reading, place, "%s=: unknown key in [%s], did you mean %s=?", name,
			 section_names[kind], nearest);
		return;
	}
	for (unsigned other = 0; other < SECTION_COUNT; other++)
		if (key_find(other, name)) {
			complain(reading, place, "%s=: unknown key in [%s], it belongs in [%s%s]",
				 name, section_names[kind], section_names[other],
				 other == SECTION_DAEMON ? "" : " NAME");
			return;
		}
	complain(reading, place, "%s=: unknown key in [%s]", name, section_names[kind]);
}

int draft_assign(struct reading *reading, const char *name, const char *text)
{
	struct draft *draft = reading->section;
	struct place place = {reading->file_count, reading->line};
	const struct key *key = key_find(draft->kind, name);
	struct assignment assignment = {.key = key, .text = text};
	unsigned count, at;
	void *values = draft_values(draft);
	int r;

	if (!key) {
		complain_unknown(reading, place, name);
		return 0;
	}
	at = (unsigned)(key - key_table(draft->kind, &count));
	draft->places[at] = place;
	if (!*text) {
		draft->set &= ~(1U << at);
		return key_reset(key, values);
	}
	assignment.first = !(draft->set & (1U << at));
	r = key_parse(&assignment, values);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		complain_value(reading, place, &assignment, r);
	draft->set |= 1U << at;
	return 0;
}

int draft_set(struct draft *draft, const char *name, const char *text, char ret_why[static WHY_SIZE])
{
	struct assignment assignment = {.key = key_find(draft->kind, name), .text = text};
	char buffer[WHY_SIZE];
	int r = -EINVAL;

	if (!assignment.key) {
		snprintf(ret_why, WHY_SIZE, "there is no such key");
		return -EINVAL;
	}
	/* as long as a line of the file may be, and never "as if it were not there" */
	if (*text && strlen(text) <= CONFIG_LINE_LONGEST)
		r = key_parse(&assignment, draft_values(draft));
	if (r == -EINVAL || r == -ERANGE)
		snprintf(ret_why, WHY_SIZE, "%s", value_objection(&assignment, r, buffer));
	return r;
}

static int key_position(const struct draft *draft, const char *name)
{
	unsigned count;
	const struct key *key = key_find(draft->kind, name);

	return key ? (int)(key - key_table(draft->kind, &count)) : -ENOENT;
}

bool draft_has(const struct draft *draft, const char *name)
{
	int at = key_position(draft, name);

	return at >= 0 && draft->set & (1U << at);
}

struct place draft_place(const struct draft *draft, const char *name)
{
	int at = key_position(draft, name);

	return at >= 0 && draft->places[at].file ? draft->places[at] : draft->begin;
}

void draft_inherit(struct draft *draft, const struct config *config)
{
	unsigned count;
	const struct key *table = key_table(SECTION_PEER, &count);

	for (unsigned i = 0; i < count; i++) {
		const struct key *from;

		if (!table[i].inherits || draft->set & (1U << i))
			continue;
		from = key_find(SECTION_DAEMON, table[i].name);
		if (!from)
			continue;
		memcpy((char *)&draft->peer + table[i].offset, (const char *)config + from->offset,
		       from->size);
	}
	draft->peer.settings.remind_usec = config->defaults.remind_usec;
}

void draft_print(enum section_kind kind, const void *values, FILE *out)
{
	unsigned count;
	const struct key *table = key_table(kind, &count);

	for (unsigned i = 0; i < count; i++)
		table[i].type->print(table[i].name, (const char *)values + table[i].offset, out);
}
