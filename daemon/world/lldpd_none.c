/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Built without support for lldpd: there is none. */
#include "lldpd.h"

#include <errno.h>

int lldpd_new(struct lldpd **ret, sd_event *event, const char *path, lldpd_handler_t handler,
	      void *userdata)
{
	*ret = NULL;
	return 0;
}

struct lldpd *lldpd_free(struct lldpd *lldpd)
{
	return NULL;
}

int lldpd_look(struct lldpd *lldpd)
{
	return -EOPNOTSUPP;
}
