/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of this room share: open.c (how it begins and ends), watch.c (facts in, effects
 * out), due.c (who is next), path.c (a path takes its turn:
 * the only place with effects on the network), flows.c (what its flows hold), peers.c and peer.c (which peers there are), discover.c
 * (which of them nobody asked for), storage.c (which storage is in use), request.c (who waits for
 * what), settle.c (when to look again), links.c (what links have become), neighbours.c and counters.c
 * (what their other ends are and send), tell.c (what is said), connections.c (live TCP connections),
 * clamp.h (treatment). Nobody else includes this.
 */
#pragma once

#include "../core/cause.h"
#include "../core/explain.h"
#include "../core/queue.h"
#include "../core/witness.h"
#include "../face/bus.h"
#include "../face/metrics.h"
#include "../world/clamps.h"
#include "../world/link_clamps.h"
#include "../world/connections.h"
#include "../world/links.h"
#include "../world/names.h"
#include "../world/neighbours.h"
#include "../world/prober.h"
#include "../world/receive.h"
#include "../world/responder.h"
#include "../world/routes.h"
#include "../world/storage.h"
#include "watch.h"

/* A peer with what only watch needs to know of it. */
struct watched_peer {
	struct peer peer; /* the first, so that one leads to the other */
	struct watch *watch;
	struct name_query *query;
	enum address_family family;
	char zone_link[LINK_NAME_SIZE]; /* of a link-local address */
	bool kept;                      /* survives this reload or discovery */
	struct path paths[];            /* and their flows behind them, in the same memory */
};

struct watched_link {
	struct link_state state;
	uint64_t ipv6_read_usec;
	bool changed;                   /* since paths were last looked at */
	bool fresh;                     /* not told yet */
	bool touched;                   /* differs from what was on the bus */
	struct link_state *next_gone;
	struct findings shown;          /* the findings that are on the bus */
	struct link said;               /* as the journal told of its MTU last */
	uint64_t said_usec;             /* when; 0 never */
	struct cause cause;             /* of its last change */
	bool news;                      /* the change is to be told */
	uint64_t said_gap_usec;         /* no other change is told before; longer with each */
	uint64_t ended_usec;            /* when a finding was last said to be gone; 0 never */
	uint64_t ended_gap_usec;        /* no finding is told before; longer with each */
	bool lifting;                   /* its clamp could not be taken off as a whole yet */
	unsigned fights;                /* others took a clamp of it off */
	uint64_t retry_usec;            /* when its clamp is tried to come off */
	uint64_t trial_usec;            /* since when it is tried; 0 it is not */
	struct watched_counters *counters; /* NULL: they are not read */
};

struct watched_counters {
	struct counters counters;
	struct receive_source source;
	uint32_t mtu;                   /* the link's when its source was found out */
};

#define GONE_MOST 32U

/* Somebody waits for fresh rounds. */
struct request {
	struct request *next;
	struct bus_check *check; /* NULL: watch_when_settled() */
	struct peer *peer;       /* NULL: all */
	bool guest;              /* the peer is this request's own, and not in the roster */
	uint64_t since_usec;     /* rounds that ended before do not count */
	uint64_t until_usec;     /* then it is answered by what is known */
	unsigned place;          /* all peers before this one are done */
};

#define HINTS_MOST 64
#define IDENT_ROWS 8192U

/* Where routes may have changed. */
struct route_hints {
	unsigned count;
	bool all;
	bool gateways; /* a default route is among them */
	struct {
		struct address prefix;
		unsigned length;
	} list[HINTS_MOST];
};

/* Looks at the live TCP connections. */
struct watched_connections {
	struct connections *world;      /* NULL: the kernel does not tell */
	sd_event_source *source;
	struct tallies tallies;         /* of the look that runs */
	unsigned room;
	uint64_t due_usec, looked_usec; /* the next, the last one */
	uint64_t cost_usec;             /* of the last one */
	struct address asked_to, asked_from; /* a route that was asked for; ADDRESS_NONE none */
	int asked_link;
	unsigned reviewed;              /* paths whose routes were looked at, in turn */
	uint64_t interval_usec;         /* the shortest of all peers */
	bool restless;                  /* it showed something that moves */
	bool any;                       /* it showed a connection of some peer */
};

