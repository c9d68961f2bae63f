/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words that scripts hold on to, and the sentences with their numbers. */
#include <check.h>
#include <stdlib.h>

#include "../../daemon/core/counters.h"
#include "example.h"

#define ck_assert_text(call, text)                                                                 \
	do {                                                                                       \
		char *_text = (call);                                                              \
		ck_assert_ptr_nonnull(_text);                                                      \
		ck_assert_str_eq(_text, text);                                                     \
		free(_text);                                                                       \
	} while (0)

#define ck_assert_has(call, part)                                                                  \
	do {                                                                                       \
		char *_text = (call);                                                              \
		ck_assert_ptr_nonnull(_text);                                                      \
		ck_assert_msg(strstr(_text, part), "\"%s\" is not in \"%s\"", part, _text);        \
		free(_text);                                                                       \
	} while (0)

START_TEST(words_of_the_contract)
{
	static const char *const verdicts[VERDICT_COUNT] = {
		"unknown", "consistent",    "reduced",	   "black-hole",  "partial",
		"lossy",   "misconfigured", "unreachable", "unverifiable"};
	static const char *const severities[] = {"", "ok", "notice", "warning", "critical"};
	static const char *const directions[] = {"", "unknown", "forward", "return", "both"};
	static const char *const methods[] = {"auto", "icmp", "tcp", "udp", "responder"};
	static const char *const findings[FINDING_COUNT] = {
		"link-below-expected", "route-mtu-below-link", "route-mtu-above-link",
		"ipv6-mtu-below-link", "mtu-above-driver-max", "ptb-wrong",
		"return-smaller",      "wrong-link",	       "echo-limited",
		"inbound-oversize",    "neighbour-frame-smaller",
		"cached-pmtu-stale",   "socket-mss-below-path", "connections-stalled",
		"flows-unproven",
		"vlan-above-parent",   "member-differs",       "bridge-lowered-by-port",
		"tunnel-too-large",    "pair-differs",	       "ipv6-lost",
		"more-findings"};

	for (unsigned i = 0; i < VERDICT_COUNT; i++)
		ck_assert_str_eq(words_verdict(i), verdicts[i]);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_str_eq(words_severity(i), severities[i]);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_str_eq(words_direction(i), directions[i]);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_str_eq(words_method(i), methods[i]);
	for (unsigned i = 0; i < FINDING_COUNT; i++)
		ck_assert_str_eq(words_finding(i), findings[i]);
	ck_assert_str_eq(words_origin(ORIGIN_CONFIG), "config");
	ck_assert_str_eq(words_origin(ORIGIN_GATEWAY), "gateway");
	ck_assert_str_eq(words_origin(ORIGIN_REQUEST), "request");
	ck_assert_str_eq(words_origin(ORIGIN_NFS), "nfs");
	ck_assert_str_eq(words_origin(ORIGIN_SMB), "smb");
	ck_assert_str_eq(words_origin(ORIGIN_ISCSI), "iscsi");
	ck_assert_str_eq(words_origin(ORIGIN_NVME), "nvme");
	ck_assert_str_eq(words_origin(ORIGIN_CEPH), "ceph");
	ck_assert_str_eq(words_origin(ORIGIN_GLUSTERFS), "glusterfs");
	ck_assert_str_eq(words_origin(ORIGIN_DRBD), "drbd");
	ck_assert_str_eq(words_origin(ORIGIN_COROSYNC), "corosync");
}
END_TEST

START_TEST(priorities)
{
	ck_assert_int_eq(words_priority(SEVERITY_CRITICAL), 3);
	ck_assert_int_eq(words_priority(SEVERITY_WARNING), 4);
	ck_assert_int_eq(words_priority(SEVERITY_NOTICE), 5);
	ck_assert_int_eq(words_priority(SEVERITY_OK), 6);
	ck_assert_int_eq(words_priority(SEVERITY_NONE), 6);
}
END_TEST

