/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the configuration share among themselves; nobody else includes this.
 *
 * files -> reader (lines, sections) -> keys (which value goes where) -> values (what a text means)
 *       -> check (what must fit together) -> struct config
 */
#pragma once

#include "config.h"

#define CONFIG_LINE_LONGEST 199    /* longer ones are torn apart by inih */
#define CONFIG_SECTION_LONGEST 49  /* longer ones are cut off by inih */
#define CONFIG_KEYS_LARGEST 18     /* of one kind of section */
#define CONFIG_COMPLAINTS_LARGEST 50

enum section_kind {
	SECTION_DAEMON,
	SECTION_PEER,
	SECTION_LINK,
};
#define SECTION_COUNT 3

/* Where something was written; file counts from 1, 0: nowhere. */
struct place {
	unsigned file;
	unsigned line;
};

struct complaint {
	struct place place;
	char *line; /* with its end of line */
};

/* In the order of files and lines, whenever they were found. */
struct complaints {
	struct complaint list[CONFIG_COMPLAINTS_LARGEST];
	unsigned count; /* those that did not fit too */
	int error;      /* the first one, negative errno; 0: there is none */
};

/* One section on its way: values go straight to their place, what was set is noted beside. */
struct draft {
	enum section_kind kind;
	char name[CONFIG_SECTION_LONGEST + 1];
	struct place begin;  /* where it was written first */
	struct place latest; /* where it was written last */
	uint32_t set; /* one bit a key, in the order of the table */
	struct place places[CONFIG_KEYS_LARGEST];
	union {
		struct config *daemon;
		struct config_peer peer;
		struct config_link link;
	};
};

/* The reading of a whole configuration, several files. */
struct reading {
	struct complaints complaints;
	char **files;
	unsigned file_count;
	struct config *config;
	struct draft *daemon;
	struct draft **drafts; /* peers and links in the order they were written */
	unsigned draft_count;
	void *by_name;         /* tsearch(3) tree of the same */

	/* the file being read */
	FILE *stream;
	uint64_t bytes;
	unsigned line;
	unsigned sections;     /* headings seen, good or bad */
	struct draft *section; /* NULL: none yet, or one that was complained about */
};

/* config_reader.c: -ENOMEM at once; everything else is only complained about. `name` is for the
 * complaints. */
int config_read(struct reading *reading, FILE *stream, const char *name);
void complain(struct reading *reading, struct place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* An error that is no line's fault. */
void complain_file(struct reading *reading, int error, const char *name);

/* config_keys.c */
struct assignment;
struct key_type {
	/* "" gives back the memory and the value to nothing. -EINVAL for a wrong text. */
	int (*parse)(struct assignment *assignment);
	void (*print)(const char *name, const void *value, FILE *out);
	const char *expected;
};

struct key {
	const char *name;
	const struct key_type *type;
	size_t offset;       /* of the value in config, config_peer or config_link */
	size_t size;         /* of plain values; 0: lists and compounds, the target is all of it */
	uint64_t smallest, largest;
	bool zero_too;       /* 0 is below `smallest` and stands for never */
	const char *range;   /* what to expect of a value outside them; NULL: the type's */
	const char *initial; /* the default as one would write it */
	bool inherits;       /* unset in a peer: the daemon's */
};

struct assignment {
	const struct key *key;
	const char *text;
	void *value;
	bool first;        /* of a list: nothing but the default is there yet */
	const char *wrong; /* out: better than key->type->expected, NULL it is not */
};

extern const char *const section_names[SECTION_COUNT];
const struct key *key_table(enum section_kind kind, unsigned *ret_count);
int draft_init(struct draft *draft); /* everything to its default */
void draft_done(struct draft *draft);
int draft_assign(struct reading *reading, const char *name, const char *text);
#define WHY_SIZE 128
/* Sets one key by itself. -EINVAL, -ERANGE: `ret_why` is what was expected. */
int draft_set(struct draft *draft, const char *name, const char *text, char ret_why[static WHY_SIZE]);
void draft_inherit(struct draft *peer, const struct config *config);
/* Where `name` was set, or where the section began. */
struct place draft_place(const struct draft *draft, const char *name);
bool draft_has(const struct draft *draft, const char *name);
void draft_print(enum section_kind kind, const void *values, FILE *out);

/* config_values.c; all return 0, -EINVAL or -ERANGE and write only on success */
int value_number(const char *text, uint64_t *ret);
int value_time(const char *text, uint64_t *ret_usec);
int value_bandwidth(const char *text, uint64_t *ret);
int value_boolean(const char *text, bool *ret);
void value_print_time(uint64_t usec, FILE *out);
void value_print_bandwidth(uint64_t bits, FILE *out);
bool value_is_link_name(const char *text);
bool value_is_host_name(const char *text);

/* config_text.c */
bool value_is_utf8(const char *text, size_t length);
/* Why it is no text that can be shown; NULL it is. */
const char *value_text_objection(const char *text, size_t length);
/* The one of `count` words that `text` was probably meant to be, NULL none is close. */
const char *value_nearest(const char *text, const char *const *words, unsigned count);

/* config_types.c: plain values; config_hosts.c: addresses, links and lists */
extern const struct key_type type_time, type_number, type_boolean, type_bandwidth, type_port,
	type_clamp, type_link_clamp, type_method, type_responder, type_path;
extern const struct key_type type_family, type_discover, type_address, type_source, type_interfaces;

/* config_check.c: what must fit together; moves the drafts into the configuration. */
int config_finish(struct reading *reading);
/* What does not fit together in one peer. */
struct clash {
	const char *key;
	char text[WHY_SIZE];
};
bool peer_size_clash(const struct config_peer *peer, struct clash *ret);
/* Settles the link of a link-local address where there is no clash. */
bool peer_zone_clash(struct config_peer *peer, struct clash *ret);

/* config.c, for tests: everything under another root, as systemd-analyze --root= does */
int config_load_root(const char *root, struct config **ret, char **ret_error);
/* One stream alone. */
int config_load_stream(FILE *stream, const char *name, struct config **ret, char **ret_error);
/* Main file and drop-ins that config_load_root() would read, in this order; NULL-terminated. */
int config_files(const char *root, char ***ret);
char **config_files_free(char **files);