struct watch {
	sd_event *event;
	struct config *config;
	struct watch_options options;
	struct journal journal;
	struct links *links;
	struct routes *routes;
	struct prober *prober;
	struct responder *responder;   /* NULL: Responder=no */
	struct clamps *clamps;         /* NULL: this one treats nothing */
	struct link_clamps *link_clamps; /* NULL: no link */
	sd_event_source *trial_source;
	struct names *names;
	struct neighbours *neighbours;
	struct receive *receive;        /* NULL: counters are not read */
	struct bus *bus;
	struct metrics *metrics;       /* NULL: MetricsFile= is empty */
	struct roster roster;
	struct queue queue;
	struct queue held;             /* due, but there is no room in the budget: by due_usec */
	struct queue portless;         /* due, but no descriptor is left for their port: by due_usec */
	unsigned queue_room;           /* of each */
	unsigned ports_kept;           /* by all flows */
	bool port_free;                /* one was given back since somebody waits for it */
	uint64_t portless_usec;        /* it is tried anew without that */
	struct witnesses witnesses;
	struct pace pace;
	struct request *requests;
	unsigned guest_count, guest_paths;
	struct check *spare_checks[64]; /* of one flow */
	unsigned spare_count;
	unsigned check_count, checks_most; /* that run now, and ran at once */
	struct dossier *spare_dossier;
	struct route_hints hints;
	struct watched_connections connections;
	sd_event_source *wake_source, *settle_source, *counters_source;
	uint64_t wake_set_usec;
	uint64_t request_usec;         /* the earliest until_usec of the requests; USEC_NEVER none */
	uint64_t settled_usec, settle_gap_usec, settle_next_usec;
	uint64_t discover_usec;        /* routes are not gone through for gateways before */
	struct discovery *discovery;   /* of storage; NULL: none is looked for */
	uint64_t ignored_told_usec;    /* an ignored report is not told of before */
	bool links_dirty, gateways_dirty;
	bool lldpd_told;               /* that it is there, but closed to us */
	struct standing *standings;    /* the findings about links, in the order of the links */
	unsigned standing_count, standing_room;
	struct link gone[GONE_MOST];   /* the links that went last, in a circle */
	unsigned gone_count, gone_next;
	unsigned gone_now;             /* of these in this settling */
	sd_event_source *tell_source;
	bool tell_waits;               /* a finding is held back */
	uint64_t changes_usec;         /* changed MTUs are not told before */
	uint64_t tell_again_usec;      /* it is not looked at again before */
	bool clamps_wanted;            /* some section asks for them */
	bool may_clamp;                /* and we may */
	bool clamps_stuck;             /* one could not be taken off, or not be judged: try again */
	bool clamps_said;              /* and that was said */
	bool late;                     /* answers are read first: they have waited too */
	uint32_t burst_bytes;          /* sent since answers were last read */
	bool changed;                  /* since on_change was last called */
	void (*settled)(void *userdata);
	void *settled_userdata;
	void (*on_change)(void *userdata);
	void *on_change_userdata;
	struct flow *by_ident[IDENT_ROWS]; /* chained by flow.next_in_row */
};

static inline struct flow **ident_row(struct watch *watch, uint16_t ident)
{
	return &watch->by_ident[ident % IDENT_ROWS];
}

static inline struct watched_peer *watched_of(const struct path *path)
{
	return path->owner;
}

/* watch.c */
void watch_moment(struct moment *ret);
uint64_t watch_now(void);
/* Everything that is due. */
void watch_go_on(struct watch *watch);
int watch_open_loop(struct watch *watch);
int watch_open_prober(struct watch *watch);
int watch_open_bus(struct watch *watch);

/* due.c */
void watch_path_restart(struct watch *watch, struct path *path, uint64_t now_usec);
void watch_path_put(struct watch *watch, struct path *path);
void watch_path_remove(struct watch *watch, struct path *path); /* from its queue */
/* Until it is due, or until there is what it waits for. */
void watch_path_hold(struct watch *watch, struct path *path, enum path_wait waits);
/* The one whose turn it is; NULL none. */
struct path *watch_path_next(struct watch *watch, uint64_t now_usec);
void watch_arm(struct watch *watch);


/* flows.c */
/* Gives up what the flow holds: its ports and its identifier. */
void watch_flow_release(struct watch *watch, struct flow *flow);
/* Others may have the ports of all methods but this one. */
void watch_flow_release_ports(struct watch *watch, struct flow *flow, enum probe_kind but);
void watch_flow_choose_ident(struct watch *watch, struct flow *flow);
/* The source port is kept for us before the first probe leaves by it. Where there is no room for it
 * flows that rest make some. -EADDRINUSE: none of many is free. */
int watch_flow_keep_port(struct watch *watch, struct flow *flow, enum probe_kind kind);

