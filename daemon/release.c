/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Undoes what the daemon has done to this host, and touches nothing else.
 */
#include "release.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "face/address_text.h"
#include "world/clamps.h"
#include "world/link_clamps.h"

static int release_one(struct clamps *clamps, const struct clamp_entry *entry, FILE *out)
{
	const struct clamp_entry gone = *entry;
	char text[ADDRESS_TEXT_SIZE];
	int r = clamps_take_off(clamps, &gone.to);

	words_address(&gone.to, text);
	if (r < 0)
		fprintf(stderr, "mtuwatchd: the route to %s: %s\n", text, strerror(-r));
	else
		fprintf(out, "the route to %s with mtu %u is gone\n", text, gone.mtu);
	return r;
}

static int release_link(struct link_clamps *clamps, const struct stack *stack, FILE *out)
{
	const struct stacked gone = stack->list[0];
	int r = link_clamps_lift(clamps, gone.index);

	if (r < 0)
		fprintf(stderr, "mtuwatchd: link %s: %s\n", gone.name, strerror(-r));
	else
		fprintf(out, "link %s has its MTU of %u again\n", gone.name, gone.before);
	return r;
}

static int release_links(FILE *out)
{
	struct link_clamps *clamps;
	int r = link_clamps_new(&clamps, clamp_record_folder()), s;

	if (r < 0)
		return r;
	for (unsigned i = link_clamps_count(clamps); i-- > 0;) {
		s = release_link(clamps, link_clamps_at(clamps, i), out);
		r = r < 0 ? r : s;
	}
	if (link_clamps_broken(clamps) > 0) {
		fprintf(stderr, "mtuwatchd: a record in %s cannot be read: look at the MTUs of links\n",
			clamp_record_folder());
		/* a record is for its owner and for root */
		r = r < 0 ? r : geteuid() == 0 ? -EBADMSG : -EACCES;
	}
	link_clamps_free(clamps);
	return r;
}

static int release_routes(FILE *out)
{
	struct clamps *clamps;
	int r = clamps_new(&clamps), s;

	if (r < 0)
		return r;
	for (unsigned i = clamps_count(clamps); i-- > 0;) {
		s = release_one(clamps, clamps_at(clamps, i), out);
		r = r < 0 ? r : s;
	}
	clamps_free(clamps);
	return r;
}

int release_all(FILE *out)
{
	/* the routes hold packets down while links get larger */
	int r = release_links(out), s = release_routes(out);

	return r < 0 ? r : s;
}
