/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letter: see letter.h. */
#include "dossier/letter/letter.h"
#include "base/show.h"
#include "dossier/letter/plain.h"
#include "dossier/letter/words.h"
#include "dossier/steps.h"
#include "work/parse.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Operations that the parser does not know, of another version perhaps, are shown as they are. */
static struct as_seq *parse(const char *name, const char *text)
{
	struct as_seq *seq = NULL;

	if (!text || !*text || as_parse_text(name, text, strlen(text), &seq, NULL))
		return NULL;
	return seq;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* What was seen with the reduced workload, if it is known. */
static void use_reduced(struct as_letter *l, const json_t *reduced)
{
	const char *summary = text_of(reduced, "summary");
	json_int_t op = json_integer_value(json_object_get(reduced, "op"));

	if (!summary)
		return;
	l->shown = l->stored.finding;
	l->shown.summary = summary;
	l->shown.detail = text_of(reduced, "detail");
	l->shown.log = text_of(reduced, "log");
	l->shown.op_index = op > 0 && (size_t)op <= l->steps->n ? (long)op - 1 : -1;
	l->f = &l->shown;
	l->fits = true;
}

int as_letter_open(const struct as_dir *folder, struct as_buf *out, struct as_letter *l,
		   struct as_err *err)
{
	const struct as_seq *seq;
	const json_t *reduced;
	int rc;

