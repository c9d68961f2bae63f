/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which files make up the configuration, in systemd's order: the first main file there is, then
 * the drop-ins of all directories by file name, where a directory earlier in the list hides the
 * same name in later ones. Only names are looked at; what is in the files is not.
 */
#include "config_parse.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAIN_FILE "mtuwatchd/mtuwatchd.conf"

static const char *const directories[] = {"/etc", "/run", "/usr/local/lib", "/usr/lib"};
#define DIRECTORY_COUNT (sizeof(directories) / sizeof(directories[0]))

char **config_files_free(char **files)
{
	for (char **file = files; file && *file; file++)
		free(*file);
	free(files);
	return NULL;
}

/* Takes `file` over, also on error. */
static int files_add(char ***files, unsigned *count, char *file)
{
	char **grown = file ? reallocarray(*files, *count + 2, sizeof(char *)) : NULL;

	if (!grown) {
		free(file);
		return -ENOMEM;
	}
	grown[(*count)++] = file;
	grown[*count] = NULL;
	*files = grown;
	return 0;
}

static int main_file_find(const char *root, char ***files, unsigned *count)
{
	struct stat status;

	for (unsigned i = 0; i < DIRECTORY_COUNT; i++) {
		char *path;

		if (asprintf(&path, "%s%s/" MAIN_FILE, root, directories[i]) < 0)
			return -ENOMEM;
		/* one that is there but cannot be reached is found: opening it tells why */
		if (lstat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR))
			return files_add(files, count, path);
		free(path);
	}
	return 0;
}

static const char *file_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static bool is_drop_in(const char *name)
{
	size_t length = strlen(name);

	return name[0] != '.' && length > 5 && !strcmp(name + length - 5, ".conf");
}

static bool files_have(char *const *files, unsigned first, unsigned count, const char *name)
{
	for (unsigned i = first; i < count; i++)
		if (!strcmp(file_name(files[i]), name))
			return true;
	return false;
}

static int directory_add(const char *path, char ***files, unsigned *count, unsigned first)
{
	unsigned before = *count;
	struct dirent *entry;
	DIR *directory = opendir(path);
	char *file;
	int r = 0;

	if (!directory) {
		if (errno == ENOENT || errno == ENOTDIR)
			return 0;
		/* as with files: reading it will tell why it cannot be read */
		return files_add(files, count, strdup(path));
	}
	while (r == 0 && (errno = 0, entry = readdir(directory))) {
		if (!is_drop_in(entry->d_name) || files_have(*files, first, before, entry->d_name))
			continue;
		if (asprintf(&file, "%s/%s", path, entry->d_name) < 0)
			file = NULL;
		r = files_add(files, count, file);
	}
	if (r == 0 && errno)
		r = -errno;
	closedir(directory);
	return r;
}

static int file_compare(const void *a, const void *b)
{
	return strcmp(file_name(*(char *const *)a), file_name(*(char *const *)b));
}

int config_files(const char *root, char ***ret)
{
	char **files = calloc(1, sizeof(char *));
	unsigned count = 0, first;
	int r = files ? main_file_find(root, &files, &count) : -ENOMEM;

	first = count;
	for (unsigned i = 0; i < DIRECTORY_COUNT && r == 0; i++) {
		char *path;

		if (asprintf(&path, "%s%s/" MAIN_FILE ".d", root, directories[i]) < 0) {
			r = -ENOMEM;
			break;
		}
		r = directory_add(path, &files, &count, first);
		free(path);
	}
	if (r < 0) {
		while (count > 0)
			free(files[--count]);
		free(files);
		return r;
	}
	if (count > first)
		qsort(files + first, count - first, sizeof(char *), file_compare);
	*ret = files;
	return 0;
}
