/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Storage out of the texts of mount tables, sysfs and cluster files: each kind as the kernel writes
 * it, and what somebody else may have put there.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>

#include "../../daemon/world/storage_device.h"
#include "../../daemon/world/storage_mount.h"
#include "../../daemon/world/storage_socket.h"
#include "../../daemon/world/storage_sources.h"
#include "tap.h"

static const char *const kinds[] = {
	[STORAGE_NFS] = "nfs",	 [STORAGE_SMB] = "smb",		  [STORAGE_ISCSI] = "iscsi",
	[STORAGE_NVME] = "nvme", [STORAGE_CEPH] = "ceph",	  [STORAGE_GLUSTERFS] = "glusterfs",
	[STORAGE_DRBD] = "drbd", [STORAGE_COROSYNC] = "corosync",
};

static void address_print(FILE *out, const struct address *address)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(address->family == ADDRESS_IPV4 ? AF_INET : AF_INET6, address->bytes, text,
		  sizeof(text));
	fputs(text, out);
	if (address->zone)
		fprintf(out, "%%%d", address->zone);
}

/* "nfs 192.0.2.1 2049", with "by LINK", "from ADDRESS" and "offloaded" where it is so. */
static void storage_print(FILE *out, const struct storage *storage)
{
	fprintf(out, "%s ", kinds[storage->kind]);
	if (storage->address.family == ADDRESS_NONE)
		fputs(storage->host, out);
	else
		address_print(out, &storage->address);
	fprintf(out, " %u", storage->port);
	if (storage->link[0])
		fprintf(out, " by %s", storage->link);
	if (storage->from.family != ADDRESS_NONE) {
		fputs(" from ", out);
		address_print(out, &storage->from);
	}
	if (storage->offloaded)
		fputs(" offloaded", out);
}

static char *list_text(const struct storage_list *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	for (unsigned i = 0; i < list->count; i++) {
		fputs(i ? "; " : "", out);
		storage_print(out, &list->list[i]);
	}
	fclose(out);
	return text;
}

static void list_expect(struct storage_list *list, const char *wanted)
{
	char *text = list_text(list);

	ck_assert_str_eq(text, wanted);
	free(text);
	storage_list_done(list);
}

/* --- addresses --- */

static const struct {
	const char *text, *wanted;
} addresses[] = {
	/* clang-format off */
	{"192.0.2.1", "nfs 192.0.2.1 0"},
	{"192.0.2.1:3260", "nfs 192.0.2.1 3260"},
	{"[192.0.2.1]:3260", "nfs 192.0.2.1 3260"},
	{"2001:db8::1", "nfs 2001:db8::1 0"},
	{"[2001:db8::1]", "nfs 2001:db8::1 0"},
	{"[2001:db8::1]:4420", "nfs 2001:db8::1 4420"},
	{"2001:0db8:0000:0000:0000:0000:0000:0001", "nfs 2001:db8::1 0"},
	{"2001:0db8:0000:0000:0000:0000:0000:0001%3", "nfs 2001:db8::1 0"},
	{"::ffff:192.0.2.1", "nfs 192.0.2.1 0"},
	{"fe80::1%3", "nfs fe80::1%3 0"},
	{"fe80:0000:0000:0000:0000:0000:0000:0001%3", "nfs fe80::1%3 0"},
	{"[fe80::1%eth1]:445", "nfs fe80::1 445 by eth1"},
	{"fe80::1", ""},
	{"fe80::1%", ""},
	{"fe80::1%0", ""},
	{"fe80::1%a/b", ""},
	{"fe80::1%averylongnameofalink", ""},
	{"2001:db8::1%", ""},
	{"0.0.0.0", ""}, {"0.1.2.3", ""}, {"127.0.0.1", ""}, {"127.1.2.3:80", ""}, {"224.0.0.1", ""},
	{"255.255.255.255", ""}, {"::", ""}, {"::1", ""}, {"ff02::1", ""}, {"ff02::1%2", ""},
	{"::ffff:127.0.0.1", ""}, {"::ffff:0.0.0.0", ""},
	{"", ""}, {":", ""}, {"[", ""}, {"[]", ""}, {"[]:1", ""}, {"[192.0.2.1", ""}, {"192.0.2.1]", ""},
	{"[[192.0.2.1]]", ""}, {"[192.0.2.1]3260", ""}, {"[192.0.2.1]:", ""}, {"192.0.2.1:", ""},
	{"192.0.2.1:0", ""}, {"192.0.2.1:65536", ""}, {"192.0.2.1:1e3", ""}, {"192.0.2.1:-1", ""},
	{"192.0.2.1:99999999999999999999", ""}, {"192.0.2.1 ", ""}, {" 192.0.2.1", ""},
	{"192.0.2.1\n", ""}, {"1.2.3", ""}, {"1", ""}, {"0x7f000001", ""}, {"(null)", ""}, {"host", ""},
	/* clang-format on */
};

