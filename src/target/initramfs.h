/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * initramfs: the first root of a guest: our own program as /init, the programs that make and check
 * file systems, the libraries of all of them, the modules the kernel needs, and little else. Built
 * in memory from what this machine has, kept in a file named by its content.
 */
#ifndef AS_TARGET_INITRAMFS_H
#define AS_TARGET_INITRAMFS_H

#include "base/buf.h"
#include "base/err.h"

/* Where things are in the guest. */
#define AS_GUEST_PROGRAM "/bin/assay"
#define AS_GUEST_MODULES "/modules" /* the files, and "order", which lists them */
#define AS_GUEST_SHARE "/share"

/* A file of this machine and where it goes: "var/tmp/x"; folders above it are made, root's own. */
struct as_initramfs_file {
	const char *from, *to;
};

struct as_initramfs {
	const char *self; /* path of our program */
	const char *const *programs; /* names or paths, NULL-terminated */
	const char *const *optional; /* the same, left out where they are missing; or NULL */
	const struct as_initramfs_file *files; /* ends with a NULL; or NULL */
	const char *modules_folder; /* of the kernel; NULL: it has all built in */
	const char *const *modules; /* names, NULL-terminated; needs are added */
};

/* A program that is missing is AS_ELACK. */
AS_MUST_CHECK int as_initramfs_build(const struct as_initramfs *what, struct as_buf *archive,
				     struct as_err *err);
/* Builds it and gives the path of the file that holds it. */
AS_MUST_CHECK int as_initramfs_file(const struct as_initramfs *what, struct as_buf *path,
				    struct as_err *err);

#endif
