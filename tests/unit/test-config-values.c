/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: what a value may be, and how a wrong one is refused.
 */
#include "config-testing.h"

#include <errno.h>

#include "face/address_text.h"

START_TEST(values)
{
	bad_daemon("Interval=fast", "Interval=fast: expected a time such as 30s or 1min 30s");
	bad_daemon("Interval=infinity",
		   "Interval=infinity: expected a time such as 30s or 1min 30s");
	bad_daemon("Interval=999ms", "Interval=999ms: expected a time from 1s to 365d");
	bad_daemon("Interval=366d", "Interval=366d: expected a time from 1s to 365d");
	bad_daemon("Interval=99999999999999999999",
		   "Interval=99999999999999999999: expected a time from 1s to 365d");
	bad_daemon("Timeout=9ms", "Timeout=9ms: expected a time from 10ms to 1min");
	bad_daemon("Timeout=61s", "Timeout=61s: expected a time from 10ms to 1min");
	bad_daemon("Timeout=31s", "Interval= is below Timeout=: expected at least as much");
	bad_daemon("Remind=59s", "Remind=59s: expected 0 or a time from 1min to 365d");
	bad_daemon("Tries=0", "Tries=0: expected a number from 1 to 20");
	bad_daemon("Tries=21", "Tries=21: expected a number from 1 to 20");
	bad_daemon("Tries=-1", "Tries=-1: expected a number from 1 to 20");
	bad_daemon("Tries=3x", "Tries=3x: expected a number from 1 to 20");
	bad_daemon("Tries=18446744073709551617",
		   "Tries=18446744073709551617: expected a number from 1 to 20");
	bad_daemon("FailAfter=101", "FailAfter=101: expected a number from 1 to 100");
	bad_daemon("RecoverAfter=0", "RecoverAfter=0: expected a number from 1 to 100");
	bad_daemon("ProbeBandwidth=99K",
		   "ProbeBandwidth=99K: expected bits per second from 100K to 1000G");
	bad_daemon("ProbeBandwidth=10Mbit",
		   "ProbeBandwidth=10Mbit: expected bits per second such as 500K, 10M or 1G");
	bad_daemon(
		"Discover=all",
		"Discover=all: expected none, or any of gateways storage nfs smb iscsi nvme ceph");
	bad_daemon("Discover=none gateways",
		   "Discover=none gateways: expected none, or any of gateways "
		   "storage nfs smb iscsi nvme ceph");
	bad_daemon("Responder=maybe", "Responder=maybe: expected no, yes or a port, 2 to 65535");
	bad_daemon("Responder=65536", "Responder=65536: expected no, yes or a port, 2 to 65535");
	bad_daemon("MetricsFile=x", "MetricsFile=x: expected an absolute path of a file");
	bad_daemon("Clamp=yes", "Clamp=yes: expected off, route or link");
	bad_daemon("ClampDiscovered=2", "ClampDiscovered=2: expected yes or no");
	bad_daemon("ClampFloor=67", "ClampFloor=67: expected a number from 68 to 65535");
	bad_daemon("ClampRetry=9s", "ClampRetry=9s: expected a time from 10s to 365d");
	bad_peer("ExpectMTU=67", "ExpectMTU=67: expected a number from 68 to 65535");
	bad_peer("ExpectMTU=65536", "ExpectMTU=65536: expected a number from 68 to 65535");
	bad_peer("Port=0", "Port=0: expected a port, 1 to 65535");
	bad_peer("Port=65536", "Port=65536: expected a port, 1 to 65535");
	bad_peer("Flows=65", "Flows=65: expected a number from 1 to 64");
	bad_peer("Family=4", "Family=4: expected any, ipv4, ipv6 or both");
	bad_peer("Method=ping", "Method=ping: expected auto, icmp, tcp, udp or responder");
	bad_peer("Interface=abcdefghijklmnop",
		 "Interface=abcdefghijklmnop: expected the name of a link, at most 15 characters");
	bad_peer("Interface=a/b",
		 "Interface=a/b: expected the name of a link, at most 15 characters");
	bad_peer("Source=host", "Source=host: expected an IPv4 or IPv6 address of this host");
	bad_peer("Source=0.0.0.0",
		 "Source=0.0.0.0: expected an address of this host that others can answer to");
	bad_peer("Interval=2\nTimeout=3s",
		 "[Peer a]: Interval= is below Timeout=: expected at least as much");
	bad("[Link a]\nIgnore=perhaps\n", "t.conf:2: Ignore=perhaps: expected yes or no\n");
}
END_TEST