START_TEST(address)
{
	struct storage_list list = {0};
	struct storage storage = {.kind = STORAGE_NFS};

	if (storage_text_address(span_of(addresses[_i].text), &storage))
		storage_list_add(&list, &storage);
	list_expect(&list, addresses[_i].wanted);
}
END_TEST

static const struct {
	const char *text;
	bool is_host;
} hosts[] = {
	/* clang-format off */
	{"storage", true}, {"gl-1.example.net", true}, {"a_b", true}, {"x1", true}, {"1x", false},
	{"a.1x", false}, {"a.1", false}, {"0x7f.1", false}, {"127.1", false}, {"2130706433", false},
	{"-a", false}, {"a.-b", false}, {"a..b", false}, {".a", false}, {"a.", false}, {"", false},
	{"a b", false}, {"a/b", false}, {"a\033[2J", false}, {"a\nb", false}, {"a\x7f", false},
	{"\xc3\xa4", false}, {"a%b", false},
	{"a23456789012345678901234567890123456789012345678901234567890123", true},
	{"a234567890123456789012345678901234567890123456789012345678901234", false},
	/* clang-format on */
};

START_TEST(host)
{
	struct storage storage = {0};
	bool is_host = storage_text_server(span_of(hosts[_i].text), &storage);

	ck_assert_msg(is_host == hosts[_i].is_host, "%s", hosts[_i].text);
	if (is_host)
		ck_assert_str_eq(storage.host, hosts[_i].text);
}
END_TEST

/* A zero in a span is no end of it. */
START_TEST(zero_inside)
{
	struct storage storage = {0};

	ck_assert(!storage_text_address((struct span){"192.0.2.1\0", 10}, &storage));
	ck_assert(!storage_text_address((struct span){"192.0.2.1\0:80", 13}, &storage));
	ck_assert(!storage_text_server((struct span){"host\0", 5}, &storage));
	ck_assert(!storage_text_server((struct span){"a\0b", 3}, &storage));
	ck_assert(!storage_text_port((struct span){"1\0", 2}, &storage.port));
	ck_assert(!storage_text_link((struct span){"eth\0", 4}, storage.link));
}
END_TEST

/* --- mounts --- */