/* request.c */
/* `check` NULL: watch_when_settled(); `peer` NULL: all. */
void watch_request_add(struct watch *watch, struct bus_check *check, struct peer *peer);
/* As bus_handlers.probe() */
int watch_request_probe(struct watch *watch, struct bus_check *check,
			const struct config_peer *config);
void watch_requests_serve(struct watch *watch);
/* The kernel lost packets: the guests' too. */
void watch_requests_overflow(struct watch *watch);
/* The caller of `check` is gone; or, with `check` NULL, `peer` is and its callers are answered. */
void watch_requests_forget(struct watch *watch, const struct bus_check *check,
			   const struct peer *peer);
void watch_requests_free(struct watch *watch);
void watch_requests_review(struct watch *watch);

/* path.c */
/* The path's wake_usec has come, or an answer. */
void watch_path_run(struct watch *watch, struct path *path, struct moment *moment);
/* What was not answered tells nothing: the kernel dropped packets. */
void watch_paths_overflow(struct watch *watch);
void watch_check_give_back(struct watch *watch, struct check *check);
/* As watch_look(), and the bus hears of what the kernel has learned. */
bool watch_path_look(struct watch *watch, struct path *path, uint64_t now_usec);
/* Findings may differ without a round. */
void watch_path_lint(struct watch *watch, struct path *path);

/* connections.c */
int watch_connections_init(struct watch *watch);
void watch_connections_free(struct watch *watch);
/* Peers have changed: a look at their connections is due. */
void watch_connections_review(struct watch *watch);
/* A path goes: the look that runs is worth nothing. */
void watch_connections_forget(struct watch *watch);
/* One look for those who ask once; returns when it is over. */
void watch_connections_once(struct watch *watch);

/* clamp.c */
/* Takes over what an earlier life left in the kernel. Before there are peers and threads. */
void watch_clamps_begin(struct watch *watch);
/* The configuration is new. Before its peers are taken over. */
void watch_clamps_configured(struct watch *watch);
/* Without clamps there is no need for the privilege. */
void watch_clamps_end_privilege(struct watch *watch);
/* The daemon ends, and what is clamped stays. */
void watch_clamps_leave(struct watch *watch);
/* A round of this path was judged. */
void watch_clamp_path(struct watch *watch, struct path *path);
/* Links or routes changed; before the paths are looked at. */
void watch_clamps_settle(struct watch *watch, bool links_changed);
/* Takes off what nobody wants. */
void watch_clamps_review(struct watch *watch);
/* The clamps of this peer, by this link, or with "" all. -ENOENT: there is neither. */
int watch_clamps_release(struct watch *watch, const char *name);

/* What is allowed for this path, all sections considered. */
enum clamp_kind watch_clamp_kind(const struct watch *watch, const struct path *path);
/* Something could not be taken off: it is tried again, and said once. */
void watch_clamp_is_stuck(struct watch *watch, int error);

/* clamp_link.c; all but the first and the last two want watch->link_clamps. */
void watch_clamp_links_begin(struct watch *watch);
void watch_clamp_links_settle(struct watch *watch);
void watch_clamp_links_review(struct watch *watch);
int watch_clamp_link_release(struct watch *watch, int index);
/* REFUSAL_BETTER and REFUSAL_QUORUM: a route will do. */
enum clamp_refusal watch_clamp_link_put(struct watch *watch, struct path *path, uint32_t size,
					int *ret_error);
/* True: the clamp of its link takes care of it. */
bool watch_clamp_link_path(struct watch *watch, struct path *path);
int watch_clamp_links_init(struct watch *watch);
void watch_clamp_links_off(struct watch *watch);
/* The MTU of the link before a clamp of ours; 0 it has none. */
uint32_t watch_clamp_original(const struct watch *watch, const struct link *link);

/* settle.c */
void watch_settle_soon(struct watch *watch);
int watch_settle_init(struct watch *watch);
void watch_on_link(enum link_change change, const struct link *before, const struct link *now,
		   void *userdata);
void watch_on_route(const struct address *prefix, unsigned length, void *userdata);
/* Every path of every peer. */
#define WATCH_PATHS(_watch, _path)                                                          \
	for (unsigned _i = 0; _i < (_watch)->roster.peer_count; _i++)                       \
		for (struct path *_path = (_watch)->roster.peers[_i]->paths,                \
				 *_end = _path + (_watch)->roster.peers[_i]->path_count;     \
		     _path < _end; _path++)

/* Asks the kernel about this path anew. True when what was measured is out of date. */
bool watch_look(struct watch *watch, struct path *path, uint64_t now_usec);
/* A sysctl write is in no netlink group: reads it, but not for every path anew. */
void watch_look_ipv6(struct watch *watch, int index, uint64_t now_usec);
/* Whether the routes to this address may have changed. */
bool watch_hints_hold(const struct watch *watch, const struct address *address);