START_TEST(addresses)
{
	static const char name[] = "expected an IPv4 or IPv6 address or a host name";
	static const char unspecified[] = "expected the address of a host, this one is unspecified";
	static const char own[] =
		"expected the address of another host, this one is this host's own";
	static const char multicast[] = "expected the address of one host, this one is multicast";

	bad_address("0.0.0.0", unspecified);
	bad_address("::", unspecified);
	bad_address("127.0.0.1", own);
	bad_address("::1", own);
	bad_address("224.0.0.1", multicast);
	bad_address("ff02::1%eth0", multicast);
	bad_address("255.255.255.255", "expected the address of one host, this one is broadcast");
	bad_address("::ffff:192.0.2.1", "expected a plain IPv4 address, this one is IPv4-mapped");
	bad_address("2001:db8::1%eth0", "expected no %zone, it belongs to link-local addresses");
	bad_address("fe80::1%a/b", "expected the name of a link behind the %");
	bad_address("fe80::1%", name);
	bad_address("fe80::1%abcdefghijklmnop", name);
	bad_address("192.0.2.1%eth0", name);
	bad_address("192.0.2.300", name);
	bad_address("192.0.2.010", name);
	bad_address("192.0.2", name);
	bad_address("0x7f000001", name);
	bad_address("[2001:db8::1]", name);
	bad_address("192.0.2.1:3260", name);
	bad_address("-host", name);
	bad_address("host-", name);
	bad_address("a..b", name);
	bad_address("a b", name);
	bad_address(".", name);
	bad("[Peer a]\nAddress=fe80::1\n",
	    "t.conf:2: [Peer a]: the address is link-local: expected %LINK "
	    "behind it, or Interface=\n");
	bad("[Peer a]\nAddress=fe80::1%eth0\nInterface=eth1\n",
	    "t.conf:2: [Peer a]: %eth0 is not Interface=eth1: expected the same link\n");
	bad("[Peer a]\nAddress=2001:db8::1\nSource=192.0.2.1\n",
	    "t.conf:3: [Peer a]: Source= is IPv4: expected the family of the peer\n");
	bad("[Peer a]\nAddress=2001:db8::1\nFamily=ipv4\n",
	    "t.conf:3: [Peer a]: Address= is IPv6: expected Family=any or the same\n");
	bad("[Peer a]\nAddress=host\nSource=192.0.2.1\nFamily=ipv6\n",
	    "t.conf:3: [Peer a]: Source= is IPv4: expected the family of the peer\n");
	bad("[Peer a]\nAddress=2001:db8::1\nExpectMTU=1279\n",
	    "t.conf:3: [Peer a]: ExpectMTU=1279: expected at least 1280 for IPv6\n");
}
END_TEST

static void assert_address(const char *text, const char *objection)
{
	struct config_peer *peer = NULL;
	char *error = NULL;
	const char *key;
	int r;

	ck_assert_int_eq(config_peer_new(&peer), 0);
	r = config_peer_set(peer, "Address", text, &error);
	if (r >= 0)
		r = config_peer_check(peer, &key, &error);
	ck_assert_int_eq(r, objection ? -EINVAL : 0);
	ck_assert_pstr_eq(error, objection);
	free(error);
	config_peer_free(peer);
}

/* The same objections to an address that no file gave; without Interface= a link-local one needs
 * its link. */
START_TEST(addresses_without_a_file)
{
	static const char *const good_ones[] = {"192.0.2.1", "2001:db8::1", "fe80::1%eth0",
						"host.example", "a"};
	static const struct {
		const char *text, *objection;
	} bad_ones[] = {
		{"", "expected an IPv4 or IPv6 address or a host name"},
		{"300.1.1.1", "expected an IPv4 or IPv6 address or a host name"},
		{"not an address", "expected an IPv4 or IPv6 address or a host name"},
		{"127.0.0.1", "expected the address of another host, this one is this host's own"},
		{"224.0.0.1", "expected the address of one host, this one is multicast"},
		{"fe80::1", "the address is link-local: expected %LINK behind it, or Interface="},
		{"2001:db8::1%eth0", "expected no %zone, it belongs to link-local addresses"},
	};

	for (unsigned i = 0; i < sizeof(good_ones) / sizeof(good_ones[0]); i++)
		assert_address(good_ones[i], NULL);
	for (unsigned i = 0; i < sizeof(bad_ones) / sizeof(bad_ones[0]); i++)
		assert_address(bad_ones[i].text, bad_ones[i].objection);
}
END_TEST

