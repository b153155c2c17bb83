/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cov_file: the .cov file. Text, so that it can be read, compared and kept under version control;
 * partitions by name, so that it outlives the tables; only what is not zero.
 *
 *   assay-cov 1
 *   source strace check.log
 *   under /mnt/test
 *   note lines 812345
 *   call openat 5120
 *   part open dirfd AT_FDCWD 5120
 *   bits open flags O_RDWR|O_CREAT 340
 *   out open ENOENT 17
 *   end 0123456789abcdef      XXH3 of all before this line, so that a cut file is noticed
 */
#include "base/hash.h"
#include "base/show.h"
#include "cover/counts_priv.h"
#include "cover/partition.h"
#include "os/out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1
#define FILE_MAX (256u << 20)

/* ---- Writing --------------------------------------------------------------------------------- */

static void add_text(struct as_buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	as_buf_addf(out, "%s ", key);
	as_show(out, text);
	as_buf_addc(out, '\n');
}

static void add_number(struct as_buf *out, uint64_t number)
{
	as_buf_addc(out, ' ');
	as_buf_addu(out, number);
	as_buf_addc(out, '\n');
}

/* In order of their values, so that the same counts give the same file. */
static void print_bits(const struct as_counts *counts, const struct as_spec_family *family,
		       const struct as_spec_arg *arg, struct as_buf *out)
{
	const struct as_combos *combos = &counts->bits[arg->bits];
	struct as_combo *sorted = as_combos_sorted(combos);

	for (size_t i = 0; i < combos->n; i++) {
		as_buf_addf(out, "bits %s %s ", family->name, arg->name);
		as_combo_print(arg->words, sorted[i].value, out);
		add_number(out, sorted[i].count);
	}
	if (counts->bits_unseen[arg->bits]) {
		as_buf_addf(out, "bits %s %s (not-shown)", family->name, arg->name);
		add_number(out, counts->bits_unseen[arg->bits]);
	}
	free(sorted);
}

static void print_family(const struct as_counts *counts, const struct as_spec_family *family,
			 struct as_buf *out)
{
	char name[64];
	bool expected, bound;

	for (unsigned a = 0; a < family->n_args; a++) {
		const struct as_spec_arg *arg = &family->args[a];

		if (arg->class == AS_CLASS_BITS)
			print_bits(counts, family, arg, out);
		for (unsigned i = 0; i < arg->n; i++)
			if (counts->parts[arg->first + i] &&
			    as_partition_name(arg, i, name, &expected, &bound)) {
				as_buf_addf(out, "part %s %s %s", family->name, arg->name, name);
				add_number(out, counts->parts[arg->first + i]);
			}
	}
	for (unsigned i = 0; i < family->ret_n; i++)
		if (counts->parts[family->ret_first + i] &&
		    as_partition_out_name(family, i, name, &expected)) {
			as_buf_addf(out, "out %s %s", family->name, name);
			add_number(out, counts->parts[family->ret_first + i]);
		}
}

void as_counts_print(const struct as_counts *counts, struct as_buf *out)
{
	size_t begin = out->len;

	as_buf_addf(out, "assay-cov %d\n", FORMAT);
	add_text(out, "source", counts->source);
	add_text(out, "under", counts->under);
	add_text(out, "partial", counts->partial);
	for (unsigned i = 0; i < AS_NOTES; i++)
		if (counts->notes[i]) {
			as_buf_addf(out, "note %s", as_cov_note_name(i));
			add_number(out, counts->notes[i]);
		}
	for (unsigned i = 0; i < AS_COV_EXAMPLES; i++)
		add_text(out, "example", counts->examples[i]);
	for (unsigned i = 0; i < counts->n_unknown; i++) {
		as_buf_addf(out, "unknown-call %s", counts->unknown[i].name);
		add_number(out, counts->unknown[i].count);
	}
	for (unsigned i = 0; i < counts->spec->n_calls; i++)
		if (counts->variants[i]) {
			as_buf_addf(out, "call %s", counts->spec->calls[i].name);
			add_number(out, counts->variants[i]);
		}
	for (unsigned i = 0; i < counts->spec->n_families; i++)
		print_family(counts, &counts->spec->families[i], out);
	as_buf_addf(out, "end %016" PRIx64 "\n",
		    as_hash64(as_buf_str(out) + begin, out->len - begin));
}

