/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ports that the administrator keeps for services which bind them by number, now or later. The
 * kernel gives them to nobody who asks for just any port; nor do we take one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether `text`, "1024,3000-3010", holds the port. */
bool reserved_holds(const char *text, uint16_t port);

/* By net.ipv4.ip_local_reserved_ports, which is for IPv6 too. False where that cannot be read. */
bool reserved_port(uint16_t port);
