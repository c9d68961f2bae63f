/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: lines, sections, keys, what peers inherit, and what is printed.
 */
#include "config-testing.h"

#include <errno.h>

#include "face/address_text.h"

START_TEST(defaults)
{
	struct config *config = good("");

	ck_assert_uint_eq(config->defaults.interval_usec, 30 * USEC_PER_SEC);
	ck_assert_uint_eq(config->defaults.timeout_usec, USEC_PER_SEC);
	ck_assert_uint_eq(config->defaults.remind_usec, 3600 * USEC_PER_SEC);
	ck_assert_uint_eq(config->defaults.tries, 3);
	ck_assert_uint_eq(config->defaults.fail_after, 2);
	ck_assert_uint_eq(config->defaults.recover_after, 2);
	ck_assert_uint_eq(config->discover, DISCOVER_GATEWAYS | DISCOVER_STORAGE);
	ck_assert_uint_eq(config->probe_bandwidth, 10000000);
	ck_assert_uint_eq(config->responder_port, 0);
	ck_assert_ptr_null(config->metrics_file);
	ck_assert_int_eq(config->defaults.clamp.kind, CLAMP_OFF);
	ck_assert(!config->clamp_discovered);
	ck_assert_uint_eq(config->defaults.clamp.after, 3);
	ck_assert_uint_eq(config->defaults.clamp.floor, 1280);
	ck_assert_uint_eq(config->clamp_retry_usec, 600 * USEC_PER_SEC);
	ck_assert_uint_eq(config->peer_count + config->link_count, 0);
	config_free(config);
}
END_TEST

/* clang-format off */
static const char manual_block[] =
	"[Daemon]\n"
	"Interval=30s          # between rounds of a path; spread so that paths do not fire together\n"
	"Timeout=1s            # longest wait for an answer; adapted downwards to the path's own round-trip time\n"
	"Tries=3               # how often a size must go unanswered, with its control answered, to count as too big\n"
	"FailAfter=2           # rounds in a row before a worse verdict is announced\n"
	"RecoverAfter=2        # rounds in a row before a better one is\n"
	"Remind=1h             # a standing fault is said again; 0 never\n"
	"Discover=gateways storage   # none, gateways, storage, or any of: nfs smb iscsi nvme ceph\n"
	"ProbeBandwidth=10M    # bits per second for all probing together\n"
	"Responder=no          # UDP port on which to answer other mtuwatchd hosts (yes: 8899); answers are never longer than the question, and rate-limited\n"
	"MetricsFile=          # where to keep a Prometheus text file (node_exporter's textfile folder), written atomically\n"
	"Clamp=off             # off, route (a host route with a smaller mtu, per peer), link (the interface's MTU)\n"
	"ClampDiscovered=no    # whether discovered peers may be clamped too\n"
	"ClampAfter=3          # faulty rounds in a row before a clamp\n"
	"ClampFloor=1280       # never clamp below\n"
	"ClampRetry=10min      # link clamp: how often to try the full size again\n"
	"\n"
	"[Peer san-a]          # the name is [A-Za-z0-9._-], at most 40 characters\n"
	"Address=192.0.2.10    # required: IPv4, IPv6 (fe80::1%eth1 too) or a host name\n"
	"Family=any            # any (first that resolves), ipv4, ipv6, both\n"
	"Interface=eth1        # default: the route decides; may be given twice or more: each is a path (iSCSI multipath)\n"
	"Source=               # source address\n"
	"ExpectMTU=9000        # default: the link's\n"
	"Method=auto           # auto, icmp, tcp (SYN with data), udp (closed port), responder (another mtuwatchd: a small receipt and an answer of the same size, so both directions in one exchange).\n"
	"                      # auto: icmp, and what else answers where icmp does not or leaves the direction open\n"
	"Port=3260             # for tcp, udp and responder\n"
	"Flows=1               # 1 to 64: source ports to spread over ECMP/LACP (tcp, udp; icmp idents)\n"
	"# Interval Timeout Tries FailAfter RecoverAfter Clamp ClampAfter ClampFloor as above, for this peer\n"
	"\n"
	"[Link eth1]           # a name or a glob\n"
	"ExpectMTU=9000\n"
	"Ignore=no             # yes: no findings for this link\n";
/* clang-format on */

