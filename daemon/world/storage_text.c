/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What comes from a mount table or from sysfs is text that others have put there: it is taken
 * apart here, strictly, and nothing of it gets any further that is not an address, a port, a
 * link's name or a plain host name. Reads no file.
 */
#include "storage_text.h"

#include <arpa/inet.h>
#include <string.h>

struct span span_of(const char *text)
{
	return (struct span){text, text ? strlen(text) : 0};
}

struct span span_take(struct span *rest, const char *marks)
{
	struct span span = {rest->text, 0};

	if (span_is_empty(*rest))
		return span;
	/* not strchr(3), which finds a zero in every word */
	while (span.length < rest->length && !memchr(marks, rest->text[span.length], strlen(marks)))
		span.length++;
	if (span.length < rest->length) {
		rest->text += span.length + 1;
		rest->length -= span.length + 1;
	} else {
		rest->text += span.length;
		rest->length = 0;
	}
	return span;
}

bool span_is(struct span span, const char *word)
{
	return span.length == strlen(word) && memcmp(span.text, word, span.length) == 0;
}

static bool span_equal(struct span a, struct span b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

static bool span_begins(struct span span, const char *word)
{
	size_t length = strlen(word);

	return span.length >= length && memcmp(span.text, word, length) == 0;
}

/* A comma between quotes divides nothing; false: a quote is never closed. */
bool span_take_option(struct span *rest, struct span *ret)
{
	struct span span = {rest->text, 0};
	bool quoted = false;

	for (; span.length < rest->length; span.length++) {
		char c = rest->text[span.length];

		if (c == '"')
			quoted = !quoted;
		if (c == ',' && !quoted)
			break;
	}
	if (quoted)
		return false;
	rest->text += span.length;
	rest->length -= span.length;
	if (rest->length > 0) {
		rest->text++;
		rest->length--;
	}
	*ret = span;
	return true;
}

struct span span_value(struct span list, const char *key)
{
	struct span found = {NULL, 0}, one;
	size_t length = strlen(key);

	while (!span_is_empty(list)) {
		if (!span_take_option(&list, &one))
			return (struct span){NULL, 0};
		if (!span_begins(one, key))
			continue;
		one.text += length;
		one.length -= length;
		if (found.text && !span_equal(found, one))
			return (struct span){NULL, 0};
		found = one;
	}
	return found;
}

static bool character_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Not isalnum(3), which asks the locale. */
static bool character_is_plain(char c)
{
	return character_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool span_number(struct span text, uint32_t most, uint32_t *ret)
{
	uint32_t number = 0;

	if (span_is_empty(text) || text.length > 9)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		if (!character_is_digit(text.text[i]))
			return false;
		number = 10 * number + (uint32_t)(text.text[i] - '0');
	}
	if (number > most)
		return false;
	*ret = number;
	return true;
}

bool storage_text_port(struct span text, uint16_t *ret)
{
	uint32_t port;

	if (!span_number(text, UINT16_MAX, &port) || port == 0)
		return false;
	*ret = (uint16_t)port;
	return true;
}

bool storage_text_link(struct span text, char ret[static LINK_NAME_SIZE])
{
	if (span_is_empty(text) || text.length >= LINK_NAME_SIZE || span_is(text, ".") ||
	    span_is(text, ".."))
		return false;
	for (size_t i = 0; i < text.length; i++)
		if (!character_is_plain(text.text[i]) && !memchr("._-@", text.text[i], 4))
			return false;
	memset(ret, 0, LINK_NAME_SIZE);
	memcpy(ret, text.text, text.length);
	return true;
}

void storage_address_unmap(struct address *address)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	if (address->family != ADDRESS_IPV6 || memcmp(address->bytes, prefix, sizeof(prefix)) != 0)
		return;
	memmove(address->bytes, address->bytes + 12, 4);
	memset(address->bytes + 4, 0, 12);
	address->family = ADDRESS_IPV4;
}

