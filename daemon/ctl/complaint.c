/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why the daemon could not be asked, or would not do it, in words for people, and the exit code.
 */
#include "remote.h"

#include "../core/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define DBUS_ERROR "org.freedesktop.DBus.Error."

__attribute__((format(printf, 3, 4))) static void explain(struct remote *remote, int status,
							  const char *format, ...)
{
	va_list arguments;

	free(remote->words);
	remote->words = NULL;
	remote->status = status;
	va_start(arguments, format);
	if (vasprintf(&remote->words, format, arguments) < 0)
		remote->words = NULL;
	va_end(arguments);
	/* it may be another host's word */
	if (remote->words)
		text_clean(remote->words, '\n');
}

static void explain_connection(struct remote *remote, int r)
{
	if (remote->at_other_host)
		explain(remote, EXIT_UNABLE,
			"the other host's bus cannot be reached (%s): does "
			"\"ssh\" to it work, and is systemd-stdio-bridge there?",
			strerror(-r));
	else if (r == -ENOENT || r == -ECONNREFUSED)
		explain(remote, EXIT_UNABLE,
			"there is no system bus: D-Bus is not running here; "
			"\"mtuwatchd --once\" works without it");
	else if (r == -EACCES || r == -EPERM)
		explain(remote, EX_NOPERM, "the system bus refuses the connection");
	else
		explain(remote, EXIT_UNABLE, "the system bus cannot be reached: %s", strerror(-r));
}

int remote_failed(struct remote *remote, int error, const char *what)
{
	if (error == -ENOMEM)
		explain(remote, EXIT_UNABLE, "out of memory");
	else if (!what)
		explain_connection(remote, error);
	else
		explain(remote, EXIT_UNABLE, "%s: %s", what, strerror(-error));
	return error;
}

static bool name_is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static bool name_begins(const char *name, const char *begin)
{
	return strncmp(name, begin, strlen(begin)) == 0;
}

/* Nobody has the name, and the bus could not start who should have. */
static bool is_absent_daemon(const char *name)
{
	static const char *const list[] = {
		DBUS_ERROR "ServiceUnknown",
		DBUS_ERROR "NameHasNoOwner",
		DBUS_ERROR "TimedOut",
		NULL,
	};

	return name_is_one_of(name, list) || name_begins(name, DBUS_ERROR "Spawn.") ||
	       name_begins(name, "org.freedesktop.systemd1.");
}

static void explain_absence(struct remote *remote)
{
	remote->broken = true;
	explain(remote, EXIT_UNABLE, "mtuwatchd is not running: systemctl enable --now mtuwatchd");
}

static bool is_missing_method(const char *name)
{
	static const char *const list[] = {
		DBUS_ERROR "UnknownMethod",
		DBUS_ERROR "UnknownInterface",
		DBUS_ERROR "NotSupported",
		NULL,
	};

	return name_is_one_of(name, list);
}

static bool is_of_bus(const char *sender)
{
	return sender && strcmp(sender, "org.freedesktop.DBus") == 0;
}

static void explain_denied(struct remote *remote, const char *name, const char *sender)
{
	remote->denied = true;
	remote->locked = strcmp(name, DBUS_ERROR "InteractiveAuthorizationRequired") == 0;
	if (is_of_bus(sender))
		explain(remote, EX_NOPERM,
			"the bus does not let this user talk to mtuwatchd: its policy says so");
	else if (remote->locked)
		explain(remote, EX_NOPERM,
			"not authorised without a password: use a terminal, or sudo");
	else
		explain(remote, EX_NOPERM, "not authorised: try it with sudo");
}

/* ssh has said on stderr what is wrong. */
static void explain_silence(struct remote *remote)
{
	remote->broken = true;
	if (remote->at_other_host && !remote->answered)
		explain(remote, EXIT_UNABLE, "the other host's bus cannot be reached");
	else
		explain(remote, EXIT_UNABLE,
			"mtuwatchd does not answer: systemctl status mtuwatchd");
}

void remote_explain(struct remote *remote, const sd_bus_error *error, const char *sender, int r)
{
	const char *name = error && error->name ? error->name : "";
	const char *text = error && error->message ? error->message : "";

	remote->denied = remote->locked = remote->absent = remote->broken = remote->large = false;
	if (is_absent_daemon(name)) {
		explain_absence(remote);
	} else if (strcmp(name, DBUS_ERROR "AccessDenied") == 0 ||
		   strcmp(name, DBUS_ERROR "InteractiveAuthorizationRequired") == 0) {
		explain_denied(remote, name, sender);
	} else if (strcmp(name, DBUS_ERROR "NoReply") == 0 ||
		   strcmp(name, DBUS_ERROR "Disconnected") == 0 ||
		   strcmp(name, DBUS_ERROR "Timeout") == 0) {
		explain_silence(remote);
	} else if (is_missing_method(name)) {
		explain(remote, EXIT_UNABLE, "this version of mtuwatchd cannot do that");
	} else if (strcmp(name, BUS_NAME ".BadConfig") == 0) {
		explain(remote, EX_CONFIG, "%s", text);
	} else if (strcmp(name, BUS_NAME ".BadAddress") == 0 ||
		   strcmp(name, DBUS_ERROR "InvalidArgs") == 0) {
		explain(remote, EX_USAGE, "%s", text);
	} else if (is_of_bus(sender)) {
		explain_absence(remote);
	} else if (name[0]) {
		remote->absent = strcmp(name, BUS_NAME ".NoSuchPeer") == 0 ||
				 strcmp(name, DBUS_ERROR "UnknownObject") == 0;
		remote->large = strcmp(name, DBUS_ERROR "LimitsExceeded") == 0;
		explain(remote, EXIT_UNABLE, "%s", text[0] ? text : name);
	} else {
		remote->broken = true;
		explain_connection(remote, r);
	}
}

/* A plugin has one line on stdout and no other exit code. */
static int complain_nagios(const char *words)
{
	printf("MTU UNKNOWN - %.*s\n", (int)strcspn(words, "\n|"), words);
	return EXIT_UNABLE;
}

int remote_complain(const struct remote *remote, const struct command *command)
{
	const char *words = remote->words ? remote->words : "out of memory";

	if (command->nagios)
		return complain_nagios(words);
	while (*words) {
		size_t length = strcspn(words, "\n");

		fprintf(stderr, "mtuwatchctl: %.*s\n", (int)length, words);
		words += length + strspn(words + length, "\n");
	}
	return remote->status;
}
