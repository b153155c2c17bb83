/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross_found: the page of a checker that lost what others kept. Its disk is the one that the odd
 * checker was given, and its script runs that checker; the others are told in a table.
 */
#include "cross/cross_member.h"

#include "base/finding.h"
#include "base/show.h"
#include "fsck/found.h"

#include <string.h>

#define SHOWN 40u
#define OUTPUT_BYTES 4000u

/* Which attributes are lost: a set, so that one cause is one kind. */
static void add_facets(const struct as_cross *c, unsigned odd, struct as_buf *out)
{
	for (int f = 0; f < AS_CROSS_N; f++)
		for (size_t i = 0; i < c->n_splits; i++)
			if (c->splits[i].facet == (enum as_cross_facet)f &&
			    c->splits[i].odd >> odd & 1) {
				as_buf_addf(out, ", %s", as_cross_facet_name(c->splits[i].facet));
				break;
			}
}

void as_cross_sign(const struct as_cross *c, const struct as_cross_deed *deed, unsigned odd,
		   struct as_buf *out)
{
	struct as_buf facets = { 0 };

	add_facets(c, odd, &facets);
	/* The member is in front, so that two of them are never one kind. */
	as_buf_addf(out, "%u fsck: %s: %s; field %s", odd, as_fsck_problem_name(AS_FSCK_ODD),
		    as_buf_str(&facets) + 2, deed->role);
	as_buf_free(&facets);
}

static void add_value(const struct as_cross_split *s, uint64_t value, struct as_buf *out)
{
	as_buf_addf(out, "%s ", as_cross_facet_name(s->facet));
	as_cross_say_value(s->facet, value, out);
}

static void add_summary(const struct as_cross *c, unsigned odd, struct as_buf *out)
{
	const struct as_cross_split *first = NULL;
	unsigned n = 0, kept = 0;
	uint64_t others = 0;

	for (size_t i = 0; i < c->n_splits; i++)
		if (c->splits[i].odd >> odd & 1) {
			first = first ? first : &c->splits[i];
			n++;
		}
	for (unsigned i = 0; i < c->n; i++)
		if (first->voters >> i & 1 && !(first->odd >> i & 1)) {
			others = kept ? others : first->value[i];
			kept += first->value[i] == others;
		}
	as_buf_addf(out, "%s; after the repair, %s: ", as_buf_str(&c->m[odd].damage.words),
		    first->path);
	add_value(first, first->value[odd], out);
	as_buf_adds(out, ", it was ");
	as_cross_say_value(first->facet, first->healthy, out);
	as_buf_addf(out, "; %u of %u checkers have ", kept,
		    (unsigned)__builtin_popcount(first->voters));
	as_cross_say_value(first->facet, others, out);
	if (n > 1)
		as_buf_addf(out, "; so with %u other attributes and names", n - 1);
}

static void add_table(const struct as_cross *c, struct as_buf *out)
{
	for (size_t i = 0; i < c->n_splits && i < SHOWN; i++) {
		const struct as_cross_split *s = &c->splits[i];

		as_buf_addf(out, "    %s: ", s->path);
		add_value(s, s->healthy, out);
		as_buf_adds(out, " before;");
		for (unsigned k = 0; k < c->n; k++) {
			if (!(s->voters >> k & 1))
				continue;
			as_buf_addf(out, " %s: ", c->m[k].spec);
			as_cross_say_value(s->facet, s->value[k], out);
			if (s->odd >> k & 1)
				as_buf_adds(out, " (odd)");
		}
		as_buf_addc(out, '\n');
	}
	if (c->n_splits > SHOWN)
		as_buf_addf(out, "    and %zu more\n", c->n_splits - SHOWN);
}

static void add_lines(const char *text, struct as_buf *out)
{
	const char *end = text + strnlen(text, OUTPUT_BYTES);

	while (text < end) {
		size_t n = strcspn(text, "\n");

		if (text + n > end)
			n = (size_t)(end - text);
		as_buf_adds(out, "    ");
		as_show_lines(out, text, n);
		as_buf_addc(out, '\n');
		text += n + 1;
	}
	as_buf_addc(out, '\n');
}

