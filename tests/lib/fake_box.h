/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_box: a sandbox in which a shell script takes the place of a kernel and of the engine in it.
 * It says what a test wants, to the supervisor that all sandboxes have.
 */
#ifndef AS_TESTS_LIB_FAKE_BOX_H
#define AS_TESTS_LIB_FAKE_BOX_H

#include "box/sandbox.h"

/*
 * Functions of the script: `up` boots and says hello; `next` waits for a request, of which $asked
 * is the name and $number the number; `answer TEXT` answers it; `done_with N` says that request N
 * is answered; `say WORDS` is a line to the supervisor; `die` is what a kernel does that panics;
 * `beat` shows life, once. $boots is how often a box was started.
 */
extern const struct as_sandbox_ops t_fake_box;

/* What the next boxes do; the folder remembers how many there were. */
void t_fake_box_set(const char *folder, const char *script);
int t_fake_box_boots(void);

#endif
