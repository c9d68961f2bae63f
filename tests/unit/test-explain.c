/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * explain without a bus: every verdict, every manager, stacks out of a sysfs made here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/ctl/explain.h"
#include "tap.h"

/* --- a root of its own --- */

static char root[64];

static void root_make(void)
{
	strcpy(root, "/tmp/test-explain.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void root_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

__attribute__((format(printf, 2, 3))) static void file_write(const char *name, const char *format,
							     ...)
{
	char path[512];
	va_list arguments;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	fclose(file);
}

static void device_make(const char *name, uint32_t mtu, const char *lower)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", name);
	file_write(path, "%u\n", mtu);
	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", name);
	file_write(path, "7\n");
	if (!lower)
		return;
	snprintf(path, sizeof(path), "/sys/class/net/%s/lower_%s", name, lower);
	file_write(path, "%s", "");
}

static struct json_object *parsed(const char *text)
{
	struct json_object *object = json_tokener_parse(text);

	ck_assert_ptr_nonnull(object);
	return object;
}

/* --- explanations --- */

static struct layers one_link(uint32_t mtu, enum manager_kind kind)
{
	struct layers layers = {.count = 1};

	strcpy(layers.list[0].name, "eth0");
	layers.list[0].mtu = mtu;
	layers.list[0].manager.kind = kind;
	strcpy(layers.list[0].manager.file, "/etc/systemd/network/10-eth0.network");
	return layers;
}

#define PATH                                                                                       \
	"\"Name\":\"san\",\"Address\":\"192.0.2.2\",\"Interface\":\"eth0\",\"Method\":\"icmp\","   \
	"\"ExpectedMTU\":9000,\"LinkMTU\":9000,\"KernelMTU\":9000,\"ProbesSent\":12,\"Rounds\":3," \
	"\"ProbesLost\":4,\"Flows\":1,"

/* `more`: the rest of the path's members. */
static struct json_object *explained(const char *more, const struct layers *layers)
{
	struct json_object *document = parsed("{\"Peers\":[],\"Links\":[]}"), *path, *explanation;
	struct explaining facts = {.document = document, .layers = layers};
	char text[2048];

	snprintf(text, sizeof(text), "{" PATH "%s}", more);
	path = parsed(text);
	facts.peer = facts.path = path;
	explanation = explain_path(&facts);
	ck_assert_ptr_nonnull(explanation);
	json_object_put(path);
	json_object_put(document);
	return explanation;
}

static const char *all_text(struct json_object *explanation)
{
	return json_object_to_json_string_ext(explanation, JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void assert_says(struct json_object *explanation, const char *words)
{
	ck_assert_msg(strstr(all_text(explanation), words) != NULL, "no \"%s\" in %s", words,
		      all_text(explanation));
}

static void assert_silent(struct json_object *explanation, const char *words)
{
	ck_assert_msg(strstr(all_text(explanation), words) == NULL, "\"%s\" in %s", words,
		      all_text(explanation));
}

/* The narrow step's name, "" none; there is at most one. */
static const char *narrow(struct json_object *explanation)
{
	const char *name = "";

	for (unsigned i = 0; i < document_count(explanation, "Steps"); i++) {
		struct json_object *step = document_at(explanation, "Steps", i);

		if (!document_number(step, "Narrow"))
			continue;
		ck_assert_str_eq(name, "");
		name = document_text(step, "Name");
	}
	return name;
}

/* Of every verdict: two sentences, and where it is narrow. */
START_TEST(verdicts)
{
	static const struct {
		const char *path, *narrow, *evidence, *diagnosis, *action;
	} list[] = {
		{"\"Verdict\":\"unknown\"", "", "probes in 3 rounds", "No round has come", ""},
		{"\"Verdict\":\"consistent\",\"PathMTU\":9000,\"ReturnMTU\":9000", "",
		 "Packets of 9000 bytes (ping payload 8972, TCP MSS 8960) were answered.",
		 "nothing to mend", ""},
		{"\"Verdict\":\"reduced\",\"Severity\":\"notice\",\"PathMTU\":1500,"
		 "\"Router\":\"192.0.2.254\",\"Locus\":\"at 192.0.2.254\"",
		 "192.0.2.254", "192.0.2.254 reported that 9000 bytes are too big",
		 "path MTU discovery works", "ping -M do -c 3 -s 1472 192.0.2.2"},
		{"\"Verdict\":\"reduced\",\"Severity\":\"notice\",\"PathMTU\":1450", "network",
		 "and this host knows", "Nothing stalls", "-s 1422"},
		{"\"Verdict\":\"black-hole\",\"Severity\":\"critical\",\"PathMTU\":1500,"
		 "\"Confirmed\":true,\"Direction\":\"forward\",\"Locus\":\"on-link\"",
		 "switch or tunnel", "of 1501 bytes, and of 9000, none were", "where no router is",
		 "ping -M do -c 3 -s 1473 192.0.2.2  # 1501 bytes: not answered"},
		{"\"Verdict\":\"black-hole\",\"Severity\":\"warning\",\"PathMTU\":1500,"
		 "\"Confirmed\":false,\"Direction\":\"unknown\"",
		 "network", "Which way loses them is not known", "no proof that transfers stall",
		 "-s 1472"},
		{"\"Verdict\":\"black-hole\",\"PathMTU\":9000,\"ReturnMTU\":1500,"
		 "\"Confirmed\":true,\"Direction\":\"return\"",
		 "way back", "9000 bytes reached it, and answers of 1500", "reads stall",
		 "-s 1472"},
		{"\"Verdict\":\"black-hole\",\"PathMTU\":1500,\"Confirmed\":true,"
		 "\"Direction\":\"forward\",\"Locus\":\"after 192.0.2.254\"",
		 "beyond it", "No router reported", "behind 192.0.2.254, the last router", "1473"},
		{"\"Verdict\":\"partial\",\"PathMTU\":1500,\"Flows\":8,\"FlowsFaulty\":3",
		 "network", "Of 8 source ports 3 lose packets above 1500", "looks like chance",
		 "mtuwatchctl probe"},
		/* somebody's own route is what is narrow, and all that comes back fits through it */
		{"\"Verdict\":\"misconfigured\",\"PathMTU\":1496,\"ReturnMTU\":1496,"
		 "\"KernelMTU\":1496,\"Reason\":\"the route by eth0 has an MTU of 1496\"",
		 "route", "eth0 has an MTU of 9000", "was not asked for more", ""},
		{"\"Verdict\":\"lossy\",\"PathMTU\":9000", "", "lost clearly more often",
		 "no limit of size", ""},
		{"\"Verdict\":\"unreachable\",\"Reason\":\"this host has no route to it\"", "",
		 "It is so that this host has no route to it.", "no matter of size", ""},
		{"\"Verdict\":\"unverifiable\",\"Reason\":\"nothing tells a size\"", "",
		 "nothing tells a size", "neither a fault nor its absence", ""},
	};
	struct layers layers = one_link(9000, MANAGER_NONE);

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct json_object *explanation = explained(list[i].path, &layers);

		ck_assert_uint_eq(document_count(explanation, "Diagnosis"), 2);
		assert_says(explanation, list[i].evidence);
		assert_says(explanation, list[i].diagnosis);
		assert_says(explanation, list[i].action);
		ck_assert_str_eq(narrow(explanation), list[i].narrow);
		if (!list[i].action[0])
			ck_assert_uint_eq(document_count(explanation, "Actions"), 0);
		json_object_put(explanation);
	}
}
END_TEST

/* One whose echo is filtered is not proven by ping; nor what the kernel itself would refuse. */
/* Lowered by a clamp, it is as small as the place that it was lowered for. */
START_TEST(clamped_link)
{
	struct layers layers = one_link(1500, MANAGER_NONE);
	struct json_object *explanation =
		explained("\"Verdict\":\"black-hole\",\"Severity\":\"critical\",\"PathMTU\":1500,"
			  "\"KernelMTU\":1500,\"ClampMTU\":1500,\"ClampKind\":\"link\","
			  "\"Confirmed\":true,\"Direction\":\"forward\",\"Locus\":\"on-link\"",
			  &layers);

	ck_assert_str_eq(narrow(explanation), "switch or tunnel");
	assert_says(explanation, "by a link clamp");
	json_object_put(explanation);
}
END_TEST

START_TEST(proofs)
{
	struct json_object *explanation = explained(
		"\"Method\":\"tcp\",\"Verdict\":\"black-hole\",\"PathMTU\":1500,\"Confirmed\":true",
		NULL);

	assert_says(explanation, "mtuwatchctl probe --method=tcp --interface=eth0 --expect=9000");
	assert_silent(explanation, "ping -M do");
	json_object_put(explanation);
	explanation =
		explained("\"KernelMTU\":1500,\"Verdict\":\"black-hole\",\"PathMTU\":1500", NULL);
	assert_says(explanation, "-s 1472");
	assert_silent(explanation, "-s 1473");
	json_object_put(explanation);
	explanation = explained("\"Address\":\"2001:db8::2\",\"Verdict\":\"black-hole\","
				"\"PathMTU\":1500",
				NULL);
	assert_says(explanation, "ping -M do -c 3 -s 1452 2001:db8::2");
	assert_says(explanation, "(ping payload 1452, TCP MSS 1440)");
	json_object_put(explanation);
}
END_TEST

/* The daemon's advice is taken apart into what to do and what to type until then. */
START_TEST(advice)
{
	struct json_object *explanation = explained(
		"\"Verdict\":\"black-hole\",\"PathMTU\":1500,\"Confirmed\":true,\"Advice\":\"a "
		"port "
		"takes 1500, first at switch sw1 port Eth1/7; until then: ip route replace x\"",
		NULL);
	struct json_object *first = document_at(explanation, "Actions", 0);
	struct json_object *second = document_at(explanation, "Actions", 1);

	ck_assert_str_eq(document_text(first, "Text"),
			 "A port takes 1500, first at switch sw1 port Eth1/7.");
	ck_assert_str_eq(json_object_get_string(document_at(second, "Commands", 0)),
			 "ip route replace x");
	assert_says(explanation, "While it is there the verdict is misconfigured");
	assert_says(explanation, "\"ip route del x\"");
	assert_says(explanation, "Clamp=route for this peer");
	json_object_put(explanation);
	explanation =
		explained("\"Verdict\":\"black-hole\",\"PathMTU\":1500,\"Confirmed\":true,"
			  "\"ClampMTU\":1500,\"ClampKind\":\"route\",\"Advice\":\"a port takes "
			  "1500; until then: a clamp keeps packets to it at 1500 bytes\"",
			  NULL);
	assert_says(explanation, "Until that is done, a clamp keeps packets to it at 1500 bytes.");
	assert_says(explanation, "holds packets to it at 1500 bytes, by a route clamp");
	assert_silent(explanation, "Clamp=route");
	json_object_put(explanation);
}
END_TEST

/* The better verdict waits for its rounds; what is known already is not denied. */
START_TEST(outdated)
{
	struct layers layers = one_link(9000, MANAGER_NONE);
	struct json_object *explanation = explained(
		"\"ExpectedMTU\":1500,\"Verdict\":\"black-hole\",\"PathMTU\":1500", &layers);

	assert_says(explanation, "The verdict is from before");
	assert_silent(explanation, "none were");
	ck_assert_uint_eq(document_count(explanation, "Actions"), 0);
	ck_assert_str_eq(narrow(explanation), "");
	json_object_put(explanation);
}
END_TEST

START_TEST(connections)
{
	struct json_object *explanation =
		explained("\"Verdict\":\"consistent\",\"PathMTU\":9000,\"SocketMSS\":8948", NULL);

	assert_says(explanation, "segments of 8948 bytes, in packets of up to 9000");
	ck_assert_str_eq(document_text(document_at(explanation, "Steps", 0), "Name"),
			 "connections");
	json_object_put(explanation);
	explanation =
		explained("\"Verdict\":\"consistent\",\"PathMTU\":9000,\"SocketMSS\":1448", NULL);
	/* what connections do only follows from something */
	ck_assert_str_eq(narrow(explanation), "");
	json_object_put(explanation);
}
END_TEST

/* --- this host --- */

/* The link is raised from below; its own driver has the last word. */
START_TEST(raised)
{
	struct layers layers = one_link(1500, MANAGER_NETWORKD);
	struct json_object *explanation;

	layers.count = 2;
	layers.list[1] = layers.list[0];
	strcpy(layers.list[1].name, "vlan5");
	strcpy(layers.list[1].manager.file, "/run/systemd/network/20-vlan5.network");
	explanation = explained("\"LinkMTU\":1500,\"KernelMTU\":1500,\"Verdict\":\"misconfigured\","
				"\"Reason\":\"link vlan5 has an MTU of 1500\",\"PathMTU\":1500",
				&layers);
	ck_assert_uint_eq(document_count(explanation, "Actions"), 2);
	ck_assert_str_eq(document_text(document_at(explanation, "Actions", 0), "File"),
			 "/etc/systemd/network/10-eth0.network.d/90-mtu.conf");
	ck_assert_str_eq(document_text(document_at(explanation, "Actions", 1), "File"),
			 "/etc/systemd/network/20-vlan5.network.d/90-mtu.conf");
	assert_says(explanation, "\"MTUBytes=9000\"");
	ck_assert_str_eq(narrow(explanation), "vlan5");
	json_object_put(explanation);
	layers.list[0].most = 4000;
	explanation = explained("\"LinkMTU\":1500,\"Verdict\":\"misconfigured\",\"PathMTU\":1500",
				&layers);
	assert_says(explanation, "The driver of eth0 takes no more than 4000");
	json_object_put(explanation);
	explanation = explained("\"Verdict\":\"misconfigured\",\"PathMTU\":1500", NULL);
	assert_says(explanation, "on that host itself");
	json_object_put(explanation);
}
END_TEST

/* To lower a link is a last resort: never on one method's word, never below what IPv6 needs. */
START_TEST(lowered)
{
	struct layers layers = one_link(9000, MANAGER_NETWORKD);
	struct json_object *explanation = explained(
		"\"Verdict\":\"black-hole\",\"PathMTU\":1500,\"Confirmed\":true", &layers);

	assert_says(explanation, "MTUBytes=1500");
	json_object_put(explanation);
	explanation = explained("\"Verdict\":\"black-hole\",\"PathMTU\":1500,\"Confirmed\":false",
				&layers);
	assert_silent(explanation, "MTUBytes");
	json_object_put(explanation);
	explanation = explained("\"Verdict\":\"black-hole\",\"PathMTU\":1279,\"Confirmed\":true",
				&layers);
	assert_silent(explanation, "MTUBytes");
	json_object_put(explanation);
}
END_TEST

static void assert_action(const struct device *device, const char *const *wanted)
{
	struct json_object *action = remedy_device(device, 9000);

	for (; *wanted; wanted++)
		assert_says(action, *wanted);
	json_object_put(action);
}

START_TEST(managers)
{
	struct device device = {.name = "eth0", .mtu = 1500};
	struct manager *manager = &device.manager;

	*manager = (struct manager){.kind = MANAGER_NETWORKD, .file = "/run/x/10-all.network"};
	assert_action(&device, (const char *const[]){"\"[Link]\",\"MTUBytes=9000\"",
						     "/etc/systemd/network/10-all.network.d/",
						     "networkctl reconfigure eth0", NULL});
	*manager = (struct manager){.kind = MANAGER_NETPLAN,
				    .name = "lan",
				    .section = "bonds",
				    .file = "/etc/netplan/01.yaml"};
	assert_action(&device,
		      (const char *const[]){"\"  bonds:\",\"    lan:\",\"      mtu: 9000\"",
					    "/etc/netplan/01.yaml", "netplan apply", NULL});
	*manager = (struct manager){
		.kind = MANAGER_NETWORK_MANAGER, .name = "Wired \"one\"'s", .section = "vlan"};
	assert_action(&device, (const char *const[]){"'Wired \\\"one\\\"'\\\\''s' "
						     "802-3-ethernet.mtu 9000",
						     "nmcli connection up", NULL});
	strcpy(manager->section, "infiniband");
	assert_action(&device, (const char *const[]){"infiniband.mtu 9000", NULL});
	*manager = (struct manager){.kind = MANAGER_IFUPDOWN,
				    .name = "inet",
				    .section = "static",
				    .file = "/etc/network/interfaces"};
	assert_action(&device, (const char *const[]){"iface eth0 inet static", "\"    mtu 9000\"",
						     "ip link set dev eth0 mtu 9000", NULL});
	strcpy(manager->section, "dhcp");
	assert_action(&device,
		      (const char *const[]){"    post-up ip link set dev $IFACE mtu 9000", NULL});
	*manager = (struct manager){.kind = MANAGER_NONE};
	assert_action(&device, (const char *const[]){"gone with the next boot",
						     "ip link set dev eth0 mtu 9000", NULL});
}
END_TEST

/* --- who sets it up --- */

START_TEST(networkd_state)
{
	struct manager manager;

	ck_assert(manager_from_networkd(
		&manager, "# This is private data. Do not parse.\nADMIN_STATE=configured\n"
			  "NETWORK_FILE=/etc/systemd/network/10-eth1.network\nDNS=\n"));
	ck_assert_int_eq(manager.kind, MANAGER_NETWORKD);
	ck_assert_str_eq(manager.file, "/etc/systemd/network/10-eth1.network");
	ck_assert(!manager_from_networkd(&manager, "ADMIN_STATE=unmanaged\n"));
	ck_assert(!manager_from_networkd(&manager, "XNETWORK_FILE=/a\nNETWORK_FILE=\n"));
	ck_assert(!manager_from_networkd(&manager, ""));
}
END_TEST

START_TEST(netplan_files)
{
	struct manager manager = {.kind = MANAGER_NETWORKD,
				  .file = "/run/systemd/network/10-netplan-lan.network"};

	root_make();
	file_write("/etc/netplan/01-a.yaml",
		   "# eth0:\nnetwork:\n  version: 2\n  ethernets:\n    eth0: {}\n    \"lan\":\n"
		   "      match:\n        name: lan\n");
	file_write("/etc/netplan/90-b.yaml", "network:\n ethernets:\n  other:\n   mtu: 1\n");
	manager_to_netplan(&manager, root);
	ck_assert_int_eq(manager.kind, MANAGER_NETPLAN);
	ck_assert_str_eq(manager.name, "lan");
	ck_assert_str_eq(manager.section, "ethernets");
	ck_assert_str_eq(manager.file, "/etc/netplan/01-a.yaml");
	manager = (struct manager){
		.kind = MANAGER_NETWORK_MANAGER,
		.file = "/run/NetworkManager/system-connections/netplan-other.nmconnection"};
	manager_to_netplan(&manager, root);
	ck_assert_str_eq(manager.name, "other");
	ck_assert_str_eq(manager.file, "/etc/netplan/90-b.yaml");
	manager = (struct manager){.kind = MANAGER_NETWORKD, .file = "/etc/x/netplan-a.network"};
	manager_to_netplan(&manager, root);
	ck_assert_int_eq(manager.kind, MANAGER_NETWORKD);
	root_remove();
}
END_TEST

START_TEST(netplan_lines)
{
	static const struct {
		const char *yaml, *section;
	} list[] = {
		{"network:\n  vlans:\n    v:\n      id: 5\n  bonds:\n    b: {}\n", "bonds"},
		{"network:\n  ethernets:\n    v:\n      addresses:\n      - 1\n  bonds:\n    "
		 "'b':\n",
		 "bonds"},
		{"network:\n  ethernets:\n    a:\n      b:\n", ""}, /* a key of another one */
		{"other:\n  bonds:\n    b:\n", ""},
		{"network:\n  bonds:\n    # b:\n    bb:\n", ""},
		{"network:\n\n  # x\n  bonds:\n\n    b:\n", "bonds"},
		{"network: {bonds: {b: {}}}\n", ""},
		{"", ""},
		{"network", ""},
		{"network:\n  bonds:\n    \"b", ""},
	};

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char section[32];

		netplan_section(list[i].yaml, "b", section);
		ck_assert_msg(strcmp(section, list[i].section) == 0, "%u: %s", i, section);
	}
}
END_TEST

START_TEST(interfaces_files)
{
	struct manager manager;

	root_make();
	ck_assert(!manager_from_interfaces(&manager, root, "eth0"));
	file_write(
		"/etc/network/interfaces",
		"source /etc/network/interfaces.d/*\nsource /etc/network/interfaces\n"
		"auto eth0\niface eth0 inet6 auto\niface eth0 inet dhcp\n# iface eth9 inet dhcp\n");
	file_write("/etc/network/interfaces.d/bond", "\tiface  bond0 inet static\n  mtu 1\n");
	ck_assert(manager_from_interfaces(&manager, root, "eth0"));
	ck_assert_str_eq(manager.section, "dhcp");
	ck_assert_str_eq(manager.file, "/etc/network/interfaces");
	ck_assert(manager_from_interfaces(&manager, root, "bond0"));
	ck_assert_str_eq(manager.file, "/etc/network/interfaces.d/bond");
	ck_assert_str_eq(manager.section, "static");
	ck_assert(!manager_from_interfaces(&manager, root, "eth9"));
	root_remove();
}
END_TEST

/* --- what it lies on --- */

static struct layers layers_of(const char *links, const char *link)
{
	struct json_object *document = parsed(links);
	struct layers layers;

	layers_read(&layers, root, document, link);
	json_object_put(document);
	return layers;
}

/* bridge over VLAN over bond over two ports: the bond goes before the VLAN before the bridge, and
 * the ports follow the bond. */
START_TEST(stacks)
{
	struct layers layers;

	root_make();
	device_make("br0", 1500, "bond0.5");
	device_make("bond0.5", 1500, "bond0");
	device_make("bond0", 1500, "eth0");
	device_make("bond0", 1500, "eth1");
	device_make("eth0", 1500, NULL);
	device_make("eth1", 1500, NULL);
	device_make("vx", 1450, "eth0");
	device_make("a", 1500, "b");
	device_make("b", 1500, "a");
	layers = layers_of("{\"Links\":[{\"Name\":\"bond0\",\"Kind\":\"bond\",\"MTU\":1500,"
			   "\"MaxMTU\":9000,\"Index\":4}]}",
			   "br0");
	ck_assert_uint_eq(layers.count, 5);
	ck_assert_str_eq(layers.list[0].name, "eth0");
	ck_assert_str_eq(layers.list[1].name, "eth1");
	ck_assert(layers.list[0].follows && layers.list[1].follows);
	ck_assert_str_eq(layers.list[2].name, "bond0");
	ck_assert(!layers.list[2].follows);
	ck_assert_uint_eq(layers.list[2].most, 9000);
	ck_assert_str_eq(layers.list[3].name, "bond0.5");
	ck_assert_str_eq(layers.list[4].name, "br0");
	ck_assert_int_eq(layers.list[4].index, 7);

	layers = layers_of("{\"Links\":[{\"Name\":\"vx\",\"Kind\":\"vxlan\",\"MTU\":1450,\"Overhead\":50}]}", "vx");
	ck_assert_uint_eq(layers.count, 2);
	ck_assert_uint_eq(remedy_mtu(&layers.list[0], 1500), 1550);
	ck_assert_uint_eq(remedy_mtu(&layers.list[1], 1500), 1500);
	/* over IPv6, or of another kind: the daemon knows what it adds */
	layers = layers_of("{\"Links\":[{\"Name\":\"vx\",\"Kind\":\"vxlan\",\"MTU\":1430,"
			   "\"Overhead\":70}]}",
			   "vx");
	ck_assert_uint_eq(remedy_mtu(&layers.list[0], 1500), 1570);
	/* tied to no link: it leaves by the route, and a bridge may lie on it */
	device_make("gre1", 1476, NULL);
	device_make("br1", 1476, "gre1");
	layers = layers_of("{\"Links\":[{\"Name\":\"eth0\",\"Kind\":\"\",\"MTU\":1500,\"Index\":7},"
			   "{\"Name\":\"gre1\",\"Kind\":\"gretap\",\"MTU\":1476,\"Overhead\":38,"
			   "\"UnderlayIndex\":7}]}",
			   "br1");
	ck_assert_uint_eq(layers.count, 3);
	ck_assert_str_eq(layers.list[0].name, "eth0");
	ck_assert_uint_eq(remedy_mtu(&layers.list[0], 1500), 1538);
	ck_assert_uint_eq(remedy_mtu(&layers.list[1], 1500), 1500);

	/* no more than there is room for, however they lie */
	layers = layers_of("{}", "a");
	ck_assert_uint_eq(layers.count, 2);
	layers = layers_of("{}", "");
	ck_assert_uint_eq(layers.count, 0);
	root_remove();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("explain");
	TCase *test = tcase_create("explain");

	tcase_add_test(test, verdicts);
	tcase_add_test(test, clamped_link);
	tcase_add_test(test, proofs);
	tcase_add_test(test, advice);
	tcase_add_test(test, outdated);
	tcase_add_test(test, connections);
	tcase_add_test(test, raised);
	tcase_add_test(test, lowered);
	tcase_add_test(test, managers);
	tcase_add_test(test, networkd_state);
	tcase_add_test(test, netplan_files);
	tcase_add_test(test, netplan_lines);
	tcase_add_test(test, interfaces_files);
	tcase_add_test(test, stacks);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
