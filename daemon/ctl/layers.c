/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a link lies on: sysfs has a lower_… entry for each. Reads; changes nothing.
 */
#include "layers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t number_read(const char *root, const char *link, const char *attribute)
{
	char path[FILE_NAME_SIZE], line[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/%s", root, link, attribute);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return (uint32_t)strtoul(line, NULL, 10);
}

static void device_read(struct device *ret, const char *root, struct json_object *document,
			const char *name)
{
	struct json_object *link = document_named(document, "Links", name);

	*ret = (struct device){
		.index = (int)document_number(link, "Index"),
		.mtu = (uint32_t)document_number(link, "MTU"),
		.most = (uint32_t)document_number(link, "MaxMTU"),
		.adds = (uint32_t)document_number(link, "Overhead"),
	};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->kind, sizeof(ret->kind), "%s", document_text(link, "Kind"));
	if (ret->index == 0)
		ret->index = (int)number_read(root, name, "ifindex");
	if (ret->mtu == 0)
		ret->mtu = number_read(root, name, "mtu");
}

static bool kind_sets_members(const char *kind)
{
	return strcmp(kind, "bond") == 0 || strcmp(kind, "team") == 0;
}

static bool layers_has(const struct layers *layers, const char *name)
{
	for (unsigned i = 0; i < layers->count; i++)
		if (strcmp(layers->list[i].name, name) == 0)
			return true;
	return false;
}

static int entry_is_lower(const struct dirent *entry)
{
	return strncmp(entry->d_name, "lower_", 6) == 0;
}

struct reading_layers {
	struct layers *layers;
	const char *root;
	struct json_object *document;
};

static void layers_add(struct reading_layers *reading, const struct device *device, unsigned depth);

static void layers_add_below(struct reading_layers *reading, const struct device *above,
			     const char *name, unsigned depth)
{
	struct device device;

	device_read(&device, reading->root, reading->document, name);
	device.above = above->above + above->adds;
	device.follows = above->follows || kind_sets_members(above->kind);
	layers_add(reading, &device, depth + 1);
}

/* What a tunnel's packets leave by; NULL not known. */
static const char *underlay_of(struct json_object *document, const char *tunnel)
{
	uint64_t index = document_number(document_named(document, "Links", tunnel), "UnderlayIndex");

	for (unsigned i = 0; index && i < document_count(document, "Links"); i++) {
		struct json_object *link = document_at(document, "Links", i);

		if (document_number(link, "Index") == index)
			return document_text(link, "Name");
	}
	return NULL;
}

/* sysfs knows what a device was tied to; what a tunnel's packets leave by otherwise, routes do. */
static void layers_add_lower(struct reading_layers *reading, const struct device *above,
			     unsigned depth)
{
	const char *underlay = underlay_of(reading->document, above->name);
	struct dirent **entries = NULL;
	char path[FILE_NAME_SIZE];
	int count;

	snprintf(path, sizeof(path), "%s/sys/class/net/%s", reading->root, above->name);
	count = scandir(path, &entries, entry_is_lower, alphasort);
	for (int i = 0; i < count; i++) {
		layers_add_below(reading, above, entries[i]->d_name + 6, depth);
		free(entries[i]);
	}
	free(entries);
	if (count <= 0 && underlay)
		layers_add_below(reading, above, underlay, depth);
}

/* Those below come first. Nobody stacks devices eight deep; a circle would. */
static void layers_add(struct reading_layers *reading, const struct device *device, unsigned depth)
{
	struct layers *layers = reading->layers;

	if (depth < 8)
		layers_add_lower(reading, device, depth);
	if (layers->count < LAYERS_LARGEST && !layers_has(layers, device->name))
		layers->list[layers->count++] = *device;
}

void layers_read(struct layers *ret, const char *root, struct json_object *document,
		 const char *link)
{
	struct reading_layers reading = {.layers = ret, .root = root, .document = document};
	struct device device;

	ret->count = 0;
	if (!link[0])
		return;
	device_read(&device, root, document, link);
	layers_add(&reading, &device, 0);
}
