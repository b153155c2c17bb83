/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * initramfs: the first root of a guest: our own program as /init, the programs that make and check
 * file systems, the libraries of all of them, the modules the kernel needs, and little else. Built
 * in memory from what this machine has.
 */
#ifndef AS_BOX_INITRAMFS_H
#define AS_BOX_INITRAMFS_H

#include "base/buf.h"
#include "base/err.h"

/* Where things are in the guest. */
#define AS_GUEST_PROGRAM "/bin/assay"
#define AS_GUEST_MODULES "/modules" /* the files, and "order", which lists them */
#define AS_GUEST_SHARE "/share"

/* A file and its path in the guest: "var/tmp/x". The folders above it are made; root owns them. */
struct as_initramfs_file {
	const char *to; /* NULL ends a list */
	const void *data;
	size_t len;
};

struct as_initramfs {
	const char *self; /* path of our program */
	const char *const *programs; /* names or paths, NULL-terminated */
	const char *const *optional; /* the same, left out where they are missing; or NULL */
	const struct as_initramfs_file *files; /* ends with a NULL; or NULL */
	const char *modules_folder; /* of the kernel; NULL: it has no modules */
	const char *const *modules; /* names, NULL-terminated; what they need is added */
};

/* A program that is missing is AS_ELACK. */
AS_MUST_CHECK int as_initramfs_build(const struct as_initramfs *what, struct as_buf *archive,
				     struct as_err *err);

#endif
