/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree_guest: a subject of tests/trial/test_agree.c in a guest of User-Mode Linux: this program
 * once more is what runs there, and it does with its own kernel what it does outside with ours.
 */
#ifndef AS_TESTS_LIB_AGREE_GUEST_H
#define AS_TESTS_LIB_AGREE_GUEST_H

#include <stdbool.h>

#define T_AGREE_INSIDE "--inside" /* NAME: what the program is given there */

/* At the beginning of main(): does not return in the first process of a guest. */
void t_agree_guest_main(char **argv);
/* Says outside what was met inside. */
void t_agree_say_met(void);

/* Runs the subject NAME of a type of the kernel there; fails as it does. Skips where there is no
 * such sandbox. */
void t_agree_in_guest(const char *type, const char *name);

#endif
