/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One reading of a link's counters: 64 bit statistics by rtnetlink, and one number of the driver's
 * where it has one. Where a driver says exactly what was too long, the kernel's vaguer counters are
 * not looked at.
 */
#include "receive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "netlink.h"
#include "receive_driver.h"

#define NAMES_MOST 4

struct receive {
	struct netlink netlink;
	int fd;
};

int receive_new(struct receive **ret)
{
	struct receive *receive = calloc(1, sizeof(*receive));
	int r;

	if (!receive)
		return -ENOMEM;
	receive->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* a host without IPv4 has no counters of drivers for us, that is all */
	r = netlink_open(&receive->netlink, NULL);
	if (r < 0) {
		receive_free(receive);
		return r;
	}
	*ret = receive;
	return 0;
}

struct receive *receive_free(struct receive *receive)
{
	if (!receive)
		return NULL;
	netlink_close(&receive->netlink);
	if (receive->fd >= 0)
		close(receive->fd);
	free(receive);
	return NULL;
}

/* The known counters of one driver. Returns how many. */
static unsigned names_of(const char *driver, const char *names[static NAMES_MOST + 1],
			 uint8_t counters[static NAMES_MOST])
{
	unsigned count = 0;

	for (unsigned i = COUNTER_OF_DRIVER; i < counters_known() && count < NAMES_MOST; i++)
		if (counter_is_of(i, driver)) {
			counters[count] = (uint8_t)i;
			names[count++] = counter_name(i);
		}
	names[count] = NULL;
	return count;
}

void receive_open(struct receive *receive, const struct link *link, struct receive_source *ret)
{
	struct driver_statistics statistics = {0};
	const char *names[NAMES_MOST + 1];
	uint8_t counters[NAMES_MOST];
	unsigned name = 0;
	int position = -ENOENT;

	*ret = (struct receive_source){
		.count = 2,
		.counters = {COUNTER_LENGTH_ERRORS, COUNTER_OVER_ERRORS},
	};
	if (driver_statistics_get(receive->fd, link->name, &statistics) < 0 ||
	    names_of(statistics.driver, names, counters) == 0)
		return;
	position = driver_statistics_find(receive->fd, link->name, statistics.count, names, &name);
	/* where jumbo frames are wanted, this one counts them */
	if (position < 0 || (counter_counts_jumbo(counters[name]) && link->mtu > 1500))
		return;
	*ret = (struct receive_source){
		.count = 1,
		.counters = {counters[name]},
		.position = (unsigned)position,
		.total = statistics.count,
	};
}

struct statistics {
	struct rtnl_link_stats64 values;
	bool there;
};

static int on_statistics(struct nlmsghdr *message, void *userdata)
{
	struct statistics *ret = userdata;
	struct nlattr *attribute;

	if (message->nlmsg_type != RTM_NEWSTATS ||
	    nlmsg_datalen(message) < (int)sizeof(struct if_stats_msg))
		return 0;
	attribute = nlmsg_find_attr(message, sizeof(struct if_stats_msg), IFLA_STATS_LINK_64);
	/* older kernels know fewer counters, all of ours among them */
	if (!attribute ||
	    nla_len(attribute) < (int)offsetof(struct rtnl_link_stats64, tx_aborted_errors))
		return 0;
	nla_memcpy(&ret->values, attribute, sizeof(ret->values));
	ret->there = true;
	return 0;
}

static int ask_statistics(struct receive *receive, int link, struct statistics *ret)
{
	struct {
		struct nlmsghdr header;
		struct if_stats_msg info;
	} request = {
		.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.info)),
		.header.nlmsg_type = RTM_GETSTATS,
		.info.family = AF_UNSPEC,
		.info.ifindex = (uint32_t)link,
		.info.filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64),
	};
	int r = netlink_ask(&receive->netlink, &request.header, on_statistics, ret);

	return r < 0 ? r : ret->there ? 0 : -ENODATA;
}

int receive_read(struct receive *receive, const struct link *link,
		 const struct receive_source *source, struct counters_reading *ret)
{
	struct statistics statistics = {0};
	const struct rtnl_link_stats64 *values = &statistics.values;
	struct counters_reading reading = {.count = source->count};
	int r = ask_statistics(receive, link->index, &statistics);

	if (r < 0)
		return r;
	reading.packets = values->rx_packets;
	reading.overruns = values->rx_fifo_errors + values->rx_missed_errors;
	for (unsigned i = 0; i < source->count; i++) {
		reading.list[i].counter = source->counters[i];
		reading.list[i].value = source->counters[i] == COUNTER_LENGTH_ERRORS
						? values->rx_length_errors
						: values->rx_over_errors;
	}
	if (source->total > 0)
		r = driver_statistics_read(receive->fd, link->name, source->total, source->position,
					   &reading.list[0].value);
	if (r < 0)
		return r;
	*ret = reading;
	return 0;
}
