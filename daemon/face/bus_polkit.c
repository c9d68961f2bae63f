/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a caller may. root always may; others are polkit's decision, and where there is no polkit
 * they may not. Nothing here blocks. No user takes all the room there is for waiting, and the users
 * without privilege together leave root some. polkit is asked once for all calls of a connection
 * that wait for the same decision, unless each of them may have a password asked for.
 */
#include "bus_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POLKIT "org.freedesktop.PolicyKit1"
#define POLKIT_USER_INTERACTION 1U
/* polkit may ask a person for a password: no timeout but the caller's leaving. */
#define POLKIT_TIMEOUT UINT64_MAX
/* of ours at a time, at the bus: of 128 answers that it lets us wait for */
#define QUESTIONS_LARGEST 112
#define PASSWORDS_LARGEST 64 /* of those, where polkit may wait for a person */
#define PASSWORDS_OF_USER 8

/* It stays until polkit answers, whether somebody waits for that or not. */
struct bus_question {
	struct bus *bus;
	sd_bus_slot *slot;
	struct bus_check *check; /* NULL: the caller left */
	uint32_t uid;
	bool interactive;
	struct bus_question *next;
};

struct decision {
	bool allowed;
	const char *error, *text;
};

static void question_free(struct bus_question *question)
{
	struct bus_question **link = &question->bus->questions;

	while (*link != question)
		link = &(*link)->next;
	*link = question->next;
	if (question->check)
		question->check->question = NULL;
	sd_bus_slot_unref(question->slot);
	free(question);
}

void bus_question_leave(struct bus_check *check)
{
	if (check->question)
		check->question->check = NULL;
	check->question = NULL;
}

void bus_questions_drop(struct bus *bus)
{
	while (bus->questions)
		question_free(bus->questions);
}

/* --- the answer --- */

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
	int r = check->allowed(check, &error);

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

static struct decision denied(const char *text)
{
	return (struct decision){.error = SD_BUS_ERROR_ACCESS_DENIED, .text = text};
}

static struct decision decision_read(sd_bus_message *reply)
{
	int authorized = 0, challenge = 0;

	if (sd_bus_message_is_method_error(reply, POLKIT ".Error.NotAuthorized"))
		return denied("polkit does not take this daemon's user for the owner of the action");
	if (sd_bus_message_is_method_error(reply, NULL))
		return denied("only root may do this where polkit does not answer");
	if (sd_bus_message_enter_container(reply, 'r', "bba{ss}") < 0 ||
	    sd_bus_message_read(reply, "bb", &authorized, &challenge) < 0)
		return denied("polkit's answer makes no sense");
	if (authorized)
		return (struct decision){.allowed = true};
	if (challenge)
		return (struct decision){
			.error = SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
			.text = "a password has to be asked for, and the caller did not allow it",
		};
	return denied("polkit does not allow this");
}

/* One answer is for both. */
static bool checks_are_alike(const struct bus_check *a, const struct bus_check *b)
{
	return a->caller == b->caller && a->action == b->action && !a->interactive &&
	       !b->interactive;
}

/* Another one that waits for the answer to this one's question. */
static struct bus_check *check_follower(const struct bus_check *check)
{
	struct bus_check *first = NULL;

	for (struct bus_check *other = check->bus->checks; other; other = other->next)
		if (other != check && other->stage == CHECK_ASKED && checks_are_alike(other, check))
			first = other;
	return first;
}

static void check_decide(struct bus_check *check, const struct decision *decision)
{
	if (decision->allowed)
		check_allow(check);
	else
		check_deny(check, decision->error, decision->text);
}

static void polkit_next(struct bus *bus);

static int on_polkit(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct bus_question *question = userdata;
	struct decision decision = decision_read(reply);
	struct bus_check *check = question->check, *next;
	struct bus *bus = question->bus;

	question_free(question);
	for (; check; check = next) {
		next = check_follower(check);
		check_decide(check, &decision);
	}
	polkit_next(bus);
	return 0;
}

/* --- the question --- */