/* links.c */
int watch_links_init(struct watch *watch);
/* Takes over what links have become. */
int watch_links_merge(struct watch *watch);
/* Routes changed: tunnels may lead elsewhere. */
void watch_links_reroute(struct watch *watch);
struct watched_link *watch_link(const struct watch *watch, int index);
/* Every link's expectation anew, after the configuration changed. */
void watch_links_expect(struct watch *watch);
void watch_links_free(struct watch *watch);
/* The link's own MTU, or what IPv6 uses of it. */
bool watch_link_mtu_differs(const struct link *a, const struct link *b);

/* tell.c */
/* New links, changed MTUs and findings; after the paths, who may say it already. */
void watch_links_tell(struct watch *watch, uint64_t now_usec);
int watch_tell_init(struct watch *watch);
/* To the service manager, for systemctl status. */
void watch_tell_status(const struct watch *watch);
/* The finding was told by itself and alarmed: what it explains needs no second alert. */
bool watch_tell_alarmed(const struct watch *watch, const struct finding *finding);
/* A verdict was announced: what waited for it may be told. */
void watch_tell_soon(struct watch *watch);

/* A link's findings anew; nobody is told. */
void watch_link_judge(const struct watch *watch, struct watched_link *link);
void watch_link_free(struct watched_link *link);

/* neighbours.c */
int watch_neighbours_init(struct watch *watch);
/* Links or neighbours are others now. */
void watch_neighbours_look(struct watch *watch);
/* Holds what neighbours announce against what this host sends, and against what has passed. True
 * when some finding changed: watch_links_tell(). */
bool watch_neighbours_compare(struct watch *watch);

/* counters.c */
int watch_counters_init(struct watch *watch);

/* peer.c */

/* What a peer is made of. */
struct make {
	const char *name;
	enum origin origin;
	unsigned path_count;
	unsigned flow_count;
};

/* NULL: out of memory. */
struct watched_peer *watched_peer_new(struct watch *watch, const struct make *make);
struct watched_peer *watched_peer_from_config(struct watch *watch, const struct config_peer *config);
struct watched_peer *watched_peer_from_request(struct watch *watch, const struct config_peer *config);
struct watched_peer *watched_peer_free(struct watched_peer *peer);
/* The same packets to the same place: what was learned about it stays true. */
bool watched_peer_is_same(const struct watched_peer *peer, const struct config_peer *config);
void watch_peer_resolve(struct watch *watch, struct watched_peer *peer);

static inline struct watched_peer *watched_peer_of(struct peer *peer)
{
	return (void *)peer;
}

/* discover.c */

/* A list of peers in the making. */
struct crowd {
	struct peer **list;
	unsigned count;
	unsigned room;
};

/* Adds everybody discovered who is not in the crowd yet. */
int crowd_add_discovered(struct watch *watch, struct crowd *crowd);

/* storage.c */

/* One way to storage in use, and since when it was not seen. */
struct found {
	struct found *next;
	struct watch *watch;
	struct storage storage;   /* with its address, once it is known */
	struct name_query *query;
	uint64_t seen_usec;       /* last */
	uint64_t lookup_usec;     /* when its name is to be looked up again */
	bool present;             /* it was there when storage was last looked for */
	bool said;                /* that it is not watched */
};

struct discovery {
	struct storage_room *room;
	struct found *found;
	unsigned count;
	sd_event_source *timer;   /* when the first of those that are gone is given up */
	bool changed;             /* since peers were last made of it */
	bool said_full;
};

/* Begins or ends looking for storage, as configured; what there is now is known when it returns. */
void watch_storage_configure(struct watch *watch);
void watch_storage_free(struct watch *watch);
/* Peers of storage may be about to appear: host names are being looked up for the first time. */
bool watch_storage_is_pending(const struct watch *watch);
void watch_storage_say_full(struct watch *watch, unsigned most);

/* peers.c */
int crowd_add(struct crowd *crowd, struct watched_peer *peer);
int watch_peers_configure(struct watch *watch);
int watch_peers_discover(struct watch *watch);
void watch_peers_free(struct watch *watch);
/* A peer that is not in the roster; its paths are due at once, or when its name is looked up. */
int watch_guest_new(struct watch *watch, const struct config_peer *config,
		    struct watched_peer **ret);
/* Places in the interval and the load on the budget anew. */
void watch_peers_spread(struct watch *watch);
