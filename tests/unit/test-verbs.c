/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mtuwatchctl over a real bus: what it prints and ends with, of our own side and of one that answers
 * with what nobody asked for.
 */
#include "bus_world.h"

#include <stdarg.h>
#include <sys/mman.h>

#include "tap.h"

#define WORDS_MOST 8

static struct world world;

/* A program that runs, and what it said so far. */
struct verb {
	pid_t pid;
	int out, said; /* the reading end of its standard output, or -1; what is said on the other */
	int status;
	char text[16384];
};

static void verb_begin(struct verb *verb, const char *words, int out)
{
	char copy[256], *list[WORDS_MOST + 2] = {(char *)CTL}, *rest = copy;
	unsigned count = 1;

	snprintf(copy, sizeof(copy), "%s", words);
	while (rest && count <= WORDS_MOST)
		list[count++] = strsep(&rest, " ");
	list[count] = NULL;
	*verb = (struct verb){.out = -1, .said = memfd_create("said", MFD_CLOEXEC)};
	verb->pid = fork();
	ck_assert_int_ge(verb->pid, 0);
	if (verb->pid > 0)
		return;
	dup2(out >= 0 ? out : verb->said, STDOUT_FILENO);
	dup2(verb->said, STDERR_FILENO);
	execv(CTL, list);
	_exit(127);
}

static bool verb_ended(struct verb *verb)
{
	int status;

	if (verb->pid > 0 && waitpid(verb->pid, &status, WNOHANG) == verb->pid) {
		verb->pid = 0;
		verb->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
	return verb->pid == 0;
}

static void verb_wait(struct verb *verb)
{
	ssize_t length;

	WORLD_UNTIL(&world, verb_ended(verb));
	length = pread(verb->said, verb->text, sizeof(verb->text) - 1, 0);
	ck_assert_int_ge(length, 0);
	verb->text[length] = '\0';
	close(verb->said);
}

struct expected {
	const char *words;
	int status;
	const char *says; /* "" nothing at all */
};

static void assert_verb(const struct expected *one)
{
	struct verb verb;

	verb_begin(&verb, one->words, -1);
	verb_wait(&verb);
	ck_assert_msg(verb.status == one->status, "%s: %d: %.800s", one->words, verb.status,
		      verb.text);
	ck_assert_msg(one->says[0] ? strstr(verb.text, one->says) != NULL : !verb.text[0],
		      "%s: no \"%s\" in: %.800s", one->words, one->says, verb.text);
}

static void assert_verbs(const struct expected *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_verb(&list[i]);
}

/* --- our own side --- */

static void open_world(void)
{
	world_open(&world);
}

static void close_world(void)
{
	world_close(&world);
}

START_TEST(answers_are_shown)
{
	static const struct expected list[] = {
		{"list", 0, "black-hole"},
		{"--json=short list", 0, "\"Verdict\":\"black-hole\""},
		{"--no-legend list", 0, "san-a"},
		{"links", 0, "eth1"},
		{"--json=pretty links", 0, "\"Name\": \"eth1\""},
		{"--no-legend links", 0, "eth0"},
		{"status", 2, "critical"},
		{"--json=short status", 2, "\"Peers\""},
		{"status san-a", 2, "192.0.2.10"},
		{"status san-a eth1 db", 2, "2001:db8::2"},
		{"--json=short status eth1", 0, "\"Links\":[{"},
		{"status san-b", 3, "did you mean \"san-a\"?"},
		{"status nothing-like-it", 3, "there is no peer or link \"nothing-like-it\"\n"},
		{"check", 2, "san-a"},
		{"check db", 0, "consistent"},
		{"check db gw san-a", 2, "black-hole"},
		{"--json=short check db", 0, "\"Name\":\"db\""},
		{"--no-legend check db", 0, "db"},
		{"check --nagios", 2, "MTU CRITICAL - san-a black-hole"},
		{"check --nagios db", 0, "MTU OK - "},
		{"check --nagios sam", 3, "MTU UNKNOWN - "},
		{"check sam", 3, "sam"},
		{"check db sam", 3, "sam"},
		{"explain san-a", 0, "black-hole"},
		{"--json=short explain san-a", 0, "\"Evidence\":["},
		{"explain san-b", 3, "did you mean \"san-a\"?"},
		{"explain nothing-like-it", 3, "there is no peer \"nothing-like-it\"\n"},
		{"measure nothing-like-it", 3, "there is no peer"},
		{"wait db gw", 0, ""},
		{"wait san-a --timeout=1s", 2, "black-hole"},
		{"wait sam --timeout=1s", 3, "sam"},
		{"reload", 0, ""},
		{"release", 0, "There is no clamp.\n"},
		{"release san-a", 0, "There is no clamp on san-a.\n"},
		{"release nobody", 3, "nobody"},
		{"release stuck", 3, "No buffer space available"},
	};

	world.sample.link[1].link.up = true;
	assert_verbs(list, sizeof(list) / sizeof(list[0]));
	ck_assert_uint_eq(world.reload_count, 1);
	ck_assert_uint_eq(world.release_count, 2);
}
END_TEST

START_TEST(clamps_are_released)
{
	static const struct expected list[] = {
		{"release", 0, ""}, {"release san-a", 0, ""}, {"release eth1", 0, ""},
		{"release db", 0, "There is no clamp on db.\n"},
	};

	world.sample.paths[3].facts.clamp_mtu = 1500;
	assert_verbs(list, sizeof(list) / sizeof(list[0]));
	ck_assert_uint_eq(world.release_count, 4);
}
END_TEST

START_TEST(no_peer_at_all)
{
	static const struct expected list[] = {
		{"list", 0, "nothing to watch"},
		{"--no-legend list", 0, ""},
		{"--json=short list", 0, "\"Peers\":[]"},
		{"check", 3, ""},
		{"check --nagios", 3, "MTU UNKNOWN - "},
		{"explain san-a", 3, "there is no peer"},
	};

	world.sample.roster.peer_count = 0;
	world.sample.roster.link_count = 0;
	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct verb verb;

		verb_begin(&verb, list[i].words, -1);
		verb_wait(&verb);
		ck_assert_msg(verb.status == list[i].status, "%s: %d: %.800s", list[i].words,
			      verb.status, verb.text);
		ck_assert_msg(strstr(verb.text, list[i].says), "%s: %.800s", list[i].words,
			      verb.text);
	}
}
END_TEST

