/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mtuwatchctl without a bus: what it makes of a document, and of an error.
 */
#include <errno.h>
#include <sysexits.h>
#include <unistd.h>

#include "../../daemon/ctl/remote.h"
#include "../../daemon/ctl/show.h"
#include "../../daemon/face/config_parse.h"
#include "example.h"
#include "tap.h"

static struct json_object *example_document(const struct example *sample)
{
	char *text = report_json(&sample->roster, false);
	struct json_object *document = json_tokener_parse(text);

	free(text);
	ck_assert_ptr_nonnull(document);
	return document;
}

/* What a function prints on stdout. */
static char *printed(void (*print)(const struct command *, struct json_object *),
		     const struct command *command, struct json_object *document)
{
	int before = dup(STDOUT_FILENO);
	FILE *out = tmpfile();
	char *text;
	long length;

	fflush(stdout);
	dup2(fileno(out), STDOUT_FILENO);
	print(command, document);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	fseek(out, 0, SEEK_END);
	length = ftell(out);
	text = calloc(1, (size_t)length + 1);
	rewind(out);
	ck_assert_uint_eq(fread(text, 1, (size_t)length, out), (size_t)length);
	fclose(out);
	return text;
}

static void print_peers(const struct command *command, struct json_object *document)
{
	ck_assert_int_eq(show_peers(command, document), 0);
}

static void print_links(const struct command *command, struct json_object *document)
{
	ck_assert_int_eq(show_links(command, document), 0);
}

static void print_first_peer(const struct command *command, struct json_object *document)
{
	show_peer(command, document, document_at(document, "Peers", 2));
}

static char *nagios_line(struct json_object *document, int code)
{
	char *line = NULL;
	size_t length;
	FILE *out = open_memstream(&line, &length);

	ck_assert_int_eq(show_nagios(document, out), code);
	fclose(out);
	return line;
}

static void assert_within(const char *text, size_t width)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		ck_assert_msg(strcspn(line, "\n") <= width, "wider than %zu: %s", width, text);
}

/* --- the same as the daemon's own --- */

/* For every verdict and severity: the daemon and the tool end alike. */
START_TEST(exit_codes)
{
	for (unsigned verdict = 0; verdict < VERDICT_COUNT; verdict++)
		for (int severity = SEVERITY_NONE; severity <= SEVERITY_CRITICAL; severity++) {
			struct example sample;
			struct json_object *document;

			example_init(&sample);
			sample.peer[2].path_count = 1;
			sample.paths[0].announced.verdict = verdict;
			sample.paths[0].announced.severity = severity;
			document = example_document(&sample);
			ck_assert_int_eq(document_exit_code(document),
					 report_exit_code(&sample.roster));
			json_object_put(document);
		}
}
END_TEST

START_TEST(exit_codes_of_parts)
{
	struct json_object *none =
		document_new("1", json_object_new_array(), json_object_new_array());
	struct json_object *links;

	ck_assert_int_eq(document_exit_code(none), 3);
	json_object_put(none);
	links = document_new("1", json_object_new_array(),
			     json_tokener_parse("[{\"Name\":\"a\",\"Severity\":\"warning\"}]"));
	ck_assert_int_eq(document_exit_code(links), 1);
	ck_assert_str_eq(document_text(links, "Severity"), "warning");
	json_object_put(links);
}
END_TEST

/* The whole's verdict is made by the same ranks. */
START_TEST(document_of_parts)
{
	struct example sample;
	struct json_object *all, *again, *peers = NULL, *links = NULL;

	example_init(&sample);
	all = example_document(&sample);
	json_object_object_get_ex(all, "Peers", &peers);
	json_object_object_get_ex(all, "Links", &links);
	/* the daemon's own, which no part holds */
	json_object_object_del(all, "ReportsIgnored");
	json_object_object_del(all, "ResponderPort");
	again = document_new(VERSION, json_object_get(peers), json_object_get(links));
	ck_assert_str_eq(report_json_text(again, false), report_json_text(all, false));
	ck_assert_ptr_nonnull(strstr(report_json_text(again, true), "\"Findings\": []"));
	json_object_put(again);
	json_object_put(all);
}
END_TEST

START_TEST(sizes_of_paths)
{
	struct example sample;

	for (int direction = DIRECTION_NONE; direction <= DIRECTION_BOTH; direction++)
		for (uint32_t back = 0; back <= 9000; back += 1500) {
			struct judgement *judgement = &sample.paths[3].announced;
			struct json_object *document, *path;

			example_init(&sample);
			judgement->direction = direction;
			judgement->path_mtu = 4500;
			judgement->return_mtu = back;
			document = example_document(&sample);
			path = document_at(document_at(document, "Peers", 2), "Paths", 1);
			ck_assert_uint_eq(document_size(path), words_size(judgement));
			json_object_put(document);
		}
}
END_TEST

