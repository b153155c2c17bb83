/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program: see program.h. Which program a finding gets is a table; nobody else writes repro.c. */
#include "dossier/program/program.h"

#include "dossier/program/emit_c.h"
#include "dossier/program/expect.h"
#include "dossier/script.h"
#include "dossier/solo/solo.h"
#include "work/parse.h"

#include <string.h>

struct program_choice {
	const struct as_letter *letter;
	const struct as_seq *seq;
	const struct as_played *played; /* NULL: it was not played */
	const struct as_expect *expect; /* NULL: the model expects nothing that can be compared */
	struct as_buf *out;
};

static bool of_library(const struct program_choice *m)
{
	return m->played && as_solo_print(m->letter, m->played, m->out);
}

static bool of_answers(const struct program_choice *m)
{
	if (m->expect)
		as_emit_c_plan(m->seq, as_expect_plan(m->expect), m->out);
	return m->expect;
}

static bool of_calls(const struct program_choice *m)
{
	as_emit_c(m->seq, NULL, m->out);
	return true;
}

/* A finding gets the first one that can be written. */
static bool (*const programs[])(const struct program_choice *m) = {
	of_library, /* is linked with the library, and makes the calls that were made on it */
	of_answers, /* makes the calls, and compares the answers with those that are expected */
	of_calls, /* makes the calls */
};

static int write_program(const struct program_choice *m, const struct as_dir *folder,
			 struct as_err *err)
{
	size_t i = 0;

	while (!programs[i](m)) {
		as_buf_clear(m->out);
		i++;
		as_assert(i < sizeof(programs) / sizeof(programs[0]));
	}
	return as_dir_write(folder, AS_PROGRAM_NAME, m->out, err);
}

/* Those of a longer workload say nothing of this one. */
static void forget_expected(const struct as_dir *folder)
{
	static const char *const names[] = { AS_SCRIPT_TREE, AS_SCRIPT_DATA, AS_SCRIPT_ATTRS };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (as_dir_has(folder, names[i]))
			as_dir_remove(folder, names[i]);
}

int as_program_write(const struct as_letter *l, const struct as_dossier_news *news,
		     struct as_err *err)
{
	const struct as_stored *stored = &l->stored;
	const char *name = stored->reduced ? AS_REDUCED_NAME : AS_WORKLOAD_NAME;
	const char *workload = stored->reduced ? stored->reduced : stored->workload;
	struct as_expect *expect = NULL;
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_parse_text(name, workload, strlen(workload), &seq, err);

	if (!rc) {
		/* An empty one shows on a fresh file system: there is nothing to compare. */
		expect = *workload ? as_expect_new(l, seq) : NULL;
		forget_expected(l->folder);
		rc = write_program(&(struct program_choice){ l, seq, news->played, expect, &text },
				   l->folder, err);
	}
	if (!rc && expect)
		rc = as_expect_write_tree(expect, l->folder, err);
	as_expect_free(expect);
	as_seq_free(seq);
	as_buf_free(&text);
	return rc;
}
