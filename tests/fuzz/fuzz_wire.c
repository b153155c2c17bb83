/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of the wire: what an engine in a box may say, whole and in pieces. What is passed on
 * has an id that is a name, a target and a workload that the engine was given, and one line where
 * one is shown; the numbers that are counted stay small enough to be summed up. */
#include "os/share.h"
#include "run/child.h"
#include "supervise/boxed_priv.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

#define JOBS 3

static void hear(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	struct as_seq *seq;

	(void)sink;
	as_assert(as_share_is_name(id));
	as_assert(!strcmp(f->target, "lab"));
	as_assert(f->op_index >= -1 && f->op_line >= 0);
	as_assert(!strpbrk(f->summary, "\n\r\033") && !strpbrk(f->signature, "\n\r\033"));
	as_assert(!as_parse_text("w", f->workload, strlen(f->workload), &seq, NULL));
	as_assert(!seq->n_meta);
	as_seq_free(seq);
}

static void run(const char *data, size_t len, size_t step, struct as_run_stats *stats)
{
	static const char text[] = "mkdir /a 0755\n";
	struct as_sink ear = { .finding = hear };
	struct as_boxed how = { .target = "lab", .told = &ear, .found = &ear };
	struct as_boxed_job jobs[JOBS];
	bool done[JOBS] = { false }, stop;
	size_t list[JOBS];
	struct as_box box = { .share_fd = -1 };
	struct as_boxed_session b = { .how = &how,
				      .jobs = jobs,
				      .n_jobs = JOBS,
				      .done = done,
				      .list = list,
				      .n_list = JOBS,
				      .stats = stats,
				      .box = &box };
	struct as_seq *seq;

	as_assert(!as_parse_text("w", text, strlen(text), &seq, NULL));
	for (size_t i = 0; i < JOBS; i++) {
		jobs[i] = (struct as_boxed_job){ "w", seq };
		list[i] = i;
	}
	as_boxed_clear(&b);
	for (size_t at = 0; at < len; at += step) {
		size_t n = at + step < len ? step : len - at;

		as_buf_add(&b.events, data + at, n);
		as_boxed_take_console(&b, data + at, n);
		do
			if (as_boxed_take_events(&b, &stop, NULL))
				break;
		while (stop);
	}
	as_boxed_flush(&b);
	as_assert(b.n_finished <= b.n_list && !b.pending);
	as_boxed_free_texts(&b);
	as_seq_free(seq);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_run_stats whole = { 0 }, pieces = { 0 };

	run((const char *)data, len, len ? len : 1, &whole);
	run((const char *)data, len, 7, &pieces);
	/* However the lines arrive, they say the same. */
	as_assert(whole.workloads == pieces.workloads && whole.ops == pieces.ops &&
		  whole.findings == pieces.findings);
	as_assert(whole.ops < UINT64_C(1) << 50);
	return 0;
}
