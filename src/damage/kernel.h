/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel: what the file system itself says of a disk: it mounts it, reads the whole tree, makes and
 * deletes a file in every directory, and unmounts. A type of the kernel does that in a sandbox
 * (box/sandbox.h) that stays up for many disks; a library does it in a child. A disk that was asked
 * for before is not asked for again.
 */
#ifndef AS_DAMAGE_KERNEL_H
#define AS_DAMAGE_KERNEL_H

#include "base/buf.h"
#include "base/err.h"
#include "box/sandbox.h"
#include "disk/cow.h"

#include <stdbool.h>

struct as_tree; /* snapshot/tree.h */

enum as_word_end {
	AS_WORD_FINE,
	AS_WORD_REFUSED, /* it does not mount it */
	AS_WORD_UNREADABLE, /* a part of the tree cannot be read */
	AS_WORD_COMPLAINED, /* making a file or the unmount failed, or the log says so */
	AS_WORD_DIED,
	AS_WORD_HUNG,
	AS_WORD_UNASKED, /* our sandbox failed, which says nothing of the disk */
	AS_WORD_ENDS
};

const char *as_word_end_name(enum as_word_end end); /* "refused" */

struct as_word {
	enum as_word_end end;
	/* "the mount answers EUCLEAN", the same without names and numbers; "": nothing is wrong */
	struct as_buf why, sign;
	struct as_buf log; /* what the kernel printed meanwhile; "": nothing */
	struct as_tree *tree; /* NULL: it could not be read */
};

void as_word_free(struct as_word *word);

/* Where types of the kernel are mounted. */
struct as_fsck_kernel_setup {
	const char *target; /* "ext4", "lab" */
	const struct as_sandbox_ops *sandbox; /* NULL: a kernel of its own (uml) */
	struct as_box_options box; /* kernel, memory and core are used */
};

struct as_fsck_kernel;

/* A kernel is started when the first disk is shown to it. AS_ELACK, AS_EUSE: it cannot be started
 * here. */
AS_MUST_CHECK int as_fsck_kernel_open(const struct as_fsck_kernel_setup *setup,
				      struct as_fsck_kernel **kernel, struct as_err *err);
void as_fsck_kernel_free(struct as_fsck_kernel *kernel); /* takes NULL */

/*
 * *word belongs to `kernel` and lives until the next call. 0 or an error of ours: the sandbox does
 * not answer at all, from the beginning or several times in a row. When it fails once, after
 * answers, the word is AS_WORD_UNASKED.
 */
AS_MUST_CHECK int as_fsck_kernel_ask(struct as_fsck_kernel *kernel, struct as_disk *disk,
				     const struct as_word **word, struct as_err *err);
/* Carries out a workload on a copy of a fresh disk. An operation that the type does not know is
 * left out (EPERM, EOPNOTSUPP, ...). The store is that of the new disk. */
AS_MUST_CHECK int as_fsck_kernel_make(struct as_fsck_kernel *kernel, struct as_disk *fresh,
				      const char *workload, struct as_chunks *store,
				      struct as_disk **made, struct as_err *err);

#endif
