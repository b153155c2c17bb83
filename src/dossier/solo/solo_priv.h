/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solo_priv: what the files that write programs of findings share. */
#ifndef AS_DOSSIER_SOLO_SOLO_PRIV_H
#define AS_DOSSIER_SOLO_SOLO_PRIV_H

#include "dossier/solo/solo.h"

/* What is done with an event. */
enum repro_role {
	REPRO_DROP, /* the program does without it */
	REPRO_GONE, /* the power was off already */
	REPRO_KEEP,
	REPRO_WRONG, /* it shows what is wrong */
	REPRO_DIES, /* a call that does not come back */
};

struct repro_event {
	const struct as_trail_event *e;
	enum repro_role role;
};

struct repro_writer {
	const struct as_repro *repro;
	struct as_buf *out;
	struct repro_event *events;
	size_t n, cap;
	size_t start, cut; /* where the workload begins, and the first power cut; n: none */
	bool leaks; /* memory that is left shows what is wrong */
	bool every; /* calls that only look are kept: what they ask the host for counts */
	int64_t op; /* the last one that was named */
	const char *opts; /* as the program has them */
	size_t fold_len; /* of the path before the number that a loop counts; 0: no loop */
	uint64_t clock_ns; /* as the program has it; 0: unknown */
};

/* The statements of a call, or of something else (solo_call.c). */
void as_repro_call(struct repro_writer *w, size_t i);
/* Writes a loop, if this call and others after it can be one (solo_fold.c); the last event of it.
 * Without a loop, nothing is written, and it is `i`. */
size_t as_repro_fold(struct repro_writer *w, size_t i);
/* Nobody reads a longer program, nor compiles it. It is not written; a reduced workload, which
 * writes less, may have one. */
#define REPRO_MAX_BYTES ((size_t)1 << 20)

/* A string literal for these bytes; long ones take several lines. It ends early if the program is
 * too long anyway. */
void as_repro_literal(const unsigned char *data, size_t len, struct as_buf *out);
/* What a power cut has left (solo_cut.c). False: it is too much for a program. */
bool as_repro_cut(struct repro_writer *w, size_t i);
bool as_repro_disk(struct repro_writer *w, size_t i);

#endif
