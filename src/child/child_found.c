/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_found: what a child finds: its words in the shared memory, and the disk handed over. */
#include "child/child_priv.h"

#include "host/trail.h"
#include "klog/kwatch.h"
#include "symptom/checker_words.h"
#include "symptom/symptom.h"
#include "work/print.h"

#include <stdio.h>
#include <string.h>

static void hand_over_disk(struct child *c)
{
	struct as_medium *disk;

	if (!c->instance)
		return;
	disk = as_instance_hold_disk(c->instance);
	if (disk && !as_medium_export(disk, c->args->disk_fd, NULL))
		c->sh->notice.disk_len = as_medium_bd(disk)->size_bytes;
	as_instance_release_disk(c->instance);
}

static void sign(const struct child *c, const struct as_child_said *said, struct as_buf *out)
{
	struct as_symptom symptom = { .kind = said->kind,
				      .model = c->trial.model,
				      .seq = c->args->seq,
				      .failed = c->failed,
				      .op = said->op,
				      .made = -1,
				      .about = said->about,
				      .why = said->why };

	/* The tree was compared after that operation. */
	if (said->kind == AS_FIND_TREE && c->trial.model && said->op >= 0)
		symptom.op = said->op + 1;
	if (said->kind == AS_FIND_LEAK)
		symptom.made = as_instance_leak_op(c->instance);
	as_symptom_sign(&symptom, out);
}

static void keep_answers(struct child *c)
{
	struct as_buf answers = { 0 };

	if (c->instance)
		as_instance_answers(c->instance, &answers);
	snprintf(c->sh->answers, sizeof(c->sh->answers), "%s", as_buf_str(&answers));
	as_buf_free(&answers);
}

static void write_notice(struct child *c, const struct as_child_said *said,
			 struct as_notice *notice)
{
	struct as_buf signature = { 0 };

	as_notice_begin(notice, said->kind, said->op);
	if (said->op >= 0) {
		as_buf_clear(&c->text);
		as_print_op(&c->args->seq->ops[said->op], &c->text);
		AS_NOTICE_SETF(notice, summary, "op %lld: %.120s: %s", (long long)said->op + 1,
			       as_buf_str(&c->text), said->why);
	} else {
		AS_NOTICE_SETF(notice, summary, "%s: %s", said->about, said->why);
	}
	if (!said->signature)
		sign(c, said, &signature);
	AS_NOTICE_SET(notice, signature,
		      said->signature ? said->signature : as_buf_str(&signature));
	AS_NOTICE_SET(notice, detail, said->detail ? said->detail : "");
	as_buf_free(&signature);
}

void as_child_say(struct child *c, const struct as_child_said *said)
{
	struct as_child_shared *sh = c->sh;

	if (sh->notice.is)
		return;
	write_notice(c, said, &sh->notice);
	keep_answers(c);
	hand_over_disk(c);
	if (c->instance && said->kind == AS_FIND_TREE)
		as_instance_trail_tree(c->instance);
	as_trail_mark(as_target_trail(c->args->target), AS_TRAIL_FOUND, 0, NULL, 0);
	as_notice_close(&sh->notice);
}

void as_child_found(struct child *c, enum as_finding_kind kind, int64_t op, const char *about,
		    const char *why)
{
	as_child_say(c, &(struct as_child_said){ kind, op, about, why, NULL, NULL });
}

void as_child_found_errno(struct child *c, enum as_finding_kind kind, int rc)
{
	char why[96];

	snprintf(why, sizeof(why), "answered %s though nothing was wrong", as_errno_name(-rc));
	as_child_found(c, kind, -1, as_phase_name(c->sh->phase), why);
}

void as_child_found_by_checker(struct child *c, const struct as_instance_checked *checked)
{
	struct as_buf said = { 0 }, problem = { 0 }, why = { 0 }, name = { 0 }, signature = { 0 };

	as_host_log_text(&c->sh->log, &said);
	as_buf_adds(&why, checked->why);
	if (checked->kind == AS_FIND_CHECKER &&
	    as_checker_problem(checked->command, as_buf_str(&said), &problem)) {
		as_buf_addf(&why, ": %s", as_buf_str(&problem));
		as_checker_problem_sign(checked->command, as_buf_str(&problem), &name);
		as_symptom_sign_plain(checked->kind, NULL, as_buf_str(&name), &signature);
		as_symptom_after_last(c->args->seq, c->failed, (int64_t)c->args->seq->n,
				      &signature);
	}
	as_child_say(c, &(struct as_child_said){ .kind = checked->kind,
						 .op = -1,
						 .about = "fsck",
						 .why = as_buf_str(&why),
						 .signature = signature.len ? as_buf_str(&signature)
									    : NULL });
	as_buf_free(&said);
	as_buf_free(&problem);
	as_buf_free(&why);
	as_buf_free(&name);
	as_buf_free(&signature);
}

static bool kernel_spoke(struct child *c, int64_t op, const char *about)
{
	bool excused = as_trial_excuses(&c->trial, AS_EXCUSED_LOG);
	struct as_kwatch_news news;

	if (!as_kwatch_look(c->watch, excused, &news) || c->sh->notice.is)
		return false;
	as_host_log_add(&c->sh->log, news.text);
	as_child_say(c, &(struct as_child_said){ AS_FIND_KERNEL, op, about, news.title,
						 news.signature, NULL });
	return true;
}

/* Adds the operation whose memory was left. */
static const char *name_leaker(const struct child *c, const char *why, struct as_buf *out)
{
	int64_t made = as_instance_leak_op(c->instance);

	if (made < 0)
		return why;
	as_buf_addf(out, "%s: ", why);
	as_print_op(&c->args->seq->ops[made], out);
	return as_buf_str(out);
}

bool as_child_troubled(struct child *c, int64_t op)
{
	struct as_buf words = { 0 };
	const char *about = op >= 0 ? as_op_table[c->args->seq->ops[op].code].name
				    : as_phase_name(c->sh->phase);
	enum as_finding_kind kind;
	const char *why = as_trial_trouble(&c->trial, &kind), *output;

	if (!why)
		return c->watch && kernel_spoke(c, op, about);
	if (kind == AS_FIND_LEAK)
		why = name_leaker(c, why, &words);
	output = as_instance_output(c->instance);
	if (output && !c->sh->notice.is)
		as_host_log_add(&c->sh->log, output);
	as_child_found(c, kind, op, about, why);
	as_buf_free(&words);
	return true;
}
