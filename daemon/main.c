/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arguments, configuration, readiness, signals; everything else is watch's.
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "face/report.h"
#include "face/standard_files.h"
#include "foreground.h"
#include "release.h"
#include "watch/watch.h"

#define EXIT_UNABLE 3
#define EXIT_PRIVILEGE EX_NOPERM
#define EXIT_CONFIG EX_CONFIG

enum mode {
	MODE_DAEMON,
	MODE_TEST_CONFIG,
	MODE_ONCE,
	MODE_RELEASE,
	MODE_DONE, /* --help, --version */
};

/* An option that is a key of the peer that an address stands for. */
struct request_option {
	const char *name;
	const char *key;
	const char *text;
};

struct arguments {
	enum mode mode;
	const char *config_path;
	const char **addresses; /* NULL none */
	struct request_option *options; /* of these addresses, ended by a NULL key */
	unsigned option_count;
	struct config_peer **requests; /* made of both, ended by NULL; NULL none */
	bool json;
	enum report_form form;
};

static void print_help(void)
{
	puts("mtuwatchd [--config FILE] [--test-config]\n"
	     "mtuwatchd [--config FILE] --once [--json=off|short|pretty]\n"
	     "          [[--interface LINK]... [--expect MTU] [--method METHOD]\n"
	     "          [--port PORT] [--flows N] ADDRESS...]\n"
	     "mtuwatchd --release\n\n"
	     "Watches whether every packet size this host may send really arrives, and says\n"
	     "so when it does not.\n\n"
	     "  --config FILE     read this file alone, not /etc/mtuwatchd/mtuwatchd.conf and\n"
	     "                    its drop-ins\n"
	     "  --test-config     check the configuration and print what is in effect\n"
	     "  --once            check everything, or the given addresses, print it and exit\n"
	     "  --json=FORM       with --once: off (a table), short or pretty\n"
	     "  --interface LINK  with addresses: by this link; again: each is a path\n"
	     "  --expect MTU      with addresses: the size to expect, not the link's\n"
	     "  --method METHOD   with addresses: auto, icmp, tcp, udp or responder\n"
	     "  --port PORT       with addresses: for tcp, udp and responder\n"
	     "  --flows N         with addresses: source ports to spread over, 1 to 64\n"
	     "  --release         take off every clamp the daemon left on this host, and exit\n"
	     "  --version\n"
	     "  -h, --help\n\n"
	     "--once ends with 0 ok or notice, 1 warning (a black hole that only echo saw is\n"
	     "one), 2 critical, 3 unknown, unreachable or unable to ask; 64 is bad usage, 77\n"
	     "missing privilege, 78 bad configuration.\n\n"
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
	if (arguments->option_count > 0 && !arguments->addresses) {
		fprintf(stderr, "mtuwatchd: --%s goes with --once and an address\n",
			arguments->options[0].name);
		return -EINVAL;
	}
	return 0;
}

/* Who configures a link may expect it later; who asks for one wants it now. */
static int check_interfaces(const struct config_peer *peer)
{
	for (unsigned i = 0; i < peer->interface_count; i++) {
		if (if_nametoindex(peer->interfaces[i]) != 0 || errno != ENODEV)
			continue;
		fprintf(stderr, "mtuwatchd: --interface=%s: there is no such link\n",
			peer->interfaces[i]);
		return -EINVAL;
	}
	return 0;
}

static int make_request(const struct arguments *arguments, const char *address,
			struct config_peer *peer)
{
	char *why = NULL;
	const char *key;
	int r = config_peer_set(peer, "Address", address, &why);

	if (r == -EINVAL)
		fprintf(stderr, "mtuwatchd: \"%s\": %s\n", address, why);
	for (unsigned i = 0; r >= 0 && i < arguments->option_count; i++) {
		const struct request_option *option = &arguments->options[i];

		r = config_peer_set(peer, option->key, option->text, &why);
		if (r == -EINVAL)
			fprintf(stderr, "mtuwatchd: --%s=%s: %s\n", option->name, option->text, why);
	}
	if (r >= 0) {
		r = config_peer_check(peer, &key, &why);
		if (r == -EINVAL)
			fprintf(stderr, "mtuwatchd: \"%s\": %s\n", address, why);
	}
	if (r >= 0)
		r = check_interfaces(peer);
	free(why);
	return r;
}

/* What is written wrong has been said; -ENOMEM has not. */
static int make_requests(struct arguments *arguments)
{
	unsigned count = 0;

	if (!arguments->addresses)
		return 0;
	while (arguments->addresses[count])
		count++;
	arguments->requests = calloc(count + 1, sizeof(*arguments->requests));
	if (!arguments->requests)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		int r = config_peer_new(&arguments->requests[i]);

		if (r >= 0)
			r = make_request(arguments, arguments->addresses[i], arguments->requests[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static void arguments_done(struct arguments *arguments)
{
	for (struct config_peer **peer = arguments->requests; peer && *peer; peer++)
		config_peer_free(*peer);
	free(arguments->requests);
	free(arguments->options);
}

enum long_option {
	OPTION_CONFIG = 256,
	OPTION_TEST_CONFIG,
	OPTION_ONCE,
	OPTION_JSON,
	OPTION_INTERFACE,
	OPTION_EXPECT,
	OPTION_METHOD,
	OPTION_PORT,
	OPTION_FLOWS,
	OPTION_RELEASE,
	OPTION_VERSION,
	OPTION_HELP,
};

static const struct option long_options[] = {
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "test-config", no_argument, NULL, OPTION_TEST_CONFIG },
	{ "once", no_argument, NULL, OPTION_ONCE },
	{ "json", required_argument, NULL, OPTION_JSON },
	{ "interface", required_argument, NULL, OPTION_INTERFACE },
	{ "expect", required_argument, NULL, OPTION_EXPECT },
	{ "method", required_argument, NULL, OPTION_METHOD },
	{ "port", required_argument, NULL, OPTION_PORT },
	{ "flows", required_argument, NULL, OPTION_FLOWS },
	{ "release", no_argument, NULL, OPTION_RELEASE },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

/* The keys that the options of an address stand for. */
static const struct {
	int option;
	const char *name;
	const char *key;
} request_keys[] = {
	{ OPTION_INTERFACE, "interface", "Interface" },
	{ OPTION_EXPECT, "expect", "ExpectMTU" },
	{ OPTION_METHOD, "method", "Method" },
	{ OPTION_PORT, "port", "Port" },
	{ OPTION_FLOWS, "flows", "Flows" },
};

/* There is room for as many as there are arguments. */
static void add_request_option(struct arguments *arguments, int option, const char *text)
{
	for (unsigned i = 0; i < sizeof(request_keys) / sizeof(request_keys[0]); i++)
		if (request_keys[i].option == option)
			arguments->options[arguments->option_count++] = (struct request_option){
				request_keys[i].name, request_keys[i].key, text };
}

static int choose_mode(struct arguments *arguments, enum mode mode)
{
	if (arguments->mode != MODE_DAEMON && arguments->mode != mode) {
		fputs("mtuwatchd: --test-config, --once and --release do not go together\n", stderr);
		return -EINVAL;
	}
	arguments->mode = mode;
	return 0;
}

static int parse_option(struct arguments *ret, int option)
{
	switch (option) {
	case OPTION_CONFIG:
		ret->config_path = optarg;
		return 0;
	case OPTION_TEST_CONFIG:
		return choose_mode(ret, MODE_TEST_CONFIG);
	case OPTION_ONCE:
		return choose_mode(ret, MODE_ONCE);
	case OPTION_JSON:
		return parse_json(optarg, ret);
	case OPTION_INTERFACE:
	case OPTION_EXPECT:
	case OPTION_METHOD:
	case OPTION_PORT:
	case OPTION_FLOWS:
		add_request_option(ret, option, optarg);
		return 0;
	case OPTION_RELEASE:
		return choose_mode(ret, MODE_RELEASE);
	case OPTION_VERSION:
		puts("mtuwatchd " VERSION);
		ret->mode = MODE_DONE;
		return 0;
	case 'h':
	case OPTION_HELP:
		print_help();
		ret->mode = MODE_DONE;
		return 0;
	default:
		fputs("Try mtuwatchd --help.\n", stderr);
		return -EINVAL;
	}
}

static int parse_arguments(int argc, char **argv, struct arguments *ret)
{
	int option;

	ret->options = calloc((size_t)argc, sizeof(*ret->options));
	if (!ret->options)
		return -ENOMEM;
	/* its own complaints begin with this */
	argv[0] = program_invocation_short_name;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		int r = parse_option(ret, option);

		if (r < 0 || ret->mode == MODE_DONE)
			return r;
	}
	if (optind < argc)
		ret->addresses = (const char **)&argv[optind];
	if (check_arguments(ret) < 0)
		return -EINVAL;
	return make_requests(ret);
}

static int complain(const char *what, int error)
{
	fprintf(stderr, "mtuwatchd: %s: %s\n", what, strerror(-error));
	return EXIT_UNABLE;
}

static int complain_start(const char *what, int error)
{
	bool refused = error == -EPERM || error == -EACCES;

	if (!refused || strcmp(what, WATCH_PROBES) != 0)
		return complain(what, error);
	fputs("mtuwatchd: CAP_NET_RAW is needed to send probes: run as root, or start the service\n",
	      stderr);
	return EXIT_PRIVILEGE;
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
		return complain("signals, the watchdog or the screen", r);
	sd_notify(0, "READY=1");
	r = sd_event_loop(event);
	sd_notify(0, "STOPPING=1");
	foreground_free(foreground);
	return r < 0 ? complain("the event loop", r) : EXIT_SUCCESS;
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
		return complain("the event loop", r);
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
	return report_exit_code(roster);
}

static int run_watch(const struct arguments *arguments, struct config *config)
{
	bool once = arguments->mode == MODE_ONCE;
	struct watch_options options = {
		.config_path = arguments->config_path,
		.requests = arguments->requests,
		.on_bus = !once,
		.quiet = once,
	};
	struct watch *watch = NULL;
	sd_event *event = NULL;
	const char *failed;
	int status, r = open_loop(&event);

	if (r < 0) {
		config_free(config);
		return complain("the event loop", r);
	}
	r = watch_new(&watch, event, config, &options, &failed);
	if (r < 0)
		status = complain_start(failed, r);
	else
		status = once ? run_once(event, watch, arguments->form) : run_daemon(event, watch);
	watch_free(watch);
	sd_event_unref(event);
	return status;
}

/* What is written wrong, or where nothing is to be read, does not mend itself; memory, descriptors
 * and disks may. */
static int config_status(int error)
{
	static const int lasting[] = { EINVAL, ENOENT, EACCES, EPERM, EISDIR, ENOTDIR, ELOOP,
				       ENAMETOOLONG, EFBIG };

	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		if (error == -lasting[i])
			return EXIT_CONFIG;
	return EXIT_UNABLE;
}

/* The exit status, 0 when it is loaded. */
static int load_config(const struct arguments *arguments, struct config **ret)
{
	char *error = NULL;
	int r = config_load(arguments->config_path, ret, &error);

	if (r >= 0)
		return EXIT_SUCCESS;
	for (char *line = error ? strtok(error, "\n") : NULL; line; line = strtok(NULL, "\n"))
		fprintf(stderr, "mtuwatchd: %s\n", line);
	/* there may have been no memory for words */
	if (!error || !error[0])
		fprintf(stderr, "mtuwatchd: configuration: %s\n", strerror(-r));
	free(error);
	return config_status(r);
}

static int run_release(void)
{
	int r = release_all(stdout);

	if (r == -EPERM) {
		fputs("mtuwatchd: CAP_NET_ADMIN is needed to take clamps off: run as root\n", stderr);
		return EXIT_PRIVILEGE;
	}
	if (r < 0)
		return complain("taking clamps off", r);
	return EXIT_SUCCESS;
}

static int run(const struct arguments *arguments)
{
	struct config *config = NULL;
	int status;

	/* whatever is in the configuration */
	if (arguments->mode == MODE_RELEASE)
		return run_release();
	status = load_config(arguments, &config);
	if (status != EXIT_SUCCESS)
		return status;
	if (arguments->mode == MODE_TEST_CONFIG) {
		config_print(config, stdout);
		config_free(config);
		return EXIT_SUCCESS;
	}
	return run_watch(arguments, config);
}

/* What it found is nothing worth that nobody gets. */
static int end(int status)
{
	int r = standard_files_flush();

	return r < 0 ? complain("writing to stdout", r) : status;
}

/* A peer may need one for each flow. Where it is not allowed they take turns. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .mode = MODE_DAEMON, .form = REPORT_TABLE };
	int status, r;

	standard_files_open();
	raise_descriptors();
	setlocale(LC_CTYPE, "");
	r = parse_arguments(argc, argv, &arguments);
	if (r == -EINVAL)
		status = EX_USAGE;
	else if (r < 0)
		status = complain("arguments", r);
	else
		status = arguments.mode == MODE_DONE ? EXIT_SUCCESS : run(&arguments);
	arguments_done(&arguments);
	/* a table that is shown for a while may lose its screen */
	return arguments.mode == MODE_DAEMON ? status : end(status);
}
