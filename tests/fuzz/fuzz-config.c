/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes as a configuration: either an error with a complaint, or a configuration that prints,
 * and reads and prints again the same.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "face/config_parse.h"

static char *printed(const struct config *config, size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	config_print(config, out);
	fclose(out);
	return text;
}

static struct config *load(const void *data, size_t size)
{
	FILE *stream = fmemopen((void *)(uintptr_t)data, size, "r");
	struct config *config = NULL;
	char *error = NULL;
	int r = config_load_stream(stream, "fuzz", &config, &error);

	fclose(stream);
	if ((r < 0) != (config == NULL) || (r < 0) != (error != NULL))
		abort();
	free(error);
	return config;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *config = size ? load(data, size) : NULL;
	size_t length, again_length;
	char *text, *again;

	if (!config)
		return 0;
	text = printed(config, &length);
	config_free(config);
	config = load(text, length);
	if (!config)
		abort();
	again = printed(config, &again_length);
	if (length != again_length || memcmp(text, again, length))
		abort();
	config_free(config);
	free(text);
	free(again);
	return 0;
}
