/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_gen: workloads made by the generator, on standard output or as files of a folder. */
#include "base/choice.h"
#include "cli/cli.h"
#include "cli/profiles.h"
#include "cli/rows.h"
#include "gen/gen.h"
#include "os/dir.h"
#include "os/out.h"
#include "vfs/traits.h"
#include "work/emit_c.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct gen_session {
	struct as_profile *profile;
	struct as_traits traits;
	struct as_target *target;
	struct as_chooser *chooser;
	const char *tries; /* NULL: not kept */
	enum as_gen_layer layer;
	const char *folder; /* NULL: standard output */
	bool emit_c;
	uint64_t count, given;
	struct as_err *err;
};

/* A target without limits, when none is named. */
static const struct as_traits any_target = { AS_TRAITS_ANY };

/* ---- Handing out ----------------------------------------------------------------------------- */

static int write_out(struct gen_session *s, const char *name, const struct as_buf *text)
{
	struct as_buf path = { 0 };
	int rc;

	if (!s->folder) {
		fwrite(as_buf_str(text), 1, text->len, stdout);
		if (ferror(stdout))
			return as_fail(s->err, AS_EIO, "cannot write to standard output");
		return 0;
	}
	as_buf_addf(&path, "%s/%s.%s", s->folder, name, s->emit_c ? "c" : "txt");
	rc = as_out_save(as_buf_str(&path), text, s->err);
	as_buf_free(&path);
	return rc;
}

static int give(struct gen_session *s, struct as_seq *seq)
{
	struct as_buf name = { 0 }, text = { 0 };
	int rc;

	as_buf_addf(&name, "%s-%llu-%06llu", s->profile->title,
		    (unsigned long long)s->profile->seed, (unsigned long long)s->given);
	for (char *c = name.data; *c; c++)
		if (*c == '/')
			*c = '_';
	as_seq_set_meta(seq, "workload", as_buf_str(&name));
	if (s->emit_c)
		as_emit_c(seq, NULL, &text);
	else
		as_print_seq(seq, &text);
	rc = write_out(s, as_buf_str(&name), &text);
	s->given++;
	as_buf_free(&name);
	as_buf_free(&text);
	return rc;
}

static int generate(struct gen_session *s)
{
	struct as_choice *choice = as_chooser_choice(s->chooser);
	struct as_gen *gen;
	struct as_seq *seq;
	int rc = as_gen_new(s->profile, &s->traits, choice, &gen, s->err);

	if (rc)
		return rc;
	while (!rc && s->given < s->count && (seq = as_gen_next(gen, s->layer))) {
		rc = give(s, seq);
		as_seq_free(seq);
		/* The record of choices is of no use here. */
		as_chooser_next(s->chooser);
	}
	as_gen_tries(gen, s->profile);
	as_gen_free(gen);
	return rc;
}

#define ENOUGH 1 /* not an error of ours: --count is reached */

static int give_refined(void *ctx, struct as_seq *seq)
{
	struct gen_session *s = ctx;
	struct as_choice *choice = as_chooser_choice(s->chooser);
	struct as_seq *finer;
	int rc;

	if (s->layer >= AS_GEN_EXT) {
		finer = as_gen_extend(seq, s->profile, &s->traits, choice, NULL);
		as_seq_free(seq);
		seq = finer;
	}
	if (s->layer >= AS_GEN_SYNTAX) {
		finer = as_gen_fill(seq, s->profile, choice);
		as_seq_free(seq);
		seq = finer;
	}
	rc = give(s, seq);
	as_seq_free(seq);
	as_chooser_next(s->chooser);
	return rc ? rc : s->given == s->count ? ENOUGH : 0;
}