START_TEST(refusals_are_told)
{
	struct expected one = {"reload", 78, "mtuwatchd.conf:1: no such key"};

	world.complaint = "mtuwatchd.conf:1: no such key\nmtuwatchd.conf:2: nor this\n";
	assert_verb(&one);
	one = (struct expected){"probe 127.0.0.1", 64, "127.0.0.1"};
	assert_verb(&one);
	one = (struct expected){"probe --flows=x 192.0.2.1", 64, "--flows=x: expected a number"};
	assert_verb(&one);
	one = (struct expected){"probe --port=65536 192.0.2.1", 64, "--port=65536: expected a number"};
	assert_verb(&one);
	one = (struct expected){"probe --interface=sixteen-letters-and 192.0.2.1", 64,
				"expected the name of a link"};
	assert_verb(&one);
	ck_assert_uint_eq(world.probe_count, 0);
	one = (struct expected){"probe --interface=eth0 --interface=eth1 --expect=4000 --method=tcp "
				"--port=3260 --flows=2 198.51.100.7",
				0, "consistent"};
	assert_verb(&one);
	ck_assert_uint_eq(world.probed.interface_count, 2);
	ck_assert_uint_eq(world.probed.port, 3260);
	one = (struct expected){"--json=short probe 198.51.100.7", 0, "\"Origin\":\"request\""};
	assert_verb(&one);
}
END_TEST

