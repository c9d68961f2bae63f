/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Says what changes, as it changes: verdicts, links' MTUs, the daemon coming and going. Ends by
 * Ctrl-C, and not because the daemon or the bus is restarted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../core/text.h"
#include "../face/words.h"
#include "remote.h"
#include "show.h"

#define AGAIN_SEC 1

struct monitor {
	const struct command *command;
	struct remote *remote;
	bool begun;   /* was connected once */
	bool gone;    /* the daemon; said already */
	char **links; /* objects to be looked at, each once */
	unsigned link_count, link_room;
};

static uint64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Takes `event` over and completes it. */
static void event_print_json(const struct monitor *monitor, const char *what,
			     struct json_object *event)
{
	_drop_ struct json_object *all = json_object_new_object();
	int r = document_put(all, "TimeUSec", json_object_new_uint64(now_usec()));

	r |= document_put(all, "Event", json_object_new_string(what));
	json_object_object_foreach(event, key, value)
		r |= document_put(all, key, json_object_get(value));
	json_object_put(event);
	if (r < 0 || show_json(monitor->command, all) < 0)
		fputs("mtuwatchctl: out of memory\n", stderr);
}

static void stamp_print(void)
{
	time_t now = time(NULL);
	struct tm local;
	char text[32] = "";

	if (localtime_r(&now, &local))
		strftime(text, sizeof(text), "%H:%M:%S", &local);
	printf("%s ", text);
}

static bool is_json(const struct monitor *monitor)
{
	return monitor->command->form != REPORT_TABLE;
}

static void text_print(const struct monitor *monitor, enum severity severity, const char *word,
		       const char *text)
{
	bool colour = monitor->command->colour && severity != SEVERITY_NONE;

	stamp_print();
	printf("%s%s%s:", colour ? report_colour(severity) : "", word, colour ? "\033[0m" : "");
	report_wrap(stdout, text, (unsigned)strlen(word) + 10, monitor->command->width);
}

static void daemon_print(struct monitor *monitor, bool gone)
{
	struct json_object *event;

	if (gone == monitor->gone)
		return;
	monitor->gone = gone;
	event = json_object_new_object();
	if (is_json(monitor)) {
		event_print_json(monitor, gone ? "gone" : "back", event);
		return;
	}
	json_object_put(event);
	text_print(monitor, SEVERITY_NONE, "mtuwatchd", gone ? "is not there" : "is there");
}

/* --- verdicts --- */

static void verdict_print(const struct monitor *monitor, const char *peer, const char *before,
			  const char *after, struct json_object *details)
{
	struct json_object *event;

	if (!is_json(monitor)) {
		enum severity severity = document_severity(details);
		char text[1024];

		snprintf(text, sizeof(text), "%s; was %s", document_text(details, "Text"), before);
		text_clean(text, '\0');
		text_print(monitor, severity, words_severity(severity), text);
		return;
	}
	event = json_object_new_object();
	document_put(event, "Peer", document_string(peer));
	document_put(event, "Before", document_string(before));
	document_put(event, "After", document_string(after));
	document_put(event, "Details", json_object_get(details));
	event_print_json(monitor, "verdict", event);
}

static int on_verdict(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	_drop_ struct json_object *details = NULL;
	const char *peer, *object, *before, *after;
	int r = sd_bus_message_read(message, "soss", &peer, &object, &before, &after);

	if (r >= 0)
		r = document_from_message(message, &details);
	if (r >= 0)
		verdict_print(userdata, peer, before, after, details);
	return 0;
}

/* --- links --- */

static void link_print(const struct monitor *monitor, struct json_object *link)
{
	enum severity severity = document_severity(link);
	const char *finding = document_text(document_at(link, "Findings", 0), "Text");
	char text[1024];

	if (is_json(monitor)) {
		struct json_object *event = json_object_new_object();

		json_object_object_add(event, "Link", json_object_get(link));
		event_print_json(monitor, "link", event);
		return;
	}
	snprintf(text, sizeof(text), "link %s: MTU %" PRIu64 ", %s%s%s",
		 document_text(link, "Name"), document_number(link, "MTU"),
		 document_number(link, "Up") ? "up" : "down", finding[0] ? "; " : "", finding);
	text_print(monitor, severity, words_severity(severity), text);
}

