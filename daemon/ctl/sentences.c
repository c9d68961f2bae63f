/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The document in sentences: what is wrong, one peer or link in full, and JSON. The sentences are
 * the daemon's own.
 */
#include "show.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "../face/cells.h"
#include "../face/words.h"

#define LABEL_WIDTH 12

int show_json(const struct command *command, struct json_object *document)
{
	const char *text = report_json_text(document, command->form == REPORT_JSON_PRETTY);

	return text && puts(text) >= 0 ? 0 : -ENOMEM;
}

/* --- what is wrong --- */

/* Prints "warning: text", and below it what to do. */
static void fault_print(const struct command *command, struct json_object *fault, const char *text)
{
	enum severity severity = document_severity(fault);
	const char *word = words_severity(severity), *advice = document_text(fault, "Advice");

	printf("%s%s%s:", command->colour ? report_colour(severity) : "", word,
	       command->colour ? "\033[0m" : "");
	report_wrap(stdout, text, (unsigned)strlen(word) + 1, command->width);
	if (advice[0]) {
		fputs("    ", stdout);
		report_wrap(stdout, advice, 4, command->width);
	}
}

static void begin_print(bool *begun)
{
	if (!*begun)
		putchar('\n');
	*begun = true;
}

static void peer_finding(const struct command *command, struct json_object *peer,
			 struct json_object *finding)
{
	char text[1024];

	snprintf(text, sizeof(text), "peer %s: %s", document_text(peer, "Name"),
		 document_text(finding, "Text"));
	fault_print(command, finding, text);
}

/* Those of this severity. */
static void peer_faults(const struct command *command, struct json_object *document,
			struct json_object *peer, enum severity severity, bool *begun)
{
	for (unsigned i = 0; i < document_count(peer, "Paths"); i++) {
		struct json_object *path = document_at(peer, "Paths", i);

		if (document_severity(path) != severity)
			continue;
		begin_print(begun);
		fault_print(command, path, document_text(path, "Text"));
	}
	for (unsigned i = 0; i < document_count(peer, "Findings"); i++) {
		struct json_object *finding = document_at(peer, "Findings", i);

		if (document_severity(finding) != severity ||
		    document_is_said(document, peer, finding))
			continue;
		begin_print(begun);
		peer_finding(command, peer, finding);
	}
}

/* Whether a peer's verdict tells of this link's finding: its advice is the same. */
static bool link_is_told(struct json_object *document, struct json_object *finding)
{
	const char *advice = document_text(finding, "Advice");

	for (unsigned i = 0; i < document_count(document, "Peers"); i++) {
		struct json_object *peer = document_at(document, "Peers", i);

		if (document_verdict(peer) == VERDICT_MISCONFIGURED &&
		    strcmp(document_text(peer, "Advice"), advice) == 0)
			return true;
	}
	return false;
}

static void link_faults(const struct command *command, struct json_object *document,
			struct json_object *link, enum severity severity, bool *begun)
{
	for (unsigned i = 0; i < document_count(link, "Findings"); i++) {
		struct json_object *finding = document_at(link, "Findings", i);

		if (document_severity(finding) != severity || link_is_told(document, finding))
			continue;
		begin_print(begun);
		fault_print(command, finding, document_text(finding, "Text"));
	}
}

void show_faults(const struct command *command, struct json_object *document)
{
	bool begun = false;

	for (enum severity worst = SEVERITY_CRITICAL; worst >= SEVERITY_NOTICE; worst--) {
		for (unsigned i = 0; i < document_count(document, "Peers"); i++)
			peer_faults(command, document, document_at(document, "Peers", i), worst,
				    &begun);
		for (unsigned i = 0; i < document_count(document, "Links"); i++)
			link_faults(command, document, document_at(document, "Links", i), worst,
				    &begun);
	}
}

/* --- in full --- */

static void label_print(const char *label)
{
	printf("%*s: ", LABEL_WIDTH, label);
}

static void line_print(const char *label, const char *text)
{
	if (!text[0])
		return;
	label_print(label);
	puts(text);
}

static void head_print(const struct command *command, struct json_object *object, const char *rest)
{
	const char *name = document_text(object, "Name");

	printf("%s%s%s%s\n", command->colour ? report_colour(document_severity(object)) : "", name,
	       command->colour ? "\033[0m" : "", rest);
}

/* "1500 of 9000 bytes there, 9000 back" */
static void sizes_print(struct json_object *path)
{
	uint64_t there = document_number(path, "PathMTU"),
		 back = document_number(path, "ReturnMTU");
	uint64_t expected = document_number(path, "ExpectedMTU");

	label_print("Passes");
	if (there)
		printf("%" PRIu64, there);
	else
		fputs("not known", stdout);
	if (expected)
		printf("%s of %" PRIu64 " bytes", there ? "" : ",", expected);
	if (back)
		printf(" there, %" PRIu64 " back", back);
	putchar('\n');
}

static void stamp_print(const char *label, uint64_t usec)
{
	char text[64], age[CELL_SIZE];
	time_t sec = (time_t)(usec / USEC_PER_SEC);
	struct tm local;

	if (usec == 0 || !localtime_r(&sec, &local))
		return;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	cell_since(age, usec);
	label_print(label);
	printf("%s, %s ago\n", text, age);
}

static void method_print(struct json_object *path)
{
	uint64_t flows = document_number(path, "Flows"), bad = document_number(path, "FlowsFaulty");
	uint64_t rtt = document_number(path, "RTTUSec");

	label_print("Method");
	fputs(document_text(path, "Method"), stdout);
	if (flows > 1)
		printf(", %" PRIu64 " flows", flows);
	if (flows > 1 && bad > 0)
		printf(" (%" PRIu64 " faulty)", bad);
	if (rtt > 0)
		printf(", round trip %" PRIu64 ".%03" PRIu64 " ms", rtt / 1000, rtt % 1000);
	putchar('\n');
}

