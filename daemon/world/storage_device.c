/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions of block storage, out of the attributes that name their far side; secrets stand beside
 * these and are never asked for. Transports that are not this host's own TCP are told apart.
 */
#include "storage_device.h"

#include <string.h>

#define PORT_ISCSI 3260
#define PORT_NVME 4420

/* RDMA, and adapters that speak TCP themselves: their packets take no path of this host. */
static bool driver_is_offload(struct span driver)
{
	static const char *const drivers[] = {"iscsi_iser", "bnx2i", "be2iscsi", "qedi", "qla4xxx"};

	for (unsigned i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (span_is(driver, drivers[i]))
			return true;
	return false;
}

/* Without a connection the kernel gives no address: where it tries to get to is what matters then.
 */
bool storage_from_iscsi(const struct iscsi_text *text, struct storage *ret)
{
	struct storage storage = {.kind = STORAGE_ISCSI, .port = PORT_ISCSI};
	bool connected = storage_text_address(span_of(text->address), &storage);
	char link[LINK_NAME_SIZE];

	if (!connected && !storage_text_server(span_of(text->persistent_address), &storage))
		return false;
	storage_text_port(span_of(connected ? text->port : text->persistent_port), &storage.port);
	storage.offloaded = driver_is_offload(span_of(text->driver));
	/* "default" is what open-iscsi writes where none was chosen */
	if (storage.link[0] == '\0' && text->link && strcmp(text->link, "default") != 0 &&
	    storage_text_link(span_of(text->link), link))
		memcpy(storage.link, link, sizeof(link));
	*ret = storage;
	return true;
}

/* "traddr=192.0.2.10,trsvcid=4420,host_traddr=192.0.2.1,host_iface=eth1,src_addr=192.0.2.1" */
static bool nvme_address(struct span address, struct storage *storage)
{
	struct storage from = {0};
	char link[LINK_NAME_SIZE];

	if (!storage_text_address(span_value(address, "traddr="), storage))
		return false;
	storage_text_port(span_value(address, "trsvcid="), &storage->port);
	/* src_addr= only tells what the kernel has chosen */
	if (storage_text_address(span_value(address, "host_traddr="), &from))
		storage->from = from.address;
	if (storage_text_link(span_value(address, "host_iface="), link))
		memcpy(storage->link, link, sizeof(link));
	return true;
}

/* One that is connecting again may be doing so because of the very fault that is looked for. */
static bool nvme_is_over(struct span state)
{
	return span_is(state, "dead") || span_is(state, "deleting") ||
	       span_is(state, "deleting (no IO)");
}

bool storage_from_nvme(const struct nvme_text *text, struct storage *ret)
{
	struct storage storage = {.kind = STORAGE_NVME, .port = PORT_NVME};
	struct span transport = span_of(text->transport);

	storage.offloaded = span_is(transport, "rdma");
	if ((!storage.offloaded && !span_is(transport, "tcp")) ||
	    nvme_is_over(span_of(text->state)) || !nvme_address(span_of(text->address), &storage))
		return false;
	*ret = storage;
	return true;
}

static const struct storage_ports port_ranges[] = {
	{445, 445, STORAGE_SMB},
	{2049, 2049, STORAGE_NFS},
	{3260, 3260, STORAGE_ISCSI},
	{STORAGE_PORT_MONITOR, STORAGE_PORT_MONITOR, STORAGE_CEPH},
	{4420, 4420, STORAGE_NVME},
	{STORAGE_PORT_MONITOR_OLD, STORAGE_PORT_MONITOR_OLD, STORAGE_CEPH},
	{6800, 7568, STORAGE_CEPH},
	{7788, 7799, STORAGE_DRBD},
	{STORAGE_PORT_DISCOVERY, STORAGE_PORT_DISCOVERY, STORAGE_NVME},
	{24007, 24007, STORAGE_GLUSTERFS},
};

unsigned storage_port_ranges(void)
{
	return sizeof(port_ranges) / sizeof(port_ranges[0]);
}

struct storage_ports storage_port_range(unsigned number)
{
	return port_ranges[number];
}

bool storage_from_port(uint16_t port, enum storage_kind *ret)
{
	for (unsigned i = 0; i < storage_port_ranges(); i++)
		if (port >= port_ranges[i].first && port <= port_ranges[i].last) {
			*ret = port_ranges[i].kind;
			return true;
		}
	return false;
}
