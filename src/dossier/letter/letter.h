/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letter: a finding that was read from its folder, as all pages tell it. */
#ifndef AS_DOSSIER_LETTER_LETTER_H
#define AS_DOSSIER_LETTER_LETTER_H

#include "dossier/recipe.h"
#include "dossier/stored.h"
#include "work/seq.h"

struct as_letter {
	const struct as_dir *folder;
	struct as_stored stored;
	const struct as_finding *f; /* `shown`, or as it was stored */
	struct as_finding shown; /* with what the reduced workload shows */
	struct as_recipe recipe;
	struct as_seq *found, *steps; /* as it was found, and reduced; NULL: it cannot be read */
	const struct as_op *guilty; /* the one that failed, as `f` says; NULL: none */
	bool reduced;
	bool fits; /* what `f` says was seen with these steps, not with `found` */
	uint64_t runs, failed; /* of the reduced workload; 0: not confirmed */
	struct as_buf *out;
};

AS_MUST_CHECK int as_letter_open(const struct as_dir *folder, struct as_buf *out,
				 struct as_letter *letter, struct as_err *err);
void as_letter_close(struct as_letter *letter);

/* It is one of a checker, which has no workload. */
bool as_letter_is_fsck(const struct as_letter *letter);
/* How many of its operations count. */
size_t as_letter_n_steps(const struct as_letter *letter);
/* The step during which, or after which, the power was cut; 0: none of them, or it was cut in
 * several rounds, or while several threads ran. */
size_t as_letter_cut_step(const struct as_letter *letter, bool *during);
/* The value of an option ("scenario=race:...", "fault=write:3") up to the next blank; false: it has
 * none. */
bool as_letter_option(const struct as_letter *letter, const char *key, struct as_buf *value);
/* The numbered steps, at most so many of them. */
void as_letter_put_steps(const struct as_letter *letter, size_t most);
/* Which steps neither a program nor a script can do, and why; nothing if there are none. */
void as_letter_put_left_out(const struct as_letter *letter);
void as_letter_put_expected(const struct as_letter *letter);
void as_letter_put_often(const struct as_letter *letter);

#endif
