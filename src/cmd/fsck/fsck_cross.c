/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_cross: checkers against each other (cross/cross.h). */
#include "cmd/fsck/fsck_cross.h"

#include "base/json.h"
#include "cli/hunts.h"
#include "cli/output.h"
#include "cli/stopping.h"
#include "cli/trust.h"
#include "cmd/fsck/fsck_keep.h"
#include "cmd/fsck/fsck_word.h"
#include "cross/cross.h"
#include "os/spawn.h"
#include "symptom/still.h"

#include <stdlib.h>
#include <string.h>

/* One note for each line. */
static void tell(struct as_sink *sinks, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		as_emit_note(sinks, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static int open_cross(const struct as_args *args, const char *list, struct as_halt *halt,
		      struct as_cross_setup *setup, struct as_cross **cross, struct as_err *err)
{
	int rc;

	*setup = (struct as_cross_setup){
		.list = list,
		.halt = halt,
		.by_kernel = as_args_has(args, "kernel"),
		.deadline_ms = (unsigned)as_args_number(args, "deadline", 5) * 1000,
	};
	/* Any type will do: which of them needs a sandbox is seen later. */
	rc = as_fsck_word_box(args, "ext4", &setup->kernel, err);
	return rc ? rc : as_cross_open(setup, cross, err);
}

static void print_json(const struct as_cross_counts *n, int64_t wall_us)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	as_json_object(&j);
	as_json_kstr(&j, "event", "compare");
	as_json_kuint(&j, "deeds", n->deeds);
	as_json_kuint(&j, "disks", n->damaged);
	as_json_kuint(&j, "repaired", n->repaired);
	as_json_kuint(&j, "unjudged", n->unjudged);
	as_json_kuint(&j, "differing", n->differing);
	as_json_kuint(&j, "findings", n->findings);
	as_json_kint(&j, "wall_us", wall_us);
	as_json_end(&j);
	printf("%s\n", as_buf_str(&line));
	as_buf_free(&line);
}

static void progress(void *ctx, const struct as_cross_counts *n)
{
	struct as_live *live = ctx;

	as_live_set(live, AS_COUNT_disks, n->damaged);
	as_live_set(live, AS_COUNT_problems, n->differing);
	as_live_set(live, AS_COUNT_findings, n->findings);
}

static int compare(const struct as_args *args, int64_t for_us, const struct as_cross_setup *setup,
		   struct as_cross *cross, const struct as_frames *keep, struct as_cli_output *out,
		   struct as_run_result *stats, struct as_err *err)
{
	struct as_cross_args how = { .only = -1,
				     .max_findings = as_args_number(args, "max-findings", 0),
				     .jobs = (unsigned)as_args_number(args, "jobs", 1),
				     .keep = keep,
				     .halt = setup->halt,
				     .sinks = out->chain,
				     .progress = progress,
				     .ctx = out->live };
	struct as_cross_counts n = { 0 };
	struct as_buf text = { 0 };
	int64_t start_us = as_now_us();
	int rc;

	how.for_us = for_us ? as_cli_time_left(for_us) : 0;
	setup->halt->stop = as_cli_stop_catch();
	as_cli_opened();
	as_live_target(out->live, as_args_text(args, "compare", ""), "", how.jobs);
	as_live_goal(out->live, how.for_us, 0);
	as_cross_describe(cross, &text);
	tell(out->chain, as_buf_str(&text));
	as_buf_clear(&text);
	rc = how.jobs > 1 || keep ? as_cross_run_jobs(cross, setup, &how, &n, err)
				  : as_cross_run(cross, &how, &n, err);
	as_cli_output_quiet(out, rc, err);
	stats->wall_us = as_now_us() - start_us;
	stats->workloads = n.damaged;
	stats->findings = n.findings;
	if (!rc && out->json) {
		print_json(&n, stats->wall_us);
	} else if (!rc) {
		as_cross_tell(cross, &text);
		tell(out->chain, as_buf_str(&text));
		as_emit_note(out->chain,
			     "%llu damages that two or more of them have; after %llu of them, "
			     "they do not agree",
			     (unsigned long long)n.deeds, (unsigned long long)n.differing);
		if (n.unjudged)
			as_emit_note(out->chain,
				     "%llu disks were not judged, since a sandbox failed",
				     (unsigned long long)n.unjudged);
	}
	as_buf_free(&text);
	return rc;
}

int as_fsck_compare(const struct as_args *args, struct as_err *err)
{
	struct as_run_result stats = { 0 };
	struct as_buf head = { 0 };
	struct as_cross *cross = NULL;
	struct as_halt halt = { 0 };
	struct as_cross_setup setup;
	struct as_fsck_keep keep = { .folder.dir = AS_DIR_NONE, .below = AS_DIR_NONE };
	struct as_cli_output out;
	int64_t for_us;
	int rc = as_cli_begin_time(args, &for_us, err);

	if (!rc)
		rc = open_cross(args, as_args_text(args, "compare", ""), &halt, &setup, &cross,
				err);
	if (!rc) {
		as_cross_keep_head(cross, &setup, &head);
		rc = as_fsck_keep_open(args, "compare", as_buf_str(&head), &keep, err);
	}
	if (!rc)
		rc = as_cli_output_open(args, &out, err);
	if (!rc) {
		out.reports = args;
		if (as_args_has(args, "resume"))
			as_cli_output_goes_on(&out);
		rc = compare(args, for_us, &setup, cross, keep.frames, &out, &stats, err);
		rc = as_cli_output_close(&out, &stats, rc, err);
	}
	as_fsck_keep_close(&keep);
	as_cross_free(cross);
	as_buf_free(&head);
	return rc;
}

/* ---- Again ----------------------------------------------------------------------------------- */

static char *word_after(const char *text, const char *key, bool rest)
{
	const char *at = strstr(text, key);

	if (!at)
		return NULL;
	at += strlen(key);
	return as_xstrndup(at, rest ? strlen(at) : strcspn(at, " "));
}

struct again_sink {
	struct as_sink sink;
	const char *signature;
	bool found;
};

static void on_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct again_sink *a = (struct again_sink *)sink;

	a->found = a->found || as_still_fails(AS_STILL_EXACTLY, a->signature, f->signature);
}

