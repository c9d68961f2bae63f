/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What sysfs says of one iSCSI connection or one NVMe controller. Pure.
 */
#pragma once

#include "storage_text.h"

/* Values of attributes, without their end of line; NULL: not there or not to be read. */
struct iscsi_text {
	const char *address; /* where it is connected to now */
	const char *port;
	const char *persistent_address; /* where it was told to log in */
	const char *persistent_port;
	const char *driver; /* of the SCSI host: iscsi_tcp, iscsi_iser ... */
	const char *link;   /* the SCSI host's netdev */
};

struct nvme_text {
	const char *transport;
	const char *address;
	const char *state;
};

bool storage_from_iscsi(const struct iscsi_text *text, struct storage *ret);
bool storage_from_nvme(const struct nvme_text *text, struct storage *ret);
#define STORAGE_PORT_MONITOR 3300 /* of Ceph */
#define STORAGE_PORT_MONITOR_OLD 6789
#define STORAGE_PORT_DISCOVERY 8009 /* of NVMe */

struct storage_ports {
	uint16_t first, last;
	enum storage_kind kind;
};

unsigned storage_port_ranges(void);
struct storage_ports storage_port_range(unsigned number);
/* Which storage speaks on a TCP port of the far side. */
bool storage_from_port(uint16_t port, enum storage_kind *ret);
