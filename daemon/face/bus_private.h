/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the bus share: the connection, and a caller that waits.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "bus.h"

#define BUS_NAME "org.mtuwatch1"
#define BUS_ROOT "/org/mtuwatch1"
#define BUS_PEERS BUS_ROOT "/peer"
#define BUS_LINKS BUS_ROOT "/link"
#define BUS_MANAGER BUS_NAME ".Manager"
#define BUS_PEER BUS_NAME ".Peer"
#define BUS_LINK BUS_NAME ".Link"

#define BUS_WAITING_LARGEST 64 /* callers that wait for rounds */
#define BUS_WAITING_OTHERS 48 /* while there are so many, root alone may join them */
#define BUS_CALLERS_LARGEST 448 /* connections that are known; the bus grants us 512 matches, and one
				 * user 256 connections */
#define BUS_SHARE 32U /* calls of a user, or of a connection whose user is not known yet */

/* What the manager said last about the whole. */
struct bus_totals {
	enum verdict verdict;
	enum severity severity;
	unsigned peers, peers_faulty, links, links_faulty, clamped;
};

/*
 * What is to be done for a caller that is allowed to. Positive: the check waits on, its owner
 * will end it; 0: answered; negative: the errno or `error` is the answer.
 */
typedef int (*bus_allowed_t)(struct bus_check *check, sd_bus_error *error);

/* A connection that called. */
struct bus_caller {
	struct bus *bus;
	sd_bus_slot *leaving;  /* tells that it left the bus */
	sd_bus_slot *question; /* who it is */
	uint32_t uid;
	bool known;            /* the user */
	unsigned checks;       /* that it waits for */
	struct bus_caller *previous, *next;
	char name[];
};

enum check_stage {
	CHECK_UNKNOWN, /* who calls */
	CHECK_QUEUED,  /* until polkit may be asked */
	CHECK_ASKED,   /* polkit is */
	CHECK_WAITING, /* with handlers.check() or probe() */
};

struct bus_check {
	struct bus *bus;
	struct bus_caller *caller;
	sd_bus_message *call;
	struct bus_question *question; /* of ours to polkit; NULL too where another's is ours */
	const char *action;
	bool interactive; /* a person may be asked for a password */
	enum check_stage stage;
	bus_allowed_t allowed;
	struct bus_check *previous, *next;
};

struct bus {
	sd_event *event;
	const struct roster *roster;
	struct journal *journal;
	struct bus_handlers handlers;
	void *userdata;

	sd_bus *connection;            /* NULL between two attempts */
	bool ready;                    /* the name was asked for: somebody can hear us */
	bool named;                    /* and is ours */
	int said;                      /* the last complaint about the connection */
	bool refused;                  /* the name, when it was asked for last */
	sd_event_source *retry;
	sd_event_source *totals_later;
	struct bus_totals totals;
	sd_bus_vtable *peer_vtable;    /* made from report_peer_fields */
	sd_bus_vtable *link_vtable;
	struct news *news;             /* see bus_news.c */
	unsigned news_first, news_count, news_room;
	sd_event_source *news_source;
	struct bus_whole *whole;       /* see bus_whole.c */
	size_t message_largest;        /* bytes that the bus lets through */
	uint64_t call_usec;            /* when the call that is served came; 0 none */
	uint64_t rest_usec;            /* that is owed to the rounds */
	sd_event_source *rest_source, *turn_source;
	struct bus_check *checks;      /* the last one first */
	unsigned waiting;
	struct bus_caller *callers;    /* the last one first */
	unsigned caller_count;
	struct bus_question *questions; /* see bus_polkit.c */
};

/* bus_manager.c */
int bus_manager_add(struct bus *bus);
/* From now on the check waits for its owner; 0, or that there are too many already. */
int bus_check_wait(struct bus_check *check, sd_bus_error *error);
struct bus_totals bus_totals_now(const struct bus *bus);

/* Somebody can hear us. */
static inline bool bus_is_heard(const struct bus *bus)
{
	return bus && bus->ready;
}

/* At once; 0 or a negative errno. */
int bus_send_verdict(struct bus *bus, const struct peer *peer, const struct path *path,
		     enum verdict before);

/* bus.c: after each turn of the loop */
void bus_look_after(struct bus *bus);

/* bus_news.c */
int bus_news_init(struct bus *bus);
void bus_news_drop(struct bus *bus); /* nobody hears us any more */

/* bus_rest.c */
int bus_rest_init(struct bus *bus);
int bus_rest_add(struct bus *bus);
uint64_t bus_now(void); /* CLOCK_MONOTONIC */

/* bus_whole.c */
int bus_whole_init(struct bus *bus);
int bus_whole_add(struct bus *bus);
void bus_whole_leave(struct bus *bus); /* nobody waits any more */
void bus_whole_done(struct bus *bus);
int bus_method_describe(sd_bus_message *call, void *userdata, sd_bus_error *error);
/* Answers this call of CheckAll, now or later: all peers are measured. */
int bus_whole_checked(struct bus *bus, sd_bus_message *call, sd_bus_error *error);

/* bus_signals.c: at once; 0 or a negative errno */
int bus_send_peer_changed(struct bus *bus, const struct peer *peer);
int bus_send_peer_added(struct bus *bus, const struct peer *peer);
int bus_send_peer_removed(struct bus *bus, const char *name);

/* bus_objects.c */
int bus_objects_make(struct bus *bus); /* the vtables, once */
int bus_objects_add(struct bus *bus);
/* Return how many bytes they took at most, or a negative errno. */
int bus_append_peer(sd_bus_message *message, const struct peer *peer);
int bus_append_path(sd_bus_message *message, const struct peer *peer, const struct path *path);
int bus_append_link(sd_bus_message *message, const struct link_state *link);
char *bus_peer_path(const char *name);
char *bus_link_path(int index);

/* bus_polkit.c */
int bus_authorize(struct bus *bus, sd_bus_message *call, const char *action,
		  bus_allowed_t allowed, sd_bus_error *error);
void bus_checks_go_on(struct bus_caller *caller); /* it is known now */
void bus_questions_drop(struct bus *bus);         /* the bus is gone */
void bus_question_leave(struct bus_check *check); /* whoever asked does not wait any more */

/* bus_waiting.c */
struct bus_check *bus_check_new(struct bus_caller *caller, sd_bus_message *call);
struct bus_check *bus_check_free(struct bus_check *check);
void bus_checks_drop(struct bus *bus, const struct bus_caller *caller); /* it left */
/* Of one user, whatever they wait for. */
unsigned bus_checks_of_user(const struct bus *bus, uint32_t uid);
/* The first that came, of this caller or, with NULL, of all. */
struct bus_check *bus_check_first(const struct bus *bus, const struct bus_caller *caller,
				  enum check_stage stage);

/* bus_callers.c */
/* -EBUSY: there are too many. */
int bus_caller_of(struct bus *bus, const char *name, struct bus_caller **ret);
void bus_callers_drop(struct bus *bus); /* the bus is gone, and every caller with it */

/* bus_probe.c */
int bus_method_probe(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* bus_log_control.c */
int bus_log_control_add(struct bus *bus);
