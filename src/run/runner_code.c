/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_code: tells which code of the kernel a child has reached first (child/kcov.h). */
#include "run/runner_priv.h"

#include "child/kcov.h"
#include "os/spawn.h"

void as_runner_code_open(struct as_runner *r)
{
	if (r->options.kcov)
		r->code = as_shared_alloc(sizeof(*r->code));
}

void as_runner_code_close(struct as_runner *r)
{
	if (r->code)
		as_shared_free(r->code, sizeof(*r->code));
}

void as_runner_code_tell(struct as_runner *r, const struct as_work *batch)
{
	if (!r->code)
		return;
	for (size_t i = 0; i < batch->n && r->code->n_new; i++)
		as_kcov_tell(r->code, i, batch->names[i], r->sinks);
	as_kcov_tell(r->code, AS_KCOV_NOBODY, "", r->sinks);
}

struct as_kcov_area *as_runner_code(const struct as_runner *r)
{
	return r->code;
}

void as_runner_code_noted(struct as_runner *r, const char *name)
{
	const struct as_work one = { .names = &name, .n = 1 };

	as_runner_code_tell(r, &one);
}
