/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Addresses, ports and host names in the forms the kernel and the tools of storage write them.
 * Looks nothing up; takes only what may be somebody else's unicast address or a plain host name.
 */
#pragma once

#include <stddef.h>

#include "storage_list.h"

/* Not closed by a NUL. */
struct span {
	const char *text;
	size_t length;
};

static inline bool span_is_empty(struct span span)
{
	return span.length == 0;
}

struct span span_of(const char *text); /* NULL is an empty one */
/* Takes what is before the first of `marks` off the front of *rest, and the mark; *rest may be
 * empty. */
struct span span_take(struct span *rest, const char *marks);
bool span_is(struct span span, const char *word);
/* The same of a list of options, divided by commas that are not between quotes. */
bool span_take_option(struct span *rest, struct span *ret);
/* What follows `key`, which holds its "=", in a list of options: empty when it is not there,
 * or is there twice and differs: then somebody has put one there who should not. */
struct span span_value(struct span list, const char *key);

/*
 * An address, alone or with a port ("192.0.2.1", "192.0.2.1:3260", "2001:db8::1",
 * "[2001:db8::1]:3260", "fe80::1%3", "fe80::1%eth1"), into address, link (of a zone that is a name)
 * and port (untouched where there is none). False: it is none, or none that another host could
 * have.
 */
bool storage_text_address(struct span text, struct storage *ret);
/* The same, or a host name. */
bool storage_text_server(struct span text, struct storage *ret);
/* What another host may have: not unspecified, loopback, multicast or broadcast. */
bool storage_address_is_elsewhere(const struct address *address);
/* RFC 4291 section 2.5.5.2: an IPv4 address in IPv6's clothes is sent as IPv4. */
void storage_address_unmap(struct address *address);
bool storage_text_port(struct span text, uint16_t *ret);
bool storage_text_link(struct span text, char ret[static LINK_NAME_SIZE]);
