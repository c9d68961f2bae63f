/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The document's parts: messages turned into JSON, and what can be asked of it.
 */
#include "document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/lint.h"
#include "../core/text.h"
#include "../face/words.h"

#define PEERS "Peers"
#define LINKS "Links"

int document_put(struct json_object *object, const char *key, struct json_object *value)
{
	if (value && object && json_object_object_add(object, key, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

int document_append(struct json_object *array, struct json_object *value)
{
	if (value && array && json_object_array_add(array, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

/* --- from messages --- */

static int value_read(sd_bus_message *message, struct json_object **ret);

struct json_object *document_string(const char *text)
{
	struct json_object *string = NULL;
	char *copy = strdup(text);

	if (copy) {
		text_clean(copy, '\0');
		string = json_object_new_string(copy);
	}
	free(copy);
	return string;
}

static int text_read(sd_bus_message *message, char type, struct json_object **ret)
{
	const char *text;
	int r = sd_bus_message_read_basic(message, type, &text);

	if (r < 0)
		return r;
	*ret = document_string(text);
	return *ret ? 0 : -ENOMEM;
}

static int number_read(sd_bus_message *message, char type, struct json_object **ret)
{
	union {
		int boolean;
		int32_t i32;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} value = {0};
	int r = sd_bus_message_read_basic(message, type, &value);

	if (r < 0)
		return r;
	if (type == 'b')
		*ret = json_object_new_boolean(value.boolean);
	else if (type == 'i')
		*ret = json_object_new_int(value.i32);
	else if (type == 'q')
		*ret = json_object_new_int64(value.u16);
	else if (type == 'u')
		*ret = json_object_new_int64(value.u32);
	else if (type == 't')
		*ret = json_object_new_uint64(value.u64);
	else
		return -EBADMSG;
	return *ret ? 0 : -ENOMEM;
}

/* The members of (ssss) have no names on the bus. */
static int finding_read(sd_bus_message *message, struct json_object **ret)
{
	static const char *const keys[] = {"Id", "Severity", "Text", "Advice"};
	_drop_ struct json_object *finding = json_object_new_object();
	int r = sd_bus_message_enter_container(message, 'r', "ssss");

	for (unsigned i = 0; r >= 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct json_object *text = NULL;

		r = text_read(message, 's', &text);
		if (r >= 0)
			r = document_put(finding, keys[i], text);
	}
	if (r < 0)
		return r;
	*ret = json_object_get(finding);
	return sd_bus_message_exit_container(message);
}

static int array_read(sd_bus_message *message, const char *contents, struct json_object **ret)
{
	_drop_ struct json_object *array = json_object_new_array();
	int r = sd_bus_message_enter_container(message, 'a', contents);

	while (r >= 0 && (r = sd_bus_message_at_end(message, false)) == 0) {
		struct json_object *value = NULL;

		r = value_read(message, &value);
		if (r >= 0)
			r = document_append(array, value);
	}
	if (r < 0)
		return r;
	*ret = json_object_get(array);
	return sd_bus_message_exit_container(message);
}

/* Nothing that is told has another kind of name. */
static bool key_is_ours(const char *key)
{
	return key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")] ==
	       '\0';
}

static int entry_read(sd_bus_message *message, struct json_object *object)
{
	struct json_object *value = NULL;
	const char *key, *contents;
	int r = sd_bus_message_read(message, "s", &key);

	if (r >= 0)
		r = sd_bus_message_peek_type(message, NULL, &contents);
	if (r >= 0)
		r = sd_bus_message_enter_container(message, 'v', contents);
	if (r >= 0)
		r = value_read(message, &value);
	if (r < 0)
		return r;
	if (!key_is_ours(key)) {
		json_object_put(value);
		return -EBADMSG;
	}
	r = document_put(object, key, value);
	return r < 0 ? r : sd_bus_message_exit_container(message);
}

int document_from_message(sd_bus_message *message, struct json_object **ret)
{
	_drop_ struct json_object *object = json_object_new_object();
	int r = sd_bus_message_enter_container(message, 'a', "{sv}");

	while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
		r = entry_read(message, object);
		if (r >= 0)
			r = sd_bus_message_exit_container(message);
	}
	if (r < 0)
		return r;
	*ret = json_object_get(object);
	return sd_bus_message_exit_container(message);
}

static int string_clean(struct json_object *string)
{
	char *copy = strdup(json_object_get_string(string));
	int r = -ENOMEM;

	if (copy) {
		text_clean(copy, '\0');
		r = json_object_set_string(string, copy) ? 0 : -ENOMEM;
	}
	free(copy);
	return r;
}

/* As deep as the parser goes, which is 32. */
static int value_clean(struct json_object *value)
{
	int r = 0;

	if (json_object_is_type(value, json_type_string))
		return string_clean(value);
	if (json_object_is_type(value, json_type_array))
		for (size_t i = 0; r >= 0 && i < json_object_array_length(value); i++)
			r = value_clean(json_object_array_get_idx(value, i));
	if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, one)
			if (!key_is_ours(key))
				json_object_object_del(value, key);
			else if (r >= 0)
				r = value_clean(one);
	}
	return r;
}

int document_from_text(const char *text, struct json_object **ret)
{
	_drop_ struct json_object *document = json_tokener_parse(text);
	int r = document ? value_clean(document) : -EBADMSG;

	if (r >= 0)
		*ret = json_object_get(document);
	return r;
}

static int value_read(sd_bus_message *message, struct json_object **ret)
{
	const char *contents;
	char type;
	int r = sd_bus_message_peek_type(message, &type, &contents);

	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	if (type == 's' || type == 'o')
		return text_read(message, type, ret);
	if (type == 'r')
		return finding_read(message, ret);
	if (type == 'a' && strcmp(contents, "{sv}") == 0)
		return document_from_message(message, ret);
	if (type == 'a')
		return array_read(message, contents, ret);
	return number_read(message, type, ret);
}

/* --- what is in it --- */

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

const char *document_text(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

uint64_t document_number(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);

	if (json_object_is_type(value, json_type_boolean))
		return (uint64_t)json_object_get_boolean(value);
	return json_object_is_type(value, json_type_int) ? json_object_get_uint64(value) : 0;
}

unsigned document_count(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);

	if (!json_object_is_type(value, json_type_array))
		return 0;
	return (unsigned)json_object_array_length(value);
}

struct json_object *document_at(struct json_object *object, const char *key, unsigned index)
{
	return index < document_count(object, key)
		       ? json_object_array_get_idx(member(object, key), index)
		       : NULL;
}

enum severity document_severity(struct json_object *object)
{
	const char *text = document_text(object, "Severity");

	for (enum severity i = SEVERITY_OK; i <= SEVERITY_CRITICAL; i++)
		if (strcmp(words_severity(i), text) == 0)
			return i;
	return SEVERITY_NONE;
}

enum verdict document_verdict(struct json_object *object)
{
	const char *text = document_text(object, "Verdict");

	for (unsigned i = 0; i < VERDICT_COUNT; i++)
		if (strcmp(words_verdict((enum verdict)i), text) == 0)
			return (enum verdict)i;
	return VERDICT_UNKNOWN;
}

struct json_object *document_named(struct json_object *document, const char *key, const char *name)
{
	for (unsigned i = 0; i < document_count(document, key); i++) {
		struct json_object *one = document_at(document, key, i);

		if (strcmp(document_text(one, "Name"), name) == 0)
			return one;
	}
	return NULL;
}

uint32_t document_size(struct json_object *path)
{
	uint32_t there = (uint32_t)document_number(path, "PathMTU");
	uint32_t back = (uint32_t)document_number(path, "ReturnMTU");
	const char *direction = document_text(path, "Direction");

	if (strcmp(direction, words_direction(DIRECTION_RETURN)) != 0 &&
	    strcmp(direction, words_direction(DIRECTION_BOTH)) != 0)
		return there;
	return back && back < there ? back : there;
}

/* --- the whole --- */

static enum severity severity_of(struct json_object *document)
{
	enum severity worst = SEVERITY_NONE;

	for (unsigned i = 0; i < document_count(document, PEERS); i++) {
		enum severity one = document_severity(document_at(document, PEERS, i));

		worst = one > worst ? one : worst;
	}
	for (unsigned i = 0; i < document_count(document, LINKS); i++) {
		enum severity one = document_severity(document_at(document, LINKS, i));

		worst = one > worst ? one : worst;
	}
	return worst;
}

static enum verdict verdict_of(struct json_object *document)
{
	enum verdict worst = VERDICT_UNKNOWN;

	for (unsigned i = 0; i < document_count(document, PEERS); i++) {
		enum verdict one = document_verdict(document_at(document, PEERS, i));

		if (i == 0 || verdict_rank(one) > verdict_rank(worst))
			worst = one;
	}
	return worst;
}

static int text_put(struct json_object *object, const char *key, const char *text)
{
	return document_put(object, key, json_object_new_string(text));
}

struct json_object *document_new(const char *version, struct json_object *peers,
				 struct json_object *links)
{
	_drop_ struct json_object *parts = json_object_new_object();
	_drop_ struct json_object *all = json_object_new_object();
	int r = document_put(parts, PEERS, peers), s = document_put(parts, LINKS, links);

	if (r < 0 || s < 0 || text_put(all, "Version", version) < 0 ||
	    text_put(all, "Verdict", words_verdict(verdict_of(parts))) < 0 ||
	    text_put(all, "Severity", words_severity(severity_of(parts))) < 0 ||
	    document_put(all, PEERS, json_object_get(peers)) < 0 ||
	    document_put(all, LINKS, json_object_get(links)) < 0)
		return NULL;
	return json_object_get(all);
}

/* --- judged as the daemon's own table does --- */

static bool texts_equal(struct json_object *a, struct json_object *b, const char *key)
{
	return strcmp(document_text(a, key), document_text(b, key)) == 0;
}

/* A verdict on this host's own link or route, or on the way back, is told by its own sentence. */
static bool verdict_says(struct json_object *peer, struct json_object *finding)
{
	static const enum finding_id said[] = {
		FINDING_LINK_BELOW_EXPECTED,
		FINDING_ROUTE_MTU_BELOW_LINK,
		FINDING_WRONG_LINK,
	};
	const char *id = document_text(finding, "Id");

	if (strcmp(id, words_finding(FINDING_RETURN_SMALLER)) == 0)
		return document_verdict(peer) == VERDICT_BLACK_HOLE &&
		       strcmp(document_text(peer, "Direction"), words_direction(DIRECTION_RETURN)) == 0;
	if (document_verdict(peer) != VERDICT_MISCONFIGURED)
		return false;
	for (unsigned i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (strcmp(id, words_finding(said[i])) == 0)
			return true;
	return false;
}

bool document_is_said(struct json_object *document, struct json_object *peer,
		      struct json_object *finding)
{
	if (verdict_says(peer, finding))
		return true;
	for (unsigned i = 0; i < document_count(document, LINKS); i++) {
		struct json_object *link = document_at(document, LINKS, i);

		for (unsigned j = 0; j < document_count(link, "Findings"); j++)
			if (texts_equal(document_at(link, "Findings", j), finding, "Text"))
				return true;
	}
	return false;
}

static bool verdict_is_no_answer(struct json_object *object)
{
	enum verdict verdict = document_verdict(object);

	return verdict == VERDICT_UNREACHABLE || verdict == VERDICT_UNKNOWN;
}

static bool peer_is_unmeasured(struct json_object *peer)
{
	for (unsigned i = 0; i < document_count(peer, "Paths"); i++)
		if (verdict_is_no_answer(document_at(peer, "Paths", i)))
			return true;
	return document_count(peer, "Paths") == 0;
}

int document_exit_code(struct json_object *document)
{
	enum severity severity = document_severity(document);
	unsigned peers = document_count(document, PEERS);

	if (severity == SEVERITY_CRITICAL)
		return 2;
	if (peers == 0 && document_count(document, LINKS) == 0)
		return 3;
	for (unsigned i = 0; i < peers; i++)
		if (peer_is_unmeasured(document_at(document, PEERS, i)))
			return 3;
	return severity == SEVERITY_WARNING ? 1 : 0;
}
