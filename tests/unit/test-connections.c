/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What live connections mean for a path: each sign with its cause alone, and silence without one. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../daemon/core/path.h"
#include "tap.h"

#define SEC USEC_PER_SEC

static struct peer_settings settings;

static struct address host(uint8_t family, unsigned number)
{
	struct address address = {.family = family};
	uint8_t *last = &address.bytes[family == ADDRESS_IPV6 ? 13 : 1];

	address.bytes[0] = family == ADDRESS_IPV6 ? 0x20 : 10;
	last[0] = (uint8_t)(number >> 16);
	last[1] = (uint8_t)(number >> 8);
	last[2] = (uint8_t)number;
	return address;
}

/* Measured: so much passes there, so much back (0 not known), of 9000 expected. */
static struct path measured(uint8_t family, uint32_t there, uint32_t back)
{
	struct path path = {
		.address = host(family, 2),
		.settings = &settings,
		.route = {.link = 2, .kernel_mtu = there, .source = host(family, 1)},
		.facts = {.expected = 9000, .capacity = 9000, .kernel_mtu = there,
			  .ipv6 = family == ADDRESS_IPV6},
		.announced = {.verdict = VERDICT_CONSISTENT, .path_mtu = there, .return_mtu = back},
		.known_mtu = there,
		.rounds = 3,
		.ended_usec = SEC,
	};

	if (there < 9000)
		path.announced.verdict = VERDICT_BLACK_HOLE;
	settings = (struct peer_settings){.interval_usec = 30 * SEC};
	return path;
}

/* A healthy one that uses packets of `size` bytes, with timestamps. */
static struct connection live(uint8_t family, uint32_t size)
{
	uint32_t headers = (family == ADDRESS_IPV6 ? 60 : 40) + 12;

	return (struct connection){
		.to = host(family, 2),
		.from = host(family, 1),
		.mss = size - headers,
		.announced_mss = 9000 - headers,
		.pmtu = 9000,
		.window = 1000000,
		.has_window = true,
		.timestamps = true,
		.timeout_usec = 204000,
	};
}

static struct tally look(struct path *path, const struct connection *connections, unsigned count,
			 enum mtu_probing probing)
{
	struct tally tally;
	struct tallies tallies = {.list = &tally, .count = 1, .probing = probing};

	tally_begin(&tally, path);
	for (unsigned i = 0; i < count; i++)
		tallies_add(&tallies, &connections[i]);
	return tally;
}

struct row {
	const char *what;
	uint8_t family; /* 0: IPv4 */
	uint32_t there, back;
	uint32_t size;
	uint32_t pmtu, window, announced; /* 0: 9000, a large one, for 9000 */
	uint32_t lost_before;
	uint32_t kernel;    /* what the kernel would use now; 0: all there is */
	uint32_t exception; /* what the kernel has learned, and had before the last round */
	enum mtu_probing probing;
	bool plain; /* no timestamps */
	int cause;  /* -1: nothing to say */
	uint32_t is;
};