int as_fsck_compare_again(const struct as_args *args, const struct as_stored *stored,
			  struct as_sink *talk, struct as_err *err)
{
	const char *options = stored->finding.options;
	char *deed = word_after(options, " deed=", false);
	char *list = word_after(options, " compare=", true);
	struct again_sink sink = { .sink.finding = on_finding,
				   .signature = stored->finding.signature };
	char *seconds = word_after(options, " deadline=", false);
	struct as_cross_setup setup = { .list = list,
					.by_kernel = strstr(options, " kernel "),
					.deadline_ms =
						seconds ? (unsigned)atoi(seconds) * 1000 : 0 };
	struct as_cross_args how = { .sinks = &sink.sink };
	struct as_cross_counts n;
	struct as_cross *cross = NULL;
	int rc = as_fsck_word_box(args, "ext4", &setup.kernel, err);

	how.only = deed ? as_cross_only(deed) : -1;
	if (!rc && (!list || how.only < 0))
		rc = as_fail(err, AS_EUSE, "%s: no such damage: %s", stored->finding.id, options);
	if (!rc && strstr(list, "checker:"))
		rc = as_cli_trust_text(args, stored->finding.id, "run the command", list, err);
	if (!rc)
		rc = as_cross_open(&setup, &cross, err);
	if (!rc)
		rc = as_cross_run(cross, &how, &n, err);
	if (!rc) {
		as_emit_note(talk, "%s: %s", stored->finding.id,
			     sink.found ? "reproduced" : "did not reproduce");
		rc = sink.found ? AS_EXIT_FOUND : 0;
	}
	as_cross_free(cross);
	free(seconds);
	free(deed);
	free(list);
	return rc;
}
