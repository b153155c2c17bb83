/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start_row: carries out the steps of a row of start.def. How far a step goes depends on what the
 * file system answers; what was done is a plain workload.
 */
#include "check/start_priv.h"

#include "work/parse.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------- */

static const struct as_start_row rows[] = {
#define DO(line)                                 \
	{                                        \
		.kind = AS_START_DO, .ops = line \
	}
#define UNTIL(what, where, times, limit, lines)                                                 \
	{                                                                                       \
		.kind = AS_START_UNTIL, .until = AS_START_##what, .path = where, .back = times, \
		.most = limit, .ops = lines                                                     \
	}
#define AGAIN(n, step, lines)                                                \
	{                                                                    \
		.kind = AS_START_AGAIN, .every = n, .of = step, .ops = lines \
	}
#define STEPS(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define START(name, help, ops, steps) { #name, help, ops, steps },
#include "check/start.def"
#undef DO
#undef UNTIL
#undef AGAIN
#undef STEPS
#undef START
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

const struct as_start_row *as_start_row(const char *name)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

const char *as_start_name(unsigned i, const char **help)
{
	if (i >= N_ROWS)
		return NULL;
	*help = rows[i].help;
	return rows[i].name;
}

/* ---- Words in braces ------------------------------------------------------------------------- */

struct start_words {
	uint64_t n, block, reach, blocks, name_max, symlink_max;
};

static uint64_t word(const struct start_words *w, const char *name, size_t len)
{
	const struct {
		const char *name;
		uint64_t value;
	} table[] = { { "n", w->n },
		      { "block", w->block },
		      { "reach", w->reach },
		      { "blocks", w->blocks },
		      { "name_max", w->name_max },
		      { "symlink_max", w->symlink_max } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strncmp(table[i].name, name, len) && !table[i].name[len])
			return table[i].value;
	as_assert(!"a word that a row of start.def may have");
	return 0;
}

#define WORD_CHARS "abcdefghijklmnopqrstuvwxyz_"

/* "blocks/8<200*block": *end is what follows. At least 1, before it is multiplied. */
static uint64_t evaluate(const struct start_words *w, const char *text, const char **end)
{
	size_t len = strspn(text, WORD_CHARS);
	char *at = (char *)text;
	uint64_t value, most;

	value = len ? word(w, text, len) : strtoull(text, &at, 10);
	if (len)
		at += len;
	if (*at == '/')
		value /= strtoull(at + 1, &at, 10);
	if (*at == '<') {
		most = strtoull(at + 1, &at, 10);
		value = value < most ? value : most;
	}
	value = value ? value : 1;
	if (*at == '*') {
		len = strspn(at + 1, WORD_CHARS);
		value *= word(w, at + 1, len);
		at += 1 + len;
	}
	*end = at;
	return value;
}

static void add_repeated(struct as_buf *out, char c, uint64_t n)
{
	memset(as_buf_reserve(out, n), c, n);
	out->len += n;
	out->data[out->len] = '\0';
}

/* A name with the number in front, as long as it may be. */
static void add_long(struct as_buf *out, const struct start_words *w)
{
	size_t from = out->len;

	as_buf_addf(out, "%llu", (unsigned long long)w->n);
	if (out->len - from < w->name_max)
		add_repeated(out, 'n', w->name_max - (out->len - from));
}

static void fill_in(const struct start_words *w, const char *text, size_t len, struct as_buf *out)
{
	const char *end = text + len;

	while (text < end) {
		if (*text != '{') {
			as_buf_addc(out, *text++);
			continue;
		}
		if (!strncmp(text, "{long}", 6)) {
			add_long(out, w);
			text += 5;
		} else if (!strncmp(text, "{x:", 3)) {
			add_repeated(out, 'x', evaluate(w, text + 3, &text));
		} else {
			as_buf_addu(out, evaluate(w, text + 1, &text));
		}
		as_assert(*text == '}');
		text++;
	}
}

/* ---- Steps ----------------------------------------------------------------------------------- */

struct steps {
	struct as_start_maker *m;
	struct start_words words;
	uint64_t times[AS_START_STEPS]; /* how often each step was carried out */
	const char *path; /* whose growth was looked at last */
	int64_t step; /* by how many blocks it grew the first time; 0: it did not */
};

/* Carries out "a ; b". *refused: one of them was refused, or done in part; then the rest is left
 * out, and so is an operation that changed nothing. False: something is wrong. */
static bool do_lines(struct steps *s, const char *lines, bool *refused)
{
	struct as_start_maker *m = s->m;

	*refused = false;
	while (*lines && !*refused) {
		const char *sep = strstr(lines, " ; ");
		size_t len = sep ? (size_t)(sep - lines) : strlen(lines);
		struct as_seq *one = NULL;
		bool going;

		as_buf_clear(&m->line);
		fill_in(&s->words, lines, len, &m->line);
		/* A row that is no workload is a mistake of ours. */
		as_assert(!as_parse_text("start.def", as_buf_str(&m->line), m->line.len, &one,
					 NULL) &&
			  one->n == 1);
		going = as_start_op(m, &one->ops[0]);
		*refused = m->got.ret < 0 || (one->ops[0].code == AS_OP_WRITE &&
					      m->got.ret < (int64_t)one->ops[0].len);
		if (going && (m->got.ret >= 0 || m->got.done))
			as_seq_add(m->seq, &one->ops[0]);
		as_seq_free(one);
		if (!going)
			return false;
		lines += len + (sep ? 3 : 0);
	}
	return true;
}

/* Of the path as it is in this turn; -1: it is not there. */
static int64_t blocks_of(struct steps *s, const char *path)
{
	struct as_start_maker *m = s->m;
	struct as_op stat = as_op_make(AS_OP_STAT);
	struct as_outcome got;

	as_buf_clear(&m->line);
	fill_in(&s->words, path, strlen(path), &m->line);
	stat.path = as_buf_str(&m->line);
	stat.nofollow = 1;
	as_instance_do(m->instance, 0, &stat, &got);
	return got.ret < 0 ? -1 : (int64_t)got.st.blocks;
}

/* Whether the path has changed in the way that is waited for. *blocks: how many it had. */
static bool has_turned(struct steps *s, const struct as_start_step *step, int64_t *blocks)
{
	int64_t now = blocks_of(s, step->path), was = *blocks;
	bool turned;

	*blocks = now;
	if (now < 0 || was < 0 || now == was)
		return false;
	turned = step->until == AS_START_GROWS || !was || (s->step && s->step != now - was);
	if (!s->step)
		s->step = now - was;
	return turned;
}

static bool until(struct steps *s, unsigned i, const struct as_start_step *step)
{
	struct as_start_maker *m = s->m;
	const char *end;
	uint64_t most = evaluate(&s->words, step->most, &end), n;
	size_t *before = as_xcalloc(most + 1, sizeof(*before));
	bool going = true, stop = false, refused = false;
	int64_t blocks;

	if (!s->path || strcmp(s->path, step->path))
		s->step = 0;
	s->path = step->path;
	s->words.n = 0;
	blocks = *step->path ? blocks_of(s, step->path) : 0;
	for (n = 0; going && !stop && n < most; n++) {
		s->words.n = n + 1;
		before[n] = m->seq->n;
		going = do_lines(s, step->ops, &refused);
		stop = refused || (step->until != AS_START_REFUSED && has_turned(s, step, &blocks));
	}
	/* A refusal leaves nothing that could be taken back, unless it did a part. */
	if (refused && n && m->seq->n == before[n - 1])
		n--;
	if (going && stop && step->back) {
		n = n > step->back ? n - step->back : 0;
		going = as_start_rewind(m, before[n]);
	}
	s->times[i] = n;
	free(before);
	return going;
}

static bool again(struct steps *s, const struct as_start_step *step)
{
	bool going = true, refused;

	for (uint64_t n = 1; going && n <= s->times[step->of]; n += step->every) {
		s->words.n = n;
		going = do_lines(s, step->ops, &refused);
	}
	return going;
}

static bool learn_words(struct steps *s)
{
	struct as_start_maker *m = s->m;
	const struct as_traits *traits = m->args->fresh.traits;
	struct as_op statfs = as_op_make(AS_OP_STATFS);
	struct as_outcome got;

	statfs.path = "/";
	as_instance_do(m->instance, 0, &statfs, &got);
	if (got.ret < 0 || !got.sfs.block_bytes)
		return false;
	s->words = (struct start_words){ .block = got.sfs.block_bytes,
					 .reach = got.sfs.block_bytes * got.sfs.block_bytes / 4,
					 .blocks = got.sfs.blocks_free,
					 .name_max = traits->name_max ? traits->name_max : 255,
					 .symlink_max = traits->symlink_max };
	return true;
}

bool as_start_steps(struct as_start_maker *m)
{
	struct steps s = { .m = m };
	bool going = true, refused;

	if (!learn_words(&s)) {
		m->said->tool_rc =
			as_fail(&m->said->tool_err, AS_EUSE,
				"start %s: the target does not tell what is free", m->row->name);
		return false;
	}
	for (unsigned i = 0; going && i < AS_START_STEPS && m->row->steps[i].ops; i++) {
		const struct as_start_step *step = &m->row->steps[i];

		switch (step->kind) {
		case AS_START_DO:
			going = do_lines(&s, step->ops, &refused);
			break;
		case AS_START_UNTIL:
			going = until(&s, i, step);
			break;
		case AS_START_AGAIN:
			going = again(&s, step);
			break;
		}
	}
	return going;
}
