/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One description of everything: the same fields for the bus, JSON and the table.
 */
#pragma once

#include <stdio.h>

#include "../core/roster.h"

enum field_type {
	FIELD_STRING,   /* s; value.string, malloc'ed */
	FIELD_BOOLEAN,  /* b */
	FIELD_INTEGER,  /* i */
	FIELD_U32,      /* u */
	FIELD_U64,      /* t */
	FIELD_FINDINGS, /* a(ssss) */
	FIELD_PATHS,    /* aa{sv} */
};

struct field_value {
	union {
		char *string; /* the caller frees */
		bool boolean;
		int32_t integer;
		uint32_t u32;
		uint64_t u64;
		struct findings findings;
		const struct peer *paths_of;
	};
};

/*
 * One property of a peer under the name it has on the bus. With `path` NULL get() gives the whole
 * peer's value: its worst path's, or the sum for what is counted. 0, or -ENOMEM.
 */
struct peer_field {
	const char *name;
	enum field_type type;
	bool signalled; /* part of PropertiesChanged */
	bool of_path;   /* also a key in each dictionary of Paths */
	int (*get)(const struct peer *peer, const struct path *path, struct field_value *ret);
};

struct link_field {
	const char *name;
	enum field_type type;
	bool signalled;
	int (*get)(const struct link_state *state, struct field_value *ret);
};

void field_value_done(enum field_type type, struct field_value *value);

extern const struct peer_field report_peer_fields[]; /* ended by a NULL name */
extern const struct link_field report_link_fields[];

enum report_form {
	REPORT_TABLE,
	REPORT_JSON_SHORT,
	REPORT_JSON_PRETTY,
};

/* The whole document that Describe() returns and --json prints. malloc'ed; NULL out of memory. */
char *report_json(const struct roster *roster, bool pretty);

/* Any JSON as we print it. The text is the object's; NULL out of memory. */
struct json_object;
const char *report_json_text(struct json_object *object, bool pretty);

/* The faults that the last table told of, in the order of their text. Begins empty. */
struct report_told {
	char **texts;
	unsigned count;
};
void report_told_done(struct report_told *told);

struct report_style {
	bool colour;              /* for a terminal */
	unsigned width;           /* columns, 0 unlimited */
	struct report_told *told; /* tell only of faults that are not in it, and keep it; or NULL */
};

/* What stands where there is no peer. */
void report_nothing(FILE *out, uint16_t answering_port);
/* The table of --once and of the foreground view: peers, then report_faults(). */
void report_table(const struct roster *roster, FILE *out, const struct report_style *style);

/* What is wrong, in words, each fault once; an empty line before the first. */
void report_faults(const struct roster *roster, FILE *out, const struct report_style *style);

/* Ends the line with `text`, of which `column` columns are written; further lines are indented. */
void report_wrap(FILE *out, const char *text, unsigned column, unsigned width);
const char *report_colour(enum severity severity);

/* INTERFACE 6: 0 ok or notice, 1 warning, 2 critical, 3 unknown, unreachable or no peers. */
int report_exit_code(const struct roster *roster);