static int enumerate(struct gen_session *s, unsigned length)
{
	uint64_t states;
	int rc = as_gen_exhaustive(s->profile, &s->traits, length, give_refined, s, &states);

	return rc == ENOUGH ? 0 : rc;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* What the target cannot do, in one line. */
static void say_left_out(const struct gen_session *s)
{
	struct as_buf list = { 0 };
	unsigned n = as_cli_left_out(s->profile, &s->traits, &list);

	if (n)
		fprintf(stderr, "assay: gen: %u commands left out, as %s cannot do them: %s\n", n,
			s->traits.name, as_buf_str(&list));
	as_buf_free(&list);
}

static int prepare(const struct as_args *args, struct gen_session *s)
{
	static const char *const layers[] = { "core", "ext", "syntax" };
	const char *layer = as_args_text(args, "layer", "syntax");
	const char *feedback = as_args_text(args, "feedback", NULL);
	const char *target = as_args_text(args, "target", NULL);
	struct stat st;
	int rc = as_cli_read_profile(as_args_text(args, "profile", "paper"), s->profile, s->err);

	while (strcmp(layers[s->layer], layer))
		s->layer++;
	if (!rc && as_args_has(args, "seed"))
		s->profile->seed = as_args_number(args, "seed", 0);
	if (!rc && feedback)
		rc = as_cli_read_feedback(feedback, s->profile, s->err);
	s->tries = as_args_text(args, "tries", NULL);
	if (!rc && s->tries && !feedback)
		rc = as_fail(s->err, AS_EUSE, "--tries is of use with --feedback only");
	if (!rc && s->tries)
		rc = as_out_check(s->tries, s->err);
	/* A FIFO or a device is for writing only: nobody would ever end what is read from it. */
	if (!rc && s->tries && !stat(s->tries, &st) && S_ISREG(st.st_mode))
		rc = as_cli_read_feedback(s->tries, s->profile, s->err);
	s->traits = any_target;
	if (!rc && target) {
		rc = as_target_open(target, &s->target, s->err);
		if (!rc) {
			as_run_traits(s->target, &s->traits);
			as_cli_fit_profile(s->profile, s->target);
		}
		if (!rc)
			say_left_out(s);
	}
	s->emit_c = !strcmp(as_args_text(args, "emit", "text"), "c");
	s->folder = as_args_text(args, "out", NULL);
	s->count = as_args_number(args, "count", as_args_has(args, "exhaustive") ? UINT64_MAX : 1);
	if (!rc && s->emit_c && !s->folder && s->count > 1)
		rc = as_fail(s->err, AS_EUSE,
			     "--emit c of more than one workload needs a folder: -o FOLDER");
	if (!rc && s->folder)
		rc = as_dir_make(s->folder, s->err);
	return rc;
}

/* What was gone for, for the next time. */
static int keep_tries(const struct gen_session *s)
{
	struct as_buf text = { 0 };
	int rc;

	as_gen_tries_print(s->profile, &text);
	rc = as_out_save(s->tries, &text, s->err);
	as_buf_free(&text);
	return rc;
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct gen_session s = { .profile = as_profile_new(), .err = err };
	int rc = prepare(args, &s);

	if (rc)
		goto out;
	if (as_args_has(args, "show")) {
		struct as_buf text = { 0 };

		as_profile_print(s.profile, &text);
		fwrite(as_buf_str(&text), 1, text.len, stdout);
		as_buf_free(&text);
		goto out;
	}
	s.chooser = as_chooser_seeded(s.profile->seed);
	if (as_args_has(args, "exhaustive"))
		rc = enumerate(&s, (unsigned)as_args_number(args, "exhaustive", 1));
	else
		rc = generate(&s);
	if (!rc && s.tries)
		rc = keep_tries(&s);
	as_chooser_free(s.chooser);
out:
	as_target_free(s.target);
	free(s.profile);
	return rc;
}

static const struct as_opt opts[] = {
	AS_CLI_PROFILE_OPT("paper (default), crash, race, small, coverage, hunt, or a file "
			   "(docs/PROFILE.md); a file's name has a slash or a dot in it"),
	AS_CLI_SEED_OPT,
	{ .name = "count",
	  .letter = 'n',
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "how many workloads; default 1, with --exhaustive all" },
	{ .name = "layer",
	  .kind = AS_OPT_CHOICE,
	  .choices = "core|ext|syntax",
	  .help = "the ten core commands; with extensions in between; with arguments drawn, too "
		  "(default)" },
	{ .name = "exhaustive",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 64,
	  .help = "in place of chance: one workload of at most N core commands for each state they "
		  "reach, up to names" },
	{ .name = "target",
	  .letter = 't',
	  .kind = AS_OPT_TEXT,
	  .arg = "T",
	  .help = "leave out what this target cannot do" },
	AS_CLI_FEEDBACK_OPT,
	{ .name = "tries",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "with --feedback: what was gone for how often, read where it is there, and "
		  "written: what was tried in vain is tried less" },
	{ .name = "emit",
	  .kind = AS_OPT_CHOICE,
	  .choices = "text|c",
	  .help = "workloads (default), or C programs that make the same system calls" },
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "FOLDER",
	  .help = "one file for each workload, in place of standard output" },
	{ .name = "show", .help = "print the profile, all of it, and generate nothing" },
	{ 0 },
};

const struct as_command as_cmd_gen = {
	.name = "gen",
	.operands = "",
	.summary = "generate workloads by layers",
	.text = "States of the model are explored: a workload is picked, longer ones more often, a "
		"command drawn by weight, and appended for each typical inode; what leads to a "
		"state seen before is dropped. Then extensions are put in between and arguments "
		"drawn. The same seed and profile give the same workloads on every machine. On "
		"standard output each begins with a line `@workload NAME`, where `assay run -` "
		"tells them apart.",
	.opts = opts,
	.max_operands = 0,
	.run = run,
};
