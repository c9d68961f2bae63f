/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One path explained, as JSON: what was seen, a picture of the way in numbers, what it means, and
 * what to do. Thinks over what was gathered; asks nobody.
 */
#pragma once

#include "command.h"
#include "remedy.h"

struct explaining {
	struct json_object *document; /* all of it */
	struct json_object *peer;
	struct json_object *path;
	const struct layers *layers; /* below the path's link; NULL: that of another host */

	enum verdict verdict;
	uint32_t size, expected; /* that passes; 0 unknown */
	bool ipv6;
	bool outdated; /* what is expected now passes: the better verdict is not announced yet */

	/* what is made */
	struct json_object *evidence, *steps, *diagnosis, *actions;
	bool failed; /* out of memory */
};

/* {"Address", "Interface", "Verdict", "Severity", "Evidence": [], "Steps": [{"Name", "What", "MTU",
 * "ICMPPayload", "MSS", "Narrow"}], "Diagnosis": [], "Actions": []}. NULL: out of memory. */
struct json_object *explain_path(const struct explaining *facts);

/* --- its parts, each into its list --- */

void explain_evidence(struct explaining *explaining);
void explain_steps(struct explaining *explaining);
void explain_diagnosis(struct explaining *explaining);
void explain_actions(struct explaining *explaining);

void explain_say(struct explaining *explaining, struct json_object *list, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Payload of an echo, and MSS of TCP, in a packet of this size; 0 none fits. */
uint32_t explain_payload(uint32_t mtu, bool ipv6);
uint32_t explain_mss(uint32_t mtu, bool ipv6);
#define EXPLAIN_SIZE 80
/* "1500 bytes (ping payload 1472, TCP MSS 1460)" */
const char *explain_size(uint32_t mtu, bool ipv6, char buffer[static EXPLAIN_SIZE]);
/* What connections with this MSS send: their segments carry RFC 7323's time stamps. */
uint32_t explain_mss_mtu(uint32_t mss, bool ipv6);
/* "after ADDRESS", "at ADDRESS": the address, else "". */
const char *explain_hop(const struct explaining *explaining);
bool explain_is_return(const struct explaining *explaining);

/* --- on the screen --- */

void show_explanation(const struct command *command, struct json_object *peer,
		      struct json_object *explanation);
