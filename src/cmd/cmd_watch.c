/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_watch: attaches to a run in progress: shows the progress that it keeps in its folder
 * (progress.json, docs/FORMAT.md), as the run itself shows it.
 *
 * The folder is only read, and may be somebody else's: what stands in the file is data, which is
 * checked when it is read and escaped when it is shown. A run that says nothing more is dead if its
 * process is gone; where processes cannot be seen (another machine, a container), silence is all
 * that is known, and it is said.
 */
#include "base/show.h"
#include "cli/cli.h"
#include "cli/live/live.h"
#include "cli/live/screen.h"
#include "cli/output.h"
#include "cli/stopping.h"
#include "os/rundir.h"
#include "os/spawn.h"
#include "progress/who.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 250
#define LINE_US 10000000
#define SILENT_US 10000000 /* longer than a machine that is busy keeps a run from speaking */
#define BEGIN_US 3000000 /* how long a run may take to speak for the first time */

struct watching {
	struct as_dir dir;
	const struct as_args *args;
	struct as_progress p;
	char newest[AS_PROGRESS_TEXT];
	int64_t heard_us, line_us;
	uint64_t number;
	bool block, json, once;
};

/* ---- What the run says ----------------------------------------------------------------------- */

static int read_progress(struct watching *w, struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_progress p;
	int rc = as_dir_read(&w->dir, AS_RUN_PROGRESS, AS_PROGRESS_MAX_BYTES, &text, err);

	if (!rc && as_progress_parse(as_buf_str(&text), text.len, &p, err))
		rc = as_fail_in(err, "%s", w->dir.path);
	if (!rc) {
		if (p.number != w->number || p.pid != w->p.pid)
			w->heard_us = as_now_us();
		w->number = p.number;
		w->p = p;
	}
	as_buf_free(&text);
	return rc;
}

/* Whether its process is gone, though it has not said that it ends. */
static bool has_died(struct watching *w)
{
	struct as_err err;

	if (w->p.state != AS_RUN_RUNNING || as_progress_is_alive(&w->p) != 0)
		return false;
	/* It may have spoken its last word since. */
	return read_progress(w, &err) || w->p.state == AS_RUN_RUNNING;
}

/* ---- What is shown --------------------------------------------------------------------------- */

static void show_new_finding(struct watching *w)
{
	if (!strcmp(w->newest, w->p.newest))
		return;
	memcpy(w->newest, w->p.newest, sizeof(w->newest));
	if (w->json)
		return;
	as_cli_put(stdout, w->p.newest);
	fputs("  ", stdout);
	as_cli_put(stdout, w->p.newest_words);
	fputc('\n', stdout);
	fflush(stdout);
}

static void print_json(const struct watching *w)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);

	as_json_object(&json);
	as_json_kstr(&json, "event", "progress");
	as_progress_print(&w->p, true, &json);
	as_json_end(&json);
	printf("%s\n", as_buf_str(&line));
	fflush(stdout);
	as_buf_free(&line);
}

static void print_line(const struct watching *w)
{
	struct as_buf line = { 0 };

	as_buf_adds(&line, "assay ");
	as_show(&line, w->p.command);
	as_buf_addc(&line, ' ');
	as_show(&line, w->p.target);
	as_buf_adds(&line, ": ");
	as_progress_line(&w->p, &line);
	printf("%s\n", as_buf_str(&line));
	fflush(stdout);
	as_buf_free(&line);
}

static void say_silence(const struct watching *w, struct as_progress *p)
{
	int64_t silent_us = as_now_us() - w->heard_us;
	char words[AS_PROGRESS_TEXT];

	if (silent_us < SILENT_US)
		return;
	snprintf(words, sizeof(words), "it has said nothing for %lld s%s%.80s",
		 (long long)(silent_us / 1000000), *w->p.host ? "; it runs on " : "", w->p.host);
	as_progress_text(p->phase, words);
}

static void show(struct watching *w)
{
	struct as_progress p = w->p;
	int64_t now_us = as_now_us();

	show_new_finding(w);
	say_silence(w, &p);
	if (w->block) {
		struct as_buf block = { 0 };

		as_progress_block(&p, as_cli_columns(STDERR_FILENO) - 1,
				  as_cli_has_colour(STDERR_FILENO), &block);
		as_cli_screen_block(&block);
		as_buf_free(&block);
	} else if (now_us - w->line_us >= LINE_US || w->once) {
		w->line_us = now_us;
		if (w->json)
			print_json(w);
		else
			print_line(w);
	}
}