	*l = (struct as_letter){ .folder = folder, .out = out };
	rc = as_stored_load(folder, &l->stored, err);
	if (rc)
		return rc;
	l->f = &l->stored.finding;
	as_recipe_open(l->f->target, &l->recipe);
	l->found = parse("workload.txt", l->stored.workload);
	l->steps = parse(AS_REDUCED_NAME, l->stored.reduced);
	l->reduced = l->steps;
	reduced = json_object_get(l->stored.finding.own, "reduced");
	if (l->reduced)
		use_reduced(l, reduced);
	seq = l->fits ? l->steps : l->found;
	if (seq && l->f->op_index >= 0 && (size_t)l->f->op_index < seq->n)
		l->guilty = &seq->ops[l->f->op_index];
	if (l->reduced && json_integer_value(json_object_get(reduced, "runs")) > 0) {
		l->runs = (uint64_t)json_integer_value(json_object_get(reduced, "runs"));
		l->failed = (uint64_t)json_integer_value(json_object_get(reduced, "failed"));
	}
	return 0;
}

void as_letter_close(struct as_letter *l)
{
	as_seq_free(l->found);
	as_seq_free(l->steps);
	as_recipe_close(&l->recipe);
	as_stored_free(&l->stored);
}

/* The workload that a reader is shown. */
static const struct as_seq *letter_steps(const struct as_letter *l)
{
	return l->steps ? l->steps : l->found;
}

bool as_letter_is_fsck(const struct as_letter *l)
{
	return !strncmp(l->f->options, "fsck=", 5);
}

bool as_letter_option(const struct as_letter *l, const char *key, struct as_buf *value)
{
	size_t len = strlen(key);

	for (const char *word = l->f->options; *word; word += strspn(word, " ")) {
		size_t n = strcspn(word, " ");

		if (n > len && !memcmp(word, key, len) && word[len] == '=') {
			as_buf_add(value, word + len + 1, n - len - 1);
			return true;
		}
		word += n;
	}
	return false;
}

size_t as_letter_cut_step(const struct as_letter *l, bool *during)
{
	static const char after[] = "power cut after op ", in[] = "power cut during op ";
	const char *summary = l->f->summary ? l->f->summary : "";
	const struct as_seq *seq = letter_steps(l);
	struct as_buf how = { 0 };
	size_t step = 0;

	*during = !strncmp(summary, in, strlen(in));
	if (*during || !strncmp(summary, after, strlen(after)))
		step = strtoul(summary + strlen(*during ? in : after), NULL, 10);
	if (as_letter_option(l, "scenario", &how) &&
	    (strstr(as_buf_str(&how), "from=") || strstr(as_buf_str(&how), "threads=")))
		step = 0;
	as_buf_free(&how);
	return seq && step <= seq->n && (!l->reduced || l->fits) ? step : 0;
}

/* What came after the power cut does not matter, nor what came after the call that failed, if that
 * call was judged by itself. */
size_t as_letter_n_steps(const struct as_letter *l)
{
	const struct as_seq *seq = letter_steps(l);
	bool during;
	size_t cut = as_letter_cut_step(l, &during);
	bool judged_alone = l->f->kind == AS_FIND_OUTCOME || l->f->kind == AS_FIND_DATA ||
			    l->f->kind == AS_FIND_SILENT || l->f->kind == AS_FIND_LIMIT ||
			    l->f->kind == AS_FIND_LOCK;

	if (cut)
		return cut;
	if (!l->reduced && l->guilty && judged_alone)
		return (size_t)l->f->op_index + 1;
	return seq ? seq->n : 0;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static void put_step(const struct as_op *op, size_t number, struct as_buf *out)
{
	struct as_buf text = { 0 };
	char head[32];

	as_step_print(op, &text);
	snprintf(head, sizeof(head), "%4zu. ", number);
	as_plain_text(out, head, as_buf_str(&text));
	as_buf_free(&text);
}

static bool has_pattern(const struct as_seq *seq)
{
	for (size_t i = 0; i < seq->n; i++)
		for (const enum as_arg_kind *k = as_op_table[seq->ops[i].code].args;
		     *k != AS_ARG_END; k++)
			if (*k == AS_ARG_FILL)
				return true;
	return false;
}

void as_letter_put_steps(const struct as_letter *l, size_t most)
{
	const struct as_seq *seq = letter_steps(l);
	size_t end, first;

	if (!seq) {
		as_plain_quote_lines(l->out, l->stored.workload, most);
		return;
	}
	end = as_letter_n_steps(l);
	first = end > most ? end - most : 0;
	if (first)
		as_buf_addf(l->out, "  (the last %zu of %zu; repro.c has all of them)\n", most,
			    end);
	for (size_t i = first; i < end; i++)
		put_step(&seq->ops[i], i + 1, l->out);
	if (!seq->n)
		as_plain_text(l->out, "  ", "No call: it shows on an empty file system.");
	if (has_pattern(seq))
		as_plain_text(
			l->out, "  ",
			"pattern(N) is a buffer of bytes that depend on N and on the offset: see "
			"repro.c.");
}

/* "3, 5": the steps that take assay for this reason. */
static size_t put_numbers(const struct as_letter *l, const char *why, struct as_buf *out)
{
	const struct as_seq *seq = letter_steps(l);
	size_t n = 0;

	for (size_t i = 0; seq && i < as_letter_n_steps(l); i++) {
		const char *own = as_step_needs_assay(&seq->ops[i]);

		if (own && !strcmp(own, why))
			as_buf_addf(out, "%s%zu", n++ ? ", " : "", i + 1);
	}
	return n;
}

void as_letter_put_left_out(const struct as_letter *l)
{
	const struct as_seq *seq = letter_steps(l);
	struct as_buf told = { 0 }, text = { 0 }, numbers = { 0 };

	for (size_t i = 0; seq && i < as_letter_n_steps(l); i++) {
		const char *why = as_step_needs_assay(&seq->ops[i]);
		size_t n;

		if (!why || strstr(as_buf_str(&told), why))
			continue;
		as_buf_adds(&told, why);
		as_buf_clear(&numbers);
		n = put_numbers(l, why, &numbers);
		as_buf_addf(&text, "Step%s %s: %s. ", as_plural(n), as_buf_str(&numbers), why);
	}
	if (text.len) {
		as_buf_adds(&text, "Only assay can do this. Programs and scripts leave it out and "
				   "say so; if nothing else is wrong, they end with status 125.");
		as_plain_text(l->out, "  ", as_buf_str(&text));
	}
	as_buf_free(&told);
	as_buf_free(&text);
	as_buf_free(&numbers);
}

void as_letter_put_expected(const struct as_letter *l)
{
	const char *rule = as_rule_of_signature(l->f->signature);
	struct as_buf seen = { 0 }, expected = { 0 }, text = { 0 };

	as_plain_text(l->out, "  ", as_kind_rule(l->f->kind));
	if (rule) {
		as_buf_addf(&text, "The rule that is broken here: %s.", rule);
		as_plain_text(l->out, "  ", as_buf_str(&text));
	}
	if (l->guilty && (l->f->kind != AS_FIND_CRASH && l->f->kind != AS_FIND_RECOVERY)) {
		as_buf_clear(&text);
		as_buf_addf(&text, "Manual page of the call: %s.", as_step_manual(l->guilty->code));
		as_plain_text(l->out, "  ", as_buf_str(&text));
	}
	as_words_summary(l->f->summary ? l->f->summary : "", &seen, &expected);
	if (expected.len) {
		as_plain_text(l->out, "  ", "Here that is:");
		as_plain_quote(l->out, as_buf_str(&expected));
	}
	as_buf_free(&seen);
	as_buf_free(&expected);
	as_buf_free(&text);
}

void as_letter_put_often(const struct as_letter *l)
{
	uint64_t count = l->stored.finding.count;
	struct as_buf text = { 0 };

	if (count)
		as_buf_addf(&text, "It was met %llu time%s. ", (unsigned long long)count,
			    as_plural(count));
	if (l->runs)
		as_buf_addf(&text, "The steps above failed in %llu of %llu runs.",
			    (unsigned long long)l->failed, (unsigned long long)l->runs);
	else if (l->reduced)
		as_buf_adds(&text, "The steps above were not run again after they were found.");
	else if (!as_letter_is_fsck(l))
		as_buf_adds(&text, "The steps were not reduced, and perhaps most of them are not "
				   "needed.");
	as_plain_text(l->out, "  ", as_buf_str(&text));
	as_buf_free(&text);
}
