/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which storage this host uses, as the kernel tells it: network mounts, iSCSI and NVMe sessions,
 * corosync's list of nodes, live TCP connections. Kept current; sends nothing and looks up no host
 * name.
 */
#pragma once

#include <systemd/sd-event.h>

#include "storage_list.h"

struct storage_room;

/* Everything there is, each once. Called after the first storage_collect() whenever something may
 * have changed, and slowly besides. */
typedef void (*storage_handler_t)(const struct storage_list *list, void *userdata);

/* What cannot be watched for changes is read again from time to time. The caller owns *ret. */
int storage_new(struct storage_room **ret, sd_event *event, storage_handler_t handler,
		void *userdata);
struct storage_room *storage_free(struct storage_room *room);

/* Reads everything now and hands it to the handler. -ENOMEM; what is not there is no error. */
int storage_collect(struct storage_room *room);