/* RFC 1122 section 3.2.1.3, RFC 4291 section 2: not unspecified, loopback, multicast, broadcast. */
bool storage_address_is_elsewhere(const struct address *address)
{
	static const uint8_t none[15];
	const uint8_t *bytes = address->bytes;

	if (address->family == ADDRESS_IPV4)
		return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224;
	return bytes[0] != 0xff && (memcmp(bytes, none, sizeof(none)) != 0 || bytes[15] > 1);
}

/* RFC 4007 section 11: without its zone a link-local address says nothing. */
static bool zone_parse(struct span zone, struct storage *storage)
{
	uint32_t number;

	if (span_number(zone, INT32_MAX, &number)) {
		storage->address.zone = (int)number;
		return number > 0;
	}
	return storage_text_link(zone, storage->link);
}

static bool address_parse(struct span text, struct storage *ret)
{
	struct span zone = text, digits = span_take(&zone, "%");
	struct storage storage = *ret;
	char buffer[INET6_ADDRSTRLEN];

	if (span_is_empty(digits) || digits.length >= sizeof(buffer))
		return false;
	memcpy(buffer, digits.text, digits.length);
	buffer[digits.length] = '\0';
	if (strlen(buffer) != digits.length)
		return false;
	storage.address = (struct address){.family = ADDRESS_IPV4};
	if (inet_pton(AF_INET, buffer, storage.address.bytes) != 1) {
		storage.address.family = ADDRESS_IPV6;
		if (inet_pton(AF_INET6, buffer, storage.address.bytes) != 1)
			return false;
		storage_address_unmap(&storage.address);
	}
	if (!storage_address_is_elsewhere(&storage.address))
		return false;
	if (address_is_link_local(&storage.address)
		    ? !zone_parse(zone, &storage)
		    : digits.length != text.length && !zone_parse(zone, &(struct storage){0}))
		return false;
	*ret = storage;
	return true;
}

static size_t span_count(struct span text, char mark)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += text.text[i] == mark;
	return count;
}

/* Parts "[address]:port" and "address:port"; an IPv6 address without brackets has no port. */
static bool endpoint_split(struct span text, struct span *ret_host, struct span *ret_port)
{
	struct span rest = text;

	*ret_port = (struct span){NULL, 0};
	if (text.length > 0 && text.text[0] == '[') {
		rest.text++;
		rest.length--;
		if (span_count(rest, ']') != 1)
			return false;
		*ret_host = span_take(&rest, "]");
		if (span_is_empty(rest))
			return true;
		if (rest.text[0] != ':')
			return false;
		*ret_port = (struct span){rest.text + 1, rest.length - 1};
		return !span_is_empty(*ret_port);
	}
	if (span_count(text, ':') != 1) {
		*ret_host = text;
		return true;
	}
	*ret_host = span_take(&rest, ":");
	*ret_port = rest;
	return !span_is_empty(rest);
}

/* RFC 1123 section 2.1; a last label of digits would be read as an address of the old kind. */
static bool host_is_plain(struct span host)
{
	size_t label = 0;

	if (span_is_empty(host) || host.length >= STORAGE_HOST_SIZE)
		return false;
	for (size_t i = 0; i < host.length; i++) {
		char c = host.text[i];

		if (c == '.') {
			if (label == 0)
				return false;
			label = 0;
			continue;
		}
		if (!character_is_plain(c) && c != '_' && (c != '-' || label == 0))
			return false;
		if (++label > 63)
			return false;
	}
	return label > 0 && !character_is_digit(host.text[host.length - label]);
}

static bool endpoint_parse(struct span text, bool names, struct storage *ret)
{
	struct storage storage = *ret;
	struct span host, port;

	if (!endpoint_split(text, &host, &port))
		return false;
	if (port.text && !storage_text_port(port, &storage.port))
		return false;
	if (!address_parse(host, &storage)) {
		if (!names || !host_is_plain(host))
			return false;
		storage.address = (struct address){0};
		memset(storage.host, 0, sizeof(storage.host));
		memcpy(storage.host, host.text, host.length);
	}
	*ret = storage;
	return true;
}

bool storage_text_address(struct span text, struct storage *ret)
{
	return endpoint_parse(text, false, ret);
}

bool storage_text_server(struct span text, struct storage *ret)
{
	return endpoint_parse(text, true, ret);
}