/* --- monitor --- */

/* Until it has said this; `out` is not closed. */
static void heard(int out, char *text, size_t room, const char *words)
{
	size_t length = strlen(text);

	WORLD_UNTIL(&world, ({
			    ssize_t n = read(out, text + length, room - length - 1);

			    if (n > 0)
				    text[length += (size_t)n] = '\0';
			    strstr(text, words) != NULL;
		    }));
}

static void monitor_each(const char *words, const char *verdict, const char *link, const char *gone)
{
	struct judgement before = {.verdict = VERDICT_CONSISTENT, .path_mtu = 9000};
	char text[16384] = "";
	struct verb verb;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	verb_begin(&verb, words, ends[1]);
	close(ends[1]);
	/* the first change that it tells of shows that it listens */
	for (uint32_t mtu = 8000; !strstr(text, link); mtu++) {
		ssize_t n;

		ck_assert(!verb_ended(&verb) && mtu < 20000);
		world.sample.link[1].link.mtu = mtu;
		bus_link_changed(world.bus, &world.sample.link[1]);
		ck_assert_int_ge(sd_event_run(world.event, 20000), 0);
		n = read(ends[0], text, sizeof(text) - 1);
		if (n > 0)
			text[n] = '\0';
	}
	bus_verdict_changed(world.bus, &world.sample.peer[2], &world.sample.paths[3], &before);
	heard(ends[0], text, sizeof(text), verdict);
	/* the daemon goes, and comes again */
	world.bus = bus_free(world.bus);
	heard(ends[0], text, sizeof(text), gone);
	world_serve(&world);
	WORLD_UNTIL(&world, world_has_name(&world, world.client));
	/* nobody listens any more */
	close(ends[0]);
	for (uint32_t mtu = 1300; !verb_ended(&verb); mtu = mtu == 1300 ? 1301 : 1300) {
		world.sample.link[1].link.mtu = mtu;
		bus_link_changed(world.bus, &world.sample.link[1]);
		ck_assert_int_ge(sd_event_run(world.event, 20000), 0);
	}
	close(verb.said);
	ck_assert_int_ne(verb.status, 0);
}

START_TEST(monitor_tells_what_changes)
{
	monitor_each("monitor", "was consistent", "link eth1: MTU 8", "is not there");
}
END_TEST

START_TEST(monitor_tells_events)
{
	monitor_each("--json=short monitor", "\"Before\":\"consistent\"", "\"Event\":\"link\"",
		     "\"Event\":\"gone\"");
}
END_TEST

/* --- a wrong side --- */

static const char *wrong_types; /* of what it answers with; NULL: an error */
static const char *wrong_error;

static int wrong_answer(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	int r;

	if (!sd_bus_message_is_method_call(call, NULL, NULL) ||
	    strcmp(sd_bus_message_get_path(call) ? sd_bus_message_get_path(call) : "", "/") == 0)
		return 0;
	if (!wrong_types)
		r = sd_bus_reply_method_errorf(call, wrong_error, "%s", wrong_error);
	else if (strcmp(wrong_types, "s") == 0)
		r = sd_bus_reply_method_return(call, "s", "{\"Peers\":");
	else if (strcmp(wrong_types, "a{sv}") == 0)
		r = sd_bus_reply_method_return(call, "a{sv}", 1, "A key", "s", "not ours");
	else
		r = sd_bus_reply_method_return(call, "a{sv}", 1, "Key", "d", 1.0);
	return r < 0 ? r : 1;
}

/* Has our name, and says anything. */
static sd_bus *wrong_side(void)
{
	sd_bus *side = world_connect(&world, getuid());

	ck_assert_int_ge(sd_bus_add_filter(side, NULL, wrong_answer, NULL), 0);
	ck_assert_int_ge(sd_bus_request_name_async(side, NULL, "org.mtuwatch1", 0, NULL, NULL), 0);
	WORLD_UNTIL(&world, world_has_name(&world, world.client));
	return side;
}

