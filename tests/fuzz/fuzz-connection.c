/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes at all through the decoder of INET_DIAG messages, and what comes of it through the sum
 * over a path.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/core/path.h"
#include "../../daemon/world/connection_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void weigh(const struct connection *connection)
{
	struct peer_settings settings = {.interval_usec = USEC_PER_SEC};
	struct path path = {
		.address = connection->to,
		.settings = &settings,
		.facts = {.expected = 9000},
		.announced = {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000, .return_mtu = 9000},
	};
	struct findings findings = {0};
	struct sockets_news news;
	struct tally tally;
	struct tallies tallies = {.list = &tally, .count = 1};

	tally_begin(&tally, &path);
	tallies_add(&tallies, connection);
	if (tally.connections != 1 || tally.mss != connection->mss)
		abort();
	path_on_connections(&path, &tally, USEC_PER_SEC, &news);
	path_on_connections(&path, &tally, 2 * USEC_PER_SEC, &news);
	lint_kernel(&path, &findings);
	if (findings.count > FINDINGS_LARGEST)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct connection connection;
	struct nlmsghdr *message;

	if (size < sizeof(*message))
		return 0;
	/* of this size, for the sanitizer to see the end of it */
	message = malloc(size);
	if (message == NULL)
		return 0;
	memcpy(message, data, size);
	message->nlmsg_len = (uint32_t)size;
	if (connection_message_parse(message, &connection)) {
		if (connection.mss == 0 || connection.mss > SIZE_LARGEST ||
		    (connection.to.family != ADDRESS_IPV4 && connection.to.family != ADDRESS_IPV6))
			abort();
		weigh(&connection);
	}
	free(message);
	return 0;
}
