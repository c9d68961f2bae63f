/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames too long for a link, by its receive counters. One rise is chance: what is found rose in
 * two readings in a row, while ordinary packets came in too. A counter that went back was reset
 * and tells nothing of the time before.
 */
#include "counters.h"

#include <string.h>

#define RISES_NEEDED 2

/* What a driver calls it in its ethtool statistics, as its source fills them. */
struct known {
	const char *driver; /* as ETHTOOL_GDRVINFO names it; NULL the kernel's own */
	const char *name;
	bool sure;  /* dropped for being too long, and nothing else */
	bool jumbo; /* counts what is above 1518 bytes, also where that is wanted */
};

static const struct known known[] = {
	[COUNTER_LENGTH_ERRORS] = {NULL, "rx_length_errors", false, false},
	[COUNTER_OVER_ERRORS] = {NULL, "rx_over_errors", false, false},
	{"mlx5_core", "rx_oversize_pkts_phy", true, false}, /* IEEE 802.3 aFrameTooLongErrors */
	{"mlx5e_rep", "rx_oversize_pkts_phy", true, false},
	{"ixgbe", "rx_long_length_errors", true, false}, /* ROC: longer than MAXFRS */
	{"igb", "rx_long_length_errors", true, false},	 /* ROC, longer than RLPML */
	{"igc", "rx_long_length_errors", true, false},
	{"e1000e", "rx_long_length_errors", true, false},
	{"e1000", "rx_long_length_errors", true, false},
	{"i40e", "port.rx_oversize", true, false}, /* GLPRT_ROC */
	{"i40e", "rx_oversize", true, false},	   /* before Linux 4.18 */
	{"ice", "rx_oversize.nic", true, false},
	{"tg3", "rx_frame_too_long_errors", true, false}, /* RFC 3635 dot3StatsFrameTooLongs */
	{"be2net", "rx_frame_too_long", true, false},
	{"cxgb4", "rx_frames_too_long", true, false},
	{"nfp", "mac.rx_frame_too_long_errors", true, false},
	{"sfc", "port_rx_gtjumbo", true, false},
	{"sky2", "rx_too_long", true, false},
	{"skge", "rx_too_long", true, false},
	{"bnxt_en", "rx_ovrsz_frames", false, true},
	{"bnx2", "rx_oversize_packets", false, true}, /* RFC 2819 etherStatsOversizePkts */
	{"bnx2x", "rx_oversize_packets", false, true},
	{"qede", "rx_oversize_packets", false, true},
	{"hns3", "mac_rx_oversize_pkt_num", false, true},
	{"hinic", "mac_rx_oversize_pkt_num", false, true},
	{"hinic3", "mac_rx_oversize_pkt_num", false, true},
	{"mv643xx_eth", "oversize_received", false, true},
	{"mvneta", "oversize_received", false, true},
	{"mvpp2", "oversize_received", false, true},
	{"fec", "rx_oversize", false, true},
	{"macb", "rx_oversize_frames", false, true},
	{"st_gmac", "mmc_rx_oversize_g", false, true},
	{"st_xgmac", "mmc_rx_oversize_g", false, true},
	{"cpsw", "Rx Oversize Frames", false, true},
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

unsigned counters_known(void)
{
	return KNOWN;
}

const char *counter_name(unsigned counter)
{
	return counter < KNOWN ? known[counter].name : "";
}

bool counter_is_of(unsigned counter, const char *driver)
{
	return counter < KNOWN && known[counter].driver &&
	       strcmp(known[counter].driver, driver) == 0;
}

bool counter_is_sure(unsigned counter)
{
	return counter < KNOWN && known[counter].sure;
}

bool counter_counts_jumbo(unsigned counter)
{
	return counter < KNOWN && known[counter].jumbo;
}

static bool same_source(const struct counters_reading *a, const struct counters_reading *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (a->list[i].counter != b->list[i].counter)
			return false;
	return true;
}

/* By how much one counter rose; 0 also where something else explains it. */
static uint64_t rise(const struct counters_reading *last, const struct counters_reading *now,
		     unsigned i)
{
	uint64_t before = last->list[i].value, after = now->list[i].value;

	if (after <= before || now->packets <= last->packets)
		return 0;
	/* a card that has no room for more calls that an overrun here as well */
	if (now->list[i].counter == COUNTER_OVER_ERRORS && now->overruns != last->overruns)
		return 0;
	return after - before;
}

static uint32_t per_minute(uint64_t count, uint64_t usec)
{
	uint64_t seconds_60 = usec / (USEC_PER_SEC / 60);
	uint64_t rate = seconds_60 ? count * 3600 / seconds_60 : count;

	if (count > UINT64_MAX / 3600 || rate > UINT32_MAX)
		return UINT32_MAX;
	return rate ? (uint32_t)rate : 1;
}

/* Told again only where it is another order of things: a number that moves all the time is no news.
 */
static bool differs(const struct inbound *a, const struct inbound *b)
{
	return a->counter != b->counter || !a->per_minute || a->per_minute / 2 > b->per_minute ||
	       b->per_minute / 2 > a->per_minute;
}

static bool found(struct counters *counters, const struct inbound *now)
{
	if (!differs(&counters->found, now))
		return false;
	counters->found = *now;
	return true;
}

static bool is_over(struct counters *counters, uint64_t now_usec)
{
	if (!counters->found.per_minute || now_usec - counters->risen_usec < COUNTERS_QUIET_USEC)
		return false;
	memset(&counters->found, 0, sizeof(counters->found));
	return true;
}

static bool compare(struct counters *counters, const struct counters_reading *now)
{
	uint64_t usec = now->usec - counters->last.usec;

	for (unsigned i = 0; i < now->count; i++) {
		uint64_t risen = rise(&counters->last, now, i);
		struct inbound inbound = {
			.per_minute = per_minute(risen, usec),
			.counter = now->list[i].counter,
			.sure = counter_is_sure(now->list[i].counter),
		};

		if (risen == 0) {
			counters->rises[i] = 0;
			continue;
		}
		if (counters->rises[i] < RISES_NEEDED)
			counters->rises[i]++;
		if (counters->found.per_minute)
			counters->risen_usec = now->usec;
		if (counters->rises[i] < RISES_NEEDED)
			continue;
		counters->risen_usec = now->usec;
		return found(counters, &inbound);
	}
	return is_over(counters, now->usec);
}

bool counters_on_reading(struct counters *counters, const struct counters_reading *now)
{
	bool changed = false;

	if (counters->last.usec && now->usec > counters->last.usec &&
	    same_source(&counters->last, now))
		changed = compare(counters, now);
	else
		memset(counters->rises, 0, sizeof(counters->rises));
	counters->last = *now;
	return changed;
}

uint64_t counters_period(const struct counters *counters)
{
	for (unsigned i = 0; i < COUNTERS_LARGEST; i++)
		if (counters->rises[i])
			return COUNTERS_PERIOD_CLOSE_USEC;
	return COUNTERS_PERIOD_USEC;
}
