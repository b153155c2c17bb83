/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of the wire, both directions.
 *
 * What parses as a job, as work or as an event is printed and parsed once more: the second print
 * equals the first. Then the input is what an engine in a box says, whole and in pieces. A finding
 * that is passed on has an id that is a name, a target and a workload that the engine was given,
 * and a summary of one line. Numbers stay small enough to be summed up.
 */
#include "os/share.h"
#include "supervise/boxed_priv.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

#define JOBS 3

/* ---- There and back -------------------------------------------------------------------------- */

static void check_job(const char *data, size_t len)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_wire_job job;

	if (as_wire_job_parse(data, len, &job, NULL))
		return;
	as_assert(job.target && job.state && job.work);
	as_assert(strlen(job.target) <= AS_WIRE_PATH_MAX_BYTES);
	as_assert(!as_wire_job_print(&job, &first, NULL));
	as_wire_job_free(&job);
	as_assert(!as_wire_job_parse(as_buf_str(&first), first.len, &job, NULL));
	as_assert(!as_wire_job_print(&job, &second, NULL));
	as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	as_wire_job_free(&job);
	as_buf_free(&first);
	as_buf_free(&second);
}

static void check_work(const char *data, size_t len)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_wire_work work;

	if (as_wire_work_parse(data, len, &work, NULL))
		return;
	as_wire_work_print(&work, &first);
	as_wire_work_free(&work);
	as_assert(!as_wire_work_parse(as_buf_str(&first), first.len, &work, NULL));
	as_wire_work_print(&work, &second);
	as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	as_wire_work_free(&work);
	as_buf_free(&first);
	as_buf_free(&second);
}

static void check_event(const char *line, size_t len)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_wire_event event;

	if (as_wire_event_parse(line, len, &event) != AS_WIRE_EVENT)
		return;
	as_assert((unsigned)event.kind < AS_WIRE_KINDS);
	as_wire_event_print(&event, &first);
	as_wire_event_free(&event);
	as_assert(as_wire_event_parse(as_buf_str(&first), first.len - 1, &event) == AS_WIRE_EVENT);
	as_wire_event_print(&event, &second);
	as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	as_wire_event_free(&event);
	as_buf_free(&first);
	as_buf_free(&second);
}

/* ---- An engine that says it ------------------------------------------------------------------ */

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	struct as_seq *seq;

	(void)sink;
	as_assert(as_share_is_name(f->id));
	as_assert(!strcmp(f->target, "lab"));
	as_assert(f->op_index >= -1 && f->op_line >= 0);
	as_assert(!strpbrk(f->summary, "\n\r\033") && !strpbrk(f->signature, "\n\r\033"));
	as_assert(!as_parse_text("w", f->workload, strlen(f->workload), &seq, NULL));
	as_assert(!seq->n_meta);
	as_seq_free(seq);
}

static void take(struct as_boxed_session *b, const char *data, size_t len, size_t step)
{
	bool reported;

	for (size_t at = 0; at < len; at += step) {
		size_t n = at + step < len ? step : len - at;

		as_buf_add(&b->events, data + at, n);
		as_boxed_take_console(b, data + at, n);
		/* An engine that is refused is ended. */
		do
			if (as_boxed_take_events(b, &reported, NULL))
				return;
		while (reported);
	}
}

/* The same, by an engine that was asked for an answer. There is no file with one, so that it never
 * comes; and nothing is found. */
static void ask(const char *data, size_t len, size_t step)
{
	struct as_boxed how = { .target = "lab" };
	struct as_boxed_job job = { .name = "w", .request = AS_WIRE_MOUNT };
	struct as_buf answer = { 0 };
	struct as_boxed_death death = { 0 };
	struct as_run_stats stats = { 0 };
	struct as_box_state box_state = { 0 };
	struct as_box box = { .share_fd = -1, .state = &box_state };
	bool done[1] = { false };
	size_t list[1] = { 0 };
	struct as_boxed_session b = { .how = &how,
				      .jobs = &job,
				      .n_jobs = 1,
				      .done = done,
				      .list = list,
				      .n_list = 1,
				      .stats = &stats,
				      .answer = &answer,
				      .death = &death,
				      .asked = 1,
				      .box = &box };

	as_boxed_clear(&b);
	b.greeted = true;
	take(&b, data, len, step);
	as_assert(!b.pending && !stats.workloads && !stats.findings && !answer.len);
	as_boxed_note_death(&b, BOXED_ENDED);
	as_assert(death.died && (!death.title.len || death.log.len));
	as_boxed_death_free(&death);
	as_buf_free(&answer);
	as_boxed_free_texts(&b);
}

static void run(const char *data, size_t len, size_t step, bool greeted, struct as_run_stats *stats)
{
	static const char text[] = "mkdir /a 0755\n";
	struct as_sink ear = { .finding = hear };
	struct as_boxed how = { .target = "lab", .notes = &ear, .findings = &ear };
	struct as_boxed_job jobs[JOBS];
	bool done[JOBS] = { false };
	size_t list[JOBS];
	struct as_box_state box_state = { 0 };
	struct as_box box = { .share_fd = -1, .state = &box_state };
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
		jobs[i] = (struct as_boxed_job){ .name = "w", .seq = seq };
		list[i] = i;
	}
	as_boxed_clear(&b);
	b.greeted = greeted;
	take(&b, data, len, step);
	as_boxed_flush(&b);
	as_assert(b.n_finished <= b.n_list && !b.pending);
	as_boxed_free_texts(&b);
	as_seq_free(seq);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data, *end;

	check_job(text, len);
	check_work(text, len);
	for (size_t at = 0; at < len; at = end ? (size_t)(end - text) + 1 : len) {
		end = memchr(text + at, '\n', len - at);
		check_event(text + at, end ? (size_t)(end - text) - at : len - at);
	}
	ask(text, len, len ? len : 1);
	ask(text, len, 7);
	for (int greeted = 0; greeted < 2; greeted++) {
		struct as_run_stats whole = { 0 }, pieces = { 0 };

		run(text, len, len ? len : 1, greeted, &whole);
		run(text, len, 7, greeted, &pieces);
		/* However the lines arrive, they say the same. */
		as_assert(whole.workloads == pieces.workloads && whole.ops == pieces.ops &&
			  whole.findings == pieces.findings);
		as_assert(whole.ops < UINT64_C(1) << 50);
	}
	return 0;
}
