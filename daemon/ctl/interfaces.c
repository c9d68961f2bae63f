/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ifupdown's file, interfaces(5), and what it includes: where a link's stanza is. Reads only.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"

#define INTERFACES "/etc/network/interfaces"
#define DEEPEST 4

struct reading_interfaces {
	struct manager *found;
	const char *root;
	const char *link;
	unsigned depth;
};

static void file_read(struct reading_interfaces *reading, const char *path);

static void files_read(struct reading_interfaces *reading, const char *pattern)
{
	glob_t found = {0};

	if (++reading->depth < DEEPEST && glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			file_read(reading, found.gl_pathv[i]);
	reading->depth--;
	globfree(&found);
}

/* A relative one is in the folder of the main file. */
static void include(struct reading_interfaces *reading, const char *word, const char *behind)
{
	char pattern[2 * FILE_NAME_SIZE];

	snprintf(pattern, sizeof(pattern), "%s%s%s%s", reading->root,
		 word[0] == '/' ? "" : "/etc/network/", word, behind);
	files_read(reading, pattern);
}

/* IPv4's stanza, whose methods know "mtu", rather than IPv6's. */
static void stanza(struct reading_interfaces *reading, const char *path, const char *family,
		   const char *method)
{
	struct manager *found = reading->found;

	if (found->kind == MANAGER_IFUPDOWN && strcmp(family, "inet") != 0)
		return;
	found->kind = MANAGER_IFUPDOWN;
	snprintf(found->file, sizeof(found->file), "%s", path + strlen(reading->root));
	snprintf(found->name, sizeof(found->name), "%.15s", family);
	snprintf(found->section, sizeof(found->section), "%.31s", method);
}

static void line_read(struct reading_interfaces *reading, const char *path, const char *line)
{
	char first[32] = "", second[128] = "", third[32] = "", fourth[32] = "";
	int words = sscanf(line, "%31s %127s %31s %31s", first, second, third, fourth);

	if (words >= 4 && strcmp(first, "iface") == 0 && strcmp(second, reading->link) == 0)
		stanza(reading, path, third, fourth);
	else if (words >= 2 && strcmp(first, "source") == 0)
		include(reading, second, "");
	else if (words >= 2 && strcmp(first, "source-directory") == 0)
		include(reading, second, "/*");
}

static void file_read(struct reading_interfaces *reading, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return;
	while (getline(&line, &room, file) >= 0)
		line_read(reading, path, line);
	free(line);
	fclose(file);
}

bool manager_from_interfaces(struct manager *ret, const char *root, const char *link)
{
	struct reading_interfaces reading = {.found = ret, .root = root, .link = link};
	char path[2 * FILE_NAME_SIZE];

	*ret = (struct manager){.kind = MANAGER_NONE};
	snprintf(path, sizeof(path), "%s" INTERFACES, root);
	file_read(&reading, path);
	return ret->kind == MANAGER_IFUPDOWN;
}
