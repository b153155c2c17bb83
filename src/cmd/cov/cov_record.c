/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cov_record: runs a command and records its calls. It chooses the source: eBPF if it can be used,
 * else in-process, else ptrace. An interrupt is passed on to the command, and the counts are marked
 * as partial; a second one kills its processes.
 *
 * The exit status is that of the command, as in a shell: 128 plus the number of the signal that
 * killed it, 127 if it was not found, 126 if it could not be run. 125 is an error of assay.
 */
#include "cmd/cov/cov.h"
#include "cover/split.h"
#include "cover/tally.h"
#include "crew/ended.h"
#include "os/out.h"
#include "os/spawn.h"
#include "record/record.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

/* For the handler alone. */
static struct as_record_control control;

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define N_ENDS (sizeof(ends) / sizeof(ends[0]))

static void on_end(int sig, siginfo_t *info, void *context)
{
	pid_t child = control.child;
	int saved = errno;

	(void)context;
	control.asked++;
	/* The terminal has sent it to the command, too. */
	if (child > 0 && info->si_code != SI_KERNEL)
		kill(child, sig);
	errno = saved;
}

static void catch_ends(struct sigaction *before)
{
	struct sigaction act = { .sa_sigaction = on_end, .sa_flags = SA_SIGINFO };

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < N_ENDS; i++)
		sigaction(ends[i], &act, &before[i]);
}

static void leave_ends(const struct sigaction *before)
{
	for (size_t i = 0; i < N_ENDS; i++)
		sigaction(ends[i], &before[i], NULL);
}

/* In the order in which they are tried. */
static const struct {
	const char *how, *name;
	const struct as_source_ops *source;
} ways[] = {
	{ "bpf", "eBPF", &as_source_ebpf },
	{ "inprocess", "code in its processes", &as_source_inprocess },
	{ "ptrace", "ptrace", &as_source_ptrace },
};
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

/* The first that can be used. One that was asked for by name must be usable. */
static int choose(const char *how, const struct as_source_ops **out, struct as_err *err)
{
	bool any = !strcmp(how, "auto");
	struct as_err why = { .msg = "" };
	int rc = 0;

	for (size_t i = 0; i < N_WAYS; i++) {
		if (!any && strcmp(how, ways[i].how) != 0)
			continue;
		*out = ways[i].source;
		rc = ways[i].source->usable(err);
		if (!any)
			return rc;
		if (!rc) {
			fprintf(stderr, "assay: recording with %s%s%s%s\n", ways[i].name,
				why.code ? " (" : "", why.msg, why.code ? ")" : "");
			return 0;
		}
		if (!why.code)
			why = *err;
	}
	return rc;
}

/* Our exit status, from that of the command. */
static int hand_on(int rc, int status, const struct as_err *err)
{
	if (!rc)
		return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
	fprintf(stderr, "assay: %s\n", err->msg);
	if (!control.exec_errno)
		return EXIT_OURS;
	return control.exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static void describe(struct as_counts *counts, const struct as_source_ops *source, char **argv,
		     const char *lines)
{
	struct as_buf text = { 0 };

	as_buf_adds(&text, source->name);
	if (lines)
		as_buf_addf(&text, " each line of %s", lines);
	for (; *argv && !lines; argv++)
		as_buf_addf(&text, " %s", *argv);
	/* One line of the file. */
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < ' ')
			text.data[i] = ' ';
	as_counts_source(counts, as_buf_str(&text));
	as_buf_free(&text);
}

