/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tmpdir: folders of a test program below $TMPDIR, which scripts/run_tests.sh sets for each. */
#ifndef AS_TESTS_LIB_TMPDIR_H
#define AS_TESTS_LIB_TMPDIR_H

/* A new folder, empty, for this process: the absolute path, which is valid until the program ends.
 * The folder is removed then, with everything in it, also when a test has failed. A user who may
 * not write to $TMPDIR (a test that has given up root) gets one in /tmp. */
const char *t_tmpdir(void);

/* The same in another place, for what must be on a file system of its kind. NULL: none can be made
 * there, and errno says why. */
const char *t_tmpdir_in(const char *place);

/* Removes it now. A test that makes many folders does not keep them all. */
void t_tmpdir_remove(const char *path);

#endif
