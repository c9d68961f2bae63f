/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * liblldpctl, loaded when there is an lldpd to talk to: a host without it needs no library of it.
 */
#pragma once

#include <lldpctl.h>

/* name of the member, as the library's without its first "lldpctl_" */
#define LLDPD_CALLS(CALL)                                                                          \
	CALL(new_name)                                                                             \
	CALL(release)                                                                              \
	CALL(last_error)                                                                           \
	CALL(log_callback)                                                                         \
	CALL(watch_callback2)                                                                      \
	CALL(get_interfaces)                                                                       \
	CALL(get_port)                                                                             \
	CALL(atom_iter)                                                                            \
	CALL(atom_iter_next)                                                                       \
	CALL(atom_iter_value)                                                                      \
	CALL(atom_get)                                                                             \
	CALL(atom_get_str)                                                                         \
	CALL(atom_get_int)                                                                         \
	CALL(atom_dec_ref)

struct lldpd_library {
	void *handle;
#define CALL(_name) __typeof__(lldpctl_##_name) *_name;
	LLDPD_CALLS(CALL)
#undef CALL
};

/* -ENOSYS: it is not installed, or another version. */
int lldpd_library_open(struct lldpd_library *ret);
void lldpd_library_close(struct lldpd_library *library); /* takes one that is all zero */