START_TEST(black_hole_ipv4)
{
	struct example sample;
	struct judgement *judgement = &sample.paths[3].announced;

	example_init(&sample);
	judgement->confirmed = true;
	ck_assert_text(words_verdict_sentence(&sample.peer[2], &sample.paths[3], judgement),
		       "peer san-a (192.0.2.10) by eth1: black-hole: packets above 1500 bytes get "
		       "lost without a word, 9000 expected (ping payload 1472, TCP MSS 1460)");
	judgement->confirmed = false;
	ck_assert_has(words_verdict_sentence(&sample.peer[2], &sample.paths[3], judgement),
		      "(ping payload 1472, TCP MSS 1460); seen by ICMP echo only");
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[3], judgement),
		      "ip route replace 192.0.2.10 dev eth1 mtu lock 1500");
	sample.paths[3].route.gateway = example_address("192.0.2.254");
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[3], judgement),
		      "ip route replace 192.0.2.10 via 192.0.2.254 dev eth1 mtu lock 1500");
	judgement->locus = LOCUS_ON_LINK;
	ck_assert_has(words_verdict_sentence(&sample.peer[2], &sample.paths[3], judgement),
		      "without a word (on-link), 9000 expected");
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[3], judgement),
		      "a switch port or tunnel there takes at most 1500 bytes: raise its MTU; until");
	judgement->locus = LOCUS_AFTER;
	judgement->locus_address = example_address("192.0.2.254");
	ck_assert_has(words_verdict_sentence(&sample.peer[2], &sample.paths[3], judgement),
		      "without a word (after 192.0.2.254), 9000 expected");
}
END_TEST

/* A hole on path 3 of the example, confirmed, of these two sizes. */
static struct judgement hole(enum direction direction, uint32_t there, uint32_t back)
{
	return (struct judgement){.verdict = VERDICT_BLACK_HOLE,
				  .direction = direction,
				  .path_mtu = there,
				  .return_mtu = back,
				  .confirmed = true};
}

START_TEST(black_hole_ways)
{
	struct example sample;
	struct path *path = &sample.paths[3];
	const struct peer *peer = &sample.peer[2];
	struct judgement judgement;

	example_init(&sample);
	path->evidence.kind = PROBE_RESPONDER;
	judgement = hole(DIRECTION_FORWARD, 1500, 9000);
	ck_assert_text(words_verdict_sentence(peer, path, &judgement),
		       "peer san-a (192.0.2.10) by eth1: black-hole: packets above 1500 bytes get "
		       "lost without a word on the way to it, 9000 expected (ping payload 1472, "
		       "TCP MSS 1460); 9000 come back");
	judgement.return_mtu = 0;
	judgement.locus = LOCUS_AFTER;
	judgement.locus_address = example_address("192.0.2.254");
	ck_assert_text(words_verdict_sentence(peer, path, &judgement),
		       "peer san-a (192.0.2.10) by eth1: black-hole: packets above 1500 bytes get "
		       "lost without a word on the way to it (after 192.0.2.254), 9000 expected "
		       "(ping payload 1472, TCP MSS 1460)");
	judgement = hole(DIRECTION_RETURN, 9000, 1500);
	ck_assert_text(words_verdict_sentence(peer, path, &judgement),
		       "peer san-a (192.0.2.10) by eth1: black-hole: packets above 1500 bytes get "
		       "lost without a word on the way back, 9000 expected (ping payload 1472, TCP "
		       "MSS 1460); 9000 arrive there");
	ck_assert_has(words_verdict_advice(peer, path, &judgement),
		      "on the way back takes at most 1500 bytes");
	ck_assert_has(words_verdict_advice(peer, path, &judgement), "mtu lock 1500");
	judgement = hole(DIRECTION_BOTH, 4000, 1500);
	ck_assert_text(words_verdict_sentence(peer, path, &judgement),
		       "peer san-a (192.0.2.10) by eth1: black-hole: packets above 4000 bytes get "
		       "lost without a word on the way to it, 9000 expected (ping payload 1472, "
		       "TCP MSS 1460); 1500 come back");
	ck_assert_has(words_verdict_advice(peer, path, &judgement), "mtu lock 1500");
}
END_TEST

