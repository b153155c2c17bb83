/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * story: the text that tells a person how a crash state with a problem came about: what each
 * operation wrote and what those blocks are, the flushes, the power cut, which of the pending
 * writes were on the disk by then, what recovery did, and what is wrong with the result.
 */
#ifndef AS_CRASH_STORY_H
#define AS_CRASH_STORY_H

#include "crash/judge.h"
#include "cuts/perm.h"

struct as_story {
	const struct as_target *target;
	const struct as_recording *recording;
	const struct as_crash_options *options;
	struct as_perm *perm; /* at the state */
	const struct as_perm_state *state;
	const struct as_problem *problem;
	/* To see what recovery does; NULL: the recovery killed its process, so it is not repeated.
	 */
	struct as_recoverer *recoverer;
};

/* Adds at most about max_bytes; the oldest operations are left out where it would be more. */
void as_story_tell(const struct as_story *story, size_t max_bytes, struct as_buf *out);

/* Adds how two trees differ, a name on each line, in about max_bytes at most; nothing where they do
 * not. */
void as_story_trees(const struct as_tree *before, const struct as_tree *after, size_t max_bytes,
		    struct as_buf *out);

/* "op 7 `rename /a /b`"; "power cut during op 7 `rename /a /b`". */
void as_story_say_op(const struct as_recording *recording, size_t op, struct as_buf *out);
void as_story_say_moment(const struct as_recording *recording, struct as_moment moment,
			 struct as_buf *out);

#endif