#define FINE (-1)
#define CAUSE(_cause, _is) .cause = SOCKET_CAUSE_##_cause, .is = (_is)
/* clang-format off */
static const struct row rows[] = {
	{"full size", .there = 9000, .back = 9000, .size = 9000, .cause = FINE},
	{"full size, no timestamps", .there = 9000, .back = 9000, .size = 9000, .plain = true, .cause = FINE},
	{"full size, IPv6", .family = ADDRESS_IPV6, .there = 9000, .back = 9000, .size = 9000, .cause = FINE},
	{"as large as an option less", .there = 9000, .back = 9000, .size = 8980, .cause = FINE},
	{"a byte less than that", .there = 9000, .back = 9000, .size = 8979, CAUSE(REWRITTEN, 8979)},
	{"clamped, the way back whole", .there = 9000, .back = 9000, .size = 1500, CAUSE(REWRITTEN, 1500)},
	{"clamped, IPv6", .family = ADDRESS_IPV6, .there = 9000, .back = 9000, .size = 1500, CAUSE(REWRITTEN, 1500)},
	{"small, the way back not known", .there = 9000, .back = 0, .size = 1500, CAUSE(PEER, 1500)},
	{"small, the way back small", .there = 9000, .back = 1500, .size = 1500, CAUSE(PEER_SMALL, 1500)},
	{"smaller than either way", .there = 9000, .back = 4000, .size = 1500, CAUSE(REWRITTEN, 1500)},
	{"nothing measured", .there = 0, .back = 0, .size = 1500, .cause = FINE},
	{"a fault of that size", .there = 1500, .back = 1500, .size = 1500, .pmtu = 1500, .cause = FINE},
	{"a port that takes a tag more", .there = 1504, .back = 0, .size = 1500, .cause = FINE},
	{"a fault, and clearly less", .there = 8500, .back = 0, .size = 1500, CAUSE(PEER, 1500)},
	{"more than passes", .there = 1500, .back = 1500, .size = 9000, .cause = FINE},
	{"a small window", .there = 9000, .back = 9000, .size = 4052, .window = 8000, .cause = FINE},
	{"a window that is no excuse", .there = 9000, .back = 9000, .size = 4052, .window = 8004, CAUSE(REWRITTEN, 4052)},
	{"no window at all now", .there = 9000, .back = 9000, .size = 1500, .window = 1, .cause = FINE},
	{"learned, and stale", .there = 9000, .back = 9000, .size = 1500, .pmtu = 1500, .exception = 1500, CAUSE(CACHE, 1500)},
	{"the kernel has forgotten it", .there = 9000, .back = 9000, .size = 1500, .pmtu = 1500, .cause = FINE},
	{"learned, clamped below", .there = 9000, .back = 9000, .size = 1400, .pmtu = 1500, .exception = 1500, CAUSE(REWRITTEN, 1400)},
	{"learned while opening", .there = 9000, .back = 9000, .size = 1500, .pmtu = 1500, .announced = 1500, .exception = 1500, CAUSE(CACHE, 1500)},
	{"learned, true, the way back too", .there = 1500, .back = 1500, .size = 1500, .pmtu = 1500, .exception = 1500, .cause = FINE},
	{"announced less", .there = 9000, .back = 9000, .size = 9000, .announced = 4000, CAUSE(OWN, 4000)},
	{"announced less where less comes back", .there = 9000, .back = 4000, .size = 9000, .announced = 4000, .cause = FINE},
	{"announced less, the way back not known", .there = 9000, .back = 0, .size = 9000, .announced = 4000, .cause = FINE},
	{"announced less, as it would now", .there = 9000, .back = 9000, .size = 9000, .announced = 4000, .kernel = 4000, .cause = FINE},
	{"announced less than it would now", .there = 9000, .back = 9000, .size = 9000, .announced = 3000, .kernel = 4000, CAUSE(OWN, 3000)},
	{"probing, no loss", .there = 9000, .back = 9000, .size = 1076, .probing = MTU_PROBING_AFTER_LOSS, CAUSE(REWRITTEN, 1076)},
	{"probing after loss", .there = 9000, .back = 9000, .size = 1076, .lost_before = 3, .probing = MTU_PROBING_AFTER_LOSS, CAUSE(PROBED, 1076)},
	{"loss, no probing", .there = 9000, .back = 9000, .size = 1076, .lost_before = 3, CAUSE(REWRITTEN, 1076)},
};
/* clang-format on */

static struct connection row_connection(const struct row *row, uint8_t family)
{
	struct connection connection = live(family, row->size);
	uint32_t headers = family == ADDRESS_IPV6 ? 72 : 52;

	if (row->plain) {
		connection.timestamps = false;
		connection.mss += 12;
		connection.announced_mss += 12;
	}
	if (row->pmtu)
		connection.pmtu = row->pmtu;
	if (row->window)
		connection.window = row->window;
	if (row->announced)
		connection.announced_mss = row->announced - headers;
	connection.lost_before = row->lost_before;
	return connection;
}

