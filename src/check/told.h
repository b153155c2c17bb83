/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * told: what a worker in a sandbox says of the state that it was given (inside.c), to the lane
 * outside (boxed.c): the states that follow, and what looks wrong. Each is a JSON object.
 *
 * The guest is not believed: its kernel is under test. So all is bounded, and a line must be an
 * operation that can be parsed.
 */
#ifndef AS_CHECK_TOLD_H
#define AS_CHECK_TOLD_H

#include "check/check_priv.h"

/* A state that the operation leads to. */
struct as_told_state {
	struct as_digest digest;
	bool fine; /* no power cut on the way there is a finding */
	/* What a power cut on the way to the state before leaves and recovery makes of it; the
	 * line is a step (cuts.h). */
	bool recovered;
	uint64_t wrote; /* sectors that recovery has written */
	struct as_novel novel; /* without places: they are told apart (code.c) */
	const char *line;
};

/* A start (start.h), in pieces. */
struct as_told_start {
	const char *text;
	bool last; /* of the pieces */
	const char *wrong; /* NULL: nothing */
};

void as_told_print_state(const struct as_told_state *state, struct as_buf *out);
void as_told_print_suspect(const struct as_suspect *suspect, struct as_buf *out);
void as_told_print_start(const struct as_told_start *start, struct as_buf *out);
void as_told_print_counts(const struct as_check_counts *counts, struct as_buf *out);

enum as_told_kind {
	AS_TOLD_NOTHING,
	AS_TOLD_STATE,
	AS_TOLD_SUSPECT,
	AS_TOLD_START,
	AS_TOLD_COUNTS
};

struct as_told {
	enum as_told_kind kind; /* AS_TOLD_NOTHING: it is not valid */
	struct as_told_state state;
	const char *since, *faults, *choices; /* of a suspect, and state.line, */
	struct as_notice notice; /* and what was wrong then */
	struct as_told_start start;
	struct as_check_counts counts;
	struct json_t *object; /* holds the texts */
};

/* Whether what a dead kernel was doing can be tried again. */
bool as_told_is_try(const struct as_try *tried);
void as_told_parse(const char *text, struct as_told *told);
void as_told_free(struct as_told *told);

#endif
