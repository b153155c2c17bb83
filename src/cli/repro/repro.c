/* SPDX-License-Identifier: GPL-2.0-or-later */
/* repro: see repro.h. */
#include "cli/repro/repro.h"

#include "cli/expect.h"
#include "cli/stored.h"
#include "cli/writes.h"
#include "disk/flash.h"
#include "os/rundir.h"
#include "report/mail/mail.h"
#include "report/script.h"
#include "target/facts.h"

#include <stdlib.h>
#include <string.h>

#define LAB_LINK "-D_GNU_SOURCE $(find labfs -name '*.c' ! -name '*_main.c')"

static bool is_lab(const char *spec)
{
	return !strncmp(spec, "lab", 3) && (!spec[3] || spec[3] == ':');
}

/* "YOUR-SOURCES.c", or the object that was tested. */
static void put_link(const char *spec, struct as_buf *out)
{
	const char *path = spec + strlen("plugin:"), *end = strstr(path, ".so");

	if (is_lab(spec))
		as_buf_adds(out, LAB_LINK);
	else if (end && !strpbrk(path, " '\"\\$`*\n"))
		as_buf_addf(out, "%.*s.so", (int)(end - path), path);
	else
		as_buf_adds(out, "YOUR-SOURCES.c");
}

/* Found on a disk with a flipped bit, or with another value in a field. */
static bool is_corrupt(const struct as_finding *f)
{
	return f->options && (strstr(f->options, "corrupt=") || strstr(f->options, "fields=")) &&
	       f->summary && strstr(f->summary, "mount of a corrupted disk");
}

/* Of the reduced workload, as its calls are those of the program. */
static const char *summary_of(const struct as_stored *stored)
{
	const struct as_finding *f = &stored->record.finding;
	const char *shows = as_stored_shows(stored);

	return shows ? shows : f->summary ? f->summary : f->signature;
}

static int write_program(const struct as_dir *folder, const struct as_stored *stored,
			 const struct as_seq *seq, const struct as_cli_again *again,
			 const struct as_trail *trail, struct as_err *err)
{
	struct as_buf text = { 0 }, link = { 0 };
	struct as_repro repro = { .id = stored->record.id,
				  .finding = &stored->record.finding,
				  .summary = summary_of(stored),
				  .seq = seq,
				  .opts = as_target_opts(again->target),
				  .flash = as_target_flash(again->target),
				  .choices = again->options.choices,
				  .symbol = is_lab(again->spec) ? "lab_target" : "as_target",
				  .again = strstr(again->options.scenario, "then=") ||
					   strstr(again->options.scenario, "from=") ||
					   is_corrupt(&stored->record.finding) };
	int rc = as_target_disk_bytes(again->target, again->options.size_bytes, &repro.size_bytes,
				      err);

	put_link(again->spec, &link);
	repro.link = as_buf_str(&link);
	if (!rc && as_repro_write(&repro, trail, &text))
		rc = as_dir_write(folder, "repro.c", &text, err);
	as_buf_free(&text);
	as_buf_free(&link);
	return rc;
}

/* A file may name any code; only that which the user has run is run again. */
static bool is_same_code(const char *named, const char *trusted)
{
	const char *end = strchr(named + strcspn(named, ":") + (strchr(named, ':') != NULL), ':');
	size_t len = end ? (size_t)(end - named) : strlen(named);

	if (is_lab(named) || is_lab(trusted))
		return is_lab(named) && is_lab(trusted);
	return !strncmp(named, "plugin:", 7) && !strncmp(named, trusted, len) &&
	       (!trusted[len] || trusted[len] == ':');
}

int as_cli_repro(const struct as_dir *folder, const char *trusted, struct as_err *err)
{
	struct as_cli_ear ear = as_cli_ear_new();
	struct as_cli_again again = { 0 };
	struct as_trail *trail = NULL;
	struct as_stored stored = { 0 };
	struct as_seq *seq = NULL;
	const char *spec, *text;
	int rc = as_stored_load(folder, &stored, err);

	spec = rc ? "" : stored.record.finding.target;
	if (!rc && strncmp(spec, "plugin:", 7) && !is_lab(spec)) {
		rc = as_cli_expect(folder, &stored, err);
		goto out;
	}
	/* One that compares targets names others as well. */
	if (rc || !is_same_code(spec, trusted) ||
	    strstr(stored.record.finding.options, "scenario=diff") || !(trail = as_trail_new()))
		goto out;
	ear.wanted = stored.record.finding.signature;
	text = stored.reduced ? stored.reduced : stored.workload;
	rc = as_cli_stored_parse(&stored, "workload.txt", text, &seq, err);
	if (!rc)
		rc = as_cli_again_trail(&stored, trail, &ear.sink, &again, err);
	if (!rc)
		rc = as_cli_again_run(&again, seq, err);
	if (!rc && ear.same)
		rc = write_program(folder, &stored, seq, &again, trail, err);
out:
	if (!rc && stored.workload)
		rc = as_cli_writes(folder, err);
	if (!rc && stored.workload)
		rc = as_script_write(folder, err);
	/* It says what the program can do. */
	if (!rc && stored.workload)
		rc = as_mail_write(folder, err);
	as_cli_again_close(&again);
	as_seq_free(seq);
	as_stored_free(&stored);
	as_trail_free(trail);
	return rc;
}

/* ---- The sink -------------------------------------------------------------------------------- */

struct repro_sink {
	struct as_sink sink;
	struct as_sink *store;
	const struct as_dir *run;
};

static void on_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	const struct repro_sink *s = (const struct repro_sink *)sink;
	struct as_dir findings = AS_DIR_NONE, folder = AS_DIR_NONE;

	s->store->finding(s->store, f, id);
	if (f->files || as_store_sink_failed(s->store, NULL))
		return;
	/* If its program cannot be written, the finding stays all the same. */
	if (!as_dir_below(s->run, AS_RUN_FINDINGS, false, &findings, NULL) &&
	    !as_dir_below(&findings, id, false, &folder, NULL))
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