START_TEST(whole_block)
{
	struct config *config = good(manual_block);
	const struct config_peer *peer = &config->peers[0];
	char text[ADDRESS_TEXT_SIZE];

	ck_assert_uint_eq(config->peer_count, 1);
	ck_assert_str_eq(peer->name, "san-a");
	ck_assert_str_eq(words_address(&peer->address, text), "192.0.2.10");
	ck_assert_uint_eq(peer->interface_count, 1);
	ck_assert_str_eq(peer->interfaces[0], "eth1");
	ck_assert_uint_eq(peer->source.family, ADDRESS_NONE);
	ck_assert_uint_eq(peer->settings.expect_mtu, 9000);
	ck_assert_uint_eq(peer->port, 3260);
	ck_assert_uint_eq(peer->flows, 1);
	ck_assert_str_eq(peer->file, "t.conf");
	ck_assert_uint_eq(peer->line, 18);
	ck_assert_uint_eq(config->link_count, 1);
	ck_assert_str_eq(config->links[0].pattern, "eth1");
	ck_assert_uint_eq(config->links[0].expect_mtu, 9000);
	ck_assert(!config->links[0].clamp_set && !config->links[0].ignore);
	config_free(config);
}
END_TEST

START_TEST(lines)
{
	/* BOM, CRLF, blanks on both sides, no last newline, # and ; as comments and inside words */
	struct config *config = good("\xef\xbb\xbf[Daemon]\r\n ; said\r\n\t Tries \t= 4 ;c\r\n\r\n"
				     "[Link a;b#c*] # x\nIgnore=yes\n   ExpectMTU=1400\n"
				     "[Link e[tn]*]\n[Daemon]\nTries=5\nFailAfter=7\nFailAfter=");

	ck_assert_uint_eq(config->defaults.tries, 5);
	ck_assert_uint_eq(config->defaults.fail_after, 2);
	ck_assert_str_eq(config->links[0].pattern, "a;b#c*");
	ck_assert(config->links[0].ignore);
	ck_assert_uint_eq(config->links[0].expect_mtu, 1400);
	ck_assert_str_eq(config->links[1].pattern, "e[tn]*");
	config_free(config);

	bad("\xef\xbb\xbf[Daemon]\n\xef\xbb\xbf[Daemon]\n",
	    "t.conf:2: \xef\xbb\xbf[Daemon]: expected [Section], Key=value or a # comment\n");
	bad("Tries=3\n",
	    "t.conf:1: Tries=3: expected a section such as [Daemon] before the first key\n");
	bad("[Daemon]\nTries\n", "t.conf:2: Tries: expected [Section], Key=value or a # comment\n");
	bad("[Daemon]\nTries:3\n",
	    "t.conf:2: Tries:3: expected [Section], Key=value or a # comment\n");
	bad("[Daemon]\n=3\n", "t.conf:2: =3: expected [Section], Key=value or a # comment\n");
	bad("[Daemon]\nDiscover=gateways\\\n storage\n",
	    "t.conf:2: Discover=gateways\\: a line cannot be continued in the next one\n"
	    "t.conf:3: storage: expected [Section], Key=value or a # comment\n");
	bad("[Daemon\nTries=x\n", "t.conf:1: [Daemon: expected a section that ends in ]\n");
	bad("[Daemon] x\n", "t.conf:1: [Daemon] x: expected a section that ends in ]\n");
	bad("[\n", "t.conf:1: [: expected a section that ends in ]\n");
	bad("[]\n",
	    "t.conf:1: []: unknown section, expected [Daemon], [Peer NAME] or [Link NAME]\n");
	bad_bytes("[Daemon]\nTries=3\0;\n", 19,
		  "t.conf:2: Tries=3?;: expected text, there is a NUL byte\n");
	bad("[Daemon]\n# caf\xe9\n", "t.conf:2: # caf?: expected UTF-8\n");
	bad("[Daemon]\n# \xed\xa0\x80\n", "t.conf:2: # ???: expected UTF-8\n");
	bad("[Daemon]\n# \xc0\xaf\n", "t.conf:2: # ??: expected UTF-8\n");
	bad("[Daemon]\nTries=3\x1b\n",
	    "t.conf:2: Tries=3?: expected text, there is a control character\n");
	bad("[Daemon]\nTries=3\r3\n",
	    "t.conf:2: Tries=3?3: expected text, there is a control character\n");
	config_free(good("# caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n"));
}
END_TEST