static void print_table(const struct command *command, struct json_object *document)
{
	print_peers(command, document);
	show_faults(command, document);
}

/* --once and list say the same, down to the columns, where nothing has to be made narrower. */
START_TEST(list_looks_like_once)
{
	struct command command = {0};
	struct example sample;
	struct json_object *document;
	char *ours, *theirs = NULL;
	size_t length;
	FILE *out = open_memstream(&theirs, &length);

	example_init(&sample);
	sample.paths[3].announced.locus = LOCUS_ON_LINK;
	sample.paths[3].dossier->findings.list[0] = example_finding();
	sample.paths[3].dossier->findings.count = 1;
	sample.link[1].findings = sample.paths[3].dossier->findings;
	report_table(&sample.roster, out, &(struct report_style){0});
	fclose(out);
	document = example_document(&sample);
	ours = printed(print_table, &command, document);
	ck_assert_ptr_nonnull(ours);
	for (char *blank = ours; (blank = strstr(blank, " \n"));)
		memmove(blank, blank + 1, strlen(blank)), blank -= blank > ours;
	ck_assert_str_eq(ours, theirs);
	json_object_put(document);
	free(ours);
	free(theirs);
}
END_TEST

START_TEST(one_fault_is_said_once)
{
	struct command command = {0};
	struct example sample;
	struct path *path = &sample.paths[3];
	struct json_object *document;
	char *text;

	example_init(&sample);
	path->announced = (struct judgement){.verdict = VERDICT_MISCONFIGURED,
					     .severity = SEVERITY_WARNING,
					     .reason = REASON_LINK_SMALLER,
					     .path_mtu = 1500};
	path->facts.capacity = 1500;
	path->dossier->findings.list[0] = example_finding();
	path->dossier->findings.count = 1;
	sample.link[1].findings = path->dossier->findings;
	document = example_document(&sample);
	text = printed(show_faults, &command, document);
	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_nonnull(
		strstr(text, "warning: peer san-a (192.0.2.10) by eth1: misconfigured"));
	ck_assert_ptr_null(strstr(strstr(text, "warning: ") + 1, "warning: "));
	json_object_put(document);
	free(text);
}
END_TEST

/* --- screens --- */

START_TEST(screens)
{
	static const unsigned widths[] = {60, 80, 120};
	struct example sample;
	struct json_object *document;

	example_init(&sample);
	memset(sample.peer[0].name, 'd', PEER_NAME_LONGEST);
	sample.paths[0].address = example_address("2001:db8:1111:2222:3333:4444:5555:6666");
	strcpy(sample.paths[3].link_name, "enp129s0f1np1vf");
	sample.paths[3].announced.verdict = VERDICT_PARTIAL;
	sample.paths[3].announced.locus = LOCUS_AFTER;
	sample.paths[3].announced.locus_address = example_address("192.0.2.254");
	document = example_document(&sample);
	for (unsigned i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct command command = {.width = widths[i]};
		char *text = printed(print_peers, &command, document);

		assert_within(text, widths[i]);
		ck_assert_ptr_nonnull(strstr(text, "1500/9000 partial"));
		ck_assert_int_eq(strstr(text, "NOTE") != NULL, widths[i] > 60);
		free(text);
		text = printed(show_faults, &command, document);
		assert_within(text, widths[i]);
		free(text);
		text = printed(print_links, &command, document);
		assert_within(text, widths[i]);
		free(text);
	}
	json_object_put(document);
}
END_TEST

/* COLUMNS= may say anything. */
START_TEST(narrowest_screens)
{
	struct example sample;
	struct json_object *document;

	example_init(&sample);
	sample.paths[3].announced.verdict = VERDICT_PARTIAL;
	sample.paths[3].announced.locus = LOCUS_AFTER;
	sample.paths[3].announced.locus_address = example_address("192.0.2.254");
	document = example_document(&sample);
	for (unsigned width = 1; width < 100; width++) {
		struct command command = {.width = width};
		char *text = printed(print_peers, &command, document);

		ck_assert_ptr_nonnull(strstr(text, "partial"));
		free(text);
		text = printed(show_faults, &command, document);
		free(text);
		text = printed(print_links, &command, document);
		free(text);
	}
	json_object_put(document);
}
END_TEST

/* Of a daemon of another version, or of something else that has its name. */
START_TEST(members_of_other_types)
{
	static const char *const texts[] = {
		"{\"Findings\":1,\"Paths\":\"x\",\"Name\":[],\"MTU\":{},\"Verdict\":null}",
		"{\"Findings\":[],\"Paths\":null}", "[1,2]", "\"text\"", "1"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct json_object *document = json_tokener_parse(texts[i]);

		ck_assert_ptr_nonnull(document);
		ck_assert_ptr_null(document_at(document, "Findings", 0));
		ck_assert_str_eq(document_text(document_at(document, "Paths", 3), "Text"), "");
		ck_assert_str_eq(document_text(document, "Name"), "");
		ck_assert_uint_eq(document_number(document, "MTU"), 0);
		json_object_put(document);
	}
}
END_TEST

