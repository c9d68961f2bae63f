/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one table of what can be told of a peer and a path; the bus and JSON are made from it. What is
 * not known of one has its neutral value, so that nobody has to ask whether a property exists.
 */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

static int string_set(struct field_value *ret, const char *text)
{
	ret->string = strdup(text);
	return ret->string ? 0 : -ENOMEM;
}

static int string_take(struct field_value *ret, char *text)
{
	ret->string = text;
	return text ? 0 : -ENOMEM;
}

static int address_set(struct field_value *ret, const struct address *address)
{
	char text[ADDRESS_TEXT_SIZE];

	return string_set(ret, words_address(address, text));
}

void field_value_done(enum field_type type, struct field_value *value)
{
	if (type == FIELD_STRING)
		free(value->string);
}

/* What a peer without a path shows. */
static const struct path no_path;

static const struct path *path_shown(const struct peer *peer, const struct path *path)
{
	if (!path)
		path = peer_worst_path(peer);
	return path ? path : &no_path;
}

static int get_name(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_set(ret, peer->name);
}

static int get_address(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return address_set(ret, &path_shown(peer, path)->address);
}

static int get_origin(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_set(ret, words_origin(peer->origin));
}

static int get_verdict(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_set(ret, words_verdict(path_shown(peer, path)->announced.verdict));
}

static int get_severity(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_set(ret,
			  words_severity(path ? path->announced.severity : peer_severity(peer)));
}

static int get_reason(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	path = path_shown(peer, path);
	return string_take(ret, words_reason(peer, path, &path->announced));
}

static int get_text(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	path = path_shown(peer, path);
	return string_take(ret, words_verdict_sentence(peer, path, &path->announced));
}

static int get_advice(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	path = path_shown(peer, path);
	return string_take(ret, words_verdict_advice(peer, path, &path->announced));
}

static int get_path_mtu(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u32 = path_shown(peer, path)->announced.path_mtu;
	return 0;
}

static int get_return_mtu(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u32 = path_shown(peer, path)->announced.return_mtu;
	return 0;
}

static int get_expected_mtu(const struct peer *peer, const struct path *path,
			    struct field_value *ret)
{
	ret->u32 = path_shown(peer, path)->facts.expected;
	return 0;
}

static int get_link_mtu(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u32 = path_shown(peer, path)->link_mtu;
	return 0;
}

static int get_interface(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_set(ret, words_link(path_shown(peer, path)));
}

static int get_source(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	path = path_shown(peer, path);
	return address_set(ret,
			   path->from.family != ADDRESS_NONE ? &path->from : &path->route.source);
}

static int get_method(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_set(ret, words_path_method(peer, path_shown(peer, path)));
}

static int get_direction(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_set(ret, words_direction(path_shown(peer, path)->announced.direction));
}

static int get_locus(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return string_take(ret, words_locus(&path_shown(peer, path)->announced));
}

static int get_confirmed(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->boolean = path_shown(peer, path)->announced.confirmed;
	return 0;
}

static int get_router(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	return address_set(ret, &path_shown(peer, path)->announced.router);
}

static int get_kernel_mtu(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u32 = path_shown(peer, path)->facts.kernel_mtu;
	return 0;
}

/* The smallest of all paths'; those without a connection have no say. */
static int get_socket_mss(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u32 = path ? path->sockets.mss : 0;
	for (unsigned i = 0; !path && i < peer->path_count; i++) {
		uint32_t mss = peer->paths[i].sockets.mss;

		if (mss && (ret->u32 == 0 || mss < ret->u32))
			ret->u32 = mss;
	}
	return 0;
}

static int get_rtt(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u64 = path_shown(peer, path)->rtt_usec;
	return 0;
}

static int get_since(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u64 = path_shown(peer, path)->since_usec;
	return 0;
}

static int get_last_round(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u64 = path_shown(peer, path)->last_round_usec;
	if (path)
		return 0;
	for (unsigned i = 0; i < peer->path_count; i++)
		if (peer->paths[i].last_round_usec > ret->u64)
			ret->u64 = peer->paths[i].last_round_usec;
	return 0;
}

static uint64_t path_rounds(const struct path *path)
{
	return path->rounds;
}

static uint64_t path_sent(const struct path *path)
{
	return path->control_sent + path->full_sent;
}

static uint64_t path_lost(const struct path *path)
{
	return path->control_lost + path->full_lost;
}

static uint64_t path_flows(const struct path *path)
{
	return path->flow_count;
}

static uint64_t path_flows_faulty(const struct path *path)
{
	/* what one round sees is no fault before it is announced */
	return verdict_is_fault(path->announced.verdict) ? path->flows_faulty : 0;
}