START_TEST(causes)
{
	const struct row *row = &rows[_i];
	uint8_t family = row->family ? row->family : ADDRESS_IPV4;
	struct path path = measured(family, row->there, row->back);
	struct connection connection = row_connection(row, family);
	struct sockets_news news;
	struct findings findings = {0};
	const struct finding *finding;
	struct tally tally;

	if (row->kernel)
		path.facts.kernel_mtu = row->kernel;
	if (row->exception) {
		path.route.kernel_mtu = path.measured_beside = row->exception;
		path.route.exception_sec = 400;
	}
	for (unsigned i = 0; i < 2; i++) {
		tally = look(&path, &connection, 1, row->probing);
		path_on_connections(&path, &tally, (10 + i) * SEC, &news);
	}
	ck_assert_msg(path.sockets.mss == connection.mss, "%s: MSS %u", row->what, path.sockets.mss);
	lint_kernel(&path, &findings);
	finding = findings_find(&findings, FINDING_SOCKET_MSS_BELOW_PATH);
	ck_assert_msg((finding != NULL) == (row->cause >= 0), "%s", row->what);
	if (!finding)
		return;
	ck_assert_msg(finding->cause == row->cause, "%s: cause %u", row->what, finding->cause);
	ck_assert_msg(finding->is == row->is && finding->should == row->there && finding->count == 1,
		      "%s: is %u should %u count %u", row->what, finding->is, finding->should,
		      finding->count);
	ck_assert_int_eq(finding->severity, SEVERITY_NOTICE);
}
END_TEST

/* 2 always: where a connection begins is no news, and where it ends nobody knows. */
START_TEST(always_probing_is_its_own)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection connection = live(ADDRESS_IPV4, 1076);
	struct tally tally = look(&path, &connection, 1, MTU_PROBING_ALWAYS);

	ck_assert_uint_eq(tally.below[SOCKET_CAUSE_PROBED].count, 0);
	ck_assert_uint_eq(tally.below[SOCKET_CAUSE_PEER].count, 0);
	ck_assert_uint_eq(tally.mss, 1024);
}
END_TEST

/* Older kernels tell of no window: then it is no excuse. */
START_TEST(no_window_is_no_excuse)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection connection = live(ADDRESS_IPV4, 1500);
	struct tally tally;

	connection.has_window = false;
	connection.window = 0;
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.below[SOCKET_CAUSE_PEER].count, 1);
}
END_TEST

/* A path of which no size is known has none that a connection is below. */
START_TEST(nothing_to_compare_with)
{
	static const enum verdict verdicts[] = {VERDICT_UNKNOWN, VERDICT_MISCONFIGURED,
						VERDICT_UNREACHABLE, VERDICT_UNVERIFIABLE};
	struct connection connection = live(ADDRESS_IPV4, 1500);
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct tally tally;

	path.announced.verdict = verdicts[_i];
	tally_begin(&tally, &path);
	ck_assert_uint_eq(tally.there, 0);
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.below[SOCKET_CAUSE_PEER].count, 0);
	ck_assert_uint_eq(tally.connections, 1);
	/* nor while the link is down */
	path = measured(ADDRESS_IPV4, 9000, 9000);
	path.facts.trouble = REASON_LINK_DOWN;
	tally_begin(&tally, &path);
	ck_assert_uint_eq(tally.there, 0);
	/* nor where all that passes is less than luck may add */
	path = measured(ADDRESS_IPV4, 60, 0);
	tally_begin(&tally, &path);
	ck_assert_uint_eq(tally.there, 0);
}
END_TEST

/* The smallest is told, and how many there are. */
START_TEST(sums)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection list[4] = {live(ADDRESS_IPV4, 9000), live(ADDRESS_IPV4, 1500),
				     live(ADDRESS_IPV4, 1400), live(ADDRESS_IPV4, 4000)};
	struct tally tally = look(&path, list, 4, MTU_PROBING_OFF);

	ck_assert_uint_eq(tally.connections, 4);
	ck_assert_uint_eq(tally.mss, 1348);
	ck_assert_uint_eq(tally.below[SOCKET_CAUSE_PEER].count, 3);
	ck_assert_uint_eq(tally.below[SOCKET_CAUSE_PEER].size, 1400);
	ck_assert_uint_eq(tally.below[SOCKET_CAUSE_PEER].mss, 1348);
}
END_TEST

/* --- which path --- */

static int ranked(const void *a, const void *b)
{
	return tally_compare(a, b);
}