/* What the user should know about the run. */
static void summarise(const struct as_counts *counts, const char *command, int status)
{
	uint64_t lost = as_counts_noted(counts, AS_NOTE_LOST);

	struct as_ended ended = as_ended_of(status);
	struct as_buf how = { 0 };

	fflush(stdout);
	as_ended_words(&ended, &(struct as_ended_say){ 0 }, &how);
	if (ended.how == AS_END_SIGNAL)
		fprintf(stderr, "assay: %s %s\n", command, as_buf_str(&how));
	else if (ended.status)
		fprintf(stderr, "assay: %s ended with exit status %d\n", command, ended.status);
	as_buf_free(&how);
	if (lost)
		fprintf(stderr, "assay: %llu calls were LOST: the counts are PARTIAL\n",
			(unsigned long long)lost);
	if (control.asked)
		fprintf(stderr, "assay: interrupted: the counts are PARTIAL\n");
	if (control.setuid_programs)
		fprintf(stderr,
			"assay: %u setuid programs ran without the rights they ask for (ptrace)\n",
			control.setuid_programs);
	if (control.cut_short)
		fprintf(stderr, "assay: %llu arguments could not be read in full\n",
			(unsigned long long)control.cut_short);
}

static int record(const struct as_spec *spec, const struct as_source_ops *source,
		  const struct as_args *args, char **argv, struct as_split *split,
		  struct as_counts *counts, int *status, struct as_err *err)
{
	struct as_world_options options = {
		.under = as_args_text(args, "under", NULL),
		.under_regex = as_args_text(args, "under-regex", NULL),
	};
	char *under;
	struct as_tally tally;
	struct sigaction before[N_ENDS];
	int rc = as_tally_open(&tally, spec, &options, counts, split, err);

	if (rc)
		return rc;
	memset(&control, 0, sizeof(control));
	describe(counts, source, argv, as_args_text(args, "each-line", NULL));
	under = as_world_under_text(&options);
	if (under)
		as_counts_under(counts, under);
	if (split)
		as_split_begin(split, as_counts_get_source(counts), under);
	free(under);
	catch_ends(before);
	rc = source->run(&(struct as_source_input){ .argv = argv,
						    .exit_status = status,
						    .control = &control },
			 &tally.to, err);
	leave_ends(before);
	as_tally_close(&tally);
	if (!rc && control.asked)
		as_counts_partial(counts, "the recording was interrupted");
	if (!rc)
		summarise(counts, argv[0], *status);
	return rc;
}

/* The command to run; the caller frees it. */
static char **argv_of(const struct as_args *args)
{
	const char *lines = as_args_text(args, "each-line", NULL);
	size_t n = (size_t)args->n_operands - 1;
	char **argv;

	if (lines)
		return as_cov_lines_argv(lines);
	argv = as_xcalloc(n + 1, sizeof(*argv));
	memcpy(argv, args->operands + 1, n * sizeof(*argv));
	return argv;
}

int as_cov_record(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	const char *path = as_args_text(args, "output", NULL);
	const struct as_source_ops *source;
	struct as_split *split = NULL;
	struct as_counts *counts;
	char **argv;
	int status = 0, rc;

	if (!path)
		return as_fail(err, AS_EUSE, "cov record: expected -o FILE.cov");
	if (!as_args_has(args, "each-line") == (args->n_operands < 2))
		return as_fail(err, AS_EUSE, "cov record: expected -- COMMAND... or --each-line");
	rc = as_cov_split(spec, args, &split, err);
	if (rc)
		return rc;
	rc = choose(as_args_text(args, "how", "auto"), &source, err);
	if (!rc && !split)
		rc = as_out_check(path, err);
	if (rc) {
		as_split_free(split);
		return hand_on(rc, status, err);
	}
	argv = argv_of(args);
	counts = as_counts_new(spec);
	rc = record(spec, source, args, argv, split, counts, &status, err);
	if (!rc)
		rc = split ? as_cov_split_end(split, args, counts, err)
			   : as_counts_save(counts, path, err);
	if (!rc) {
		as_cov_print_notes(counts, path);
		as_cov_warn_counts(counts, path, NULL);
	}
	as_split_free(split);
	as_counts_free(counts);
	free(argv);
	return hand_on(rc, status, err);
}