static const struct {
	const char *type, *source, *options, *wanted;
} mounts[] = {
	/* clang-format off */
	{"nfs4", "nas:/export", "rw,vers=4.2,rsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,"
	 "sec=sys,clientaddr=192.0.2.1,local_lock=none,addr=192.0.2.10", "nfs 192.0.2.10 2049"},
	{"nfs", "192.0.2.10:/export", "rw,vers=3,proto=tcp,mountaddr=192.0.2.11,mountvers=3,"
	 "mountport=20048,mountproto=udp,local_lock=none,addr=192.0.2.10", "nfs 192.0.2.10 2049"},
	{"nfs", "nas:/e", "rw,vers=3,port=0,proto=udp,addr=192.0.2.10", "nfs 192.0.2.10 2049"},
	{"nfs4", "nas:/e", "rw,port=20490,proto=tcp6,addr=2001:db8::10", "nfs 2001:db8::10 20490"},
	{"nfs4", "nas:/e", "rw,proto=tcp6,addr=fe80::10%4", "nfs fe80::10%4 2049"},
	{"nfs4", "nas:/e", "rw,proto=rdma,port=20049,addr=192.0.2.10", "nfs 192.0.2.10 20049 offloaded"},
	{"nfs4", "nas:/e", "rw,proto=rdma6,addr=2001:db8::10", "nfs 2001:db8::10 2049 offloaded"},
	{"nfs4", "192.0.2.10:/e", "rw", ""},
	{"nfs4", "192.0.2.10:/e", NULL, ""},
	{"nfs4", "nas:/e", "rw,clientaddr=192.0.2.1,mountaddr=192.0.2.3", ""},
	{"nfs4", "localhost:/e", "rw,addr=127.0.0.1", ""},
	{"nfsd", "nfsd", "rw,addr=192.0.2.10", ""},
	{"cifs", "//files/share", "rw,vers=3.1.1,cache=strict,username=me,uid=0,noforceuid,gid=0,"
	 "noforcegid,addr=192.0.2.20,file_mode=0755", "smb 192.0.2.20 445"},
	{"smb3", "//files/share", "rw,addr=2001:0db8:0000:0000:0000:0000:0000:0020", "smb 2001:db8::20 445"},
	{"cifs", "//files/share", "rw,addr=fe80:0000:0000:0000:0000:0000:0000:0020%2", "smb fe80::20%2 445"},
	{"cifs", "//files/share", "rw,srcaddr=192.0.2.1,addr=192.0.2.20", "smb 192.0.2.20 445 from 192.0.2.1"},
	{"cifs", "//files/share", "rw,port=1445,addr=192.0.2.20", "smb 192.0.2.20 1445"},
	{"cifs", "//files/share", "rw,rdma,addr=192.0.2.20", "smb 192.0.2.20 445 offloaded"},
	{"cifs", "//192.0.2.20/share", "rw,addr=(null)", ""},
	/* a user's own name and domain may hold anything; then two addresses contradict each other */
	{"cifs", "//files/share", "rw,username=me,addr=198.51.100.1,uid=0,addr=192.0.2.20", ""},
	{"cifs", "//files/share", "rw,username=me,addr=192.0.2.20,uid=0,addr=192.0.2.20", "smb 192.0.2.20 445"},
	{"ceph", "10.0.0.1:6789,10.0.0.2:6789:/", "rw,name=admin,secret=<hidden>,acl",
	 "ceph 10.0.0.1 6789; ceph 10.0.0.2 6789"},
	{"ceph", "10.0.0.1,10.0.0.2:/a/b:/c", "rw", "ceph 10.0.0.1 6789; ceph 10.0.0.2 6789"},
	{"ceph", "[2001:db8::1]:6789,[2001:db8::2]:3300:/", "rw", "ceph 2001:db8::1 6789; ceph 2001:db8::2 3300"},
	{"ceph", "v2:10.0.0.1:3300/0,v1:10.0.0.2:6789/0:/", "rw", "ceph 10.0.0.1 3300; ceph 10.0.0.2 6789"},
	{"ceph", "[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0],[v2:10.0.0.2:3300/0,v1:10.0.0.2:6789/0]:/", "rw",
	 "ceph 10.0.0.1 3300; ceph 10.0.0.1 6789; ceph 10.0.0.2 3300; ceph 10.0.0.2 6789"},
	{"ceph", "[v2:[2001:db8::1]:3300/0,v1:[2001:db8::1]:6789/0]:/", "rw",
	 "ceph 2001:db8::1 3300; ceph 2001:db8::1 6789"},
	{"ceph", "mon1,mon2:6789:/", "rw", "ceph mon1 6789; ceph mon2 6789"},
	{"ceph", "admin@c1e8a7b0-0000.cephfs=/", "rw,mon_addr=10.0.0.1:6789/10.0.0.2:3300,ms_mode=crc",
	 "ceph 10.0.0.1 6789; ceph 10.0.0.2 3300"},
	{"ceph", "admin@c1e8a7b0-0000.cephfs=/", "rw,mon_addr=[2001:db8::1]:3300/[2001:db8::2]:3300",
	 "ceph 2001:db8::1 3300; ceph 2001:db8::2 3300"},
	{"ceph", "admin@c1e8.cephfs=/", "rw", ""},
	{"ceph", ":/", "rw", ""},
	{"ceph", ",,,:/", "rw,mon_addr=///", ""},
	{"ceph", "", "", ""},
	{"fuse.glusterfs", "gl1:/vol", "rw,user_id=0,group_id=0,allow_other", "glusterfs gl1 24007"},
	{"fuse.glusterfs", "192.0.2.30:/vol/dir", "rw,user_id=0", "glusterfs 192.0.2.30 24007"},
	{"fuse.glusterfs", "2001:db8::30:/vol", "rw,user_id=0", "glusterfs 2001:db8::30 24007"},
	{"fuse.glusterfs", "gl1,gl2.example:/vol", "rw,user_id=0", "glusterfs gl1 24007; glusterfs gl2.example 24007"},
	{"fuse.glusterfs", "gl1:/vol", "rw,user_id=1000,group_id=1000", ""},
	{"fuse.glusterfs", "gl1:/vol", "rw,user_id=1000,user_id=0", ""},
	{"fuse.glusterfs", "gl1:/vol", "rw,user_id=00", ""},
	{"fuse.glusterfs", "gl1:/vol", "rw,group_id=0", ""},
	{"fuse.glusterfs", "gl\033]0;x\a:/vol", "rw,user_id=0", ""},
	{"fuse.glusterfs", "gl1\n192.0.2.1:/vol", "rw,user_id=0", ""},
	{"fuse.glusterfs", "127.0.0.1:/vol", "rw,user_id=0", ""},
	{"fuse.nfs", "192.0.2.10:/e", "rw,user_id=0,addr=192.0.2.10", ""},
	{"fuse", "192.0.2.10:/e", "rw,user_id=0,addr=192.0.2.10", ""},
	{"fuse.sshfs", "me@192.0.2.10:/", "rw,user_id=0", ""},
	{"overlay", "overlay", "rw,addr=192.0.2.10", ""},
	{"autofs", "auto.nfs", "rw,fd=6,addr=192.0.2.10", ""},
	{NULL, NULL, NULL, ""},
	/* clang-format on */
};