START_TEST(legend_and_colour)
{
	struct command command = {.no_legend = true};
	struct example sample;
	struct json_object *document;
	char *text;

	example_init(&sample);
	document = example_document(&sample);
	text = printed(print_peers, &command, document);
	ck_assert_ptr_null(strstr(text, "PEER"));
	ck_assert_ptr_null(strstr(text, "\033"));
	free(text);
	command.colour = true;
	text = printed(print_peers, &command, document);
	ck_assert_ptr_nonnull(strstr(text, "\033[1;31mblack-hole"));
	free(text);
	text = printed(print_first_peer, &command, document);
	ck_assert_ptr_nonnull(strstr(text, "Passes: 1500 of 9000 bytes\n"));
	ck_assert_ptr_nonnull(strstr(text, "Passes: 9000 of 9000 bytes there, 9000 back\n"));
	ck_assert_ptr_null(strstr(text, "faulty"));
	free(text);
	json_object_put(document);
}
END_TEST

/* --- a plugin's line --- */

START_TEST(plugin)
{
	struct example sample;
	struct json_object *document;
	char *line;

	example_init(&sample);
	sample.paths[3].announced.locus = LOCUS_ON_LINK;
	document = example_document(&sample);
	line = nagios_line(document, 2);
	ck_assert_ptr_eq(strstr(line,
				"MTU CRITICAL - san-a black-hole 1500/9000 (on-link); 2 of 3 "
				"well | 'db mtu'=9000B;9000:;;68;65535 'db rtt'=0.000120s;;;0 "
				"'db sent'=16c 'db lost'=2c "),
			 line);
	/* two paths by different links have different labels */
	ck_assert_ptr_nonnull(strstr(line, " 'san-a 192.0.2.10 eth0 mtu'=9000B;"));
	ck_assert_ptr_nonnull(strstr(line, " 'san-a 192.0.2.10 eth1 mtu'=1500B;"));
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
	ck_assert_ptr_eq(strchr(line, '|'), strrchr(line, '|'));
	free(line);
	json_object_put(document);
	sample.peer[2].path_count = 1;
	document = example_document(&sample);
	line = nagios_line(document, 0);
	ck_assert_ptr_eq(strstr(line, "MTU OK - 3 peers consistent |"), line);
	free(line);
	json_object_put(document);
	sample.roster.peer_count = sample.roster.link_count = 0;
	document = example_document(&sample);
	line = nagios_line(document, 3);
	ck_assert_str_eq(line, "MTU UNKNOWN - there is nothing to watch\n");
	free(line);
	json_object_put(document);
}
END_TEST

/* What would end a label or the text early does not get there. */
START_TEST(plugin_is_clean)
{
	struct json_object *document = json_tokener_parse(
		"{\"Severity\":\"critical\",\"Peers\":[{\"Name\":\"a|b'c\\nd=e\",\"Severity\":"
		"\"critical\",\"Verdict\":\"black-hole\",\"Locus\":\"after | "
		"x\",\"Paths\":[{}]}]}");
	char *line = nagios_line(document, 2);

	ck_assert_str_eq(line, "MTU CRITICAL - a b c d e black-hole (after   x) | 'a b c d e "
			       "sent'=0c 'a b c d e lost'=0c\n");
	free(line);
	json_object_put(document);
}
END_TEST

/* Another host's daemon does not steer this one's terminal. */
START_TEST(texts_are_clean)
{
	sd_bus_error error = SD_BUS_ERROR_MAKE_CONST("org.mtuwatch1.BadConfig",
						     "a:1: \"\033[2J\"\nb:2: \xc2\x9b");
	struct remote remote = {0};
	struct json_object *document;

	ck_assert_int_eq(document_from_text("{\"Peers\":[{\"Name\":\"a\\u001b[2Jb\\u0007\\nc\","
					    "\"Text\":\"\\u202egr\u00fcn\"}],\"Severity\":\"ok\"}",
					    &document), 0);
	ck_assert_str_eq(document_text(document_at(document, "Peers", 0), "Name"), "a?[2Jb??c");
	ck_assert_str_eq(document_text(document_at(document, "Peers", 0), "Text"), "???gr\u00fcn");
	json_object_put(document);
	ck_assert_int_eq(document_from_text("{\"Peers\"", &document), -EBADMSG);
	remote_explain(&remote, &error, ":1.2", -EIO);
	ck_assert_str_eq(remote.words, "a:1: \"?[2J\"\nb:2: ??");
	remote_done(&remote);
}
END_TEST

