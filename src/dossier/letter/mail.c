/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mail: see mail.h. */
#include "dossier/letter/mail.h"

#include "base/show.h"
#include "base/version.h"
#include "dossier/letter/letter.h"
#include "dossier/letter/plain.h"
#include "dossier/letter/words.h"
#include "dossier/script.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 60
#define LOG_LINES_MAX 60
#define DETAIL_LINES_MAX 120

static void put_row(struct as_buf *out, const char *name, const char *text)
{
	char head[32];

	snprintf(head, sizeof(head), "  %-12s", name);
	as_plain_text(out, head, text);
}

static const char *tool(const struct as_letter *l, const char *name)
{
	return json_string_value(
		json_object_get(json_object_get(l->stored.finding.own, "tools"), name));
}

/* As one line that cannot look like another. */
static void put_shown_row(struct as_buf *out, const char *name, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	put_row(out, name, as_buf_str(&shown));
	as_buf_free(&shown);
}

static void put_kernel(const struct as_letter *l)
{
	const char *kernel = l->f->kernel;
	struct as_buf text = { 0 };
	char name[AS_KERNEL_NAME_MAX];

	if (kernel && *kernel)
		as_show(&text, kernel);
	else
		as_buf_adds(&text, "not recorded");
	if (as_finding_kernel(l->f, name))
		as_buf_addf(&text, " (in a sandbox; the one that `assay kernel` has built as %s)",
			    name);
	else if (l->recipe.type && !as_finding_is_on_host(l->f))
		as_buf_adds(&text, " (in a sandbox)");
	put_row(l->out, "Kernel", as_buf_str(&text));
	as_buf_free(&text);
}

static void put_versions(const struct as_letter *l)
{
	struct as_buf version = { 0 };
	const char *mkfs = tool(l, "mkfs"), *own = tool(l, "assay");

	as_plain_heading(l->out, "Where");
	if (!as_letter_is_fsck(l))
		put_kernel(l);
	if (mkfs && *mkfs)
		put_shown_row(l->out, "Tools", mkfs);
	else if (l->recipe.type && l->recipe.type->package)
		put_row(l->out, "Tools", l->recipe.type->package);
	as_buf_addf(&version, "assay ");
	as_show(&version, own ? own : AS_VERSION);
	put_row(l->out, "Found by", as_buf_str(&version));
	put_row(l->out, "Finding", l->stored.finding.id);
	as_buf_free(&version);
}

static void put_place(const struct as_letter *l)
{
	if (as_letter_is_fsck(l)) {
		as_plain_heading(l->out, "The checker");
		as_plain_quote(l->out, l->f->target);
		return;
	}
	as_plain_heading(l->out, "The file system");
	if (l->recipe.type) {
		as_recipe_commands(&l->recipe, l->f, l->out);
		return;
	}
	as_plain_text(l->out, "  ", as_recipe_words(l->f->target));
	as_plain_quote(l->out, l->f->target);
}

/* How the power was cut, by a word of the options (crash/options.h). */
static const struct {
	const char *word, *says;
} power_rows[] = {
	{ "view=1", "Writes reached the disk in the order in which they were made, each whole or "
		    "not at all: no disk is needed that reorders." },
	{ "view=2", "Writes reached the disk in order; of the last one only the first sectors "
		    "did." },
	{ "view=3", "Of the writes that no flush covered, some reached the disk and some did "
		    "not, as a disk with a cache may do." },
	{ "view=4", "Writes reached the disk in order; of the last one only some sectors did." },
	{ "view=5", "Of the sectors that no flush covered, some reached the disk and some did "
		    "not, as a disk with a cache may do." },
	{ "lying=1", "NOTE: the disk was one whose flush does nothing. On a disk that keeps its "
		     "promises this need not happen." },
	{ "hold=", "Writes stayed in flight for a while before they were complete." },
	{ "early=", "The cache was written back at moments that were chosen." },
	{ "then=", "The power failed again during recovery, and recovery began once more." },
	{ "from=", "The power failed in an earlier round, too: the steps went on after a "
		   "recovery." },
	{ "threads=", "The calls were made by several threads at the same time." },
};