START_TEST(long_lines)
{
	/* inih would read the tail of the comment as a line of its own: a section */
	char text[400] = "[Daemon]\n#";

	memset(text + 10, 'x', 199);
	strcpy(text + 209, "[Peer evil]\nAddress=192.0.2.1\n");
	bad(text, "t.conf:2: #xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...: expected at most 199 "
		  "bytes in a "
		  "line\n"
		  "t.conf:3: Address=: unknown key in [Daemon], it belongs in [Peer NAME]\n");

	memset(text + 9, '#', 199);
	strcpy(text + 208, "\nTries=4\n");
	struct config *config = good(text);
	ck_assert_uint_eq(config->defaults.tries, 4);
	config_free(config);

	bad("[Link aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeee]\n",
	    "t.conf:1: [Link aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeee]: expected at most 49 "
	    "bytes "
	    "between [ and ]\n");
	config = good("[Link aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeee]\nIgnore=y\n");
	ck_assert_uint_eq(strlen(config->links[0].pattern), 44);
	ck_assert(config->links[0].ignore);
	config_free(config);
}
END_TEST

START_TEST(sections)
{
	bad("[Peer a]\n", "t.conf:1: [Peer a]: expected Address=, it is missing\n");
	bad("[Peer a]\nAddress=192.0.2.1\nAddress=\n",
	    "t.conf:1: [Peer a]: expected Address=, it is missing\n");
	bad("[Peer]\n", "t.conf:1: [Peer]: expected [Peer NAME]\n");
	bad("[Link]\n", "t.conf:1: [Link]: expected [Link NAME]\n");
	bad("[Daemon x]\n", "t.conf:1: [Daemon x]: expected [Daemon] without a name\n");
	bad("[Peer a b]\n", "t.conf:1: [Peer a b]: expected a name of A-Z a-z 0-9 . _ -\n");
	bad("[Peer \xc3\xa4]\n",
	    "t.conf:1: [Peer \xc3\xa4]: expected a name of A-Z a-z 0-9 . _ -\n");
	bad("[Peer aaaaaaaaaabbbbbbbbbbccccccccccddddddddddX]\n",
	    "t.conf:1: [Peer aaaaaaaaaabbbbbbbbbbccccccccccddddddddddX]: expected a name of at "
	    "most 40 "
	    "characters\n");
	bad("[Pear a]\nAddres=1\n",
	    "t.conf:1: [Pear a]: unknown section, did you mean [Peer NAME]?\n");
	bad("[daemon]\n", "t.conf:1: [daemon]: unknown section, did you mean [Daemon]?\n");
	bad("[Route]\n",
	    "t.conf:1: [Route]: unknown section, expected [Daemon], [Peer NAME] or [Link NAME]\n");
	bad("[Peer a]\nAddress=192.0.2.1\n[Peer b]\nAddress=192.0.2.1\n[Peer "
	    "a]\nAddress=192.0.2.2\n",
	    "t.conf:5: [Peer a]: duplicate, this file has it in line 1 already\n");
	bad("[Link a]\n[Link a]\n",
	    "t.conf:2: [Link a]: duplicate, this file has it in line 1 already\n");
	/* one name is a peer and a link; two peers have one address */
	struct config *config = good(
		"[Peer b]\nAddress=192.0.2.1\n[Link b]\n[Peer a]\nAddress=192.0.2.1\n[Link a]\n");
	ck_assert_uint_eq(config->peer_count, 2);
	ck_assert_str_eq(config->peers[0].name, "a");
	ck_assert_str_eq(config->peers[1].name, "b");
	ck_assert_str_eq(config->links[0].pattern, "b");
	config_free(config);
}
END_TEST

START_TEST(keys)
{
	bad_daemon("Intervall=3", "Intervall=: unknown key in [Daemon], did you mean Interval=?");
	bad_daemon("interval=3", "interval=: unknown key in [Daemon], did you mean Interval=?");
	bad_daemon("Colour=3", "Colour=: unknown key in [Daemon]");
	bad_daemon("Source=3", "Source=: unknown key in [Daemon], it belongs in [Peer NAME]");
	bad_peer("Remind=1h", "Remind=: unknown key in [Peer], it belongs in [Daemon]");
	bad_peer("Adress=1h", "Adress=: unknown key in [Peer], did you mean Address=?");
	bad("[Link a]\nExpectMtu=1h\n",
	    "t.conf:2: ExpectMtu=: unknown key in [Link], did you mean ExpectMTU=?\n");
}
END_TEST