static void add_page(const struct as_cross *c, const struct as_cross_deed *deed, unsigned odd,
		     const char *summary, struct as_buf *out)
{
	static const char *const came[] = { "has no such field", "did not repair it",
					    "says that all is well, and nobody can read it",
					    "says that all is well" };
	struct as_buf safe = { 0 };

	as_show(&safe, summary);
	as_buf_addf(out, "# %s: %s\n\n%s\n\n    %s\n\n", as_subject_name(c->m[odd].subject),
		    as_fsck_problem_name(AS_FSCK_ODD), as_fsck_problem_words(AS_FSCK_ODD),
		    as_buf_str(&safe));
	as_buf_clear(&safe);
	as_buf_addf(out,
		    "Each checker was given a disk of its own type with the same tree and the "
		    "same damage: %s, `%s`%s%s. Types differ in how much they keep twice, so look "
		    "whether the disk still held what was lost.\n\n",
		    deed->words, deed->deed, *deed->path ? " on " : "", deed->path);
	for (unsigned i = 0; i < c->n; i++) {
		as_buf_clear(&safe);
		as_show(&safe,
			c->m[i].came == AS_CROSS_ABSENT ? "" : as_buf_str(&c->m[i].damage.words));
		as_buf_addf(out, "- %s (%s) %s: %s\n", c->m[i].spec, c->m[i].type,
			    came[c->m[i].came], as_buf_str(&safe));
	}
	as_buf_adds(out, "\nWhat they do not agree on:\n\n");
	as_buf_clear(&safe);
	add_table(c, &safe);
	as_buf_adds(out, as_buf_str(&safe));
	as_buf_adds(out, "\nWhat the odd one printed:\n\n");
	add_lines(c->m[odd].v.seen.run[0]->output, out);
	as_buf_adds(out, "- `disk.img.zst`: the damaged disk of the odd one; `zstd -d` unpacks it\n"
			 "- `healthy.img.zst`: that disk before the damage\n"
			 "- `repro.sh`: its runs in plain shell, without assay\n"
			 "- `damage.txt`: the bytes that were changed\n");
	as_buf_free(&safe);
}

void as_cross_found(const struct as_cross *c, const struct as_cross_deed *deed, unsigned odd,
		    const char *signature, struct as_sink *sinks)
{
	const struct as_cross_member *m = &c->m[odd];
	struct as_buf summary = { 0 }, page = { 0 }, script = { 0 }, bytes = { 0 }, options = { 0 };
	struct as_finding finding = { .kind = AS_FIND_FSCK,
				      .target = as_subject_spec(m->subject),
				      .signature = signature,
				      .workload = "",
				      .workload_name = m->base.name,
				      .op_index = -1,
				      .disk = m->disk,
				      .healthy = m->base.disk };
	char id[AS_FINDING_ID_MAX];

	add_summary(c, odd, &summary);
	add_page(c, deed, odd, as_buf_str(&summary), &page);
	as_fsck_script(m->subject, &m->v, &script);
	as_damage_say_bytes(&m->damage, &bytes);
	as_buf_addf(&options, "fsck=%s deed=", as_fsck_problem_name(AS_FSCK_ODD));
	as_cross_deed_print(deed, &options);
	/* The list comes last: a command in it may have any words. */
	as_buf_addf(&options, "%s deadline=%u compare=%s", c->by_kernel ? " kernel" : "",
		    c->deadline_ms / 1000, c->list);
	finding.summary = as_buf_str(&summary);
	finding.detail = as_buf_str(&bytes);
	finding.options = as_buf_str(&options);
	finding.files =
		(const struct as_finding_file[]){ { "README.md", as_buf_str(&page), false },
						  { "repro.sh", as_buf_str(&script), true },
						  { "damage.txt", as_buf_str(&bytes), false } };
	finding.n_files = 3;
	as_finding_id(&finding, as_subject_name(m->subject), id);
	finding.id = id;
	as_emit_finding(sinks, &finding);
	as_buf_free(&summary);
	as_buf_free(&page);
	as_buf_free(&script);
	as_buf_free(&bytes);
	as_buf_free(&options);
}
