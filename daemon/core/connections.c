/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one connection is a sign of, and the sum per path. Compares with what passed in rounds,
 * never with a link's MTU, and takes a window, an option or an old connection for what it is.
 */
#include "connections.h"

#include <string.h>

#include "path.h"

#define TCP_HEADER 20U         /* RFC 9293 section 3.1 */
#define TIMESTAMPS 12U         /* RFC 7323 section 3.2, with its padding */
#define STALLED_RETRANSMITS 3U /* timeouts in a row: seven times the first one */
#define ALIVE_RETRANSMITS 5U   /* where nothing but the connection itself bears it out */
#define SLOW_RETRANSMITS 2U
#define HEARD_SLACK_USEC (100 * USEC_PER_MSEC)
#define STALLED_SIZE_LEAST 256U /* below, small and large are the same */

/* --- one connection --- */

static uint32_t headers(const struct connection *connection)
{
	uint32_t ip = connection->to.family == ADDRESS_IPV6 ? 40 : 20;

	return ip + TCP_HEADER + (connection->timestamps ? TIMESTAMPS : 0);
}

uint32_t connection_size(const struct connection *connection)
{
	return connection->mss + headers(connection);
}

/* Zero-window probing (RFC 9293 section 3.8.6.1) is a slow receiver's matter. What is under way is
 * full segments, not many small ones. */
static bool connection_repeats(const struct connection *connection, unsigned retransmits)
{
	if (connection->retransmits < retransmits || connection->window_probes > 0)
		return false;
	if (connection->has_window && connection->window < connection->mss)
		return false;
	return connection->segments > 0 && connection->in_flight >= connection->mss &&
	       connection->in_flight / connection->segments >= connection->mss / 2 &&
	       connection_size(connection) >= STALLED_SIZE_LEAST;
}

bool connection_is_stalled(const struct connection *connection)
{
	return connection_repeats(connection, STALLED_RETRANSMITS);
}

/* Since the segment first left its timeout was doubled each time, so all the waiting together was
 * as long as the one that runs now, less the first. */
bool connection_is_alive(const struct connection *connection)
{
	uint64_t timeout = connection->timeout_usec, waited;

	if (connection->retransmits < ALIVE_RETRANSMITS)
		return false;
	if (connection->backoff == 0)
		waited = timeout * connection->retransmits;
	else
		waited = timeout - (connection->backoff < 64 ? timeout >> connection->backoff : 0);
	return connection->heard_usec + HEARD_SLACK_USEC < connection->sent_usec + waited;
}

/* RFC 9293 section 3.8.6.2.1: no segment is larger than half of the largest window seen; the one
 * of now is at most that. */
static bool window_explains(const struct connection *connection)
{
	return connection->has_window && connection->window / 2 <= connection->mss + 1;
}

static bool is_below(uint32_t size, uint32_t should)
{
	return size + SOCKET_SLACK < should;
}

/* What the connection announced, in the same measure. */
static uint32_t announced_size(const struct connection *connection)
{
	return connection->announced_mss + headers(connection);
}

/* False: it uses all that the path carries, or there is nothing to tell from it. */
static bool connection_cause(const struct connection *connection, const struct tally *tally,
			     enum mtu_probing probing, enum socket_cause *ret)
{
	uint32_t size = connection_size(connection);
	bool below = is_below(size, tally->there);

	if (below && is_below(connection->pmtu, tally->there) &&
	    size + SOCKET_SLACK >= connection->pmtu)
		*ret = SOCKET_CAUSE_CACHE;
	else if (is_below(announced_size(connection), tally->both))
		*ret = SOCKET_CAUSE_OWN;
	else if (!below || window_explains(connection) || probing == MTU_PROBING_ALWAYS)
		return false; /* the last begins low and ends nobody knows where */
	else if (probing == MTU_PROBING_AFTER_LOSS && connection->lost_before > 0)
		*ret = SOCKET_CAUSE_PROBED;
	else
		*ret = SOCKET_CAUSE_PEER;
	return true;
}

/* --- the sum --- */

static bool verdict_has_size(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_CONSISTENT:
	case VERDICT_REDUCED:
	case VERDICT_BLACK_HOLE:
	case VERDICT_PARTIAL:
	case VERDICT_LOSSY:
		return true;
	case VERDICT_UNKNOWN:
	case VERDICT_MISCONFIGURED:
	case VERDICT_UNREACHABLE:
	case VERDICT_UNVERIFIABLE:
		return false;
	}
	return false;
}

