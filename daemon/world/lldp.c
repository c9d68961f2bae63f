/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the bytes of an LLDP frame to a neighbour. Believes no length; an optional part that is
 * malformed is passed over, as IEEE 802.1AB section 9.2.7 has it, a mandatory one makes the whole
 * no news at all.
 */
#include "lldp.h"

#include <stdio.h>
#include <string.h>

#define ETHERNET_HEADER 14
#define ETHERTYPE_LLDP 0x88cc

enum tlv { /* IEEE 802.1AB table 8-1 */
	   TLV_END = 0,
	   TLV_CHASSIS = 1,
	   TLV_PORT = 2,
	   TLV_TTL = 3,
	   TLV_DESCRIPTION = 4,
	   TLV_SYSTEM = 5,
	   TLV_CAPABILITIES = 7,
	   TLV_ORGANIZATION = 127,
};

enum chassis { /* table 8-2 */
	       CHASSIS_MAC = 4,
	       CHASSIS_NETWORK = 5,
};

enum port { /* table 8-3 */
	    PORT_MAC = 3,
	    PORT_NETWORK = 4,
	    PORT_CIRCUIT = 6,
	    PORT_LOCAL = 7,
};

#define CAPABILITY_BRIDGE 0x0004 /* table 8-4 */

#define ID_TEXT 64

/* A binary identifier as people write it. */
struct id {
	char text[ID_TEXT];
};

struct decoding {
	struct lldp_said said;
	struct id chassis, port;
	uint16_t ttl;
	unsigned seen; /* mandatory ones, in their order */
	bool no_switch;
	uint32_t max_frame;
};

static uint16_t u16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static struct lldp_text text_of(const struct id *id)
{
	return (struct lldp_text){(const uint8_t *)id->text, strlen(id->text)};
}

static struct lldp_text id_mac(const uint8_t *bytes, size_t length, struct id *id)
{
	size_t used = 0;

	id->text[0] = '\0';
	for (size_t i = 0; i < length && used + 4 < sizeof(id->text); i++)
		used += (size_t)snprintf(id->text + used, sizeof(id->text) - used, "%s%02x",
					 i ? ":" : "", bytes[i]);
	return text_of(id);
}

/* The first byte is IANA's address family number: 1 IPv4, 2 IPv6. */
static struct lldp_text id_network(const uint8_t *bytes, size_t length, struct id *id)
{
	size_t used = 0;

	if (length == 5 && bytes[0] == 1) {
		snprintf(id->text, sizeof(id->text), "%u.%u.%u.%u", bytes[1], bytes[2], bytes[3],
			 bytes[4]);
		return text_of(id);
	}
	if (length != 17 || bytes[0] != 2)
		return id_mac(bytes, length, id);
	for (size_t i = 1; i < length; i += 2)
		used += (size_t)snprintf(id->text + used, sizeof(id->text) - used, "%s%x",
					 i > 1 ? ":" : "", u16(bytes + i));
	return text_of(id);
}

static bool all_digits(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] < '0' || bytes[i] > '9')
			return false;
	return true;
}

/* Both identifiers: a subtype and at least one byte, 255 at most. */
static bool id_is_valid(size_t length)
{
	return length >= 2 && length <= 256;
}

static bool on_chassis(struct decoding *decoding, const uint8_t *value, size_t length)
{
	if (!id_is_valid(length))
		return false;
	if (value[0] == CHASSIS_MAC)
		decoding->said.chassis = id_mac(value + 1, length - 1, &decoding->chassis);
	else if (value[0] == CHASSIS_NETWORK)
		decoding->said.chassis = id_network(value + 1, length - 1, &decoding->chassis);
	else
		decoding->said.chassis = (struct lldp_text){value + 1, length - 1};
	return true;
}

