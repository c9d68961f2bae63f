/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * iSCSI connections and NVMe controllers by sd-device: when they come and go, and the few
 * attributes that name their far side. What these mean is storage_device.c's matter.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "storage_device.h"
#include "storage_sources.h"

static const char *const subsystems[] = {"iscsi_connection", "nvme"};
#define SUBSYSTEM_COUNT (sizeof(subsystems) / sizeof(subsystems[0]))

static const char *attribute(sd_device *device, const char *name)
{
	const char *value = NULL;

	if (!device || sd_device_get_sysattr_value(device, name, &value) < 0)
		return NULL;
	return value;
}

/* ".../host3/session1/connection1:0/iscsi_connection/connection1:0" is of host3; the device of
 * `class` that bears the same name stands below it. NULL: there is none. */
static sd_device *host_device(const char *path, const char *class)
{
	const char *host = strstr(path, "/host"), *end = host ? strchr(host + 1, '/') : NULL;
	char text[PATH_MAX];
	sd_device *device = NULL;
	int length;

	if (!end)
		return NULL;
	length = snprintf(text, sizeof(text), "%.*s/%s%.*s", (int)(end - path), path, class,
			  (int)(end - host), host);
	if (length < 0 || length >= (int)sizeof(text) ||
	    sd_device_new_from_syspath(&device, text) < 0)
		return NULL;
	return device;
}

static bool device_iscsi(sd_device *device, struct storage *ret)
{
	sd_device *scsi, *iscsi;
	const char *path;
	bool found;

	if (sd_device_get_syspath(device, &path) < 0)
		return false;
	scsi = host_device(path, "scsi_host");
	iscsi = host_device(path, "iscsi_host");
	found = storage_from_iscsi(
		&(struct iscsi_text){
			.address = attribute(device, "address"),
			.port = attribute(device, "port"),
			.persistent_address = attribute(device, "persistent_address"),
			.persistent_port = attribute(device, "persistent_port"),
			.driver = attribute(scsi, "proc_name"),
			.link = attribute(iscsi, "netdev"),
		},
		ret);
	sd_device_unref(scsi);
	sd_device_unref(iscsi);
	return found;
}

static bool device_nvme(sd_device *device, struct storage *ret)
{
	struct nvme_text text = {.transport = attribute(device, "transport")};

	text.address = attribute(device, "address");
	text.state = attribute(device, "state");
	return storage_from_nvme(&text, ret);
}

static int device_collect(sd_device *device, struct storage_list *list)
{
	const char *subsystem = NULL;
	struct storage storage;
	bool found;

	if (sd_device_get_subsystem(device, &subsystem) < 0)
		return 0;
	found = strcmp(subsystem, "nvme") == 0 ? device_nvme(device, &storage)
					       : device_iscsi(device, &storage);
	return found ? storage_list_add(list, &storage) : 0;
}

int devices_collect(struct storage_list *list)
{
	sd_device_enumerator *enumerator = NULL;
	int r = sd_device_enumerator_new(&enumerator);

	for (unsigned i = 0; i < SUBSYSTEM_COUNT && r >= 0; i++)
		r = sd_device_enumerator_add_match_subsystem(enumerator, subsystems[i], 1);
	/* not only what udev is done with */
	if (r >= 0)
		r = sd_device_enumerator_allow_uninitialized(enumerator);
	if (r >= 0)
		for (sd_device *device = sd_device_enumerator_get_device_first(enumerator); device;
		     device = sd_device_enumerator_get_device_next(enumerator)) {
			r = device_collect(device, list);
			if (r < 0)
				break;
		}
	sd_device_enumerator_unref(enumerator);
	return r == -ENOMEM ? r : 0;
}

int devices_watch(sd_device_monitor **ret, sd_event *event, sd_device_monitor_handler_t handler,
		  void *userdata)
{
	sd_device_monitor *monitor = NULL;
	int r = sd_device_monitor_new(&monitor);

	for (unsigned i = 0; i < SUBSYSTEM_COUNT && r >= 0; i++)
		r = sd_device_monitor_filter_add_match_subsystem_devtype(monitor, subsystems[i],
									 NULL);
	if (r >= 0)
		r = sd_device_monitor_attach_event(monitor, event);
	if (r >= 0)
		r = sd_device_monitor_start(monitor, handler, userdata);
	if (r < 0) {
		sd_device_monitor_unref(monitor);
		return r;
	}
	*ret = monitor;
	return 0;
}
