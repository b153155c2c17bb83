/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choice: three ways to answer as_choose() (see <assay/choice.h> for the seam):
 *   seeded      draws from a seed;
 *   exhaustive  an odometer: run the same code again and again, each time with the next combination
 *               of answers, until as_choice_next() says that all were tried (the number of choices
 *               and their n may depend on earlier answers);
 *   replay      hands out a recorded list; past its end, or where n does not fit, answers 0 and
 *               remembers that it strayed.
 * Every mode records the answers it gave, so that a run can be replayed from them.
 */
#ifndef AS_BASE_CHOICE_H
#define AS_BASE_CHOICE_H

#include "base/buf.h"
#include "base/err.h"

#include <assay/choice.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_chooser; /* begins with a struct as_choice */

struct as_chooser *as_chooser_seeded(uint64_t seed);
struct as_chooser *as_chooser_exhaustive(void);
struct as_chooser *as_chooser_replay(const unsigned *answers, size_t n);
void as_chooser_free(struct as_chooser *chooser);

struct as_choice *as_chooser_choice(struct as_chooser *chooser);
/* Exhaustive: moves to the next combination and returns false when all have been tried. Seeded:
 * forgets the record, goes on with the stream and always returns true. Replay: starts again at the
 * first answer and always returns false. */
bool as_chooser_next(struct as_chooser *chooser);
/* The answers given since the start or the last next(). */
size_t as_chooser_record(const struct as_chooser *chooser, const unsigned **answers);
bool as_chooser_strayed(const struct as_chooser *chooser);
/* Converts between a record and its text "3.0.12", which is how a record is written into an id. As
 * text, "0*200.1" is answer 0 two hundred times, then 1. */
void as_choice_print(const unsigned *answers, size_t n, struct as_buf *out);
AS_MUST_CHECK int as_choice_parse(const char *text, unsigned **answers, size_t *n,
				  struct as_err *err);
/* Who answers, as a person types it: "seed:7", or a record "0.1.0" that is replayed. */
AS_MUST_CHECK int as_chooser_parse(const char *text, struct as_chooser **chooser,
				   struct as_err *err);

#endif
