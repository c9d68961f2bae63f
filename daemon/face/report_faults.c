/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is wrong, in words: a sentence a fault, what to do about it below. Each fault once, however
 * many verdicts and findings hold it. Judges nothing.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "words.h"

#define ADVICE_INDENT 4

struct faults {
	FILE *out;
	const struct report_style *style;
	const struct roster *roster;
	struct report_told told; /* this time */
	unsigned told_room;
	enum severity severity; /* of those whose turn it is: the worst first */
	bool begun;
};

const char *report_colour(enum severity severity)
{
	switch (severity) {
	case SEVERITY_CRITICAL:
		return "\033[1;31m";
	case SEVERITY_WARNING:
		return "\033[33m";
	case SEVERITY_NOTICE:
		return "\033[36m";
	case SEVERITY_OK:
		return "\033[32m";
	case SEVERITY_NONE:
		return "\033[2m";
	}
	return "";
}

void report_wrap(FILE *out, const char *text, unsigned column, unsigned width)
{
	bool first = column <= ADVICE_INDENT;
	unsigned taken;
	size_t length;

	for (; *text; text += length, text += strspn(text, " ")) {
		length = strcspn(text, " ");
		taken = columns_of(text, length);
		if (!first && width && column + 1 + taken > width) {
			fprintf(out, "\n%*s", ADVICE_INDENT, "");
			column = ADVICE_INDENT;
			first = true;
		}
		if (!first)
			fputc(' ', out);
		fwrite(text, 1, length, out);
		column += taken + !first;
		first = false;
	}
	fputc('\n', out);
}

/* --- told before --- */

static int text_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void report_told_done(struct report_told *told)
{
	for (unsigned i = 0; i < told->count; i++)
		free(told->texts[i]);
	free(told->texts);
	*told = (struct report_told){};
}

/* Takes `text` over. Without memory it is only told once more. */
static void told_keep(struct faults *faults, char *text)
{
	if (faults->told.count == faults->told_room) {
		unsigned room = faults->told_room ? 2 * faults->told_room : 16;
		char **texts = reallocarray(faults->told.texts, room, sizeof(*texts));

		if (!texts) {
			free(text);
			return;
		}
		faults->told.texts = texts;
		faults->told_room = room;
	}
	faults->told.texts[faults->told.count++] = text;
}

static bool fault_is_news(struct faults *faults, enum severity severity, const char *text)
{
	const struct report_told *before = faults->style->told;
	char *whole;
	bool known;

	if (!before || asprintf(&whole, "%s %s", words_severity(severity), text) < 0)
		return true;
	known = before->count > 0 &&
		bsearch(&whole, before->texts, before->count, sizeof(*before->texts), text_compare);
	told_keep(faults, whole);
	return !known;
}

static void told_replace(struct faults *faults)
{
	if (!faults->style->told)
		return;
	if (faults->told.count > 0)
		qsort(faults->told.texts, faults->told.count, sizeof(*faults->told.texts),
		      text_compare);
	report_told_done(faults->style->told);
	*faults->style->told = faults->told;
}

/* --- one fault --- */

/* "warning: peer san-a ...", and below it the advice. Takes both texts over. */
static void fault_print(struct faults *faults, enum severity severity, char *text, char *advice)
{
	const struct report_style *style = faults->style;
	const char *word = words_severity(severity);

	if (text && fault_is_news(faults, severity, text)) {
		fprintf(faults->out, "%s%s%s%s:", faults->begun ? "" : "\n",
			style->colour ? report_colour(severity) : "", word,
			style->colour ? "\033[0m" : "");
		report_wrap(faults->out, text, (unsigned)strlen(word) + 1, style->width);
		faults->begun = true;
		if (advice && advice[0]) {
			fprintf(faults->out, "%*s", ADVICE_INDENT, "");
			report_wrap(faults->out, advice, ADVICE_INDENT, style->width);
		}
	}
	free(text);
	free(advice);
}

