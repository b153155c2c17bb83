/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * script: repro.sh, which reproduces a finding of a workload in plain shell. It consists of a head
 * with what this finding needs, and of emitted/repro.sh, which is the same in all of them. Texts
 * from outside stand in the head only, each as one quoted word.
 */
#ifndef AS_DOSSIER_SCRIPT_H
#define AS_DOSSIER_SCRIPT_H

#include "base/buf.h"
#include "os/dir.h"

#define AS_SCRIPT_NAME "repro.sh"
/* What the tree has to be after the calls: lines as the script's find(1) prints them. */
#define AS_SCRIPT_TREE "expected.tree"
/* The same of what is in the files, as emitted/look.c prints it. */
#define AS_SCRIPT_DATA "expected.data"
#define AS_SCRIPT_ATTRS "expected.attrs"
#define AS_SCRIPT_LOOK "look.c"

struct as_letter;
/* Of a finding with a workload. */
void as_script_print(const struct as_letter *letter);
/* Writes look.c, which the script compiles if it is there. */
AS_MUST_CHECK int as_script_write_look(const struct as_dir *folder, struct as_err *err);
/* Why repro.sh of this finding runs `assay replay`; NULL: it needs no assay. */
const char *as_script_needs_assay(const struct as_letter *letter);

#endif
