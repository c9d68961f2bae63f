/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line. An option of an address is a key of the peer that the address stands for, and is
 * checked as in a file.
 */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request_option {
	const char *name; /* as it was typed */
	const char *key;
	const char *text;
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

void arguments_done(struct arguments *arguments)
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

int arguments_parse(int argc, char **argv, struct arguments *ret)
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
