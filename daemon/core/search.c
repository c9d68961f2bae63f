/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The largest size that passes, as far as the tries made so far can tell. Every function is a
 * view on the tries; none remembers, none waits, none sends.
 */
#include "search.h"

#include <string.h>

/*
 * Sizes where MTUs really end: 9216 and down the jumbo frames of switches, clouds, VXLAN and FCoE
 * overlays; FDDI and token ring; Ethernet with a VLAN's slack, PPPoE, GRE, IPsec, WireGuard;
 * IPv6's least; the old X.25 and dial-up plateaus of RFC 1191 section 7.
 */
static const uint16_t well_known[] = {
	296,  508,  576,  1006, 1280, 1300, 1380, 1400, 1420, 1442, 1450,  1460,  1476,
	1480, 1492, 1496, 1500, 1504, 1550, 2002, 4352, 4470, 8166, 8500,  8896,  8900,
	8942, 8950, 8996, 9000, 9001, 9100, 9198, 9216, 9600, 16384, 32000, 65520,
};
#define WELL_KNOWN_COUNT (sizeof(well_known) / sizeof(well_known[0]))

/*
 * Chance may explain all failures of a size once in 2^20 where loss was seen, and where none was
 * seen, though few packets may have been there to see it, once in 2^9 in one round.
 */
#define CHANCE_BITS_LOSSY 20
#define CHANCE_BITS_CLEAN 9
#define FAILURES_LARGEST 40U

static bool try_arrived(const struct try *try)
{
	return try->state == TRY_ANSWERED || try->state == TRY_RECEIPT || try->state == TRY_DELIVERED;
}

static bool try_passed(const struct try *try, enum view view)
{
	return view == VIEW_RETURN ? try->state == TRY_ANSWERED : try_arrived(try);
}

uint32_t search_floor(const struct tries *tries)
{
	uint32_t floor = 0;

	for (unsigned i = 0; i < tries->count; i++)
		if (try_passed(&tries->list[i], tries->view) && tries->list[i].size > floor)
			floor = tries->list[i].size;
	return floor;
}

struct alive {
	enum view view;
	bool burst[TRIES_LARGEST];
};

/* A burst is alive when anything in it was answered: then a silence beside it means something. */
static struct alive alive_bursts(const struct tries *tries)
{
	struct alive alive;

	memset(&alive, 0, sizeof(alive));
	alive.view = tries->view;
	for (unsigned i = 0; i < tries->count; i++)
		if (try_arrived(&tries->list[i]))
			alive.burst[tries->list[i].burst] = true;
	return alive;
}

static bool try_failed(const struct try *try, const struct alive *alive)
{
	if (alive->view == VIEW_RETURN)
		return try->state == TRY_DELIVERED;
	if (try->state == TRY_SILENT)
		return alive->burst[try->burst];
	return try->state == TRY_REPORTED || try->state == TRY_REFUSED;
}

unsigned search_failures(const struct tries *tries, uint32_t size)
{
	struct alive alive = alive_bursts(tries);
	unsigned failures = 0;

	for (unsigned i = 0; i < tries->count; i++)
		if (tries->list[i].size == size && try_failed(&tries->list[i], &alive))
			failures++;
	return failures;
}

uint32_t search_suspect(const struct tries *tries)
{
	struct alive alive = alive_bursts(tries);
	uint32_t floor = search_floor(tries);
	uint32_t suspect = 0;

	for (unsigned i = 0; i < tries->count; i++) {
		const struct try *try = &tries->list[i];

		if (try->size > floor && (suspect == 0 || try->size < suspect) &&
		    try_failed(try, &alive))
			suspect = try->size;
	}
	return suspect;
}

static bool size_never_passed(const struct tries *tries, uint32_t size)
{
	for (unsigned i = 0; i < tries->count; i++)
		if (tries->list[i].size == size && try_passed(&tries->list[i], tries->view))
			return false;
	return true;
}

uint32_t search_exception(const struct tries *tries, uint32_t control)
{
	uint32_t floor = search_floor(tries), exception = 0;

	for (unsigned i = 0; i < tries->count; i++) {
		const struct try *try = &tries->list[i];

		if (try->state != TRY_SILENT || try->size >= floor)
			continue;
		if (try->size <= control)
			return 0;
		if (try->size > exception && search_failures(tries, try->size) > 0 &&
		    size_never_passed(tries, try->size))
			exception = try->size;
	}
	return exception;
}

