/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waits until every path of the peers is proven: consistent, by a round that began after we did.
 * Lives through a daemon that restarts, a bus that is not there yet and a peer that is not
 * configured or discovered yet; only time ends it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../face/words.h"
#include "remote.h"

#define TURN_LEAST_USEC (500 * USEC_PER_MSEC)
#define TURN_MOST_USEC (5 * USEC_PER_SEC)

#define BUS_PEERS BUS_ROOT "/peer"

struct awaited {
	struct json_object *seen; /* as it was last, NULL never */
	uint64_t before_usec;	  /* the daemon's clock when it was first seen */
	bool known;		  /* before_usec is */
	bool proven;
};

struct waiting {
	const struct command *command;
	struct remote remote;
	struct awaited *peers;
	uint64_t until_usec; /* CLOCK_MONOTONIC; 0 for ever */
	bool open;
	bool may_check;
};

static bool is_over(const struct waiting *waiting)
{
	return waiting->until_usec && progress_now() >= waiting->until_usec;
}

static bool peer_is_consistent(struct json_object *peer)
{
	for (unsigned i = 0; i < document_count(peer, "Paths"); i++)
		if (document_verdict(document_at(peer, "Paths", i)) != VERDICT_CONSISTENT)
			return false;
	return document_count(peer, "Paths") > 0;
}

static bool peer_is_newer(struct json_object *peer, uint64_t than_usec)
{
	for (unsigned i = 0; i < document_count(peer, "Paths"); i++)
		if (document_number(document_at(peer, "Paths", i), "LastRoundUSec") <= than_usec)
			return false;
	return true;
}

/* Takes `seen` over. `fresh`: it is the answer to a check. */
static void awaited_see(struct awaited *peer, struct json_object *seen, bool fresh)
{
	uint64_t last = document_number(seen, "LastRoundUSec");

	json_object_put(peer->seen);
	peer->seen = seen;
	/* a clock that was set back would make us wait for it to come round again */
	if (!peer->known || last < peer->before_usec)
		peer->before_usec = last;
	peer->known = true;
	peer->proven =
		peer_is_consistent(seen) && (fresh || peer_is_newer(seen, peer->before_usec));
}

/* Everybody may look. */
static int peer_look(struct waiting *waiting, unsigned place)
{
	struct json_object *seen = NULL;
	const char *name = waiting->command->names[place];
	char *path = NULL;
	int r = sd_bus_path_encode(BUS_PEERS, name, &path);

	if (r < 0)
		return remote_failed(&waiting->remote, r, name);
	r = remote_properties(&waiting->remote, path, BUS_NAME ".Peer", &seen);
	free(path);
	if (r >= 0)
		awaited_see(&waiting->peers[place], seen, false);
	return r;
}

static int peers_look(struct waiting *waiting)
{
	int error = 0;

	for (unsigned i = 0; i < waiting->command->name_count; i++) {
		int r = peer_look(waiting, i);

		if (r < 0 && !waiting->remote.absent)
			return r;
		error = r < 0 ? r : error;
	}
	return error;
}

static int peers_check(struct waiting *waiting)
{
	unsigned count = waiting->command->name_count;
	struct json_object **seen = calloc(count + 1, sizeof(*seen)); /* one more: never of no size */
	int r;

	if (!seen)
		return remote_failed(&waiting->remote, -ENOMEM, NULL);
	r = remote_check(&waiting->remote, waiting->command->names, count, seen);
	for (unsigned i = 0; i < count; i++)
		if (seen[i])
			awaited_see(&waiting->peers[i], seen[i], true);
	free(seen);
	return r;
}

static bool all_are_proven(const struct waiting *waiting)
{
	for (unsigned i = 0; i < waiting->command->name_count; i++)
		if (!waiting->peers[i].proven)
			return false;
	return true;
}

/* One look at all of them. 0 or the last error; the caller comes again in either case. */
static int waiting_turn(struct waiting *waiting)
{
	int r = 0;

	if (!waiting->open)
		r = remote_open(&waiting->remote, waiting->command);
	waiting->open = true;
	waiting->remote.deadline_usec = waiting->until_usec;
	for (unsigned i = 0; i < waiting->command->name_count; i++)
		waiting->peers[i].proven = false;
	if (r >= 0)
		r = peers_look(waiting);
	if (r >= 0 && waiting->may_check) {
		r = peers_check(waiting);
		/* then its own rounds have to do */
		if (waiting->remote.denied)
			waiting->may_check = false;
		/* no answer in time is our own doing then */
		if (is_over(waiting))
			waiting->remote.broken = false;
	}
	return r;
}

