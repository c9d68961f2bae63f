/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The metrics in Prometheus' text format, one family after the other. Never the same labels twice:
 * whoever reads the file would refuse all of it. What is not known has no sample.
 */
#include "metrics_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config_parse.h"
#include "report.h"
#include "words.h"

/* Every byte of three names may be escaped. */
#define LABELS_SIZE (64 + 2 * (PEER_NAME_LONGEST + ADDRESS_TEXT_SIZE + LINK_NAME_SIZE))

/* --- one sample --- */

struct datum {
	FILE *out;
	const char *name; /* of the family */
	const struct peer *peer;
	const struct path *path;
	char labels[LABELS_SIZE]; /* of the path */
};

/* Returns the end. A link may be called by any bytes; the file has to be UTF-8. */
static char *label_put(char *end, const char *name, const char *value)
{
	bool sound = value_is_utf8(value, strlen(value));

	end = stpcpy(stpcpy(end, name), "=\"");
	for (; *value; value++) {
		if (*value == '\n' || *value == '\\' || *value == '"')
			*end++ = '\\';
		if (*value == '\n')
			*end++ = 'n';
		else
			*end++ = !sound && *value & 0x80 ? '?' : *value;
	}
	return stpcpy(end, "\"");
}

static void label_print(FILE *out, const char *name, const char *value)
{
	char label[LABELS_SIZE];

	label_put(label, name, value);
	fputs(label, out);
}

static void datum_label(struct datum *datum)
{
	char address[ADDRESS_TEXT_SIZE], *end = datum->labels;

	end = label_put(end, "peer", datum->peer->name);
	end = label_put(stpcpy(end, ","), "address", words_address(&datum->path->address, address));
	label_put(stpcpy(end, ","), "interface", words_link(datum->path));
}

/* Up to its value. */
static void datum_begin(const struct datum *datum)
{
	fprintf(datum->out, "%s{%s} ", datum->name, datum->labels);
}

static void datum_own(const struct datum *datum, const char *label, const char *text)
{
	fprintf(datum->out, "%s{%s,%s=\"%s\"} ", datum->name, datum->labels, label, text);
}

static void number_print(const struct datum *datum, uint64_t number)
{
	fprintf(datum->out, "%" PRIu64 "\n", number);
}

static void seconds_print(const struct datum *datum, uint64_t usec)
{
	fprintf(datum->out, "%" PRIu64 ".%06" PRIu64 "\n", usec / (uint64_t)USEC_PER_SEC,
		usec % (uint64_t)USEC_PER_SEC);
}

/* --- what is told of a path --- */

static void tell_path_mtu(const struct datum *datum)
{
	const struct judgement *judgement = &datum->path->announced;

	if (judgement->path_mtu) {
		datum_own(datum, "direction", words_direction(DIRECTION_FORWARD));
		number_print(datum, judgement->path_mtu);
	}
	if (judgement->return_mtu) {
		datum_own(datum, "direction", words_direction(DIRECTION_RETURN));
		number_print(datum, judgement->return_mtu);
	}
}

static void tell_expected(const struct datum *datum)
{
	if (!datum->path->facts.expected)
		return;
	datum_begin(datum);
	number_print(datum, datum->path->facts.expected);
}

static void tell_verdict(const struct datum *datum)
{
	for (unsigned i = 0; i < VERDICT_COUNT; i++) {
		datum_own(datum, "verdict", words_verdict((enum verdict)i));
		number_print(datum, datum->path->announced.verdict == (enum verdict)i);
	}
}

static void tell_severity(const struct datum *datum)
{
	for (enum severity i = SEVERITY_OK; i <= SEVERITY_CRITICAL; i++) {
		datum_own(datum, "severity", words_severity(i));
		number_print(datum, datum->path->announced.severity == i);
	}
}

static void tell_rtt(const struct datum *datum)
{
	if (!datum->path->rtt_usec)
		return;
	datum_begin(datum);
	seconds_print(datum, datum->path->rtt_usec);
}

static void tell_sent(const struct datum *datum)
{
	datum_own(datum, "size", "control");
	number_print(datum, datum->path->control_sent);
	datum_own(datum, "size", "full");
	number_print(datum, datum->path->full_sent);
}

static void tell_lost(const struct datum *datum)
{
	datum_own(datum, "size", "control");
	number_print(datum, datum->path->control_lost);
	datum_own(datum, "size", "full");
	number_print(datum, datum->path->full_lost);
}

