/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Everything as one JSON document. The names and values are those of the bus; nothing is decided
 * here.
 */
#include "report.h"

#include <errno.h>
#include <json-c/json.h>
#include <json-c/json_visit.h>
#include <json-c/printbuf.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

static inline void json_drop(struct json_object **object)
{
	json_object_put(*object);
}
#define _drop_json_ __attribute__((cleanup(json_drop)))

/* Our keys are literals and come once: json-c need neither copy them nor look them up. */
#define KEY_OF_OURS (JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_KEY_IS_CONSTANT)

/* json-c lays an empty one out over two lines. */
static int array_print_empty(struct json_object *array, struct printbuf *out, int level, int flags)
{
	return printbuf_memappend(out, "[]", 2);
}

static int array_visit(struct json_object *value, int flags, struct json_object *parent,
		       const char *key, size_t *index, void *userdata)
{
	if (json_object_is_type(value, json_type_array) && json_object_array_length(value) == 0)
		json_object_set_serializer(value, array_print_empty, NULL, NULL);
	return JSON_C_VISIT_RETURN_CONTINUE;
}

const char *report_json_text(struct json_object *object, bool pretty)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	if (pretty) {
		flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
		json_c_visit(object, 0, array_visit, NULL);
	}
	return json_object_to_json_string_ext(object, flags);
}

