/* SPDX-License-Identifier: GPL-2.0-or-later */
/* told: see told.h. Print and parse of each kind stand side by side. */
#include "check/told.h"

#include "check/cuts.h"

#include "base/finding_json.h"
#include "base/json.h"
#include "work/parse.h"

#include <jansson.h>
#include <string.h>

#define COUNTS (sizeof(struct as_check_counts) / sizeof(uint64_t))

static void begin(struct as_json *json, const char *kind)
{
	as_json_object(json);
	as_json_kstr(json, "told", kind);
}

/* A text that is shorter than `cap`; NULL: there is none. */
static const char *text_of(const json_t *object, const char *name, size_t cap)
{
	const json_t *text = json_object_get(object, name);

	/* jansson takes no NUL within a text. */
	return json_is_string(text) && json_string_length(text) < cap ? json_string_value(text)
								      : NULL;
}

static uint64_t number_of(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));

	return n > 0 ? (uint64_t)n : 0;
}

/* Whether the text is so many operations, or fewer, with nothing before them. */
static bool is_operations(const char *text, size_t most)
{
	struct as_seq *seq = NULL;
	bool is = !as_parse_text("told", text, strlen(text), &seq, NULL) && seq->n <= most &&
		  !seq->n_meta;

	as_seq_free(seq);
	return is;
}

/* ---- A state --------------------------------------------------------------------------------- */

void as_told_print_state(const struct as_told_state *state, struct as_buf *out)
{
	struct as_json json = as_json_on(out);
	char hex[AS_DIGEST_HEX_LEN + 1];

	as_digest_hex(state->digest, hex);
	begin(&json, "state");
	as_json_kstr(&json, "digest", hex);
	as_json_kbool(&json, "fine", state->fine);
	as_json_kbool(&json, "recovered", state->recovered);
	as_json_kuint(&json, "wrote", state->wrote);
	as_json_kuint(&json, "answers", state->novel.answers);
	as_json_key(&json, "features");
	as_json_array(&json);
	for (unsigned i = 0; i < AS_NOVEL_FEATURES; i++)
		as_json_uint(&json, state->novel.feature[i] & INT64_MAX);
	as_json_end(&json);
	as_json_kstr(&json, "line", state->line);
	as_json_end(&json);
}

static uint64_t feature_of(const json_t *object, unsigned i)
{
	const json_t *features = json_object_get(object, "features");

	return (uint64_t)json_integer_value(json_array_get(features, i)) & INT64_MAX;
}

static bool parse_state(struct as_told *told)
{
	const char *hex = text_of(told->object, "digest", AS_DIGEST_HEX_LEN + 1);

	told->state.fine = json_is_true(json_object_get(told->object, "fine"));
	told->state.recovered = json_is_true(json_object_get(told->object, "recovered"));
	told->state.wrote = number_of(told->object, "wrote");
	told->state.novel.answers = number_of(told->object, "answers");
	for (unsigned i = 0; i < AS_NOVEL_FEATURES; i++)
		told->state.novel.feature[i] = feature_of(told->object, i);
	/* A step is the only line that is more than its operation. */
	return hex && as_digest_parse(hex, &told->state.digest) && *told->state.line &&
	       !strpbrk(told->state.line, "\n\r") &&
	       as_cuts_is_step(told->state.line) == told->state.recovered;
}

/* ---- A suspect ------------------------------------------------------------------------------- */

void as_told_print_suspect(const struct as_suspect *suspect, struct as_buf *out)
{
	struct as_finding finding = as_notice_open(&suspect->notice);
	struct as_json json = as_json_on(out);

	begin(&json, "suspect");
	as_json_kstr(&json, "line", suspect->tried.line);
	as_json_kstr(&json, "since", suspect->tried.since);
	as_json_kstr(&json, "faults", suspect->tried.faults);
	as_json_kstr(&json, "choices", suspect->tried.choices);
	as_json_key(&json, "notice");
	as_json_object(&json);
	as_finding_print(&json, &finding, AS_FINDING_SAID);
	as_json_end(&json);
	as_json_end(&json);
}

