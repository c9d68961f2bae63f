/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the configuration share: a text that has to load, or to be refused with
 * exactly this complaint.
 */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "face/config_parse.h"

static inline struct config *load(const char *text, size_t length, char **ret_error)
{
	FILE *stream = fmemopen((void *)(uintptr_t)text, length ? length : 1, "r");
	struct config *config = NULL;
	int r;

	ck_assert_ptr_nonnull(stream);
	if (length == 0)
		getc(stream);
	r = config_load_stream(stream, "t.conf", &config, ret_error);
	fclose(stream);
	ck_assert_int_eq(r < 0, config == NULL);
	return config;
}

static inline struct config *good(const char *text)
{
	char *error = NULL;
	struct config *config = load(text, strlen(text), &error);

	ck_assert_msg(config != NULL, "refused: %s%s", text, error ? error : "");
	ck_assert_ptr_null(error);
	return config;
}

static inline void bad_bytes(const char *text, size_t length, const char *complaint)
{
	char *error = NULL;
	struct config *config = load(text, length, &error);

	ck_assert_msg(config == NULL, "accepted: %s", text);
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strcmp(error, complaint) == 0, "for: %s\nexpected: %sgot: %s", text,
		      complaint, error);
	free(error);
}

static inline void bad(const char *text, const char *complaint)
{
	bad_bytes(text, strlen(text), complaint);
}

/* A key's value in a section that is otherwise fine. */
static inline void bad_peer(const char *line, const char *complaint)
{
	char *text, *whole;

	ck_assert_int_gt(asprintf(&text, "[Peer a]\nAddress=192.0.2.1\n%s\n", line), 0);
	ck_assert_int_gt(asprintf(&whole, "t.conf:3: %s\n", complaint), 0);
	bad(text, whole);
	free(text);
	free(whole);
}

static inline void bad_daemon(const char *line, const char *complaint)
{
	char *text, *whole;

	ck_assert_int_gt(asprintf(&text, "[Daemon]\n%s\n", line), 0);
	ck_assert_int_gt(asprintf(&whole, "t.conf:2: %s\n", complaint), 0);
	bad(text, whole);
	free(text);
	free(whole);
}

static inline void bad_address(const char *address, const char *why)
{
	char *text, *complaint;

	ck_assert_int_gt(asprintf(&text, "[Peer a]\nAddress=%s\n", address), 0);
	ck_assert_int_gt(asprintf(&complaint, "t.conf:2: Address=%s: %s\n", address, why), 0);
	bad(text, complaint);
	free(text);
	free(complaint);
}

static inline char *printed(const struct config *config)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	config_print(config, out);
	fclose(out);
	return text;
}

/* Runs the tests, telling in TAP. */
static inline int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
