/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_gen: workloads made by the generator, on standard output or as files of a folder. */
#include "base/choice.h"
#include "cli/cli.h"
#include "cli/profiles.h"
#include "cli/rows.h"
#include "dossier/program/emit_c.h"
#include "gen/gen.h"
#include "os/dir.h"
#include "os/out.h"
#include "vfs/traits.h"
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
		/* Nobody needs the record of choices here. */
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
		fprintf(stderr,
			"assay: gen: %u commands left out because %s does not have them: %s\n", n,
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
		rc = as_fail(s->err, AS_EUSE, "--tries works only together with --feedback");
	if (!rc && s->tries)
		rc = as_out_check(s->tries, s->err);
	/* A FIFO or a device is only written: reading from it might never end. */
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

/* Stores what was aimed at, for the next time. */
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
	AS_CLI_PROFILE_OPT("which profile to use: paper, crash, race, small, coverage, hunt, or "
			   "a file, whose name has a slash or a dot in it (docs/PROFILE.md); "
			   "default paper"),
	AS_CLI_SEED_OPT,
	{ .name = "count",
	  .letter = 'n',
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "how many workloads to generate; default 1, with --exhaustive all of them" },
	{ .name = "layer",
	  .kind = AS_OPT_CHOICE,
	  .choices = "core|ext|syntax",
	  .help = "how far workloads are worked out: only the ten core commands, also the "
		  "extensions between them, or also random arguments; default syntax" },
	{ .name = "exhaustive",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 64,
	  .help = "enumerate instead of choosing at random: one workload for each state that N "
		  "core commands or fewer reach; states that differ only in names count as one" },
	{ .name = "target",
	  .letter = 't',
	  .kind = AS_OPT_TEXT,
	  .arg = "T",
	  .help = "leave out the operations that this target does not have" },
	AS_CLI_FEEDBACK_OPT,
	{ .name = "tries",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "with --feedback: a file that counts how often each goal was aimed at; it is "
		  "read if it exists, and updated, so that goals that were never reached are "
		  "tried less often" },
	{ .name = "emit",
	  .kind = AS_OPT_CHOICE,
	  .choices = "text|c",
	  .help = "print workloads, or C programs that make the same system calls; default text" },
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "FOLDER",
	  .help = "write one file for each workload to this folder; default: standard output" },
	{ .name = "show", .help = "print the whole profile and generate nothing" },
	{ 0 },
};

const struct as_command as_cmd_gen = {
	.name = "gen",
	.operands = "",
	.summary = "generate workloads",
	.text = "The generator explores states of the model. It picks a workload that it has made "
		"before, longer ones more often, draws a command by its weight, and appends it "
		"once for each typical inode; what leads to a state that was seen before is "
		"dropped. Then it puts extensions between the commands and draws arguments. The "
		"same seed and profile give the same workloads on every machine. On standard "
		"output each workload begins with a line `@workload NAME`, which `assay run -` "
		"understands.",
	.opts = opts,
	.max_operands = 0,
	.run = run,
};