static uint64_t peer_sum(const struct peer *peer, const struct path *path,
			 uint64_t (*count)(const struct path *))
{
	uint64_t sum = 0;

	if (path)
		return count(path);
	for (unsigned i = 0; i < peer->path_count; i++)
		sum += count(&peer->paths[i]);
	return sum;
}

static int get_rounds(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u64 = peer_sum(peer, path, path_rounds);
	return 0;
}

static int get_sent(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u64 = peer_sum(peer, path, path_sent);
	return 0;
}

static int get_lost(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u64 = peer_sum(peer, path, path_lost);
	return 0;
}

static int get_flows(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u32 = (uint32_t)peer_sum(peer, path, path_flows);
	return 0;
}

static int get_flows_faulty(const struct peer *peer, const struct path *path,
			    struct field_value *ret)
{
	ret->u32 = (uint32_t)peer_sum(peer, path, path_flows_faulty);
	return 0;
}

/* What the kernel says, not what was asked of it. */
static int get_clamp_mtu(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->u32 = path_shown(peer, path)->facts.clamp_mtu;
	return 0;
}

static int get_clamp_kind(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	path = path_shown(peer, path);
	if (path->facts.clamp_mtu == 0)
		return string_set(ret, "");
	return string_set(ret, path->facts.link_clamped ? "link" : "route");
}

static int get_clamp_refusal(const struct peer *peer, const struct path *path,
			     struct field_value *ret)
{
	return string_set(ret, words_refusal(path_shown(peer, path)->clamp.refusal));
}

static int get_findings(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->findings.count = 0;
	if (path)
		findings_join(&ret->findings, &path_dossier(path)->findings);
	for (unsigned i = 0; !path && i < peer->path_count; i++)
		findings_join(&ret->findings, &path_dossier(&peer->paths[i])->findings);
	return 0;
}

static int get_paths(const struct peer *peer, const struct path *path, struct field_value *ret)
{
	ret->paths_of = peer;
	return 0;
}

/* What moves with every round is read, not signalled. */
const struct peer_field report_peer_fields[] = {
	/* name, type, signalled, of_path, get */
	{"Name", FIELD_STRING, false, false, get_name},
	{"Address", FIELD_STRING, true, true, get_address},
	{"Origin", FIELD_STRING, false, false, get_origin},
	{"Verdict", FIELD_STRING, true, true, get_verdict},
	{"Severity", FIELD_STRING, true, true, get_severity},
	{"Reason", FIELD_STRING, true, true, get_reason},
	{"Text", FIELD_STRING, true, true, get_text},
	{"Advice", FIELD_STRING, true, true, get_advice},
	{"PathMTU", FIELD_U32, true, true, get_path_mtu},
	{"ReturnMTU", FIELD_U32, true, true, get_return_mtu},
	{"ExpectedMTU", FIELD_U32, true, true, get_expected_mtu},
	{"LinkMTU", FIELD_U32, true, true, get_link_mtu},
	{"Interface", FIELD_STRING, true, true, get_interface},
	{"Source", FIELD_STRING, true, true, get_source},
	{"Method", FIELD_STRING, true, true, get_method},
	{"Direction", FIELD_STRING, true, true, get_direction},
	{"Locus", FIELD_STRING, true, true, get_locus},
	{"Confirmed", FIELD_BOOLEAN, true, true, get_confirmed},
	{"Router", FIELD_STRING, true, true, get_router},
	{"KernelMTU", FIELD_U32, true, true, get_kernel_mtu},
	{"SocketMSS", FIELD_U32, true, true, get_socket_mss},
	{"RTTUSec", FIELD_U64, false, true, get_rtt},
	{"ClampMTU", FIELD_U32, true, true, get_clamp_mtu},
	{"ClampKind", FIELD_STRING, true, true, get_clamp_kind},
	{"ClampRefusal", FIELD_STRING, true, true, get_clamp_refusal},
	{"SinceUSec", FIELD_U64, true, true, get_since},
	{"LastRoundUSec", FIELD_U64, false, true, get_last_round},
	{"Rounds", FIELD_U64, false, true, get_rounds},
	{"ProbesSent", FIELD_U64, false, true, get_sent},
	{"ProbesLost", FIELD_U64, false, true, get_lost},
	{"Flows", FIELD_U32, true, true, get_flows},
	{"FlowsFaulty", FIELD_U32, true, true, get_flows_faulty},
	{"Findings", FIELD_FINDINGS, true, true, get_findings},
	{"Paths", FIELD_PATHS, true, false, get_paths},
	{},
};