static void open_wrong(void)
{
	world_begin(&world);
	world_daemon_start(&world);
	world.client = world_connect(&world, getuid());
}

static const char *const asking[] = {"list",	      "links",	       "status",   "status san-a",
				     "check",	      "check san-a",   "probe 192.0.2.1", "explain san-a",
				     "measure san-a", "release san-a", "monitor"};

START_TEST(nonsense_is_no_answer)
{
	static const char *const types[] = {"s", "a{sv}", "d"};
	sd_bus *side = wrong_side();

	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < sizeof(asking) / sizeof(asking[0]); j++) {
			struct expected one = {asking[j], 3, "mtuwatchctl: "};

			/* of one that says its version is a text, there is nothing to tell yet */
			if (strcmp(one.words, "monitor") == 0 && i == 0)
				continue;
			wrong_types = types[i];
			assert_verb(&one);
		}
	sd_bus_close_unref(side);
}
END_TEST

static const struct wrong {
	const char *name;
	int status;
	const char *says;
} wrongs[] = {
	{"org.freedesktop.DBus.Error.ServiceUnknown", 3, "mtuwatchd is not running"},
	{"org.freedesktop.DBus.Error.Spawn.ChildExited", 3, "mtuwatchd is not running"},
	{"org.freedesktop.systemd1.UnitMasked", 3, "mtuwatchd is not running"},
	{"org.freedesktop.DBus.Error.AccessDenied", 77, "not authorised: try it with sudo"},
	{"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", 77, "without a password"},
	{"org.freedesktop.DBus.Error.NoReply", 3, "mtuwatchd does not answer"},
	{"org.freedesktop.DBus.Error.UnknownMethod", 3, "this version of mtuwatchd cannot do that"},
	{"org.freedesktop.DBus.Error.NotSupported", 3, "this version of mtuwatchd cannot do that"},
	{"org.mtuwatch1.BadConfig", 78, "org.mtuwatch1.BadConfig"},
	{"org.mtuwatch1.BadAddress", 64, "org.mtuwatch1.BadAddress"},
	{"org.mtuwatch1.Busy", 3, "org.mtuwatch1.Busy"},
};

START_TEST(errors_are_told)
{
	const struct wrong *wrong = &wrongs[_i];
	sd_bus *side = wrong_side();

	wrong_types = NULL;
	wrong_error = wrong->name;
	for (unsigned j = 0; j < sizeof(asking) / sizeof(asking[0]); j++) {
		struct expected one = {asking[j], wrong->status, wrong->says};

		assert_verb(&one);
	}
	sd_bus_close_unref(side);
}
END_TEST

START_TEST(nobody_is_there)
{
	for (unsigned j = 0; j < sizeof(asking) / sizeof(asking[0]); j++) {
		struct expected one = {asking[j], 3, "mtuwatchd is not running"};

		assert_verb(&one);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs");
	TCase *own = tcase_create("own"), *wrong = tcase_create("wrong");

	tcase_add_checked_fixture(own, open_world, close_world);
	tcase_add_checked_fixture(wrong, open_wrong, close_world);
	tcase_set_timeout(own, 60);
	tcase_set_timeout(wrong, 60);
	tcase_add_test(own, answers_are_shown);
	tcase_add_test(own, clamps_are_released);
	tcase_add_test(own, no_peer_at_all);
	tcase_add_test(own, refusals_are_told);
	tcase_add_test(own, monitor_tells_what_changes);
	tcase_add_test(own, monitor_tells_events);
	tcase_add_test(wrong, nonsense_is_no_answer);
	tcase_add_loop_test(wrong, errors_are_told, 0, sizeof(wrongs) / sizeof(wrongs[0]));
	tcase_add_test(wrong, nobody_is_there);
	suite_add_tcase(suite, own);
	suite_add_tcase(suite, wrong);
	return tap_run(suite);
}
