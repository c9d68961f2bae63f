/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ethtool ioctls that everybody may use. The kernel writes as many statistics as the driver has
 * at that moment, whatever room it was told of: there is always plenty more.
 */
#include "receive_driver.h"

#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#define STATISTICS_MOST 16384U

static int ask(int fd, const char *link, void *command)
{
	struct ifreq request = {0};

	strncpy(request.ifr_name, link, sizeof(request.ifr_name) - 1);
	request.ifr_data = command;
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}

/* Queues come and go, each with statistics of its own. */
static unsigned room_for(unsigned count)
{
	return 2 * count + 1024;
}

int driver_statistics_get(int fd, const char *link, struct driver_statistics *ret)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	int r = ask(fd, link, &info);

	if (r < 0)
		return r;
	_Static_assert(sizeof(ret->driver) == sizeof(info.driver), "");
	memcpy(ret->driver, info.driver, sizeof(ret->driver));
	ret->driver[sizeof(ret->driver) - 1] = '\0';
	ret->count = info.n_stats;
	return 0;
}

/* Some drivers fill up with blanks, and few close a name that just fits. */
static bool is_called(const char text[static ETH_GSTRING_LEN], const char *name)
{
	size_t length = strnlen(text, ETH_GSTRING_LEN);

	while (length > 0 && text[length - 1] == ' ')
		length--;
	return length == strlen(name) && memcmp(text, name, length) == 0;
}

static int position_of(const struct ethtool_gstrings *strings, const char *name)
{
	for (unsigned i = 0; i < strings->len; i++) {
		const char *text = (const char *)strings->data + (size_t)i * ETH_GSTRING_LEN;

		if (is_called(text, name))
			return (int)i;
	}
	return -ENOENT;
}

int driver_statistics_find(int fd, const char *link, unsigned count, const char *const *names,
			   unsigned *ret_name)
{
	struct ethtool_gstrings *strings;
	int r;

	if (count > STATISTICS_MOST)
		return -E2BIG;
	strings = calloc(1, sizeof(*strings) + (size_t)room_for(count) * ETH_GSTRING_LEN);
	if (!strings)
		return -ENOMEM;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_STATS;
	strings->len = count;
	r = ask(fd, link, strings);
	if (r == 0 && strings->len != count)
		r = -EAGAIN;
	if (r == 0)
		r = -ENOENT;
	for (unsigned i = 0; r == -ENOENT && names[i]; i++) {
		r = position_of(strings, names[i]);
		*ret_name = i;
	}
	free(strings);
	return r;
}

int driver_statistics_read(int fd, const char *link, unsigned count, unsigned position,
			   uint64_t *ret)
{
	struct driver_statistics now = {0};
	struct ethtool_stats *values;
	int r = driver_statistics_get(fd, link, &now);

	if (r < 0)
		return r;
	if (now.count != count || position >= count)
		return -EAGAIN;
	values = calloc(1, sizeof(*values) + (size_t)room_for(count) * sizeof(values->data[0]));
	if (!values)
		return -ENOMEM;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = count;
	r = ask(fd, link, values);
	if (r == 0 && values->n_stats != count)
		r = -EAGAIN;
	if (r == 0)
		*ret = values->data[position];
	free(values);
	return r;
}