START_TEST(good_addresses)
{
	struct config *config =
		good("[Peer a]\nAddress=fe80::1%7\nInterface=eth1\n"
		     "[Peer b]\nAddress=fe80::1\nInterface=eth1\n"
		     "[Peer c]\nAddress=san_1.example.net.\nSource=2001:db8::2\n"
		     "[Peer d]\nAddress=3com\nInterface=eth1\nInterface=eth1\n"
		     "[Peer e]\nAddress=192.0.2.1\nSource=192.0.2.2\nExpectMTU=68\n");

	ck_assert_str_eq(config->peers[0].zone_link, "7");
	ck_assert_str_eq(config->peers[1].zone_link, "eth1");
	ck_assert_int_eq(config->peers[1].address.zone, 0);
	ck_assert_str_eq(config->peers[2].host, "san_1.example.net.");
	ck_assert_int_eq(config->peers[2].family, ADDRESS_IPV6);
	ck_assert_str_eq(config->peers[3].host, "3com");
	ck_assert_uint_eq(config->peers[3].interface_count, 1);
	ck_assert_uint_eq(config->peers[4].settings.expect_mtu, 68);
	config_free(config);
}
END_TEST

START_TEST(defaults_may_be_written)
{
	config_free(good("[Daemon]\nMetricsFile=\nClamp=off\nClampDiscovered=false\n"
			 "ClampAfter=3\nClampFloor=1280\nClampRetry=600\n[Peer a]\nAddress=a\n"
			 "Clamp=off\n[Link x]\nClamp=off\n"));
}
END_TEST

/* Words add up over lines, an empty assignment gives the default back, and what is printed says the
 * same. */
static const struct {
	const char *lines, *printed;
	unsigned bits;
} discoveries[] = {
	/* clang-format off */
	{"", "gateways storage", DISCOVER_GATEWAYS | DISCOVER_STORAGE},
	{"Discover=storage\n", "storage", DISCOVER_STORAGE},
	{"Discover=gateways\n", "gateways", DISCOVER_GATEWAYS},
	{"Discover=none\n", "none", 0},
	{"Discover=nfs\n", "nfs", DISCOVER_NFS},
	{"Discover=ceph nfs\n", "nfs ceph", DISCOVER_NFS | DISCOVER_CEPH},
	{"Discover=smb\nDiscover=iscsi gateways\n", "gateways smb iscsi",
	 DISCOVER_GATEWAYS | DISCOVER_SMB | DISCOVER_ISCSI},
	{"Discover=nfs smb iscsi nvme ceph\n", "nfs smb iscsi nvme ceph",
	 DISCOVER_STORAGE & ~(unsigned)DISCOVER_OTHERS},
	{"Discover=nvme storage\n", "storage", DISCOVER_STORAGE},
	{"Discover=nfs\nDiscover=\n", "gateways storage", DISCOVER_GATEWAYS | DISCOVER_STORAGE},
	{"Discover=nfs\nDiscover=\nDiscover=smb\n", "smb", DISCOVER_SMB},
	{"Discover=nfs\nDiscover=none\nDiscover=smb\n", "smb", DISCOVER_SMB},
	/* clang-format on */
};

START_TEST(discover)
{
	char text[200], line[100], *printed = NULL;
	struct config *config;
	size_t size;
	FILE *out;

	snprintf(text, sizeof(text), "[Daemon]\n%s", discoveries[_i].lines);
	config = good(text);
	ck_assert_uint_eq(config->discover, discoveries[_i].bits);
	out = open_memstream(&printed, &size);
	config_print(config, out);
	fclose(out);
	snprintf(line, sizeof(line), "\nDiscover=%s\n", discoveries[_i].printed);
	ck_assert_ptr_nonnull(strstr(printed, line));
	free(printed);
	config_free(config);
}
END_TEST