START_TEST(mount)
{
	const struct mount_text text = {mounts[_i].type, mounts[_i].source, mounts[_i].options};
	struct storage_list list = {0};

	ck_assert_int_eq(storage_from_mount(&text, &list), 0);
	list_expect(&list, mounts[_i].wanted);
}
END_TEST

/* --- whole mount tables, by libmount --- */

static char folder[] = "/tmp/test-storage.XXXXXX";

static void folder_make(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void folder_remove(void)
{
	char command[sizeof(folder) + 16];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
}

static void file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(table)
{
	struct storage_list list = {0};

	file_write("mountinfo",
		   "22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
		   "30 22 0:41 / /mnt/a\\040b rw shared:5 master:2 - nfs4 nas:/a\\040b "
		   "rw,addr=192.0.2.10\n"
		   "31 22 0:41 /sub /srv rw - nfs4 nas:/a\\040b rw,addr=192.0.2.10\n"
		   "32 22 0:42 / /home rw - cifs //files/x "
		   "rw,username=a\\054addr=198.51.100.9,addr=192.0.2.20\n"
		   "33 22 0:43 / /mnt/c rw - cifs //files/x "
		   "rw,context=\"a,addr=198.51.100.9\",addr=192.0.2.21\n"
		   "34 22 0:44 / /m\\040-\\040nfs4\\040x rw - tmpfs nas:/x rw,addr=198.51.100.9\n"
		   "35 22 0:45 / /g rw - fuse.glusterfs gl1:/v rw,user_id=1000\n"
		   "36 22 0:46 / /g rw - fuse.glusterfs\\040x gl1:/v rw,user_id=0\n"
		   "broken - nfs4 line\n"
		   "37 22 0:47 / /h rw - nfs4 nas:/quote rw,a=\",addr=198.51.100.9\n"
		   "38 22 0:48 / /i rw - ceph 10.0.0.1:6789:/ rw\n"
		   "39 22 0:49 / /j rw - nfs4 nas:/e rw,addr=192.0.2.11");
	ck_assert_int_eq(mounts_collect("mountinfo", &list), 0);
	list_expect(&list, "nfs 192.0.2.10 2049; smb 192.0.2.21 445; ceph 10.0.0.1 6789; "
			   "nfs 192.0.2.11 2049");
	ck_assert_int_eq(mounts_collect("nowhere", &list), 0);
	list_expect(&list, "");
	file_write("mountinfo", "");
	ck_assert_int_eq(mounts_collect("mountinfo", &list), 0);
	list_expect(&list, "");
}
END_TEST

/* More servers than are kept: the list says so and ends. */
START_TEST(table_endless)
{
	struct storage_list list = {0};
	FILE *file = fopen("mountinfo", "we");

	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < 10000; i++)
		fprintf(file, "%u 22 0:41 / /m%u rw - nfs4 nas:/ rw,addr=10.0.%u.%u\n", i, i,
			i / 250, 1 + i % 250);
	fclose(file);
	ck_assert_int_eq(mounts_collect("mountinfo", &list), 0);
	ck_assert_uint_eq(list.count, STORAGE_MOST);
	ck_assert(list.full);
	storage_list_done(&list);
}
END_TEST

