/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_merge: many run folders as one, with an index. */
#include "base/json.h"
#include "base/show.h"
#include "cli/cli.h"
#include "join/join.h"

#include <stdio.h>

#define TOLD_MAX 20

static void tell(void *ctx, const char *line)
{
	size_t *n = ctx;
	struct as_buf shown = { 0 };

	as_show(&shown, line);
	if ((*n)++ < TOLD_MAX)
		fprintf(stderr, "assay: %s\n", as_buf_str(&shown));
	as_buf_free(&shown);
}

static int check_all(const struct as_args *args, struct as_err *err)
{
	int rc = 0;

	for (int i = 0; i < args->n_operands && !rc; i++)
		rc = as_join_check(args->operands[i], err);
	return rc;
}

static int index_folder(const struct as_dir *folder, bool *indexed, struct as_err *err)
{
#ifdef AS_HAVE_sqlite3
	int rc = as_join_index(folder, err);

	*indexed = !rc;
	return rc;
#else
	(void)folder;
	(void)err;
	*indexed = false;
	fprintf(stderr, "assay: " AS_JOIN_INDEX " is not written: this assay was built without "
			"SQLite (package libsqlite3-dev)\n");
	return 0;
#endif
}

static void print_totals(const struct as_join_totals *t, const char *path, bool indexed)
{
	printf("%s: %zu run%s of %zu folder%s, %zu finding%s (%zu new)%s\n", path, t->runs,
	       as_plural(t->runs), t->folders, as_plural(t->folders), t->findings,
	       as_plural(t->findings), t->fresh, indexed ? ", " AS_JOIN_INDEX : "");
	if (t->in_use)
		printf("%zu folder%s in use: join again when %s done\n", t->in_use,
		       t->in_use == 1 ? " is" : "s are", t->in_use == 1 ? "it is" : "they are");
	if (t->damaged)
		printf("%zu thing%s could not be read (see runs/*/" AS_JOIN_DAMAGED ")\n",
		       t->damaged, as_plural(t->damaged));
}

static void print_json(const struct as_join_totals *t, const char *path, bool indexed)
{
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);

	as_json_object(&json);
	as_json_kstr(&json, "event", "merged");
	as_json_kstr(&json, "folder", path);
	as_json_kuint(&json, "folders", t->folders);
	as_json_kuint(&json, "runs", t->runs);
	as_json_kuint(&json, "findings", t->findings);
	as_json_kuint(&json, "fresh", t->fresh);
	as_json_kuint(&json, "damaged", t->damaged);
	as_json_kuint(&json, "in_use", t->in_use);
	as_json_kuint(&json, "covered", t->covered);
	as_json_kbool(&json, "index", indexed);
	as_json_end(&json);
	printf("%s\n", as_buf_str(&text));
	as_buf_free(&text);
}

static int run(const struct as_args *args, struct as_err *err)
{
	const char *path = as_args_text(args, "out", NULL);
	struct as_join_totals totals = { 0 };
	struct as_join *join = NULL;
	bool indexed = false;
	size_t n_told = 0;
	int rc;

	if (!path)
		return as_fail(err, AS_EUSE, "merge: -o DIR says where the result goes");
	/* Nothing is written if one of them is no run folder. */
	rc = check_all(args, err);
	if (!rc)
		rc = as_join_open(path, tell, &n_told, &join, err);
	for (int i = 0; i < args->n_operands && !rc; i++)
		rc = as_join_add(join, args->operands[i], err);
	if (!rc)
		rc = as_join_finish(join, &totals, err);
	if (!rc)
		rc = index_folder(as_join_folder(join), &indexed, err);
	if (n_told > TOLD_MAX)
		fprintf(stderr, "assay: and %zu more like these\n", n_told - TOLD_MAX);
	if (!rc && as_args_has(args, "json"))
		print_json(&totals, path, indexed);
	else if (!rc)
		print_totals(&totals, path, indexed);
	as_join_close(join);
	return rc ? rc : AS_EXIT_CLEAN;
}

static const struct as_opt opts[] = {
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "the joined folder; it may exist, and is then added to" },
	{ .name = "json", .help = "print what was joined as one line of JSON" },
	{ 0 },
};

const struct as_command as_cmd_merge = {
	.name = "merge",
	.operands = "[DIR...] -o DIR",
	.summary = "join run folders, and index them for SQLite",
	.text = "The joined folder holds each finding once, with the counts of all runs added, the "
		"runs apart (runs/), and the coverage of all of them (" AS_JOIN_COV
		", from files NAME.cov in the folders). " AS_JOIN_INDEX
		" has runs, counters over time, findings and coverage as tables. A run that comes "
		"twice counts once, also by way of a folder that was joined before; a folder that "
		"is in use can be joined again later. What cannot be read is kept and told. Other "
		"commands take a joined folder as any run folder: `assay report`, `assay replay -o`. "
		"Without operands, the folder is indexed anew.",
	.opts = opts,
	.min_operands = 0,
	.max_operands = -1,
	.run = run,
};
