/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dossier: see dossier.h.
 *
 * Method. First the facts that are new are written: the workloads, the disks, the files that came
 * with the finding of a checker, and last finding.json, since what it says counts. Then the folder
 * is read, and the pages, which are rows of one table, are made of it.
 */
#include "dossier/dossier.h"

#include "base/finding_json.h"
#include "base/version.h"
#include "disk/image.h"
#include "dossier/letter/letter.h"
#include "dossier/letter/mail.h"
#include "dossier/program/program.h"
#include "dossier/readme.h"
#include "dossier/script.h"
#include "dossier/stored.h"
#include "dossier/writes.h"
#include "os/out.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define JSON_MAX_BYTES ((size_t)64 << 20)

static int write_text(const struct as_dir *dir, const char *name, const char *text,
		      struct as_err *err)
{
	struct as_buf buf = { 0 };
	int rc;

	as_buf_adds(&buf, text);
	rc = as_dir_write(dir, name, &buf, err);
	as_buf_free(&buf);
	return rc;
}

/* ---- Facts: found ---------------------------------------------------------------------------- */

static int write_json(const struct as_dir *dir, const struct as_dossier_news *news,
		      struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);
	int rc;

	as_json_object(&json);
	as_finding_print(&json, news->finding, AS_FINDING_STORED);
	as_json_kuint(&json, "count", 1);
	as_json_key(&json, "tools");
	as_json_object(&json);
	as_json_kstr(&json, "assay", AS_VERSION);
	if (*news->mkfs)
		as_json_kstr(&json, "mkfs", news->mkfs);
	as_json_end(&json);
	as_json_end(&json);
	as_buf_addc(&text, '\n');
	rc = as_dir_write(dir, AS_FINDING_NAME, &text, err);
	as_buf_free(&text);
	return rc;
}

static int write_files(const struct as_dir *dir, const struct as_finding *f, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < f->n_files; i++) {
		const struct as_finding_file *file = &f->files[i];

		rc = write_text(dir, file->name, file->text, err);
		if (!rc && file->program && fchmodat(dir->fd, file->name, 0755, 0))
			rc = as_fail_errno(err, errno, "%s/%s", dir->path, file->name);
	}
	return rc;
}

static int write_workload(const struct as_dir *dir, const struct as_finding *f, struct as_err *err)
{
	int rc = write_text(dir, AS_WORKLOAD_NAME, f->workload, err);

	return !rc && f->layout ? write_text(dir, AS_LAYOUT_NAME, f->layout, err) : rc;
}

static int found(const struct as_dir *dir, const struct as_dossier_news *news, struct as_err *err)
{
	const struct as_finding *f = news->finding;
	int rc = f->files ? write_files(dir, f, err) : write_workload(dir, f, err);

	if (!rc && f->disk)
		rc = as_image_save_in(f->disk, dir, AS_DISK_NAME, err);
	if (!rc && f->healthy)
		rc = as_image_save_in(f->healthy, dir,
				      as_stored_is_power(f) ? AS_BEFORE_NAME : AS_HEALTHY_NAME,
				      err);
	return rc ? rc : write_json(dir, news, err);
}

/* ---- Facts: changed -------------------------------------------------------------------------- */

static int change_json(const struct as_dir *dir, const struct as_dossier_news *news,
		       void (*change)(json_t *root, const struct as_dossier_news *news),
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	json_t *root = NULL;
	char *dump;
	int rc = as_dir_read(dir, AS_FINDING_NAME, JSON_MAX_BYTES, &text, err);

	if (!rc)
		root = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	if (!rc && !json_is_object(root))
		rc = as_fail(err, AS_EUSE, "%s/" AS_FINDING_NAME ": not a finding", dir->path);
	if (!rc) {
		change(root, news);
		dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
		if (!dump)
			as_out_of_memory(text.len);
		as_buf_clear(&text);
		as_buf_addf(&text, "%s\n", dump);
		free(dump);
		rc = as_dir_write(dir, AS_FINDING_NAME, &text, err);
	}
	json_decref(root);
	as_buf_free(&text);
	return rc;
}

