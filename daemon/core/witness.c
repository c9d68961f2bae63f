/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each path stands in one row at most, found by what others will ask for: a fault by its link and
 * size, a good path behind a gateway by link and gateway. Judges nothing.
 */
#include "witness.h"

#include <string.h>

enum testimony_kind {
	TESTIMONY_FAULT = 1, /* by more than echo: it bears out any other */
	TESTIMONY_LOST,      /* of echoes that once came back whole: it bears out others like it */
	TESTIMONY_TOLD,      /* a fault that a router told of */
	TESTIMONY_PASSES,
};

/* FNV-1a: short, and nobody outside can choose many links and sizes */
static uint32_t hash_byte(uint32_t hash, uint32_t byte)
{
	return (hash ^ (byte & 0xff)) * 16777619U;
}

static uint32_t hash_number(uint32_t hash, uint32_t number)
{
	for (unsigned shift = 0; shift < 32; shift += 8)
		hash = hash_byte(hash, number >> shift);
	return hash;
}

static uint32_t hash_begin(enum testimony_kind kind, int link)
{
	return hash_number(hash_number(2166136261U, kind), (uint32_t)link);
}

static unsigned row_of_size(enum testimony_kind kind, int link, const struct evidence *fault)
{
	uint32_t hash = hash_number(hash_begin(kind, link), fault->passes);

	/* what a router told of one size is worth something to those who asked for another */
	return hash_number(hash, kind == TESTIMONY_TOLD ? 0 : fault->full) % WITNESS_ROWS;
}

static unsigned row_of_gateway(int link, const struct address *gateway)
{
	uint32_t hash = hash_begin(TESTIMONY_PASSES, link);

	for (unsigned i = 0; i < sizeof(gateway->bytes); i++)
		hash = hash_byte(hash, gateway->bytes[i]);
	return hash % WITNESS_ROWS;
}

uint32_t *witness_passes(struct witnesses *witnesses, const struct path *path)
{
	return &witnesses->passes[(unsigned)path->route.link % WITNESS_LINKS];
}

void witness_remove(struct path *path)
{
	if (!path->witness_place)
		return;
	*path->witness_place = path->next_witness;
	if (path->next_witness)
		path->next_witness->witness_place = path->witness_place;
	path->witness_place = NULL;
	path->next_witness = NULL;
}

static void witness_put(struct witnesses *witnesses, unsigned row, struct path *path)
{
	struct path **place = &witnesses->rows[row];

	path->next_witness = *place;
	if (path->next_witness)
		path->next_witness->witness_place = &path->next_witness;
	path->witness_place = place;
	*place = path;
}

static bool path_fails(const struct path *path)
{
	return path->evidence.outcome == OUTCOME_LESS;
}

/* What just failed refutes nobody, whatever is still announced of it. */
static bool path_passes(const struct path *path)
{
	return !path_fails(path) && path->announced.verdict == VERDICT_CONSISTENT;
}

/* It fails by other packets than echoes: that is no policy against pings. */
static bool fails_beyond_echo(const struct path *path)
{
	const struct evidence *second = &path_dossier(path)->second;

	return path->evidence.kind != PROBE_ECHO || path->evidence.reported ||
	       (path->second_passes == path->evidence.passes && second->outcome == OUTCOME_LESS &&
		second->kind != PROBE_ECHO && second->passes == path->evidence.passes);
}

/* Of one row all are of use to who looks there, so that hardly anybody has to be passed by. */
static void witness_put_fault(struct witnesses *witnesses, struct path *path)
{
	const struct evidence *said = &path->evidence;
	enum testimony_kind kind;

	if (said->reported)
		kind = TESTIMONY_TOLD;
	else if (fails_beyond_echo(path))
		kind = TESTIMONY_FAULT;
	else if (path->facts.whole_back >= said->full)
		kind = TESTIMONY_LOST;
	else
		return; /* it bears out nobody */
	witness_put(witnesses, row_of_size(kind, path->route.link, said), path);
}

void witness_update(struct witnesses *witnesses, struct path *path)
{
	const struct route *route = &path->route;

	witness_remove(path);
	if (path_fails(path))
		witness_put_fault(witnesses, path);
	else if (path_passes(path) && route->gateway.family != ADDRESS_NONE)
		witness_put(witnesses, row_of_gateway(route->link, &route->gateway), path);
}

static bool is_other(const struct path *path, const struct path *other)
{
	return other != path && other->route.link == path->route.link &&
	       !address_equal(&other->address, &path->address);
}

static bool fails_alike(const struct path *path, const struct path *other,
			const struct evidence *mine)
{
	return is_other(path, other) && path_fails(other) && other->evidence.passes == mine->passes;
}

/*
 * Hosts of one administrator often share a rule against large pings, and its number. So the number
 * alone proves nothing: either the other one fails by other packets too, or both once sent echoes
 * of that size back, which nobody with such a rule does, and no longer do.
 */
static bool bears_out(const struct path *path, const struct path *other,
		      const struct evidence *mine)
{
	if (!fails_alike(path, other, mine) || other->evidence.full != mine->full)
		return false;
	return fails_beyond_echo(other) || (other->facts.whole_back >= mine->full &&
					    path->facts.whole_back >= mine->full);
}

static bool compare_faults(const struct witnesses *witnesses, enum testimony_kind kind,
			   const struct path *path, const struct evidence *mine)
{
	const struct path *other =
		witnesses->rows[row_of_size(kind, path->route.link, mine)];

	for (; other; other = other->next_witness)
		if (bears_out(path, other, mine))
			return true;
	return false;
}

/* The router that told another path by the same gateway of the same size; NULL none. */
static const struct address *compare_told(const struct witnesses *witnesses,
					  const struct path *path, const struct evidence *mine)
{
	const struct path *other =
		witnesses->rows[row_of_size(TESTIMONY_TOLD, path->route.link, mine)];

	for (; other; other = other->next_witness)
		if (fails_alike(path, other, mine) && other->evidence.reported &&
		    address_equal(&other->route.gateway, &path->route.gateway))
			return &other->evidence.router;
	return NULL;
}

static bool compare_passing(const struct witnesses *witnesses, const struct path *path,
			    const struct evidence *mine)
{
	const struct path *other =
		witnesses->rows[row_of_gateway(path->route.link, &path->address)];

	for (; other; other = other->next_witness) {
		struct address gateway = other->route.gateway;

		gateway.zone = path->address.zone;
		if (is_other(path, other) && path_passes(other) &&
		    other->announced.path_mtu >= mine->full &&
		    address_equal(&gateway, &path->address))
			return true;
	}
	return false;
}

void witness_compare(const struct witnesses *witnesses, struct path *path)
{
	const struct evidence *mine = path->check ? &path->check->result.main : NULL;
	const struct address *told;

	path->facts.borne_out = false;
	path->facts.refuted = false;
	path->facts.told_by = (struct address){0};
	if (!mine || mine->outcome != OUTCOME_LESS)
		return;
	path->facts.borne_out = compare_faults(witnesses, TESTIMONY_FAULT, path, mine) ||
				compare_faults(witnesses, TESTIMONY_LOST, path, mine) ||
				compare_faults(witnesses, TESTIMONY_TOLD, path, mine);
	told = path->facts.on_link ? NULL : compare_told(witnesses, path, mine);
	if (told)
		path->facts.told_by = *told;
	path->facts.refuted = compare_passing(witnesses, path, mine);
}