/* --- devices --- */

static const struct {
	struct iscsi_text text;
	const char *wanted;
} sessions[] = {
	/* clang-format off */
	{{"192.0.2.40", "3260", "192.0.2.40", "3260", "iscsi_tcp", NULL}, "iscsi 192.0.2.40 3260"},
	{{"192.0.2.40", "3261", NULL, NULL, NULL, NULL}, "iscsi 192.0.2.40 3261"},
	{{"192.0.2.40", "3260", NULL, NULL, "iscsi_tcp", "eth1"}, "iscsi 192.0.2.40 3260 by eth1"},
	{{"192.0.2.40", "3260", NULL, NULL, "iscsi_tcp", "default"}, "iscsi 192.0.2.40 3260"},
	{{"192.0.2.40", "3260", NULL, NULL, "iscsi_tcp", "(null)"}, "iscsi 192.0.2.40 3260"},
	{{"192.0.2.40", "3260", NULL, NULL, "iscsi_tcp", ""}, "iscsi 192.0.2.40 3260"},
	/* redirected: the portal it is connected to counts; disconnected: the one it was told */
	{{"192.0.2.41", "3260", "192.0.2.40", "3260", "iscsi_tcp", NULL}, "iscsi 192.0.2.41 3260"},
	{{NULL, NULL, "192.0.2.40", "3270", "iscsi_tcp", NULL}, "iscsi 192.0.2.40 3270"},
	{{"", "", "san.example", "3260", "iscsi_tcp", NULL}, "iscsi san.example 3260"},
	{{"2001:db8::40", "3260", NULL, NULL, NULL, NULL}, "iscsi 2001:db8::40 3260"},
	{{NULL, NULL, "fe80::40%eth2", "3260", NULL, "eth1"}, "iscsi fe80::40 3260 by eth2"},
	{{"192.0.2.40", "3260", NULL, NULL, "iscsi_iser", NULL}, "iscsi 192.0.2.40 3260 offloaded"},
	{{"192.0.2.40", "3260", NULL, NULL, "qla4xxx", NULL}, "iscsi 192.0.2.40 3260 offloaded"},
	{{"192.0.2.40", "rubbish", NULL, NULL, NULL, "a/b"}, "iscsi 192.0.2.40 3260"},
	{{NULL, NULL, NULL, NULL, NULL, NULL}, ""},
	{{"127.0.0.1", "3260", "127.0.0.1", "3260", "iscsi_tcp", NULL}, ""},
	/* clang-format on */
};

START_TEST(iscsi)
{
	struct storage_list list = {0};
	struct storage storage;

	if (storage_from_iscsi(&sessions[_i].text, &storage))
		storage_list_add(&list, &storage);
	list_expect(&list, sessions[_i].wanted);
}
END_TEST

