/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the daemon tells, as the one JSON document that Describe() returns: made of it, or of the
 * answers to single questions, under the same names. Looks and counts; asks nobody. Another host's
 * daemon says what it wants: no text in a document steers the terminal it is shown on.
 */
#pragma once

#include <json-c/json.h>
#include <systemd/sd-bus.h>

#include "../core/verdict.h"

static inline void document_drop(struct json_object **object)
{
	json_object_put(*object);
}
#define _drop_ __attribute__((cleanup(document_drop)))

/* Reads an a{sv} as an object. -ENOMEM, or what sd-bus says. */
int document_from_message(sd_bus_message *message, struct json_object **ret);

/* What Describe() returned. -ENOMEM, or -EBADMSG: it is no JSON. */
int document_from_text(const char *text, struct json_object **ret);
/* A text as it is in a document. NULL: out of memory. */
struct json_object *document_string(const char *text);

/* Takes both arrays over, also on error; the whole's verdict and severity are those of its parts.
 */
struct json_object *document_new(const char *version, struct json_object *peers,
				 struct json_object *links);

/* Take `value` over, also on error. -ENOMEM also where `value` could not be made or there is no room for
 * it. */
int document_put(struct json_object *object, const char *key, struct json_object *value);
int document_append(struct json_object *array, struct json_object *value);

/* Neutral values for what is not there: "", 0, NULL. Texts live as long as the object. */
const char *document_text(struct json_object *object, const char *key);
uint64_t document_number(struct json_object *object, const char *key);
unsigned document_count(struct json_object *object, const char *key);
struct json_object *document_at(struct json_object *object, const char *key, unsigned index);
enum severity document_severity(struct json_object *object);
enum verdict document_verdict(struct json_object *object);

/* The peer or link of this name, NULL none. `key` is "Peers" or "Links". */
struct json_object *document_named(struct json_object *document, const char *key, const char *name);

/* The size that the path's fault is about, as words_size(). */
uint32_t document_size(struct json_object *path);

/* Whether another sentence says what this finding says. `finding` is of a peer. */
bool document_is_said(struct json_object *document, struct json_object *peer,
		      struct json_object *finding);

/* INTERFACE 6: as report_exit_code(). A document of links alone is as bad as the worst of them. */
int document_exit_code(struct json_object *document);