static void change_count(json_t *root, const struct as_dossier_news *news)
{
	json_int_t was = json_integer_value(json_object_get(root, "count"));

	json_object_set_new(root, "count",
			    json_integer(news->count ? (json_int_t)news->count : was + 1));
	if (news->group)
		json_object_set_new(root, "group", json_string(news->group));
}

static int counted(const struct as_dir *dir, const struct as_dossier_news *news, struct as_err *err)
{
	return change_json(dir, news, change_count, err);
}

/* Any bytes, as the other texts of a finding have them (base/json.h). */
static json_t *text_of(const char *text)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);
	json_t *value;

	as_json_str(&json, text);
	value = json_loadb(as_buf_str(&line), line.len, JSON_DECODE_ANY, NULL);
	as_buf_free(&line);
	return value;
}

static void change_reduced(json_t *root, const struct as_dossier_news *news)
{
	const struct as_dossier_reduction *r = news->reduction;
	json_t *reduced =
		json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:b, s:b, s:f}", "workload",
			  AS_REDUCED_NAME, "ops_before", (json_int_t)r->ops_before, "ops",
			  (json_int_t)r->ops_after, "executions", (json_int_t)r->executions, "runs",
			  (int)r->runs, "failed", (int)r->failed, "flaky", r->flaky, "complete",
			  r->complete, "seconds", r->seconds);

	if (r->summary) {
		json_object_set_new(reduced, "summary", text_of(r->summary));
		json_object_set_new(reduced, "op", json_integer(r->op_index + 1));
		if (r->detail)
			json_object_set_new(reduced, "detail", text_of(r->detail));
		if (r->log)
			json_object_set_new(reduced, "log", text_of(r->log));
	}
	json_object_set_new(root, "reduced", reduced);
}

static int reduced(const struct as_dir *dir, const struct as_dossier_news *news, struct as_err *err)
{
	int rc = write_text(dir, AS_REDUCED_NAME, news->reduction->workload, err);

	return rc ? rc : change_json(dir, news, change_reduced, err);
}

static int (*const facts[AS_DOSSIER_EVENTS])(const struct as_dir *, const struct as_dossier_news *,
					     struct as_err *) = {
	[AS_DOSSIER_FOUND] = found,
	[AS_DOSSIER_REDUCED] = reduced,
	[AS_DOSSIER_COUNTED] = counted,
};

/* ---- Pages ----------------------------------------------------------------------------------- */

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
	if (page->write)
		return page->write(l, news, err);
	as_buf_clear(l->out);
	page->print(l);
	return as_dir_write(l->folder, page->name, l->out, err);
}

/* Also of a page that is not new: whoever has taken the folder over from another process has taken
 * this right from its files. If it is refused, `sh repro.sh` works all the same. */
static void let_run(const struct as_dir *folder, const char *name)
{
	int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!fchmod(fd, 0755);
	close(fd);
}

static int write_pages(const struct as_dir *folder, const struct as_dossier_news *news,
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_letter l;
	int rc = as_letter_open(folder, &text, &l, err);

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]) && !rc; i++) {
		if (!pages[i].checker && as_letter_is_fsck(&l))
			continue;
		if (pages[i].on & (1u << news->event))
			rc = write_page(&pages[i], &l, news, err);
		if (!rc && pages[i].program)
			let_run(folder, pages[i].name);
	}
	as_letter_close(&l);
	as_buf_free(&text);
	return rc;
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* Whoever has the lock is the only writer, so that what is unfinished is of one that has died. */
static int remove_unfinished(void *ctx, const char *name)
{
	if (as_out_is_unfinished(name))
		as_dir_remove(ctx, name);
	return 0;
}

int as_dossier_write(const struct as_dir *folder, const struct as_dossier_news *news,
		     struct as_err *err)
{
	bool shared = news->event != AS_DOSSIER_FOUND;
	int rc = shared ? as_dir_lock(folder, true, err) : 0;

	if (rc)
		return rc;
	if (shared)
		as_dir_each(folder, remove_unfinished, (void *)folder);
	if (facts[news->event])
		rc = facts[news->event](folder, news, err);
	if (!rc)
		rc = write_pages(folder, news, err);
	if (shared)
		flock(folder->fd, LOCK_UN);
	return rc;
}
