/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_found: the words of a finding: what a child left, or what can be said without it. */
#include "run/runner_priv.h"

#include "instance/instance.h"
#include "klog/kwatch.h"
#include "os/spawn.h"
#include "run/finding.h"
#include "work/print.h"

#include <stdio.h>

void as_runner_found_dead(struct as_runner *r, const struct as_seq *seq,
			  const struct as_ended *ended, const char *end)
{
	struct as_child_shared *sh = r->shared;
	const char *about = as_phase_name(sh->phase);
	struct as_buf op = { 0 }, died = { 0 };

	sh->found = true;
	sh->kind = ended->how == AS_END_DEADLINE ? AS_FIND_HANG : AS_FIND_SIGNAL;
	sh->found_op = sh->phase == PHASE_OP ? sh->op : -1;
	sh->has_disk = false;
	if (sh->found_op >= 0) {
		about = as_op_table[seq->ops[sh->op].code].name;
		as_print_op(&seq->ops[sh->op], &op);
		snprintf(sh->summary, sizeof(sh->summary), "op %lld: %.120s: the target %s",
			 (long long)sh->op + 1, as_buf_str(&op), end);
	} else {
		snprintf(sh->summary, sizeof(sh->summary), "%s: the target %s", about, end);
	}
	if (sh->kind == AS_FIND_SIGNAL && sh->stack.signal)
		as_host_log_stack(&sh->log, &sh->stack);
	if (sh->altered[0]) {
		/* A value that is believed shows itself here and there. */
		snprintf(sh->signature, sizeof(sh->signature), "%s: %s: %.*s",
			 as_finding_kind_name(sh->kind), about, (int)sizeof(sh->altered) - 1,
			 sh->altered);
	} else if (sh->kind == AS_FIND_SIGNAL && sh->stack.signal) {
		/* Where it died says more than the operation that led there. */
		as_stack_words(&sh->stack, ended->status, &died);
		snprintf(sh->signature, sizeof(sh->signature), "%s: %s",
			 as_finding_kind_name(sh->kind), as_buf_str(&died));
	} else {
		snprintf(sh->signature, sizeof(sh->signature), "%s: %s: %s",
			 as_finding_kind_name(sh->kind), about,
			 ended->how == AS_END_SIGNAL ? as_signal_name(ended->status)
			 : ended->how == AS_END_EXIT ? "exit"
						     : "hang");
	}
	as_buf_free(&op);
	as_buf_free(&died);
}

/* What a library answers is its own mistake where nobody has given it options to refuse. */
static bool is_blamed(const struct as_runner *r)
{
	const struct as_child_shared *sh = r->shared;

	return sh->tool_rc && sh->blamed && !*as_target_opts(r->target);
}

bool as_runner_found_fresh(struct as_runner *r, const struct as_ended *ended, const char *end)
{
	static const struct as_seq none = { 0 };
	struct as_child_shared *sh = r->shared;
	struct as_buf signature = { 0 };

	if (!(r->caps & AS_INSTANCE_IN_PROCESS))
		return false;
	if (end && sh->phase != PHASE_SETUP) {
		as_runner_found_dead(r, &none, ended, end);
		return true;
	}
	if (end || !is_blamed(r))
		return false;
	sh->found = true;
	sh->kind = AS_FIND_OUTCOME;
	sh->found_op = -1;
	snprintf(sh->summary, sizeof(sh->summary), "%s", sh->tool_err.msg);
	as_finding_signature(&signature, sh->kind, as_phase_name(sh->phase), sh->tool_err.msg);
	snprintf(sh->signature, sizeof(sh->signature), "%s", as_buf_str(&signature));
	as_buf_free(&signature);
	return true;
}

void as_runner_found_in_log(struct as_runner *r, const struct as_seq *seq, struct as_kwatch *watch,
			    bool excused)
{
	struct as_child_shared *sh = r->shared;
	struct as_kwatch_news news;
	struct as_buf op = { 0 };

	if ((sh->found && sh->finished) || !as_kwatch_look(watch, excused, &news))
		return;
	sh->found_op = sh->phase == PHASE_OP && !sh->finished ? sh->op : -1;
	if (sh->found_op >= 0)
		as_print_op(&seq->ops[sh->op], &op);
	snprintf(sh->summary, sizeof(sh->summary), "%.160s: %s",
		 op.len ? as_buf_str(&op) : as_phase_name(sh->phase), news.title);
	snprintf(sh->signature, sizeof(sh->signature), "%s", news.signature);
	as_host_log_add(&sh->log, news.text);
	sh->kind = AS_FIND_KERNEL;
	sh->found = true;
	as_buf_free(&op);
}

/* Names the seed of the run that found something, so that it can be run again. */
static void name_race(const struct as_runner *r, struct as_run_options *used)
{
	struct as_buf text = { 0 };

	used->race.seed =
		as_race_seed(&used->race, used->seed, r->race_run + (unsigned)r->shared->done);
	as_buf_adds(&text, "race:");
	as_race_print(&used->race, &text);
	snprintf(used->scenario, sizeof(used->scenario), "%s", as_buf_str(&text));
	as_buf_free(&text);
}

int as_runner_report(struct as_runner *r, const struct as_seq *seq, const char *name,
		     const char *faults, struct as_run_result *result, struct as_err *err)
{
	struct as_child_shared *sh = r->shared;
	struct as_buf detail = { 0 }, log = { 0 };
	struct as_run_options used = r->options;
	struct as_finding finding;
	struct as_medium *disk = NULL;
	char id[AS_FINDING_ID_MAX] = "";
	int rc = 0;

	used.faults = faults;
	used.draw_faults = false;
	if (sh->alter[0])
		snprintf(used.alter, sizeof(used.alter), "%.*s", (int)sizeof(sh->alter) - 1,
			 sh->alter);
	if (r->options.race.threads)
		name_race(r, &used);
	if (sh->detail[0])
		as_buf_adds(&detail, sh->detail);
	else
		as_shared_describe(sh, seq, faults, &detail);
	as_host_log_text(&sh->log, &log);
	if (sh->has_disk) {
		rc = as_medium_new(as_medium_bd(r->fresh_disk)->size_bytes, &disk, err);
		if (!rc)
			rc = as_medium_import(disk, r->disk_fd, err);
	}
	finding = (struct as_finding){
		.kind = sh->kind,
		.target = as_target_spec(r->target),
		.summary = sh->summary,
		.detail = as_buf_str(&detail),
		.signature = sh->signature,
		.workload_name = name,
		.op_index = (long)sh->found_op,
		.log = log.len ? as_buf_str(&log) : NULL,
		.disk = disk ? as_medium_disk(disk) : NULL,
	};
	as_finding_tell(&finding, as_target_name(r->target), seq, &used, r->sinks, id);
	*(as_ids_add(&r->ids, id) ? &result->findings : &result->again) += 1;
	as_medium_free(disk);
	as_buf_free(&detail);
	as_buf_free(&log);
	return rc;
}
