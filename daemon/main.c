/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Configuration, readiness, signals, exit codes; everything else is watch's.
 */
#include <errno.h>
#include <locale.h>
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

#include "arguments.h"
#include "face/standard_files.h"
#include "foreground.h"
#include "release.h"
#include "watch/watch.h"

#define EXIT_UNABLE 3
#define EXIT_PRIVILEGE EX_NOPERM
#define EXIT_CONFIG EX_CONFIG

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

	if (r == -EPERM || r == -EACCES) {
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
	struct arguments arguments = { 0 };
	int status, r;

	standard_files_open();
	raise_descriptors();
	setlocale(LC_CTYPE, "");
	r = arguments_parse(argc, argv, &arguments);
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
