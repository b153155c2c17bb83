/* SPDX-License-Identifier: GPL-2.0-or-later */
/* readme: README.md in the folder of a finding, its page for whoever opens the folder first. Texts
 * from outside (names, logs, the target) are quoted, so that they cannot look like text of the
 * page. */
#ifndef AS_DOSSIER_README_H
#define AS_DOSSIER_README_H

#include "dossier/letter/letter.h"

#define AS_README_NAME "README.md"

void as_readme_print(const struct as_letter *letter);

#endif
