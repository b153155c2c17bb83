/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dossier: see dossier.h. The pages are rows of one table. */
#include "dossier/dossier.h"

#include "dossier/facts.h"
#include "dossier/letter/letter.h"
#include "dossier/letter/mail.h"
#include "dossier/program/program.h"
#include "dossier/readme.h"
#include "dossier/script.h"
#include "dossier/writes.h"

#include <sys/file.h>
#include <sys/stat.h>

#define ON(event) (1u << AS_DOSSIER_##event)
#define OF_STEPS (ON(FOUND) | ON(REDUCED)) /* what is made of the workload */

/* In this order: the letter says what else is there. */
static const struct page {
	const char *name; /* of the file; NULL: there are several, which write() names */
	void (*print)(const struct as_letter *letter);
	int (*write)(const struct as_letter *letter, const struct as_dossier_news *news,
		     struct as_err *err);
	unsigned on; /* when it is written */
	bool program; /* it can be run */
	bool checker; /* also for that of a checker, which has files in place of the others */
} pages[] = {
	{ .write = as_writes_save, .on = ON(FOUND) },
	{ .write = as_program_write, .on = OF_STEPS | ON(PLAYED) },
	{ .name = AS_README_NAME, .print = as_readme_print, .on = OF_STEPS },
	{ .name = AS_SCRIPT_NAME, .print = as_script_print, .on = OF_STEPS, .program = true },
	{ .name = AS_MAIL_NAME,
	  .print = as_mail_put,
	  .on = OF_STEPS | ON(PLAYED) | ON(COUNTED),
	  .checker = true },
};

static int write_page(const struct page *page, struct as_letter *l,
		      const struct as_dossier_news *news, struct as_err *err)
{
	int rc;

	if (page->write)
		return page->write(l, news, err);
	as_buf_clear(l->out);
	page->print(l);
	rc = as_dir_write(l->folder, page->name, l->out, err);
	/* In a folder that a guest shares it may be refused; `sh repro.sh` works all the same. */
	if (!rc && page->program)
		(void)!fchmodat(l->folder->fd, page->name, 0755, 0);
	return rc;
}

static int write_pages(const struct as_dir *folder, const struct as_dossier_news *news,
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_letter l;
	int rc = as_letter_open(folder, &text, &l, err);

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]) && !rc; i++)
		if (pages[i].on & (1u << news->event) &&
		    (pages[i].checker || !as_letter_is_fsck(&l)))
			rc = write_page(&pages[i], &l, news, err);
	as_letter_close(&l);
	as_buf_free(&text);
	return rc;
}

int as_dossier_write(const struct as_dir *folder, const struct as_dossier_news *news,
		     struct as_err *err)
{
	bool shared = news->event != AS_DOSSIER_FOUND;
	int rc = shared ? as_dir_lock(folder, true, err) : 0;

	if (rc)
		return rc;
	rc = as_facts_write(folder, news, err);
	if (!rc)
		rc = write_pages(folder, news, err);
	if (shared)
		flock(folder->fd, LOCK_UN);
	return rc;
}
