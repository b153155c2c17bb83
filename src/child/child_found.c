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
		c->sh->has_disk = true;
	as_instance_release_disk(c->instance);
}

static void add_op(const struct child *c, int64_t op, struct as_buf *out)
{
	as_buf_adds(out, AS_SIGNATURE_AFTER);
	as_symptom_op(c->args->seq, (size_t)op, out);
}

/* How much is left, and after which of several unmounts, says nothing. */
static void sign_leak(const struct child *c, int64_t op, struct as_buf *out)
{
	int64_t made = as_instance_leak_op(c->instance);

	as_buf_addf(out, "%s: memory left after unmount", as_finding_kind_name(AS_FIND_LEAK));
	if (made >= 0)
		add_op(c, made, out);
	else
		as_symptom_after_last(c->args->seq, c->failed,
				      op < 0 ? (int64_t)c->args->seq->n : op, out);
}

/* Whether it is a rule that a library keeps by itself: the words say enough. */
static bool is_told(enum as_finding_kind kind)
{
	return kind == AS_FIND_LOCK || kind == AS_FIND_PAIR || kind == AS_FIND_INVARIANT ||
	       kind == AS_FIND_SILENT || kind == AS_FIND_LIMIT;
}

static void sign_told(const struct child *c, enum as_finding_kind kind, int64_t op, const char *why,
		      struct as_buf *out)
{
	as_buf_addf(out, "%s: ", as_finding_kind_name(kind));
	as_signature_add(out, why);
	if (op >= 0)
		add_op(c, op, out);
	else
		as_symptom_after_last(c->args->seq, c->failed, (int64_t)c->args->seq->n, out);
}

static void sign(const struct child *c, enum as_finding_kind kind, int64_t op, const char *about,
		 const char *why, struct as_buf *out)
{
	const struct as_seq *seq = c->args->seq;
	struct as_symptom symptom = { .kind = kind,
				      .model = c->trial.model,
				      .seq = seq,
				      .failed = c->failed,
				      .op = op,
				      .why = why };

	if ((kind == AS_FIND_OUTCOME || kind == AS_FIND_DATA || kind == AS_FIND_TREE) &&
	    c->trial.model) {
		/* The tree was compared after that operation. */
		if (kind == AS_FIND_TREE && op >= 0)
			symptom.op = op + 1;
		as_symptom_sign(&symptom, out);
		return;
	}
	if (kind == AS_FIND_LEAK) {
		sign_leak(c, op, out);
		return;
	}
	if (is_told(kind)) {
		sign_told(c, kind, op, why, out);
		return;
	}
	as_finding_signature(out, kind, about, why);
	if (op < 0)
		as_symptom_after_last(seq, c->failed, (int64_t)seq->n, out);
}

static void keep_answers(struct child *c)
{
	struct as_buf answers = { 0 };

	if (c->instance)
		as_instance_answers(c->instance, &answers);
	snprintf(c->sh->answers, sizeof(c->sh->answers), "%s", as_buf_str(&answers));
	as_buf_free(&answers);
}

void as_child_found(struct child *c, enum as_finding_kind kind, int64_t op, const char *about,
		    const char *why)
{
	struct as_child_shared *sh = c->sh;
	struct as_buf signature = { 0 };

	if (sh->found)
		return;
	sh->kind = kind;
	sh->found_op = op;
	if (op >= 0) {
		as_buf_clear(&c->text);
		as_print_op(&c->args->seq->ops[op], &c->text);
		snprintf(sh->summary, sizeof(sh->summary), "op %lld: %.120s: %s", (long long)op + 1,
			 as_buf_str(&c->text), why);
	} else {
		snprintf(sh->summary, sizeof(sh->summary), "%s: %s", about, why);
	}
	sign(c, kind, op, about, why, &signature);
	snprintf(sh->signature, sizeof(sh->signature), "%s", as_buf_str(&signature));
	as_buf_free(&signature);
	keep_answers(c);
	hand_over_disk(c);
	if (c->instance && kind == AS_FIND_TREE)
		as_instance_trail_tree(c->instance);
	as_trail_mark(as_target_trail(c->args->target), AS_TRAIL_FOUND, 0, NULL, 0);
	sh->found = true;
}

void as_child_found_errno(struct child *c, enum as_finding_kind kind, int rc)
{
	char why[96];

	snprintf(why, sizeof(why), "answered %s though nothing was wrong", as_errno_name(-rc));
	as_child_found(c, kind, -1, as_phase_name(c->sh->phase), why);
}

void as_child_found_by_checker(struct child *c, const struct as_instance_checked *checked)
{
	struct as_child_shared *sh = c->sh;
	struct as_buf said = { 0 }, problem = { 0 }, why = { 0 }, signature = { 0 };

	as_host_log_text(&sh->log, &said);
	as_buf_adds(&why, checked->why);
	if (checked->kind == AS_FIND_CHECKER &&
	    as_checker_problem(checked->command, as_buf_str(&said), &problem)) {
		as_buf_addf(&why, ": %s", as_buf_str(&problem));
		as_buf_addf(&signature, "%s: ", as_finding_kind_name(checked->kind));
		as_checker_problem_sign(checked->command, as_buf_str(&problem), &signature);
		as_symptom_after_last(c->args->seq, c->failed, (int64_t)c->args->seq->n,
				      &signature);
	}
	as_child_found(c, checked->kind, -1, "fsck", as_buf_str(&why));
	if (signature.len)
		snprintf(sh->signature, sizeof(sh->signature), "%s", as_buf_str(&signature));
	as_buf_free(&said);
	as_buf_free(&problem);
	as_buf_free(&why);
	as_buf_free(&signature);
}

static bool kernel_spoke(struct child *c, int64_t op, const char *about)
{
	bool excused = c->args->plan && as_child_fault_hit(c);
	struct as_kwatch_news news;

	if (!as_kwatch_look(c->watch, excused, &news) || c->sh->found)
		return false;
	as_host_log_add(&c->sh->log, news.text);
	as_child_found(c, AS_FIND_KERNEL, op, about, news.title);
	snprintf(c->sh->signature, sizeof(c->sh->signature), "%s", news.signature);
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
	if (output && !c->sh->found)
		as_host_log_add(&c->sh->log, output);
	as_child_found(c, kind, op, about, why);
	as_buf_free(&words);
	return true;
}
