/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_priv: the driver of kernels: what step_kernel.c, step_mount.c and step_check.c share. */
#ifndef AS_RECOVER_KERNEL_PRIV_H
#define AS_RECOVER_KERNEL_PRIV_H

#include "recover/jbd2.h"
#include "recover/step_priv.h"
#include "target/fstype.h"

struct as_checkers;
struct as_kwatch;
struct as_mount;

/* A block device that passes its calls on to a disk that can be exchanged. */
struct as_kernel_socket {
	struct as_bd bd;
	struct as_bd *inner; /* NULL: EIO */
};

struct as_kernel {
	struct as_recoverer base;
	const struct as_fstype *type;
	char *mount_opts;
	struct as_jbd2 jbd2;

	/* step_mount.c: devices for disks of one size and store. */
	struct as_chunks *store;
	uint64_t size_bytes;
	struct as_mount *memory, *served;
	struct as_kernel_socket socket; /* beneath `served` */
	struct as_kwatch *watch;

	struct as_checkers *checkers; /* step_check.c */
};

/* The mount keeps a log only where asked to; the checkers always keep one. */
AS_MUST_CHECK int as_kernel_mount(struct as_kernel *kernel, enum as_step step, struct as_disk *disk,
				  bool want_log, struct as_stepped *stepped, struct as_err *err);
AS_MUST_CHECK int as_kernel_check(struct as_kernel *kernel, enum as_check_mode mode,
				  struct as_disk *disk, struct as_stepped *stepped,
				  struct as_err *err);
void as_kernel_mount_end(struct as_kernel *kernel);
void as_kernel_check_end(struct as_kernel *kernel);

#endif
