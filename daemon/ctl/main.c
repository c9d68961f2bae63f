/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mtuwatchctl: what was typed, turned into a struct command for one of the verbs. Asks nobody.
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "../face/config_parse.h"
#include "../face/standard_files.h"
#include "command.h"
#include "pager.h"

#define NAMES_MOST 4096
#define WAIT_USEC (120 * USEC_PER_SEC)
#define RUN_USEC (5 * USEC_PER_SEC)
#define RUN_LONGEST_USEC (3600 * USEC_PER_SEC)
#define RUNS 3
#define RUNS_LARGEST 20
#define IPERF_PORT 5201

static const struct verb verbs[] = {
	/* name, names, help, least and most names, options, paged, asks, run */
	{"list", "", "all peers, and what is wrong; without a verb too", 0, 0, 0, true, false,
	 verb_list},
	{"status", "[PEER|LINK...]", "the whole in short, or all that is known of these", 0,
	 NAMES_MOST, 0, true, false, verb_status},
	{"check", "[PEER...]", "measure these now, or all, and tell", 0, NAMES_MOST, WITH_NAGIOS,
	 false, true, verb_check},
	{"probe", "ADDRESS", "measure the path to any address, once", 1, 1, WITH_PROBE | WITH_PORT,
	 false, true, verb_probe},
	{"links", "", "the links of this host, and what is wrong with them", 0, 0, 0, true, false,
	 verb_links},
	{"explain", "PEER", "what was seen, what it means, and what to do", 1, 1, 0, true, false,
	 verb_explain},
	{"measure", "PEER", "what an MTU is worth here, by iperf3", 1, 1, WITH_MEASURE | WITH_PORT,
	 false, false, verb_measure},
	{"wait", "PEER...", "return once every path to these is consistent", 1, NAMES_MOST,
	 WITH_TIMEOUT, false, false, verb_wait},
	{"monitor", "", "tell changes as they come", 0, 0, 0, false, false, verb_monitor},
	{"release", "[PEER|LINK]", "undo this clamp, or all", 0, 1, 0, false, true, verb_release},
	{"reload", "", "let the daemon read its configuration again", 0, 0, 0, false, true,
	 verb_reload},
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

enum long_option {
	OPTION_JSON = 256,
	OPTION_NO_LEGEND,
	OPTION_NO_PAGER,
	OPTION_NO_ASK_PASSWORD,
	OPTION_NAGIOS,
	OPTION_TIMEOUT,
	OPTION_SIZES,
	OPTION_TIME,
	OPTION_RUNS,
	OPTION_VERSION,
	OPTION_PROBE, /* and those behind it, in the order of probe_options */
};

static const struct probe_option probe_options[] = {
	{"interface", "Interface", 's', NULL}, {"expect", "ExpectMTU", 'u', NULL},
	{"method", "Method", 's', NULL},       {"port", "Port", 'q', NULL},
	{"flows", "Flows", 'u', NULL},
};

static const struct option long_options[] = {
	{"json", required_argument, NULL, OPTION_JSON},
	{"no-legend", no_argument, NULL, OPTION_NO_LEGEND},
	{"no-pager", no_argument, NULL, OPTION_NO_PAGER},
	{"no-ask-password", no_argument, NULL, OPTION_NO_ASK_PASSWORD},
	{"nagios", no_argument, NULL, OPTION_NAGIOS},
	{"timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"sizes", required_argument, NULL, OPTION_SIZES},
	{"time", required_argument, NULL, OPTION_TIME},
	{"runs", required_argument, NULL, OPTION_RUNS},
	{"host", required_argument, NULL, 'H'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPTION_VERSION},
	{"interface", required_argument, NULL, OPTION_PROBE},
	{"expect", required_argument, NULL, OPTION_PROBE + 1},
	{"method", required_argument, NULL, OPTION_PROBE + 2},
	{"port", required_argument, NULL, OPTION_PROBE + 3},
	{"flows", required_argument, NULL, OPTION_PROBE + 4},
	{NULL, 0, NULL, 0},
};

static void print_help(void)
{
	puts("mtuwatchctl [OPTION...] [VERB [NAME...]]\n\n"
	     "Asks mtuwatchd what it knows, and lets it measure.\n");
	for (unsigned i = 0; i < VERB_COUNT; i++)
		printf("  %-8s%-16s %s\n", verbs[i].name, verbs[i].names, verbs[i].help);
	puts("\n  --json=FORM         off (the default), short or pretty\n"
	     "  --no-legend         no titles, and no sentences below a table\n"
	     "  --no-pager          do not page what is long\n"
	     "  -H, --host=HOST     ask the daemon of that host, by ssh: [USER@]HOST\n"
	     "  --no-ask-password   fail rather than ask for a password\n"
	     "  --nagios            check: one line, as monitoring plugins print it\n"
	     "  --timeout=TIME      wait: no longer than this (2min); 0: for ever\n"
	     "  --interface=LINK    probe: by this link; again: each is a path\n"
	     "  --expect=MTU        probe: the size to expect, not the link's\n"
	     "  --method=METHOD     probe: auto, icmp, tcp, udp or responder\n"
	     "  --port=PORT         probe: for tcp, udp and responder; measure: iperf3's\n"
	     "  --flows=N           probe: source ports to spread over, 1 to 64\n"
	     "  --sizes=MTU,...     measure: these, not 1500 and the expected one\n"
	     "  --time=TIME         measure: how long a run takes (5s)\n"
	     "  --runs=N            measure: how often each size is tried (3)\n"
	     "  --version\n"
	     "  -h, --help\n\n"
	     "check, probe, status: 0 ok or notice, 1 warning, 2 critical, 3 unknown, unreachable\n"
	     "or unable to ask; 64 bad usage, 77 missing privilege, 78 bad configuration. See\n"
	     "mtuwatchctl(1).");
}

__attribute__((format(printf, 1, 2))) static int bad_usage(const char *format, ...)
{
	va_list arguments;

	fputs("mtuwatchctl: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\nTry mtuwatchctl --help.\n", stderr);
	return -EINVAL;
}

static int bad_verb(const char *name)
{
	const char *names[VERB_COUNT], *nearest;
	char all[256] = "";
	size_t length = 0;

	for (unsigned i = 0; i < VERB_COUNT; i++) {
		names[i] = verbs[i].name;
		length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s",
					   i == 0		? ""
					   : i < VERB_COUNT - 1 ? ", "
								: " and ",
					   names[i]);
	}
	nearest = value_nearest(name, names, VERB_COUNT);
	return bad_usage("there is no verb \"%s\"%s%s%s; there are %s", name,
			 nearest ? " (did you mean \"" : "", nearest ? nearest : "",
			 nearest ? "\"?)" : "", all);
}

static int parse_json(struct command *command, const char *text)
{
	if (strcmp(text, "off") == 0)
		command->form = REPORT_TABLE;
	else if (strcmp(text, "short") == 0)
		command->form = REPORT_JSON_SHORT;
	else if (strcmp(text, "pretty") == 0)
		command->form = REPORT_JSON_PRETTY;
	else
		return bad_usage("--json=%s: expected off, short or pretty", text);
	return 0;
}

static int parse_timeout(struct command *command, const char *text)
{
	if (value_time(text, &command->timeout_usec) < 0 ||
	    command->timeout_usec > 365 * 86400 * USEC_PER_SEC)
		return bad_usage("--timeout=%s: expected a time, as in 90s or 2min", text);
	return 0;
}

static int size_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static int parse_sizes(struct command *command, const char *text)
{
	command->size_count = 0;
	for (const char *word = text; *word; word += strcspn(word, ","), word += *word == ',') {
		char digits[8];
		uint64_t number = 0;

		snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(word, ","), word);
		if (command->size_count == SIZES_LARGEST || value_number(digits, &number) < 0 ||
		    number < 68 || number > SIZE_LARGEST)
			return bad_usage(
				"--sizes=%s: expected up to %d sizes of a whole packet, as "
				"in 1500,9000",
				text, SIZES_LARGEST);
		command->sizes[command->size_count++] = (uint32_t)number;
	}
	if (command->size_count == 0)
		return bad_usage("--sizes=%s: expected sizes, as in 1500,9000", text);
	qsort(command->sizes, command->size_count, sizeof(command->sizes[0]), size_compare);
	for (unsigned i = 1; i < command->size_count; i++)
		if (command->sizes[i] == command->sizes[i - 1])
			return bad_usage("--sizes=%s: %u is there twice", text, command->sizes[i]);
	return 0;
}

