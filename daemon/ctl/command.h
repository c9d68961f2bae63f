/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was typed, and where the answer goes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../face/report.h"

#define EXIT_UNABLE 3 /* unknown, unreachable or unable to ask */

#define PROBE_OPTIONS_LARGEST 16
#define SIZES_LARGEST 6

/* An option of probe: a key of a peer's configuration. */
struct probe_option {
	const char *name; /* "expect" */
	const char *key;  /* "ExpectMTU" */
	char type;	  /* on the bus */
	const char *text;
};

struct command {
	const struct verb *verb;
	char **names; /* peers, links, an address */
	unsigned name_count;
	enum report_form form;
	bool no_legend;
	bool no_pager;
	bool no_ask_password;
	bool nagios;
	const char *host; /* NULL: this one */
	struct probe_option probe[PROBE_OPTIONS_LARGEST];
	unsigned probe_count;
	uint64_t timeout_usec; /* of wait; 0: for ever */

	/* of measure */
	uint32_t sizes[SIZES_LARGEST]; /* ascending */
	unsigned size_count;	       /* 0: as the peer's path suggests */
	uint64_t time_usec;	       /* of a run, whole seconds */
	unsigned runs;
	uint16_t server_port;

	bool terminal; /* stdout is one */
	bool colour;
	unsigned width; /* of it; 0: no terminal, unlimited */
};

/* An option that not every verb takes. */
enum command_option {
	WITH_NAGIOS = 1 << 0,
	WITH_PROBE = 1 << 1,
	WITH_TIMEOUT = 1 << 2,
	WITH_PORT = 1 << 3,
	WITH_MEASURE = 1 << 4,
};

struct verb {
	const char *name;
	const char *names; /* "PEER...", "" none */
	const char *help;
	unsigned least, most; /* names */
	unsigned options;     /* enum command_option */
	bool paged;
	bool asks; /* for a password, where one is needed and somebody can be asked */
	int (*run)(const struct command *command); /* exit code */
};

int verb_list(const struct command *command);
int verb_links(const struct command *command);
int verb_status(const struct command *command);
int verb_check(const struct command *command);
int verb_probe(const struct command *command);
int verb_explain(const struct command *command);
int verb_measure(const struct command *command);
int verb_wait(const struct command *command);
int verb_monitor(const struct command *command);
int verb_release(const struct command *command);
int verb_reload(const struct command *command);
