/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handed: see handed.h. */
#include "work/handed.h"

#include "base/array.h"

#include <stdlib.h>

void as_handed_run(struct as_handed *told, uint64_t at, uint64_t len, uint64_t pattern,
		   uint64_t from)
{
	AS_ARRAY_ROOM(told->run, told->n_runs, told->cap_runs);
	told->run[told->n_runs++] = (struct as_handed_run){ at, len, pattern, from };
}

void as_handed_clear(struct as_handed *told)
{
	struct as_handed_run *run = told->run;
	size_t cap = told->cap_runs;
	struct as_buf text = told->text;

	as_buf_clear(&text);
	*told = (struct as_handed){ .run = run, .cap_runs = cap, .text = text };
}

void as_handed_free(struct as_handed *told)
{
	free(told->run);
	as_buf_free(&told->text);
	*told = (struct as_handed){ 0 };
}