START_TEST(plugin_names_the_worst)
{
	struct json_object *peers = json_object_new_array(), *document;
	char text[256], *line;

	for (unsigned i = 0; i < 20; i++) {
		snprintf(text, sizeof(text),
			 "{\"Name\":\"p%02u\",\"Severity\":\"%s\",\"Verdict\":\"%s\",\"Paths\":[{}]"
			 "}",
			 i, i == 17 ? "critical" : "warning", i == 17 ? "partial" : "lossy");
		json_object_array_add(peers, json_tokener_parse(text));
	}
	document = document_new("1", peers, json_object_new_array());
	line = nagios_line(document, 2);
	ck_assert_ptr_eq(strstr(line,
				"MTU CRITICAL - p17 partial, p00 lossy, p01 lossy, p02 lossy, "
				"p03 lossy and 15 more |"),
			 line);
	free(line);
	json_object_put(document);
}
END_TEST

/* --- names and errors --- */

START_TEST(nearest_names)
{
	static const char *const names[] = {"san-a", "db",
					    "a-peer-with-a-name-of-forty-characters-1"};

	ck_assert_str_eq(value_nearest("sna-a", names, 3), "san-a");
	ck_assert_str_eq(value_nearest("db2", (const char *const[]){"db1", "xyz"}, 2), "db1");
	ck_assert_str_eq(value_nearest("a-peer-with-a-name-of-forty-charactres-1", names, 3),
			 names[2]);
	ck_assert_ptr_null(value_nearest("nothing-like-it", names, 3));
	ck_assert_ptr_null(value_nearest("x", NULL, 0));
}
END_TEST

START_TEST(errors_in_words)
{
#define DBUS "org.freedesktop.DBus"
	static const struct {
		const char *name, *sender;
		int status;
		const char *words;
		bool denied, absent, broken;
	} list[] = {
		{DBUS ".Error.ServiceUnknown", DBUS, 3, "mtuwatchd is not running: systemctl",
		 false, false, true},
		{"org.freedesktop.systemd1.NoSuchUnit", DBUS, 3, "mtuwatchd is not running", false,
		 false, true},
		{"System.Error.EEXIST", DBUS, 3, "mtuwatchd is not running", false, false, true},
		{DBUS ".Error.AccessDenied", DBUS, 77, "the bus does not let this user", true,
		 false, false},
		{DBUS ".Error.AccessDenied", ":1.5", 77, "not authorised: try it with sudo", true,
		 false, false},
		{DBUS ".Error.InteractiveAuthorizationRequired", ":1.5", 77, "without a password",
		 true, false, false},
		{DBUS ".Error.NoReply", NULL, 3, "mtuwatchd does not answer", false, false, true},
		{DBUS ".Error.UnknownMethod", ":1.5", 3, "this version of mtuwatchd cannot", false,
		 false, false},
		{DBUS ".Error.InvalidArgs", ":1.5", 64, "text", false, false, false},
		{"org.mtuwatch1.BadAddress", ":1.5", 64, "text", false, false, false},
		{"org.mtuwatch1.BadConfig", ":1.5", 78, "text", false, false, false},
		{"org.mtuwatch1.NoSuchPeer", ":1.5", 3, "text", false, true, false},
		{"org.mtuwatch1.Busy", ":1.5", 3, "text", false, false, false},
	};

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(list[i].name, "text");
		struct remote remote = {0};

		remote_explain(&remote, &error, list[i].sender, -EIO);
		ck_assert_int_eq(remote.status, list[i].status);
		ck_assert_ptr_nonnull(strstr(remote.words, list[i].words));
		ck_assert_int_eq(remote.denied, list[i].denied);
		ck_assert_int_eq(remote.absent, list[i].absent);
		ck_assert_int_eq(remote.broken, list[i].broken);
		free(remote.words);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ctl");
	TCase *test = tcase_create("ctl");

	tcase_add_test(test, exit_codes);
	tcase_add_test(test, exit_codes_of_parts);
	tcase_add_test(test, document_of_parts);
	tcase_add_test(test, sizes_of_paths);
	tcase_add_test(test, list_looks_like_once);
	tcase_add_test(test, one_fault_is_said_once);
	tcase_add_test(test, screens);
	tcase_add_test(test, narrowest_screens);
	tcase_add_test(test, members_of_other_types);
	tcase_add_test(test, legend_and_colour);
	tcase_add_test(test, plugin);
	tcase_add_test(test, plugin_is_clean);
	tcase_add_test(test, texts_are_clean);
	tcase_add_test(test, plugin_names_the_worst);
	tcase_add_test(test, nearest_names);
	tcase_add_test(test, errors_in_words);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