static bool is_plan(const char *text)
{
	struct as_plan *plan = NULL;
	bool is = !*text || !as_plan_parse(text, &plan, NULL);

	as_plan_free(plan);
	return is;
}

static bool is_choices(const char *text)
{
	return strspn(text, "0123456789.") == strlen(text);
}

static bool parse_notice(json_t *object, struct as_notice *notice)
{
	struct as_finding f;
	bool fits =
		!as_finding_parse(object, AS_FINDING_SAID, &f, NULL) && as_notice_of(&f, notice);

	as_finding_free(&f);
	return fits && (!*notice->options || as_suspect_is_crash(notice));
}

static bool parse_suspect(struct as_told *told)
{
	told->since = text_of(told->object, "since", AS_TRY_SINCE);
	told->faults = text_of(told->object, "faults", AS_SUSPECT_FAULTS);
	told->choices = text_of(told->object, "choices", AS_RUN_CHOICES_MAX);
	return told->since && told->faults && told->choices &&
	       is_operations(told->since, SIZE_MAX) && is_plan(told->faults) &&
	       is_choices(told->choices) &&
	       parse_notice(json_object_get(told->object, "notice"), &told->notice);
}

/* ---- A start --------------------------------------------------------------------------------- */

void as_told_print_start(const struct as_told_start *start, struct as_buf *out)
{
	struct as_json json = as_json_on(out);

	begin(&json, "start");
	as_json_kstr(&json, "text", start->text);
	as_json_kbool(&json, "last", start->last);
	if (start->wrong)
		as_json_kstr(&json, "wrong", start->wrong);
	as_json_end(&json);
}

/* What all the pieces are is looked at when they are together. */
static bool parse_start(struct as_told *told)
{
	told->start.text = text_of(told->object, "text", SIZE_MAX);
	told->start.last = json_is_true(json_object_get(told->object, "last"));
	told->start.wrong = text_of(told->object, "wrong", AS_TRY_LINE);
	return told->start.text;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

void as_told_print_counts(const struct as_check_counts *counts, struct as_buf *out)
{
	struct as_json json = as_json_on(out);
	const uint64_t *n = (const uint64_t *)counts;

	begin(&json, "counts");
	as_json_key(&json, "n");
	as_json_array(&json);
	for (size_t i = 0; i < COUNTS; i++)
		as_json_uint(&json, n[i] < INT64_MAX ? n[i] : INT64_MAX);
	as_json_end(&json);
	as_json_end(&json);
}

static bool parse_counts(struct as_told *told)
{
	const json_t *array = json_object_get(told->object, "n");
	uint64_t *n = (uint64_t *)&told->counts;

	if (json_array_size(array) != COUNTS)
		return false;
	for (size_t i = 0; i < COUNTS; i++) {
		json_int_t value = json_integer_value(json_array_get(array, i));

		/* So many in one state cannot be. */
		n[i] = value > 0 && value < INT64_MAX >> 16 ? (uint64_t)value : 0;
	}
	return true;
}

/* ---- All ------------------------------------------------------------------------------------- */

void as_told_parse(const char *text, struct as_told *told)
{
	const char *kind, *line;
	bool valid = false;

	*told = (struct as_told){ .object = json_loads(text, 0, NULL) };
	kind = text_of(told->object, "told", 16);
	line = text_of(told->object, "line", AS_TRY_LINE);
	told->state.line = line;
	if (!kind)
		return;
	if (!strcmp(kind, "counts") && parse_counts(told))
		told->kind = AS_TOLD_COUNTS;
	if (!strcmp(kind, "start") && parse_start(told))
		told->kind = AS_TOLD_START;
	valid = line && is_operations(line, 1);
	if (valid && !strcmp(kind, "state") && parse_state(told))
		told->kind = AS_TOLD_STATE;
	if (valid && !strcmp(kind, "suspect") && parse_suspect(told))
		told->kind = AS_TOLD_SUSPECT;
}

void as_told_free(struct as_told *told)
{
	json_decref(told->object);
	*told = (struct as_told){ 0 };
}

bool as_told_is_try(const struct as_try *tried)
{
	return is_operations(tried->line, 1) && is_operations(tried->since, SIZE_MAX) &&
	       is_plan(tried->faults) && is_choices(tried->choices);
}
