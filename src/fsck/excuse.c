/* SPDX-License-Identifier: GPL-2.0-or-later */
/* excuse: see excuse.h. */
#include "fsck/excuse.h"

#include <string.h>

bool as_excuse_differs(const struct as_subject_row *row, enum as_subject_mode mode,
		       const struct as_fsck_base *base, struct as_disk *from, struct as_disk *to,
		       struct as_damage *how)
{
	bool looks = mode == AS_SUBJECT_CHECK;
	const char *books = looks ? row->check_books : row->books;
	size_t n = 0, known = looks || base->sick ? 0 : base->writes.n;

	if (!as_damage_diff(how, from, to))
		return false;
	for (size_t i = 0, k = 0; i < how->n; i++) {
		/* A number of four bytes may have changed in some of them only. */
		uint64_t word = how->bytes[i].off & ~UINT64_C(3);

		while (k < known && base->writes.bytes[k].off < word)
			k++;
		if ((k == known || base->writes.bytes[k].off >= word + 4) &&
		    !as_subject_is_book(books, how->bytes[i].off))
			how->bytes[n++] = how->bytes[i];
	}
	how->n = n;
	return n;
}

bool as_excuse_says(const char *texts, const char *output)
{
	while (texts && *texts) {
		size_t len = strcspn(texts, "|");

		if (memmem(output, strlen(output), texts, len))
			return true;
		texts += len + (texts[len] == '|');
	}
	return false;
}

bool as_excuse_silent(const struct as_subject_row *row, const struct as_fsck_run *first)
{
	return row->quiet || as_excuse_says(row->tells, first->output);
}

/* Whether all that the run changed are its books. */
static bool only_books(const struct as_subject_row *row, const struct as_fsck_base *base,
		       struct as_disk *disk, const struct as_fsck_run *run)
{
	struct as_damage how = { 0 };
	bool only = run->changed &&
		    !as_excuse_differs(row, AS_SUBJECT_REPAIR, base, disk, run->disk, &how);

	as_damage_free(&how);
	return only;
}

bool as_excuse_disagrees(const struct as_subject_row *row, const struct as_fsck_base *base,
			 struct as_disk *disk, const struct as_fsck_run *check,
			 const struct as_fsck_run *first)
{
	if (check->answer != AS_CHECK_CLEAN)
		return row->quiet || as_excuse_says(row->tells, first->output);
	return as_excuse_says(row->notices, check->output) ||
	       as_excuse_says(row->harmless, first->output) || row->rewrites ||
	       only_books(row, base, disk, first);
}

bool as_excuse_second(const struct as_fsck_subject *subject, enum as_check_answer first,
		      enum as_check_answer second)
{
	const struct as_subject_row *row = as_subject_row_of(subject);
	bool other = strcmp(as_subject_command(subject, AS_SUBJECT_REPAIR),
			    as_subject_command(subject, AS_SUBJECT_AGAIN));

	/* Of a checker that believes what the superblock says, only repairs count. What it leaves,
	 * the thorough second run may well repair. */
	if (row->trusts && first != AS_CHECK_REPAIRED)
		return true;
	/* What one command cannot do, another one may be able to. */
	if (other && first == AS_CHECK_FAILED)
		return true;
	return row->partial && second != AS_CHECK_FAILED;
}
