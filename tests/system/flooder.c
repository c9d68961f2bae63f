/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls one method of the daemon without end, many calls at a time on one connection of the system
 * bus, and says what became of them, and how long one took at most. Run as the user who is to call.
 *
 *   flooder SECONDS AT_A_TIME PATH INTERFACE METHOD [STRING]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#define NAMES_MOST 16
#define CALLS_MOST 128

struct flood {
	sd_bus *bus;
	const char *path, *interface, *method, *argument;
	uint64_t until, longest;
	unsigned long good;
	unsigned open;
	struct {
		char name[96];
		unsigned long count;
	} errors[NAMES_MOST];
};

struct call {
	struct flood *flood;
	uint64_t began;
};

static uint64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void fail(int error, const char *what)
{
	fprintf(stderr, "flooder: %s: %s\n", what, strerror(-error));
	exit(1);
}

static void count_error(struct flood *flood, const char *name)
{
	unsigned i = 0;

	while (i < NAMES_MOST - 1 && flood->errors[i].count && strcmp(flood->errors[i].name, name) != 0)
		i++;
	snprintf(flood->errors[i].name, sizeof(flood->errors[i].name), "%s", name);
	flood->errors[i].count++;
}

static void call_again(struct call *call);

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	struct call *call = userdata;
	struct flood *flood = call->flood;
	const sd_bus_error *answer = sd_bus_message_get_error(reply);
	uint64_t now = now_usec();

	if (answer)
		count_error(flood, answer->name);
	else
		flood->good++;
	if (now - call->began > flood->longest)
		flood->longest = now - call->began;
	flood->open--;
	if (now < flood->until)
		call_again(call);
	return 0;
}

static void call_again(struct call *call)
{
	struct flood *flood = call->flood;
	int r;

	call->began = now_usec();
	r = sd_bus_call_method_async(flood->bus, NULL, "org.mtuwatch1", flood->path,
				     flood->interface, flood->method, on_reply, call,
				     flood->argument ? "s" : NULL, flood->argument);
	if (r < 0)
		fail(r, flood->method);
	flood->open++;
}

static void flood_tell(const struct flood *flood)
{
	printf("{\"good\": %lu, \"longest\": %.3f, \"errors\": {", flood->good,
	       (double)flood->longest / 1e6);
	for (unsigned i = 0; i < NAMES_MOST && flood->errors[i].count; i++)
		printf("%s\"%s\": %lu", i ? ", " : "", flood->errors[i].name,
		       flood->errors[i].count);
	puts("}}");
}

int main(int argc, char **argv)
{
	static struct call calls[CALLS_MOST];
	static struct flood flood;
	unsigned count;
	int r;

	if (argc < 6) {
		fprintf(stderr, "usage: flooder SECONDS AT_A_TIME PATH INTERFACE METHOD [STRING]\n");
		return 64;
	}
	count = (unsigned)atoi(argv[2]);
	flood.path = argv[3];
	flood.interface = argv[4];
	flood.method = argv[5];
	flood.argument = argv[6];
	r = sd_bus_open_system(&flood.bus);
	if (r < 0)
		fail(r, "the system bus");
	flood.until = now_usec() + (uint64_t)(atof(argv[1]) * 1e6);
	for (unsigned i = 0; i < count && i < CALLS_MOST; i++) {
		calls[i].flood = &flood;
		call_again(&calls[i]);
	}
	while (flood.open > 0) {
		r = sd_bus_process(flood.bus, NULL);
		if (r == 0)
			r = sd_bus_wait(flood.bus, UINT64_MAX);
		if (r < 0)
			fail(r, "the bus");
	}
	flood_tell(&flood);
	sd_bus_flush_close_unref(flood.bus);
	return 0;
}
