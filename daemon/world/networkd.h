/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The LLDP records of systemd-networkd: a file a link in /run/systemd/netif/lldp, named by the
 * link's index. systemd 252 writes them, for links with LLDP= in their .network file; one that does not has
 * nothing to say here.
 */
#pragma once

#include <stddef.h>

#include "neighbours_table.h"

#define NETWORKD_FOLDER "/run/systemd/netif/lldp"

/* Reads all of them. -ENOENT: there is no such folder; -EACCES: it may not be read. */
int networkd_read(const char *folder, struct cables *ret);

/* The name of a record, and not of a file that is just being written. */
bool networkd_is_record(const char *name);

/* Pure: the neighbour of link `link` in the bytes of its record. False: none in it. */
bool networkd_parse(const uint8_t *bytes, size_t length, int link, struct cable *ret);