int as_counts_save(const struct as_counts *counts, const char *path, struct as_err *err)
{
	struct as_buf out = { 0 };
	int rc;

	as_counts_print(counts, &out);
	rc = as_out_save(path, &out, err);
	as_buf_free(&out);
	return rc;
}

/* ---- Reading --------------------------------------------------------------------------------- */

#define WORDS_MAX 5

struct cov_reading {
	struct as_counts *counts;
	const struct as_spec_family *family; /* of the line before: lines are in order */
	unsigned place;
};

struct word {
	const char *at;
	size_t len;
};

static bool is(struct word w, const char *text)
{
	return strlen(text) == w.len && !memcmp(text, w.at, w.len);
}

static unsigned split(const char *line, size_t len, struct word words[static WORDS_MAX])
{
	const char *end = line + len;
	unsigned n = 0;

	while (n < WORDS_MAX && line <= end) {
		const char *blank = memchr(line, ' ', (size_t)(end - line));

		if (!blank)
			blank = end;
		words[n++] = (struct word){ line, (size_t)(blank - line) };
		line = blank + 1;
	}
	return line <= end ? WORDS_MAX + 1 : n;
}

static bool number(struct word w, uint64_t *out)
{
	*out = 0;
	if (!w.len || w.len > 20)
		return false;
	for (size_t i = 0; i < w.len; i++)
		if (w.at[i] < '0' || w.at[i] > '9' ||
		    __builtin_mul_overflow(*out, (uint64_t)10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(w.at[i] - '0'), out))
			return false;
	return true;
}

static const struct as_spec_family *family_of(struct cov_reading *r, struct word w)
{
	const struct as_spec *spec = r->counts->spec;

	if (r->family && is(w, r->family->name))
		return r->family;
	r->family = NULL;
	for (unsigned i = 0; i < spec->n_families && !r->family; i++)
		if (is(w, spec->families[i].name))
			r->family = &spec->families[i];
	r->place = 0;
	return r->family;
}

/* The search starts where the line before was found. */
static bool take_part(struct cov_reading *r, const struct as_spec_arg *arg, struct word name,
		      uint64_t n)
{
	unsigned places = arg ? arg->n : r->family->ret_n;
	unsigned first = arg ? arg->first : r->family->ret_first;
	char text[64];
	bool expected, bound;

	for (unsigned i = 0; i < places; i++) {
		unsigned place = (r->place + i) % places;

		if (arg ? !as_partition_name(arg, place, text, &expected, &bound)
			: !as_partition_out_name(r->family, place, text, &expected))
			continue;
		if (!is(name, text))
			continue;
		r->place = place;
		as_counting_add(&r->counts->parts[first + place], n);
		return true;
	}
	return false;
}

static bool take_bits(struct as_counts *counts, const struct as_spec_arg *arg, struct word name,
		      uint64_t n)
{
	uint64_t value;

	if (is(name, "(not-shown)")) {
		as_counting_add(&counts->bits_unseen[arg->bits], n);
		return true;
	}
	return as_combo_parse(arg->words, name.at, name.len, &value) &&
	       as_combos_add(&counts->bits[arg->bits], value, n);
}

static bool take_arg(struct cov_reading *r, bool bits, struct word family, struct word arg,
		     struct word name, uint64_t n)
{
	if (!family_of(r, family))
		return false;
	for (unsigned i = 0; i < r->family->n_args; i++) {
		const struct as_spec_arg *a = &r->family->args[i];

		if (is(arg, a->name) && bits == (a->class == AS_CLASS_BITS))
			return bits ? take_bits(r->counts, a, name, n) : take_part(r, a, name, n);
	}
	return false;
}

static char *copied(const char *at, size_t len)
{
	char *copy = as_xcalloc(1, len + 1);

	memcpy(copy, at, len);
	return copy;
}

/* Lines whose value is the rest of the line. */
static bool take_text(struct as_counts *counts, struct word key, const char *rest, size_t len)
{
	char *text;

	if (!is(key, "source") && !is(key, "under") && !is(key, "partial") && !is(key, "example"))
		return false;
	text = copied(rest, len);
	if (is(key, "source"))
		as_counts_source(counts, text);
	else if (is(key, "under"))
		as_counts_under(counts, text);
	else if (is(key, "partial"))
		as_counts_partial(counts, text);
	else
		as_counts_example(counts, text, len);
	free(text);
	return true;
}

