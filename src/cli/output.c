/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output: see output.h. */
#include "cli/output.h"

#include "disk/image.h"
#include "report/sinks.h"

#include <unistd.h>

/* The room of reports does not know disks. */
int as_cli_save_disk(const void *disk, const char *path, struct as_err *err)
{
	return as_image_save((struct as_disk *)disk, path, err);
}

int as_cli_output_open(const struct as_args *args, struct as_cli_output *out, struct as_err *err)
{
	int rc = 0;

	*out = (struct as_cli_output){ .folder = as_args_text(args, "out", AS_OUT_DEFAULT),
				       .json = as_args_has(args, "json") };
	if (!as_args_has(args, "no-store"))
		rc = as_store_sink_new(out->folder, as_cli_save_disk, &out->store, err);
	if (rc)
		return rc;
	out->talk = out->json ? as_jsonl_sink_new(stdout)
			      : as_term_sink_new(stdout, isatty(STDOUT_FILENO));
	out->talk->next = out->store;
	out->chain = out->talk;
	return 0;
}

int as_cli_output_close(struct as_cli_output *out, const struct as_run_stats *stats, int rc,
			struct as_err *err)
{
	/* What was found stays true when something of ours failed behind it. */
	if (stats->findings && out->store && !out->json)
		as_emit_note(out->chain, "findings are kept in %s/findings", out->folder);
	if (!rc || stats->workloads)
		as_emit_done(out->chain, stats);
	if (!rc && out->store)
		rc = as_store_sink_failed(out->store, err);
	as_store_sink_free(out->store);
	if (out->json)
		as_jsonl_sink_free(out->talk);
	else
		as_term_sink_free(out->talk);
	return rc ? rc : stats->findings ? AS_EXIT_FOUND : AS_EXIT_CLEAN;
}