START_TEST(several_paths_to_one_address)
{
	struct path paths[3] = {measured(ADDRESS_IPV4, 9000, 9000), measured(ADDRESS_IPV4, 9000, 9000),
				measured(ADDRESS_IPV6, 9000, 9000)};
	struct tally list[3];
	struct tallies tallies = {.list = list, .count = 3};
	struct connection connection = live(ADDRESS_IPV4, 1500);

	paths[1].route.link = 3;
	paths[1].route.source = host(ADDRESS_IPV4, 11);
	for (unsigned i = 0; i < 3; i++)
		tally_begin(&list[i], &paths[i]);
	qsort(list, 3, sizeof(list[0]), ranked);
	tallies_add(&tallies, &connection); /* from the first one's */
	connection.from = host(ADDRESS_IPV4, 11);
	tallies_add(&tallies, &connection); /* from the second one's */
	connection.link = 3;
	tallies_add(&tallies, &connection); /* and bound to its link */
	connection.link = 0;
	connection.from = host(ADDRESS_IPV4, 77);
	tallies_add(&tallies, &connection); /* from neither's: it may be either */
	connection.link = 2;
	tallies_add(&tallies, &connection); /* but by this link it is the first */
	connection.link = 9;
	tallies_add(&tallies, &connection); /* and by that none */
	connection.link = 0;
	ck_assert(!tallies_know(&tallies, &connection));
	connection.from = host(ADDRESS_IPV4, 11);
	ck_assert(tallies_know(&tallies, &connection));
	connection.to = host(ADDRESS_IPV4, 3);
	tallies_add(&tallies, &connection); /* a stranger */
	for (unsigned i = 0; i < 3; i++) {
		unsigned wanted = list[i].path == &paths[0] ? 3 : list[i].path == &paths[1] ? 3 : 0;

		ck_assert_uint_eq(list[i].connections, wanted);
	}
}
END_TEST

/* Its packets are sent by a link that no route leads to it by. */
START_TEST(path_beside_the_route)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection connection = live(ADDRESS_IPV4, 1500);
	struct tally tally;

	path.route.source = host(ADDRESS_IPV4, 11);
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 1);
	path.bound_link = path.route.link;
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 0);
	connection.from = path.route.source;
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 1);
	connection.from = host(ADDRESS_IPV4, 1);
	connection.link = path.route.link;
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 1);
}
END_TEST

/* A configured source is the path's, whatever the route would choose. */
START_TEST(by_the_configured_source)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection connection = live(ADDRESS_IPV4, 1500);
	struct tally tally;

	path.bound_link = path.route.link;
	path.from = host(ADDRESS_IPV4, 11);
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 0);
	connection.from = path.from;
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 1);
	connection.from.family = ADDRESS_NONE; /* the kernel told of none */
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 0);
	/* a bound one belongs to the path of its link, and while no link is known to any */
	connection.link = path.route.link + 1;
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 0);
	path.route.link = path.bound_link = 0;
	tally = look(&path, &connection, 1, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.connections, 1);
}
END_TEST

/* Its link need not be looked up: it is bound, nobody asks about its peer, or its source tells. */
START_TEST(known_without_looking)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct tally tally;
	struct tallies tallies = {.list = &tally, .count = 1};
	struct connection connection = live(ADDRESS_IPV4, 1500);

	tally_begin(&tally, &path);
	ck_assert(tallies_know(&tallies, &connection));
	connection.from = host(ADDRESS_IPV4, 77);
	ck_assert(!tallies_know(&tallies, &connection));
	connection.link = 9;
	ck_assert(tallies_know(&tallies, &connection));
	connection.link = 0;
	connection.to = host(ADDRESS_IPV4, 1); /* before all others */
	ck_assert(tallies_know(&tallies, &connection));
	connection.to = host(ADDRESS_IPV4, 3); /* behind them */
	ck_assert(tallies_know(&tallies, &connection));
}
END_TEST

