/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_kernel: builds and lists kernels for the sandbox. */
#include "base/json.h"
#include "base/show.h"
#include "cli/cli.h"
#include "cli/live/live.h"
#include "cli/live/screen.h"
#include "cli/stopping.h"
#include "kernel/kernel.h"
#include "os/spawn.h"

#include <string.h>
#include <unistd.h>

#define SAY_US 10000000 /* between two plain lines */

/* ---- Progress -------------------------------------------------------------------------------- */

struct build_show {
	const char *name;
	struct as_live *live;
	bool plain; /* lines: there is no terminal, and nobody wants JSON or silence */
	int64_t said_us, start_us;
	char phase[64];
};

static void say_plainly(struct build_show *p, const char *what, unsigned done, unsigned all)
{
	int64_t now_us = as_now_us();

	if (!strcmp(p->phase, what) && now_us - p->said_us < SAY_US)
		return;
	p->said_us = now_us;
	snprintf(p->phase, sizeof(p->phase), "%s", what);
	fprintf(stderr, "%s: %s", p->name, what);
	if (all)
		fprintf(stderr, ", %u of %u objects", done, all);
	fprintf(stderr, ", %lld s\n", (long long)(now_us - p->start_us) / 1000000);
	fflush(stderr);
}

static void say(void *ctx, const char *what, unsigned done, unsigned all)
{
	struct build_show *p = ctx;

	as_live_phase(p->live, what);
	if (all) {
		as_live_goal(p->live, 0, all);
		as_live_done(p->live, done);
		as_live_set(p->live, AS_COUNT_objects, done);
	}
	if (p->plain)
		say_plainly(p, what, done, all);
}

/* ---- build ----------------------------------------------------------------------------------- */

static void print_kernel(const struct as_kernel *kernel)
{
	struct as_buf with = { 0 };

	as_kernel_options_print(kernel->with, ",", &with);
	printf("%-20s %-12s %6.1f MiB  %s", kernel->name, kernel->version,
	       (double)kernel->size_bytes / (1 << 20), with.len ? as_buf_str(&with) : "-");
	for (size_t i = 0; i < kernel->n_patches; i++)
		printf(" + %s", kernel->patches[i]);
	printf("  (%s)\n", kernel->source);
	as_buf_free(&with);
}

static void print_kernel_json(const struct as_kernel *kernel)
{
	struct as_buf line = { 0 }, with = { 0 };
	struct as_json json = as_json_on(&line);

	as_kernel_options_print(kernel->with, ",", &with);
	as_json_object(&json);
	as_json_kstr(&json, "name", kernel->name);
	as_json_kstr(&json, "version", kernel->version);
	as_json_kstr(&json, "source", kernel->source);
	as_json_kstr(&json, "with", as_buf_str(&with));
	as_json_key(&json, "patches");
	as_json_array(&json);
	for (size_t i = 0; i < kernel->n_patches; i++)
		as_json_str(&json, kernel->patches[i]);
	as_json_end(&json);
	as_json_kuint(&json, "size_bytes", kernel->size_bytes);
	as_json_kstr(&json, "path", kernel->path);
	as_json_kstr(&json, "lacks", kernel->lacks);
	as_json_end(&json);
	printf("%s\n", as_buf_str(&line));
	as_buf_free(&line);
	as_buf_free(&with);
}

static void print_built(const struct as_kernel *built, bool json, bool quiet)
{
	if (json) {
		print_kernel_json(built);
	} else if (!quiet) {
		print_kernel(built);
		if (*built->lacks)
			printf("  its source has not: %s\n", built->lacks);
	}
}

static int build_one(const struct as_args *args, const struct as_kernel_want *want,
		     struct as_err *err)
{
	bool json = as_args_has(args, "json"), quiet = as_args_has(args, "quiet");
	struct build_show p = { .name = want->name, .start_us = as_now_us() };
	struct as_buf last = { 0 }, shown = { 0 };
	struct as_kernel_want w = *want;
	struct as_kernel built;
	int rc;

