/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The calls that wait: until it is known who calls, whether he may, and for what was asked.
 */
#include "bus_private.h"

#include <stdlib.h>

struct bus_check *bus_check_new(struct bus_caller *caller, sd_bus_message *call)
{
	struct bus *bus = caller->bus;
	struct bus_check *check = calloc(1, sizeof(*check));

	if (!check)
		return NULL;
	check->bus = bus;
	check->caller = caller;
	check->call = sd_bus_message_ref(call);
	check->interactive = sd_bus_message_get_allow_interactive_authorization(call) > 0;
	check->next = bus->checks;
	if (bus->checks)
		bus->checks->previous = check;
	bus->checks = check;
	caller->checks++;
	return check;
}

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
	if (check->stage == CHECK_WAITING)
		bus->waiting--;
	check->caller->checks--;
	bus_question_leave(check);
	sd_bus_message_unref(check->call);
	free(check);
	return NULL;
}

static void check_drop(struct bus_check *check)
{
	struct bus *bus = check->bus;

	if (check->stage == CHECK_WAITING)
		bus->handlers.check_gone(check, bus->userdata);
	bus_check_free(check);
}

void bus_checks_drop(struct bus *bus, const struct bus_caller *caller)
{
	struct bus_check *next;

	for (struct bus_check *check = bus->checks; check; check = next) {
		next = check->next;
		if (check->caller == caller)
			check_drop(check);
	}
}

unsigned bus_checks_of_user(const struct bus *bus, uint32_t uid)
{
	unsigned count = 0;

	for (const struct bus_caller *caller = bus->callers; caller; caller = caller->next)
		if (caller->known && caller->uid == uid)
			count += caller->checks;
	return count;
}

struct bus_check *bus_check_first(const struct bus *bus, const struct bus_caller *caller,
				  enum check_stage stage)
{
	struct bus_check *first = NULL;

	for (struct bus_check *check = bus->checks; check; check = check->next)
		if (check->stage == stage && (!caller || check->caller == caller))
			first = check;
	return first;
}