/* Who else says so is named, and only who does. */
START_TEST(black_hole_borne_out)
{
	struct example sample;
	struct path *path = &sample.paths[3];
	const struct peer *peer = &sample.peer[2];
	struct judgement judgement = hole(DIRECTION_FORWARD, 1500, 0);

	example_init(&sample);
	path->second_passes = 1500;
	path->dossier->second.kind = PROBE_SYN;
	ck_assert_has(words_verdict_sentence(peer, path, &judgement), "; borne out by tcp");
	/* echo ended earlier still */
	path->second_passes = 1400;
	ck_assert_has(words_verdict_sentence(peer, path, &judgement), "; measured by tcp");
	path->second_passes = 0;
	path->facts.borne_out = true;
	judgement.direction = DIRECTION_UNKNOWN;
	ck_assert_has(words_verdict_sentence(peer, path, &judgement), "; borne out by another peer");
	judgement.confirmed = false;
	ck_assert_has(words_verdict_sentence(peer, path, &judgement), "; seen by ICMP echo only");
	judgement.confirmed = true;
	path->evidence.kind = PROBE_SYN;
	ck_assert_has(words_verdict_sentence(peer, path, &judgement), "TCP MSS 1460)");
}
END_TEST

START_TEST(partial)
{
	struct example sample;
	struct path *path = &sample.paths[3];
	struct judgement judgement = {.verdict = VERDICT_PARTIAL,
				      .path_mtu = 1500,
				      .direction = DIRECTION_FORWARD,
				      .confirmed = true};

	example_init(&sample);
	path->flow_count = 8;
	path->flows_faulty = 2;
	ck_assert_text(words_verdict_sentence(&sample.peer[2], path, &judgement),
		       "peer san-a (192.0.2.10) by eth1: partial: 2 of 8 flows lose all packets "
		       "above 1500 bytes without a word on the way to it, others carry 9000 (ping "
		       "payload 1472, TCP MSS 1460)");
	ck_assert_text(words_place(path, &judgement), "2 of 8 flows");
	judgement.locus = LOCUS_AFTER;
	judgement.locus_address = example_address("192.0.2.254");
	ck_assert_text(words_place(path, &judgement), "2 of 8 flows, after 192.0.2.254");
	ck_assert_has(words_verdict_sentence(&sample.peer[2], path, &judgement),
		      "on the way to it (after 192.0.2.254), others carry 9000");
}
END_TEST

/* What is not measured is not called good. */
START_TEST(consistent_ways)
{
	struct example sample;
	struct path *path = &sample.paths[2];
	struct judgement judgement = {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000};

	example_init(&sample);
	ck_assert_has(words_verdict_sentence(&sample.peer[2], path, &judgement),
		      "packets of 9000 bytes arrive (ping payload 8972, TCP MSS 8960); the way back "
		      "is not measured");
	judgement.return_mtu = 1500;
	ck_assert_has(words_verdict_sentence(&sample.peer[2], path, &judgement),
		      "packets of 9000 bytes arrive (ping payload 8972, TCP MSS 8960); no more than "
		      "1500 come back whole");
	judgement.verdict = VERDICT_REDUCED;
	judgement.direction = DIRECTION_RETURN;
	ck_assert_has(words_verdict_sentence(&sample.peer[2], path, &judgement),
		      "reduced: packets above 1500 bytes come back in fragments, as the peer was told "
		      "to; 9000 expected (ping payload 1472, TCP MSS 1460); 9000 arrive there");
	ck_assert_text(words_place(path, &judgement), "on the way back");
}
END_TEST

START_TEST(sizes_of_the_fault)
{
	struct judgement judgement = hole(DIRECTION_UNKNOWN, 1500, 0);

	ck_assert_uint_eq(words_size(&judgement), 1500);
	judgement = hole(DIRECTION_RETURN, 9000, 1500);
	ck_assert_uint_eq(words_size(&judgement), 1500);
	judgement = hole(DIRECTION_BOTH, 4000, 1500);
	ck_assert_uint_eq(words_size(&judgement), 1500);
	judgement = hole(DIRECTION_FORWARD, 4000, 9000);
	ck_assert_uint_eq(words_size(&judgement), 4000);
}
END_TEST

START_TEST(methods_in_use)
{
	static const char *const kinds[] = {"icmp", "tcp", "udp", "responder"};
	struct peer peer = {.name = "nas"};
	struct path path = {};

	ck_assert_str_eq(words_path_method(&peer, &path), "auto");
	path.facts.ever_answered = true;
	for (enum probe_kind kind = PROBE_ECHO; kind <= PROBE_RESPONDER; kind++) {
		path.kind = kind;
		ck_assert_str_eq(words_path_method(&peer, &path), kinds[kind]);
	}
	/* what only connects */
	path.facts.ever_answered = false;
	path.evidence = (struct evidence){.kind = PROBE_SYN, .connects = true};
	ck_assert_str_eq(words_path_method(&peer, &path), "tcp");
	peer.settings.method = METHOD_UDP;
	ck_assert_str_eq(words_path_method(&peer, &path), "udp");
}
END_TEST

