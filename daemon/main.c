/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arguments, configuration, readiness, signals; everything else is watch's.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "face/report.h"
#include "foreground.h"
#include "watch.h"

#define EXIT_UNABLE 3
#define EXIT_PRIVILEGE EX_NOPERM
#define EXIT_CONFIG EX_CONFIG

enum mode {
	MODE_DAEMON,
	MODE_TEST_CONFIG,
	MODE_ONCE,
	MODE_DONE, /* --help, --version */
};

struct arguments {
	enum mode mode;
	const char *config_path;
	const char **addresses; /* NULL none */
	bool json;
	enum report_form form;
};

static void print_help(void)
{
	puts("mtuwatchd [--config FILE] [--test-config] [--once [ADDRESS...]]\n"
	     "          [--json=off|short|pretty]\n\n"
	     "Watches whether every packet size this host may send really arrives, and says\n"
	     "so when it does not.\n\n"
	     "  --config FILE   read this file alone, not /etc/mtuwatchd/mtuwatchd.conf and\n"
	     "                  its drop-ins\n"
	     "  --test-config   check the configuration and print what is in effect\n"
	     "  --once          check everything, or the given addresses, print it and exit:\n"
	     "                  0 ok or notice, 1 warning, 2 critical, 3 unknown, unreachable\n"
	     "                  or unable to ask; a black hole seen by echo alone is a warning\n"
	     "  --json=FORM     with --once: off (a table), short or pretty\n"
	     "  --version\n"
	     "  --help\n\n"
	     "Started by hand it shows a table of what it watches. See mtuwatchd(8),\n"
	     "mtuwatchd.conf(5), org.mtuwatch1(5).");
}

static int parse_json(const char *text, struct arguments *arguments)
{
	arguments->json = true;
	if (strcmp(text, "off") == 0)
		arguments->form = REPORT_TABLE;
	else if (strcmp(text, "short") == 0)
		arguments->form = REPORT_JSON_SHORT;
	else if (strcmp(text, "pretty") == 0)
		arguments->form = REPORT_JSON_PRETTY;
	else {
		fprintf(stderr, "mtuwatchd: --json=%s: expected off, short or pretty\n", text);
		return -EINVAL;
	}
	return 0;
}

static int check_arguments(const struct arguments *arguments)
{
	if (arguments->addresses && arguments->mode != MODE_ONCE) {
		fprintf(stderr, "mtuwatchd: %s: addresses go with --once\n", arguments->addresses[0]);
		return -EINVAL;
	}
	if (arguments->json && arguments->mode != MODE_ONCE) {
		fprintf(stderr, "mtuwatchd: --json goes with --once\n");
		return -EINVAL;
	}
	for (const char **text = arguments->addresses; text && *text; text++) {
		const char *objection = config_address_objection(*text);

		if (!objection)
			continue;
		fprintf(stderr, "mtuwatchd: \"%s\": %s\n", *text, objection);
		return -EINVAL;
	}
	return 0;
}

static int parse_arguments(int argc, char **argv, struct arguments *ret)
{
	enum { CONFIG = 256, TEST_CONFIG, ONCE, JSON, VERSION_OPTION, HELP };
	static const struct option options[] = {
		{ "config", required_argument, NULL, CONFIG },
		{ "test-config", no_argument, NULL, TEST_CONFIG },
		{ "once", no_argument, NULL, ONCE },
		{ "json", required_argument, NULL, JSON },
		{ "version", no_argument, NULL, VERSION_OPTION },
		{ "help", no_argument, NULL, HELP },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	/* its own complaints begin with this */
	argv[0] = program_invocation_short_name;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		switch (option) {
		case CONFIG:
			ret->config_path = optarg;
			break;
		case TEST_CONFIG:
			ret->mode = MODE_TEST_CONFIG;
			break;
		case ONCE:
			ret->mode = MODE_ONCE;
			break;
		case JSON:
			if (parse_json(optarg, ret) < 0)
				return -EINVAL;
			break;
		case VERSION_OPTION:
			puts("mtuwatchd " VERSION);
			ret->mode = MODE_DONE;
			return 0;
		case 'h':
		case HELP:
			print_help();
			ret->mode = MODE_DONE;
			return 0;
		default:
			fputs("Try mtuwatchd --help.\n", stderr);
			return -EINVAL;
		}
	}
	if (optind < argc)
		ret->addresses = (const char **)&argv[optind];
	return check_arguments(ret);
}

