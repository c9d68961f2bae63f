/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any TCP storage by the ports of its live connections, the kernel's own among them: what shows
 * in no mount table and no sysfs. The kernel itself passes over all others, so that a look costs
 * little among many.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

#include "netlink.h"
#include "storage_device.h"
#include "storage_socket.h"
#include "storage_sources.h"

static int on_socket(struct nlmsghdr *message, void *userdata)
{
	struct storage_list *sockets = userdata;
	struct storage_socket socket;

	if (!storage_from_socket(message, &socket))
		return 0;
	/* bound to a link that is gone meanwhile */
	if (socket.link > 0 && !if_indextoname((unsigned)socket.link, socket.storage.link))
		return 0;
	/* as the links' own room calls it */
	link_name_clean(socket.storage.link);
	return storage_list_add(sockets, &socket.storage);
}

static int dump(struct netlink *netlink, uint8_t family, struct storage_list *sockets)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
		char attributes[NLMSG_ALIGN(sizeof(struct nlattr)) + SOCKETS_FILTER_MOST];
	} request = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.body)),
		.header.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.header.nlmsg_flags = NLM_F_DUMP,
		.body.sdiag_family = family,
		.body.sdiag_protocol = IPPROTO_TCP,
		.body.idiag_states = 1U << TCP_ESTABLISHED,
	};
	char filter[SOCKETS_FILTER_MOST];

	netlink_put(&request.header, INET_DIAG_REQ_BYTECODE, filter, sockets_filter_write(filter));
	return netlink_ask(netlink, &request.header, on_socket, sockets);
}

static bool list_has(const struct storage_list *list, enum storage_kind kind)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->list[i].kind == kind)
			return true;
	return false;
}

/* Ports that many others use as well are storage's only where there is more that says so. */
static bool storage_is_sure(const struct storage *storage, const struct storage_list *list,
			    const struct storage_list *sockets)
{
	switch (storage->kind) {
	case STORAGE_CEPH:
		if (storage->port == STORAGE_PORT_MONITOR ||
		    storage->port == STORAGE_PORT_MONITOR_OLD || list_has(list, STORAGE_CEPH))
			return true;
		for (unsigned i = 0; i < sockets->count; i++)
			if (sockets->list[i].port == STORAGE_PORT_MONITOR ||
			    sockets->list[i].port == STORAGE_PORT_MONITOR_OLD)
				return true;
		return false;
	case STORAGE_DRBD:
		return access("/sys/module/drbd", F_OK) == 0;
	case STORAGE_NVME:
		return storage->port != STORAGE_PORT_DISCOVERY ||
		       access("/sys/module/nvme_tcp", F_OK) == 0;
	case STORAGE_NFS:
	case STORAGE_SMB:
	case STORAGE_ISCSI:
	case STORAGE_GLUSTERFS:
	case STORAGE_COROSYNC:
		return true;
	}
	return false;
}

int sockets_collect(struct storage_list *list)
{
	struct storage_list sockets = {0};
	struct netlink netlink;
	int r;

	/* a kernel that does not tell has nothing to say */
	if (netlink_open_connections(&netlink, false) < 0)
		return 0;
	r = dump(&netlink, AF_INET, &sockets);
	if (r != -ENOMEM)
		r = dump(&netlink, AF_INET6, &sockets);
	netlink_close(&netlink);
	/* half a dump is as good: nobody is retired for not being in it */
	for (unsigned i = 0; r != -ENOMEM && i < sockets.count; i++)
		if (storage_is_sure(&sockets.list[i], list, &sockets))
			r = storage_list_add(list, &sockets.list[i]);
	storage_list_done(&sockets);
	return r == -ENOMEM ? r : 0;
}
