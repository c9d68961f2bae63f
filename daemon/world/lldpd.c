/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two conversations with lldpd: one in which it says that something changed, one that asks what
 * there is. liblldpctl reads and writes by two functions of ours that never block: where there is
 * nothing to read it gives up and is called again. What lldpd says came over a cable.
 */
#include "lldpd.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <lldp-const.h>

#include "lldp.h"
#include "lldpd_library.h"
#include "same_network.h"

#define ANSWER_USEC (5 * USEC_PER_SEC)
#define SOON_USEC (200 * USEC_PER_MSEC)
#define AGAIN_USEC (60 * USEC_PER_SEC)
#define PORTS_MOST 1024

struct conversation {
	lldpctl_conn_t *connection; /* NULL: there is none */
	int fd;
	sd_event_source *source;
};

struct lldpd {
	sd_event *event;
	struct sockaddr_un address;
	lldpd_handler_t handler;
	void *userdata;
	struct lldpd_library library;
	struct conversation watch, query;
	bool watching;		/* it knows that we want to hear */
	sd_event_source *timer; /* for the next query, or the end of this one */
	uint64_t asked_usec;
	/* the running query */
	lldpctl_atom_t *ports, *port;
	lldpctl_atom_iter_t *position;
	unsigned port_count;
	struct cables found;
};

static uint64_t now_of(struct lldpd *lldpd)
{
	uint64_t now = 0;

	sd_event_now(lldpd->event, CLOCK_MONOTONIC, &now);
	return now;
}

/* --- reading and writing --- */

static ssize_t outcome(ssize_t n)
{
	if (n > 0)
		return n;
	if (n == 0)
		return LLDPCTL_ERR_EOF;
	return errno == EAGAIN || errno == EINTR ? LLDPCTL_ERR_WOULDBLOCK
						 : LLDPCTL_ERR_CALLBACK_FAILURE;
}

static ssize_t on_send(lldpctl_conn_t *connection, const uint8_t *data, size_t length,
		       void *userdata)
{
	const struct conversation *conversation = userdata;

	return outcome(send(conversation->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL));
}

static ssize_t on_receive(lldpctl_conn_t *connection, const uint8_t *data, size_t length,
			  void *userdata)
{
	const struct conversation *conversation = userdata;

	return outcome(recv(conversation->fd, (void *)(uintptr_t)data, length, MSG_DONTWAIT));
}

/* --- a conversation --- */

static void conversation_end(struct lldpd *lldpd, struct conversation *conversation)
{
	if (!conversation->connection)
		return;
	conversation->source = sd_event_source_disable_unref(conversation->source);
	lldpd->library.release(conversation->connection);
	close(conversation->fd);
	memset(conversation, 0, sizeof(*conversation));
}