static const struct {
	struct nvme_text text;
	const char *wanted;
} controllers[] = {
	/* clang-format off */
	{{"tcp", "traddr=10.10.10.5,trsvcid=4420,src_addr=10.10.10.1", "live"}, "nvme 10.10.10.5 4420"},
	{{"tcp", "traddr=10.10.10.5,trsvcid=4421,host_traddr=10.10.10.1,host_iface=eth2,src_addr=10.10.10.1",
	  "live"}, "nvme 10.10.10.5 4421 by eth2 from 10.10.10.1"},
	{{"tcp", "traddr=10.10.10.5", "connecting"}, "nvme 10.10.10.5 4420"},
	{{"tcp", "traddr=10.10.10.5,trsvcid=8009", "resetting"}, "nvme 10.10.10.5 8009"},
	{{"tcp", "traddr=2001:db8::5,trsvcid=4420", "live"}, "nvme 2001:db8::5 4420"},
	{{"tcp", "traddr=fe80::5%eth3,trsvcid=4420", "live"}, "nvme fe80::5 4420 by eth3"},
	{{"tcp", "traddr=10.10.10.5", NULL}, "nvme 10.10.10.5 4420"},
	{{"tcp", "traddr=10.10.10.5", "dead"}, ""},
	{{"tcp", "traddr=10.10.10.5", "deleting"}, ""},
	{{"tcp", "traddr=10.10.10.5", "deleting (no IO)"}, ""},
	{{"tcp", "traddr=10.10.10.5,traddr=10.10.10.6", "live"}, ""},
	{{"tcp", "host_traddr=10.10.10.5", "live"}, ""},
	{{"tcp", "", "live"}, ""},
	{{"tcp", NULL, "live"}, ""},
	{{"rdma", "traddr=10.10.10.5,trsvcid=4420", "live"}, "nvme 10.10.10.5 4420 offloaded"},
	{{"pcie", "0000:00:04.0", "live"}, ""},
	{{"fc", "traddr=nn-0x10000090fa000000:pn-0x10000090fa000001", "live"}, ""},
	{{"loop", "", "live"}, ""},
	{{NULL, "traddr=10.10.10.5", "live"}, ""},
	/* clang-format on */
};

START_TEST(nvme)
{
	struct storage_list list = {0};
	struct storage storage;

	if (storage_from_nvme(&controllers[_i].text, &storage))
		storage_list_add(&list, &storage);
	list_expect(&list, controllers[_i].wanted);
}
END_TEST

START_TEST(ports)
{
	static const struct {
		uint16_t port;
		enum storage_kind kind;
	} known[] = {
		{445, STORAGE_SMB},   {2049, STORAGE_NFS},  {3260, STORAGE_ISCSI},
		{3300, STORAGE_CEPH}, {4420, STORAGE_NVME}, {6789, STORAGE_CEPH},
		{6800, STORAGE_CEPH}, {7568, STORAGE_CEPH}, {7788, STORAGE_DRBD},
		{7799, STORAGE_DRBD}, {8009, STORAGE_NVME}, {24007, STORAGE_GLUSTERFS},
	};
	unsigned others = 0;
	enum storage_kind kind;

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		ck_assert(storage_from_port(known[i].port, &kind));
		ck_assert_int_eq(kind, known[i].kind);
	}
	for (unsigned port = 0; port <= UINT16_MAX; port++)
		others += !storage_from_port((uint16_t)port, &kind);
	ck_assert_uint_eq(others, 65536 - 8 - (7568 - 6800 + 1) - 12);
}
END_TEST

/* --- sockets --- */

static const struct {
	const char *to;
	int family;
	uint16_t port, own_port;
	uint8_t state;
	uint32_t uid, inode, link;
	const char *wanted;
} sockets[] = {
	/* clang-format off */
	{"192.0.2.10", AF_INET, 2049, 700, TCP_ESTABLISHED, 0, 1, 0, "nfs 192.0.2.10 2049"},
	{"192.0.2.10", AF_INET, 3260, 40000, TCP_ESTABLISHED, 0, 1, 3, "iscsi 192.0.2.10 3260"},
	{"2001:db8::10", AF_INET6, 445, 40000, TCP_ESTABLISHED, 0, 1, 0, "smb 2001:db8::10 445"},
	{"::ffff:192.0.2.10", AF_INET6, 4420, 40000, TCP_ESTABLISHED, 0, 1, 0, "nvme 192.0.2.10 4420"},
	{"fe80::10", AF_INET6, 2049, 700, TCP_ESTABLISHED, 0, 1, 3, "nfs fe80::10%3 2049"},
	{"fe80::10", AF_INET6, 2049, 700, TCP_ESTABLISHED, 0, 1, 0, ""},
	/* another user's; one that its process, whoever's it was, has closed */
	{"192.0.2.10", AF_INET, 2049, 40000, TCP_ESTABLISHED, 1000, 1, 0, ""},
	{"192.0.2.10", AF_INET, 2049, 40000, TCP_ESTABLISHED, 65534, 1, 0, ""},
	{"192.0.2.10", AF_INET, 2049, 40000, TCP_ESTABLISHED, 0, 0, 0, ""},
	{"192.0.2.10", AF_INET, 2049, 40000, TCP_SYN_SENT, 0, 1, 0, ""},
	{"192.0.2.10", AF_INET, 2049, 40000, TCP_TIME_WAIT, 0, 1, 0, ""},
	{"192.0.2.10", AF_INET, 2048, 40000, TCP_ESTABLISHED, 0, 1, 0, ""},
	{"192.0.2.10", AF_INET, 7000, 2049, TCP_ESTABLISHED, 0, 1, 0, ""},
	{"127.0.0.1", AF_INET, 2049, 700, TCP_ESTABLISHED, 0, 1, 0, ""},
	{"::1", AF_INET6, 2049, 700, TCP_ESTABLISHED, 0, 1, 0, ""},
	{"::ffff:127.0.0.1", AF_INET6, 2049, 700, TCP_ESTABLISHED, 0, 1, 0, ""},
	/* clang-format on */
};