START_TEST(no_sizes)
{
	struct example sample;
	struct judgement judgement = {.verdict = VERDICT_UNVERIFIABLE, .reason = REASON_NO_SIZES};

	example_init(&sample);
	ck_assert_text(words_verdict_sentence(&sample.peer[2], &sample.paths[2], &judgement),
		       "peer san-a (192.0.2.10) by eth0: unverifiable: it takes TCP connections, but "
		       "nothing it answers tells a size");
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[2], &judgement),
		      "Responder=yes");
}
END_TEST

/* The advice fits what was sent. */
START_TEST(silence_by_method)
{
	struct example sample;
	struct judgement judgement = {.verdict = VERDICT_UNREACHABLE, .reason = REASON_SILENT};
	struct peer *peer = &sample.peer[2];

	example_init(&sample);
	ck_assert_has(words_verdict_advice(peer, &sample.paths[2], &judgement),
		      "ICMP echo, TCP and UDP alike");
	peer->settings.method = METHOD_TCP;
	ck_assert_has(words_verdict_sentence(peer, &sample.paths[2], &judgement),
		      "no answer to any probe by tcp");
	ck_assert_has(words_verdict_advice(peer, &sample.paths[2], &judgement),
		      "a firewall drops TCP to its port");
	peer->settings.method = METHOD_RESPONDER;
	ck_assert_has(words_verdict_advice(peer, &sample.paths[2], &judgement), "Responder=yes");
}
END_TEST

START_TEST(ipv6_counts_its_own_header)
{
	struct example sample;

	example_init(&sample);
	ck_assert_text(words_verdict_sentence(&sample.peer[0], &sample.paths[0],
					      &sample.paths[0].announced),
		       "peer db (2001:db8::2) by eth0: consistent: packets of 9000 bytes pass "
		       "(ping payload 8952, TCP MSS 8940)");
}
END_TEST

START_TEST(reduced_names_the_router)
{
	struct example sample;
	struct judgement judgement = {.verdict = VERDICT_REDUCED,
				      .path_mtu = 1500,
				      .router = example_address("192.0.2.254"),
				      .locus = LOCUS_AT,
				      .locus_address = example_address("192.0.2.254")};

	example_init(&sample);
	ck_assert_text(words_verdict_sentence(&sample.peer[2], &sample.paths[2], &judgement),
		       "peer san-a (192.0.2.10) by eth0: reduced: packets above 1500 bytes do not "
		       "pass, and router 192.0.2.254 says so; 9000 expected (ping payload 1472, "
		       "TCP MSS 1460)");
	ck_assert_text(words_locus(&judgement), "at 192.0.2.254");
	ck_assert_text(words_verdict_advice(&sample.peer[2], &sample.paths[2], &judgement), "");
	sample.paths[2].facts.expect_configured = true;
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[2], &judgement),
		      "ExpectMTU=1500");
}
END_TEST

START_TEST(misconfigured_says_why)
{
	struct example sample;
	struct judgement judgement = {
		.verdict = VERDICT_MISCONFIGURED, .reason = REASON_LINK_SMALLER, .path_mtu = 1500};

	example_init(&sample);
	sample.paths[2].facts.capacity = 1500;
	ck_assert_text(
		words_verdict_sentence(&sample.peer[2], &sample.paths[2], &judgement),
		"peer san-a (192.0.2.10) by eth0: misconfigured: this host cannot send "
		"packets of 9000 bytes: link eth0 has an MTU of 1500 (ping payload 1472, TCP "
		"MSS 1460)");
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[2], &judgement),
		      "ip link set dev eth0 mtu 9000");
}
END_TEST

