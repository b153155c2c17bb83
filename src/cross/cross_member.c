/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross_member: see cross_member.h.
 *
 * A tree is read by the description of the type where that gives the whole generic tree of the
 * healthy disk: names, types, sizes, contents. Otherwise the kernel reads it, if one knows the
 * type.
 */
#include "cross/cross_member.h"

#include "base/hash.h"
#include "damage/generic.h"
#include "snapshot/tree.h"
#include "target/fstype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_BYTES ((size_t)256 << 20)

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list; list += strspn(list, " ")) {
		size_t n = strcspn(list, " ");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n;
	}
	return false;
}

/* The first checker that knows a type: "e2fsck:ext2". */
static char *checker_of(const char *type)
{
	const struct as_checker_test *test;
	const struct as_checker *checker;
	struct as_buf spec = { 0 };
	char *text;

	for (unsigned i = 0; (test = as_checker_test_at(i, &checker)); i++)
		if (has_word(checker->types, type)) {
			as_buf_adds(&spec, test->name);
			if (strchr(checker->types, ' '))
				as_buf_addf(&spec, ":%s", type);
			break;
		}
	text = spec.len ? as_xstrdup(as_buf_str(&spec)) : NULL;
	as_buf_free(&spec);
	return text;
}

static int open_subject(struct as_cross_member *m, const struct as_cross_setup *setup,
			struct as_err *err)
{
	struct as_subject_setup how = { .deadline_ms = setup->deadline_ms,
					.halt = setup->halt };
	const char *equals = strchr(m->spec, '=');
	char *type = equals ? as_xstrndup(m->spec, (size_t)(equals - m->spec)) : NULL;
	int rc;

	if (type && (strchr(type, ':') || !as_fields_know(type))) {
		free(type);
		type = NULL;
	}
	m->checker = type ? as_xstrdup(equals + 1) : checker_of(m->spec);
	if (!m->checker)
		m->checker = as_xstrdup(m->spec);
	how.spec = m->checker;
	how.type = type && !strncmp(m->checker, "checker:", 8) ? type : NULL;
	rc = as_subject_open(&how, &m->subject, err);
	if (!rc && !as_subject_type(m->subject))
		rc = as_fail(err, AS_EUSE, "%s: what are its disks? TYPE=%s", m->spec, m->spec);
	if (!rc)
		m->type = as_xstrdup(as_subject_type(m->subject));
	if (!rc && type && strcmp(type, m->type))
		rc = as_fail(err, AS_EUSE, "%s: the disks of that checker are %s", m->spec,
			     m->type);
	free(type);
	return rc;
}

/* ---- Reading trees --------------------------------------------------------------------------- */

/* Whether the description shows the generic tree: what the rows put there is there. */
static bool shows_all(const struct as_cross_view *view)
{
	for (const struct as_generic_row *r = as_generic_tree; r->kind; r++) {
		const struct as_cross_row *row;
		unsigned char *data;
		uint64_t size = r->kind == 'f' ? r->n : r->kind == 'l' ? strlen(r->to) : 0;
		struct as_content *content;
		bool same = true;

		if (r->kind == 'n')
			continue;
		row = as_cross_view_find(view, r->path);
		if (!row || (r->kind != 'h' && row->bytes != size))
			return false;
		if (r->kind != 'f')
			continue;
		data = as_xmalloc(size + 1);
		as_generic_data(r, 0, data, size);
		content = as_content_of_bytes(data, size);
		same = row->v[AS_CROSS_CONTENT] == (content->digest.lo ^ content->digest.hi);
		as_content_put(content);
		free(data);
		if (!same)
			return false;
	}
	return true;
}

static int read_view(struct as_cross_member *m, struct as_disk *disk, struct as_cross_view *view,
		     struct as_err *err)
{
	const struct as_word *word;
	struct as_tree *tree;
	int rc;

	as_buf_clear(&m->why);
	if (m->by_kernel) {
		rc = as_fsck_kernel_ask(m->kernel, disk, &word, err);
		if (!rc)
			as_cross_view_of(word->tree, view);
		if (!rc && word->end == AS_WORD_UNASKED)
			as_buf_adds(&m->why, as_buf_str(&word->why));
		return rc;
	}
	tree = as_cross_tree(m->type, disk);
	as_cross_view_of(tree, view);
	as_tree_put(tree);
	return 0;
}

static int open_views(struct as_cross_member *m, const struct as_cross_setup *setup,
		      struct as_err *err)
{
	struct as_fsck_kernel_setup how = setup->kernel;
	struct as_err ignored;
	int rc = read_view(m, m->base.disk, &m->was, err);

