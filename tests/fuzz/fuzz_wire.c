/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of the wire, both directions.
 *
 * What parses as a call or as an event is printed and parsed once more: the second print
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

static void check_call(const char *data, size_t len)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_wire_call call;

	if (as_wire_call_parse(data, len, &call, NULL))
		return;
	as_assert(call.request < AS_WIRE_REQUESTS && call.target);
	as_assert(strlen(call.target) <= AS_WIRE_PATH_MAX_BYTES);
	as_assert(call.work.n >= as_wire_requests[call.request].work_min &&
		  call.work.n <= as_wire_requests[call.request].work_max);
	as_assert(!as_wire_call_print(&call, &first, NULL));
	as_assert(as_wire_call_alike(&call, &call));
	as_wire_call_free(&call);
	as_assert(!as_wire_call_parse(as_buf_str(&first), first.len, &call, NULL));
	as_assert(!as_wire_call_print(&call, &second, NULL));
	as_assert(!strcmp(as_buf_str(&first), as_buf_str(&second)));
	as_wire_call_free(&call);
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

/* The memory of a guest; nothing here depends on what is left in it. */
static struct as_box_state *shared(void)
{
	static struct as_box_state *state;

	if (!state)
		state = as_xcalloc(1, sizeof(*state) + as_run_state_bytes());
	return state;
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
	const struct as_boxed_question question = { .request = AS_WIRE_MOUNT };
	const char *const name = "w";
	const struct as_work work = { &question.seq, &name, 1, NULL };
	struct as_buf answer = { 0 };
	struct as_boxed_death death = { 0 };
	struct as_run_result stats = { 0 };
	struct as_box box = { .share_fd = -1, .input_fd = -1, .state = shared() };
	bool done[1] = { false };
	size_t list[1] = { 0 };
	struct as_boxed_session b = { .how = &how,
				      .work = &work,
				      .question = &question,
				      .done = done,
				      .list = list,
				      .n_list = 1,
				      .sum = &stats,
				      .answer = &answer,
				      .death = &death,
				      .asked = 1,
				      .box = &box };

	as_boxed_clear(&b);
	b.greeted = true;
	take(&b, data, len, step);
	as_assert(!stats.workloads && !stats.findings && !answer.len);
	as_boxed_note_death(&b, BOXED_ENDED);
	as_assert(death.died && (!death.title.len || death.log.len));
	as_boxed_death_free(&death);
	as_buf_free(&answer);
	as_boxed_free_texts(&b);
}

static void run(const char *data, size_t len, size_t step, bool greeted,
		struct as_run_result *stats)
{
	static const char text[] = "mkdir /a 0755\n";
	struct as_sink ear = { .finding = hear };
	struct as_boxed how = { .target = "lab", .notes = &ear, .findings = &ear };
	const struct as_seq *seqs[JOBS];
	const char *names[JOBS];
	const struct as_work work = { seqs, names, JOBS, NULL };
	bool done[JOBS] = { false };
	size_t list[JOBS];
	struct as_box box = { .share_fd = -1, .input_fd = -1, .state = shared() };
	struct as_boxed_session b = { .how = &how,
				      .work = &work,
				      .done = done,
				      .list = list,
				      .n_list = JOBS,
				      .sum = stats,
				      .box = &box };
	struct as_seq *seq;

	as_assert(!as_parse_text("w", text, strlen(text), &seq, NULL));
	for (size_t i = 0; i < JOBS; i++) {
		seqs[i] = seq;
		names[i] = "w";
		list[i] = i;
	}
	as_boxed_clear(&b);
	b.greeted = greeted;
	take(&b, data, len, step);
	as_assert(b.n_finished <= b.n_list);
	as_boxed_free_texts(&b);
	as_seq_free(seq);
}

/* The process that runs checkers outside says it: whatever it is, only the answer to the question
 * that was asked ends the question. */
static void answer(const char *data, size_t len, size_t step, bool greeted)
{
	struct as_box box = { .share_fd = -1, .input_fd = -1, .state = shared() };
	struct as_boxed_session b = { .box = &box, .outside_asked = 1, .outside_greeted = greeted };
	bool sane = true;

	for (size_t at = 0; at < len && sane; at += step)
		sane = as_boxed_outside_take(&b, data + at, at + step < len ? step : len - at);
	as_assert(b.outside_asked <= 1 && !b.outside_next);
	as_assert(b.outside_asked || memmem(data, len, "\"answer\"", 8));
	as_assert(b.outside_asked || b.outside_greeted || !sane);
	as_boxed_outside_end(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data, *end;

	check_call(text, len);
	for (size_t at = 0; at < len; at = end ? (size_t)(end - text) + 1 : len) {
		end = memchr(text + at, '\n', len - at);
		check_event(text + at, end ? (size_t)(end - text) - at : len - at);
	}
	ask(text, len, len ? len : 1);
	ask(text, len, 7);
	for (int greeted = 0; greeted < 2; greeted++) {
		answer(text, len, len ? len : 1, greeted);
		answer(text, len, 7, greeted);
		struct as_run_result whole = { 0 }, pieces = { 0 };

		run(text, len, len ? len : 1, greeted, &whole);
		run(text, len, 7, greeted, &pieces);
		/* However the lines arrive, they say the same. */
		as_assert(whole.workloads == pieces.workloads && whole.ops == pieces.ops &&
			  whole.findings == pieces.findings);
		as_assert(whole.ops < UINT64_C(1) << 50);
	}
	return 0;
}
