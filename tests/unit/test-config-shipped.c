/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: the sample and the manual against the table of keys, and memory that runs
 * out.
 */
#include "config-testing.h"

#include <errno.h>
#include <stdarg.h>

/* The sample with its comments on keys and sections taken away, or as it is. */
static char *sample(bool uncomment)
{
	FILE *file = fopen(SAMPLE, "r");
	char line[256], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert(file && out);
	while (fgets(line, sizeof(line), file)) {
		bool key = line[0] == '#' && (line[1] == '[' || (line[1] >= 'A' && line[1] <= 'Z'));

		fputs(line + (uncomment && key), out);
	}
	fclose(file);
	fclose(out);
	return text;
}

START_TEST(sample_is_default)
{
	char *plain = sample(false), *set = sample(true), *builtin, *text;
	struct config *config = good("");

	builtin = printed(config);
	config_free(config);
	config = good(plain);
	text = printed(config);
	ck_assert_str_eq(text, builtin);
	free(text);
	config_free(config);
	config = good(set);
	text = printed(config);
	ck_assert_msg(strncmp(text, builtin, strlen(builtin)) == 0, "%s", text);
	ck_assert_uint_eq(config->peer_count, 1);
	ck_assert_uint_eq(config->link_count, 1);
	config_free(config);
	/* every key is in it, in the order of --test-config */
	for (char *word = strtok(text, "\n"); word; word = strtok(NULL, "\n")) {
		size_t length = strcspn(word, "=");

		if (word[length] == '=')
			word[length + 1] = '\0';
		ck_assert_msg(strstr(set, word) != NULL, "%s is not in the sample", word);
	}
	free(text);
	free(builtin);
	free(plain);
	free(set);
}
END_TEST

/* Each key has its paragraph in the manual, and the manual's examples are ones that load. */
START_TEST(manual_is_complete)
{
	FILE *file = fopen(MANUAL, "r"), *out;
	char line[256], name[64], *text = NULL, *examples = NULL;
	size_t size, examples_size;
	bool example = false;

	ck_assert_ptr_nonnull(file);
	out = open_memstream(&examples, &examples_size);
	ck_assert_ptr_nonnull(out);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '[')
			example = true;
		else if (!strcmp(line, ".fi\n"))
			example = false;
		for (const char *at = line; example && *at; at++)
			if (*at != '\\')
				fputc(*at, out);
	}
	fclose(out);
	config_free(good(examples));
	ck_assert_uint_gt(examples_size, 200);
	free(examples);

	rewind(file);
	text = calloc(1, 1U << 16);
	ck_assert_ptr_nonnull(text);
	size = fread(text, 1, (1U << 16) - 1, file);
	ck_assert_uint_gt(size, 1000);
	fclose(file);
	for (unsigned kind = 0; kind < SECTION_COUNT; kind++) {
		unsigned count;
		const struct key *table = key_table(kind, &count);

		for (unsigned i = 0; i < count; i++) {
			snprintf(name, sizeof(name), "%s =", table[i].name);
			ck_assert_msg(strstr(text, name) != NULL, "%s", name);
		}
	}
	free(text);
}
END_TEST

/* Memory that runs out at any call: an error, nothing leaks, nothing crashes. */
static unsigned allocations_left = UINT32_MAX;

static bool allocation_fails(void)
{
	return allocations_left == 0 || (allocations_left != UINT32_MAX && --allocations_left == 0);
}

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
char *__real_strdup(const char *text);
int __real_vasprintf(char **ret, const char *format, va_list arguments);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **ret, const char *format, va_list arguments);
int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_calloc(size_t count, size_t size)
{
	return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return allocation_fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
	return allocation_fails() ? NULL : __real_reallocarray(memory, count, size);
}

char *__wrap_strdup(const char *text)
{
	return allocation_fails() ? NULL : __real_strdup(text);
}

int __wrap_vasprintf(char **ret, const char *format, va_list arguments)
{
	return allocation_fails() ? -1 : __real_vasprintf(ret, format, arguments);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = __wrap_vasprintf(ret, format, arguments);
	va_end(arguments);
	return r;
}

/* `text` in a file, read with memory for 1, 2, 3 ... allocations until that is enough. */
static void starve(const char *text, int expected)
{
	unsigned room = 1;
	int r = -ENOMEM;

	for (; r == -ENOMEM; room++) {
		FILE *stream = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
		struct config *config = NULL;
		char *error = NULL;

		ck_assert_uint_lt(room, 1000);
		allocations_left = room;
		r = config_load_stream(stream, "t.conf", &config, &error);
		allocations_left = UINT32_MAX;
		ck_assert_int_eq(r == 0, config != NULL);
		config_free(config);
		free(error);
		fclose(stream);
	}
	ck_assert_int_eq(r, expected);
	ck_assert_uint_gt(room, 5);
}

START_TEST(no_memory)
{
	starve("[Peer a]\nAddress=h\nInterface=a\n[Peer b]\nAddress=1.2.3.4\n[Link x]\nIgnore=1\n",
	       0);
	starve("[Daemon]\nTries=x\nMetricsFile=/x\n[Peer a]\nAddress=h\nAddress=i\n[Link x]\nx=\n",
	       -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-shipped");
	TCase *tests = tcase_create("config-shipped");

	tcase_add_test(tests, sample_is_default);
	tcase_add_test(tests, manual_is_complete);
	tcase_add_test(tests, no_memory);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
