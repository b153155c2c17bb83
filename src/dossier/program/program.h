/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program: repro.c in the folder of a finding. */
#ifndef AS_DOSSIER_PROGRAM_PROGRAM_H
#define AS_DOSSIER_PROGRAM_PROGRAM_H

#include "dossier/dossier.h"
#include "dossier/letter/letter.h"

/* Writes repro.c, and what the model expects besides the answers in it (expected.*). */
AS_MUST_CHECK int as_program_write(const struct as_letter *letter,
				   const struct as_dossier_news *news, struct as_err *err);

#endif