/* Not a matter of sizes, so none is named. */
START_TEST(own_address)
{
	struct example sample;
	struct judgement judgement = {.verdict = VERDICT_MISCONFIGURED,
				      .reason = REASON_OWN_ADDRESS};

	example_init(&sample);
	ck_assert_text(words_verdict_sentence(&sample.peer[2], &sample.paths[2], &judgement),
		       "peer san-a (192.0.2.10) by eth0: misconfigured: the address is this host's "
		       "own");
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[2], &judgement),
		      "Address=");
	/* who gave the address on the command line set no Address= */
	sample.peer[2].origin = ORIGIN_REQUEST;
	ck_assert_text(words_verdict_advice(&sample.peer[2], &sample.paths[2], &judgement),
		       "give the address of another host");
	judgement =
		(struct judgement){.verdict = VERDICT_UNREACHABLE, .reason = REASON_NO_ADDRESS};
	ck_assert_has(words_verdict_advice(&sample.peer[2], &sample.paths[2], &judgement),
		      "give another address");
}
END_TEST

/* A peer that is named by its address. */
START_TEST(name_is_address)
{
	struct example sample;

	example_init(&sample);
	strcpy(sample.peer[2].name, "192.0.2.10");
	ck_assert_text(words_verdict_sentence(&sample.peer[2], &sample.paths[2],
					      &sample.paths[2].announced),
		       "peer 192.0.2.10 by eth0: consistent: packets of 9000 bytes pass (ping "
		       "payload 8972, TCP MSS 8960)");
}
END_TEST

/* The link that is missing is named, not the one that the route takes meanwhile. */
START_TEST(wanted_link)
{
	struct example sample;
	struct judgement judgement = {.verdict = VERDICT_UNREACHABLE, .reason = REASON_LINK_DOWN};
	struct path *path = &sample.paths[2];

	example_init(&sample);
	strcpy(path->wanted_link, "eth9");
	ck_assert_str_eq(words_link(path), "eth0");
	path->facts.trouble = REASON_LINK_DOWN;
	ck_assert_text(words_verdict_sentence(&sample.peer[2], path, &judgement),
		       "peer san-a (192.0.2.10) by eth9: unreachable: link eth9 is down or has no "
		       "carrier");
	path->facts.trouble = judgement.reason = REASON_NO_LINK;
	ck_assert_text(words_verdict_sentence(&sample.peer[2], path, &judgement),
		       "peer san-a (192.0.2.10) by eth9: unreachable: there is no link eth9");
}
END_TEST

/* A command that is told can be typed: iproute2 takes no "%eth0". */
START_TEST(link_local_commands)
{
	struct example sample;
	struct judgement judgement = {.verdict = VERDICT_UNREACHABLE, .reason = REASON_NO_NEIGHBOUR};
	struct path *path = &sample.paths[2];

	example_init(&sample);
	ck_assert_has(words_verdict_advice(&sample.peer[2], path, &judgement),
		      "\"ip neigh show 192.0.2.10\":");
	path->address = example_address("fe80::1");
	path->address.zone = 1;
	ck_assert_has(words_verdict_advice(&sample.peer[2], path, &judgement),
		      "\"ip neigh show fe80::1 dev eth0\":");
	judgement.reason = REASON_NO_ROUTE;
	ck_assert_has(words_verdict_advice(&sample.peer[2], path, &judgement),
		      "\"ip route get fe80::1 oif eth0\" tells");
}
END_TEST

/* No address and no link yet, and still a sentence. */
START_TEST(unresolved)
{
	struct peer peer = {.name = "nas"};
	struct path path = {};
	struct judgement judgement = {.verdict = VERDICT_UNREACHABLE, .reason = REASON_NO_ADDRESS};

	ck_assert_text(words_verdict_sentence(&peer, &path, &judgement),
		       "peer nas: unreachable: its host name has no address now");
	peer.host = (char[]){"nas.example.net"};
	ck_assert_text(words_verdict_sentence(&peer, &path, &judgement),
		       "peer nas: unreachable: the host name nas.example.net has no address now");
}
END_TEST

static void assert_whole(const struct judgement *judgement)
{
	struct peer peer = {.name = "nas"};
	struct path path = {.facts = {.expected = 9000}};
	char *text = words_verdict_sentence(&peer, &path, judgement);
	char *advice = words_verdict_advice(&peer, &path, judgement);

	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_nonnull(advice);
	ck_assert_ptr_nonnull(strstr(text, words_verdict(judgement->verdict)));
	ck_assert_ptr_null(strstr(text, "  "));
	ck_assert_ptr_null(strstr(text, ": :"));
	free(text);
	free(advice);
}