static void finding_print(struct faults *faults, const char *subject, const struct finding *finding)
{
	char *text = words_finding_text(finding), *whole = NULL;

	if (text && asprintf(&whole, "%s%s%s", subject, subject[0] ? ": " : "", text) < 0)
		whole = NULL;
	free(text);
	fault_print(faults, finding->severity, whole, words_finding_advice(finding));
}

/* --- each once --- */

static bool finding_same(const struct finding *a, const struct finding *b)
{
	return a->id == b->id && a->is == b->is && a->should == b->should &&
	       strcmp(finding_link(a), finding_link(b)) == 0;
}

static bool findings_hold(const struct findings *findings, const struct finding *finding)
{
	for (unsigned i = 0; i < findings->count; i++)
		if (finding_same(&findings->list[i], finding))
			return true;
	return false;
}

static bool verdict_says(const struct judgement *judgement, const struct finding *finding)
{
	if (finding->id == FINDING_RETURN_SMALLER)
		return judgement->verdict == VERDICT_BLACK_HOLE &&
		       judgement->direction == DIRECTION_RETURN;
	if (judgement->verdict != VERDICT_MISCONFIGURED)
		return false;
	return (finding->id == FINDING_LINK_BELOW_EXPECTED &&
		judgement->reason == REASON_LINK_SMALLER) ||
	       (finding->id == FINDING_ROUTE_MTU_BELOW_LINK &&
		judgement->reason == REASON_ROUTE_SMALLER) ||
	       (finding->id == FINDING_WRONG_LINK && judgement->reason == REASON_WRONG_LINK);
}

static bool link_says(const struct roster *roster, const struct finding *finding)
{
	const struct link_state *state =
		finding_link(finding)[0] ? roster_link(roster, finding->link) : NULL;

	return state && !state->ignored && findings_hold(&state->findings, finding);
}

static bool peer_says(const struct peer *peer, const struct finding *finding)
{
	for (unsigned i = 0; i < peer->path_count; i++) {
		const struct path *path = &peer->paths[i];

		if (verdict_says(&path->announced, finding) &&
		    findings_hold(&path_dossier(path)->findings, finding))
			return true;
	}
	return false;
}

static bool any_peer_says(const struct roster *roster, const struct finding *finding)
{
	for (unsigned i = 0; i < roster->peer_count; i++)
		if (peer_says(roster->peers[i], finding))
			return true;
	return false;
}

static void path_faults(struct faults *faults, const struct peer *peer, const struct path *path)
{
	char subject[PEER_NAME_LONGEST + 8];

	snprintf(subject, sizeof(subject), "peer %s", peer->name);
	if (path->announced.severity == faults->severity)
		fault_print(faults, path->announced.severity,
			    words_verdict_sentence(peer, path, &path->announced),
			    words_verdict_advice(peer, path, &path->announced));
	const struct findings *findings = &path_dossier(path)->findings;

	for (unsigned i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		if (finding->severity == faults->severity && !verdict_says(&path->announced, finding) &&
		    !link_says(faults->roster, finding))
			finding_print(faults, subject, finding);
	}
}

static void link_faults(struct faults *faults, const struct link_state *state)
{
	for (unsigned i = 0; !state->ignored && i < state->findings.count; i++) {
		const struct finding *finding = &state->findings.list[i];

		if (finding->severity == faults->severity && !any_peer_says(faults->roster, finding))
			finding_print(faults, "", finding);
	}
}

void report_faults(const struct roster *roster, FILE *out, const struct report_style *style)
{
	struct faults faults = {.out = out, .style = style, .roster = roster};

	for (faults.severity = SEVERITY_CRITICAL; faults.severity >= SEVERITY_NOTICE; faults.severity--) {
		for (unsigned i = 0; i < roster->peer_count; i++)
			for (unsigned j = 0; j < roster->peers[i]->path_count; j++)
				path_faults(&faults, roster->peers[i], &roster->peers[i]->paths[j]);
		for (unsigned i = 0; i < roster->link_count; i++)
			link_faults(&faults, roster->links[i]);
	}
	told_replace(&faults);
}
