/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of findings: bounded, but nothing is left out without a word. Judges nothing.
 */
#include "lint.h"

#include <string.h>

struct finding finding_make(enum finding_id id, enum severity severity, const struct link *link)
{
	struct finding finding;

	memset(&finding, 0, sizeof(finding));
	finding.id = id;
	finding.severity = severity;
	if (!link)
		return finding;
	memcpy(finding.link, link->name, sizeof(finding.link));
	finding.type = link->type;
	return finding;
}

/* The least of them; the later one of two that are alike. */
static unsigned findings_mildest(const struct findings *findings)
{
	unsigned mildest = 0;

	for (unsigned i = 1; i < findings->count; i++)
		if (findings->list[i].severity <= findings->list[mildest].severity)
			mildest = i;
	return mildest;
}

static void findings_remove(struct findings *findings, unsigned place)
{
	findings->count--;
	memmove(&findings->list[place], &findings->list[place + 1],
		(findings->count - place) * sizeof(findings->list[0]));
}

void findings_add(struct findings *findings, const struct finding *finding)
{
	struct finding more = finding_make(FINDING_MORE, SEVERITY_NONE, NULL);
	unsigned mildest;

	if (findings->count < FINDINGS_LARGEST) {
		findings->list[findings->count++] = *finding;
		return;
	}
	if (findings->list[FINDINGS_LARGEST - 1].id == FINDING_MORE) {
		more = findings->list[FINDINGS_LARGEST - 1];
		findings->count--;
	} else {
		mildest = findings_mildest(findings);
		more.severity = findings->list[mildest].severity;
		more.is = 1;
		findings_remove(findings, mildest);
	}
	mildest = findings_mildest(findings);
	more.is++;
	if (findings->list[mildest].severity < finding->severity) {
		if (findings->list[mildest].severity > more.severity)
			more.severity = findings->list[mildest].severity;
		findings_remove(findings, mildest);
		findings->list[findings->count++] = *finding;
	} else if (finding->severity > more.severity) {
		more.severity = finding->severity;
	}
	findings->list[findings->count++] = more;
}

void findings_join(struct findings *findings, const struct findings *more)
{
	for (unsigned i = 0; i < more->count; i++) {
		bool known = false;

		for (unsigned j = 0; j < findings->count; j++)
			known = known || finding_equal(&findings->list[j], &more->list[i]);
		if (!known)
			findings_add(findings, &more->list[i]);
	}
}

const struct finding *findings_find(const struct findings *findings, enum finding_id id)
{
	for (unsigned i = 0; i < findings->count; i++)
		if (findings->list[i].id == id)
			return &findings->list[i];
	return NULL;
}

const struct finding *findings_explaining(const struct findings *findings)
{
	for (unsigned i = 0; i < findings->count; i++)
		if (findings->list[i].explains)
			return &findings->list[i];
	return NULL;
}

static bool finding_has_address(const struct finding *finding)
{
	return finding->id == FINDING_PTB_WRONG || finding->id == FINDING_CACHED_PMTU_STALE;
}

const char *finding_link(const struct finding *finding)
{
	return finding_has_address(finding) ? "" : finding->link;
}

const char *finding_other(const struct finding *finding)
{
	return finding_has_address(finding) ? "" : finding->other;
}

bool finding_equal(const struct finding *a, const struct finding *b)
{
	if (a->id != b->id || a->severity != b->severity || a->is != b->is ||
	    a->should != b->should)
		return false;
	if (a->number != b->number || a->origin != b->origin)
		return false;
	if (a->cause != b->cause || a->locked != b->locked)
		return false;
	if (finding_has_address(a))
		return address_equal(&a->from, &b->from);
	return strcmp(a->link, b->link) == 0 && strcmp(a->other, b->other) == 0;
}

bool findings_equal(const struct findings *a, const struct findings *b)
{
	bool equal = a->count == b->count;

	for (unsigned i = 0; equal && i < a->count; i++)
		equal = finding_equal(&a->list[i], &b->list[i]);
	return equal;
}
