/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where storage.c reads: one function a source. Nobody else includes this but tests.
 */
#pragma once

#include <systemd/sd-device.h>
#include <systemd/sd-event.h>

#include "storage_text.h"

/* All return -ENOMEM or 0: a source that is not there has nothing to say. */

/* storage_mounts.c: a file in the form of /proc/self/mountinfo. */
int mounts_collect(const char *path, struct storage_list *list);
/* storage_devices.c: sysfs by sd-device. */
int devices_collect(struct storage_list *list);
/* storage_sunrpc.c: further paths to the NFS servers that are in the list already. */
int sunrpc_collect(const char *folder, struct storage_list *list);
/* storage_sockets.c: live TCP connections of root and the kernel; the last, after all others */
int sockets_collect(struct storage_list *list);
/* storage_corosync.c */
int corosync_collect(const char *path, struct storage_list *list);
/* Pure: one line of corosync.conf. */
bool storage_from_corosync(struct span line, struct storage *ret);

/* storage_devices.c: iSCSI and NVMe of uevents. The caller owns *ret. */
int devices_watch(sd_device_monitor **ret, sd_event *event, sd_device_monitor_handler_t handler,
		  void *userdata);