START_TEST(link_local_by_zone)
{
	struct path paths[2] = {measured(ADDRESS_IPV6, 9000, 9000), measured(ADDRESS_IPV6, 9000, 9000)};
	struct tally list[2];
	struct tallies tallies = {.list = list, .count = 2};
	struct connection connection = live(ADDRESS_IPV6, 1500);

	for (unsigned i = 0; i < 2; i++) {
		memcpy(paths[i].address.bytes, "\xfe\x80", 2);
		paths[i].address.zone = paths[i].route.link = (int)i + 2;
		tally_begin(&list[i], &paths[i]);
	}
	connection.to = paths[1].address;
	connection.link = 3;
	tallies_add(&tallies, &connection);
	ck_assert_uint_eq(list[0].connections, 0);
	ck_assert_uint_eq(list[1].connections, 1);
}
END_TEST

#define MANY 10000U

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Each of ten thousand has one: the time is nothing like its square. */
START_TEST(many)
{
	struct path *paths = calloc(MANY, sizeof(*paths));
	struct tally *list = calloc(MANY, sizeof(*list));
	struct tallies tallies = {.list = list, .count = MANY};
	struct connection connection = live(ADDRESS_IPV4, 1500);
	double begun, spent;

	ck_assert(paths && list);
	for (unsigned i = 0; i < MANY; i++) {
		paths[i] = measured(ADDRESS_IPV4, 9000, 9000);
		/* in no order */
		paths[i].address = host(ADDRESS_IPV4, i * 7919U % MANY);
	}
	begun = seconds();
	for (unsigned i = 0; i < MANY; i++)
		tally_begin(&list[i], &paths[i]);
	qsort(list, MANY, sizeof(list[0]), tally_compare);
	for (unsigned i = 0; i < MANY; i++) {
		connection.to = host(ADDRESS_IPV4, i);
		tallies_add(&tallies, &connection);
	}
	spent = seconds() - begun;
	fprintf(stderr, "# %u connections to %u peers in %.1f ms, %zu bytes a peer\n", MANY, MANY,
		spent * 1e3, sizeof(struct tally));
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_uint_eq(list[i].connections, 1);
	ck_assert_double_lt(spent, 1.0);
	free(paths);
	free(list);
}
END_TEST

/* --- when it is told --- */

static bool told(const struct path *path)
{
	struct findings findings = {0};

	lint_kernel(path, &findings);
	return findings_find(&findings, FINDING_SOCKET_MSS_BELOW_PATH) != NULL;
}

/* Looks once a second from `from` to `until`, with this connection (NULL: none). Valid until the next
 * one. */
static const struct sockets_news *looks(struct path *path, const struct connection *connection,
					unsigned from, unsigned until)
{
	static struct sockets_news news;

	memset(&news, 0, sizeof(news));
	for (unsigned i = from; i < until; i++) {
		struct tally tally = look(path, connection, connection ? 1 : 0, MTU_PROBING_OFF);

		path_on_connections(path, &tally, i * SEC, &news);
	}
	return &news;
}

START_TEST(comes_and_goes)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection small = live(ADDRESS_IPV4, 1500), full = live(ADDRESS_IPV4, 9000);
	const struct sockets_news *news = looks(&path, &small, 10, 11);

	ck_assert(!told(&path) && news->restless && news->mss_changed);
	looks(&path, &full, 11, 12);
	looks(&path, &small, 12, 13);
	ck_assert(!told(&path));
	news = looks(&path, &small, 13, 14);
	ck_assert(told(&path) && news->lint && !news->restless);
	/* gone after a while without */
	looks(&path, &full, 14, 23);
	ck_assert(told(&path));
	news = looks(&path, &full, 23, 24);
	ck_assert(!told(&path) && news->lint);
	/* what comes and goes stays a finding for longer each time */
	looks(&path, &small, 30, 32);
	ck_assert(told(&path));
	looks(&path, NULL, 32, 51);
	ck_assert(told(&path));
	looks(&path, NULL, 51, 52);
	ck_assert(!told(&path));
	/* and is forgiven after a long time */
	looks(&path, &small, 2000, 2002);
	looks(&path, NULL, 2002, 2012);
	ck_assert(!told(&path));
}
END_TEST