static int parse_time(struct command *command, const char *text)
{
	if (value_time(text, &command->time_usec) < 0 || command->time_usec < USEC_PER_SEC ||
	    command->time_usec > RUN_LONGEST_USEC || command->time_usec % USEC_PER_SEC != 0)
		return bad_usage("--time=%s: expected whole seconds, from 1s to 1h", text);
	return 0;
}

static int parse_runs(struct command *command, const char *text)
{
	uint64_t number = 0;

	if (value_number(text, &number) < 0 || number < 1 || number > RUNS_LARGEST)
		return bad_usage("--runs=%s: expected a number from 1 to %d", text, RUNS_LARGEST);
	command->runs = (unsigned)number;
	return 0;
}

/* Of measure; probe has its own among its options, and the daemon's bounds. */
static void parse_port(struct command *command, const char *text)
{
	uint64_t number = 0;

	command->server_port = 0;
	if (value_number(text, &number) >= 0 && number <= UINT16_MAX)
		command->server_port = (uint16_t)number;
}

static int parse_probe(struct command *command, int place, const char *text)
{
	if (strcmp(probe_options[place].name, "port") == 0)
		parse_port(command, text);
	if (command->probe_count == PROBE_OPTIONS_LARGEST)
		return bad_usage("--%s: too many options", probe_options[place].name);
	command->probe[command->probe_count] = probe_options[place];
	command->probe[command->probe_count++].text = text;
	return 0;
}