START_TEST(inheritance)
{
	struct config *config = good(
		"[Peer a]\nAddress=a\nInterval=5s\n[Peer b]\nAddress=b\n[Daemon]\nInterval=10s\n"
		"Tries=5\nRemind=0\nTimeout=2s\nFailAfter=9\nRecoverAfter=8\n");
	const struct peer_settings *a = &config->peers[0].settings, *b = &config->peers[1].settings;

	ck_assert_uint_eq(a->interval_usec, 5 * USEC_PER_SEC);
	ck_assert_uint_eq(b->interval_usec, 10 * USEC_PER_SEC);
	ck_assert_uint_eq(a->tries, 5);
	ck_assert_uint_eq(a->timeout_usec, 2 * USEC_PER_SEC);
	ck_assert_uint_eq(a->fail_after, 9);
	ck_assert_uint_eq(a->recover_after, 8);
	ck_assert_uint_eq(b->remind_usec, 0);
	ck_assert_uint_eq(config->peers[1].settings.clamp.floor, 1280);
	config_free(config);
}
END_TEST

START_TEST(round_trip)
{
	struct config *config = good(
		"[Daemon]\nInterval=1min "
		"30s\nTimeout=1.5s\nDiscover=none\nProbeBandwidth=2500K\nRemind=0\n"
		"[Peer b]\nAddress=fe80::1\nInterface=eth0\nPort=1\n[Peer a]\nAddress=h.example\n"
		"Source=192.0.2.9\nTries=7\n[Link e*]\nIgnore=yes\n[Link x]\nClamp=off\n");
	char *first = printed(config), *second;

	config_free(config);
	config = good(first);
	second = printed(config);
	ck_assert_str_eq(first, second);
	ck_assert_ptr_nonnull(strstr(first, "Interval=1min 30s\nTimeout=1s 500ms\n"));
	ck_assert_ptr_nonnull(strstr(first, "Discover=none\nProbeBandwidth=2500K\n"));
	ck_assert_ptr_nonnull(strstr(first, "[Peer a]\nAddress=h.example\nFamily=ipv4\nInterface=\n"
					    "Source=192.0.2.9\nExpectMTU=\n"));
	ck_assert_ptr_nonnull(strstr(first, "[Peer b]\nAddress=fe80::1%eth0\n"));
	ck_assert(!config->links[0].clamp_set && config->links[1].clamp_set);
	config_free(config);
	free(first);
	free(second);
	config = good("");
	first = printed(config);
	ck_assert_ptr_nonnull(strstr(first, "Discover=gateways storage\n"));
	config_free(config);
	free(first);
}
END_TEST

START_TEST(gathered)
{
	char text[3000] = "[Daemon]\n", *error = NULL;
	unsigned count = 0;

	for (unsigned i = 0; i < 60; i++)
		strcat(text, "Tries=many\n");
	ck_assert_ptr_null(load(text, strlen(text), &error));
	for (const char *at = error; (at = strchr(at, '\n')); at++)
		count++;
	ck_assert_uint_eq(count, 51);
	ck_assert_ptr_nonnull(strstr(error, "\nt.conf:51: Tries=many: "));
	ck_assert_ptr_nonnull(strstr(error, "\n... and 10 more\n"));
	free(error);
	bad("[Daemon]\nTries=x\nFoo=1\n[Peer a]\n[Peer b]\nAddress=::\n",
	    "t.conf:2: Tries=x: expected a number from 1 to 20\n"
	    "t.conf:3: Foo=: unknown key in [Daemon]\n"
	    "t.conf:4: [Peer a]: expected Address=, it is missing\n"
	    "t.conf:6: Address=::: expected the address of a host, this one is unspecified\n");
}
END_TEST

#define ck_assert_objection(call, expected)                                                        \
	do {                                                                                       \
		error = NULL;                                                                      \
		ck_assert_int_eq(call, -EINVAL);                                                   \
		ck_assert_str_eq(error, expected);                                                 \
		free(error);                                                                       \
	} while (0)