/* More of the same are no news. */
START_TEST(as_many_as_when_it_began)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection list[3] = {live(ADDRESS_IPV4, 1500), live(ADDRESS_IPV4, 1500),
				     live(ADDRESS_IPV4, 1500)};
	struct tally tally = look(&path, list, 3, MTU_PROBING_OFF);
	struct sockets_news news;

	looks(&path, list, 10, 12);
	path_on_connections(&path, &tally, 12 * SEC, &news);
	ck_assert(told(&path));
	ck_assert_uint_eq(path.sockets.below.count, 1);
	list[1] = live(ADDRESS_IPV4, 1400);
	tally = look(&path, list, 3, MTU_PROBING_OFF);
	path_on_connections(&path, &tally, 13 * SEC, &news);
	ck_assert_uint_eq(path.sockets.below.count, 3);
	ck_assert_uint_eq(path.sockets.below.size, 1400);
}
END_TEST

START_TEST(less_passes_by_now)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection small = live(ADDRESS_IPV4, 1500);

	looks(&path, &small, 10, 12);
	ck_assert(told(&path));
	path.announced.verdict = VERDICT_BLACK_HOLE;
	path.announced.path_mtu = 1500;
	ck_assert(!told(&path));
}
END_TEST

/* --- stalls --- */

static struct connection stuck(unsigned retransmits)
{
	struct connection connection = live(ADDRESS_IPV4, 9000);

	connection.retransmits = connection.backoff = (uint8_t)retransmits;
	connection.timeout_usec = 204000ULL << retransmits;
	connection.sent_usec = 100 * USEC_PER_MSEC;
	connection.heard_usec = connection.sent_usec + connection.timeout_usec - 204000;
	connection.segments = 27;
	connection.in_flight = 27 * connection.mss;
	return connection;
}

START_TEST(stuck_or_not)
{
	struct connection connection = stuck(3);

	ck_assert(connection_is_stalled(&connection));
	ck_assert(!connection_is_alive(&connection));
	ck_assert_uint_eq(connection_size(&connection), 9000);
	connection = stuck(2);
	ck_assert(!connection_is_stalled(&connection));
	/* a receiver that takes nothing */
	connection = stuck(4);
	connection.window_probes = 1;
	ck_assert(!connection_is_stalled(&connection));
	connection = stuck(4);
	connection.window = 8000;
	ck_assert(!connection_is_stalled(&connection));
	/* small ones are under way */
	connection = stuck(4);
	connection.in_flight = 27 * 200;
	ck_assert(!connection_is_stalled(&connection));
	connection.segments = 1;
	ck_assert(!connection_is_stalled(&connection));
	connection = stuck(4);
	connection.in_flight = connection.segments = 0;
	ck_assert(!connection_is_stalled(&connection));
	connection = stuck(4); /* more than a segment in all, but each one small */
	connection.segments = 100;
	connection.in_flight = 100 * 200;
	ck_assert(!connection_is_stalled(&connection));
	connection = stuck(4); /* so small that all sizes are alike */
	connection.mss = 100;
	connection.in_flight = 27 * 100;
	ck_assert(!connection_is_stalled(&connection));
	/* older kernels tell of no window */
	connection = stuck(4);
	connection.has_window = false;
	connection.window = 0;
	ck_assert(connection_is_stalled(&connection));
}
END_TEST

START_TEST(alive_or_not)
{
	for (unsigned retransmits = 1; retransmits < 20; retransmits++) {
		struct connection connection = stuck(retransmits);

		ck_assert(!connection_is_alive(&connection));
		/* heard between the first try and now */
		connection.heard_usec -= 150 * USEC_PER_MSEC;
		ck_assert(connection_is_alive(&connection) == (retransmits >= 5));
		/* the timeout grows to a limit only */
		connection.timeout_usec = 120 * SEC;
		connection.heard_usec = 100000 * SEC;
		ck_assert(!connection_is_alive(&connection));
	}
}
END_TEST

/* Where the timeout was not doubled each wait was as long, and no shift goes beyond 64 bits. */
START_TEST(alive_whatever_the_backoff)
{
	struct connection connection = stuck(6);

	connection.backoff = 0;
	connection.timeout_usec = SEC;
	connection.sent_usec = 100 * USEC_PER_MSEC;
	connection.heard_usec = 5 * SEC;
	ck_assert(connection_is_alive(&connection));
	connection.heard_usec = 7 * SEC;
	ck_assert(!connection_is_alive(&connection));
	connection.backoff = 64;
	connection.heard_usec = SEC / 2;
	ck_assert(connection_is_alive(&connection));
	connection.heard_usec = 2 * SEC;
	ck_assert(!connection_is_alive(&connection));
}
END_TEST

