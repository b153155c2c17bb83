/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view: descriptors that each have a view of their own of a file (AS_QUIRK_OWN_VIEWS).
 *
 * A descriptor sees the file as it was when it was opened, and what was written through itself. All
 * of that becomes the file's with fsync, sync or close, in place of what the file had. Paths show
 * the file.
 *
 * Method. While an operation on such a descriptor is judged, the inode has the contents of the
 * view: the rules know nothing of views. Afterwards the inode gets its own back.
 *
 * What is not said: whether a descriptor that has written nothing goes on to see the file as it was
 * after another one has changed it. From the first operation that would show that, the model has
 * lost track. So it has after mappings, operations on two descriptors, and a sync with two changed
 * views of one file.
 */
#ifndef AS_MODEL_VIEW_H
#define AS_MODEL_VIEW_H

#include "model/rules/rule.h"

/* What was swapped for an operation. */
struct as_view_swap {
	bool swapped;
	int32_t slot;
	uint32_t ino;
	uint64_t size; /* of the inode itself */
	struct as_runs *runs;
	struct as_runs *seen; /* of the view before the operation */
	uint64_t seen_size;
};

/* Of a descriptor, for the label of its inode. */
uint64_t as_file_label(const struct as_file *file);
/* Before an operation is judged: whether that is still possible. */
void as_view_doubt(struct as_model *m, const struct as_op *op);
void as_view_enter(struct as_rule_step *s, struct as_view_swap *swap);
void as_view_leave(struct as_rule_step *s, struct as_view_swap *swap);
/* A regular file was opened; with O_TRUNC its view is empty. */
void as_view_open(struct as_model *m, int32_t slot, bool truncated);
/* The descriptor is about to be closed. */
void as_view_close(struct as_model *m, int32_t slot);

#endif
