/* SPDX-License-Identifier: GPL-2.0-or-later */
/* excuse: see excuse.h. */
#include "fsck/excuse.h"

#include <stdlib.h>
#include <string.h>

void as_excuse_note_rebuilt(struct as_fsck_base *base, const struct as_reclog *log)
{
	base->rebuilt_sectors = as_disk_size(base->disk) / AS_DISK_SECTOR_BYTES;
	free(base->rebuilt);
	base->rebuilt = as_xcalloc(1, base->rebuilt_sectors / 8 + 1);
	for (size_t i = 0; i < as_reclog_len(log); i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);
		bool writes = e->kind != AS_CALL_READ && e->kind != AS_CALL_FLUSH;
		uint64_t end = (e->off + e->len + AS_DISK_SECTOR_BYTES - 1) / AS_DISK_SECTOR_BYTES;

		for (uint64_t s = e->off / AS_DISK_SECTOR_BYTES;
		     writes && s < end && s < base->rebuilt_sectors; s++)
			base->rebuilt[s / 8] |= (unsigned char)(1u << s % 8);
	}
}

static bool is_rebuilt(const struct as_fsck_base *base, uint64_t off)
{
	uint64_t s = off / AS_DISK_SECTOR_BYTES;

	return base->rebuilt && s < base->rebuilt_sectors && base->rebuilt[s / 8] & 1u << s % 8;
}

bool as_excuse_differs(const struct as_checker_test *row, enum as_subject_mode mode,
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
		    !as_subject_is_book(books, how->bytes[i].off) &&
		    (looks || base->sick || !is_rebuilt(base, how->bytes[i].off)))
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

bool as_excuse_silent(const struct as_checker_test *row, const struct as_fsck_run *first)
{
	return row->quiet || as_excuse_says(row->tells, first->output);
}

/* Whether all that the run changed are its books. A checker that tells of repairs whatever it finds
 * need not have changed anything. */
static bool only_books(const struct as_checker_test *row, const struct as_fsck_base *base,
		       struct as_disk *disk, const struct as_fsck_run *run)
{
	struct as_damage how = { 0 };
	bool only = (run->changed || row->rewrites) &&
		    !as_excuse_differs(row, AS_SUBJECT_REPAIR, base, disk, run->disk, &how);

	as_damage_free(&how);
	return only;
}

bool as_excuse_disagrees(const struct as_checker_test *row, const struct as_fsck_base *base,
			 struct as_disk *disk, const struct as_fsck_run *check,
			 const struct as_fsck_run *first)
{
	if (check->answer != AS_CHECK_CLEAN)
		return row->quiet || as_excuse_says(row->tells, first->output);
	return as_excuse_says(row->notices, check->output) ||
	       as_excuse_says(row->unseen, first->output) || only_books(row, base, disk, first);
}

bool as_excuse_second(const struct as_fsck_subject *subject, enum as_check_answer first,
		      enum as_check_answer second)
{
	const struct as_checker_test *row = as_subject_test(subject);
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