static void kernel_print(struct json_object *path)
{
	uint64_t mss = document_number(path, "SocketMSS"),
		 clamp = document_number(path, "ClampMTU");

	label_print("This host");
	printf("link MTU %" PRIu64 ", the kernel uses %" PRIu64, document_number(path, "LinkMTU"),
	       document_number(path, "KernelMTU"));
	if (mss)
		printf(", connections an MSS of %" PRIu64, mss);
	putchar('\n');
	line_print("Not clamped", document_text(path, "ClampRefusal"));
	if (!clamp)
		return;
	label_print("Clamped");
	printf("to %" PRIu64 " by %s\n", clamp, document_text(path, "ClampKind"));
}

static void path_print(struct json_object *path)
{
	const char *link = document_text(path, "Interface");

	label_print("Path");
	printf("%s%s%s\n", document_text(path, "Address"), link[0] ? " by " : "", link);
	/* two long addresses are too much for one line */
	line_print("From", document_text(path, "Source"));
	label_print("Verdict");
	printf("%s%s%s\n", document_text(path, "Verdict"),
	       document_severity(path) > SEVERITY_OK ? ", " : "",
	       document_severity(path) > SEVERITY_OK ? document_text(path, "Severity") : "");
	sizes_print(path);
	line_print("Place", document_text(path, "Locus"));
	line_print("Direction", document_text(path, "Direction"));
	line_print("Router", document_text(path, "Router"));
	line_print("Reason", document_text(path, "Reason"));
	method_print(path);
	kernel_print(path);
	label_print("Probes");
	printf("%" PRIu64 " sent, %" PRIu64 " lost in %" PRIu64 " round%s\n",
	       document_number(path, "ProbesSent"), document_number(path, "ProbesLost"),
	       document_number(path, "Rounds"), document_number(path, "Rounds") == 1 ? "" : "s");
	stamp_print("Since", document_number(path, "SinceUSec"));
	stamp_print("Last round", document_number(path, "LastRoundUSec"));
}

void show_peer(const struct command *command, struct json_object *document,
	       struct json_object *peer)
{
	unsigned count = document_count(peer, "Paths");
	const char *origin = document_text(peer, "Origin");
	bool configured = strcmp(origin, "config") == 0;
	char rest[64];
	bool begun = true;

	snprintf(rest, sizeof(rest), " (%s%s)", configured ? "configured" : "discovered: ",
		 configured ? "" : origin);
	head_print(command, peer, rest);
	for (unsigned i = 0; i < count; i++) {
		if (i > 0)
			putchar('\n');
		path_print(document_at(peer, "Paths", i));
	}
	if (count == 0)
		puts("    it has no path yet");
	for (enum severity worst = SEVERITY_CRITICAL; worst >= SEVERITY_NOTICE; worst--)
		peer_faults(command, document, peer, worst, &begun);
}

void show_link(const struct command *command, struct json_object *link)
{
	uint64_t expected = document_number(link, "ExpectedMTU");
	uint64_t least = document_number(link, "MinMTU"), most = document_number(link, "MaxMTU");
	uint64_t original = document_number(link, "OriginalMTU");
	const char *kind = document_text(link, "Kind");

	head_print(command, link, " (link)");
	line_print("Kind", kind[0] ? kind : "hardware");
	line_print("State", document_number(link, "Up") ? "up" : "down");
	label_print("MTU");
	printf("%" PRIu64, document_number(link, "MTU"));
	if (expected)
		printf(", %" PRIu64 " expected", expected);
	if (original)
		printf(", clamped from %" PRIu64, original);
	putchar('\n');
	if (most) {
		label_print("Driver");
		printf("takes %" PRIu64 " to %" PRIu64 "\n", least, most);
	}
	line_print("Neighbour", document_text(link, "Neighbour"));
	for (unsigned i = 0; i < document_count(link, "Findings"); i++) {
		struct json_object *finding = document_at(link, "Findings", i);

		fault_print(command, finding, document_text(finding, "Text"));
	}
}

static unsigned faulty_count(struct json_object *document, const char *key)
{
	unsigned faulty = 0;

	for (unsigned i = 0; i < document_count(document, key); i++)
		faulty += document_severity(document_at(document, key, i)) >= SEVERITY_WARNING;
	return faulty;
}

void show_summary(const struct command *command, struct json_object *document)
{
	enum severity severity = document_severity(document);

	printf("mtuwatchd %s: %s%s%s\n", document_text(document, "Version"),
	       command->colour ? report_colour(severity) : "",
	       severity == SEVERITY_NONE ? "nothing measured yet" : words_severity(severity),
	       command->colour ? "\033[0m" : "");
	label_print("Peers");
	printf("%u, %u with a fault\n", document_count(document, "Peers"),
	       faulty_count(document, "Peers"));
	label_print("Links");
	printf("%u, %u with a fault\n", document_count(document, "Links"),
	       faulty_count(document, "Links"));
	if (document_number(document, "ResponderPort")) {
		label_print("Answers");
		printf("other hosts, on UDP port %" PRIu64 "\n",
		       document_number(document, "ResponderPort"));
	}
	if (document_count(document, "Peers") == 0) {
		putchar('\n');
		report_nothing(stdout, (uint16_t)document_number(document, "ResponderPort"));
	}
	show_faults(command, document);
}