/* Every reason and every verdict makes a whole sentence, whatever is not known. */
START_TEST(every_sentence_is_whole)
{
	for (int reason = REASON_NONE; reason <= REASON_NO_SIZES; reason++)
		for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
			assert_whole(&(struct judgement){
				.verdict = verdict, .reason = reason, .path_mtu = 1500});
}
END_TEST

START_TEST(every_way_and_place_is_whole)
{
	for (int direction = DIRECTION_NONE; direction <= DIRECTION_BOTH; direction++)
		for (int locus = LOCUS_NONE; locus <= LOCUS_AT; locus++)
			for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
				assert_whole(&(struct judgement){.verdict = verdict,
								 .direction = direction,
								 .locus = locus,
								 .path_mtu = 1500});
}
END_TEST

START_TEST(inbound_sentences)
{
	static const struct {
		uint32_t per_minute, counter;
		const char *text;
	} rows[] = {
		{1, COUNTER_LENGTH_ERRORS,
		 "link eth1 drops frames for their length, 1 a minute (rx_length_errors): the far side "
		 "may use a larger MTU"},
		{59, COUNTER_OVER_ERRORS,
		 "link eth1 drops frames that do not fit into its buffers, 59 a minute "
		 "(rx_over_errors): the far side may use a larger MTU"},
		{90, COUNTER_OF_DRIVER,
		 "link eth1 is sent frames that are longer than it takes, 1.5 a second "
		 "(rx_oversize_pkts_phy): the far side uses a larger MTU"},
		{600, COUNTER_LENGTH_ERRORS,
		 "link eth1 drops frames for their length, 10 a second (rx_length_errors): the far "
		 "side may use a larger MTU"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct finding finding = example_finding();

		finding.id = FINDING_INBOUND_OVERSIZE;
		finding.is = rows[i].per_minute;
		finding.should = rows[i].counter;
		ck_assert_text(words_finding_text(&finding), rows[i].text);
		ck_assert_has(words_finding_advice(&finding), "ip link show dev eth1");
	}
}
END_TEST

/* The cable of a fault's link, where the fault is on that link. */
START_TEST(the_switch_is_named)
{
	struct example sample;
	struct peer *peer;
	struct path *path;
	struct neighbour sw1 = {"sw1", "Eth1/7", 1518, true}, sw2 = {"", "2", 0, false};
	struct link_state bond = {.link = {.index = 5, .name = "bond0", .kind = "bond"}};
	struct link_state a = {.link = {.index = 6, .master = 5}, .far = {.neighbour = &sw1}};
	struct link_state b = {.link = {.index = 7, .master = 5}, .far = {.neighbour = &sw2}};
	struct link_state *links[] = {&bond, &a, &b};
	struct roster roster = {.links = links, .link_count = 3};
	struct judgement judgement;

	example_init(&sample);
	peer = &sample.peer[2];
	path = &sample.paths[2];
	judgement = path->announced;
	peer->roster = &roster;
	path->route.link = 6;
	judgement.verdict = VERDICT_BLACK_HOLE;
	judgement.direction = DIRECTION_FORWARD;
	judgement.locus = LOCUS_ON_LINK;
	ck_assert_text(words_neighbours(peer, path, &judgement), "switch sw1 port Eth1/7");
	ck_assert_has(words_verdict_sentence(peer, path, &judgement),
		      "on the way to it (on-link, behind switch sw1 port Eth1/7)");
	ck_assert_has(words_verdict_advice(peer, path, &judgement),
		      "raise its MTU, first at switch sw1 port Eth1/7 (it announces frames of at most "
		      "1518 bytes)");
	/* the contract's word stays as it is */
	ck_assert_text(words_locus(&judgement), "on-link");
	path->route.link = 5;
	ck_assert_text(words_neighbours(peer, path, &judgement),
		       "switch sw1 port Eth1/7 or neighbour port 2");
	ck_assert_has(words_verdict_advice(peer, path, &judgement),
		      "(one announces frames of at most 1518 bytes)");
	judgement.locus = LOCUS_AFTER;
	judgement.locus_address = example_address("192.0.2.254");
	ck_assert_text(words_neighbours(peer, path, &judgement), "");
	judgement.locus = LOCUS_ON_LINK;
	path->route.link = 99;
	ck_assert_text(words_neighbours(peer, path, &judgement), "");
	peer->roster = NULL;
	path->route.link = 6;
	ck_assert_text(words_neighbours(peer, path, &judgement), "");
	ck_assert_text(words_neighbour(&sw1), "sw1 Eth1/7");
	ck_assert_text(words_neighbour(&sw2), "2");
	ck_assert_text(words_neighbour(NULL), "");
}
END_TEST

START_TEST(every_finding_has_text_and_advice)
{
	for (int id = 0; id < FINDING_COUNT; id++) {
		struct finding finding = example_finding();
		char *text, *advice;

		finding.id = id;
		if (id == FINDING_INBOUND_OVERSIZE) {
			finding.is = 1500 * 60;
			finding.should = COUNTER_LENGTH_ERRORS;
		}
		text = words_finding_text(&finding);
		advice = words_finding_advice(&finding);
		/* which of the links it is is all there is to say */
		ck_assert_ptr_nonnull(strstr(text, id == FINDING_WRONG_LINK ? "eth1" : "1500"));
		ck_assert_uint_gt(strlen(advice), 20);
		free(text);
		free(advice);
	}
}
END_TEST

START_TEST(finding_sentences)
{
	struct finding finding = example_finding();

	ck_assert_text(words_finding_text(&finding), "link eth1 has an MTU of 1500, 9000 expected");
	ck_assert_has(words_finding_advice(&finding), "ip link set dev eth1 mtu 9000");
	finding.id = FINDING_PTB_WRONG;
	finding.from = example_address("192.0.2.254");
	finding.should = 1400;
	ck_assert_text(words_finding_text(&finding),
		       "192.0.2.254 reports an MTU of 1500, but what passes is 1400");
	finding.id = FINDING_RETURN_SMALLER;
	finding.should = 9000;
	ck_assert_text(words_finding_text(&finding),
		       "no more than 1500 bytes come back whole, of 9000 that arrive there");
	finding.id = FINDING_ECHO_LIMITED;
	ck_assert_text(words_finding_text(&finding),
		       "ICMP echo is answered up to 1500 bytes only, of 9000 that were tried, though "
		       "larger packets of another kind arrive");
	finding = example_finding();
	finding.id = FINDING_NEIGHBOUR_FRAME_SMALLER;
	finding.is = 1518;
	finding.should = 9018;
	ck_assert_text(words_finding_text(&finding),
		       "the other end of the cable of eth1 announces that it takes frames of at most "
		       "1518 bytes, this end sends up to 9018");
	finding = example_finding();
	finding.id = FINDING_WRONG_LINK;
	ck_assert_text(words_finding_text(&finding),
		       "packets leave by eth1, not by the link that Interface= names");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("words");
	TCase *test = tcase_create("words");
	SRunner *runner;
	int failed;

	tcase_add_test(test, words_of_the_contract);
	tcase_add_test(test, priorities);
	tcase_add_test(test, black_hole_ipv4);
	tcase_add_test(test, black_hole_ways);
	tcase_add_test(test, black_hole_borne_out);
	tcase_add_test(test, partial);
	tcase_add_test(test, consistent_ways);
	tcase_add_test(test, sizes_of_the_fault);
	tcase_add_test(test, methods_in_use);
	tcase_add_test(test, no_sizes);
	tcase_add_test(test, silence_by_method);
	tcase_add_test(test, ipv6_counts_its_own_header);
	tcase_add_test(test, reduced_names_the_router);
	tcase_add_test(test, misconfigured_says_why);
	tcase_add_test(test, own_address);
	tcase_add_test(test, name_is_address);
	tcase_add_test(test, wanted_link);
	tcase_add_test(test, link_local_commands);
	tcase_add_test(test, unresolved);
	tcase_add_test(test, every_sentence_is_whole);
	tcase_add_test(test, every_way_and_place_is_whole);
	tcase_add_test(test, inbound_sentences);
	tcase_add_test(test, the_switch_is_named);
	tcase_add_test(test, every_finding_has_text_and_advice);
	tcase_add_test(test, finding_sentences);
	suite_add_tcase(suite, test);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
