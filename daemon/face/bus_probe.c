/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probe: an address that is not configured, and what is expected of it. Turns the call into a
 * request, by the same rules as the configuration; who sends and measures is its owner's matter.
 */
#include "bus_private.h"
#include "sentence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void request_free(struct config_peer **request)
{
	config_peer_free(*request);
}
#define _free_request_ __attribute__((cleanup(request_free)))

#define NUMBER_SIZE 16
/* A call is kept while it waits: no more of it than names of links and a host need. */
#define TEXT_LONGEST 1024

/* The options have the names of the keys that say the same in the configuration. */
static const struct option {
	const char *name;
	const char *type;
} options[] = {
	{"Interface", "s"}, {"ExpectMTU", "u"}, {"Method", "s"}, {"Port", "q"}, {"Flows", "u"},
};

static const struct option *option_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

/* `why` NULL: out of memory. */
static int bad_option(const char *name, const char *text, const char *why, sd_bus_error *error)
{
	if (!why)
		return -ENOMEM;
	return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "%s=%s: %s", name, text, why);
}

static int bad_address(const char *address, const char *why, sd_bus_error *error)
{
	if (!why)
		return -ENOMEM;
	return sd_bus_error_setf(error, BUS_NAME ".BadAddress", "\"%s\": %s", address, why);
}

/* The value as it would be written in the configuration. */
static int value_read(sd_bus_message *call, const struct option *option,
		      char number[static NUMBER_SIZE], const char **ret)
{
	uint32_t u32;
	uint16_t u16;
	int r;

	switch (option->type[0]) {
	case 'u':
		r = sd_bus_message_read(call, "v", "u", &u32);
		snprintf(number, NUMBER_SIZE, "%" PRIu32, r < 0 ? 0 : u32);
		*ret = number;
		return r;
	case 'q':
		r = sd_bus_message_read(call, "v", "q", &u16);
		snprintf(number, NUMBER_SIZE, "%" PRIu16, r < 0 ? (uint16_t)0 : u16);
		*ret = number;
		return r;
	}
	return sd_bus_message_read(call, "v", "s", ret);
}

static int option_read(sd_bus_message *call, struct config_peer *request, unsigned *seen,
		       sd_bus_error *error)
{
	const struct option *option;
	const char *name, *text, *type;
	_free_text_ char *why = NULL;
	char number[NUMBER_SIZE];
	int r;

	r = sd_bus_message_read(call, "s", &name);
	if (r < 0)
		return r;
	option = option_find(name);
	if (!option)
		return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
					 "There is no option \"%s\": expected Interface, "
					 "ExpectMTU, Method, Port or Flows",
					 name);
	if (*seen & 1U << (option - options))
		return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "%s is given twice", name);
	*seen |= 1U << (option - options);
	r = sd_bus_message_peek_type(call, NULL, &type);
	if (r < 0)
		return r;
	if (strcmp(type, option->type) != 0)
		return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
					 "%s: expected a value of type %s, this one is of type %s",
					 name, option->type, type);
	r = value_read(call, option, number, &text);
	if (r < 0)
		return r;
	if (strlen(text) > TEXT_LONGEST)
		return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
					 "%s: expected no more than %d bytes", name, TEXT_LONGEST);
	r = config_peer_set(request, name, text, &why);
	return r == -EINVAL ? bad_option(name, text, why, error) : r;
}

static int options_read(sd_bus_message *call, struct config_peer *request, sd_bus_error *error)
{
	unsigned seen = 0;
	int r;

	r = sd_bus_message_enter_container(call, 'a', "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
		r = option_read(call, request, &seen, error);
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(call);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : sd_bus_message_exit_container(call);
}

static int request_fill(sd_bus_message *call, struct config_peer *request, sd_bus_error *error)
{
	_free_text_ char *why = NULL, *clash = NULL;
	const char *address, *key;
	int r;

	r = sd_bus_message_read(call, "s", &address);
	if (r < 0)
		return r;
	if (strlen(address) > TEXT_LONGEST)
		return sd_bus_error_setf(error, BUS_NAME ".BadAddress",
					 "expected an address of no more than %d bytes", TEXT_LONGEST);
	r = config_peer_set(request, "Address", address, &why);
	if (r < 0)
		return r == -EINVAL ? bad_address(address, why, error) : r;
	r = options_read(call, request, error);
	if (r < 0)
		return r;
	r = config_peer_check(request, &key, &clash);
	if (r == -EINVAL && strcmp(key, "Address") == 0)
		return bad_address(address, clash, error);
	if (r == -EINVAL)
		return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, clash);
	return r;
}

/* The caller owns *ret. */
static int request_read(sd_bus_message *call, struct config_peer **ret, sd_bus_error *error)
{
	_free_request_ struct config_peer *request = NULL;
	int r;

	r = config_peer_new(&request);
	if (r < 0)
		return r;
	r = request_fill(call, request, error);
	if (r < 0)
		return r;
	*ret = request;
	request = NULL;
	return 0;
}

/* Which of them it is. */
static const char *missing_link(const struct bus *bus, const struct config_peer *request)
{
	for (unsigned i = 0; i < request->interface_count; i++)
		if (!roster_link(bus->roster, request->interfaces[i]))
			return request->interfaces[i];
	return "";
}

static int probe_refused(int r, const struct bus *bus, const struct config_peer *request,
			 sd_bus_error *error)
{
	if (r == -EBUSY)
		return sd_bus_error_set(error, BUS_NAME ".RateLimited",
					"too many addresses are being probed; try again later");
	if (r == -EADDRINUSE)
		return sd_bus_error_set(error, BUS_NAME ".BadAddress",
					"expected the address of another host, this one is this "
					"host's own");
	if (r == -EADDRNOTAVAIL)
		return sd_bus_error_set(error, BUS_NAME ".BadAddress",
					"expected the address of one host, this one is broadcast");
	if (r == -ENODEV)
		return bad_option("Interface", missing_link(bus, request), "there is no such link", error);
	return r;
}

static int probe_allowed(struct bus_check *check, sd_bus_error *error)
{
	_free_request_ struct config_peer *request = NULL;
	struct bus *bus = check->bus;
	int r;

	sd_bus_message_rewind(check->call, true);
	r = request_read(check->call, &request, error);
	if (r < 0)
		return r;
	r = bus_check_wait(check, error);
	if (r < 0)
		return r;
	r = bus->handlers.probe(check, request, bus->userdata); /* may have ended the check */
	return r < 0 ? probe_refused(r, bus, request, error) : 1;
}

/* What is written wrong is told before anybody is asked for a password. */
int bus_method_probe(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
	_free_request_ struct config_peer *request = NULL;
	int r;

	r = request_read(call, &request, error);
	if (r < 0)
		return r;
	return bus_authorize(userdata, call, BUS_NAME ".probe", probe_allowed, error);
}