static void tell_last_round(const struct datum *datum)
{
	if (!datum->path->last_round_usec)
		return;
	datum_begin(datum);
	seconds_print(datum, datum->path->last_round_usec);
}

static void tell_clamped(const struct datum *datum)
{
	const struct peer_field *field = report_peer_fields;
	struct field_value value = {.u32 = 0};

	while (field->name && strcmp(field->name, "ClampMTU") != 0)
		field++;
	if (!field->name || field->get(datum->peer, datum->path, &value) < 0)
		return;
	datum_begin(datum);
	number_print(datum, value.u32);
}

static const struct family {
	const char *name;
	const char *type;
	const char *help;
	void (*tell)(const struct datum *datum); /* NULL: not of paths */
} families[] = {
	{"mtuwatchd_path_mtu_bytes", "gauge",
	 "Largest IP packet that passes, by direction; none while it is not known.", tell_path_mtu},
	{"mtuwatchd_expected_mtu_bytes", "gauge", "IP packet size that has to pass.",
	 tell_expected},
	{"mtuwatchd_verdict", "gauge", "1 for the verdict on the path, 0 for all others.",
	 tell_verdict},
	{"mtuwatchd_severity", "gauge",
	 "1 for the severity of the verdict on the path, 0 for all others.", tell_severity},
	{"mtuwatchd_probe_rtt_seconds", "gauge", "Round-trip time of probes, smoothed.", tell_rtt},
	{"mtuwatchd_probes_sent_total", "counter",
	 "Probes sent: small ones (control) and those of any larger size (full).", tell_sent},
	{"mtuwatchd_probes_lost_total", "counter",
	 "Probes that were not answered: small ones (control) and those of any larger size (full).",
	 tell_lost},
	{"mtuwatchd_last_round_timestamp_seconds", "gauge", "End of the last round of probes.",
	 tell_last_round},
	{"mtuwatchd_clamped_mtu_bytes", "gauge",
	 "MTU that the path is clamped to; 0 while it is not.", tell_clamped},
	{"mtuwatchd_finding", "gauge", "1 for each finding about a peer or a link.", NULL},
	{"mtuwatchd_link_mtu_bytes", "gauge", "MTU of a link of this host.", NULL},
	{"mtuwatchd_build_info", "gauge", "1; the version is in the label.", NULL},
};
enum {
	FAMILY_FINDING = 9,
	FAMILY_LINK,
	FAMILY_BUILD,
	FAMILY_COUNT,
};
_Static_assert(sizeof(families) / sizeof(families[0]) == FAMILY_COUNT, "a family has no place");

static void family_begin(struct metrics_place *place, FILE *out)
{
	const struct family *family = &families[place->family];

	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
		family->type);
	place->begun = true;
}

/* --- findings --- */

static void finding_print(FILE *out, const char *subject, const struct finding *finding)
{
	fprintf(out, "%s{", families[FAMILY_FINDING].name);
	label_print(out, "subject", subject);
	fprintf(out, ",id=\"%s\",severity=\"%s\"} 1\n", words_finding(finding->id),
		words_severity(finding->severity));
}

/* The labels say nothing of the numbers: two links' worth of one finding is one sample. */
static bool labels_equal(const struct finding *a, const struct finding *b)
{
	return a->id == b->id && a->severity == b->severity;
}

static bool findings_hold(const struct findings *findings, unsigned count,
			  const struct finding *finding)
{
	for (unsigned i = 0; i < count; i++)
		if (labels_equal(&findings->list[i], finding))
			return true;
	return false;
}

static bool path_has(const struct path *path, const struct finding *finding)
{
	const struct findings *findings = &path_dossier(path)->findings;

	return findings_hold(findings, findings->count, finding);
}

/* Before finding number `count` of path number `paths`. */
static bool peer_has_told(const struct peer *peer, unsigned paths, unsigned count)
{
	const struct findings *findings = &path_dossier(&peer->paths[paths])->findings;
	const struct finding *finding = &findings->list[count];

	for (unsigned i = 0; i < paths; i++)
		if (path_has(&peer->paths[i], finding))
			return true;
	return findings_hold(findings, count, finding);
}

