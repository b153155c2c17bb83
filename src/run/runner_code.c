/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_code: tells which code of the kernel a child has reached first (child/kcov.h). */
#include "run/runner_priv.h"

#include "child/kcov.h"
#include "os/spawn.h"

#include <stdlib.h>

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

/* Those of one workload follow each other, as workloads do. */
void as_runner_code_tell(struct as_runner *r, const struct as_run_batch *batch)
{
	uint64_t *pcs, n;
	size_t some = 0;

	if (!r->code)
		return;
	n = r->code->n_new < AS_KCOV_NEW_MAX ? r->code->n_new : AS_KCOV_NEW_MAX;
	pcs = as_xcalloc(AS_CODESET_TOLD_MAX, sizeof(*pcs));
	for (uint64_t i = 0; i < n; i++) {
		const struct as_kcov_new *fresh = &r->code->fresh[i];
		struct as_buf text = { 0 };

		pcs[some++] = fresh->pc;
		if (some < AS_CODESET_TOLD_MAX && i + 1 < n && fresh[1].workload == fresh->workload)
			continue;
		as_codeset_tell(fresh->workload < batch->n ? batch->names[fresh->workload] : "",
				pcs, some, &text);
		as_emit_told(r->sinks, as_buf_str(&text));
		as_buf_free(&text);
		some = 0;
	}
	r->code->n_new = 0;
	free(pcs);
}

struct as_kcov_area *as_runner_code(const struct as_runner *r)
{
	return r->code;
}

void as_runner_code_noted(struct as_runner *r, const char *name)
{
	const struct as_run_batch one = { .names = &name, .n = 1 };

	as_runner_code_tell(r, &one);
}
