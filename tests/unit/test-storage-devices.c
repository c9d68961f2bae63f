/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * iSCSI connections and NVMe controllers in a sysfs of umockdev's: what is there, what comes and
 * what goes, by sd-device. To be run by umockdev-wrapper.
 */
#include <stdio.h>
#include <string.h>
#include <umockdev.h>

#include "../../daemon/world/storage.h"
#include "../../daemon/world/storage_sources.h"
#include "tap.h"

static UMockdevTestbed *testbed;

static void testbed_make(void)
{
	testbed = umockdev_testbed_new();
	ck_assert_ptr_nonnull(testbed);
}

static void testbed_end(void)
{
	g_object_unref(testbed);
}

static void device_add(const char *text)
{
	GError *error = NULL;

	if (!umockdev_testbed_add_from_string(testbed, text, &error))
		ck_abort_msg("%s", error->message);
}

static void iscsi_add(void)
{
	device_add(
		"P: /devices/platform/host3\nE: SUBSYSTEM=scsi\n\n"
		"P: /devices/platform/host3/scsi_host/host3\nE: SUBSYSTEM=scsi_host\n"
		"A: proc_name=iscsi_tcp\n\n"
		"P: /devices/platform/host3/iscsi_host/host3\nE: SUBSYSTEM=iscsi_host\n"
		"A: netdev=eth1\n\n"
		"P: /devices/platform/host3/session1/connection1:0/iscsi_connection/connection1:0\n"
		"E: SUBSYSTEM=iscsi_connection\n"
		"A: address=192.0.2.40\\n\nA: port=3260\\n\nA: persistent_address=192.0.2.41\\n\n"
		"A: persistent_port=3260\\n\n\n");
	device_add(
		"P: /devices/platform/host4\nE: SUBSYSTEM=scsi\n\n"
		"P: /devices/platform/host4/scsi_host/host4\nE: SUBSYSTEM=scsi_host\n"
		"A: proc_name=iscsi_iser\n\n"
		"P: /devices/platform/host4/session2/connection2:0/iscsi_connection/connection2:0\n"
		"E: SUBSYSTEM=iscsi_connection\n"
		"A: persistent_address=192.0.2.42\\n\nA: persistent_port=3260\\n\n\n");
}

static void nvme_add(void)
{
	device_add("P: /devices/virtual/nvme-fabrics/ctl/nvme0\nE: SUBSYSTEM=nvme\nE: "
		   "DEVNAME=/dev/nvme0\n"
		   "A: transport=tcp\\n\nA: state=live\\n\n"
		   "A: address=traddr=10.10.10.5,trsvcid=4420,src_addr=10.10.10.1\\n\n\n");
	device_add("P: /devices/pci0000:00/0000:00:04.0/nvme/nvme1\nE: SUBSYSTEM=nvme\nE: "
		   "DEVNAME=/dev/nvme1\n"
		   "A: transport=pcie\\n\nA: state=live\\n\nA: address=0000:00:04.0\\n\n\n");
}

/* By kind and last byte of the address. */
static const struct storage *list_find(const struct storage_list *list, enum storage_kind kind,
				       uint8_t last)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->list[i].kind == kind && list->list[i].address.bytes[3] == last)
			return &list->list[i];
	return NULL;
}

START_TEST(there)
{
	struct storage_list list = {0};
	const struct storage *storage;

	iscsi_add();
	nvme_add();
	ck_assert_int_eq(devices_collect(&list), 0);
	ck_assert_uint_eq(list.count, 3);
	storage = list_find(&list, STORAGE_ISCSI, 40);
	ck_assert_ptr_nonnull(storage);
	ck_assert_uint_eq(storage->port, 3260);
	ck_assert_str_eq(storage->link, "eth1");
	ck_assert(!storage->offloaded);
	storage = list_find(&list, STORAGE_ISCSI, 42);
	ck_assert_ptr_nonnull(storage);
	ck_assert(storage->offloaded);
	storage = list_find(&list, STORAGE_NVME, 5);
	ck_assert_ptr_nonnull(storage);
	ck_assert_uint_eq(storage->port, 4420);
	storage_list_done(&list);
}
END_TEST

START_TEST(none)
{
	struct storage_list list = {0};

	ck_assert_int_eq(devices_collect(&list), 0);
	ck_assert_uint_eq(list.count, 0);
}
END_TEST

struct seen {
	unsigned calls;
	unsigned nvme;
};

static void on_storage(const struct storage_list *list, void *userdata)
{
	struct seen *seen = userdata;

	seen->calls++;
	seen->nvme = 0;
	for (unsigned i = 0; i < list->count; i++)
		seen->nvme += list->list[i].kind == STORAGE_NVME;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	ck_abort_msg("no event of a device was heard");
}

/* A storm of events is one look or two. */
START_TEST(comes_and_goes)
{
	struct storage_room *room;
	struct seen seen = {0};
	sd_event *event;
	const char *path;

	ck_assert_int_eq(sd_event_new(&event), 0);
	ck_assert_int_eq(sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 50 * USEC_PER_SEC,
						    0, on_deadline, NULL),
			 0);
	ck_assert_int_eq(storage_new(&room, event, on_storage, &seen), 0);
	ck_assert_int_eq(storage_collect(room), 0);
	ck_assert_uint_eq(seen.calls, 1);
	ck_assert_uint_eq(seen.nvme, 0);
	nvme_add();
	path = "/sys/devices/virtual/nvme-fabrics/ctl/nvme0";
	umockdev_testbed_uevent(testbed, path, "add");
	while (seen.nvme == 0)
		ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
	for (unsigned i = 0; i < 200; i++) {
		umockdev_testbed_uevent(testbed, path, "change");
		ck_assert_int_ge(sd_event_run(event, 0), 0);
	}
	umockdev_testbed_set_attribute(testbed, path, "state", "deleting");
	umockdev_testbed_uevent(testbed, path, "change");
	while (seen.nvme != 0)
		ck_assert_int_ge(sd_event_run(event, UINT64_MAX), 0);
	ck_assert_uint_le(seen.calls, 8);
	storage_free(room);
	sd_event_unref(event);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage-devices");
	TCase *test = tcase_create("devices");
	const char *preload = getenv("LD_PRELOAD");

	if (!preload || !strstr(preload, "umockdev")) {
		puts("1..0 # SKIP to be run by umockdev-wrapper");
		return 0;
	}
	tcase_set_timeout(test, 60);
	tcase_add_checked_fixture(test, testbed_make, testbed_end);
	tcase_add_test(test, there);
	tcase_add_test(test, none);
	tcase_add_test(test, comes_and_goes);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