/* A peer that is asked for and not configured: the same keys, the same objections. */
START_TEST(requested)
{
	struct config_peer *peer = NULL;
	char *error = NULL;

	ck_assert_int_eq(config_peer_new(&peer), 0);
	ck_assert_int_eq(config_peer_set(peer, "Address", "nas.example", &error), 0);
	ck_assert_int_eq(config_peer_set(peer, "Interface", "eth0", &error), 0);
	ck_assert_int_eq(config_peer_set(peer, "Interface", "eth1", &error), 0);
	ck_assert_int_eq(config_peer_set(peer, "ExpectMTU", "9000", &error), 0);
	ck_assert_int_eq(config_peer_set(peer, "Method", "tcp", &error), 0);
	ck_assert_int_eq(config_peer_set(peer, "Port", "3260", &error), 0);
	ck_assert_int_eq(config_peer_set(peer, "Flows", "4", &error), 0);
	ck_assert_str_eq(peer->host, "nas.example");
	ck_assert_uint_eq(peer->interface_count, 2);
	ck_assert_uint_eq(peer->settings.expect_mtu, 9000);
	ck_assert_uint_eq(peer->settings.method, METHOD_TCP);
	ck_assert_uint_eq(peer->port, 3260);
	ck_assert_uint_eq(peer->flows, 4);
	ck_assert_objection(config_peer_set(peer, "Port", "0", &error),
			 "expected a port, 1 to 65535");
	ck_assert_objection(config_peer_set(peer, "Flows", "65", &error),
			 "expected a number from 1 to 64");
	ck_assert_objection(config_peer_set(peer, "Address", "::", &error),
			    "expected the address of a host, this one is unspecified");
	ck_assert_objection(config_peer_set(peer, "Adress", "::1", &error),
			 "there is no such key");
	ck_assert_objection(config_peer_set(peer, "Interface", "eth1\033[2J", &error),
			    "expected text, there is a control character");
	ck_assert_objection(config_peer_set(peer, "Interface", "eth\xff", &error),
			    "expected UTF-8");
	/* what was wrong changed nothing */
	ck_assert_str_eq(peer->host, "nas.example");
	ck_assert_uint_eq(peer->flows, 4);
	config_peer_free(peer);
	ck_assert_ptr_null(config_peer_free(NULL));
}
END_TEST

START_TEST(requested_together)
{
	struct config_peer *peer = NULL;
	char *error = NULL;
	const char *key = NULL;

	ck_assert_int_eq(config_peer_new(&peer), 0);
	ck_assert_int_eq(config_peer_set(peer, "Address", "fe80::1", &error), 0);
	ck_assert_objection(config_peer_check(peer, &key, &error),
			 "the address is link-local: expected %LINK behind it, or Interface=");
	ck_assert_str_eq(key, "Address");
	ck_assert_int_eq(config_peer_set(peer, "ExpectMTU", "1279", &error), 0);
	ck_assert_objection(config_peer_check(peer, &key, &error),
			 "ExpectMTU=1279: expected at least 1280 for IPv6");
	ck_assert_str_eq(key, "ExpectMTU");
	ck_assert_int_eq(config_peer_set(peer, "ExpectMTU", "1280", &error), 0);
	ck_assert_int_eq(config_peer_set(peer, "Interface", "eth1", &error), 0);
	ck_assert_int_eq(config_peer_check(peer, &key, &error), 0);
	ck_assert_str_eq(peer->zone_link, "eth1");
	ck_assert_int_eq(config_peer_set(peer, "Interface", "eth0", &error), 0);
	ck_assert_objection(config_peer_check(peer, &key, &error),
			 "the address is link-local: expected one Interface=");
	ck_assert_str_eq(key, "Interface");
	config_peer_free(peer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *tests = tcase_create("config");

	tcase_add_test(tests, defaults);
	tcase_add_test(tests, whole_block);
	tcase_add_test(tests, lines);
	tcase_add_test(tests, long_lines);
	tcase_add_test(tests, sections);
	tcase_add_test(tests, keys);
	tcase_add_test(tests, inheritance);
	tcase_add_test(tests, round_trip);
	tcase_add_test(tests, gathered);
	tcase_add_test(tests, requested);
	tcase_add_test(tests, requested_together);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
