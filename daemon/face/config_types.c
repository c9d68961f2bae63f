/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kinds of values that keys have: how each is read, checked by itself, and printed again.
 * What must fit together with other keys is not looked at here.
 */
#include "config_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "address_text.h"

/* A number in the key's range, stored in the width the key has. */
static int number_store(struct assignment *assignment, uint64_t number)
{
	const struct key *key = assignment->key;

	if (number < key->smallest || number > key->largest)
		return -ERANGE;
	switch (key->size) {
	case sizeof(uint16_t):
		*(uint16_t *)assignment->value = (uint16_t)number;
		return 0;
	case sizeof(uint32_t):
		*(uint32_t *)assignment->value = (uint32_t)number;
		return 0;
	case sizeof(uint64_t):
		*(uint64_t *)assignment->value = number;
		return 0;
	}
	return -EINVAL;
}

static int parse_number(struct assignment *assignment)
{
	uint64_t number;
	int r;

	if (!*assignment->text) {
		memset(assignment->value, 0, assignment->key->size);
		return 0;
	}
	r = value_number(assignment->text, &number);
	return r < 0 ? r : number_store(assignment, number);
}

static void print_u32(const char *name, const void *value, FILE *out)
{
	uint32_t number = *(const uint32_t *)value;

	fprintf(out, "%s=", name);
	if (number)
		fprintf(out, "%" PRIu32, number);
	fputc('\n', out);
}

static void print_u16(const char *name, const void *value, FILE *out)
{
	uint32_t number = *(const uint16_t *)value;

	print_u32(name, &number, out);
}

static int parse_time(struct assignment *assignment)
{
	uint64_t usec;
	int r = value_time(assignment->text, &usec);

	if (r < 0)
		return r;
	if (usec == 0 && assignment->key->zero_too) {
		*(uint64_t *)assignment->value = 0;
		return 0;
	}
	return number_store(assignment, usec);
}

static void print_time(const char *name, const void *value, FILE *out)
{
	fprintf(out, "%s=", name);
	value_print_time(*(const uint64_t *)value, out);
	fputc('\n', out);
}

static int parse_bandwidth(struct assignment *assignment)
{
	uint64_t bits;
	int r = value_bandwidth(assignment->text, &bits);

	return r < 0 ? r : number_store(assignment, bits);
}

static void print_bandwidth(const char *name, const void *value, FILE *out)
{
	fprintf(out, "%s=", name);
	value_print_bandwidth(*(const uint64_t *)value, out);
	fputc('\n', out);
}

static int parse_boolean(struct assignment *assignment)
{
	return value_boolean(assignment->text, assignment->value);
}

static void print_boolean(const char *name, const void *value, FILE *out)
{
	fprintf(out, "%s=%s\n", name, *(const bool *)value ? "yes" : "no");
}

/* no, yes (the port that is ours by custom) or a port */
#define RESPONDER_PORT 8899

static int parse_responder(struct assignment *assignment)
{
	uint64_t port;
	bool on;
	int r;

	if (value_number(assignment->text, &port) == 0 && port > 1)
		return number_store(assignment, port);
	r = value_boolean(assignment->text, &on);
	if (r < 0)
		return r;
	*(uint16_t *)assignment->value = on ? RESPONDER_PORT : 0;
	return 0;
}

static void print_responder(const char *name, const void *value, FILE *out)
{
	uint16_t port = *(const uint16_t *)value;

	if (port)
		fprintf(out, "%s=%" PRIu16 "\n", name, port);
	else
		fprintf(out, "%s=no\n", name);
}

static int parse_path(struct assignment *assignment)
{
	char **value = assignment->value;
	char *path = NULL;

	if (*assignment->text) {
		if (assignment->text[0] != '/' ||
		    assignment->text[strlen(assignment->text) - 1] == '/')
			return -EINVAL;
		path = strdup(assignment->text);
		if (!path)
			return -ENOMEM;
	}
	free(*value);
	*value = path;
	return 0;
}

static void print_path(const char *name, const void *value, FILE *out)
{
	const char *path = *(char *const *)value;

	fprintf(out, "%s=%s\n", name, path ? path : "");
}

static int word_store(struct assignment *assignment, const char *const *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(assignment->text, words[i])) {
			*(unsigned *)assignment->value = i;
			return 0;
		}
	return -EINVAL;
}

_Static_assert(sizeof(enum clamp_kind) == sizeof(unsigned), "words are stored as unsigned");
_Static_assert(sizeof(enum method) == sizeof(unsigned), "words are stored as unsigned");

static const char *const clamp_words[] = {
	[CLAMP_OFF] = "off", [CLAMP_ROUTE] = "route", [CLAMP_LINK] = "link"};

static int parse_clamp(struct assignment *assignment)
{
	return word_store(assignment, clamp_words, CLAMP_LINK + 1);
}

static void print_clamp(const char *name, const void *value, FILE *out)
{
	fprintf(out, "%s=%s\n", name, clamp_words[*(const unsigned *)value]);
}

/* Unset, a link says nothing of clamps; that is not the same as off. */
static void print_link_clamp(const char *name, const void *value, FILE *out)
{
	const struct config_link *link =
		(const struct config_link *)(const void *)((const char *)value -
							   offsetof(struct config_link, clamp));

	if (link->clamp_set)
		print_clamp(name, value, out);
	else
		fprintf(out, "%s=\n", name);
}

static const char *const method_words[] = {[METHOD_AUTO] = "auto",
					   [METHOD_ICMP] = "icmp",
					   [METHOD_TCP] = "tcp",
					   [METHOD_UDP] = "udp",
					   [METHOD_RESPONDER] = "responder"};

static int parse_method(struct assignment *assignment)
{
	return word_store(assignment, method_words, METHOD_RESPONDER + 1);
}

static void print_method(const char *name, const void *value, FILE *out)
{
	fprintf(out, "%s=%s\n", name, method_words[*(const unsigned *)value]);
}

const struct key_type type_time = {parse_time, print_time,
				   "expected a time such as 30s or 1min 30s"};
const struct key_type type_number = {parse_number, print_u32, "expected a whole number"};
const struct key_type type_port = {parse_number, print_u16, "expected a port, 1 to 65535"};
const struct key_type type_boolean = {parse_boolean, print_boolean, "expected yes or no"};
const struct key_type type_bandwidth = {parse_bandwidth, print_bandwidth,
					"expected bits per second such as 500K, 10M or 1G"};
const struct key_type type_responder = {parse_responder, print_responder,
					"expected no, yes or a port, 2 to 65535"};
const struct key_type type_path = {parse_path, print_path, "expected an absolute path of a file"};
const struct key_type type_clamp = {parse_clamp, print_clamp, "expected off, route or link"};
const struct key_type type_link_clamp = {parse_clamp, print_link_clamp,
					 "expected off, route or link"};
const struct key_type type_method = {parse_method, print_method,
				     "expected auto, icmp, tcp, udp or responder"};
