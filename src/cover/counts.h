/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts: how often each partition was met, and the file they are kept in (.cov).
 *
 * Partitions are in spaces: one for each argument of each family and one for each result. The
 * plain space of an argument is what the paper counts (each flag, each power of two); numbers also
 * have their exact boundaries, flags how many came together, and the combinations of t of them.
 */
#ifndef AS_COVER_COUNTS_H
#define AS_COVER_COUNTS_H

#include "base/buf.h"
#include "calls/world.h"

struct as_counts;

/* The tables of calls, with a place in the counts for every partition. as_spec_free frees it. */
struct as_spec *as_counts_spec(void);

/* spec: of as_counts_spec. */
struct as_counts *as_counts_new(const struct as_spec *spec);
void as_counts_free(struct as_counts *counts);
/* Counts one call; `about` is what the world says of it. */
void as_counts_call(struct as_counts *counts, const struct as_syscall *call,
		    const struct as_about *about);

/* ---- What else belongs into the file ---- */

#define AS_COV_EXAMPLES 5

enum as_cov_note {
#define NOTE(id, name, text) AS_NOTE_##id,
#include "cover/note.def"
#undef NOTE
	AS_NOTES
};

/* Its name in files, and what it means in words. */
const char *as_cov_note_name(enum as_cov_note note);
const char *as_cov_note_text(enum as_cov_note note);

/* Lines read, calls out of the filter, calls that could not be attributed, ... */
void as_counts_note(struct as_counts *counts, enum as_cov_note note, uint64_t n);
/* Takes back n that were noted. */
void as_counts_unnote(struct as_counts *counts, enum as_cov_note note, uint64_t n);
uint64_t as_counts_noted(const struct as_counts *counts, enum as_cov_note note);
/* Keeps the first few lines that were not understood, shortened. */
void as_counts_example(struct as_counts *counts, const char *text, size_t len);
const char *as_counts_example_at(const struct as_counts *counts, unsigned i);
/* A call that is in no table. */
void as_counts_unknown_call(struct as_counts *counts, const char *name, size_t len);
/* The name of number i of them, NULL after the last. */
const char *as_counts_unknown_at(const struct as_counts *counts, unsigned i, uint64_t *count);
/* The counts are not complete; `why` says so in words. It is kept in the file. */
void as_counts_partial(struct as_counts *counts, const char *why);
const char *as_counts_is_partial(const struct as_counts *counts); /* NULL: they are complete */
/* Where the counts are from ("strace x.log", "ebpf ./check"), and the filter. */
void as_counts_source(struct as_counts *counts, const char *text);
void as_counts_under(struct as_counts *counts, const char *under);
const char *as_counts_get_source(const struct as_counts *counts);
const char *as_counts_get_under(const struct as_counts *counts); /* NULL: everything */

/* ---- The file ---- */

void as_counts_print(const struct as_counts *counts, struct as_buf *out);
AS_MUST_CHECK int as_counts_parse(const struct as_spec *spec, const char *file, const char *text,
				  size_t len, struct as_counts **out, struct as_err *err);
AS_MUST_CHECK int as_counts_save(const struct as_counts *counts, const char *path,
				 struct as_err *err);
AS_MUST_CHECK int as_counts_load(const struct as_spec *spec, const char *path,
				 struct as_counts **out, struct as_err *err);
void as_counts_merge(struct as_counts *into, const struct as_counts *from);

/* ---- Looking at it ---- */

enum as_space_kind {
	AS_SPACE_PLAIN, /* partitions of an argument, as in the paper */
	AS_SPACE_BOUNDS, /* 2^k-1, 2^k, 2^k+1 exactly */
	AS_SPACE_TOGETHER, /* how many flags at once */
	AS_SPACE_PAIRS, /* two flags at once */
	AS_SPACE_OUTPUT, /* success and errors */
	AS_SPACE_VARIANTS, /* which calls of the family */
};

struct as_part {
	char name[64];
	uint64_t count;
	/* Whether it should be tested. If not (an error that no manual page lists, a size beyond
	 * all reason), it is listed only if it was met. */
	bool expected;
};

struct as_space {
	const struct as_spec_family *family;
	const struct as_spec_arg *arg; /* NULL: the output, the variants */
	enum as_space_kind kind;
	struct as_part *parts;
	unsigned n;
	size_t cap; /* room in `parts`, for functions that fill it */
};

/* All spaces of all families, in the order of the tables; each freed with as_space_free. */
unsigned as_counts_spaces(const struct as_counts *counts);
void as_counts_space(const struct as_counts *counts, unsigned i, struct as_space *out);
void as_space_free(struct as_space *space);
/* "values", "boundaries", "together", "pairs", "output", "variants" */
const char *as_space_kind_name(enum as_space_kind kind);
/* One by name: "open", "flags", kind; arg NULL: output, variants. False: there is none. */
bool as_counts_find(const struct as_counts *counts, const char *family, const char *arg,
		    enum as_space_kind kind, struct as_space *out);

/* The name of the expected part that was met most often, NULL: none was met. */
const char *as_space_favourite(const struct as_space *space);
/* Calls of a family, of one variant. */
uint64_t as_counts_family(const struct as_counts *counts, const struct as_spec_family *family);
uint64_t as_counts_variant(const struct as_counts *counts, const struct as_spec_call *call);
/* The paper's Table 1: how often n flags came together, among the calls with this flag (NULL: all).
 * by_n[0] is for no flag at all. */
void as_counts_together(const struct as_counts *counts, const struct as_spec_arg *arg,
			const char *flag, uint64_t by_n[static AS_SPEC_BITS + 1]);
/* Calls fn for each combination of t flags that can come together, also those that never did. */
void as_counts_combinations(const struct as_counts *counts, const struct as_spec_arg *arg,
			    unsigned t, void (*fn)(void *ctx, const char *name, uint64_t count),
			    void *ctx);

#endif
