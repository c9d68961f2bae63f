/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a caller may, and what becomes of it while it waits. root always may; others are
 * polkit's decision, and where there is no polkit they may not. Nothing here blocks: who the
 * caller is, is asked of the bus like everything else. No user takes all the room there is for
 * waiting, and the users without privilege together leave root some.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLKIT "org.freedesktop.PolicyKit1"
#define POLKIT_USER_INTERACTION 1U
/* polkit may ask a person for a password: no timeout but the caller's leaving. */
#define POLKIT_TIMEOUT UINT64_MAX

struct bus_check *bus_check_free(struct bus_check *check)
{
	struct bus *bus;

	if (!check)
		return NULL;
	bus = check->bus;
	if (check->next)
		check->next->previous = check->previous;
	if (check->previous)
		check->previous->next = check->next;
	else
		bus->checks = check->next;
	if (check->waiting)
		bus->waiting--;
	else
		bus->asking--;
	sd_bus_slot_unref(check->question);
	sd_bus_slot_unref(check->leaving);
	sd_bus_message_unref(check->call);
	free(check);
	return NULL;
}

static struct bus_check *bus_check_new(struct bus *bus, sd_bus_message *call)
{
	struct bus_check *check = calloc(1, sizeof(*check));

	if (!check)
		return NULL;
	check->bus = bus;
	check->call = sd_bus_message_ref(call);
	check->next = bus->checks;
	if (bus->checks)
		bus->checks->previous = check;
	bus->checks = check;
	bus->asking++;
	return check;
}

static void bus_check_drop(struct bus_check *check)
{
	struct bus *bus = check->bus;

	if (check->waiting)
		bus->handlers.check_gone(check, bus->userdata);
	bus_check_free(check);
}

/* Of one user, whatever they wait for. */
unsigned bus_checks_of_user(const struct bus *bus, uint32_t uid)
{
	unsigned count = 0;

	for (const struct bus_check *check = bus->checks; check; check = check->next)
		count += check->known && check->uid == uid;
	return count;
}

/* Of one connection, whose user is yet to be told. */
static unsigned checks_unknown(const struct bus *bus, const char *sender)
{
	unsigned count = 0;

	for (const struct bus_check *check = bus->checks; check; check = check->next)
		count += !check->known &&
			 strcmp(sd_bus_message_get_sender(check->call), sender) == 0;
	return count;
}

void bus_checks_drop(struct bus *bus)
{
	while (bus->checks)
		bus_check_drop(bus->checks);
}

static int check_on_left(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	const char *name, *before, *after;

	if (sd_bus_message_read(message, "sss", &name, &before, &after) >= 0 && !after[0])
		bus_check_drop(userdata);
	return 0;
}

/* Answers with the error and ends the check. */
static void check_refuse(struct bus_check *check, int r, const sd_bus_error *error)
{
	if (sd_bus_error_is_set(error))
		sd_bus_reply_method_error(check->call, error);
	else
		sd_bus_reply_method_errno(check->call, r, NULL);
	bus_check_free(check);
}

static void check_allow(struct bus_check *check)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	check->question = sd_bus_slot_unref(check->question);
	r = check->allowed(check, &error);
	if (r < 0)
		check_refuse(check, r, &error);
	else if (r == 0)
		bus_check_free(check);
	sd_bus_error_free(&error);
}

static void check_deny(struct bus_check *check, const char *name, const char *text)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;

	sd_bus_error_setf(&error, name, "%s (%s)", text, check->action);
	check_refuse(check, -EACCES, &error);
	sd_bus_error_free(&error);
}

static int check_on_polkit(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct bus_check *check = userdata;
	int authorized = 0, challenge = 0;

	if (sd_bus_message_is_method_error(reply, POLKIT ".Error.NotAuthorized"))
		check_deny(check, SD_BUS_ERROR_ACCESS_DENIED,
			   "polkit does not take this daemon's user for the owner of the action");
	else if (sd_bus_message_is_method_error(reply, NULL))
		check_deny(check, SD_BUS_ERROR_ACCESS_DENIED,
			   "only root may do this where polkit does not answer");
	else if (sd_bus_message_enter_container(reply, 'r', "bba{ss}") < 0 ||
		 sd_bus_message_read(reply, "bb", &authorized, &challenge) < 0)
		check_deny(check, SD_BUS_ERROR_ACCESS_DENIED, "polkit's answer makes no sense");
	else if (authorized)
		check_allow(check);
	else if (challenge)
		check_deny(check, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
			   "a password has to be asked for, and the caller did not allow it");
	else
		check_deny(check, SD_BUS_ERROR_ACCESS_DENIED, "polkit does not allow this");
	return 0;
}

