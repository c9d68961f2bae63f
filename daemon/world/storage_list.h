/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One way to one piece of storage, and a list of them, each once and not without end.
 */
#pragma once

#include "../core/facts.h"

/* In the order in which they give their name to a peer that has several. */
enum storage_kind {
	STORAGE_NFS,
	STORAGE_SMB,
	STORAGE_ISCSI,
	STORAGE_NVME,
	STORAGE_CEPH,
	STORAGE_GLUSTERFS,
	STORAGE_DRBD,
	STORAGE_COROSYNC,
};

#define STORAGE_HOST_SIZE 254 /* RFC 1035 section 2.3.4, with the closing NUL */

struct storage {
	enum storage_kind kind;
	struct address address;	      /* ADDRESS_NONE: `host` has to be looked up */
	char host[STORAGE_HOST_SIZE]; /* "" the address is known */
	char link[LINK_NAME_SIZE];    /* its packets are bound to this link; "" the route decides */
	struct address from;	      /* and to this address; ADDRESS_NONE the kernel chooses */
	uint16_t port;		      /* of TCP; 0 none */
	bool offloaded;		      /* RDMA or an adapter's own TCP: not this host's packets */
	bool passing;		      /* seen as a connection, which may come and go */
};

#define STORAGE_MOST 1024

struct storage_list {
	struct storage *list;
	unsigned count;
	unsigned room;
	bool full; /* there were more than STORAGE_MOST */
};

bool storage_equal(const struct storage *a, const struct storage *b);
/* -ENOMEM. What is there already, or too much, is left out. */
int storage_list_add(struct storage_list *list, const struct storage *storage);
void storage_list_done(struct storage_list *list);
