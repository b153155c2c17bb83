/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain: a finding as a story (mail.h). */
#include "base/show.h"
#include "dossier/letter/letter.h"
#include "dossier/letter/plain.h"
#include "dossier/letter/words.h"
#include "dossier/script.h"
#include "os/rundir.h"

#include <string.h>

#define STEPS_MAX 20

static void tell_done(const struct as_letter *l)
{
	size_t n = as_letter_n_steps(l);
	bool during;
	struct as_buf text = { 0 }, value = { 0 };

	if (as_letter_is_fsck(l)) {
		as_plain_text(l->out, "",
			      "A sound disk was damaged, and a checker was run on it. The folder "
			      "of the finding has the damage (damage.txt) and the runs "
			      "(repro.sh). It is:");
		as_plain_quote(l->out, l->f->target);
		return;
	}
	as_buf_addf(&text, "A fresh file system was made and mounted%s. It is %s:",
		    n ? "" : ", and nothing else was done",
		    l->recipe.type ? "a type of the kernel" : as_recipe_words(l->f->target));
	as_plain_text(l->out, "", as_buf_str(&text));
	as_plain_quote(l->out, l->f->target);
	as_buf_clear(&text);
	if (!n)
		goto out;
	as_buf_addf(&text, "Then %zu call%s made", n, n == 1 ? " was" : "s were");
	if (as_letter_option(l, "scenario", &value) && !strncmp(as_buf_str(&value), "race", 4))
		as_buf_adds(&text, ", by several threads at the same time");
	else if (value.len && !strncmp(as_buf_str(&value), "crash", 5))
		as_buf_addf(&text, ", and the power was cut%s",
			    !as_letter_cut_step(l, &during) ? ""
			    : during			    ? " during the last one"
							    : " after the last one");
	as_buf_clear(&value);
	if (as_letter_option(l, "fault", &value))
		as_buf_adds(&text, ", while calls to the disk or the allocator were made to fail");
	if (l->reduced && l->found)
		as_buf_addf(&text,
			    " (what is left of %zu after those were dropped that do not "
			    "matter)",
			    l->found->n);
	as_buf_adds(&text, ":");
	as_plain_text(l->out, "", as_buf_str(&text));
	as_letter_put_steps(l, STEPS_MAX);
out:
	as_buf_free(&text);
	as_buf_free(&value);
}

static void tell_seen(const struct as_letter *l)
{
	struct as_buf seen = { 0 }, expected = { 0 };

	as_words_summary(l->f->summary ? l->f->summary : "", &seen, &expected);
	as_plain_text(l->out, "",
		      l->reduced && !l->fits
			      ? "What happened, in the longer run that found it (its numbers are "
				"not those of the steps above):"
			      : "What happened:");
	as_plain_quote(l->out, as_buf_str(&seen));
	as_plain_text(l->out, "", as_kind_meaning(l->f->kind));
	as_buf_free(&seen);
	as_buf_free(&expected);
}

static void tell_sure(const struct as_letter *l)
{
	as_plain_text(l->out, "", "How sure this is:");
	as_letter_put_often(l);
	if (l->runs && l->failed == l->runs)
		as_plain_text(l->out, "  ", "It failed every time, so it does not depend on luck.");
	else if (l->runs)
		as_plain_text(l->out, "  ",
			      "It does not fail every time: timing, memory or chance play a part.");
	if (l->f->kind == AS_FIND_RACE)
		as_plain_text(l->out, "  ", "A race needs luck; a replay tries several times.");
	as_plain_text(l->out, "  ",
		      "Before you report it, see it once without assay: the model can be wrong, "
		      "too.");
}

/* Its id and the run folder that has it, or its own folder. */
static void put_which(const struct as_letter *l)
{
	const char *id = l->stored.finding.id, *path = l->folder->path;
	struct as_buf end = { 0 }, run = { 0 };
	size_t len = strlen(path);

	as_buf_addf(&end, "/" AS_RUN_FINDINGS "/%s", id);
	if (len > end.len && !strcmp(path + len - end.len, as_buf_str(&end))) {
		as_buf_adds(l->out, id);
		as_buf_add(&run, path, len - end.len);
		if (strcmp(as_buf_str(&run), AS_OUT_DEFAULT) != 0) {
			as_buf_adds(l->out, " -o ");
			as_show_word(l->out, as_buf_str(&run));
		}
	} else {
		as_show_word(l->out, path);
	}
	as_buf_free(&end);
	as_buf_free(&run);
}

static void tell_again(const struct as_letter *l)
{
	const char *why = as_script_needs_assay(l);
	struct as_buf text = { 0 };

	as_plain_text(l->out, "", "To see it again:");
	as_buf_addf(l->out, "    assay replay %s",
		    as_finding_is_on_host(l->f) ? "--sandbox host " : "");
	put_which(l);
	as_buf_addc(l->out, '\n');
	if (why)
		as_buf_addf(&text, "Without assay it cannot be shown, because %s.", why);
	else
		as_buf_addf(&text, "Without assay: %s in the folder of the finding.",
			    as_dir_has(l->folder, AS_SCRIPT_NAME) ? AS_SCRIPT_NAME : "repro.c");
	as_buf_adds(&text, " `assay report --mail` prints the text for the maintainer.");
	as_plain_text(l->out, "  ", as_buf_str(&text));
	as_buf_free(&text);
}

int as_explain_print(const struct as_dir *folder, struct as_buf *out, struct as_err *err)
{
	struct as_letter l;
	int rc = as_letter_open(folder, out, &l, err);

	if (!rc) {
		as_words_subject(l.f, l.guilty, out);
		as_buf_adds(out, "\n\n");
		tell_done(&l);
		as_buf_addc(out, '\n');
		as_plain_text(out, "", "What was expected:");
		as_letter_put_expected(&l);
		as_buf_addc(out, '\n');
		tell_seen(&l);
		as_buf_addc(out, '\n');
		tell_sure(&l);
		as_buf_addc(out, '\n');
		tell_again(&l);
	}
	as_letter_close(&l);
	return rc;
}