static int polkit_question(struct bus_check *check, sd_bus_message **ret)
{
	bool interactive = sd_bus_message_get_allow_interactive_authorization(check->call) > 0;
	sd_bus_message *message = NULL;
	int r;

	r = sd_bus_message_new_method_call(
		check->bus->connection, &message, POLKIT, "/org/freedesktop/PolicyKit1/Authority",
		POLKIT ".Authority", "CheckAuthorization");
	if (r >= 0)
		r = sd_bus_message_append(message, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name",
					  "s", sd_bus_message_get_sender(check->call),
					  check->action, 0,
					  interactive ? POLKIT_USER_INTERACTION : 0U, "");
	if (r < 0) {
		sd_bus_message_unref(message);
		return r;
	}
	*ret = message;
	return 0;
}

static int polkit_ask(struct bus_check *check)
{
	sd_bus_message *message;
	int r;

	r = polkit_question(check, &message);
	if (r < 0)
		return r;
	check->question = sd_bus_slot_unref(check->question);
	r = sd_bus_call_async(check->bus->connection, &check->question, message, check_on_polkit,
			      check, POLKIT_TIMEOUT);
	sd_bus_message_unref(message);
	return r;
}

static void check_ask_polkit(struct bus_check *check)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = 0;

	if (bus_checks_of_user(check->bus, check->uid) > BUS_SHARE)
		r = sd_bus_error_set(&error, BUS_NAME ".Busy",
				     "too many calls of this user wait already; try again later");
	if (r >= 0)
		r = polkit_ask(check);
	if (r < 0)
		check_refuse(check, r, &error);
	sd_bus_error_free(&error);
}

static int check_on_user(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct bus_check *check = userdata;
	uint32_t uid;

	/* the name is nobody's any more: the caller left before we could watch it */
	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_read(reply, "u", &uid) < 0) {
		bus_check_drop(check);
		return 0;
	}
	check->uid = uid;
	check->known = true;
	if (uid == 0)
		check_allow(check);
	else
		check_ask_polkit(check);
	return 0;
}

/* Asked in this order, so that a caller cannot leave unseen in between. */
static int check_ask(struct bus_check *check)
{
	const char *sender = sd_bus_message_get_sender(check->call);
	char match[256];
	int r;

	if (!sender)
		return -ENXIO;
	snprintf(match, sizeof(match),
		 "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
		 "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='%s'",
		 sender);
	r = sd_bus_add_match_async(check->bus->connection, &check->leaving, match, check_on_left,
				   NULL, check);
	if (r < 0)
		return r;
	return sd_bus_call_method_async(check->bus->connection, &check->question,
					"org.freedesktop.DBus", "/org/freedesktop/DBus",
					"org.freedesktop.DBus", "GetConnectionUnixUser",
					check_on_user, check, "s", sender);
}

int bus_authorize(struct bus *bus, sd_bus_message *call, const char *action, bus_allowed_t allowed,
		  sd_bus_error *error)
{
	const char *sender = sd_bus_message_get_sender(call);
	struct bus_check *check;
	int r;

	if (bus->asking >= BUS_ASKING_LARGEST || !sender || checks_unknown(bus, sender) >= BUS_SHARE)
		return sd_bus_error_set(error, BUS_NAME ".Busy",
					"too many callers wait to be authorized; try again later");
	check = bus_check_new(bus, call);
	if (!check)
		return -ENOMEM;
	check->action = action;
	check->allowed = allowed;
	r = check_ask(check);
	if (r < 0) {
		bus_check_free(check);
		return r;
	}
	return 1;
}
