/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values that are more than a number: addresses, families, links, what to discover. An address
 * must be one that a single other host can have; nothing is resolved or looked up here.
 */
#include "config_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address_text.h"

static int wrong(struct assignment *assignment, const char *why)
{
	assignment->wrong = why;
	return -EINVAL;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Why no single host can have this address; NULL one can. */
static const char *ipv4_objection(const uint8_t *bytes)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	/* RFC 1122 section 3.2.1.3 */
	if (bytes[0] == 0)
		return "expected the address of a host, this one is unspecified";
	if (bytes[0] == 127)
		return "expected the address of another host, this one is this host's own";
	if (bytes[0] >= 224 && bytes[0] <= 239)
		return "expected the address of one host, this one is multicast";
	if (!memcmp(bytes, broadcast, sizeof(broadcast)))
		return "expected the address of one host, this one is broadcast";
	return NULL;
}

static const char *ipv6_objection(const uint8_t *bytes)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	/* RFC 4291 sections 2.5.2, 2.5.3, 2.5.5.2 and 2.7 */
	if (is_zero(bytes, 16))
		return "expected the address of a host, this one is unspecified";
	if (is_zero(bytes, 15) && bytes[15] == 1)
		return "expected the address of another host, this one is this host's own";
	if (bytes[0] == 0xff)
		return "expected the address of one host, this one is multicast";
	if (!memcmp(bytes, mapped, sizeof(mapped)))
		return "expected a plain IPv4 address, this one is IPv4-mapped";
	return NULL;
}

static const char *address_objection(const struct address *address)
{
	return address->family == ADDRESS_IPV4 ? ipv4_objection(address->bytes)
					       : ipv6_objection(address->bytes);
}

static void address_clear(struct config_peer *peer)
{
	free(peer->host);
	peer->host = NULL;
	peer->address = (struct address){0};
	peer->zone_link[0] = '\0';
}

#define ADDRESS_EXPECTED "expected an IPv4 or IPv6 address or a host name"

/* Why a peer can not have this numeric address; NULL it can. */
static const char *numeric_objection(const struct address *address, const char *zone)
{
	const char *objection = address_objection(address);

	if (objection || !zone[0])
		return objection;
	if (!address_is_link_local(address))
		return "expected no %zone, it belongs to link-local addresses";
	return value_is_link_name(zone) ? NULL : "expected the name of a link behind the %";
}

static int parse_address(struct assignment *assignment)
{
	struct config_peer *peer = assignment->value;
	char zone[LINK_NAME_SIZE];
	struct address address;
	const char *objection;
	char *host;

	if (!*assignment->text) {
		address_clear(peer);
		return 0;
	}
	if (words_parse_address(assignment->text, &address, zone) == 0) {
		objection = numeric_objection(&address, zone);
		if (objection)
			return wrong(assignment, objection);
		address_clear(peer);
		peer->address = address;
		memcpy(peer->zone_link, zone, sizeof(zone));
		return 0;
	}
	if (!value_is_host_name(assignment->text))
		return -EINVAL;
	host = strdup(assignment->text);
	if (!host)
		return -ENOMEM;
	address_clear(peer);
	peer->host = host;
	return 0;
}

static void print_address(const char *name, const void *value, FILE *out)
{
	const struct config_peer *peer = value;
	char text[ADDRESS_TEXT_SIZE];

	fprintf(out, "%s=%s", name, peer->host ? peer->host : words_address(&peer->address, text));
	fprintf(out, "%s%s\n", peer->zone_link[0] ? "%" : "", peer->zone_link);
}

static int parse_source(struct assignment *assignment)
{
	struct config_peer *peer = assignment->value;
	char zone[LINK_NAME_SIZE];
	struct address address;
	const char *objection;

	if (!*assignment->text) {
		peer->source = (struct address){0};
		return 0;
	}
	if (words_parse_address(assignment->text, &address, zone) < 0)
		return -EINVAL;
	objection = address_objection(&address);
	if (objection)
		return wrong(assignment,
			     "expected an address of this host that others can answer to");
	if (zone[0])
		return wrong(assignment, "expected no %zone, the peer's own decides");
	peer->source = address;
	return 0;
}

static void print_source(const char *name, const void *value, FILE *out)
{
	char text[ADDRESS_TEXT_SIZE];

	fprintf(out, "%s=%s\n", name,
		words_address(&((const struct config_peer *)value)->source, text));
}

static int parse_family(struct assignment *assignment)
{
	struct config_peer *peer = assignment->value;
	enum address_family family = ADDRESS_NONE;
	bool both = !strcmp(assignment->text, "both");

	if (!strcmp(assignment->text, "ipv4"))
		family = ADDRESS_IPV4;
	else if (!strcmp(assignment->text, "ipv6"))
		family = ADDRESS_IPV6;
	else if (!both && strcmp(assignment->text, "any") != 0)
		return -EINVAL;
	peer->family = family;
	peer->family_both = both;
	return 0;
}

