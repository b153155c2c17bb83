/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_kcov: the part of kcov.versus that runs stress-ng. */
#ifndef AS_BENCH_BENCH_KCOV_H
#define AS_BENCH_BENCH_KCOV_H

/* A benchmark of this name, and a type after it, is what the guest runs. */
#define AS_BENCH_INSIDE "kcov.inside."

/* Lets stress-ng run for so long in a guest, and writes what was reached into the file `code`. The
 * reason goes to stderr if that fails (-1). */
int bench_kcov_stress(const char *type, unsigned seconds, const char *code);
/* The same, in the guest. */
void bench_kcov_inside(const char *type);

#endif
