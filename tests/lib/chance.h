/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chance: random workloads that make much of what a crash may spoil: names that come and go, files
 * written and cut, and all ways to make something stable. */
#ifndef AS_TESTS_LIB_CHANCE_H
#define AS_TESTS_LIB_CHANCE_H

#include "base/choice.h"
#include "base/err.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct as_seq *t_chance_letters(void);

#endif