static void print_family(const char *name, const void *value, FILE *out)
{
	const struct config_peer *peer = value;
	const char *word = "any";

	if (peer->family_both)
		word = "both";
	else if (peer->family == ADDRESS_IPV4)
		word = "ipv4";
	else if (peer->family == ADDRESS_IPV6)
		word = "ipv6";
	fprintf(out, "%s=%s\n", name, word);
}

/* The next word at *text; moves it behind. false: there is none left. */
static bool take_word(const char **text, char *word, size_t size)
{
	size_t length;

	*text += strspn(*text, " \t");
	length = strcspn(*text, " \t");
	if (length == 0)
		return false;
	snprintf(word, size, "%.*s", (int)length, *text);
	*text += length;
	return true;
}

static int interface_add(struct config_peer *peer, const char *name)
{
	char(*grown)[LINK_NAME_SIZE];

	for (unsigned i = 0; i < peer->interface_count; i++)
		if (!strcmp(peer->interfaces[i], name))
			return 0;
	grown = reallocarray(peer->interfaces, peer->interface_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	peer->interfaces = grown;
	/* it fits: value_is_link_name() said so */
	memcpy(grown[peer->interface_count++], name, strlen(name) + 1);
	return 0;
}

static int parse_interfaces(struct assignment *assignment)
{
	struct config_peer *peer = assignment->value;
	const char *text = assignment->text;
	char word[CONFIG_LINE_LONGEST + 1];

	if (!*text) {
		free(peer->interfaces);
		peer->interfaces = NULL;
		peer->interface_count = 0;
	}
	while (take_word(&text, word, sizeof(word))) {
		int r = value_is_link_name(word) ? interface_add(peer, word) : -EINVAL;

		if (r < 0)
			return r;
	}
	return 0;
}

static void print_interfaces(const char *name, const void *value, FILE *out)
{
	const struct config_peer *peer = value;

	if (peer->interface_count == 0)
		fprintf(out, "%s=\n", name);
	for (unsigned i = 0; i < peer->interface_count; i++)
		fprintf(out, "%s=%s\n", name, peer->interfaces[i]);
}

static const struct {
	const char *word;
	unsigned bits;
} discoveries[] = {
	/* clang-format off */
	{"gateways", DISCOVER_GATEWAYS},
	{"storage", DISCOVER_STORAGE},
	{"nfs", DISCOVER_NFS},
	{"smb", DISCOVER_SMB},
	{"iscsi", DISCOVER_ISCSI},
	{"nvme", DISCOVER_NVME},
	{"ceph", DISCOVER_CEPH},
	/* clang-format on */
};
#define DISCOVERY_COUNT (sizeof(discoveries) / sizeof(discoveries[0]))

static int discovery_bits(struct assignment *assignment, const char *word, unsigned *ret)
{
	for (unsigned i = 0; i < DISCOVERY_COUNT; i++) {
		if (strcmp(word, discoveries[i].word) != 0)
			continue;
		*ret = discoveries[i].bits;
		return 0;
	}
	return -EINVAL;
}

static int parse_discover(struct assignment *assignment)
{
	unsigned *value = assignment->value;
	unsigned discover = assignment->first ? 0 : *value;
	const char *text = assignment->text;
	char word[CONFIG_LINE_LONGEST + 1];
	unsigned bits;

	if (!strcmp(text, "none")) {
		*value = 0;
		return 0;
	}
	while (take_word(&text, word, sizeof(word))) {
		int r = discovery_bits(assignment, word, &bits);

		if (r < 0)
			return r;
		discover |= bits;
	}
	*value = discover;
	return 0;
}

static void print_discover(const char *name, const void *value, FILE *out)
{
	unsigned left = *(const unsigned *)value;

	fprintf(out, "%s=%s", name, left ? "" : "none");
	for (unsigned i = 0; i < DISCOVERY_COUNT && left; i++) {
		if ((left & discoveries[i].bits) != discoveries[i].bits)
			continue;
		left &= ~discoveries[i].bits;
		fprintf(out, "%s%s", discoveries[i].word, left ? " " : "");
	}
	fputc('\n', out);
}

const struct key_type type_address = {parse_address, print_address, ADDRESS_EXPECTED};
const struct key_type type_source = {parse_source, print_source,
				     "expected an IPv4 or IPv6 address of this host"};
const struct key_type type_family = {parse_family, print_family,
				     "expected any, ipv4, ipv6 or both"};
const struct key_type type_interfaces = {parse_interfaces, print_interfaces,
					 "expected the name of a link, at most 15 characters"};
const struct key_type type_discover = {
	parse_discover, print_discover,
	"expected none, or any of gateways storage nfs smb iscsi nvme ceph"};
