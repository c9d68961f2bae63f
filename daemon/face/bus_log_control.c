/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * org.freedesktop.LogControl1 (that interface's manual page is org.freedesktop.LogControl1(5)),
 * so that "systemctl service-log-level mtuwatchd" works. Only turns the journal's knobs.
 */
#include "bus_private.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

static const char *const level_names[] = {
	[LOG_EMERG] = "emerg", [LOG_ALERT] = "alert",	  [LOG_CRIT] = "crit",
	[LOG_ERR] = "err",     [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
	[LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
};

static int level_get(sd_bus *connection, const char *path, const char *interface,
		     const char *property, sd_bus_message *reply, void *userdata,
		     sd_bus_error *error)
{
	const struct bus *bus = userdata;

	return sd_bus_message_append(reply, "s", level_names[bus->journal->level & LOG_PRIMASK]);
}

static int level_set(sd_bus *connection, const char *path, const char *interface,
		     const char *property, sd_bus_message *value, void *userdata,
		     sd_bus_error *error)
{
	struct bus *bus = userdata;
	const char *name;
	int r;

	r = sd_bus_message_read(value, "s", &name);
	if (r < 0)
		return r;
	for (int level = LOG_EMERG; level <= LOG_DEBUG; level++)
		if (strcmp(name, level_names[level]) == 0) {
			bus->journal->level = level;
			return 0;
		}
	return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
				 "\"%s\" is no log level: emerg, alert, crit, err, warning, "
				 "notice, info or debug",
				 name);
}

static int target_get(sd_bus *connection, const char *path, const char *interface,
		      const char *property, sd_bus_message *reply, void *userdata,
		      sd_bus_error *error)
{
	const struct bus *bus = userdata;

	return sd_bus_message_append(reply, "s", bus->journal->to_stderr ? "console" : "journal");
}

static int target_set(sd_bus *connection, const char *path, const char *interface,
		      const char *property, sd_bus_message *value, void *userdata,
		      sd_bus_error *error)
{
	struct bus *bus = userdata;
	const char *name;
	int r;

	r = sd_bus_message_read(value, "s", &name);
	if (r < 0)
		return r;
	if (strcmp(name, "console") == 0)
		journal_choose(bus->journal, true);
	else if (strcmp(name, "journal") == 0 || strcmp(name, "auto") == 0)
		journal_choose(bus->journal, false);
	else
		return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
					 "\"%s\" is no log target here: console, journal or auto",
					 name);
	return 0;
}

static int identifier_get(sd_bus *connection, const char *path, const char *interface,
			  const char *property, sd_bus_message *reply, void *userdata,
			  sd_bus_error *error)
{
	return sd_bus_message_append(reply, "s", "mtuwatchd");
}

static const sd_bus_vtable log_control_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", level_get, level_set, 0, 0),
	SD_BUS_WRITABLE_PROPERTY("LogTarget", "s", target_get, target_set, 0, 0),
	SD_BUS_PROPERTY("SyslogIdentifier", "s", identifier_get, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_VTABLE_END,
};

int bus_log_control_add(struct bus *bus)
{
	return sd_bus_add_object_vtable(bus->connection, NULL, "/org/freedesktop/LogControl1",
					"org.freedesktop.LogControl1", log_control_vtable, bus);
}
