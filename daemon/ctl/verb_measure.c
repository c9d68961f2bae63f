/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * measure: what an MTU is worth here. The size is imposed by the MSS of iperf3's own connections,
 * so that no link, route or other connection is touched; the peer has to run an iperf3 server.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "../face/cells.h"
#include "explain.h"
#include "remote.h"
#include "show.h"
#include "worth.h"

#define PATIENCE_USEC (15 * USEC_PER_SEC) /* with a server that has answered before */

struct measuring {
	const struct command *command;
	struct remote *remote;
	struct iperf_question question;
	uint32_t sizes[WORTH_SIZES]; /* ascending */
	unsigned size_count;
	struct series series[2 * WORTH_SIZES]; /* by size, there and back */
	unsigned series_count;
	bool ipv6;
	bool answered; /* the server did, once */
};

/* --- what can be asked --- */

static int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int fail(const char *format, ...)
{
	va_list arguments;

	fputs("mtuwatchctl: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return EXIT_UNABLE;
}

static int complain_iperf(const struct measuring *measuring, int r, const char *words)
{
	const struct iperf_question *question = &measuring->question;

	progress_end(&measuring->remote->progress);
	if (r == -ENOENT)
		return fail("iperf3 is not installed here: \"apt-get install iperf3\", here and on "
			    "the peer");
	if (strstr(words, "unable to connect") || strstr(words, "timed out"))
		return fail(
			"no iperf3 server answers at %s port %u: run \"iperf3 -s\" on the peer, "
			"and let its firewall pass that port (%s)",
			question->address, question->port, words);
	return fail("iperf3: %s", words[0] ? words : strerror(-r));
}

/* A server has room for one client, and the last one may not be gone yet; between two it closes its
 * door for a moment. */
static bool is_passing(const struct measuring *measuring, const struct iperf_answer *answer)
{
	return measuring->answered || strstr(answer->words, "busy");
}

static int ask(struct measuring *measuring, struct iperf_answer *ret, const char *what)
{
	const struct timespec pause = {.tv_nsec = 250000000};
	uint64_t patience = progress_now() + PATIENCE_USEC;
	int r;

	for (;;) {
		r = iperf_run(&measuring->question, &measuring->remote->progress, what, ret);
		if (r != -EBADMSG || !is_passing(measuring, ret) || progress_now() >= patience)
			break;
		nanosleep(&pause, NULL);
	}
	measuring->answered = measuring->answered || r >= 0;
	return r;
}

/* 0, or the exit code. */
static int sizes_check(const struct measuring *measuring, struct json_object *path)
{
	uint32_t link = (uint32_t)document_number(path, "LinkMTU");
	uint32_t headers = measuring->ipv6 ? 60 : 40;

	for (unsigned i = 0; i < measuring->size_count; i++) {
		uint32_t size = measuring->sizes[i];

		if (size <= headers + 88)
			return fail("--sizes: %u leaves no room for data", size);
		if (size - headers > IPERF_MSS_LARGEST)
			return fail("--sizes: iperf3 cannot impose more than %u",
				    IPERF_MSS_LARGEST + headers);
		if (link && size > link)
			return fail(
				"--sizes: link %s has an MTU of %u: %u cannot be tried from here",
				document_text(path, "Interface"), link, size);
	}
	return 0;
}

/* A kilobyte tells whether somebody answers, and which MSS both ends agree on: a size above that
 * would be measured under a wrong name. */
static int server_check(struct measuring *measuring)
{
	struct iperf_answer answer = {0};
	uint32_t largest = measuring->sizes[measuring->size_count - 1], agreed;
	int r;

	measuring->question.seconds = 0;
	r = ask(measuring, &answer, "looking for an iperf3 server");
	if (r < 0)
		return complain_iperf(measuring, r, answer.words);
	if (answer.mss == 0)
		return 0;
	agreed = explain_mss_mtu(answer.mss, measuring->ipv6);
	if (agreed >= largest)
		return 0;
	progress_end(&measuring->remote->progress);
	return fail("--sizes: this host and the peer agree on packets of at most %u (MSS %u), so "
		    "%u cannot be tried: the peer's link, or the route to it, has the smaller MTU",
		    agreed, answer.mss, largest);
}

/* --- the runs --- */

static int run_once(struct measuring *measuring, struct series *series, unsigned done, unsigned of)
{
	struct iperf_answer *answer = &series->runs[series->count];
	char what[96];
	int r;

	snprintf(what, sizeof(what), "run %u of %u: %u bytes %s", done + 1, of, series->size,
		 series->reverse ? "from the peer" : "to the peer");
	measuring->question.reverse = series->reverse;
	measuring->question.mss = series->size - (measuring->ipv6 ? 60 : 40);
	r = ask(measuring, answer, what);
	if (r < 0)
		return complain_iperf(measuring, r, answer->words);
	series->count++;
	return 0;
}

/* Sizes take turns, so that what else goes on hits all of them alike. A stall needs no second. */
static int run_all(struct measuring *measuring)
{
	unsigned of = measuring->series_count * measuring->command->runs, done = 0;

	measuring->question.seconds = (unsigned)(measuring->command->time_usec / USEC_PER_SEC);
	for (unsigned run = 0; run < measuring->command->runs; run++)
		for (unsigned i = 0; i < measuring->series_count; i++) {
			struct series *series = &measuring->series[i];
			int r;

			if (!series_stalls(series) &&
			    (r = run_once(measuring, series, done, of)) != 0)
				return r;
			done++;
		}
	progress_end(&measuring->remote->progress);
	return 0;
}

/* --- showing it --- */

static void rate_text(char cell[static CELL_SIZE], const struct series *series)
{
	struct spread bits = series_bits(series);
	double unit = bits.most >= 1e9 ? 1e9 : 1e6;

	if (series_stalls(series))
		snprintf(cell, CELL_SIZE, "stalled");
	else
		snprintf(cell, CELL_SIZE, "%.2f (%.2f-%.2f) %s", bits.median / unit,
			 bits.least / unit, bits.most / unit, unit > 1e6 ? "Gbit/s" : "Mbit/s");
}

static void row_print(const struct measuring *measuring, const struct series *series)
{
	char rate[CELL_SIZE], again[32] = "-";
	uint64_t retransmits = series_retransmits(series);
	bool stalls = series_stalls(series);

	rate_text(rate, series);
	if (retransmits != UINT64_MAX && !stalls)
		snprintf(again, sizeof(again), "%llu", (unsigned long long)retransmits);
	printf("%5u  %5u  %-5s  %-28s  %7s", series->size,
	       explain_mss(series->size, measuring->ipv6), series->reverse ? "back" : "there", rate,
	       again);
	if (stalls)
		puts("         -          -");
	else
		printf("  %7.0f%%   %7.0f%%\n", series_cpu(series, true).median,
		       series_cpu(series, false).median);
}

/* Each larger size against the smallest one of its direction. */
static int sentences_print(const struct measuring *measuring)
{
	for (unsigned i = 2; i < measuring->series_count; i++) {
		char *text = worth_sentence(&measuring->series[i % 2], &measuring->series[i]);

		if (!text)
			return -ENOMEM;
		report_wrap(stdout, text, 0,
			    measuring->command->width ? measuring->command->width : 80);
		free(text);
	}
	return 0;
}

static int show_table(const struct measuring *measuring)
{
	if (!measuring->command->no_legend)
		printf("%5s  %5s  %-5s  %-28s  %7s  %8s  %9s\n", "MTU", "MSS", "WAY",
		       "THROUGHPUT, MEDIAN (RANGE)", "RETRANS", "CPU-SEND", "CPU-RECV");
	for (unsigned i = 0; i < measuring->series_count; i++)
		row_print(measuring, &measuring->series[i]);
	if (measuring->command->no_legend)
		return 0;
	putchar('\n');
	if (measuring->size_count == 1)
		puts("One size alone says nothing about its worth: give others with --sizes=.");
	return sentences_print(measuring);
}

/* All of it, or nothing. */
static struct json_object *whole(struct json_object *object, int r)
{
	if (r >= 0)
		return object;
	json_object_put(object);
	return NULL;
}

static struct json_object *run_json(const struct iperf_answer *answer, bool reverse)
{
	struct json_object *object = json_object_new_object();
	double sender = reverse ? answer->cpu_there : answer->cpu_here;
	double receiver = reverse ? answer->cpu_here : answer->cpu_there;
	int r = document_put(object, "Stalled", json_object_new_boolean(answer->stalled));

	r |= document_put(object, "BitsPerSecond", json_object_new_uint64(answer->bits));
	r |= answer->has_retransmits ? document_put(object, "Retransmits",
						    json_object_new_uint64(answer->retransmits))
				     : json_object_object_add(object, "Retransmits", NULL);
	r |= document_put(object, "CPUSender", json_object_new_double(sender));
	r |= document_put(object, "CPUReceiver", json_object_new_double(receiver));
	return whole(object, r);
}

static struct json_object *series_json(const struct measuring *measuring, unsigned place)
{
	const struct series *series = &measuring->series[place];
	struct json_object *object = json_object_new_object(), *runs = json_object_new_array();
	uint32_t mss = explain_mss(series->size, measuring->ipv6);
	const char *way = series->reverse ? "return" : "forward", *worth;
	uint64_t median = (uint64_t)series_bits(series).median;
	int r = document_put(object, "MTU", json_object_new_int64(series->size));

	r |= document_put(object, "MSS", json_object_new_int64(mss));
	r |= document_put(object, "Direction", json_object_new_string(way));
	r |= document_put(object, "Stalled", json_object_new_boolean(series_stalls(series)));
	r |= document_put(object, "MedianBitsPerSecond", json_object_new_uint64(median));

	for (unsigned i = 0; i < series->count; i++)
		r |= document_append(runs, run_json(&series->runs[i], series->reverse));
	r |= document_put(object, "Runs", runs);
	if (place >= 2) {
		worth = worth_word(worth_judge(&measuring->series[place % 2], series));
		r |= document_put(object, "Worth", json_object_new_string(worth));
	}
	return whole(object, r);
}

static int show(const struct measuring *measuring)
{
	_drop_ struct json_object *all = NULL;
	struct json_object *list;
	int r;

	if (measuring->command->form == REPORT_TABLE)
		return show_table(measuring);
	all = json_object_new_object();
	list = json_object_new_array();
	r = document_put(all, "Name", json_object_new_string(measuring->command->names[0]));
	r |= document_put(all, "Address", json_object_new_string(measuring->question.address));
	r |= document_put(all, "Series", list);
	for (unsigned i = 0; r >= 0 && i < measuring->series_count; i++)
		r = document_append(list, series_json(measuring, i));
	return r < 0 ? r : show_json(measuring->command, all);
}

/* --- the verb --- */

/* Without --sizes: 1500, and what the path is expected to carry. */
static void sizes_choose(struct measuring *measuring, struct json_object *path)
{
	const struct command *command = measuring->command;
	uint32_t expected = (uint32_t)document_number(path, "ExpectedMTU");

	measuring->size_count = command->size_count;
	memcpy(measuring->sizes, command->sizes, sizeof(measuring->sizes));
	if (measuring->size_count > 0)
		return;
	if (expected > 1500)
		measuring->sizes[measuring->size_count++] = 1500;
	measuring->sizes[measuring->size_count++] = expected ? expected : 1500;
}

static void series_make(struct measuring *measuring)
{
	for (unsigned i = 0; i < measuring->size_count; i++)
		for (unsigned way = 0; way < 2; way++)
			measuring->series[measuring->series_count++] =
				(struct series){.size = measuring->sizes[i], .reverse = way == 1};
}

static int measure(struct measuring *measuring, struct json_object *peer)
{
	struct json_object *path =
		document_count(peer, "Paths") > 0 ? document_at(peer, "Paths", 0) : peer;
	const char *address = document_text(path, "Address");
	int r;

	if (!address[0])
		return fail("peer %s has no address now", document_text(peer, "Name"));
	measuring->question = (struct iperf_question){
		.address = address,
		.source = document_text(path, "Source"),
		.port = measuring->command->server_port,
	};
	measuring->ipv6 = strchr(address, ':') != NULL;
	sizes_choose(measuring, path);
	series_make(measuring);
	r = sizes_check(measuring, path);
	if (r == 0)
		r = server_check(measuring);
	if (r == 0)
		r = run_all(measuring);
	if (r != 0)
		return r;
	return show(measuring) < 0 ? fail("out of memory") : EXIT_SUCCESS;
}

static int measure_from_here(const struct command *command)
{
	_drop_remote_ struct remote remote;
	_drop_ struct json_object *document = NULL;
	struct measuring *measuring;
	struct json_object *peer;
	int status;

	if (remote_open(&remote, command) < 0 || remote_describe(&remote, &document) < 0)
		return remote_complain(&remote, command);
	peer = document_named(document, "Peers", command->names[0]);
	if (!peer)
		return complain_no_peer(document, command->names[0]);
	measuring = calloc(1, sizeof(*measuring));
	if (!measuring)
		return fail("out of memory");
	measuring->command = command;
	measuring->remote = &remote;
	progress_begin(&remote.progress);
	status = measure(measuring, peer);
	free(measuring);
	return status;
}

int verb_measure(const struct command *command)
{
	if (!command->host)
		return measure_from_here(command);
	fail("measure: it sends from this host; run it on the other one");
	return EX_USAGE;
}