	if (rc || (shows_all(&m->was) && !setup->by_kernel))
		return rc;
	how.target = strncmp(m->type, "lab", 3) ? m->type : "lab";
	if (!as_fstype_find(how.target) && strcmp(how.target, "lab"))
		return 0;
	rc = as_fsck_kernel_open(&how, &m->kernel, setup->by_kernel ? err : &ignored);
	if (rc)
		return setup->by_kernel ? rc : 0;
	m->by_kernel = true;
	as_cross_view_free(&m->was);
	return read_view(m, m->base.disk, &m->was, err);
}

int as_cross_member_open(struct as_cross_member *m, const char *spec,
			 const struct as_cross_setup *setup, struct as_chunks *store,
			 struct as_err *err)
{
	unsigned roles = 0;
	int rc;

	while (as_cross_role(roles))
		roles++;
	m->sums = as_xcalloc(roles + 1, sizeof(*m->sums));
	m->spec = as_xstrdup(spec);
	rc = open_subject(m, setup, err);
	if (rc)
		return rc;
	m->judge = as_judge_new(m->subject);
	as_judge_repairs_only(m->judge);
	rc = as_generic_make(store, m->type, as_subject_checker(m->subject)->bytes, &m->generic,
			     err);
	if (!rc) {
		m->base.name = "generic";
		m->base.disk = as_disk_snapshot(m->generic.disk);
		rc = as_judge_base(m->judge, &m->base, AS_FSCK_MADE, err);
	}
	if (!rc)
		rc = as_fields_read(m->type, m->base.disk, &m->fields, err);
	if (!rc)
		rc = open_views(m, setup, err);
	if (!rc && !m->was.n)
		rc = as_fail(err, AS_EUSE, "%s: nobody can read the tree of its disk", spec);
	return rc;
}

void as_cross_member_clear(struct as_cross_member *m)
{
	as_disk_free(m->disk);
	m->disk = NULL;
	as_cross_view_free(&m->now);
	m->came = AS_CROSS_ABSENT;
}

void as_cross_member_free(struct as_cross_member *m)
{
	as_cross_member_clear(m);
	as_damage_free(&m->damage);
	as_fsck_verdict_free(&m->v);
	as_cross_view_free(&m->was);
	as_buf_free(&m->why);
	as_fields_free(m->fields);
	as_judge_free(m->judge);
	as_subject_free(m->subject);
	as_fsck_kernel_free(m->kernel);
	as_fsck_base_free(&m->base);
	as_generic_free(&m->generic);
	free(m->sums);
	free(m->spec);
	free(m->checker);
	free(m->type);
}

uint64_t as_cross_member_key(const struct as_cross_member *m, const struct as_cross_setup *setup)
{
	struct as_digest disk = as_disk_digest(m->base.disk);
	struct as_buf text = { 0 };
	struct as_err ignored;
	uint64_t key;

	as_buf_addf(&text, "%s %d %u %016llx%016llx\n", m->spec, m->by_kernel, setup->deadline_ms,
		    (unsigned long long)disk.lo, (unsigned long long)disk.hi);
	for (int i = 0; i < AS_SUBJECT_MODES; i++)
		if (as_subject_has(m->subject, (enum as_subject_mode)i))
			as_buf_addf(&text, "%s\n",
				    as_subject_command(m->subject, (enum as_subject_mode)i));
	/* A program that cannot be read is known by its name. */
	(void)!as_buf_read_file(&text, as_subject_program(m->subject), PROGRAM_BYTES, &ignored);
	key = as_hash64(text.data, text.len);
	as_buf_free(&text);
	return key;
}

static bool is_content(const struct as_fsck_seen *s)
{
	enum as_check_answer first = s->n ? s->run[0]->answer : AS_CHECK_FAILED;

	return (first == AS_CHECK_CLEAN || first == AS_CHECK_REPAIRED) && s->n > 1 &&
	       s->run[1]->answer == AS_CHECK_CLEAN;
}

int as_cross_member_do(struct as_cross_member *m, const struct as_cross_deed *deed,
		       struct as_err *err)
{
	as_cross_member_clear(m);
	m->disk = as_cross_damage(deed, m->fields, m->base.disk, &m->damage);
	return m->disk ? as_cross_member_judge(m, err) : 0;
}

int as_cross_member_judge(struct as_cross_member *m, struct as_err *err)
{
	int rc = as_judge_disk(m->judge, &m->base, &m->damage, m->disk, &m->v, err);

	if (rc)
		return rc;
	m->came = is_content(&m->v.seen) ? AS_CROSS_REPAIRED : AS_CROSS_UNREPAIRED;
	if (m->came != AS_CROSS_REPAIRED)
		return 0;
	rc = read_view(m, m->v.seen.run[0]->disk, &m->now, err);
	if (!rc && !m->now.n)
		m->came = m->why.len ? AS_CROSS_UNJUDGED : AS_CROSS_UNREAD;
	return rc;
}