static int socket_connect(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

static int conversation_begin(struct lldpd *lldpd, struct conversation *conversation,
			      sd_event_io_handler_t handler)
{
	int r = socket_connect(&lldpd->address);

	if (r < 0)
		return r;
	conversation->fd = r;
	/* of other links than ours: their names would mislead */
	r = same_network_as_peer(conversation->fd) ? 0 : -ENOENT;
	if (r >= 0 && !lldpd->library.handle)
		r = lldpd_library_open(&lldpd->library);
	if (r >= 0)
		conversation->connection = lldpd->library.new_name(lldpd->address.sun_path, on_send,
								   on_receive, conversation);
	if (!conversation->connection) {
		close(conversation->fd);
		return r < 0 ? r : -ENOMEM;
	}
	r = sd_event_add_io(lldpd->event, &conversation->source, conversation->fd, EPOLLIN, handler,
			    lldpd);
	if (r < 0)
		conversation_end(lldpd, conversation);
	return r;
}

static bool is_blocked(struct lldpd *lldpd, const struct conversation *conversation)
{
	return lldpd->library.last_error(conversation->connection) == LLDPCTL_ERR_WOULDBLOCK;
}

/* --- the query --- */

static void atom_drop(struct lldpd *lldpd, lldpctl_atom_t **atom)
{
	if (*atom)
		lldpd->library.atom_dec_ref(*atom);
	*atom = NULL;
}

static void query_end(struct lldpd *lldpd)
{
	atom_drop(lldpd, &lldpd->port);
	atom_drop(lldpd, &lldpd->ports);
	lldpd->position = NULL;
	lldpd->port_count = 0;
	cables_done(&lldpd->found);
	conversation_end(lldpd, &lldpd->query);
	sd_event_source_set_enabled(lldpd->timer, SD_EVENT_OFF);
}

/* What it said is not known to be true any more. */
static void forget(struct lldpd *lldpd)
{
	struct cables none = {0};

	query_end(lldpd);
	conversation_end(lldpd, &lldpd->watch);
	lldpd->watching = false;
	lldpd->handler(&none, lldpd->userdata);
}

static struct lldp_text text_of(struct lldpd *lldpd, lldpctl_atom_t *atom, lldpctl_key_t key)
{
	const char *text = lldpd->library.atom_get_str(atom, key);

	return (struct lldp_text){(const uint8_t *)text, text ? strlen(text) : 0};
}

static bool is_number(long subtype, const struct lldp_text *id)
{
	switch (subtype) {
	case LLDP_PORTID_SUBTYPE_LLADDR:
	case LLDP_PORTID_SUBTYPE_ADDR:
	case LLDP_PORTID_SUBTYPE_AGENTCID:
		return true;
	case LLDP_PORTID_SUBTYPE_LOCAL:
		return id->length > 0 &&
		       strspn((const char *)id->bytes, "0123456789") == id->length;
	default:
		return false;
	}
}

static int take_neighbour(struct lldpd *lldpd, lldpctl_atom_t *atom, int link)
{
	const struct lldpd_library *call = &lldpd->library;
	lldpctl_atom_t *chassis = call->atom_get(atom, lldpctl_k_port_chassis);
	struct cable cable = {.link = link};
	struct lldp_said said = {
		.port = text_of(lldpd, atom, lldpctl_k_port_id),
		.description = text_of(lldpd, atom, lldpctl_k_port_descr),
	};
	long frame = call->atom_get_int(atom, lldpctl_k_port_dot3_mfs), capabilities;

	if (!chassis)
		return 0;
	said.chassis = text_of(lldpd, chassis, lldpctl_k_chassis_id);
	said.system = text_of(lldpd, chassis, lldpctl_k_chassis_name);
	said.port_is_number =
		is_number(call->atom_get_int(atom, lldpctl_k_port_id_subtype), &said.port);
	/* none available: it did not say */
	capabilities = call->atom_get_int(chassis, lldpctl_k_chassis_cap_available);
	if (capabilities > 0)
		capabilities = call->atom_get_int(chassis, lldpctl_k_chassis_cap_enabled);
	else
		capabilities = LLDP_CAP_BRIDGE;
	lldp_name(&said, &cable.neighbour);
	cable.neighbour.is_switch = (capabilities & LLDP_CAP_BRIDGE) != 0;
	cable.neighbour.max_frame = frame > 0 && frame <= UINT16_MAX ? (uint32_t)frame : 0;
	atom_drop(lldpd, &chassis);
	return cables_put(&lldpd->found, &cable);
}

static int take_port(struct lldpd *lldpd, lldpctl_atom_t *port, int link)
{
	const struct lldpd_library *call = &lldpd->library;
	lldpctl_atom_t *all = call->atom_get(port, lldpctl_k_port_neighbors);
	lldpctl_atom_iter_t *position = all ? call->atom_iter(all) : NULL;
	int r = 0;

	for (; position && r >= 0; position = call->atom_iter_next(all, position)) {
		lldpctl_atom_t *one = call->atom_iter_value(all, position);

		/* hidden: lldpd itself holds it to be somebody behind a hub */
		if (one && call->atom_get_int(one, lldpctl_k_port_hidden) <= 0)
			r = take_neighbour(lldpd, one, link);
		atom_drop(lldpd, &one);
	}
	atom_drop(lldpd, &all);
	return r;
}

/* 0: done with this one; -EAGAIN: its answer is not here yet. */
static int ask_port(struct lldpd *lldpd)
{
	const struct lldpd_library *call = &lldpd->library;
	lldpctl_atom_t *port;
	const char *name;
	int link, r = 0;

	if (!lldpd->port)
		lldpd->port = call->atom_iter_value(lldpd->ports, lldpd->position);
	if (!lldpd->port)
		return -EBADMSG;
	port = call->get_port(lldpd->port);
	if (!port)
		return is_blocked(lldpd, &lldpd->query) ? -EAGAIN : -EBADMSG;
	name = call->atom_get_str(lldpd->port, lldpctl_k_interface_name);
	link = name ? (int)if_nametoindex(name) : 0;
	if (link)
		r = take_port(lldpd, port, link);
	atom_drop(lldpd, &port);
	atom_drop(lldpd, &lldpd->port);
	return r;
}

static int query_run(struct lldpd *lldpd)
{
	const struct lldpd_library *call = &lldpd->library;

	if (!lldpd->ports) {
		lldpd->ports = call->get_interfaces(lldpd->query.connection);
		if (!lldpd->ports)
			return is_blocked(lldpd, &lldpd->query) ? -EAGAIN : -EBADMSG;
		lldpd->position = call->atom_iter(lldpd->ports);
	}
	while (lldpd->position && lldpd->port_count < PORTS_MOST) {
		int r = ask_port(lldpd);

		if (r < 0)
			return r;
		lldpd->port_count++;
		lldpd->position = call->atom_iter_next(lldpd->ports, lldpd->position);
	}
	return 0;
}

static void query_step(struct lldpd *lldpd)
{
	struct cables found;
	int r = query_run(lldpd);

	if (r == -EAGAIN)
		return;
	if (r < 0) {
		forget(lldpd);
		return;
	}
	found = lldpd->found;
	memset(&lldpd->found, 0, sizeof(lldpd->found));
	query_end(lldpd);
	lldpd->handler(&found, lldpd->userdata);
}

static int on_query(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	query_step(userdata);
	return 0;
}

static void timer_set(struct lldpd *lldpd, uint64_t in_usec)
{
	sd_event_source_set_time(lldpd->timer, now_of(lldpd) + in_usec);
	sd_event_source_set_enabled(lldpd->timer, SD_EVENT_ONESHOT);
}

static int query_begin(struct lldpd *lldpd)
{
	int r = conversation_begin(lldpd, &lldpd->query, on_query);

	if (r < 0)
		return r;
	lldpd->asked_usec = now_of(lldpd);
	timer_set(lldpd, ANSWER_USEC);
	query_step(lldpd);
	return 0;
}

/* No answer in time, or the moment for a new query. */
static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct lldpd *lldpd = userdata;

	if (lldpd->query.connection || query_begin(lldpd) < 0)
		forget(lldpd);
	return 0;
}