union socket_message {
	struct nlmsghdr header;
	uint8_t bytes[NLMSG_LENGTH(sizeof(struct inet_diag_msg))];
};

static void socket_message_make(union socket_message *message, unsigned i)
{
	struct inet_diag_msg body = {
		.idiag_family = (uint8_t)sockets[i].family,
		.idiag_state = sockets[i].state,
		.idiag_uid = sockets[i].uid,
		.idiag_inode = sockets[i].inode,
		.id.idiag_dport = htons(sockets[i].port),
		.id.idiag_sport = htons(sockets[i].own_port),
		.id.idiag_if = sockets[i].link,
	};

	ck_assert_int_eq(inet_pton(sockets[i].family, sockets[i].to, body.id.idiag_dst), 1);
	message->header = (struct nlmsghdr){.nlmsg_len = sizeof(message->bytes),
					    .nlmsg_type = SOCK_DIAG_BY_FAMILY};
	memcpy(NLMSG_DATA(&message->header), &body, sizeof(body));
}

START_TEST(live)
{
	union socket_message message;
	struct storage_list list = {0};
	struct storage_socket socket;

	socket_message_make(&message, (unsigned)_i);
	if (storage_from_socket(&message.header, &socket)) {
		ck_assert_int_eq(socket.link, (int)sockets[_i].link);
		ck_assert(socket.storage.passing);
		storage_list_add(&list, &socket.storage);
	}
	list_expect(&list, sockets[_i].wanted);
	message.header.nlmsg_len--;
	ck_assert(!storage_from_socket(&message.header, &socket));
	message.header.nlmsg_len++;
	message.header.nlmsg_type = NLMSG_DONE;
	ck_assert(!storage_from_socket(&message.header, &socket));
}
END_TEST

/* As the kernel runs it: the program passes what ends exactly behind it. */
static bool filter_passes(const struct inet_diag_bc_op *op, int length, uint16_t port)
{
	while (length > 0) {
		bool yes = true;
		int step;

		if (op->code == INET_DIAG_BC_JMP)
			yes = false;
		else if (op->code == INET_DIAG_BC_D_GE)
			yes = port >= op[1].no;
		else if (op->code == INET_DIAG_BC_D_LE)
			yes = port <= op[1].no;
		else
			ck_abort_msg("operation %u", op->code);
		step = yes ? op->yes : op->no;
		if (step <= 0)
			ck_abort_msg("a step of %d", step);
		length -= step;
		op += step / (int)sizeof(*op);
	}
	return length == 0;
}

START_TEST(filter)
{
	struct inet_diag_bc_op program[SOCKETS_FILTER_MOST / sizeof(struct inet_diag_bc_op)];
	size_t length = sockets_filter_write(program);
	enum storage_kind kind;

	ck_assert_uint_le(length, SOCKETS_FILTER_MOST);
	for (unsigned port = 0; port <= UINT16_MAX; port++)
		if (filter_passes(program, (int)length, (uint16_t)port) !=
		    storage_from_port((uint16_t)port, &kind))
			ck_abort_msg("port %u", port);
}
END_TEST

/* --- sunrpc --- */

static void transport_make(const char *path, const char *dstaddr)
{
	char text[256];

	snprintf(text, sizeof(text), "mkdir -p %s", path);
	ck_assert_int_eq(system(text), 0);
	snprintf(text, sizeof(text), "%s/dstaddr", path);
	file_write(text, dstaddr);
}

