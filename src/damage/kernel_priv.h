/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_priv: what kernel*.c share. */
#ifndef AS_DAMAGE_KERNEL_PRIV_H
#define AS_DAMAGE_KERNEL_PRIV_H

#include "damage/kernel.h"
#include "supervise/boxed.h"

/* kernel_box.c: a sandbox that is up. */
struct as_kernel_box;

AS_MUST_CHECK int as_kernel_box_open(const struct as_fsck_kernel_setup *setup,
				     struct as_kernel_box **box, struct as_err *err);
void as_kernel_box_free(struct as_kernel_box *box); /* takes NULL */
/* `answer` is what the sandbox wrote. If its kernel died or hangs, *word says how. */
AS_MUST_CHECK int as_kernel_box_give(struct as_kernel_box *box,
				     const struct as_boxed_question *question,
				     struct as_buf *answer, struct as_word *word,
				     struct as_err *err);

#endif
