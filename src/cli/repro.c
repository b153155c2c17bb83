/* SPDX-License-Identifier: GPL-2.0-or-later */
/* repro: see repro.h. */
#include "cli/repro.h"

#include "cli/stored.h"
#include "dossier/dossier.h"
#include "dossier/recipe.h"
#include "dossier/solo/solo.h"
#include "dossier/store.h"
#include "os/rundir.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

/* A file may name any code; only that which the user has run is run again. */
static bool is_same_code(const char *named, const char *trusted)
{
	size_t n = 0, m = 0;
	const char *a = as_target_object(named, &n), *b = as_target_object(trusted, &m);

	if (as_recipe_is(named, AS_RECIPE_LAB) || as_recipe_is(trusted, AS_RECIPE_LAB))
		return as_recipe_is(named, AS_RECIPE_LAB) && as_recipe_is(trusted, AS_RECIPE_LAB);
	return a && b ? n == m && !memcmp(a, b, n) : !strcmp(named, trusted);
}

/* Plays the finding of a library, and has its program written if it shows. */
static int play(const struct as_dir *folder, const struct as_stored *stored, struct as_err *err)
{
	struct as_cli_ear ear = as_cli_ear_new();
	struct as_trail *trail = as_trail_new();
	struct as_cli_again again = { 0 };
	struct as_seq *seq = NULL;
	const char *text = stored->reduced ? stored->reduced : stored->workload;
	int rc = trail ? as_cli_stored_parse(stored, AS_WORKLOAD_NAME, text, &seq, err) : 0;

	ear.wanted = stored->finding.signature;
	if (!rc && trail)
		rc = as_cli_again_trail(stored, trail, &ear.sink, &again, err);
	if (!rc && trail)
		rc = as_cli_again_run(&again, seq, err);
	if (!rc && ear.same) {
		const struct as_played played = { .spec = again.spec,
						  .target = again.target,
						  .seq = seq,
						  .trail = trail,
						  .size_bytes = again.options.size_bytes,
						  .choices = again.options.choices,
						  .scenario = again.options.scenario };

		const struct as_dossier_news news = { .event = AS_DOSSIER_PLAYED,
						      .played = &played };

		rc = as_dossier_write(folder, &news, err);
	}
	as_cli_again_close(&again);
	as_seq_free(seq);
	as_trail_free(trail);
	return rc;
}

int as_cli_repro(const struct as_dir *folder, const char *trusted, struct as_err *err)
{
	struct as_stored stored = { 0 };
	const char *spec;
	int rc;

	if (!as_recipe_is_library(trusted))
		return 0;
	rc = as_stored_load(folder, &stored, err);
	spec = rc ? "" : stored.finding.target;
	/* One that compares targets names others as well. */
	if (!rc && as_recipe_is_library(spec) && is_same_code(spec, trusted) &&
	    !strstr(stored.finding.options, "scenario=diff"))
		rc = play(folder, &stored, err);
	as_stored_free(&stored);
	return rc;
}

/* ---- The sink -------------------------------------------------------------------------------- */

struct repro_sink {
	struct as_sink sink;
	struct as_sink *store;
	const struct as_dir *run;
};

static void on_finding(struct as_sink *sink, const struct as_finding *f)
{
	const struct repro_sink *s = (const struct repro_sink *)sink;
	struct as_dir findings = AS_DIR_NONE, folder = AS_DIR_NONE;

	s->store->finding(s->store, f);
	if (f->files || as_store_sink_failed(s->store, NULL))
		return;
	/* If its program cannot be written, the finding stays all the same. */
	if (!as_dir_below(s->run, AS_RUN_FINDINGS, false, &findings, NULL) &&
	    !as_dir_below(&findings, f->id, false, &folder, NULL))
		(void)!as_cli_repro(&folder, f->target, NULL);
	as_dir_close(&folder);
	as_dir_close(&findings);
}

struct as_sink *as_cli_repro_sink(struct as_sink *store, const struct as_dir *run)
{
	struct repro_sink *s = as_xcalloc(1, sizeof(*s));

	s->sink.finding = on_finding;
	s->store = store;
	s->run = run;
	return &s->sink;
}