START_TEST(trunks)
{
	struct storage_list list = {0};
	struct storage mounted = {.kind = STORAGE_NFS, .port = 2050};

	transport_make("x/switch-0/xprt-0-tcp", "192.0.2.10\n");
	transport_make("x/switch-0/xprt-1-tcp", "192.0.2.11\n");
	transport_make("x/switch-0/xprt-2-tcp", "192.0.2.11\n");
	transport_make("x/switch-0/xprt-3-rdma", "192.0.2.12\n");
	transport_make("x/switch-0/xprt-4-tcp-tls", "2001:db8::11\n");
	transport_make("x/switch-0/xprt-5-tcp-bc", "192.0.2.17\n");
	transport_make("x/switch-0/xprt-6-tcp", "rubbish");
	transport_make("x/switch-0/xprt-7-tcp", "");
	/* of a server towards its client, and of the kernel's own helpers */
	transport_make("x/switch-1/xprt-8-tcp", "192.0.2.13\n");
	transport_make("x/switch-2/xprt-9-local", "/run/rpcbind.sock\n");
	transport_make("x/xprts/xprt-0-tcp", "192.0.2.14\n");
	/* nothing is mounted */
	ck_assert_int_eq(sunrpc_collect("x", &list), 0);
	list_expect(&list, "");
	ck_assert(storage_text_address(span_of("192.0.2.10"), &mounted));
	storage_list_add(&list, &mounted);
	ck_assert_int_eq(sunrpc_collect("x", &list), 0);
	/* a folder has no order of its own */
	ck_assert_uint_eq(list.count, 3);
	if (list.list[1].address.family == ADDRESS_IPV6) {
		struct storage first = list.list[1];

		list.list[1] = list.list[2];
		list.list[2] = first;
	}
	list_expect(&list, "nfs 192.0.2.10 2050; nfs 192.0.2.11 2050; nfs 2001:db8::11 2050");
	storage_list_add(&list, &mounted);
	ck_assert_int_eq(sunrpc_collect("nowhere", &list), 0);
	list_expect(&list, "nfs 192.0.2.10 2050");
}
END_TEST

START_TEST(corosync)
{
	struct storage_list list = {0};

	file_write("corosync.conf", "totem {\n\tversion: 2\n\tbindnetaddr: 198.51.100.0\n}\n"
				    "nodelist {\n\tnode {\n\t\tring0_addr: 192.0.2.50\n"
				    "\t\tring1_addr: 2001:db8::50\n\t\tname: a\n\t}\n"
				    "\tnode {\n\t\tring0_addr:node-b\n\t\tring8_addr: 192.0.2.59\n"
				    "#\t\tring0_addr: 192.0.2.58\n\t\tring0_addr: 192.0.2.57:5405\n"
				    "\t\tring0_addr:\n\t}\n}\n");
	ck_assert_int_eq(corosync_collect("corosync.conf", &list), 0);
	list_expect(&list, "corosync 192.0.2.50 0; corosync 2001:db8::50 0; corosync node-b 0");
	ck_assert_int_eq(corosync_collect("nowhere", &list), 0);
	list_expect(&list, "");
}
END_TEST

#define COUNT(table) (sizeof(table) / sizeof(table[0]))

int main(void)
{
	Suite *suite = suite_create("storage");
	TCase *pure = tcase_create("texts"), *files = tcase_create("files");

	tcase_add_loop_test(pure, address, 0, COUNT(addresses));
	tcase_add_loop_test(pure, host, 0, COUNT(hosts));
	tcase_add_test(pure, zero_inside);
	tcase_add_loop_test(pure, mount, 0, COUNT(mounts));
	tcase_add_loop_test(pure, iscsi, 0, COUNT(sessions));
	tcase_add_loop_test(pure, nvme, 0, COUNT(controllers));
	tcase_add_test(pure, ports);
	tcase_add_loop_test(pure, live, 0, COUNT(sockets));
	tcase_add_test(pure, filter);
	suite_add_tcase(suite, pure);
	tcase_add_checked_fixture(files, folder_make, folder_remove);
	tcase_set_timeout(files, 60);
	tcase_add_test(files, table);
	tcase_add_test(files, table_endless);
	tcase_add_test(files, trunks);
	tcase_add_test(files, corosync);
	suite_add_tcase(suite, files);
	return tap_run(suite);
}