/* Both take `value` over, also when they fail. */
static int object_add(struct json_object *object, const char *key, struct json_object *value)
{
	if (value && json_object_object_add_ex(object, key, value, KEY_OF_OURS) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int array_add(struct json_object *array, struct json_object *value)
{
	if (value && json_object_array_add(array, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int object_add_text(struct json_object *object, const char *key, const char *text)
{
	return text ? object_add(object, key, json_object_new_string(text)) : -ENOMEM;
}

/* Takes `text` over. */
static int object_take_text(struct json_object *object, const char *key, char *text)
{
	int r = object_add_text(object, key, text);

	free(text);
	return r;
}

static struct json_object *json_finding(const struct finding *finding)
{
	_drop_json_ struct json_object *object = json_object_new_object();

	if (!object || object_add_text(object, "Id", words_finding(finding->id)) < 0 ||
	    object_add_text(object, "Severity", words_severity(finding->severity)) < 0 ||
	    object_take_text(object, "Text", words_finding_text(finding)) < 0 ||
	    object_take_text(object, "Advice", words_finding_advice(finding)) < 0)
		return NULL;
	return json_object_get(object);
}

static struct json_object *json_findings(const struct findings *findings)
{
	_drop_json_ struct json_object *array = json_object_new_array();

	for (unsigned i = 0; array && i < findings->count; i++)
		if (array_add(array, json_finding(&findings->list[i])) < 0)
			return NULL;
	return json_object_get(array);
}

static struct json_object *json_paths(const struct peer *peer);

static struct json_object *json_value(enum field_type type, const struct field_value *value)
{
	switch (type) {
	case FIELD_STRING:
		return json_object_new_string(value->string);
	case FIELD_BOOLEAN:
		return json_object_new_boolean(value->boolean);
	case FIELD_INTEGER:
		return json_object_new_int(value->integer);
	case FIELD_U32:
		return json_object_new_int64(value->u32);
	case FIELD_U64:
		return json_object_new_uint64(value->u64);
	case FIELD_FINDINGS:
		return json_findings(&value->findings);
	case FIELD_PATHS:
		return json_paths(value->paths_of);
	}
	return NULL;
}

static int object_add_peer_field(struct json_object *object, const struct peer_field *field,
				 const struct peer *peer, const struct path *path)
{
	struct field_value value;
	int r;

	r = field->get(peer, path, &value);
	if (r < 0)
		return r;
	r = object_add(object, field->name, json_value(field->type, &value));
	field_value_done(field->type, &value);
	return r;
}

/* `path` NULL: the whole peer. */
static struct json_object *json_peer(const struct peer *peer, const struct path *path)
{
	_drop_json_ struct json_object *object = json_object_new_object();

	for (const struct peer_field *field = report_peer_fields; object && field->name; field++)
		if ((!path || field->of_path) &&
		    object_add_peer_field(object, field, peer, path) < 0)
			return NULL;
	return json_object_get(object);
}

static struct json_object *json_paths(const struct peer *peer)
{
	_drop_json_ struct json_object *array = json_object_new_array();

	for (unsigned i = 0; array && i < peer->path_count; i++)
		if (array_add(array, json_peer(peer, &peer->paths[i])) < 0)
			return NULL;
	return json_object_get(array);
}

static struct json_object *json_link(const struct link_state *state)
{
	_drop_json_ struct json_object *object = json_object_new_object();

	for (const struct link_field *field = report_link_fields; object && field->name; field++) {
		struct field_value value;
		int r;

		if (field->get(state, &value) < 0)
			return NULL;
		r = object_add(object, field->name, json_value(field->type, &value));
		field_value_done(field->type, &value);
		if (r < 0)
			return NULL;
	}
	return json_object_get(object);
}

/* --- many of them: each becomes text by itself, so that there is never a tree of all --- */

/* Laid out as it would be at this level. No text of ours holds a line's end: JSON escapes it. */
static int text_print(struct printbuf *out, const char *text, int level)
{
	for (;;) {
		size_t line = strcspn(text, "\n");

		if (printbuf_memappend(out, text, (int)line) < 0)
			return -1;
		text += line;
		if (*text++ == '\0')
			return 0;
		if (printbuf_memappend(out, "\n", 1) < 0 || printbuf_memset(out, -1, ' ', 2 * level) < 0)
			return -1;
	}
}

/* Takes `object` over. */
static int object_print(struct json_object *object, struct printbuf *out, int level, int flags)
{
	const char *text = object ? report_json_text(object, flags & JSON_C_TO_STRING_PRETTY) : NULL;
	int r = text ? text_print(out, text, level) : -1;

	json_object_put(object);
	return r;
}

static int peer_print(struct json_object *place, struct printbuf *out, int level, int flags)
{
	return object_print(json_peer(json_object_get_userdata(place), NULL), out, level, flags);
}

static int link_print(struct json_object *place, struct printbuf *out, int level, int flags)
{
	return object_print(json_link(json_object_get_userdata(place)), out, level, flags);
}

/* Stands for what `print` makes of `what` when its turn comes. */
static int array_add_later(struct json_object *array, json_object_to_json_string_fn *print, void *what)
{
	struct json_object *place = json_object_new_int(0);

	if (place)
		json_object_set_serializer(place, print, what, NULL);
	return array_add(array, place);
}

static struct json_object *json_peers(const struct roster *roster)
{
	_drop_json_ struct json_object *array = json_object_new_array();

	for (unsigned i = 0; array && i < roster->peer_count; i++)
		if (array_add_later(array, peer_print, roster->peers[i]) < 0)
			return NULL;
	return json_object_get(array);
}

static struct json_object *json_links(const struct roster *roster)
{
	_drop_json_ struct json_object *array = json_object_new_array();

	for (unsigned i = 0; array && i < roster->link_count; i++)
		if (array_add_later(array, link_print, roster->links[i]) < 0)
			return NULL;
	return json_object_get(array);
}

char *report_json(const struct roster *roster, bool pretty)
{
	_drop_json_ struct json_object *all = json_object_new_object();
	const char *text;

	if (!all || object_add_text(all, "Version", VERSION) < 0 ||
	    object_add_text(all, "Verdict", words_verdict(roster_verdict(roster))) < 0 ||
	    object_add_text(all, "Severity", words_severity(roster_severity(roster))) < 0 ||
	    object_add(all, "ReportsIgnored", json_object_new_uint64(roster->reports_ignored)) < 0 ||
	    object_add(all, "ResponderPort", json_object_new_int(roster->answering_port)) < 0 ||
	    object_add(all, "Peers", json_peers(roster)) < 0 ||
	    object_add(all, "Links", json_links(roster)) < 0)
		return NULL;
	text = report_json_text(all, pretty);
	return text ? strdup(text) : NULL;
}