static void put_power(const struct as_letter *l, const char *params)
{
	struct as_buf when = { 0 };
	bool during;
	size_t step = as_letter_cut_step(l, &during);

	if (step)
		as_buf_addf(&when, "%s step %zu, the power fails.", during ? "During" : "After",
			    step);
	else
		as_buf_adds(&when, "Then it is unmounted, and somewhere on the way, also during "
				   "the unmount, the power fails.");
	as_buf_adds(&when, " What had reached the disk by then is told below.");
	as_plain_text(l->out, "  ", as_buf_str(&when));
	as_buf_free(&when);
	for (size_t i = 0; i < sizeof(power_rows) / sizeof(power_rows[0]); i++) {
		const char *word = power_rows[i].word, *at = strstr(params, word);

		while (at && at[-1] != ',' && at[-1] != ':')
			at = strstr(at + 1, word);
		if (at)
			as_plain_text(l->out, "  ", power_rows[i].says);
	}
}

/* What else was done while the steps ran. */
static void put_circumstances(const struct as_letter *l)
{
	struct as_buf value = { 0 };

	if (as_letter_option(l, "fault", &value)) {
		as_plain_text(l->out, "  ",
			      "While they ran, these calls of the file system to its disk or its "
			      "allocator failed (what, which one, with which error):");
		as_plain_quote(l->out, as_buf_str(&value));
	}
	as_buf_clear(&value);
	if (as_letter_option(l, "scenario", &value)) {
		if (!strncmp(as_buf_str(&value), "race", 4))
			as_plain_text(
				l->out, "  ",
				"The calls are made by several threads at the same time, with "
				"random delays.");
		else if (!strncmp(as_buf_str(&value), "crash", 5))
			put_power(l, as_buf_str(&value));
	}
	as_buf_free(&value);
}

static void put_steps(const struct as_letter *l)
{
	as_plain_heading(l->out, "Steps");
	if (as_letter_is_fsck(l)) {
		as_plain_text(l->out, "  ",
			      "A sound disk is damaged as damage.txt (attached) says, and the "
			      "checker is run on it. repro.sh has the commands.");
		return;
	}
	as_letter_put_steps(l, STEPS_MAX);
	put_circumstances(l);
}

/* The answers that a run was given fill pages, and are not those of the steps. */
static void put_detail(const struct as_letter *l)
{
	const char *answers = strstr(l->f->detail, AS_DETAIL_ANSWERS);
	char *text = answers ? as_xstrndup(l->f->detail, (uint64_t)(answers - l->f->detail)) : NULL;

	as_plain_quote_lines(l->out, answers ? text : l->f->detail, DETAIL_LINES_MAX);
	if (answers)
		as_plain_text(l->out, "  ",
			      "In some places the file system asks what to do (as_choose() in "
			      "assay/choice.h). What it was answered is in finding.json, and in "
			      "repro.c.");
	free(text);
}

static void put_seen(const struct as_letter *l)
{
	struct as_buf seen = { 0 }, expected = { 0 };

	as_plain_heading(l->out, "Seen");
	if (l->reduced && !l->fits)
		as_plain_text(l->out, "  ",
			      "In the run that found it. It had more operations than the steps "
			      "above, so its numbers and names are others:");
	as_words_summary(l->f->summary ? l->f->summary : "", &seen, &expected);
	as_plain_quote(l->out, as_buf_str(&seen));
	if (l->f->detail && *l->f->detail) {
		as_buf_addc(l->out, '\n');
		as_plain_text(l->out, "  ",
			      as_stored_is_power(l->f)
				      ? "What was written, what of it the power cut left, and what "
					"the recovery did:"
			      : as_letter_is_fsck(l)
				      ? "The bytes that were changed, and more of what was seen:"
				      : "More of what that run saw, its last operations and their "
					"answers for example ($N is a descriptor):");
		put_detail(l);
	}
	as_buf_free(&seen);
	as_buf_free(&expected);
}