static bool on_port(struct decoding *decoding, const uint8_t *value, size_t length)
{
	if (!id_is_valid(length))
		return false;
	decoding->said.port_is_number =
		value[0] == PORT_MAC || value[0] == PORT_NETWORK || value[0] == PORT_CIRCUIT ||
		(value[0] == PORT_LOCAL && all_digits(value + 1, length - 1));
	if (value[0] == PORT_MAC)
		decoding->said.port = id_mac(value + 1, length - 1, &decoding->port);
	else if (value[0] == PORT_NETWORK)
		decoding->said.port = id_network(value + 1, length - 1, &decoding->port);
	else
		decoding->said.port = (struct lldp_text){value + 1, length - 1};
	return true;
}

static bool on_ttl(struct decoding *decoding, const uint8_t *value, size_t length)
{
	if (length < 2)
		return false;
	decoding->ttl = u16(value);
	return true;
}

static void on_optional(struct decoding *decoding, unsigned type, const uint8_t *value,
			size_t length)
{
	static const uint8_t max_frame[] = {0x00, 0x12, 0x0f, 4}; /* IEEE 802.3 section 79.3.4 */

	if (type == TLV_DESCRIPTION && !decoding->said.description.bytes)
		decoding->said.description = (struct lldp_text){value, length};
	else if (type == TLV_SYSTEM && !decoding->said.system.bytes)
		decoding->said.system = (struct lldp_text){value, length};
	else if (type == TLV_CAPABILITIES && length >= 4)
		decoding->no_switch = (u16(value + 2) & CAPABILITY_BRIDGE) == 0;
	else if (type == TLV_ORGANIZATION && length >= sizeof(max_frame) + 2 &&
		 memcmp(value, max_frame, sizeof(max_frame)) == 0)
		decoding->max_frame = u16(value + sizeof(max_frame));
}

/* False: the frame is to be thrown away. Section 8.2: three mandatory ones first, each once. */
static bool on_tlv(struct decoding *decoding, unsigned type, const uint8_t *value, size_t length)
{
	static bool (*const mandatory[])(struct decoding *, const uint8_t *,
					 size_t) = {on_chassis, on_port, on_ttl};

	if (decoding->seen < 3)
		return type == decoding->seen + 1 &&
		       mandatory[decoding->seen++](decoding, value, length);
	if (type <= TLV_TTL)
		return false;
	on_optional(decoding, type, value, length);
	return true;
}

static bool decode(struct decoding *decoding, const uint8_t *bytes, size_t length)
{
	while (length >= 2) {
		unsigned type = bytes[0] >> 1;
		size_t size = u16(bytes) & 0x1ffU;

		if (type == TLV_END)
			break;
		/* cut off: what came before it stands, where that is enough */
		if (size > length - 2)
			break;
		if (!on_tlv(decoding, type, bytes + 2, size))
			return false;
		bytes += 2 + size;
		length -= 2 + size;
	}
	return decoding->seen == 3;
}

void lldp_name(const struct lldp_said *said, struct neighbour *ret)
{
	struct lldp_text system = said->system.length ? said->system : said->chassis;
	struct lldp_text port = said->port;

	if (said->description.length && (said->port_is_number || port.length == 0))
		port = said->description;
	lldp_text_clean(system.bytes, system.length, ret->system, sizeof(ret->system));
	lldp_text_clean(port.bytes, port.length, ret->port, sizeof(ret->port));
	if (!ret->port[0])
		lldp_text_clean(said->port.bytes, said->port.length, ret->port, sizeof(ret->port));
}

bool lldp_decode(const uint8_t *frame, size_t length, struct neighbour *ret, uint16_t *ret_ttl_sec)
{
	struct decoding decoding = {0};

	if (length < ETHERNET_HEADER || u16(frame + ETHERNET_HEADER - 2) != ETHERTYPE_LLDP)
		return false;
	if (!decode(&decoding, frame + ETHERNET_HEADER, length - ETHERNET_HEADER))
		return false;
	memset(ret, 0, sizeof(*ret));
	lldp_name(&decoding.said, ret);
	ret->max_frame = decoding.max_frame;
	ret->is_switch = !decoding.no_switch;
	*ret_ttl_sec = decoding.ttl;
	return true;
}
