/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: which files count, in which order, against systemd itself. Real files in a
 * directory of our own.
 */
#include "config-testing.h"

#include <errno.h>
#include <malloc.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char root[64];

static void root_make(void)
{
	strcpy(root, "/tmp/test-config-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void root_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

static const char *place_make(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	return path;
}

static void file_make(const char *name, const char *text)
{
	FILE *file = fopen(place_make(name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void link_make(const char *name, const char *target)
{
	ck_assert_int_eq(symlink(target, place_make(name)), 0);
}

#define MAIN "mtuwatchd/mtuwatchd.conf"
#define ADMIN "etc/" MAIN ".d/"
#define RUN "run/" MAIN ".d/"
#define LOCAL "usr/local/lib/" MAIN ".d/"
#define VENDOR "usr/lib/" MAIN ".d/"

static struct config *root_good(void)
{
	struct config *config = NULL;
	char *error = NULL;
	int r = config_load_root(root, &config, &error);

	ck_assert_msg(r == 0, "%d %s", r, error ? error : "");
	return config;
}

static void root_bad(int expected, const char *complaint)
{
	struct config *config = NULL;
	char *error = NULL, *whole;

	ck_assert_int_eq(config_load_root(root, &config, &error), expected);
	ck_assert_int_gt(asprintf(&whole, "%s/%s\n", root, complaint), 0);
	ck_assert_str_eq(error, whole);
	free(error);
	free(whole);
}

START_TEST(drop_ins)
{
	struct config *config;

	config_free(root_good()); /* no file at all */
	file_make("etc/" MAIN,
		  "[Daemon]\nTries=4\n[Peer a]\nAddress=192.0.2.1\nPort=7\nInterface=e0\n");
	file_make("usr/lib/" MAIN, "[Daemon]\nTries=20\n");
	file_make(VENDOR "10-x.conf", "[Daemon]\nDiscover=gateways storage\nFailAfter=5\n");
	file_make(VENDOR "50-y.conf", "[Daemon]\nFailAfter=20\n");
	file_make(RUN "50-y.conf", "[Daemon]\nFailAfter=6\n[Link e*]\nIgnore=yes\n");
	file_make(LOCAL "70-z.conf",
		  "[Peer a]\nPort=\nSource=192.0.2.3\nInterface=\nInterface=e1\n");
	file_make(ADMIN "90-q.conf", "[Daemon]\nDiscover=none\n[Link e*]\nExpectMTU=1500\n");
	file_make(VENDOR "95-masked.conf", "nonsense\n");
	link_make(ADMIN "95-masked.conf", "/dev/null");
	file_make(ADMIN ".hidden.conf", "nonsense\n");
	file_make(ADMIN "a.conf.dpkg-old", "nonsense\n");
	config = root_good();
	ck_assert_uint_eq(config->defaults.tries, 4);
	ck_assert_uint_eq(config->defaults.fail_after, 6);
	ck_assert_uint_eq(config->discover, 0);
	ck_assert_uint_eq(config->peer_count, 1);
	ck_assert_uint_eq(config->peers[0].port, 0);
	ck_assert_uint_eq(config->peers[0].source.family, ADDRESS_IPV4);
	ck_assert_str_eq(config->peers[0].interfaces[0], "e1");
	ck_assert_uint_eq(config->link_count, 1);
	ck_assert(config->links[0].ignore);
	ck_assert_uint_eq(config->links[0].expect_mtu, 1500);
	config_free(config);
	file_make(ADMIN "91.conf", "[Daemon]\nDiscover=\n[Peer b]\n");
	root_bad(-EINVAL, ADMIN "91.conf:3: [Peer b]: expected Address=, it is missing");
}
END_TEST

START_TEST(bad_files)
{
	char *error = NULL;
	struct config *config = NULL;

	place_make(ADMIN "a.conf/");
	root_bad(-EISDIR, ADMIN "a.conf: Is a directory");
	ck_assert_int_eq(rmdir(place_make(ADMIN "a.conf")), 0);
	ck_assert_int_eq(mkfifo(place_make(ADMIN "a.conf"), 0600), 0);
	root_bad(-EMEDIUMTYPE, ADMIN "a.conf: Is not a regular file");
	ck_assert_int_eq(unlink(place_make(ADMIN "a.conf")), 0);
	link_make(ADMIN "a.conf", "nowhere");
	root_bad(-ENOENT, ADMIN "a.conf: No such file or directory");
	ck_assert_int_eq(unlink(place_make(ADMIN "a.conf")), 0);
	link_make("etc/" MAIN, "nowhere");
	root_bad(-ENOENT, "etc/" MAIN ": No such file or directory");

	ck_assert_int_eq(config_load("/nonexistent/x.conf", &config, &error), -ENOENT);
	ck_assert_str_eq(error, "/nonexistent/x.conf: No such file or directory\n");
	free(error);
	ck_assert_int_eq(config_load("/dev/zero", &config, &error), -EMEDIUMTYPE);
	free(error);
}
END_TEST

START_TEST(one_file)
{
	struct config *config = NULL;
	char *error = NULL;

	file_make("x.conf", "[Daemon]\nTries=9\n");
	file_make("x.conf.d/a.conf", "nonsense\n");
	ck_assert_int_eq(config_load(place_make("x.conf"), &config, &error), 0);
	ck_assert_uint_eq(config->defaults.tries, 9);
	config_free(config);
}
END_TEST

/* Root may read everything, so another user tries, in a process of its own. */
START_TEST(unreadable)
{
	file_make(ADMIN "a.conf", "[Daemon]\n");
	ck_assert_int_eq(chmod(root, 0755), 0);
	ck_assert_int_eq(chmod(place_make(ADMIN "a.conf"), 0), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(65534, 65534, 0), 0);
	root_bad(-EACCES, ADMIN "a.conf: Permission denied");
	if (getuid() != 0)
		ck_assert(setresuid(0, 0, 0) == 0 || errno == EPERM);
	ck_assert_int_eq(chmod(place_make(ADMIN), 0), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(65534, 65534, 0), 0);
	root_bad(-EACCES, "etc/" MAIN ".d: Permission denied");
	if (getuid() != 0)
		ck_assert(setresuid(0, 0, 0) == 0 || errno == EPERM);
	ck_assert_int_eq(chmod(place_make(ADMIN), 0755), 0);
}
END_TEST

/* What systemd itself says: the "# /path" lines of cat-config are the files in their order. */
static void compare_with_systemd(void)
{
	char command[256], line[512], **files;
	unsigned at = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "systemd-analyze --root=%s --no-pager cat-config %s",
		 root, MAIN);
	pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	ck_assert_int_eq(config_files(root, &files), 0);
	while (fgets(line, sizeof(line), pipe)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "# /", 3))
			continue;
		ck_assert_ptr_nonnull(files[at]);
		ck_assert_str_eq(line + 2, files[at++]);
	}
	ck_assert_ptr_null(files[at]);
	ck_assert_uint_gt(at, 0);
	ck_assert_int_eq(pclose(pipe), 0);
	config_files_free(files);
}

START_TEST(like_systemd)
{
	static const char *const names[] = {"20-b.conf", "10-a.conf", "9-z.conf", "Z.conf",
					    "a.conf",	 "a-b.conf",  "a_b.conf", "\xc3\xa4.conf"};
	static const char *const places[] = {VENDOR, LOCAL, RUN, ADMIN};
	char name[128];

	file_make("usr/lib/" MAIN, "# vendor\n");
	compare_with_systemd();
	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < 8; j++)
			if ((j + 1) & (1U << i)) {
				snprintf(name, sizeof(name), "%s%s", places[i], names[j]);
				file_make(name, "# x\n");
			}
	file_make(VENDOR "m.conf", "# x\n");
	link_make(ADMIN "m.conf", "/dev/null");
	file_make(RUN ".h.conf", "# x\n");
	file_make(RUN "x.conf~", "# x\n");
	file_make(RUN "y.txt", "# x\n");
	compare_with_systemd();
	file_make("usr/local/lib/" MAIN, "# local\n");
	compare_with_systemd();
	file_make("run/" MAIN, "# run\n");
	compare_with_systemd();
	file_make("etc/" MAIN, "# admin\n");
	compare_with_systemd();
}
END_TEST

START_TEST(ten_thousand)
{
	struct timespec begin, end;
	struct config *config = NULL;
	size_t before, size;
	char *error = NULL, *text = NULL;
	FILE *out = open_memstream(&text, &size);
	double seconds;

	ck_assert_ptr_nonnull(out);
	for (unsigned i = 0; i < 10000; i++)
		fprintf(out, "[Peer peer-%u]\nAddress=10.%u.%u.1\nExpectMTU=9000\nPort=3260\n\n",
			i * 7919 % 10000, i / 256, i % 256);
	fclose(out);
	file_make("etc/" MAIN, text);
	free(text);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	ck_assert_int_eq(config_load_root(root, &config, &error), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	seconds =
		(double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
	fprintf(stderr, "10000 peers: %.0f ms, %zu KiB kept\n", seconds * 1e3,
		(mallinfo2().uordblks + mallinfo2().hblkhd - before) / 1024);
	ck_assert_uint_eq(config->peer_count, 10000);
	ck_assert_str_eq(config->peers[9999].name, "peer-9999");
	ck_assert_msg(seconds < 2, "%f s", seconds);
	config_free(config);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-files");
	TCase *tests = tcase_create("config-files");

	tcase_add_checked_fixture(tests, root_make, root_remove);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, drop_ins);
	tcase_add_test(tests, bad_files);
	tcase_add_test(tests, one_file);
	tcase_add_test(tests, unreadable);
	tcase_add_test(tests, ten_thousand);
	if (system("systemd-analyze --version >/dev/null 2>&1") == 0)
		tcase_add_test(tests, like_systemd);
	else
		printf("# like_systemd skipped: there is no systemd-analyze\n");
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