/* What passes beyond the agreed size by luck (a switch port takes a VLAN tag more than its MTU) is
 * nothing to be used: where there is a fault only a clear difference counts. */
#define LUCK 64U

static uint32_t path_carries(const struct path *path)
{
	uint32_t size = path->announced.path_mtu;

	if (!verdict_has_size(path->announced.verdict) || path->facts.trouble != REASON_NONE)
		return 0;
	if (size < path->facts.expected)
		size = size > LUCK ? size - LUCK : 0;
	return size;
}

void tally_begin(struct tally *tally, struct path *path)
{
	uint32_t back = path->announced.return_mtu, kernel = path->facts.kernel_mtu;

	memset(tally, 0, sizeof(*tally));
	tally->path = path;
	tally->address = path->address;
	tally->there = path_carries(path);
	/* where the way back is not measured nobody knows what is right to announce */
	tally->both = back < tally->there ? back : tally->there;
	/* a route that is held down announces less on purpose */
	if (kernel && kernel < tally->both)
		tally->both = kernel;
}

static int address_compare(const struct address *a, const struct address *b)
{
	int order = (int)a->family - (int)b->family;

	if (order == 0)
		order = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
	if (order == 0)
		order = (a->zone > b->zone) - (a->zone < b->zone);
	return order;
}

int tally_compare(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return address_compare(&x->address, &y->address);
}

static void below_add(struct socket_below *below, uint32_t size, uint32_t mss)
{
	if (below->count == 0 || size < below->size) {
		below->size = size;
		below->mss = mss;
	}
	below->count++;
}

static void tally_add(struct tally *tally, const struct connection *connection,
		      enum mtu_probing probing)
{
	enum socket_cause cause;

	tally->connections++;
	if (tally->mss == 0 || connection->mss < tally->mss)
		tally->mss = connection->mss;
	if (connection_repeats(connection, SLOW_RETRANSMITS))
		tally->slow++;
	if (connection_is_stalled(connection)) {
		tally->stalled++;
		tally->stalled_alive |= connection_is_alive(connection);
		if (connection_size(connection) > tally->stalled_size)
			tally->stalled_size = connection_size(connection);
	}
	if (!connection_cause(connection, tally, probing, &cause))
		return;
	if (cause == SOCKET_CAUSE_OWN)
		below_add(&tally->below[cause], announced_size(connection),
			  connection->announced_mss);
	else
		below_add(&tally->below[cause], connection_size(connection), connection->mss);
}

/* The first tally of this address, or where it would be. */
static unsigned tallies_find(const struct tallies *tallies, const struct address *address)
{
	unsigned low = 0, high = tallies->count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (address_compare(&tallies->list[middle].address, address) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool tally_is_of(const struct tally *tally, const struct connection *connection)
{
	return address_compare(&tally->address, &connection->to) == 0;
}

/* Of several paths to one address the source tells which one a connection takes. */
static bool path_has_source(const struct path *path, const struct connection *connection)
{
	const struct address *from =
		path->from.family != ADDRESS_NONE ? &path->from : &path->route.source;

	return from->family == connection->from.family &&
	       memcmp(from->bytes, connection->from.bytes, sizeof(from->bytes)) == 0;
}

/* Where the path's own packets are sent by another link than the route's, others are not. */
static bool path_may_have(const struct path *path, const struct connection *connection)
{
	if (connection->link != 0 && path->route.link != 0)
		return path->route.link == connection->link;
	return path->bound_link == 0 || path_has_source(path, connection);
}

bool tallies_know(const struct tallies *tallies, const struct connection *connection)
{
	unsigned i = tallies_find(tallies, &connection->to);

	if (connection->link != 0 || i == tallies->count ||
	    !tally_is_of(&tallies->list[i], connection))
		return true;
	for (; i < tallies->count && tally_is_of(&tallies->list[i], connection); i++)
		if (path_has_source(tallies->list[i].path, connection))
			return true;
	return false;
}

void tallies_add(struct tallies *tallies, const struct connection *connection)
{
	unsigned first = tallies_find(tallies, &connection->to), end = first;
	bool known = false;

	for (; end < tallies->count && tally_is_of(&tallies->list[end], connection); end++)
		known |= path_has_source(tallies->list[end].path, connection) &&
			 path_may_have(tallies->list[end].path, connection);
	for (unsigned i = first; i < end; i++) {
		const struct path *path = tallies->list[i].path;

		if (path_may_have(path, connection) && (!known || path_has_source(path, connection)))
			tally_add(&tallies->list[i], connection, tallies->probing);
	}
}