static void peer_findings(const struct peer *peer, FILE *out)
{
	for (unsigned i = 0; i < peer->path_count; i++) {
		const struct findings *findings = &path_dossier(&peer->paths[i])->findings;

		for (unsigned j = 0; j < findings->count; j++)
			if (!peer_has_told(peer, i, j))
				finding_print(out, peer->name, &findings->list[j]);
	}
}

/* A peer may have a link's name. */
static bool peer_says(const struct roster *roster, const struct link_state *state,
		      const struct finding *finding)
{
	const struct peer *peer = roster_peer(roster, state->link.name);

	for (unsigned i = 0; peer && i < peer->path_count; i++)
		if (path_has(&peer->paths[i], finding))
			return true;
	return false;
}

static void link_findings(const struct roster *roster, const struct link_state *state, FILE *out)
{
	for (unsigned i = 0; !state->ignored && i < state->findings.count; i++) {
		const struct finding *finding = &state->findings.list[i];

		if (!findings_hold(&state->findings, i, finding) &&
		    !peer_says(roster, state, finding))
			finding_print(out, state->link.name, finding);
	}
}

/* --- links --- */

static int link_order(const void *a, const void *b)
{
	const struct link_state *const *first = a, *const *second = b;

	return strcmp((*first)->link.name, (*second)->link.name);
}

/* In the moment of a rename two may have the same name: only one is told. */
static void links_tell(const struct roster *roster, unsigned family, FILE *out)
{
	const struct link_state **links = calloc(roster->link_count + 1, sizeof(*links));

	if (!links)
		return;
	memcpy(links, roster->links, roster->link_count * sizeof(*links));
	qsort(links, roster->link_count, sizeof(*links), link_order);
	for (unsigned i = 0; i < roster->link_count; i++) {
		if (i > 0 && strcmp(links[i]->link.name, links[i - 1]->link.name) == 0)
			continue;
		if (family == FAMILY_FINDING) {
			link_findings(roster, links[i], out);
			continue;
		}
		fprintf(out, "%s{", families[family].name);
		label_print(out, "interface", links[i]->link.name);
		fprintf(out, "} %u\n", links[i]->link.mtu);
	}
	free(links);
}

/* --- peers --- */

/* Another path of this peer may differ in nothing that the labels tell. */
static bool path_is_told(const struct peer *peer, unsigned place)
{
	const struct path *path = &peer->paths[place];

	for (unsigned i = 0; i < place; i++)
		if (address_equal(&peer->paths[i].address, &path->address) &&
		    strcmp(words_link(&peer->paths[i]), words_link(path)) == 0)
			return true;
	return false;
}

static void peer_tell(const struct peer *peer, unsigned family, FILE *out)
{
	struct datum datum = {.out = out, .name = families[family].name, .peer = peer};

	if (family == FAMILY_FINDING) {
		peer_findings(peer, out);
		return;
	}
	for (unsigned i = 0; i < peer->path_count; i++) {
		datum.path = &peer->paths[i];
		if (path_is_told(peer, i))
			continue;
		datum_label(&datum);
		families[family].tell(&datum);
	}
}

/* The first peer behind this name. */
static unsigned peer_after(const struct roster *roster, const char *name)
{
	unsigned low = 0, high = roster->peer_count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (strcmp(roster->peers[middle]->name, name) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True when all are done. */
static bool peers_tell(const struct roster *roster, struct metrics_place *place, unsigned most,
		       FILE *out)
{
	unsigned first = peer_after(roster, place->after), end = roster->peer_count;

	if (end - first > most)
		end = first + most;
	for (unsigned i = first; i < end; i++)
		peer_tell(roster->peers[i], place->family, out);
	if (end > first)
		strcpy(place->after, roster->peers[end - 1]->name);
	return end == roster->peer_count;
}

bool metrics_write(const struct roster *roster, struct metrics_place *place, unsigned most,
		   FILE *out)
{
	unsigned family = place->family;

	if (!place->begun)
		family_begin(place, out);
	if (family == FAMILY_BUILD) {
		fprintf(out, "%s{version=\"%s\"} 1\n", families[family].name, VERSION);
		return true;
	}
	if ((families[family].tell || family == FAMILY_FINDING) &&
	    !peers_tell(roster, place, most, out))
		return false;
	if (!families[family].tell)
		links_tell(roster, family, out);
	*place = (struct metrics_place){.family = family + 1};
	return false;
}
