/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What struct tcp_info says of a connection, from kernels older and newer than this program. In a
 * file of its own, since libnl's headers bring an older structure of the same name.
 */
#include "connection_message.h"

#include <string.h>

#include <linux/tcp.h>

/* Up to tcpi_total_retrans it is as old as the attribute. */
#define INFO_LEAST (offsetof(struct tcp_info, tcpi_total_retrans) + sizeof(uint32_t))
#define HAS(_length, _field)                                                                   \
	((_length) >= offsetof(struct tcp_info, _field) + sizeof(((struct tcp_info *)0)->_field))

static uint64_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void fill(struct connection *ret, const struct tcp_info *info, size_t length)
{
	ret->mss = info->tcpi_snd_mss;
	ret->announced_mss = info->tcpi_advmss;
	ret->pmtu = info->tcpi_pmtu;
	ret->segments = info->tcpi_unacked;
	ret->lost_before = info->tcpi_total_retrans;
	ret->timeout_usec = info->tcpi_rto;
	ret->sent_usec = info->tcpi_last_data_sent * USEC_PER_MSEC;
	ret->heard_usec = smaller(info->tcpi_last_ack_recv, info->tcpi_last_data_recv) *
			  USEC_PER_MSEC;
	ret->retransmits = info->tcpi_retransmits;
	ret->backoff = info->tcpi_backoff;
	ret->window_probes = info->tcpi_probes;
	ret->timestamps = (info->tcpi_options & TCPI_OPT_TIMESTAMPS) != 0;
	ret->has_window = HAS(length, tcpi_snd_wnd);
	ret->window = info->tcpi_snd_wnd;
	/* the queue holds what was not sent yet, too */
	if (HAS(length, tcpi_notsent_bytes))
		ret->in_flight -= (uint32_t)smaller(info->tcpi_notsent_bytes, ret->in_flight);
}

bool connection_info_read(const void *bytes, size_t length, struct connection *connection)
{
	struct tcp_info info = {0};

	if (length < INFO_LEAST)
		return false;
	memcpy(&info, bytes, length < sizeof(info) ? length : sizeof(info));
	/* a state in between: there is none yet */
	if (info.tcpi_snd_mss == 0 || info.tcpi_snd_mss > SIZE_LARGEST)
		return false;
	fill(connection, &info, length);
	return true;
}