static int link_put(struct monitor *monitor, const char *path)
{
	if (monitor->link_count == monitor->link_room) {
		unsigned room = monitor->link_room ? 2 * monitor->link_room : 64;
		char **links = reallocarray(monitor->links, room, sizeof(*links));

		if (!links)
			return -ENOMEM;
		monitor->links = links;
		monitor->link_room = room;
	}
	monitor->links[monitor->link_count] = strdup(path);
	if (!monitor->links[monitor->link_count])
		return -ENOMEM;
	monitor->link_count++;
	return 0;
}

static int on_link(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *path = sd_bus_message_get_path(message);
	struct monitor *monitor = userdata;

	for (unsigned i = 0; i < monitor->link_count; i++)
		if (strcmp(monitor->links[i], path) == 0)
			return 0;
	/* an error ends the connection: nothing is left out in silence */
	return link_put(monitor, path);
}

/* A link as it is now, whichever of its properties were signalled. In the order of their changes. */
static void monitor_look(struct monitor *monitor)
{
	_drop_ struct json_object *link = NULL;
	char *path = monitor->links[0];

	memmove(monitor->links, monitor->links + 1,
		--monitor->link_count * sizeof(*monitor->links));
	if (remote_properties(monitor->remote, path, BUS_NAME ".Link", &link) >= 0)
		link_print(monitor, link);
	free(path);
}

/* What waits to be looked at is of no use to another connection. */
static void monitor_forget(struct monitor *monitor)
{
	for (unsigned i = 0; i < monitor->link_count; i++)
		free(monitor->links[i]);
	free(monitor->links);
	monitor->links = NULL;
	monitor->link_count = monitor->link_room = 0;
}

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *name, *before, *after;

	if (sd_bus_message_read(message, "sss", &name, &before, &after) >= 0)
		daemon_print(userdata, !after[0]);
	return 0;
}

/* --- life --- */

static int monitor_listen(struct monitor *monitor, struct remote *remote)
{
	static const struct {
		const char *match;
		sd_bus_message_handler_t handler;
	} list[] = {
		{"type='signal',sender='" BUS_NAME "',interface='" BUS_MANAGER
		 "',member='VerdictChanged'",
		 on_verdict},
		{"type='signal',sender='" BUS_NAME
		 "',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
		 "path_namespace='" BUS_ROOT "/link',arg0='" BUS_NAME ".Link'",
		 on_link},
		{"type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0="
		 "'" BUS_NAME "'",
		 on_owner},
	};

	for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		int r = sd_bus_add_match(remote->bus, NULL, list[i].match, list[i].handler,
					 monitor);

		if (r < 0)
			return remote_failed(remote, r, "listening");
	}
	return 0;
}

/* The first connection has to work; a later one is tried until it does. */
static int monitor_once(struct monitor *monitor, struct remote *remote)
{
	char *version = NULL;
	int r;

	monitor->remote = remote;
	r = monitor_listen(monitor, remote);
	if (r >= 0)
		r = remote_version(remote, &version);
	free(version);
	if (r < 0)
		return r;
	monitor->begun = true;
	daemon_print(monitor, false);
	/* once nobody gets what is printed there is nothing to wait for */
	while (r >= 0 && !ferror(stdout)) {
		r = sd_bus_process(remote->bus, NULL);
		if (r == 0 && monitor->link_count > 0)
			monitor_look(monitor);
		else if (r == 0)
			r = sd_bus_wait(remote->bus, UINT64_MAX);
		if (r == -EINTR)
			r = 0;
	}
	return r;
}

static int monitor_run(struct monitor *monitor)
{
	while (true) {
		struct remote remote;
		int r = remote_open(&remote, monitor->command);

		if (r >= 0)
			r = monitor_once(monitor, &remote);
		monitor_forget(monitor);
		if (r < 0 && !monitor->begun) {
			int status = remote_complain(&remote, monitor->command);

			remote_done(&remote);
			return status;
		}
		remote_done(&remote);
		if (ferror(stdout))
			return EXIT_UNABLE;
		daemon_print(monitor, true);
		nanosleep(&(struct timespec){.tv_sec = AGAIN_SEC}, NULL);
	}
}

int verb_monitor(const struct command *command)
{
	struct monitor monitor = {.command = command};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (command->terminal && command->form == REPORT_TABLE && !command->no_legend)
		puts("What changes from now on; Ctrl-C ends it.");
	return monitor_run(&monitor);
}
