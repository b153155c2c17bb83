/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * random_seq: valid workloads drawn from the whole of the language: every operation, every kind of
 * argument, the ends of every range, strings with every byte. They are meant to be written and
 * read, not carried out.
 */
#ifndef AS_TESTS_LIB_RANDOM_SEQ_H
#define AS_TESTS_LIB_RANDOM_SEQ_H

#include "work/arg.h"
#include "work/seq.h"

#include <assay/choice.h>
#include <string.h>

#define RANDOM_STR_MAX 300

/* Draws an operation and adds it. */
const struct as_op *t_random_op(struct as_choice *c, struct as_seq *seq);

/* Some metadata and n operations. */
struct as_seq *t_random_seq(struct as_choice *c, size_t n);

#endif