	p.plain = !json && !quiet && !as_cli_is_terminal(STDERR_FILENO);
	p.live = as_live_open(&(struct as_live_setup){ .command = "kernel",
						       .finds_nothing = true,
						       .json = json,
						       .quiet = quiet || p.plain });
	as_live_target(p.live, want->name, "", want->jobs);
	w.say = say;
	w.say_ctx = &p;
	w.last = &last;
	rc = as_kernel_build(&w, &built, err);
	as_live_close(p.live, false, rc, err);
	if (rc == AS_ESTOP && as_cli_stopped()) {
		fprintf(stderr, "%s: stopped by %s; the same command goes on\n", want->name,
			as_signal_name(as_cli_stopped()));
		rc = AS_EXIT_SIGNAL + as_cli_stopped();
	}
	if (!rc)
		print_built(&built, json, quiet);
	for (char *rest = last.data, *line; rest && (line = strsep(&rest, "\n"));) {
		as_buf_clear(&shown);
		as_show(&shown, line);
		if (*line)
			fprintf(stderr, "  %s\n", as_buf_str(&shown));
	}
	if (!rc)
		as_kernel_free(&built);
	as_buf_free(&last);
	as_buf_free(&shown);
	return rc;
}

/* A name from what was asked for: "debug", "kasan-kcov", "plain-fix" for --patch fix.patch. */
static int choose_name(const struct as_args *args, const char *flavour, uint32_t with,
		       const char *const *patches, size_t n_patches, struct as_buf *name,
		       struct as_err *err)
{
	if (as_args_has(args, "name")) {
		as_buf_adds(name, as_args_text(args, "name", ""));
		return 0;
	}
	if (flavour)
		as_buf_adds(name, flavour);
	else
		as_kernel_options_print(with, "-", name);
	for (size_t i = 0; i < n_patches; i++) {
		const char *slash = strrchr(patches[i], '/');
		const char *base = slash ? slash + 1 : patches[i];
		const char *dot = strrchr(base, '.');

		as_buf_addf(name, "-%.*s", (int)(dot ? (size_t)(dot - base) : strlen(base)), base);
	}
	return as_kernel_name_ok(as_buf_str(name))
		       ? 0
		       : as_fail(err, AS_EUSE,
				 "--patch: no name for the kernel can be made of the names of the "
				 "patches: choose one with --name");
}

static int build_flavour(const struct as_args *args, const char *flavour, const char *with,
			 struct as_err *err)
{
	const char *patches[AS_GIVEN_MAX];
	struct as_kernel_want want = { .source = as_args_text(args, "source", NULL),
				       .patches = patches,
				       .jobs = (unsigned)as_args_number(args, "jobs", 1),
				       .stop = as_cli_stop_catch() };
	struct as_buf name = { 0 };
	int rc = as_kernel_options_parse(with, &want.with, err);

	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, "patch"))
			patches[want.n_patches++] = args->given[i].value;
	if (!rc)
		rc = choose_name(args, flavour, want.with, patches, want.n_patches, &name, err);
	want.name = as_buf_str(&name);
	if (!rc)
		rc = build_one(args, &want, err);
	as_buf_free(&name);
	return rc;
}