static void put_log(const struct as_letter *l)
{
	if (!l->f->log || !*l->f->log)
		return;
	as_plain_heading(l->out, l->recipe.type ? "Kernel log" : "Log of the file system");
	as_plain_quote_lines(l->out, l->f->log, LOG_LINES_MAX);
}

static void put_script(const struct as_letter *l, const char *why)
{
	struct as_buf text = { 0 };

	if (!as_dir_has(l->folder, AS_SCRIPT_NAME))
		return;
	if (why)
		as_buf_addf(&text,
			    "repro.sh (attached) needs assay, because %s. It says REPRODUCED or "
			    "NOT REPRODUCED.",
			    why);
	else
		as_buf_adds(&text, "repro.sh (attached) does the same in plain shell, on images "
				   "of its own, and says REPRODUCED or NOT REPRODUCED.");
	as_plain_text(l->out, "  ", as_buf_str(&text));
	as_buf_free(&text);
}

/* Attached are the files of the folder. */
static void put_again(const struct as_letter *l)
{
	const char *why = as_script_needs_assay(l);

	as_plain_heading(l->out, "To reproduce it");
	put_script(l, why);
	if (as_dir_has(l->folder, "repro.c")) {
		as_plain_text(l->out, "  ",
			      !as_recipe_is_library(l->f->target)
				      ? "repro.c (attached) makes the same calls below the "
					"directory that it is given, and prints what each "
					"of them answered:"
			      : why ? "repro.c (attached) makes the same calls as system "
				      "calls, below a directory. It is there to be read: "
				      "by itself it does not show the finding."
				    : "repro.c (attached) is the same as a C program; its "
				      "first lines say how to compile it with the sources "
				      "of the file system.");
		if (!as_recipe_is_library(l->f->target))
			as_buf_adds(l->out, "    cc repro.c -o repro && ./repro mnt\n");
		if (!as_recipe_is_library(l->f->target) && as_stored_is_power(l->f))
			as_plain_text(l->out, "  ", "It cannot cut the power; see the disk below.");
		if (l->f->kind == AS_FIND_RACE)
			as_plain_text(l->out, "  ", "It makes them in one thread.");
		if (!as_recipe_is_library(l->f->target) || why)
			as_letter_put_left_out(l);
	}
	if (!l->f->disk && !l->stored.finding.has_disk)
		return;
	as_plain_text(l->out, "  ",
		      as_stored_is_power(l->f)
			      ? "disk.img.zst (attached) is the disk as the power cut left it, in "
				"the run that found it."
		      : as_letter_is_fsck(l)
			      ? "disk.img.zst (attached) is the disk as it was kept, and "
				"healthy.img.zst the one before the damage, if it is there."
			      : "disk.img.zst (attached) is the disk at that moment, in the run "
				"that found it.");
	if (as_stored_is_power(l->f) && as_dir_has(l->folder, AS_BEFORE_NAME))
		as_plain_text(l->out, "  ",
			      "before.img.zst is the disk before the steps, and writes.txt says "
			      "which bytes of it the writes that survived have changed "
			      "(writes.bin.zst).");
	if (l->recipe.type && !l->recipe.type->journal_bytes)
		as_recipe_kept(&l->recipe, l->out);
}

void as_mail_put(const struct as_letter *l)
{
	as_buf_adds(l->out, "Subject: [BUG] ");
	as_words_subject(l->f, l->guilty, l->out);
	as_buf_adds(l->out, "\n\n");
	as_plain_text(l->out, "", as_kind_meaning(l->f->kind));
	put_versions(l);
	put_place(l);
	put_steps(l);
	as_plain_heading(l->out, "Expected");
	as_letter_put_expected(l);
	put_seen(l);
	as_plain_heading(l->out, "How often");
	as_letter_put_often(l);
	put_log(l);
	put_again(l);
}

int as_mail_print(const struct as_dir *folder, struct as_buf *out, struct as_err *err)
{
	struct as_letter l;
	int rc = as_letter_open(folder, out, &l, err);

	if (!rc)
		as_mail_put(&l);
	as_letter_close(&l);
	return rc;
}
