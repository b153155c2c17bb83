/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_found: the words of a finding: what a child left, or what can be said without it. */
#include "run/runner_priv.h"

#include "crew/ended.h"
#include "instance/instance.h"
#include "klog/kwatch.h"
#include "os/spawn.h"
#include "run/finding.h"
#include "symptom/symptom.h"
#include "trial/excuse.h"
#include "work/print.h"

#include <stdio.h>

/* Where it died says more than the operation that led there; and a value on the disk that is
 * believed shows itself here and there, so that the field says the most. */
static void sign_dead(struct as_child_shared *sh, const char *about, const struct as_ended *ended)
{
	struct as_notice *notice = &sh->notice;
	struct as_buf died = { 0 }, signature = { 0 };

	if (sh->altered[0]) {
		as_symptom_sign_plain(notice->kind, about, sh->altered, &signature);
	} else if (notice->kind == AS_FIND_SIGNAL && sh->stack.signal) {
		as_stack_words(&sh->stack, ended->status, &died);
		as_symptom_sign_plain(notice->kind, NULL, as_buf_str(&died), &signature);
	} else {
		as_symptom_sign_plain(notice->kind, about,
				      ended->how == AS_END_SIGNAL ? as_signal_name(ended->status)
				      : ended->how == AS_END_EXIT ? "exit"
								  : "hang",
				      &signature);
	}
	AS_NOTICE_SET(notice, signature, as_buf_str(&signature));
	as_buf_free(&died);
	as_buf_free(&signature);
}

void as_runner_found_dead(struct as_runner *r, const struct as_seq *seq,
			  const struct as_ended *ended, const char *end)
{
	struct as_child_shared *sh = r->shared;
	struct as_notice *notice = &sh->notice;
	const char *about = as_phase_name(sh->phase);
	struct as_buf op = { 0 };

	as_notice_begin(notice, as_ended_kind(ended), sh->phase == PHASE_OP ? sh->op : -1);
	if (notice->op >= 0) {
		about = as_op_table[seq->ops[sh->op].code].name;
		as_print_op(&seq->ops[sh->op], &op);
		AS_NOTICE_SETF(notice, summary, "op %lld: %.120s: the target %s",
			       (long long)sh->op + 1, as_buf_str(&op), end);
	} else {
		AS_NOTICE_SETF(notice, summary, "%s: the target %s", about, end);
	}
	if (notice->kind == AS_FIND_SIGNAL && sh->stack.signal)
		as_host_log_stack(&sh->log, &sh->stack);
	sign_dead(sh, about, ended);
	as_notice_close(notice);
	as_buf_free(&op);
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
	struct as_symptom symptom = { .kind = AS_FIND_OUTCOME, .op = -1 };
	struct as_buf signature = { 0 };

	if (!(r->caps & AS_INSTANCE_IN_PROCESS))
		return false;
	if (end && sh->phase != PHASE_SETUP) {
		as_runner_found_dead(r, &none, ended, end);
		return true;
	}
	if (end || !is_blamed(r))
		return false;
	symptom.about = as_phase_name(sh->phase);
	symptom.why = sh->tool_err.msg;
	as_symptom_sign(&symptom, &signature);
	as_notice_begin(&sh->notice, symptom.kind, symptom.op);
	AS_NOTICE_SET(&sh->notice, summary, sh->tool_err.msg);
	AS_NOTICE_SET(&sh->notice, signature, as_buf_str(&signature));
	as_notice_close(&sh->notice);
	as_buf_free(&signature);
	return true;
}

void as_runner_found_in_log(struct as_runner *r, const struct as_seq *seq, struct as_kwatch *watch,
			    unsigned said)
{
	struct as_child_shared *sh = r->shared;
	struct as_notice *notice = &sh->notice;
	/* The child may have found something, and handed its disk over, before the kernel spoke. */
	uint64_t disk_len = notice->disk_len;
	bool excused = as_excuses(AS_EXCUSED_LOG, said);
	struct as_kwatch_news news;
	struct as_buf op = { 0 };

	if ((notice->is && sh->finished) || !as_kwatch_look(watch, excused, &news))
		return;
	as_notice_begin(notice, AS_FIND_KERNEL,
			sh->phase == PHASE_OP && !sh->finished ? sh->op : -1);
	notice->disk_len = disk_len;
	if (notice->op >= 0)
		as_print_op(&seq->ops[sh->op], &op);
	AS_NOTICE_SETF(notice, summary, "%.160s: %s",
		       op.len ? as_buf_str(&op) : as_phase_name(sh->phase), news.title);
	AS_NOTICE_SET(notice, signature, news.signature);
	as_host_log_add(&sh->log, news.text);
	as_notice_close(notice);
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
	const struct as_notice *notice = &sh->notice;
	struct as_buf detail = { 0 }, log = { 0 };
	struct as_run_options used = r->options;
	struct as_finding finding;
	struct as_medium *disk = NULL;
	char id[AS_FINDING_ID_MAX] = "";
	int rc = 0;

	used.faults = faults;
	used.draw_faults = false;
	if (sh->alter[0])
		snprintf(used.alter, sizeof(used.alter), "%s", sh->alter);
	if (r->options.race.threads)
		name_race(r, &used);
	if (!notice->detail[0])
		as_shared_describe(sh, seq, faults, &detail);
	as_host_log_text(&sh->log, &log);
	if (notice->disk_len) {
		rc = as_medium_new(as_medium_bd(r->fresh_disk)->size_bytes, &disk, err);
		if (!rc)
			rc = as_medium_import(disk, r->disk_fd, err);
	}
	finding = as_notice_open(notice);
	finding.target = as_target_spec(r->target);
	if (!notice->detail[0])
		finding.detail = as_buf_str(&detail);
	finding.workload_name = name;
	finding.log = log.len ? as_buf_str(&log) : NULL;
	finding.disk = disk ? as_medium_disk(disk) : NULL;
	as_finding_tell(&finding, as_target_name(r->target), seq, &used, r->sinks, id);
	*(as_ids_add(&r->ids, id) ? &result->findings : &result->again) += 1;
	as_medium_free(disk);
	as_buf_free(&detail);
	as_buf_free(&log);
	return rc;
}