static int polkit_message(const struct bus_check *check, sd_bus_message **ret)
{
	sd_bus_message *message = NULL;
	int r;

	r = sd_bus_message_new_method_call(
		check->bus->connection, &message, POLKIT, "/org/freedesktop/PolicyKit1/Authority",
		POLKIT ".Authority", "CheckAuthorization");
	if (r >= 0)
		r = sd_bus_message_append(message, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name",
					  "s", check->caller->name, check->action, 0,
					  check->interactive ? POLKIT_USER_INTERACTION : 0U, "");
	if (r < 0) {
		sd_bus_message_unref(message);
		return r;
	}
	*ret = message;
	return 0;
}

static int question_new(struct bus_check *check)
{
	struct bus_question *question = calloc(1, sizeof(*question));

	if (!question)
		return -ENOMEM;
	*question = (struct bus_question){
		.bus = check->bus,
		.check = check,
		.uid = check->caller->uid,
		.interactive = check->interactive,
		.next = check->bus->questions,
	};
	check->bus->questions = question;
	check->question = question;
	return 0;
}

static int polkit_ask(struct bus_check *check)
{
	sd_bus_message *message;
	int r = polkit_message(check, &message);

	if (r < 0)
		return r;
	r = question_new(check);
	if (r >= 0)
		r = sd_bus_call_async(check->bus->connection, &check->question->slot, message,
				      on_polkit, check->question, POLKIT_TIMEOUT);
	sd_bus_message_unref(message);
	if (r < 0 && check->question)
		question_free(check->question);
	return r;
}

static unsigned questions_count(const struct bus *bus)
{
	unsigned count = 0;

	for (const struct bus_question *one = bus->questions; one; one = one->next)
		count++;
	return count;
}

static void polkit_next(struct bus *bus)
{
	struct bus_check *check;
	int r;

	while ((check = bus_check_first(bus, NULL, CHECK_QUEUED))) {
		bool shared = check_follower(check) != NULL;

		if (!shared && questions_count(bus) >= QUESTIONS_LARGEST)
			return;
		check->stage = CHECK_ASKED;
		r = shared ? 0 : polkit_ask(check);
		if (r < 0)
			check_refuse(check, r, NULL);
	}
}

/* --- who waits --- */

static int busy(sd_bus_error *error)
{
	return sd_bus_error_set(error, BUS_NAME ".Busy",
				"too many calls of this user wait already; try again later");
}

static bool passwords_are_many(const struct bus_check *check)
{
	unsigned of_user = 0, of_all = 0;

	for (const struct bus_question *one = check->bus->questions; one; one = one->next) {
		of_all += one->interactive;
		of_user += one->interactive && one->uid == check->caller->uid;
	}
	return of_user >= PASSWORDS_OF_USER || of_all >= PASSWORDS_LARGEST;
}

static void check_go_on(struct bus_check *check)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	struct bus *bus = check->bus;

	if (check->caller->uid == 0) {
		check_allow(check);
	} else if (bus_checks_of_user(bus, check->caller->uid) > BUS_SHARE ||
		   (check->interactive && passwords_are_many(check))) {
		check_refuse(check, busy(&error), &error);
	} else {
		check->stage = CHECK_QUEUED;
		polkit_next(bus);
	}
	sd_bus_error_free(&error);
}

void bus_checks_go_on(struct bus_caller *caller)
{
	struct bus_check *check;

	while ((check = bus_check_first(caller->bus, caller, CHECK_UNKNOWN)))
		check_go_on(check);
}

/* Root's calls are counted where they wait for rounds. */
static bool has_share(const struct bus_caller *caller)
{
	if (!caller->known)
		return caller->checks < BUS_SHARE;
	return caller->uid == 0 || bus_checks_of_user(caller->bus, caller->uid) < BUS_SHARE;
}

int bus_authorize(struct bus *bus, sd_bus_message *call, const char *action, bus_allowed_t allowed,
		  sd_bus_error *error)
{
	const char *sender = sd_bus_message_get_sender(call);
	struct bus_caller *caller;
	struct bus_check *check;
	int r = sender ? bus_caller_of(bus, sender, &caller) : -ENXIO;

	if (r == -EBUSY)
		return sd_bus_error_set(error, BUS_NAME ".Busy",
					"too many callers wait already; try again later");
	if (r < 0)
		return r;
	if (!has_share(caller))
		return busy(error);
	check = bus_check_new(caller, call);
	if (!check)
		return -ENOMEM;
	check->action = action;
	check->allowed = allowed;
	if (caller->known)
		check_go_on(check);
	return 1;
}
