/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted: a trace in a string, read, and what it was counted as. */
#ifndef AS_TESTS_LIB_COUNTED_H
#define AS_TESTS_LIB_COUNTED_H

#include "base/buf.h"
#include "cover/partition.h"
#include "cover/tally.h"
#include "trace/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The system calls that are counted, from t_spec_setup() to t_spec_teardown(), which are the set-up
 * and the teardown of a group of tests. */
extern struct as_spec *t_spec;
int t_spec_setup(void **state);
int t_spec_teardown(void **state);

/* Reads a trace with a filter and a working directory. The caller frees the counts. */
struct as_counts *t_read_with(const struct as_source_ops *source,
			      const struct as_world_options *options, const char *text);
/* The same; NULL under: everything. NULL cwd: not known. */
struct as_counts *t_read_text(const struct as_source_ops *source, const char *under,
			      const char *cwd, const char *text);

/* How often a partition was met. */
uint64_t t_count_in(const struct as_counts *counts, const char *family, const char *arg,
		    enum as_space_kind kind, const char *part);
/* Of an argument; arg NULL: of the result. */
uint64_t t_count(const struct as_counts *counts, const char *family, const char *arg,
		 const char *part);
/* How often the call of this name was made. */
uint64_t t_calls(const struct as_counts *counts, const char *name);

#endif
