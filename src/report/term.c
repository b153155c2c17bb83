/* SPDX-License-Identifier: GPL-2.0-or-later */
/* term: findings for people: the operation, its answer, the answer that was expected, and how to
 * replay it. */
#include "report/sinks.h"

#include "base/array.h"
#include "base/show.h"
#include "progress/result.h"

#include <stdlib.h>
#include <string.h>

#define LOG_LINES 12 /* lines shown of the target's log */

struct term {
	struct as_sink sink;
	FILE *out;
	bool colour;
	const char *folder; /* of the findings; NULL: the one that replay has without an option */
	char **told; /* ids */
	size_t n_told, cap_told;
};

/* A finding is printed once. */
static bool told_before(struct term *t, const char *id)
{
	for (size_t i = 0; i < t->n_told; i++)
		if (!strcmp(t->told[i], id))
			return true;
	AS_ARRAY_ROOM(t->told, t->n_told, t->cap_told);
	t->told[t->n_told++] = as_xstrdup(id);
	return false;
}

static const char *paint(const struct term *t, const char *code)
{
	return t->colour ? code : "";
}

#define BOLD_RED "\033[1;31m"
#define DIM "\033[2m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* The last lines of text, each indented. */
static void put_lines(const struct term *t, const char *text, unsigned max)
{
	const char *from = text + strlen(text);
	unsigned lines = 0;

	if (from > text && from[-1] == '\n')
		from--;
	while (from > text && (from[-1] != '\n' || ++lines < max))
		from--;
	while (*from) {
		size_t len = strcspn(from, "\n");
		struct as_buf line = { 0 };

		/* A tab is harmless. */
		as_show_lines(&line, from, len);
		fprintf(t->out, "    %s\n", as_buf_str(&line));
		as_buf_free(&line);
		from += len + (from[len] == '\n');
	}
}

/* Prints a text from outside on one line. */
static void put(const struct term *t, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	fputs(as_buf_str(&shown), t->out);
	as_buf_free(&shown);
}

/* The option that says where the finding is. */
static void put_folder(const struct term *t)
{
	struct as_buf word = { 0 };

	if (!t->folder)
		return;
	as_show_word(&word, t->folder);
	fprintf(t->out, "-o %s ", as_buf_str(&word));
	as_buf_free(&word);
}

static void term_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct term *t = (struct term *)sink;

	if (told_before(t, f->id))
		return;
	fputs(paint(t, BOLD_RED), t->out);
	put(t, f->id);
	fprintf(t->out, "%s  ", paint(t, PLAIN));
	put(t, f->target);
	fputs("  ", t->out);
	put(t, f->workload_name ? f->workload_name : "");
	fprintf(t->out, "\n  %s", paint(t, BOLD));
	put(t, f->summary);
	fprintf(t->out, "%s\n", paint(t, PLAIN));
	if (f->detail && *f->detail) {
		fputs(paint(t, DIM), t->out);
		put_lines(t, f->detail, 64);
		fputs(paint(t, PLAIN), t->out);
	}
	if (f->log && *f->log) {
		fprintf(t->out, "  the target said:\n");
		put_lines(t, f->log, LOG_LINES);
	}
	/* A finding can be replayed only if a sink after this one keeps it. */
	if (t->sink.next) {
		fprintf(t->out, "  again: assay replay %s",
			as_finding_is_on_host(f) ? "--sandbox host " : "");
		put_folder(t);
		put(t, f->id);
		fputc('\n', t->out);
	}
	fflush(t->out);
}

static void term_note(struct as_sink *sink, const char *line)
{
	struct term *t = (struct term *)sink;

	put(t, line);
	fputc('\n', t->out);
	fflush(t->out);
}

static void term_done(struct as_sink *sink, const struct as_run_result *s)
{
	struct term *t = (struct term *)sink;

	fprintf(t->out, "%llu workload%s, %llu operation%s, %llu finding%s",
		(unsigned long long)s->workloads, as_plural(s->workloads),
		(unsigned long long)s->ops, as_plural(s->ops), (unsigned long long)s->findings,
		as_plural(s->findings));
	if (s->skipped)
		fprintf(t->out, ", %llu operation%s not possible here",
			(unsigned long long)s->skipped, as_plural(s->skipped));
	if (s->failures)
		fprintf(t->out, ", %llu failure%s tried", (unsigned long long)s->failures,
			as_plural(s->failures));
	if (s->unjudged)
		fprintf(t->out, ", %llu race%s too large to judge", (unsigned long long)s->unjudged,
			as_plural(s->unjudged));
	if (s->raced.n[AS_RACED_CALLS])
		fprintf(t->out, ", %llu of %llu calls in races judged in full",
			(unsigned long long)as_raced_full(&s->raced),
			(unsigned long long)s->raced.n[AS_RACED_CALLS]);
	if (s->excused)
		fprintf(t->out, ", %llu answers that differ as allowed",
			(unsigned long long)s->excused);
	if (s->looked < s->possible)
		fprintf(t->out, ", %llu of %llu crash states looked at (%.3g %%)",
			(unsigned long long)s->looked, (unsigned long long)s->possible,
			100.0 * (double)s->looked / (double)s->possible);
	fprintf(t->out, ", %.2f s\n", (double)s->wall_us / 1e6);
	fflush(t->out);
}

struct as_sink *as_term_sink_new(FILE *out, bool colour, const char *folder)
{
	struct term *t = as_xcalloc(1, sizeof(*t));

	t->sink.finding = term_finding;
	t->sink.note = term_note;
	t->sink.done = term_done;
	t->out = out;
	t->colour = colour;
	t->folder = folder;
	return &t->sink;
}

void as_term_sink_free(struct as_sink *sink)
{
	struct term *t = (struct term *)sink;

	if (!t)
		return;
	for (size_t i = 0; i < t->n_told; i++)
		free(t->told[i]);
	free(t->told);
	free(t);
}