static bool take_named(struct as_counts *counts, struct word key, struct word name, uint64_t n)
{
	if (is(key, "unknown-call")) {
		as_counting_unknown(counts, name.at, name.len, n);
		return true;
	}
	for (unsigned i = 0; is(key, "note") && i < AS_NOTES; i++)
		if (is(name, as_cov_note_name(i))) {
			as_counting_add(&counts->notes[i], n);
			return true;
		}
	for (unsigned i = 0; is(key, "call") && i < counts->spec->n_calls; i++)
		if (is(name, counts->spec->calls[i].name)) {
			as_counting_add(&counts->variants[i], n);
			return true;
		}
	return false;
}

static bool take_line(struct cov_reading *r, const char *line, size_t len)
{
	struct word words[WORDS_MAX];
	unsigned n = split(line, len, words);
	size_t key = words[0].len < len ? words[0].len + 1 : len;
	uint64_t count;

	if (take_text(r->counts, words[0], line + key, len - key))
		return true;
	if (n < 3 || n > WORDS_MAX || !number(words[n - 1], &count))
		return false;
	if (n == 3)
		return take_named(r->counts, words[0], words[1], count);
	if (n == 4 && is(words[0], "out"))
		return family_of(r, words[1]) && take_part(r, NULL, words[2], count);
	return n == 5 && (is(words[0], "part") || is(words[0], "bits")) &&
	       take_arg(r, is(words[0], "bits"), words[1], words[2], words[3], count);
}

/* The first line, and the last with its sum. *body is what is between. */
static int check_frame(const char *file, const char *text, size_t len, const char **body,
		       size_t *body_len, struct as_err *err)
{
	static const char magic[] = "assay-cov ";
	const char *eol = memchr(text, '\n', len < 64 ? len : 64);
	char want[40];
	uint64_t version;

	if (!eol || len < sizeof(magic) || memcmp(text, magic, sizeof(magic) - 1) != 0 ||
	    !number((struct word){ text + sizeof(magic) - 1,
				   (size_t)(eol - text) - (sizeof(magic) - 1) },
		    &version))
		return as_fail(err, AS_EUSE, "%s: not a .cov file", file);
	if (version != FORMAT)
		return as_fail(err, AS_EUSE,
			       "%s: version %llu of the format; this program reads version %d",
			       file, (unsigned long long)version, FORMAT);
	if (len < 21 + (size_t)(eol + 1 - text) || memcmp(text + len - 21, "end ", 4) != 0 ||
	    text[len - 22] != '\n')
		return as_fail(err, AS_EUSE, "%s: cut off: the last line is missing", file);
	snprintf(want, sizeof(want), "%016" PRIx64 "\n", as_hash64(text, len - 21));
	if (memcmp(text + len - 17, want, 17) != 0)
		return as_fail(err, AS_EUSE, "%s: damaged: its checksum does not match", file);
	*body = eol + 1;
	*body_len = len - 21 - (size_t)(eol + 1 - text);
	return 0;
}

int as_counts_parse(const struct as_spec *spec, const char *file, const char *text, size_t len,
		    struct as_counts **out, struct as_err *err)
{
	struct cov_reading r = { 0 };
	const char *at = NULL, *end;
	unsigned line = 1;
	size_t body = 0;
	int rc = check_frame(file, text, len, &at, &body, err);

	if (rc)
		return rc;
	r.counts = as_counts_new(spec);
	for (end = at + body; at < end && !rc;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		line++;
		if (!take_line(&r, at, (size_t)(eol - at)))
			rc = as_fail(err, AS_EUSE, "%s:%u: not understood: '%.*s'", file, line,
				     (int)(eol - at < 60 ? eol - at : 60), at);
		at = eol + 1;
	}
	if (rc)
		as_counts_free(r.counts);
	else
		*out = r.counts;
	return rc;
}

int as_counts_load(const struct as_spec *spec, const char *path, struct as_counts **out,
		   struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, path, FILE_MAX, err);

	if (!rc)
		rc = as_counts_parse(spec, path, as_buf_str(&text), text.len, out, err);
	as_buf_free(&text);
	return rc;
}