/* --- the watch --- */

static void on_change(lldpctl_change_t type, lldpctl_atom_t *interface, lldpctl_atom_t *neighbor,
		      void *data)
{
}

/* What changed is asked for: here it only counts that something did. False: lldpd is gone. */
static bool watch_drain(struct lldpd *lldpd, bool *ret_any)
{
	char buffer[4096];
	ssize_t n;

	*ret_any = false;
	while ((n = recv(lldpd->watch.fd, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0)
		*ret_any = true;
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void watch_step(struct lldpd *lldpd)
{
	bool news = true;

	if (!lldpd->watching) {
		lldpd->watching = lldpd->library.watch_callback2(lldpd->watch.connection, on_change,
								 lldpd) == 0;
		if (!lldpd->watching) {
			if (!is_blocked(lldpd, &lldpd->watch))
				forget(lldpd);
			return;
		}
	} else if (!watch_drain(lldpd, &news)) {
		forget(lldpd);
		return;
	}
	if (news && !lldpd->query.connection)
		timer_set(lldpd, lldpd->asked_usec ? SOON_USEC : 0);
}

static int on_watch(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	watch_step(userdata);
	return 0;
}

/* --- life --- */

int lldpd_look(struct lldpd *lldpd)
{
	int r;

	if (lldpd->watch.connection) {
		if (!lldpd->query.connection && now_of(lldpd) - lldpd->asked_usec >= AGAIN_USEC)
			timer_set(lldpd, 0);
		return 0;
	}
	r = conversation_begin(lldpd, &lldpd->watch, on_watch);
	/* a socket that nobody listens at is left over */
	if (r < 0)
		return r == -ECONNREFUSED ? -ENOENT : r;
	timer_set(lldpd, ANSWER_USEC);
	watch_step(lldpd);
	return 0;
}

int lldpd_new(struct lldpd **ret, sd_event *event, const char *path, lldpd_handler_t handler,
	      void *userdata)
{
	struct lldpd *lldpd = calloc(1, sizeof(*lldpd));
	int r;

	if (!lldpd)
		return -ENOMEM;
	lldpd->event = sd_event_ref(event);
	lldpd->handler = handler;
	lldpd->userdata = userdata;
	lldpd->address.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(lldpd->address.sun_path)) {
		lldpd_free(lldpd);
		return -ENAMETOOLONG;
	}
	memcpy(lldpd->address.sun_path, path, strlen(path) + 1);
	r = sd_event_add_time(event, &lldpd->timer, CLOCK_MONOTONIC, UINT64_MAX, 0, on_timer,
			      lldpd);
	if (r >= 0)
		r = sd_event_source_set_enabled(lldpd->timer, SD_EVENT_OFF);
	if (r < 0) {
		lldpd_free(lldpd);
		return r;
	}
	*ret = lldpd;
	return 0;
}

struct lldpd *lldpd_free(struct lldpd *lldpd)
{
	if (!lldpd)
		return NULL;
	query_end(lldpd);
	conversation_end(lldpd, &lldpd->watch);
	sd_event_source_disable_unref(lldpd->timer);
	lldpd_library_close(&lldpd->library);
	sd_event_unref(lldpd->event);
	free(lldpd);
	return NULL;
}