/* ---- The end --------------------------------------------------------------------------------- */

static int say_end(const struct watching *w)
{
	struct as_buf words = { 0 };
	uint64_t found = as_progress_has(&w->p, AS_COUNT_findings) ? w->p.n[AS_COUNT_findings] : 0;

	as_cli_screen_clear();
	if (w->json) {
		print_json(w);
	} else {
		print_line(w);
		as_buf_adds(&words, "the run ");
		as_progress_end_words(&w->p, &words);
		if (w->p.state == AS_RUN_DIED && !w->p.signal)
			as_buf_adds(&words, "; it did not say why");
		as_buf_addf(&words, "; %llu finding%s", (unsigned long long)found,
			    as_plural(found));
		printf("%s\n", as_buf_str(&words));
		as_buf_free(&words);
	}
	return w->p.state == AS_RUN_DIED || w->p.state == AS_RUN_FAILED ? AS_EXIT_WRONG
	       : found							? AS_EXIT_FOUND
									: AS_EXIT_CLEAN;
}

/* A run that has just been started has not spoken yet. */
static int wait_for_begin(struct watching *w, struct as_err *err)
{
	int64_t until_us = as_now_us() + BEGIN_US;
	int rc;

	while (!as_dir_has(&w->dir, AS_RUN_PROGRESS) && as_now_us() < until_us &&
	       !as_cli_stopped() && !w->once)
		poll(NULL, 0, LOOK_MS);
	if (!as_dir_has(&w->dir, AS_RUN_PROGRESS))
		return as_fail(err, AS_EUSE, "%s: no run is in progress there: it has no %s",
			       w->dir.path, AS_RUN_PROGRESS);
	rc = read_progress(w, err);
	if (!rc)
		memcpy(w->newest, w->p.newest, sizeof(w->newest));
	return rc;
}

static int watch(struct watching *w, struct as_err *err)
{
	struct as_err last;
	int rc = wait_for_begin(w, err);

	while (!rc && w->p.state == AS_RUN_RUNNING && !as_cli_stopped()) {
		if (has_died(w)) {
			w->p.state = AS_RUN_DIED;
			break;
		}
		show(w);
		if (w->once)
			return AS_EXIT_CLEAN;
		poll(NULL, 0, LOOK_MS);
		/* A run that found nothing removes its folder. */
		if (read_progress(w, &last) && !as_dir_has(&w->dir, AS_RUN_PROGRESS))
			w->p.state = AS_RUN_ENDED;
	}
	if (rc)
		return rc;
	if (as_cli_stopped()) {
		as_cli_screen_clear();
		return AS_EXIT_CLEAN;
	}
	show_new_finding(w);
	return say_end(w);
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct watching w = { .dir = AS_DIR_NONE,
			      .args = args,
			      .json = as_args_has(args, "json"),
			      .once = as_args_has(args, "once"),
			      .line_us = -LINE_US,
			      .heard_us = as_now_us() };
	int rc = as_dir_open(args->n_operands ? args->operands[0] : AS_OUT_DEFAULT, NULL, &w.dir,
			     err);

	w.block = !w.json && !w.once && as_cli_is_terminal(STDERR_FILENO);
	as_cli_stop_catch();
	if (!rc)
		rc = watch(&w, err);
	as_dir_close(&w.dir);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "once", .help = "show it once, and do not wait for the end" },
	{ .name = "json", .help = "print the progress as JSON lines" },
	{ 0 },
};

const struct as_command as_cmd_watch = {
	.name = "watch",
	.operands = "[DIR]",
	.summary = "show the progress of a run that was started elsewhere",
	.text = "DIR is the folder of the run (its -o), default " AS_OUT_DEFAULT
		". The progress is shown as the run itself shows it, with new findings above it, "
		"until the run has ended; then it says how. It needs only the right to read the "
		"folder, and changes nothing. An interrupt ends the watching, not the run.\n"
		"Exit status: 0 the run has ended (or was shown once, or you stopped watching), 1 "
		"it has ended with findings, 2 it has died or failed, or there is no run.",
	.opts = opts,
	.min_operands = 0,
	.max_operands = 1,
	.run = run,
	.watches = true,
};