struct loss search_loss(const struct tries *tries)
{
	uint32_t floor = search_floor(tries);
	struct loss loss = { 0, 0 };

	for (unsigned i = 0; i < tries->count; i++) {
		const struct try *try = &tries->list[i];

		bool lost = tries->view == VIEW_RETURN ? try->state == TRY_DELIVERED :
							 try->state == TRY_SILENT;

		if (try->size > floor || !(lost || try_passed(try, tries->view)))
			continue;
		loss.sent++;
		loss.lost += lost;
	}
	return loss;
}

void loss_add(struct loss *loss, struct loss more)
{
	loss->sent += more.sent;
	loss->lost += more.lost;
	while (loss->sent > 128) {
		loss->sent /= 2;
		loss->lost /= 2;
	}
}

unsigned search_needed(struct loss loss, unsigned tries)
{
	uint64_t one = 1ULL << 32;
	/* the rule of succession: never 0, and modest after few packets */
	uint64_t rate = one * (loss.lost + 1U) / (loss.sent + 2U);
	uint64_t least = one >> (loss.lost ? CHANCE_BITS_LOSSY : CHANCE_BITS_CLEAN);
	uint64_t chance = one;
	unsigned needed = 0;

	while (chance > least && needed < FAILURES_LARGEST) {
		chance = chance * (rate >> 8) >> 24;
		needed++;
	}
	return needed > tries ? needed : tries;
}

/* Puts `size` in its place among `count` ascending sizes. */
static void sizes_insert(uint32_t *sizes, unsigned count, uint32_t size)
{
	while (count > 0 && sizes[count - 1] > size) {
		sizes[count] = sizes[count - 1];
		count--;
	}
	sizes[count] = size;
}

/* At most `most` of the well-known sizes in between, evenly over those there are. */
static unsigned next_well_known(uint32_t floor, uint32_t suspect, unsigned most, uint32_t *sizes)
{
	unsigned first = 0, end, count;

	while (first < WELL_KNOWN_COUNT && well_known[first] <= floor)
		first++;
	end = first;
	while (end < WELL_KNOWN_COUNT && well_known[end] < suspect)
		end++;
	count = end - first < most ? end - first : most;
	for (unsigned i = 0; i < count; i++)
		sizes[i] = well_known[first + (2 * i + 1) * (end - first) / (2 * count)];
	return count;
}

/* The middle of the widest gap; 0 when every gap is closed. */
static uint32_t widest_middle(uint32_t floor, uint32_t suspect, const uint32_t *sizes,
			      unsigned count)
{
	uint32_t below = floor, widest = 1, middle = 0;

	for (unsigned i = 0; i <= count; i++) {
		uint32_t above = i < count ? sizes[i] : suspect;

		if (above - below > widest) {
			widest = above - below;
			middle = below + widest / 2;
		}
		below = above;
	}
	return middle;
}

static unsigned next_sizes(uint32_t floor, uint32_t suspect, unsigned most, uint32_t *ret_sizes)
{
	unsigned count = next_well_known(floor, suspect, most, ret_sizes);

	while (count < most) {
		uint32_t middle = widest_middle(floor, suspect, ret_sizes, count);

		if (middle == 0)
			break;
		sizes_insert(ret_sizes, count++, middle);
	}
	return count;
}

unsigned search_next(uint32_t floor, uint32_t suspect, struct search_limit limit,
		     uint32_t *ret_sizes)
{
	unsigned fit = limit.bytes / ((floor + suspect) / 2 + 1);
	unsigned first = fit < 1 ? 1 : fit < limit.sizes ? fit : limit.sizes;

	/* well-known sizes need not lie evenly around the middle */
	for (unsigned most = first; most > 0; most--) {
		unsigned count = next_sizes(floor, suspect, most, ret_sizes);
		uint32_t bytes = 0;

		for (unsigned i = 0; i < count; i++)
			bytes += ret_sizes[i];
		if (bytes <= limit.bytes || count <= 1)
			return count;
	}
	return 0;
}
