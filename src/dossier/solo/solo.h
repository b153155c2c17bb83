/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solo: the finding of a library as a C program that is linked with the library's sources and needs
 * no assay (include/assay/solo.h). It is written from a trail of the calls that were made
 * (host/trail.h) when the finding was played once more.
 */
#ifndef AS_DOSSIER_SOLO_SOLO_H
#define AS_DOSSIER_SOLO_SOLO_H

#include "dossier/letter/letter.h"
#include "host/trail.h"
#include "target/target.h"
#include "work/seq.h"

/* A finding of a library that was played once more, and showed. */
struct as_played {
	const char *spec; /* the target that was played */
	const struct as_target *target;
	const struct as_seq *seq;
	const struct as_trail *trail;
	uint64_t size_bytes;
	const char *choices, *scenario;
};

/* Writes the program; false: the trail does not show the finding, or the program is too long. */
bool as_solo_print(const struct as_letter *letter, const struct as_played *played,
		   struct as_buf *out);

struct as_repro {
	const char *id;
	const struct as_finding *finding;
	const char *summary; /* of it, or in its place */
	const struct as_seq *seq;
	uint64_t size_bytes;
	const char *opts; /* of the target, without those of its flash */
	const struct as_flash_setup *flash; /* NULL: it works on a block device */
	const char *choices; /* answers to what it asks; "" for none */
	const char *symbol; /* of the table */
	const char *link; /* what to link with, in the command that compiles it */
	bool again; /* it takes a power cut during recovery, or several rounds */
};

/* Writes the program; false: the trail does not show the finding. */
bool as_repro_write(const struct as_repro *repro, const struct as_trail *trail, struct as_buf *out);

#endif
