/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding: see finding.h. */
#include "run/finding.h"

#include "work/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define LAYOUT_MAX (1u << 20)

/* What the notice says of the scenario and of what fails. */
static void add_said(const char *words, struct as_run_options *used, char **faults)
{
	struct as_run_options said;

	if (!words || !*words || as_run_options_parse(words, &said, faults, NULL))
		return;
	if (said.scenario[0])
		memcpy(used->scenario, said.scenario, sizeof(used->scenario));
	if (*faults)
		used->faults = *faults;
}

void as_finding_tell(struct as_finding *f, const char *name, const struct as_seq *seq,
		     const struct as_run_options *options, struct as_sink *sinks,
		     char id[AS_FINDING_ID_MAX])
{
	struct as_buf workload = { 0 }, text = { 0 }, kernel = { 0 }, layout = { 0 };
	struct as_run_options used = *options;
	char *faults = NULL;
	struct utsname uts;
	char *own = name ? NULL : as_xstrndup(f->target, strcspn(f->target, ":"));

	as_print_seq(seq, &workload);
	if (!f->kernel && !uname(&uts)) {
		as_buf_addf(&kernel, "%s %s %s", uts.sysname, uts.release, uts.machine);
		f->kernel = as_buf_str(&kernel);
	}
	add_said(f->options, &used, &faults);
	as_run_options_print(&used, &text);
	f->workload = as_buf_str(&workload);
	f->options = as_buf_str(&text);
	/* The user may change the description, or mail the finding. */
	if (options->layout[0] && !as_buf_read_file(&layout, options->layout, LAYOUT_MAX, NULL))
		f->layout = as_buf_str(&layout);
	if (f->op_index < 0 || (size_t)f->op_index >= seq->n)
		f->op_index = -1;
	/* In the canonical text, each meta and each operation is a line. */
	f->op_line = f->op_index < 0 ? 0 : (int)(seq->n_meta + (size_t)f->op_index + 1);
	as_finding_id(f, name ? name : own, id);
	f->id = id;
	as_emit_finding(sinks, f);
	f->workload = f->options = f->kernel = f->layout = NULL;
	as_buf_free(&workload);
	as_buf_free(&text);
	as_buf_free(&kernel);
	as_buf_free(&layout);
	free(faults);
	free(own);
}
