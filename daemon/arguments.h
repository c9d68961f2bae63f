/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the command line asks for. Complains of what is written wrong, and does nothing of it.
 */
#pragma once

#include <stdbool.h>

#include "face/config.h"
#include "face/report.h"

enum mode {
	MODE_DAEMON,
	MODE_TEST_CONFIG,
	MODE_ONCE,
	MODE_RELEASE,
	MODE_DONE, /* --help, --version */
};

struct request_option;

struct arguments {
	enum mode mode;
	const char *config_path;
	const char **addresses; /* NULL none */
	struct request_option *options; /* of these addresses */
	unsigned option_count;
	struct config_peer **requests; /* made of both, ended by NULL; NULL none */
	bool json;
	enum report_form form;
};

/* Into *ret, which is all zero before. --help and --version are answered here. -EINVAL: what is wrong
 * has been said on stderr. */
int arguments_parse(int argc, char **argv, struct arguments *ret);
void arguments_done(struct arguments *arguments);