static int complain(const char *what, int error)
{
	if (error == -EPERM || error == -EACCES) {
		fputs("mtuwatchd: CAP_NET_RAW is needed to send probes: run as root, or start the "
		      "service\n", stderr);
		return EXIT_PRIVILEGE;
	}
	fprintf(stderr, "mtuwatchd: %s: %s\n", what, strerror(-error));
	return EXIT_UNABLE;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
		   (unsigned long long)now.tv_sec * 1000000ULL +
			   (unsigned long long)now.tv_nsec / 1000ULL);
	/* the journal has been told when it failed */
	watch_reload(userdata, NULL);
	sd_notify(0, "READY=1");
	return 0;
}

static int open_loop(sd_event **ret)
{
	sd_event *event = NULL;
	sigset_t signals;
	int r;

	/* before the first thread, so that all have them blocked */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_default(&event);
	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGINT, NULL, NULL);
	if (r < 0)
		sd_event_unref(event);
	else
		*ret = event;
	return r;
}

static int run_daemon(sd_event *event, struct watch *watch)
{
	struct foreground *foreground = NULL;
	int r = sd_event_add_signal(event, NULL, SIGHUP, on_hangup, watch);

	if (r >= 0)
		r = sd_event_set_watchdog(event, 1);
	/* nobody else manages it: somebody looks at it */
	if (r >= 0 && !getenv("NOTIFY_SOCKET"))
		r = foreground_new(&foreground, event, watch);
	if (r < 0)
		return complain("starting", r);
	sd_notify(0, "READY=1");
	r = sd_event_loop(event);
	sd_notify(0, "STOPPING=1");
	foreground_free(foreground);
	return r < 0 ? complain("running", r) : EXIT_SUCCESS;
}

static void on_settled(void *userdata)
{
	sd_event_exit(userdata, 0);
}

static int run_once(sd_event *event, struct watch *watch, enum report_form form)
{
	const struct roster *roster = watch_roster(watch);
	int r;

	watch_when_settled(watch, on_settled, event);
	r = sd_event_loop(event);
	if (r < 0)
		return complain("running", r);
	if (form == REPORT_TABLE) {
		bool terminal = isatty(STDOUT_FILENO);
		struct report_style style = {
			.colour = terminal && !getenv("NO_COLOR"),
			.width = terminal ? 80 : 0,
		};

		report_table(roster, stdout, &style);
	} else {
		char *json = report_json(roster, form == REPORT_JSON_PRETTY);

		if (!json)
			return complain("report", -ENOMEM);
		puts(json);
		free(json);
	}
	return fflush(stdout) == 0 ? report_exit_code(roster) : complain("writing", -errno);
}

static int run_watch(const struct arguments *arguments, struct config *config)
{
	bool once = arguments->mode == MODE_ONCE;
	struct watch_options options = {
		.config_path = arguments->config_path,
		.addresses = arguments->addresses,
		.on_bus = !once,
		.quiet = once,
	};
	struct watch *watch = NULL;
	sd_event *event = NULL;
	int status, r = open_loop(&event);

	if (r < 0) {
		config_free(config);
		return complain("event loop", r);
	}
	r = watch_new(&watch, event, config, &options);
	if (r < 0)
		status = complain("starting", r);
	else
		status = once ? run_once(event, watch, arguments->form) : run_daemon(event, watch);
	watch_free(watch);
	sd_event_unref(event);
	return status;
}

static int load_config(const struct arguments *arguments, struct config **ret)
{
	char *error = NULL;
	int r = config_load(arguments->config_path, ret, &error);

	if (r >= 0)
		return 0;
	for (char *line = error ? strtok(error, "\n") : NULL; line; line = strtok(NULL, "\n"))
		fprintf(stderr, "mtuwatchd: %s\n", line);
	if (!error)
		fprintf(stderr, "mtuwatchd: configuration: %s\n", strerror(-r));
	free(error);
	return r;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .mode = MODE_DAEMON, .form = REPORT_TABLE };
	struct config *config = NULL;

	if (parse_arguments(argc, argv, &arguments) < 0)
		return EX_USAGE;
	if (arguments.mode == MODE_DONE)
		return EXIT_SUCCESS;
	if (load_config(&arguments, &config) < 0)
		return EXIT_CONFIG;
	if (arguments.mode == MODE_TEST_CONFIG) {
		config_print(config, stdout);
		config_free(config);
		return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_UNABLE;
	}
	return run_watch(&arguments, config);
}