/* Of several that are stuck the largest tells what is too large. */
START_TEST(the_largest_of_the_stuck)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection list[3] = {stuck(4), stuck(4), stuck(4)};
	struct tally tally;

	list[0].mss = list[2].mss = 1448;
	list[0].in_flight = list[2].in_flight = 27 * 1448;
	tally = look(&path, list, 3, MTU_PROBING_OFF);
	ck_assert_uint_eq(tally.stalled, 3);
	ck_assert_uint_eq(tally.stalled_size, 9000);
}
END_TEST

static bool stall_told(const struct path *path)
{
	struct findings findings = {0};
	const struct finding *finding;

	lint_kernel(path, &findings);
	finding = findings_find(&findings, FINDING_CONNECTIONS_STALLED);
	if (finding)
		ck_assert_int_eq(finding->severity, SEVERITY_WARNING);
	return finding != NULL;
}

START_TEST(a_stall_asks_and_a_round_tells)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection connection = stuck(2), good = live(ADDRESS_IPV4, 9000);

	settings.interval_usec = 3600 * SEC;
	path.evidence = (struct evidence){.outcome = OUTCOME_FULL, .full = 9000, .passes = 9000};
	ck_assert(looks(&path, &connection, 10, 11)->ask);
	connection = stuck(5);
	/* asked for once, then at growing intervals */
	ck_assert(!looks(&path, &connection, 11, 12)->ask);
	ck_assert(looks(&path, &connection, 12, 13)->ask);
	ck_assert(!looks(&path, &connection, 13, 16)->ask);
	ck_assert(looks(&path, &connection, 16, 17)->ask);
	/* the full size passes: a dead flow, or another way */
	path.ended_usec = 17 * SEC;
	ck_assert(!stall_told(&path));
	/* an older round has no say */
	path.evidence.outcome = OUTCOME_LESS;
	path.evidence.passes = 1500;
	path.ended_usec = 9 * SEC;
	ck_assert(!stall_told(&path));
	path.ended_usec = 18 * SEC;
	ck_assert(stall_told(&path));
	/* the segments would pass: something else is the matter with them */
	path.evidence.passes = 9000;
	ck_assert(!stall_told(&path));
	path.evidence.passes = 1500;
	/* the verdict is about to say it */
	path.streak = 1;
	ck_assert(!stall_told(&path));
	path.streak = 0;
	/* too much loss to tell */
	path.undecided = 1;
	ck_assert(!stall_told(&path));
	path.undecided = 0;
	/* dead */
	path.evidence.outcome = OUTCOME_NOTHING;
	path.evidence.passes = 0;
	ck_assert(!stall_told(&path));
	/* moving again is worth a round where there was a fault */
	path.announced.verdict = VERDICT_BLACK_HOLE;
	path.began_usec = 19 * SEC;
	ck_assert(looks(&path, &good, 20, 21)->ask);
	/* the round that is under way, or has just ended, saw the time before */
	ck_assert(looks(&path, &good, 21, 22)->ask);
	ck_assert(looks(&path, &good, 22, 23)->restless);
	path.began_usec = 23 * SEC;
	ck_assert(!looks(&path, &good, 23, 24)->ask);
	ck_assert(!looks(&path, &good, 24, 25)->restless);
	ck_assert(!stall_told(&path));
	/* no fault is left, or no round can begin: none is owed */
	looks(&path, &connection, 25, 26);
	path.facts.trouble = REASON_NO_ROUTE;
	ck_assert(!looks(&path, &good, 26, 27)->ask);
	path.facts.trouble = REASON_NONE;
	looks(&path, &connection, 27, 28);
	path.announced.verdict = VERDICT_CONSISTENT;
	ck_assert(!looks(&path, &good, 28, 29)->ask);
}
END_TEST