static const struct as_kernel_flavour *find_flavour(const char *name)
{
	const struct as_kernel_flavour *row;

	for (unsigned i = 0; (row = as_kernel_flavour(i)); i++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

static int build(const struct as_args *args, struct as_err *err)
{
	const char *with = as_args_text(args, "with", NULL);
	const struct as_kernel_flavour *row = NULL;
	int rc = 0;

	if (args->n_operands == 2) {
		row = find_flavour(args->operands[1]);
		if (!row)
			return as_fail(err, AS_EUSE, "kernel build: no flavour is called '%s'",
				       args->operands[1]);
		if (with)
			return as_fail(err, AS_EUSE,
				       "kernel build: a flavour says what is built: leave out "
				       "--with");
		return build_flavour(args, row->name, row->with, err);
	}
	if (with)
		return *with ? build_flavour(args, NULL, with, err)
			     : as_fail(err, AS_EUSE, "--with: expected a list, such as kasan,kcov");
	if (as_args_has(args, "name"))
		return as_fail(err, AS_EUSE, "--name needs a flavour or --with");
	for (unsigned i = 0; !rc && (row = as_kernel_flavour(i)); i++)
		rc = build_flavour(args, row->name, row->with, err);
	return rc;
}

/* ---- list ------------------------------------------------------------------------------------ */

static void list_row(void *ctx, const struct as_kernel *kernel)
{
	unsigned *n = ctx;

	(*n)++;
	print_kernel(kernel);
}

static void list_row_json(void *ctx, const struct as_kernel *kernel)
{
	unsigned *n = ctx;

	(*n)++;
	print_kernel_json(kernel);
}

static int list(const struct as_args *args, struct as_err *err)
{
	bool json = as_args_has(args, "json");
	unsigned n = 0;
	int rc = as_kernel_each(json ? list_row_json : list_row, &n, err);

	if (!rc && !n && !json)
		printf("no kernel is built yet: `assay kernel build` builds plain and debug\n");
	return rc;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int run(const struct as_args *args, struct as_err *err)
{
	static const char *const builds[] = { "source", "with", "patch", "name", "jobs", "quiet" };
	bool lists = !strcmp(args->operands[0], "list");

	if (!lists && strcmp(args->operands[0], "build") != 0)
		return as_fail(err, AS_EUSE, "kernel: '%s' is neither build nor list",
			       args->operands[0]);
	if (lists && args->n_operands > 1)
		return as_fail(err, AS_EUSE, "kernel list: no operand is expected");
	for (size_t i = 0; lists && i < sizeof(builds) / sizeof(builds[0]); i++)
		if (as_args_has(args, builds[i]))
			return as_fail(err, AS_EUSE, "kernel: --%s is an option of `kernel build`",
				       builds[i]);
	return lists ? list(args, err) : build(args, err);
}

static const struct as_opt opts[] = {
	{ .name = "source",
	  .kind = AS_OPT_TEXT,
	  .arg = "S",
	  .help = "build: the source: the name of a package of Debian, a tarball, or a folder; "
		  "default " AS_KERNEL_SOURCE },
	{ .name = "with",
	  .kind = AS_OPT_TEXT,
	  .arg = "LIST",
	  .help = "build: what it has: kasan, ubsan, kcov, lockdep, faults, kmemleak" },
	{ .name = "patch",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .many = true,
	  .help = "build: apply this patch (patch -p1) first; may be given several times" },
	{ .name = "name",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME",
	  .help = "build: what --kernel calls it; default: the flavour, or what it has, and the "
		  "patches" },
	{ .name = "jobs",
	  .letter = 'j',
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 1024,
	  .help = "build: compile N files at a time; default 1" },
	{ .name = "quiet",
	  .letter = 'q',
	  .help = "build: print errors, but no progress and no result" },
	{ .name = "json", .help = "print JSON lines: of what is built, and of progress" },
	{ .name = NULL },
};

const struct as_command as_cmd_kernel = {
	.name = "kernel",
	.operands = "build [plain|debug] | list",
	.summary = "build User-Mode Linux kernels that tell more, and list them",
	.text = "`kernel build` builds a kernel for the sandbox as an ordinary user, in the cache "
		"(~/.cache/assay/kernels). `plain` is fast and has all file systems; `debug` has "
		"KASAN, UBSAN, lockdep, kmemleak, failures on demand and coverage of code. "
		"Without a flavour and without --with, both are built. A build that was killed "
		"goes on where it was. After another --patch, only what the patch changes is "
		"compiled. The fragments of configuration are in kernels/*.config.\n\n"
		"`kernel list` shows what is built. `--kernel NAME` of run, hunt, crash and check "
		"uses it. docs/KERNELS.md tells more.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 2,
	.run = run,
};