static void waiting_close(struct waiting *waiting)
{
	if (waiting->open)
		remote_done(&waiting->remote);
	waiting->open = false;
}

static void waiting_pause(struct waiting *waiting, uint64_t usec)
{
	uint64_t now = progress_now();
	struct timespec pause;

	if (waiting->until_usec && now + usec > waiting->until_usec)
		usec = waiting->until_usec > now ? waiting->until_usec - now : 0;
	pause = (struct timespec){(time_t)(usec / USEC_PER_SEC),
				  (long)(usec % USEC_PER_SEC) * 1000};
	nanosleep(&pause, NULL);
}

/* --- it was in vain --- */

/* The daemon knows which name was meant. */
static int absent_complain(struct waiting *waiting, unsigned place)
{
	struct json_object *peer = NULL;

	waiting->remote.deadline_usec = 0;
	if (remote_check(&waiting->remote, &waiting->command->names[place], 1, &peer) < 0)
		return remote_complain(&waiting->remote, waiting->command);
	json_object_put(peer);
	return EXIT_UNABLE;
}

static int peer_complain(struct waiting *waiting, unsigned place)
{
	const struct awaited *peer = &waiting->peers[place];
	const char *name = waiting->command->names[place];

	if (!peer->seen)
		return absent_complain(waiting, place);
	for (unsigned i = 0; i < document_count(peer->seen, "Paths"); i++) {
		struct json_object *path = document_at(peer->seen, "Paths", i);

		if (document_verdict(path) != VERDICT_CONSISTENT)
			fprintf(stderr, "mtuwatchctl: %s\n", document_text(path, "Text"));
	}
	if (document_count(peer->seen, "Paths") == 0)
		fprintf(stderr, "mtuwatchctl: %s: it has no path\n", name);
	else if (peer_is_consistent(peer->seen))
		fprintf(stderr,
			"mtuwatchctl: %s: was consistent, but no round has ended since; give it "
			"more time than Interval=, or run this as root\n",
			name);
	return 0;
}

static int worst_code(const struct waiting *waiting)
{
	_drop_ struct json_object *peers = json_object_new_array(), *all = NULL;
	int code;

	for (unsigned i = 0; peers && i < waiting->command->name_count; i++)
		if (waiting->peers[i].seen)
			document_append(peers, json_object_get(waiting->peers[i].seen));
	all = document_new("", json_object_get(peers), json_object_new_array());
	code = all ? document_exit_code(all) : EXIT_UNABLE;
	/* what is no fault is not consistent either: reduced, unverifiable */
	return code == 0 ? 1 : code;
}

static int waiting_complain(struct waiting *waiting)
{
	int code = 0;

	if (waiting->remote.broken)
		return remote_complain(&waiting->remote, waiting->command);
	for (unsigned i = 0; i < waiting->command->name_count; i++)
		if (!waiting->peers[i].proven) {
			int one = peer_complain(waiting, i);

			code = one > code ? one : code;
		}
	return code ? code : worst_code(waiting);
}

static int waiting_run(struct waiting *waiting)
{
	uint64_t pause = TURN_LEAST_USEC;
	struct progress progress;

	progress_begin(&progress);
	while (true) {
		int r = waiting_turn(waiting);

		progress_end(&waiting->remote.progress);
		if (r >= 0 && all_are_proven(waiting))
			break;
		if (is_over(waiting)) {
			progress_end(&progress);
			return waiting_complain(waiting);
		}
		if (waiting->remote.broken)
			waiting_close(waiting);
		waiting_pause(waiting, pause);
		pause = 2 * pause < TURN_MOST_USEC ? 2 * pause : TURN_MOST_USEC;
		progress_show(&progress, "waiting", 0, 0);
	}
	progress_end(&progress);
	return 0;
}

int verb_wait(const struct command *command)
{
	struct waiting waiting = {.command = command, .may_check = true};
	int code;

	waiting.peers = calloc(command->name_count, sizeof(*waiting.peers));
	if (!waiting.peers)
		return EXIT_UNABLE;
	if (command->timeout_usec)
		waiting.until_usec = progress_now() + command->timeout_usec;
	code = waiting_run(&waiting);
	waiting_close(&waiting);
	for (unsigned i = 0; i < command->name_count; i++)
		json_object_put(waiting.peers[i].seen);
	free(waiting.peers);
	return code;
}
