/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small roster for the tests of the face: three peers, two links, every kind of severity.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "../../daemon/face/words.h"

struct example {
	struct path paths[4];
	struct dossier dossiers[4];
	struct peer peer[3];
	struct link_state link[2];
	struct peer *peers[3];
	struct link_state *links[2];
	struct roster roster;
};

static inline struct address example_address(const char *text)
{
	struct address address = {};
	char zone[LINK_NAME_SIZE];

	if (words_parse_address(text, &address, zone) < 0)
		fprintf(stderr, "# \"%s\" is no address\n", text);
	return address;
}

static inline struct path example_path(const char *address, const char *link, uint32_t mtu,
				      enum verdict verdict)
{
	struct path path = {
		.address = example_address(address),
		.link_mtu = 9000,
		.facts = {.expected = 9000,
			  .capacity = 9000,
			  .kernel_mtu = 9000,
			  .ever_answered = true},
		.flow_count = 1,
		.announced = {.verdict = verdict, .path_mtu = mtu},
		.rtt_usec = 120,
		.rounds = 7,
		.control_sent = 7,
		.full_sent = 9,
		.full_lost = 2,
		.since_usec = 1700000000ULL * USEC_PER_SEC,
	};

	snprintf(path.link_name, sizeof(path.link_name), "%s", link);
	if (verdict == VERDICT_CONSISTENT)
		path.announced.return_mtu = mtu;
	path.announced.severity = verdict_severity(verdict, &path.facts, true);
	return path;
}

/* db: consistent by IPv6; gw: consistent; san-a: one path consistent, one a black hole. */
static inline void example_init(struct example *sample)
{
	memset(sample, 0, sizeof(*sample));
	sample->paths[0] = example_path("2001:db8::2", "eth0", 9000, VERDICT_CONSISTENT);
	sample->paths[1] = example_path("192.0.2.254", "eth0", 9000, VERDICT_CONSISTENT);
	sample->paths[2] = example_path("192.0.2.10", "eth0", 9000, VERDICT_CONSISTENT);
	sample->paths[3] = example_path("192.0.2.10", "eth1", 1500, VERDICT_BLACK_HOLE);
	for (unsigned i = 0; i < 4; i++)
		sample->paths[i].dossier = &sample->dossiers[i];
	sample->paths[3].announced.direction = DIRECTION_UNKNOWN;
	sample->paths[3].flows_faulty = 1;
	sample->peer[0] = (struct peer){.name = "db", .paths = &sample->paths[0], .path_count = 1};
	sample->peer[1] = (struct peer){.name = "gw",
					.origin = ORIGIN_GATEWAY,
					.paths = &sample->paths[1],
					.path_count = 1};
	sample->peer[2] =
		(struct peer){.name = "san-a", .paths = &sample->paths[2], .path_count = 2};
	sample->link[0] = (struct link_state){.link = {.index = 2, .name = "eth0", .mtu = 9000}};
	sample->link[1] = (struct link_state){
		.link = {.index = 12, .name = "eth1", .kind = "veth", .mtu = 9000, .up = true}};
	for (unsigned i = 0; i < 3; i++)
		sample->peers[i] = &sample->peer[i];
	for (unsigned i = 0; i < 2; i++)
		sample->links[i] = &sample->link[i];
	sample->roster = (struct roster){
		.peers = sample->peers, .peer_count = 3, .links = sample->links, .link_count = 2};
}

static inline struct finding example_finding(void)
{
	return (struct finding){.id = FINDING_LINK_BELOW_EXPECTED,
				.severity = SEVERITY_WARNING,
				.is = 1500,
				.should = 9000,
				.link = "eth1"};
}