/* A peer's own word is told from what it inherits: it goes before its link's. */
START_TEST(clamps)
{
	struct config *config = good("[Daemon]\nClamp=route\nClampDiscovered=on\nClampAfter=4\n"
				     "ClampFloor=1500\nClampRetry=11min\n[Peer a]\nAddress=a\nClamp=off\nClampAfter=1\n"
				     "ClampFloor=68\n[Peer b]\nAddress=a\n[Link x]\nClamp=link\n");

	ck_assert(config_wants_clamps(config));
	ck_assert(config->clamp_discovered);
	ck_assert_int_eq(config->peers[0].settings.clamp.kind, CLAMP_OFF);
	ck_assert(config->peers[0].settings.clamp.own);
	ck_assert_uint_eq(config->peers[0].settings.clamp.after, 1);
	ck_assert_uint_eq(config->peers[0].settings.clamp.floor, 68);
	ck_assert_int_eq(config->peers[1].settings.clamp.kind, CLAMP_ROUTE);
	ck_assert(!config->peers[1].settings.clamp.own);
	ck_assert_uint_eq(config->peers[1].settings.clamp.after, 4);
	ck_assert_uint_eq(config->peers[1].settings.clamp.floor, 1500);
	ck_assert_int_eq(config->links[0].clamp, CLAMP_LINK);
	ck_assert_uint_eq(config->clamp_retry_usec, 660 * USEC_PER_SEC);
	config_free(config);
	config = good("[Peer a]\nAddress=a\nClamp=off\n[Link x]\nClamp=off\n");
	ck_assert(!config_wants_clamps(config));
	config_free(config);
	config = good("[Link x]\nClamp=route\n");
	ck_assert(config_wants_clamps(config));
	config_free(config);
}
END_TEST

START_TEST(methods)
{
	struct config *config =
		good("[Peer a]\nAddress=a\nMethod=icmp\nPort=1\nFlows=64\n"
		     "[Peer b]\nAddress=a\nMethod=tcp\n[Peer c]\nAddress=a\nMethod=udp\nFlows=2\n"
		     "[Peer d]\nAddress=a\nMethod=responder\nPort=65535\n"
		     "[Peer e]\nAddress=a\nMethod=auto\nPort=3260\n");
	static const enum method expected[] = {METHOD_ICMP, METHOD_TCP, METHOD_UDP,
					       METHOD_RESPONDER, METHOD_AUTO};

	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(config->peers[i].settings.method, expected[i]);
	ck_assert_uint_eq(config->peers[0].port, 1);
	ck_assert_uint_eq(config->peers[0].flows, 64);
	/* the method's own */
	ck_assert_uint_eq(config->peers[1].port, 0);
	ck_assert_uint_eq(config->peers[1].flows, 1);
	ck_assert_uint_eq(config->peers[2].flows, 2);
	ck_assert_uint_eq(config->peers[3].port, 65535);
	config_free(config);
	bad_peer("Flows=0", "Flows=0: expected a number from 1 to 64");
	bad_peer("Flows=65", "Flows=65: expected a number from 1 to 64");
	bad_peer("Method=ping", "Method=ping: expected auto, icmp, tcp, udp or responder");
}
END_TEST

START_TEST(responder)
{
	static const struct {
		const char *text;
		uint16_t port;
	} texts[] = {{"yes", 8899}, {"1", 8899},    {"off", 0},	     {"0", 0},
		     {"2", 2},	    {"8899", 8899}, {"65535", 65535}};
	char text[64];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct config *config;

		snprintf(text, sizeof(text), "[Daemon]\nResponder=%s\n", texts[i].text);
		config = good(text);
		ck_assert_uint_eq(config->responder_port, texts[i].port);
		config_free(config);
	}
	bad_daemon("Responder=65536", "Responder=65536: expected no, yes or a port, 2 to 65535");
	bad_daemon("Responder=maybe", "Responder=maybe: expected no, yes or a port, 2 to 65535");
}
END_TEST

/* Each family and each link is a path; what is of one family or one link alone goes with neither.
 */
