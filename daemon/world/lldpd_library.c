/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The symbols of liblldpctl, all or none. Calls none of them but to keep it quiet. */
#include "lldpd_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What this was built against; another number is another interface. */
#define LIBRARY "liblldpctl.so.4"

/* It would write to stderr. */
static void be_quiet(int severity, const char *message)
{
}

int lldpd_library_open(struct lldpd_library *ret)
{
	struct lldpd_library library = {.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
	bool whole = library.handle;

	if (!library.handle)
		return -ENOSYS;
#define CALL(_name)                                                                                \
	*(void **)&library._name = dlsym(library.handle, "lldpctl_" #_name);                       \
	whole = whole && library._name;
	LLDPD_CALLS(CALL)
#undef CALL
	if (!whole) {
		lldpd_library_close(&library);
		return -ENOSYS;
	}
	library.log_callback(be_quiet);
	*ret = library;
	return 0;
}

void lldpd_library_close(struct lldpd_library *library)
{
	if (library->handle)
		dlclose(library->handle);
	memset(library, 0, sizeof(*library));
}