/* 1: nothing is left to do. */
static int parse_option(struct command *command, unsigned *ret_options, int option)
{
	switch (option) {
	case OPTION_JSON:
		return parse_json(command, optarg);
	case OPTION_NO_LEGEND:
		command->no_legend = true;
		return 0;
	case OPTION_NO_PAGER:
		command->no_pager = true;
		return 0;
	case OPTION_NO_ASK_PASSWORD:
		command->no_ask_password = true;
		return 0;
	case OPTION_NAGIOS:
		*ret_options |= WITH_NAGIOS;
		command->nagios = true;
		return 0;
	case OPTION_TIMEOUT:
		*ret_options |= WITH_TIMEOUT;
		return parse_timeout(command, optarg);
	case OPTION_SIZES:
		*ret_options |= WITH_MEASURE;
		return parse_sizes(command, optarg);
	case OPTION_TIME:
		*ret_options |= WITH_MEASURE;
		return parse_time(command, optarg);
	case OPTION_RUNS:
		*ret_options |= WITH_MEASURE;
		return parse_runs(command, optarg);
	case 'H':
		command->host = optarg;
		return 0;
	case 'h':
		print_help();
		return 1;
	case OPTION_VERSION:
		puts("mtuwatchctl " VERSION);
		return 1;
	}
	option -= OPTION_PROBE;
	*ret_options |= strcmp(probe_options[option].name, "port") == 0 ? WITH_PORT : WITH_PROBE;
	return parse_probe(command, option, optarg);
}

static int check_options(const struct verb *verb, unsigned options)
{
	static const struct {
		unsigned option;
		const char *name, *verb;
	} list[] = {
		{WITH_NAGIOS, "--nagios", "check"},
		{WITH_PROBE, "--interface, --expect, --method and --flows", "probe"},
		{WITH_PORT, "--port", "probe and measure"},
		{WITH_MEASURE, "--sizes, --time and --runs", "measure"},
		{WITH_TIMEOUT, "--timeout", "wait"},
	};

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (options & list[i].option & ~verb->options)
			return bad_usage("%s: with %s only", list[i].name, list[i].verb);
	return 0;
}

static int choose_verb(struct command *command, char **words, unsigned count)
{
	const char *name = count > 0 ? words[0] : "list";

	for (unsigned i = 0; i < VERB_COUNT && !command->verb; i++)
		if (strcmp(verbs[i].name, name) == 0)
			command->verb = &verbs[i];
	if (!command->verb)
		return bad_verb(name);
	command->names = words + 1;
	command->name_count = count > 0 ? count - 1 : 0;
	if (command->name_count < command->verb->least)
		return bad_usage("%s: expected %s", name, command->verb->names);
	if (command->name_count > command->verb->most)
		return bad_usage("%s: \"%s\" is one word too many", name,
				 command->names[command->verb->most]);
	for (unsigned i = 0; i < command->name_count; i++)
		if (!command->names[i][0])
			return bad_usage("%s: a name is empty", name);
	return 0;
}

static int parse_arguments(struct command *command, int argc, char **argv)
{
	unsigned options = 0;
	int option, r;

	argv[0] = program_invocation_short_name;
	while ((option = getopt_long(argc, argv, "hH:", long_options, NULL)) >= 0) {
		if (option == '?') {
			fputs("Try mtuwatchctl --help.\n", stderr);
			return -EINVAL;
		}
		r = parse_option(command, &options, option);
		if (r != 0)
			return r;
	}
	r = choose_verb(command, argv + optind, (unsigned)(argc - optind));
	if (r >= 0)
		r = check_options(command->verb, options);
	if (r >= 0 && command->verb->run == verb_measure && command->server_port == 0)
		r = bad_usage("--port: expected a number from 1 to 65535");
	return r;
}

static void find_screen(struct command *command)
{
	const char *columns = getenv("COLUMNS"), *plain = getenv("NO_COLOR");
	uint64_t number = 0;
	struct winsize size;

	command->terminal = isatty(STDOUT_FILENO);
	if (!command->terminal)
		return;
	command->colour = !plain || !plain[0];
	command->width = 80;
	if (columns && value_number(columns, &number) >= 0 && number > 0 && number < 10000)
		command->width = (unsigned)number;
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		command->width = size.ws_col;
}

/* Whatever else it is: what was asked for did not get there. */
static int end(int status)
{
	int r = standard_files_flush();

	if (r >= 0)
		return status;
	fprintf(stderr, "mtuwatchctl: writing to stdout: %s\n", strerror(-r));
	return EXIT_UNABLE;
}

static int run(const struct command *command)
{
	pid_t pager = 0;
	int status;

	if (command->terminal && command->verb->paged && !command->no_pager)
		pager = pager_open();
	status = command->verb->run(command);
	/* whoever left the pager has seen enough */
	if (!pager)
		status = end(status);
	pager_close(pager);
	return status;
}

int main(int argc, char **argv)
{
	struct command command = {
		.timeout_usec = WAIT_USEC,
		.time_usec = RUN_USEC,
		.runs = RUNS,
		.server_port = IPERF_PORT,
	};
	int r;

	standard_files_open();
	setlocale(LC_CTYPE, "");
	r = parse_arguments(&command, argc, argv);
	if (r != 0)
		return r < 0 ? EX_USAGE : end(EXIT_SUCCESS);
	find_screen(&command);
	return run(&command);
}