START_TEST(several_paths)
{
	struct config *config =
		good("[Peer a]\nAddress=san\nFamily=both\nInterface=eth0 eth1\n"
		     "Interface=eth2\nExpectMTU=1280\n"
		     "[Peer b]\nAddress=192.0.2.1\nInterface=eth1\nInterface=eth0\n");

	ck_assert(config->peers[0].family_both);
	ck_assert_int_eq(config->peers[0].family, ADDRESS_NONE);
	ck_assert_uint_eq(config->peers[0].interface_count, 3);
	ck_assert_str_eq(config->peers[0].interfaces[2], "eth2");
	ck_assert_uint_eq(config->peers[1].interface_count, 2);
	ck_assert_str_eq(config->peers[1].interfaces[0], "eth1");
	config_free(config);
	/* said again in a later file */
	config = good("[Peer a]\nAddress=san\nFamily=both\nFamily=ipv6\n");
	ck_assert(!config->peers[0].family_both);
	config_free(config);
	bad_peer("Family=both", "[Peer a]: Family=both: expected a host name in Address=, this is "
				"an address of one family");
	bad("[Peer a]\nAddress=san\nFamily=both\nSource=2001:db8::1\n",
	    "t.conf:4: [Peer a]: Source= is IPv6: expected none with Family=both\n");
	bad("[Peer a]\nAddress=san\nFamily=both\nExpectMTU=1279\n",
	    "t.conf:4: [Peer a]: ExpectMTU=1279: expected at least 1280 for IPv6\n");
	bad("[Peer a]\nAddress=fe80::1\nInterface=eth0 eth1\n",
	    "t.conf:3: [Peer a]: the address is link-local: expected one Interface=\n");
	bad("[Peer a]\nAddress=fe80::1%eth0\nInterface=eth0\nInterface=eth1\n",
	    "t.conf:4: [Peer a]: the address is link-local: expected one Interface=\n");
}
END_TEST

static void time_is(const char *text, uint64_t usec)
{
	uint64_t got = 0;

	ck_assert_msg(value_time(text, &got) == 0, "refused %s", text);
	ck_assert_uint_eq(got, usec);
}

START_TEST(times)
{
	static const char *const wrong[] = {"",	      " ",	  "s",	   "1x",    "1m",
					    "-1s",    "1s -1s",	  "1.s",   ".5s",   "1..5s",
					    "1.5.5s", "infinity", "1 000", "1min,", "0x10"};
	static const char *const large[] = {"18446744073709551616", "18446744073710s", "213503983d",
					    "18446744073709551615us", "18446744073709551614us 1us"};
	uint64_t usec = 42;

	time_is("0", 0);
	time_is("30", 30 * USEC_PER_SEC);
	time_is("1min 30s", 90 * USEC_PER_SEC);
	time_is("1min30", 90 * USEC_PER_SEC);
	time_is("1d 2h 3min 4s 5ms 6us", 93784005006);
	time_is("2 h", 7200 * USEC_PER_SEC);
	time_is("0.5s", 500000);
	time_is("1.25ms", 1250);
	time_is("18446744073709551614us", UINT64_MAX - 1);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(value_time(wrong[i], &usec) == -EINVAL, "took '%s'", wrong[i]);
	for (unsigned i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		ck_assert_msg(value_time(large[i], &usec) == -ERANGE, "took '%s'", large[i]);
	ck_assert_uint_eq(usec, 42);
}
END_TEST

START_TEST(address_texts)
{
	static const char *const texts[] = {"192.0.2.1", "2001:db8::1", "fe80::1",
					    "::ffff:192.0.2.1"};
	char zone[LINK_NAME_SIZE], text[ADDRESS_TEXT_SIZE];
	struct address address = {0};

	ck_assert_str_eq(words_address(&address, text), "");
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ck_assert_int_eq(words_parse_address(texts[i], &address, zone), 0);
		ck_assert_str_eq(words_address(&address, text), texts[i]);
		ck_assert_str_eq(zone, "");
	}
	ck_assert_int_eq(words_parse_address("fe80::1%lo", &address, zone), 0);
	ck_assert_str_eq(zone, "lo");
	ck_assert_int_eq(address.zone, 0);
	address.zone = 1;
	ck_assert_str_eq(words_address(&address, text), "fe80::1%lo");
	address.zone = INT32_MAX;
	ck_assert_str_eq(words_address(&address, text), "fe80::1%2147483647");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-values");
	TCase *tests = tcase_create("config-values");

	tcase_add_test(tests, values);
	tcase_add_test(tests, addresses);
	tcase_add_test(tests, addresses_without_a_file);
	tcase_add_test(tests, good_addresses);
	tcase_add_test(tests, defaults_may_be_written);
	tcase_add_loop_test(tests, discover, 0, sizeof(discoveries) / sizeof(discoveries[0]));
	tcase_add_test(tests, clamps);
	tcase_add_test(tests, methods);
	tcase_add_test(tests, responder);
	tcase_add_test(tests, several_paths);
	tcase_add_test(tests, times);
	tcase_add_test(tests, address_texts);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