START_TEST(a_stalled_one_that_hears)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection connection = stuck(6);

	connection.heard_usec = 0;
	looks(&path, &connection, 10, 11);
	ck_assert(stall_told(&path));
	/* loss may look like that */
	path.loss = (struct loss){.sent = 40, .lost = 20};
	ck_assert(!stall_told(&path));
}
END_TEST

/* --- the kernel's memory --- */

static bool stale_told(const struct path *path)
{
	struct findings findings = {0};

	lint_kernel(path, &findings);
	return findings_find(&findings, FINDING_CACHED_PMTU_STALE) != NULL;
}

START_TEST(stale_memory)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct findings findings = {0};

	ck_assert(!stale_told(&path));
	/* learned after the round: it may be true */
	path.route.kernel_mtu = 1500;
	path.route.exception_sec = 599;
	ck_assert(!stale_told(&path));
	/* and another one than the round knew of */
	path.measured_beside = 4000;
	ck_assert(!stale_told(&path));
	path.measured_beside = 1500;
	ck_assert(stale_told(&path));
	path.route.exception_locked = true;
	lint_kernel(&path, &findings);
	ck_assert(findings.list[0].locked);
	ck_assert_uint_eq(findings.list[0].is, 1500);
	ck_assert_uint_eq(findings.list[0].should, 9000);
	ck_assert_uint_eq(findings.list[0].lasts_sec, 599);
	ck_assert_str_eq(finding_link(&findings.list[0]), "");
	/* a route's own MTU is nobody's memory */
	path.route.exception_sec = 0;
	ck_assert(!stale_told(&path));
	path.route.exception_sec = 10;
	/* what passes is that */
	path.known_mtu = 1500;
	ck_assert(!stale_told(&path));
	ck_assert(!path_cache_is_news(&path));
	path.known_mtu = 1501;
	ck_assert(stale_told(&path));
	path.facts.trouble = REASON_LINK_DOWN;
	ck_assert(!stale_told(&path));
}
END_TEST

/* Connections may see it before the path is asked about: a round is to judge it. */
START_TEST(fresh_memory_asks)
{
	struct path path = measured(ADDRESS_IPV4, 9000, 9000);
	struct connection small = live(ADDRESS_IPV4, 1500);
	const struct sockets_news *news;

	small.pmtu = 1500;
	ck_assert(!looks(&path, &small, 10, 11)->ask);
	path.route.kernel_mtu = 1500;
	path.route.exception_sec = 599;
	ck_assert(path_cache_is_news(&path));
	news = looks(&path, &small, 11, 12);
	ck_assert(news->ask);
	ck_assert(!told(&path));
	path.measured_beside = 1500;
	ck_assert(!path_cache_is_news(&path));
	news = looks(&path, &small, 12, 14);
	ck_assert(!news->ask);
	ck_assert(told(&path));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("connections");
	TCase *tests = tcase_create("connections");

	tcase_add_loop_test(tests, causes, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(tests, always_probing_is_its_own);
	tcase_add_test(tests, no_window_is_no_excuse);
	tcase_add_loop_test(tests, nothing_to_compare_with, 0, 4);
	tcase_add_test(tests, sums);
	tcase_add_test(tests, several_paths_to_one_address);
	tcase_add_test(tests, path_beside_the_route);
	tcase_add_test(tests, by_the_configured_source);
	tcase_add_test(tests, known_without_looking);
	tcase_add_test(tests, link_local_by_zone);
	tcase_add_test(tests, many);
	tcase_add_test(tests, comes_and_goes);
	tcase_add_test(tests, as_many_as_when_it_began);
	tcase_add_test(tests, less_passes_by_now);
	tcase_add_test(tests, stuck_or_not);
	tcase_add_test(tests, alive_or_not);
	tcase_add_test(tests, alive_whatever_the_backoff);
	tcase_add_test(tests, the_largest_of_the_stuck);
	tcase_add_test(tests, a_stall_asks_and_a_round_tells);
	tcase_add_test(tests, a_stalled_one_that_hears);
	tcase_add_test(tests, stale_memory);
	tcase_add_test(tests, fresh_memory_asks);
	suite_add_tcase(suite, tests);
	return tap_run(suite);
}
